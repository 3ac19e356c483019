//! HTTP: one client, made when it is first needed, whose connections are kept between requests.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use reqwest::{Client, ClientBuilder, NoProxy, Proxy, RequestBuilder, Response};
use tiller_protocol::env::Env;
use tokio::sync::OnceCell;

use super::config::{Config, Reach};
use super::failure::{Advice, Failure};
use crate::error::ModelError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Tools may run for minutes between two requests of a turn.
const KEEP_CONNECTION: Duration = Duration::from_secs(300);
const LARGEST_ERROR: usize = 1024 * 1024;
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// Sends requests and sorts out failures.
pub(crate) struct Transport {
    pub(crate) config: Config,
    env: Env,
    headers: HeaderMap,
    client: OnceCell<Client>,
}

impl Transport {
    /// Prepares everything that costs nothing; the client itself is made by the first request.
    pub(crate) fn new(config: Config, env: Env) -> Result<Self, ModelError> {
        Ok(Self { headers: fixed_headers(&config)?, config, env, client: OnceCell::new() })
    }

    /// Posts a body; the answer is a success.
    pub(crate) async fn post(&self, path: &str, body: Bytes, betas: &[String]) -> Result<Response, Failure> {
        let client = self.client().await?;
        let request = client.post(self.config.endpoint(path)).body(body);
        self.send(request, betas).await
    }

    /// Gets an address below the base; the answer is a success.
    pub(crate) async fn get(&self, path: &str) -> Result<Response, Failure> {
        let client = self.client().await?;
        self.send(client.get(self.config.endpoint(path)), &[]).await
    }

    /// The whole body of a successful answer.
    pub(crate) async fn read(&self, response: Response) -> Result<Vec<u8>, Failure> {
        read_up_to(response, LARGEST_ANSWER).await.map_err(|error| self.network(&error))
    }

    async fn send(&self, request: RequestBuilder, betas: &[String]) -> Result<Response, Failure> {
        let mut request = request.headers(self.headers.clone());
        let betas: Vec<&str> = self.config.betas.iter().chain(betas).map(String::as_str).collect();
        if !betas.is_empty() {
            request = request.header("anthropic-beta", betas.join(","));
        }
        let response = request.send().await.map_err(|error| self.network(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        // The explanation is welcome, but its absence must not hide the status.
        let body = read_up_to(response, LARGEST_ERROR).await.unwrap_or_default();
        let failure = Failure::from_response(status, &headers, &body, self.env.now());
        tracing::warn!(status, request_id = failure.error.request_id(), error = %failure.error, "request failed");
        Err(failure)
    }

    fn network(&self, error: &reqwest::Error) -> Failure {
        let detail = describe(error);
        // A certificate that is not trusted now will not be in a minute.
        let advice = if detail.contains("certificate") { Advice::GiveUp } else { Advice::Retry };
        Failure { error: ModelError::Network { endpoint: self.endpoint_name(), detail }, advice }
    }

    /// Where requests go, fit to be shown.
    pub(crate) fn endpoint_name(&self) -> String {
        self.config.base_url.origin().ascii_serialization()
    }

    async fn client(&self) -> Result<&Client, Failure> {
        self.client.get_or_try_init(|| build(self.config.clone())).await.map_err(Failure::fatal)
    }
}

/// An error and its causes, without the address, which may contain a credential.
pub(crate) fn describe(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    if text.is_empty() { "the connection failed".to_owned() } else { text }
}

async fn read_up_to(mut response: Response, limit: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            break;
        }
    }
    Ok(body)
}

fn fixed_headers(config: &Config) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    let version = HeaderValue::from_str(&config.version).map_err(|_| {
        ModelError::Setup(format!(
            "TILLER_ANTHROPIC_VERSION is \"{}\", which cannot be sent; correct it",
            config.version
        ))
    })?;
    headers.insert("anthropic-version", version);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    if let Some(key) = &config.api_key {
        headers.insert("x-api-key", key.header("", "ANTHROPIC_API_KEY")?);
    }
    if let Some(token) = &config.auth_token {
        headers.insert(AUTHORIZATION, token.header("Bearer ", "ANTHROPIC_AUTH_TOKEN")?);
    }
    for (name, value) in &config.headers {
        headers.insert(name, value.clone());
    }
    Ok(headers)
}

/// Reading certificates takes a while and may block, so that is done aside, and only for encrypted connections.
async fn build(config: Config) -> Result<Client, ModelError> {
    if !config.needs_certificates() {
        return finish(&config, builder().tls_certs_only([]));
    }
    let built = tokio::task::spawn_blocking(move || {
        let trusting = config.certificates.trusted_by(builder());
        let trusting = trusting.map_err(|error| ModelError::Setup(error.to_string()))?;
        finish(&config, trusting)
    });
    built.await.map_err(|error| ModelError::Setup(format!("the TLS setup failed: {error}")))?
}

fn builder() -> ClientBuilder {
    tiller_tls::client()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(KEEP_CONNECTION)
        .tcp_nodelay(true)
        .no_proxy()
}

fn finish(config: &Config, mut builder: ClientBuilder) -> Result<Client, ModelError> {
    if let (Reach::ThisMachine, Some(name)) = (config.reach, config.base_url.domain()) {
        // Whatever the system makes of the name. The port is that of the address.
        let addresses = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        builder = builder.resolve_to_addrs(name, &addresses.map(|address| SocketAddr::new(address, 0)));
    }
    let except = config.proxies.except.as_deref().and_then(NoProxy::from_string);
    let proxies = [
        (config.proxies.http.as_deref().map(Proxy::http), "HTTP_PROXY"),
        (config.proxies.https.as_deref().map(Proxy::https), "HTTPS_PROXY"),
    ];
    for (proxy, variable) in proxies {
        let Some(proxy) = proxy else { continue };
        let proxy = proxy.map_err(|_| {
            ModelError::Setup(format!(
                "{variable} (or ALL_PROXY) is not the address of an http or https proxy; correct or unset it"
            ))
        })?;
        builder = builder.proxy(proxy.no_proxy(except.clone()));
    }
    builder
        .build()
        .map_err(|error| ModelError::Setup(format!("the HTTP client cannot be set up: {}", describe(&error))))
}
