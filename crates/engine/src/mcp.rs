//! MCP servers for a session: how they are started, and what they may ask of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tiller_config::McpDefinition;
use tiller_mcp::{
    CallMcpTool, Elicited, ListMcpResources, Patience, PolicyNow, Principal, ReadMcpResource, Sampled,
    SamplingRequest, SearchMcpTools, Seen, Servers, Surroundings, TokenStore,
};
use tiller_model::{Request, Thinking};
use tiller_policy::{Decision, Request as Asked, Rules, approve};
use tiller_protocol::ask::{Answer, Ask, Then};
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Level, Notice};
use tiller_protocol::env::Env;
use tiller_protocol::form;
use tiller_protocol::mcp::{ElicitationAsk, McpServer, ServerMessage, Wanted};
use tiller_protocol::usage::StopReason;
use tiller_tools::{Registry, ToolSource, Vault};
use tokio::sync::{mpsc, oneshot};

use crate::beside::Beside;
use crate::policy::Standpoint;
use crate::services::Services;
use crate::session::Aside;

/// How long the first request waits for servers.
const WAIT: Duration = Duration::from_millis(3_000);

/// Which servers a session has.
#[derive(Clone, Debug)]
pub struct McpChoice {
    /// Those that are configured.
    pub definitions: Vec<McpDefinition>,
    /// How long the first request waits for them.
    pub wait: Duration,
    /// How long they may take for other things.
    pub patience: Patience,
    /// The tool of one of them that answers questions about permission: `mcp__server__tool`.
    pub permission_tool: Option<String>,
}

impl Default for McpChoice {
    fn default() -> Self {
        Self { definitions: Vec::new(), wait: WAIT, patience: Patience::default(), permission_tool: None }
    }
}

impl McpChoice {
    /// These servers, as patient as the environment says.
    #[must_use]
    pub fn new(definitions: Vec<McpDefinition>, env: &Env) -> Self {
        let millis = |name: &str| env.var(name).and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let mut choice = Self { definitions, ..Self::default() };
        choice.wait = millis("TILLER_MCP_WAIT_MS").unwrap_or(choice.wait);
        choice.patience.start = millis("MCP_TIMEOUT").unwrap_or(choice.patience.start);
        choice.patience.call = millis("MCP_TOOL_TIMEOUT").unwrap_or(choice.patience.call);
        choice
    }

    /// The rules with one more: whoever wants something does not call the tool that decides about it.
    pub(crate) fn guarded(&self, mut rules: Rules) -> Rules {
        rules.deny.extend(self.permission_tool.iter().filter_map(|tool| tool.parse().ok()));
        rules
    }

    /// Starts the servers, if there are any.
    pub(crate) fn begin(self, services: &Services, config_dir: &Path, offline: bool) -> Option<Arc<Servers>> {
        if self.definitions.is_empty() {
            return None;
        }
        Some(self.start(services, config_dir, offline))
    }

    /// No server at all, for whoever only wants to know what the model is told of the tools that lead to them.
    pub(crate) fn nobody(services: &Services, config_dir: &Path) -> Arc<Servers> {
        Self::default().start(services, config_dir, true)
    }

    fn start(self, services: &Services, config_dir: &Path, offline: bool) -> Arc<Servers> {
        let principal = Client {
            asides: services.asides.clone(),
            events: services.events.clone(),
            policy: services.policy.clone(),
            beside: services.beside(),
            small_model: services.small_model.clone(),
            secrets: Arc::clone(&services.secrets),
            interactive: services.interactive,
        };
        let surroundings = Surroundings {
            env: services.env.clone(),
            offline,
            secrets: Arc::clone(&services.secrets),
            tokens: TokenStore::below(config_dir),
            principal: Arc::new(principal),
            patience: self.patience,
        };
        Arc::new(Servers::start(self.definitions, surroundings))
    }
}

/// Adds the tools of servers, and those that find and call them. Tools that a rule denies are not there.
pub(crate) fn with_servers(registry: Registry, servers: &Arc<Servers>, policy: Standpoint) -> Registry {
    let is_denied = {
        let policy = policy.clone();
        move |tool: &str| {
            let request = Asked { tool: tool.to_owned(), access: Vec::new(), read_only: true };
            matches!(approve(&request, &policy.now()), Decision::Deny(_))
        }
    };
    let policy: PolicyNow = Arc::new(move || policy.now());
    registry
        .with(SearchMcpTools { servers: Arc::clone(servers), policy: Arc::clone(&policy) })
        .with(CallMcpTool)
        .with(ListMcpResources { servers: Arc::clone(servers), policy })
        .with(ReadMcpResource(Arc::clone(servers)))
        .with_source(Arc::clone(servers) as Arc<dyn ToolSource>)
        .limiting_source(move |tool| !is_denied(tool))
}

impl Services {
    /// Servers as the model may know them: without those, and their tools, that a rule denies.
    pub(crate) fn servers_seen(&self) -> Vec<Seen> {
        self.mcp.as_ref().map(|servers| servers.seen_under(&self.policy.now().rules)).unwrap_or_default()
    }
}

/// The session as servers see it.
struct Client {
    asides: mpsc::UnboundedSender<Aside>,
    events: mpsc::UnboundedSender<Event>,
    policy: Standpoint,
    beside: Beside,
    small_model: String,
    secrets: Arc<Vault>,
    interactive: bool,
}

impl Client {
    /// Puts a question to the user; nothing if nobody answers.
    fn put(&self, ask: Ask) -> oneshot::Receiver<Answer> {
        let (sender, answer) = oneshot::channel();
        // The session may be over; then nobody answers, which is what the server finds out.
        let _ = self.asides.send(Aside::Ask(ask, sender));
        answer
    }

    fn nobody_is_there(&self, server: &str, what: &str) {
        let content =
            format!("The MCP server {server} {what}; nobody can be asked in this run, so it was declined.");
        self.tell(Notice { subtype: "mcp".to_owned(), level: Level::Warning, content });
    }
}

impl Principal for Client {
    fn roots(&self) -> Vec<PathBuf> {
        self.policy.now().roots.clone()
    }

    fn elicit(&self, ask: ElicitationAsk) -> BoxFuture<'static, Elicited> {
        if !self.interactive {
            self.nobody_is_there(&ask.server, "has a question for the user");
            return async { Elicited::Declined }.boxed();
        }
        let fields = match &ask.wanted {
            Wanted::Form { fields, .. } => fields.clone(),
            Wanted::Visit { .. } => Vec::new(),
        };
        let answer = self.put(Ask::Elicitation(ask));
        async move {
            match answer.await {
                Ok(Answer::Elicitation { content }) => {
                    let given =
                        content.as_ref().and_then(|content| content.as_object().cloned()).unwrap_or_default();
                    match form::check(&fields, &given) {
                        Err(problem) if !fields.is_empty() => {
                            tracing::warn!("an answer for a server does not fit: {problem}");
                            Elicited::Cancelled
                        }
                        _ => Elicited::Given(content),
                    }
                }
                Ok(Answer::Refuse { then: Then::GoOn, .. }) => Elicited::Declined,
                _ => Elicited::Cancelled,
            }
        }
        .boxed()
    }

    fn sampling_model(&self) -> String {
        self.small_model.clone()
    }

    fn sample(&self, mut request: SamplingRequest) -> BoxFuture<'static, Result<Sampled, String>> {
        mask(&mut request, &self.secrets);
        if !self.interactive {
            self.nobody_is_there(&request.ask.server, "wants to ask the model something");
            let why = "nobody is there who could allow it".to_owned();
            return async { Err(why) }.boxed();
        }
        let (beside, asides) = (self.beside.clone(), self.asides.clone());
        let answer = self.put(Ask::Sampling(request.ask.clone()));
        async move {
            if !matches!(answer.await, Ok(Answer::Allow { .. })) {
                return Err("the user does not allow it".to_owned());
            }
            let (answer, bill) = beside.ask(wire(request)).await.map_err(|error| error.to_string())?;
            // The session may be over; then nobody counts any more.
            let _ = asides.send(Aside::Billed(bill));
            let cut_off = answer.stop_reason == StopReason::MaxTokens;
            Ok(Sampled { text: answer.text(), model: answer.model, cut_off })
        }
        .boxed()
    }

    fn relay(&self, server: &str, message: Value) -> BoxFuture<'static, Result<Value, String>> {
        let answer = self.put(Ask::Server(ServerMessage { server: server.to_owned(), message }));
        async move {
            match answer.await {
                Ok(Answer::Host { answer }) => answer,
                _ => Err("the host did not answer".to_owned()),
            }
        }
        .boxed()
    }

    fn changed(&self, server: McpServer) {
        // A front end that went away no longer needs to be told.
        let _ = self.events.send(Event::Mcp(Box::new(server)));
    }

    fn tell(&self, notice: Notice) {
        let _ = self.asides.send(Aside::Notice(notice));
    }
}

/// What a server says to the model has its credentials masked like all that reaches it, and the user sees it so.
fn mask(request: &mut SamplingRequest, secrets: &Vault) {
    let SamplingRequest { ask, messages } = request;
    for text in ask.messages.iter_mut().map(|message| &mut message.text).chain(ask.system.as_mut()) {
        *text = secrets.mask(text).into_owned();
    }
    let blocks = messages.iter_mut().filter_map(|message| message["content"].as_array_mut()).flatten();
    for block in blocks.filter(|block| block["type"] == "text") {
        secrets.mask_value(block);
    }
}

/// A server's question in the form of a request.
fn wire(request: SamplingRequest) -> Request {
    let SamplingRequest { ask, messages } = request;
    let system = ask.system.map(|text| json!([{"type": "text", "text": text}]).to_string());
    Request {
        model: ask.model,
        system: system.map(Bytes::from).unwrap_or_default(),
        messages: messages.into_iter().map(|message| Bytes::from(message.to_string())).collect(),
        max_tokens: Some(ask.max_tokens),
        thinking: Thinking::Off,
        ..Request::default()
    }
}
