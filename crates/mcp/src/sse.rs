//! Services that are spoken to as before 2025: one stream of events brings all that they say, and its first event names
//! the place for what they are told.

use std::collections::HashMap;
use std::sync::Arc;

use futures::StreamExt;
use http::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpError};
use url::Url;

use crate::http::LARGEST;

/// A connection to such a service.
pub(crate) struct EventTransport<C> {
    client: C,
    headers: HashMap<HeaderName, HeaderValue>,
    /// Where messages go.
    endpoint: Arc<str>,
    events: BoxedSseResponse,
}

impl<C: StreamableHttpClient> EventTransport<C> {
    /// Opens the stream, and waits until the service has said where messages go.
    ///
    /// # Errors
    /// When there is no such stream, or messages would go to somebody else.
    pub(crate) async fn open(
        client: C,
        url: &Url,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Self, StreamableHttpError<C::Error>> {
        let stream = client.get_stream_with_max_sse_event_size(
            url.as_str().into(),
            None,
            None,
            None,
            headers.clone(),
            LARGEST,
        );
        let mut events = stream.await?;
        while let Some(event) = events.next().await {
            let event = event?;
            if event.event.as_deref() == Some("endpoint") {
                let endpoint = endpoint(url, event.data.as_deref().unwrap_or_default())?;
                return Ok(Self { client, headers, endpoint, events });
            }
        }
        Err(StreamableHttpError::UnexpectedEndOfStream)
    }
}

/// The place for messages. It is at the service itself: whoever speaks in its name gets no tokens.
fn endpoint<E>(service: &Url, named: &str) -> Result<Arc<str>, StreamableHttpError<E>>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let place = service.join(named.trim()).ok().filter(|place| place.origin() == service.origin());
    let elsewhere = "the place that it names for messages is not its own";
    place
        .map(|place| place.as_str().into())
        .ok_or(StreamableHttpError::UnexpectedServerResponse(elsewhere.into()))
}

impl<C: StreamableHttpClient + Sync> Transport<RoleClient> for EventTransport<C> {
    type Error = StreamableHttpError<C::Error>;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (client, headers, endpoint) =
            (self.client.clone(), self.headers.clone(), Arc::clone(&self.endpoint));
        async move {
            let sent =
                client.post_message_with_max_sse_event_size(endpoint, message, None, None, headers, LARGEST);
            match sent.await {
                // What it has to say comes over the stream, and whatever else it calls this does not matter.
                Ok(_) | Err(StreamableHttpError::UnexpectedContentType(_)) => Ok(()),
                Err(error) => Err(error),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let event = self.events.next().await?;
            let event =
                event.inspect_err(|error| tracing::warn!("the stream of a server broke: {error}")).ok()?;
            if !matches!(event.event.as_deref(), None | Some("" | "message")) {
                continue;
            }
            match serde_json::from_str(&event.data.unwrap_or_default()) {
                Ok(message) => return Some(message),
                Err(error) => tracing::debug!("an event is no message: {error}"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.events = futures::stream::empty().boxed();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpError;

    // MCP-05
    #[test]
    fn messages_go_to_nobody_else() {
        let service = Url::parse("https://example.org:8443/a/sse").unwrap();
        let place = |named: &str| endpoint::<HttpError>(&service, named).ok();
        assert_eq!(place("/messages?id=1").as_deref(), Some("https://example.org:8443/messages?id=1"));
        assert_eq!(place("https://example.org:8443/x").as_deref(), Some("https://example.org:8443/x"));
        for elsewhere in [
            "https://example.com/x",
            "//evil.example/x",
            "http://example.org:8443/x",
            "https://example.org/x",
        ] {
            assert_eq!(place(elsewhere), None, "{elsewhere}");
        }
    }
}
