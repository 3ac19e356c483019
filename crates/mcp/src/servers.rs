//! The servers of a session.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use futures::future::join_all;
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams};
use serde_json::{Map, Value};
use tiller_config::{McpDefinition, McpReach};
use tiller_policy::{Context, Rules};
use tiller_protocol::block::RawBlock;
use tiller_protocol::env::Env;
use tiller_protocol::mcp::{McpOrder, McpServer, McpState};
use tiller_tools::Vault;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::attendant::Attendant;
use crate::auth::{Challenge, Outside, Standing, TokenStore};
use crate::connect::short;
use crate::content;
use crate::host::WAITING;
use crate::http::{HttpError, LARGEST};
use crate::link::{CallError, Link, Terms};
use crate::name::plain;
use crate::offer::{Offer, ToolOffer};
use crate::principal::Principal;

/// What servers find around them.
pub struct Surroundings {
    /// The outside world; programs run in its directory.
    pub env: Env,
    /// Whether only this machine may be contacted.
    pub offline: bool,
    /// Masks credentials in what servers say of themselves.
    pub secrets: Arc<Vault>,
    /// What services gave the user to be known by.
    pub tokens: TokenStore,
    /// Whom servers turn to.
    pub principal: Arc<dyn Principal>,
    /// How long things may take.
    pub patience: Patience,
}

impl Surroundings {
    pub(crate) fn outside(&self) -> Outside<'_> {
        Outside { env: &self.env, offline: self.offline }
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Until a server is ready.
    pub start: Duration,
    /// A call without a sign of life.
    pub call: Duration,
    /// Each step of a server's end.
    pub leaving: Duration,
    /// Before a broken connection is made again; doubled each time.
    pub pause: Duration,
    /// How often that is tried.
    pub attempts: u32,
    /// Between two looks at lists that change.
    pub refresh: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            call: Duration::from_secs(300),
            leaving: Duration::from_millis(500),
            pause: Duration::from_secs(1),
            attempts: 5,
            refresh: Duration::from_millis(500),
        }
    }
}

/// Where a server stands, with the way to it.
#[derive(Default)]
pub(crate) struct Status {
    pub(crate) state: McpState,
    pub(crate) offer: Arc<Offer>,
    /// What it offered when it was ready last: calls for that wait until it is ready again, or fail for the right reason.
    pub(crate) last_offer: Arc<Offer>,
    pub(crate) link: Option<Link>,
}

impl Status {
    /// The server for front ends.
    pub(crate) fn shown(&self, definition: &McpDefinition) -> McpServer {
        McpServer {
            name: definition.name.clone(),
            scope: definition.scope.to_string(),
            transport: definition.reach.transport(),
            address: definition.shown.clone(),
            state: self.state.clone(),
            identity: self.offer.identity.clone(),
            tools: self.offer.tools.iter().map(ToolOffer::shown).collect(),
            prompts: self.offer.prompts.iter().map(|(_, prompt)| prompt.clone()).collect(),
            resources: self.offer.resources.clone(),
        }
    }

    fn is_settled(&self) -> bool {
        !matches!(self.state, McpState::Configured | McpState::Starting)
    }
}

/// A server that is not started, for front ends.
#[must_use]
pub fn not_started(definition: &McpDefinition) -> McpServer {
    Status::default().shown(definition)
}

/// A server at one moment.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: McpState,
    /// What it offers.
    pub offer: Arc<Offer>,
    /// Whether its tools are always told to the model.
    pub always_load: bool,
}

/// Tells what decides at the moment of asking.
pub type PolicyNow = Arc<dyn Fn() -> Arc<Context> + Send + Sync>;

/// The servers of a session. They start at once, beside everything else, and end with this.
pub struct Servers {
    attended: RwLock<BTreeMap<String, Attended>>,
    surroundings: Arc<Surroundings>,
    tasks: TaskTracker,
    ended: CancellationToken,
    _ends_with_this: DropGuard,
}

#[derive(Clone)]
struct Attended {
    definition: Arc<McpDefinition>,
    status: watch::Receiver<Arc<Status>>,
    orders: mpsc::UnboundedSender<McpOrder>,
    heard: broadcast::Sender<Value>,
    /// Fires also when another one takes its name.
    ended: CancellationToken,
}

impl Servers {
    /// Starts all of them. Must be called within a runtime; returns at once.
    #[must_use]
    pub fn start(definitions: Vec<McpDefinition>, surroundings: Surroundings) -> Self {
        let ended = CancellationToken::new();
        let servers = Self {
            attended: RwLock::default(),
            surroundings: Arc::new(surroundings),
            tasks: TaskTracker::new(),
            _ends_with_this: ended.clone().drop_guard(),
            ended,
        };
        servers.add(definitions);
        servers
    }

    /// Starts further ones; one of the same name gives way. Must be called within a runtime; returns at once.
    pub fn add(&self, definitions: Vec<McpDefinition>) {
        for definition in definitions {
            let definition = Arc::new(definition);
            let (orders, ordered) = mpsc::unbounded_channel();
            let (status, status_now) = watch::channel(Arc::new(Status::default()));
            let (heard, _) = broadcast::channel(WAITING);
            let ended = self.ended.child_token();
            let attendant = Attendant {
                definition: Arc::clone(&definition),
                surroundings: Arc::clone(&self.surroundings),
                status,
                orders: ordered,
                heard: heard.clone(),
                standing: Standing::default(),
                tasks: self.tasks.clone(),
                ended: ended.clone(),
            };
            let one =
                Attended { definition: Arc::clone(&definition), status: status_now, orders, heard, ended };
            let mut attended = self.attended.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(former) = attended.insert(definition.name.clone(), one) {
                former.ended.cancel();
            }
            drop(attended);
            self.surroundings.principal.changed(attendant.status.borrow().shown(&definition));
            self.tasks.spawn(attendant.attend());
        }
    }

    fn attended(&self) -> RwLockReadGuard<'_, BTreeMap<String, Attended>> {
        self.attended.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn one(&self, server: &str) -> Option<Attended> {
        self.attended().get(server).cloned()
    }

    /// Hands over what a server that is part of the host says of its own accord. False if there is none of that name.
    #[must_use]
    pub fn hear(&self, server: &str, message: Value) -> bool {
        let Some(one) = self.one(server).filter(|one| one.definition.reach == McpReach::Host) else {
            return false;
        };
        // While it is not connected nobody listens, and nothing is missed: its lists are asked for at the start.
        let _ = one.heard.send(message);
        true
    }

    /// All of them as they are now, by name.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        let seen = |(name, one): (&String, &Attended)| {
            let status = Arc::clone(&one.status.borrow());
            Seen {
                name: name.clone(),
                state: status.state.clone(),
                offer: Arc::clone(&status.offer),
                always_load: one.definition.always_load,
            }
        };
        self.attended().iter().map(seen).collect()
    }

    /// The same, without the servers and tools that a rule denies.
    #[must_use]
    pub fn seen_under(&self, rules: &Rules) -> Vec<Seen> {
        let mut seen = self.seen();
        seen.retain(|one| !rules.denies_server(&plain(&one.name)));
        for one in &mut seen {
            if one.offer.tools.iter().any(|tool| rules.denies_tool(&tool.name)) {
                let offer = Arc::make_mut(&mut one.offer);
                offer.tools.retain(|tool| !rules.denies_tool(&tool.name));
            }
        }
        seen
    }

    /// The same for front ends.
    #[must_use]
    pub fn shown(&self) -> Vec<McpServer> {
        self.attended().values().map(|one| one.status.borrow().shown(&one.definition)).collect()
    }

    /// Waits until each of them is ready or known not to be, at most this long.
    pub async fn settled(&self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        let known: Vec<_> = self.attended().values().map(|one| one.status.clone()).collect();
        let waits = known.into_iter().map(|mut status| {
            async move {
                // One that is late is told of later.
                let _ = timeout_at(deadline, status.wait_for(|status| status.is_settled())).await;
            }
        });
        join_all(waits).await;
    }

    /// Does what the user wants with a server. False if there is none of that name.
    #[must_use]
    pub fn order(&self, server: &str, order: McpOrder) -> bool {
        let attended = self.one(server);
        attended.is_some_and(|one| one.orders.send(order).is_ok())
    }

    /// Tells servers that the directories that are worked in have changed.
    pub fn roots_changed(&self) {
        for link in self.attended().values().filter_map(|one| one.status.borrow().link.clone()) {
            self.tasks.spawn(async move {
                // One that cannot be told will ask when it needs to know.
                let _ = link.peer.notify_roots_list_changed().await;
            });
        }
    }

    /// The tool of this name, and the server that has it.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<(String, ToolOffer)> {
        self.attended().iter().find_map(|(server, one)| {
            let status = one.status.borrow();
            let tool = status.last_offer.tools.iter().find(|tool| tool.name == name)?;
            Some((server.clone(), tool.clone()))
        })
    }

    /// How long a call of a server may take without a sign of life.
    pub(crate) fn limit(&self, server: &str) -> Duration {
        let own = self.one(server).and_then(|one| one.definition.timeout);
        own.unwrap_or(self.surroundings.patience.call)
    }

    /// The way to a server; one that is starting is waited for.
    ///
    /// # Errors
    /// A text for the model: why there is none.
    pub(crate) async fn link(&self, server: &str) -> Result<Link, String> {
        let Some(attended) = self.one(server) else {
            return Err(format!(
                "There is no MCP server named {server}. `ListMcpResourcesTool` lists what there is to read."
            ));
        };
        let mut status = attended.status.clone();
        let deadline = Instant::now() + self.surroundings.patience.start;
        let status = match timeout_at(deadline, status.wait_for(|status| status.is_settled())).await {
            Ok(Ok(status)) => Arc::clone(&status),
            _ => return Err(format!("The MCP server {server} is still starting. Try again later.")),
        };
        status.link.clone().ok_or_else(|| {
            format!(
                "The MCP server {server} cannot be used: {}. Do without it, or tell the user.",
                status.state.describe()
            )
        })
    }

    /// Calls a tool on Tiller's own behalf; gives the text of its result.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn call(
        &self,
        name: &str,
        input: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        if self.tool(name).is_none() {
            self.settled(self.surroundings.patience.start).await;
        }
        let (server, tool) = self.tool(name).ok_or_else(|| format!("no MCP server has the tool {name}"))?;
        let link = self.link(&server).await?;
        let terms = Terms { at_most: self.limit(&server), cancel, progress: &|_| {} };
        let params = CallToolRequestParams::new(tool.original.clone()).with_arguments(input);
        let result = link.call(params, &terms).await;
        let result = result.map_err(|error| self.explain(&server, name, &error))?;
        let failed = result.is_error == Some(true);
        let (content, _) = content::of_result(result);
        let text = content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n");
        if failed { Err(format!("it failed: {text}")) } else { Ok(text) }
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// A text for the model.
    pub async fn read(
        &self,
        server: &str,
        uri: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<RawBlock>, String> {
        let link = self.link(server).await?;
        let terms = Terms { at_most: self.limit(server), cancel, progress: &|_| {} };
        match link.read(uri, &terms).await {
            Ok(result) => Ok(content::of_resources(result.contents)),
            Err(error) => Err(self.explain(server, &format!("reading {uri}"), &error)),
        }
    }

    /// What a prompt says, given what the user wrote behind its name. The name begins with `mcp__`.
    ///
    /// # Errors
    /// A text for the user.
    pub async fn prompt(
        &self,
        name: &str,
        words: &[String],
        cancel: &CancellationToken,
    ) -> Result<Vec<RawBlock>, String> {
        let found = self.seen().into_iter().find_map(|seen| {
            let (original, prompt) = seen.offer.prompts.iter().find(|(_, prompt)| prompt.name == name)?;
            Some((seen.name.clone(), original.clone(), prompt.arguments.clone()))
        });
        let Some((server, original, arguments)) = found else {
            return Err(format!("there is no prompt named {name}; its server may not be ready"));
        };
        if let Some(missing) = arguments.iter().skip(words.len()).find(|argument| argument.required) {
            return Err(format!("{name} needs {}: write it behind the name", missing.name));
        }
        let named =
            arguments.iter().zip(words).map(|(argument, word)| (argument.name.clone(), word.clone().into()));
        let given: Map<String, Value> = named.collect();
        let mut params = GetPromptRequestParams::new(original);
        params.arguments = (!given.is_empty()).then_some(given);
        let link = self.link(&server).await?;
        let terms = Terms { at_most: self.limit(&server), cancel, progress: &|_| {} };
        match link.prompt(params, &terms).await {
            Ok(result) => Ok(content::of_prompt(result)),
            Err(error) => Err(self.explain(&server, &format!("the prompt {name}"), &error)),
        }
    }

    /// What went wrong, for the model.
    pub(crate) fn explain(&self, server: &str, what: &str, error: &CallError) -> String {
        match error {
            CallError::Cancelled => format!("{what} was stopped."),
            CallError::Late(after) => format!(
                "The MCP server {server} did not answer within {} s ({what}). It was told to stop; whether it did \
                 something is not known.",
                after.as_secs()
            ),
            CallError::Service(error) if Challenge::in_request(error).is_some() => format!(
                "The MCP server {server} wants the user to sign in before {what}, or to be granted more. Ask the user to, \
                 and then try again."
            ),
            CallError::Service(error) if HttpError::in_request(error).is_some() => format!(
                "The MCP server {server} answered {what} with more than may be read ({} MB). Ask it for less.",
                LARGEST / (1024 * 1024)
            ),
            CallError::Service(error) => match error.as_ref() {
                rmcp::ServiceError::McpError(error) => {
                    format!("The MCP server {server} refused {what}: {}", short(&error.message))
                }
                rmcp::ServiceError::TransportClosed | rmcp::ServiceError::TransportSend(_) => format!(
                    "The connection to the MCP server {server} broke during {what}. Whether it did something is not \
                     known."
                ),
                other => format!(
                    "The MCP server {server} gave no proper answer to {what}: {}",
                    short(&other.to_string())
                ),
            },
        }
    }

    /// Ends all of them.
    pub async fn end(&self) {
        self.ended.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
