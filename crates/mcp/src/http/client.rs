//! What sends messages to a service: bounded in what it takes, and able to prove that a token is its own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use reqwest::{Client, Request, RequestBuilder, Response};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse as Posted,
};

use super::HttpError;
use super::bounded::{LARGEST, body, events};
use crate::auth::Prover;
use crate::connect::short;

type Failure = StreamableHttpError<HttpError>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// Headers that the protocol itself sets.
const RESERVED: [&str; 3] = ["accept", "mcp-session-id", "last-event-id"];

/// What sends messages to a service.
#[derive(Clone)]
pub(crate) struct HttpClient {
    client: Client,
    /// For tokens that are bound to a key.
    prover: Option<Arc<Prover>>,
}

impl HttpClient {
    pub(crate) fn new(client: Client, prover: Option<Arc<Prover>>) -> Self {
        Self { client, prover }
    }

    fn request(&self, method: Method, uri: &str, headers: Headers) -> Result<RequestBuilder, Failure> {
        let accepted = [EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE].join(", ");
        let mut request = self.client.request(method, uri).header(ACCEPT, accepted);
        for (name, value) in headers {
            if RESERVED.contains(&name.as_str()) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        Ok(request)
    }

    /// Sends a request in the name of whoever the token was given to. A service that wants to see its own word in the
    /// proof gets it.
    async fn send(&self, request: RequestBuilder, token: Option<&str>) -> Result<Response, Failure> {
        let request = request.build().map_err(HttpError::from)?;
        let again = request.try_clone();
        let response = self.identified(request, token).await?;
        match (&self.prover, again) {
            (Some(prover), Some(again))
                if prover.learn(response.url(), response.headers()) && wants_nonce(&response) =>
            {
                self.identified(again, token).await
            }
            _ => Ok(response),
        }
    }

    async fn identified(&self, mut request: Request, token: Option<&str>) -> Result<Response, Failure> {
        if let Some(token) = token {
            let scheme = if self.prover.is_some() { "DPoP" } else { "Bearer" };
            request.headers_mut().insert(AUTHORIZATION, secret(&format!("{scheme} {token}"))?);
        }
        if let (Some(prover), Some(token)) = (&self.prover, token) {
            let proof =
                prover.proof(request.method(), request.url(), Some(token)).map_err(HttpError::from)?;
            request.headers_mut().insert(Prover::HEADER, secret(&proof)?);
        }
        Ok(self.client.execute(request).await.map_err(HttpError::from)?)
    }
}

fn secret(text: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| StreamableHttpError::UnexpectedServerResponse("the token cannot be sent".into()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn wants_nonce(response: &Response) -> bool {
    let said = response.headers().get_all(WWW_AUTHENTICATE).iter();
    response.status() == StatusCode::UNAUTHORIZED
        && said.filter_map(|value| value.to_str().ok()).any(|said| said.contains("use_dpop_nonce"))
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self::Client(error)
    }
}

/// A service that does not know us, or does not let us do this.
fn refused(response: &Response) -> Option<Failure> {
    let said = response.headers().get(WWW_AUTHENTICATE)?.to_str().ok()?.to_owned();
    match response.status() {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(said))),
        StatusCode::FORBIDDEN => {
            let scope = WWWAuthenticateParams::parse(&said, response.url()).scope;
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(said, scope)))
        }
        _ => None,
    }
}

/// A service that has too much to do, or does not work.
fn overburdened(response: &Response) -> Option<HttpStatusError> {
    let status = response.status();
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let wait = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    Some(HttpStatusError::new(status.as_u16(), wait.map(str::to_owned)))
}

fn kind(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(kind.as_bytes()).into_owned())
}

fn is(kind: Option<&String>, wanted: &str) -> bool {
    kind.is_some_and(|kind| kind.starts_with(wanted))
}

/// What an answer that is no success means.
async fn failed(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<Posted, Failure> {
    let (status, kind) = (response.status(), kind(&response));
    let is_json = is(kind.as_ref(), JSON_MIME_TYPE);
    let overburdened = overburdened(&response);
    if let Some(error) = overburdened.as_ref().filter(|error| !is_json || error.status == 429) {
        return Err(HttpStatusError::new(error.status, error.retry_after.clone()).into());
    }
    let is_refusal = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let body = body(response, LARGEST).await?;
    let error = match serde_json::from_slice(&body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    let text = short(&String::from_utf8_lossy(&body));
    match (message, error) {
        // An older service that does not know the question: whoever asked has to see which question was meant.
        (ClientJsonRpcMessage::Request(asked), error)
            if matches!(asked.request, ClientRequest::DiscoverRequest(_))
                && status.is_client_error()
                && !is_refusal
                && !in_session =>
        {
            let said = || ErrorData::invalid_request(format!("refused with HTTP {status}: {text}"), None);
            let error = error.map_or_else(said, |error| error.error);
            Ok(Posted::Json(ServerJsonRpcMessage::error(error, Some(asked.id.clone())), None))
        }
        (_, Some(error)) if is_json && !is_refusal => {
            Ok(Posted::Json(ServerJsonRpcMessage::Error(error), None))
        }
        _ => Err(match overburdened {
            Some(error) => error.into(),
            None => unexpected(format!("HTTP {status}: {text}")),
        }),
    }
}

fn unexpected(what: String) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(what))
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Posted, Failure> {
        self.post_message_with_max_sse_event_size(uri, message, session, token, headers, LARGEST).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        largest: usize,
    ) -> Result<Posted, Failure> {
        let mut request = self.request(Method::POST, &uri, headers)?.json(&message);
        if let Some(session) = &session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        let response = self.send(request, token.as_deref()).await?;
        if let Some(refused) = refused(&response) {
            return Err(refused);
        }
        match response.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => return Ok(Posted::Accepted),
            StatusCode::NOT_FOUND if session.is_some() => return Err(StreamableHttpError::SessionExpired),
            status if !status.is_success() => return failed(response, &message, session.is_some()).await,
            _ => {}
        }
        // Only requests are answered; what services say to anything else does not matter.
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        let session = response.headers().get(HEADER_SESSION_ID).and_then(|value| value.to_str().ok());
        let (session, kind) = (session.map(str::to_owned), kind(&response));
        if is(kind.as_ref(), EVENT_STREAM_MIME_TYPE) {
            return Ok(Posted::Sse(events(response, largest), session));
        }
        if !is(kind.as_ref(), JSON_MIME_TYPE) {
            return match is_request || response.content_length() != Some(0) {
                true => Err(StreamableHttpError::UnexpectedContentType(kind)),
                false => Ok(Posted::Accepted),
            };
        }
        let body = body(response, LARGEST).await?;
        match serde_json::from_slice(&body) {
            Ok(message) => Ok(Posted::Json(message, session)),
            Err(_) if !is_request => Ok(Posted::Accepted),
            Err(error) => {
                let said = short(&String::from_utf8_lossy(&body[..body.len().min(1_000)]));
                Err(unexpected(format!("it is no message: {error}: {said}")))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        let request = self.request(Method::DELETE, &uri, headers)?;
        let request = request.header(HEADER_SESSION_ID, session.as_ref());
        let response = self.send(request, token.as_deref()).await?;
        match response.status() {
            // It ends sessions by itself.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            _ => response.error_for_status().map(drop).map_err(|error| HttpError::from(error).into()),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, Failure> {
        self.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, LARGEST).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        largest: usize,
    ) -> Result<BoxedSseResponse, Failure> {
        let mut request = self.request(Method::GET, &uri, headers)?;
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        if let Some(last_event) = last_event {
            request = request.header(HEADER_LAST_EVENT_ID, last_event);
        }
        let response = self.send(request, token.as_deref()).await?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if let Some(refused) = refused(&response) {
            return Err(refused);
        }
        if let Some(error) = overburdened(&response) {
            return Err(error.into());
        }
        let response = response.error_for_status().map_err(HttpError::from)?;
        let kind = kind(&response);
        match is(kind.as_ref(), EVENT_STREAM_MIME_TYPE) {
            true => Ok(events(response, largest)),
            false => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}
