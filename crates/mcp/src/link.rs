//! A connection to a server, as calls use it.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientRequest, DEFAULT_MRTR_MAX_ROUNDS, GetPromptRequestParams,
    GetPromptResult, InputRequest, InputRequiredResult, InputResponses, ReadResourceRequestParams,
    ReadResourceResult, Request, ServerRequest, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RequestHandle, Service, ServiceError};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::auth::Challenge;
use crate::connect::short;
use crate::handler::{Board, Changed, Handler};

/// How long telling a server that a call is over may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often news of a call is passed on.
const PACE: Duration = Duration::from_millis(100);
/// A call that gives signs of life may take this many times as long as one that does not.
const PATIENCE: u32 = 12;

/// A connection to a server.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) handler: Arc<Handler>,
    pub(crate) board: Arc<Board>,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// It was told to stop.
    Cancelled,
    /// It took too long.
    Late(Duration),
    /// The server refused it, or cannot be reached any more.
    Service(Box<ServiceError>),
}

impl From<ServiceError> for CallError {
    fn from(error: ServiceError) -> Self {
        Self::Service(Box::new(error))
    }
}

/// How long a request may take, what stops it, and who hears how far it is.
pub(crate) struct Terms<'a> {
    pub(crate) at_most: Duration,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) progress: &'a (dyn Fn(Value) + Send + Sync),
}

impl Link {
    pub(crate) async fn call(
        &self,
        mut params: CallToolRequestParams,
        terms: &Terms<'_>,
    ) -> Result<CallToolResult, CallError> {
        for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
            let request = ClientRequest::CallToolRequest(Request::new(params.clone()));
            match self.request(request, terms).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    (params.input_responses, params.request_state) = self.fulfil(wanted).await?;
                }
                _ => return Err(ServiceError::UnexpectedResponse.into()),
            }
        }
        Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: DEFAULT_MRTR_MAX_ROUNDS }.into())
    }

    pub(crate) async fn read(&self, uri: &str, terms: &Terms<'_>) -> Result<ReadResourceResult, CallError> {
        let mut params = ReadResourceRequestParams::new(uri);
        for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
            let request = ClientRequest::ReadResourceRequest(Request::new(params.clone()));
            match self.request(request, terms).await? {
                ServerResult::ReadResourceResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(wanted) => {
                    (params.input_responses, params.request_state) = self.fulfil(wanted).await?;
                }
                _ => return Err(ServiceError::UnexpectedResponse.into()),
            }
        }
        Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: DEFAULT_MRTR_MAX_ROUNDS }.into())
    }

    pub(crate) async fn prompt(
        &self,
        params: GetPromptRequestParams,
        terms: &Terms<'_>,
    ) -> Result<GetPromptResult, CallError> {
        match self.request(ClientRequest::GetPromptRequest(Request::new(params)), terms).await? {
            ServerResult::GetPromptResult(result) => Ok(result),
            _ => Err(ServiceError::UnexpectedResponse.into()),
        }
    }

    /// Makes a request and waits for the answer, within the terms.
    async fn request(&self, request: ClientRequest, terms: &Terms<'_>) -> Result<ServerResult, CallError> {
        let mut handle =
            self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let token = handle.progress_token.clone();
        let mut news = self.board.register(token.clone());
        let outcome = self.answered(&mut handle, &mut news, terms).await;
        self.board.forget(&token);
        if matches!(outcome, Err(CallError::Cancelled | CallError::Late(_))) {
            let why = "the client does not wait for it any longer".to_owned();
            // A server that does not listen is not waited for.
            let _ = timeout(FAREWELL, handle.cancel(Some(why))).await;
        }
        if let Err(CallError::Service(error)) = &outcome
            && let Some(challenge) = Challenge::in_request(error)
        {
            // The attendant is gone when the connection is being closed.
            let _ = self.handler.changed.send(Changed::Refused(challenge));
        }
        outcome
    }

    async fn answered(
        &self,
        handle: &mut RequestHandle<RoleClient>,
        news: &mut tokio::sync::watch::Receiver<crate::handler::Progress>,
        terms: &Terms<'_>,
    ) -> Result<ServerResult, CallError> {
        let begun = Instant::now();
        let mut last = begun + terms.at_most * PATIENCE;
        let (mut deadline, mut told) = (begun + terms.at_most, None::<Instant>);
        loop {
            tokio::select! {
                biased;
                response = &mut handle.rx => {
                    return Ok(response.map_err(|_| ServiceError::TransportClosed)??);
                }
                () = terms.cancel.cancelled() => return Err(CallError::Cancelled),
                Ok(()) = news.changed() => {
                    deadline = Instant::now() + terms.at_most;
                    let is_due = told.is_none_or(|told| told.elapsed() >= PACE);
                    let progress = news.borrow_and_update().clone();
                    if let Some(progress) = progress.filter(|_| is_due) {
                        told = Some(Instant::now());
                        (terms.progress)(shown(&progress, begun.elapsed()));
                    }
                }
                () = sleep_until(deadline.min(last)) => {
                    // The user may think as long as they like.
                    if !self.board.is_asking() {
                        return Err(CallError::Late(begun.elapsed()));
                    }
                    deadline = Instant::now() + terms.at_most;
                    last = last.max(deadline);
                }
            }
        }
    }

    /// Gives a server what it wants to know before it answers.
    async fn fulfil(
        &self,
        wanted: InputRequiredResult,
    ) -> Result<(Option<InputResponses>, Option<String>), CallError> {
        let mut responses = InputResponses::new();
        for (key, request) in wanted.input_requests.unwrap_or_default() {
            let request = match request {
                InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
                InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
                InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
                _ => return Err(ServiceError::UnexpectedResponse.into()),
            };
            let id = rmcp::model::NumberOrString::String(key.as_str().into());
            let context = RequestContext::new(id, self.peer.clone());
            let answer = self.handler.handle_request(request, context).await;
            let answer = answer.map_err(ServiceError::McpError)?;
            responses.insert(key, serde_json::to_value(answer).unwrap_or_default());
        }
        Ok(((!responses.is_empty()).then_some(responses), wanted.request_state))
    }
}

/// How far a call is, for front ends.
fn shown(progress: &rmcp::model::ProgressNotificationParam, elapsed: Duration) -> Value {
    let message = progress.message.as_deref().map(short);
    let figure = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    let output = message.as_ref().map_or_else(|| figure.clone(), |message| format!("{message} ({figure})"));
    serde_json::json!({
        "type": "mcp_progress", "elapsed": elapsed.as_secs_f64(), "progress": progress.progress,
        "total": progress.total, "message": message, "output": output,
    })
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::bench::{Bench, Counting, Server};
    use crate::principal::Elicited;

    /// A call during which the user thinks for longer than any call may take.
    async fn thoughtful() {
        let answer = || {
            async { tokio::time::sleep(Duration::from_secs(1_000)).await }
                .map(|()| Elicited::Declined)
                .boxed()
        };
        let principal = Counting { asked: Arc::default(), answer: Box::new(answer) };
        let mut bench = Bench::new(principal).await;
        let (link, server) = (bench.link.clone(), &mut bench.server);
        let cancel = CancellationToken::new();
        let terms = Terms { at_most: Duration::from_secs(1), cancel: &cancel, progress: &|_| {} };
        let serving = async {
            let call = server.hear().await;
            server.say(&[Server::question(9)]).await;
            assert_eq!(server.hear().await["result"]["action"], "decline");
            let result = json!({"content": [{"type": "text", "text": "done"}]});
            server.say(&[json!({"jsonrpc": "2.0", "id": call["id"], "result": result})]).await;
        };
        let (result, ()) = tokio::join!(link.call(CallToolRequestParams::new("x"), &terms), serving);
        result.unwrap();
    }

    #[test]
    fn nobody_is_kept_busy_while_the_user_thinks() {
        let (done, over) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            // Time goes on only when everybody waits: for whoever is busy it would stand still.
            runtime.enable_all().start_paused(true).build().unwrap().block_on(thoughtful());
            done.send(()).unwrap();
        });
        over.recv_timeout(Duration::from_secs(120)).unwrap();
    }
}
