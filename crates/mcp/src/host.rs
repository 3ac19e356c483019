//! Servers that are part of the program that has started Tiller: what they are told, and what they answer, goes through
//! the session's front end.

use std::convert::Infallible;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::principal::Principal;

/// Messages of a server that wait to be heard.
pub(crate) const WAITING: usize = 16;

/// A connection to such a server.
pub(crate) struct HostTransport {
    server: String,
    principal: Arc<dyn Principal>,
    /// Messages that the host has yet to take; to requests it gives the answer with that.
    under_way: FuturesUnordered<BoxFuture<'static, Option<ServerJsonRpcMessage>>>,
    /// What the server says of its own accord.
    heard: broadcast::Receiver<Value>,
}

impl HostTransport {
    pub(crate) fn new(
        server: &str,
        principal: Arc<dyn Principal>,
        heard: broadcast::Receiver<Value>,
    ) -> Self {
        Self { server: server.to_owned(), principal, under_way: FuturesUnordered::new(), heard }
    }
}

impl Transport<RoleClient> for HostTransport {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let message = serde_json::to_value(message).unwrap_or_default();
        let taken = self.principal.relay(&self.server, message);
        self.under_way.push(taken.map(|taken| request.map(|request| answer(&request, taken))).boxed());
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            tokio::select! {
                Some(taken) = self.under_way.next() => match taken {
                    Some(answer) => return Some(answer),
                    None => continue,
                },
                heard = self.heard.recv() => match heard.map(serde_json::from_value) {
                    Ok(Ok(message)) => return Some(message),
                    Ok(Err(error)) => tracing::debug!("a server's message is not understood: {error}"),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.under_way.clear();
        Ok(())
    }
}

/// The answer to a request, or what stands for it: whoever waits for one gets one.
fn answer(request: &RequestId, taken: Result<Value, String>) -> ServerJsonRpcMessage {
    let understood = taken.and_then(|mut taken| {
        let answer = taken.get_mut("mcp_response").map(Value::take).unwrap_or_default();
        serde_json::from_value(answer).map_err(|_| "the host gave no answer of the protocol".to_owned())
    });
    match understood {
        Ok(ServerJsonRpcMessage::Response(answer)) if answer.id == *request => {
            JsonRpcMessage::Response(answer)
        }
        Ok(ServerJsonRpcMessage::Error(answer)) => {
            ServerJsonRpcMessage::error(answer.error, Some(request.clone()))
        }
        Ok(_) => failure(request, "the host's answer is for something else"),
        Err(why) => failure(request, &why),
    }
}

fn failure(request: &RequestId, why: &str) -> ServerJsonRpcMessage {
    let error = rmcp::ErrorData::internal_error(why.to_owned(), None);
    ServerJsonRpcMessage::error(error, Some(request.clone()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whatever_the_host_says_a_request_is_answered() {
        let request = RequestId::Number(1);
        for taken in [json!("ok"), json!([]), json!(null), json!({}), json!({"mcp_response": 3})] {
            let given = answer(&request, Ok(taken.clone()));
            assert!(matches!(given, JsonRpcMessage::Error(_)), "{taken}");
        }
    }
}
