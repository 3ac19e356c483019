//! What servers ask of us, and what they tell.

#![expect(deprecated, reason = "roots and sampling are being phased out, but servers in use ask for them")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorData, FormElicitationCapability,
    Implementation, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ProgressToken, Role, Root, SamplingMessage as WireMessage, SamplingMessageContentBlock,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use tiller_protocol::form;
use tiller_protocol::mcp::{ElicitationAsk, SamplingAsk, SamplingMessage, Wanted};
use tokio::sync::{Semaphore, mpsc, watch};
use url::Url;

use crate::auth::Challenge;
use crate::principal::{Elicited, Principal, SamplingRequest};

/// Questions of one server that may wait for an answer.
const WAITING: usize = 3;
/// Tokens that an answer for a server may have.
const MOST_TOKENS: u32 = 8_192;
/// Characters of a server's question that the user is shown.
const QUESTION: usize = 4_000;

/// What has changed about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// One of its lists.
    Lists,
    /// It refuses what it did before.
    Refused(Challenge),
}

/// How far a call is.
pub(crate) type Progress = Option<ProgressNotificationParam>;

/// Who waits for news of which call, and whether the user is being asked.
#[derive(Default)]
pub(crate) struct Board {
    calls: Mutex<HashMap<ProgressToken, watch::Sender<Progress>>>,
    asking: AtomicUsize,
}

impl Board {
    pub(crate) fn register(&self, token: ProgressToken) -> watch::Receiver<Progress> {
        let (news, heard) = watch::channel(None);
        self.lock().insert(token, news);
        heard
    }

    pub(crate) fn forget(&self, token: &ProgressToken) {
        self.lock().remove(token);
    }

    /// Whether the server waits for the user, so that nobody may complain that it takes its time.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Relaxed) > 0
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, watch::Sender<Progress>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The near end of a connection.
pub(crate) struct Handler {
    pub(crate) server: String,
    pub(crate) principal: Arc<dyn Principal>,
    pub(crate) board: Arc<Board>,
    pub(crate) changed: mpsc::UnboundedSender<Changed>,
    /// One question at a time.
    turn: Semaphore,
    waiting: AtomicUsize,
}

impl Handler {
    pub(crate) fn new(
        server: &str,
        principal: Arc<dyn Principal>,
        board: Arc<Board>,
        changed: mpsc::UnboundedSender<Changed>,
    ) -> Self {
        Self {
            server: server.to_owned(),
            principal,
            board,
            changed,
            turn: Semaphore::new(1),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Lets one question at a time through, and puts none before its turn. A server that asks faster than anybody could
    /// answer is told so.
    async fn in_turn<T>(&self, ask: impl Future<Output = T>) -> Result<T, ErrorData> {
        let _waiting = Counted::new(&self.waiting);
        if self.waiting.load(Ordering::Relaxed) > WAITING {
            return Err(ErrorData::invalid_request("too many questions are waiting for an answer", None));
        }
        let _asking = Counted::new(&self.board.asking);
        let _turn = self.turn.acquire().await;
        Ok(ask.await)
    }

    fn note_change(&self) {
        // The attendant is gone when the connection is being closed.
        let _ = self.changed.send(Changed::Lists);
    }
}

/// Counts as long as it is held.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::default())
            .with_url(UrlElicitationCapability::default());
        let mut capabilities = ClientCapabilities::builder()
            .enable_roots()
            .enable_roots_list_changed()
            .enable_sampling()
            .build();
        capabilities.elicitation = Some(elicitation);
        ClientConfig::new(capabilities, Implementation::new("tiller", env!("CARGO_PKG_VERSION")))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let roots = self.principal.roots().into_iter().filter_map(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let root = Root::new(Url::from_directory_path(&path).ok()?.as_str().trim_end_matches('/'));
            Some(match name {
                Some(name) => root.with_name(name),
                None => root,
            })
        });
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let ask = elicitation(&self.server, request)?;
        let fields = match &ask.wanted {
            Wanted::Form { fields, .. } => fields.clone(),
            Wanted::Visit { .. } => Vec::new(),
        };
        let answer = self.in_turn(async { self.principal.elicit(ask).await }).await?;
        Ok(match answer {
            Elicited::Given(content) => {
                let content = completed(content, &fields);
                let result = ElicitResult::new(ElicitationAction::Accept);
                match content {
                    Some(content) => result.with_content(content),
                    None => result,
                }
            }
            Elicited::Declined => ElicitResult::new(ElicitationAction::Decline),
            Elicited::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let request = sampling(&self.server, params, self.principal.sampling_model())?;
        let refused = |why: String| ErrorData::new(rmcp::model::ErrorCode(-1), why, None);
        let sampled = self.in_turn(async { self.principal.sample(request).await }).await?.map_err(refused)?;
        let stop = if sampled.cut_off { "maxTokens" } else { "endTurn" };
        let message = WireMessage::new(Role::Assistant, SamplingMessageContentBlock::text(sampled.text));
        Ok(CreateMessageResult::new(message, sampled.model).with_stop_reason(stop))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        if let Some(news) = self.board.lock().get(&params.progress_token) {
            news.send_replace(Some(params));
        }
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        tracing::debug!(server = self.server, "{}", params.data);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.note_change();
    }
}

/// What was left open gets what the form says by default.
fn completed(content: Option<Value>, fields: &[form::FormField]) -> Option<Value> {
    let Some(Value::Object(given)) = content else { return content };
    let mut whole = form::defaults(fields);
    whole.extend(given);
    Some(Value::Object(whole))
}

fn elicitation(server: &str, request: ElicitRequestParams) -> Result<ElicitationAsk, ErrorData> {
    let cut = |text: String| text.chars().take(QUESTION).collect::<String>();
    let (message, wanted) = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            (message, Wanted::Form { fields: form::fields(&schema), schema })
        }
        ElicitRequestParams::UrlElicitationParams { message, url, elicitation_id, .. } => {
            let page = Url::parse(&url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            let Some(page) = page else {
                let text = "only pages at http and https addresses can be visited";
                return Err(ErrorData::invalid_params(text, None));
            };
            // As a browser understands it: what the user sees is what would be opened.
            (message, Wanted::Visit { url: page.into(), id: elicitation_id })
        }
        _ => return Err(ErrorData::invalid_params("this kind of question is not known", None)),
    };
    Ok(ElicitationAsk { server: server.to_owned(), message: cut(message), wanted })
}

fn sampling(
    server: &str,
    params: CreateMessageRequestParams,
    model: String,
) -> Result<SamplingRequest, ErrorData> {
    if params.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
        return Err(ErrorData::invalid_params("tools are not available here", None));
    }
    let (mut shown, mut messages) = (Vec::new(), Vec::new());
    for message in params.messages {
        let role = if message.role == Role::User { "user" } else { "assistant" };
        let (mut texts, mut blocks) = (Vec::new(), Vec::new());
        for block in message.content.into_vec() {
            let (text, block) = content(block)?;
            texts.push(text);
            blocks.push(block);
        }
        shown.push(SamplingMessage { role: role.to_owned(), text: texts.join("\n") });
        messages.push(json!({"role": role, "content": blocks}));
    }
    let ask = SamplingAsk {
        server: server.to_owned(),
        system: params.system_prompt,
        messages: shown,
        max_tokens: params.max_tokens.clamp(1, MOST_TOKENS),
        model,
    };
    Ok(SamplingRequest { ask, messages })
}

/// A block of a server's message: for people, and for the provider.
fn content(block: SamplingMessageContentBlock) -> Result<(String, Value), ErrorData> {
    match block {
        SamplingMessageContentBlock::Text(text) => {
            let block = json!({"type": "text", "text": text.text});
            Ok((text.text, block))
        }
        SamplingMessageContentBlock::Image(image) => {
            let source = json!({"type": "base64", "media_type": image.mime_type, "data": image.data});
            Ok((format!("[an image, {}]", image.mime_type), json!({"type": "image", "source": source})))
        }
        _ => Err(ErrorData::invalid_params("only text and images can be sent to the model", None)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use rmcp::model::CallToolRequestParams;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::bench::{Bench, Counting, Server};
    use crate::link::Terms;

    // MCP-06
    #[tokio::test]
    async fn a_question_is_put_only_when_the_one_before_is_answered() {
        let (asked, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let opened = Arc::clone(&gate);
        let answer = move || {
            let opened = Arc::clone(&opened);
            async move {
                opened.acquire().await.unwrap().forget();
                Elicited::Declined
            }
            .boxed()
        };
        let mut bench = Bench::new(Counting { asked: Arc::clone(&asked), answer: Box::new(answer) }).await;
        // Servers may ask while they are asked for something.
        let (link, server) = (bench.link.clone(), &mut bench.server);
        let cancel = CancellationToken::new();
        let terms = Terms { at_most: Duration::from_secs(600), cancel: &cancel, progress: &|_| {} };
        let serving = async {
            let call = server.hear().await;
            let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
            server.say(&[Server::question(1), Server::question(2), ping]).await;
            // Whoever answers this has looked at what came before.
            assert_eq!(server.hear().await["id"], 3);
            assert_eq!(asked.load(Ordering::SeqCst), 1);
            for _ in 0..2 {
                gate.add_permits(1);
                assert_eq!(server.hear().await["result"]["action"], "decline");
            }
            assert_eq!(asked.load(Ordering::SeqCst), 2);
            server.say(&[json!({"jsonrpc": "2.0", "id": call["id"], "result": {"content": []}})]).await;
        };
        let (result, ()) = tokio::join!(link.call(CallToolRequestParams::new("x"), &terms), serving);
        result.unwrap();
    }
}
