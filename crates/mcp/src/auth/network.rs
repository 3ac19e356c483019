//! What goes between us and those who let users in: bounded, only where a service may lead us, with proofs where they are
//! wanted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use serde_json::Value;
use tiller_protocol::env::Env;
use tiller_tls::Certificates;

use super::neighbours::Neighbours;
use super::proof::{Prover, is_wanted};
use super::{Besides, SignInError};
use crate::http::body;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that an answer may have.
const LARGEST: usize = 1024 * 1024;
/// Redirects that are followed where that is harmless.
const REDIRECTS: usize = 10;
/// Variables that name a machine through which all requests go.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Kind of what is sent to token endpoints.
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// What goes between us and those who let users in.
pub(super) struct Network {
    follow: Client,
    stop: Client,
    neighbours: Neighbours,
    prover: Option<Arc<Prover>>,
    /// Whether tokens shall be bound to a key.
    is_bound: AtomicBool,
    /// What is to be kept of what went by.
    besides: Mutex<Besides>,
}

/// How tokens and keys go together.
pub(super) enum Binding {
    /// Tokens are not bound.
    Never,
    /// They are.
    Always(Arc<Prover>),
    /// They are if the service asks for it.
    IfWanted(Arc<Prover>),
}

impl Network {
    /// The way to those who let users in to a service; `idp` is a machine that the user has named for that.
    ///
    /// # Errors
    /// When there is no way to make encrypted connections.
    pub(super) fn new(
        service: &Url,
        idp: Option<&Url>,
        binding: Binding,
        besides: Besides,
        env: &Env,
    ) -> Result<Self, SignInError> {
        let proxies = PROXIES.iter().filter_map(|name| env.var(name)).filter_map(|proxy| {
            let url = if proxy.contains("://") {
                Url::parse(proxy)
            } else {
                Url::parse(&format!("http://{proxy}"))
            };
            url.ok()?.host_str().map(str::to_owned)
        });
        let idp = idp.and_then(|idp| idp.host_str().map(str::to_owned));
        let neighbours = Neighbours::of(service, proxies.chain(idp));
        let certificates = Certificates::of(env);
        let build = |redirects: Policy| {
            let client = tiller_tls::client().timeout(PATIENCE).redirect(redirects);
            let client = certificates.trusted_by(client.dns_resolver(Arc::new(neighbours.clone())));
            let client = client.map_err(|error| SignInError::Service(error.to_string()))?;
            client.build().map_err(|error| SignInError::Service(error.to_string()))
        };
        let (is_bound, prover) = match binding {
            Binding::Never => (false, None),
            Binding::Always(prover) => (true, Some(prover)),
            Binding::IfWanted(prover) => (false, Some(prover)),
        };
        Ok(Self {
            follow: build(careful(neighbours.clone()))?,
            stop: build(Policy::none())?,
            neighbours,
            prover,
            is_bound: AtomicBool::new(is_bound),
            besides: Mutex::new(besides),
        })
    }

    /// What is to be kept beside the tokens.
    pub(super) fn besides(&self) -> Besides {
        let mut besides = self.besides.lock().unwrap_or_else(PoisonError::into_inner).clone();
        besides.proof_key = self.prover.as_ref().map(|prover| prover.kept().to_owned());
        besides
    }

    /// Takes note of a service that asks for tokens that are bound to a key.
    pub(super) fn heed(&self, challenge: &str) {
        if is_wanted(challenge) {
            self.is_bound.store(true, Ordering::Relaxed);
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// When it may not go there, or has no answer.
    pub(super) async fn send(
        &self,
        request: Request<Vec<u8>>,
        redirects: OAuthHttpRedirectPolicy,
    ) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        let client = if redirects == OAuthHttpRedirectPolicy::Stop { &self.stop } else { &self.follow };
        let is_form = request
            .headers()
            .get(CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(FORM.as_bytes()));
        let is_post = request.method() == Method::POST;
        let proves = is_post && is_form && self.is_bound.load(Ordering::Relaxed);
        let prover = self.prover.as_ref().filter(|_| proves);
        let again = prover.map(|prover| (prover, request.clone()));
        let mut response = self.once(client, request, prover).await?;
        if let Some((prover, again)) = again
            && prover.learn(&url_of(&again)?, response.headers())
            && error_of(&response).as_deref() == Some("use_dpop_nonce")
        {
            response = self.once(client, again, Some(prover)).await?;
        }
        self.note(is_post && !is_form, &response);
        Ok(response)
    }

    async fn once(
        &self,
        client: &Client,
        mut request: Request<Vec<u8>>,
        prover: Option<&Arc<Prover>>,
    ) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        let url = url_of(&request)?;
        if !self.neighbours.may_go_to(&url) {
            return Err(format!("the service may not lead to {}", url.host_str().unwrap_or_default()).into());
        }
        if let Some(prover) = prover {
            let proof = prover.proof(request.method(), &url, None)?;
            request.headers_mut().insert(Prover::HEADER, HeaderValue::from_str(&proof)?);
        }
        let answer = client.execute(request.try_into()?).await?;
        let mut response = Response::new(Vec::new());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        *response.body_mut() = body(answer, LARGEST).await?;
        Ok(response)
    }

    /// What passes by says more than whom it is for.
    fn note(&self, is_registration: bool, response: &Response<Vec<u8>>) {
        for said in response.headers().get_all(WWW_AUTHENTICATE) {
            self.heed(said.to_str().unwrap_or_default());
        }
        if !response.status().is_success() {
            return;
        }
        let said = serde_json::from_slice::<Value>(response.body()).unwrap_or_default();
        if said["dpop_bound_access_tokens_required"] == true {
            self.is_bound.store(true, Ordering::Relaxed);
        }
        if let Some(secret) =
            said["client_secret"].as_str().filter(|secret| is_registration && !secret.is_empty())
        {
            let mut besides = self.besides.lock().unwrap_or_else(PoisonError::into_inner);
            besides.client_secret = Some(secret.to_owned());
        }
    }
}

impl OAuthHttpClient for Network {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request.request, request.redirect_policy))
    }
}

/// Follows redirects as far as the service may lead.
fn careful(neighbours: Neighbours) -> Policy {
    Policy::custom(move |attempt| {
        if !neighbours.may_go_to(attempt.url()) {
            attempt.error("the service may not lead there")
        } else if attempt.previous().len() > REDIRECTS {
            attempt.error("there are too many redirects")
        } else {
            attempt.follow()
        }
    })
}

fn url_of(request: &Request<Vec<u8>>) -> Result<Url, OAuthHttpClientError> {
    Ok(Url::parse(&request.uri().to_string())?)
}

/// What a token endpoint calls its refusal.
pub(super) fn error_of(response: &Response<Vec<u8>>) -> Option<String> {
    let is_refusal = matches!(
        response.status(),
        StatusCode::BAD_REQUEST | StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN
    );
    let said = serde_json::from_slice::<Value>(response.body()).ok().filter(|_| is_refusal)?;
    said["error"].as_str().map(str::to_owned)
}
