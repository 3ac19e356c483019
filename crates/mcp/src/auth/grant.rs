//! Services that let Tiller in without anybody signing in.

use std::sync::Arc;

use http::header::ACCEPT;
use http::{Request, Response};
use reqwest::Url;
use rmcp::transport::auth::{AuthorizationMetadata, OAuthHttpRedirectPolicy};
use serde_json::Value;
use tiller_config::{McpGrant, McpIdentityProvider, McpOAuth};
use tiller_protocol::env::Clock;
use tiller_protocol::host::is_loopback;

use super::SignInError;
use super::counter::{Counter, given, read, wrong};
use super::network::Network;

const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// A service that lets Tiller in, and what it takes.
pub(super) struct Entrance {
    pub(super) service: Url,
    /// The same as it was written, which is what tokens are for.
    pub(super) resource: String,
    pub(super) oauth: McpOAuth,
    pub(super) metadata: AuthorizationMetadata,
    pub(super) network: Arc<Network>,
    pub(super) clock: Arc<dyn Clock>,
}

impl Entrance {
    /// Asks for a token.
    ///
    /// # Errors
    /// When there is none.
    pub(super) async fn token(&self) -> Result<Value, SignInError> {
        let scopes = self.oauth.scopes.join(" ");
        let mut wanted = vec![("resource", self.resource.as_str())];
        if !scopes.is_empty() {
            wanted.push(("scope", &scopes));
        }
        let counter = self.counter();
        match &self.oauth.grant {
            McpGrant::AuthorizationCode | McpGrant::ClientCredentials => {
                wanted.push(("grant_type", "client_credentials"));
                self.ask(&counter, &wanted).await
            }
            McpGrant::JwtBearer { assertion } => {
                let assertion = read(assertion)?;
                wanted.extend([("grant_type", JWT_BEARER), ("assertion", assertion.as_str())]);
                self.ask(&counter, &wanted).await
            }
            McpGrant::Enterprise(idp) => {
                let said = self.vouched(idp, counter.issuer, &wanted).await?;
                // What it grants is in there; to name it again could only widen it.
                self.ask(&counter, &[("grant_type", JWT_BEARER), ("assertion", &said)]).await
            }
        }
    }

    fn counter(&self) -> Counter<'_> {
        let methods = self.metadata.additional_fields.get("token_endpoint_auth_methods_supported");
        Counter {
            issuer: self.metadata.issuer.as_deref().unwrap_or(&self.metadata.token_endpoint),
            token_url: &self.metadata.token_endpoint,
            methods,
            client_id: self.oauth.client_id.as_deref(),
            client_secret: self.oauth.client_secret.as_deref(),
            private_key: self.oauth.private_key.as_ref(),
        }
    }

    /// What the user's identity provider says to whoever gives tokens for the service.
    async fn vouched(
        &self,
        idp: &McpIdentityProvider,
        audience: &str,
        wanted: &[(&str, &str)],
    ) -> Result<String, SignInError> {
        let found = match &idp.token_url {
            Some(_) => None,
            None => Some(self.provider(&idp.issuer).await?),
        };
        let found_url = found.as_ref().and_then(|found| found["token_endpoint"].as_str());
        let token_url = idp.token_url.as_deref().or(found_url);
        let counter = Counter {
            issuer: &idp.issuer,
            token_url: token_url
                .ok_or_else(|| wrong("the identity provider does not say where it gives tokens"))?,
            methods: found.as_ref().and_then(|found| found.get("token_endpoint_auth_methods_supported")),
            client_id: Some(&idp.client_id),
            client_secret: idp.client_secret.as_deref(),
            private_key: None,
        };
        let id_token = read(&idp.id_token)?;
        let mut form = wanted.to_vec();
        form.extend([
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("subject_token", &id_token),
            ("subject_token_type", ID_TOKEN),
            ("audience", audience),
        ]);
        let said = self.ask(&counter, &form).await?;
        match (said["issued_token_type"].as_str(), said["access_token"].as_str()) {
            (Some(ID_JAG), Some(said)) => Ok(said.to_owned()),
            _ => Err(wrong("the identity provider gave something else than what was asked for")),
        }
    }

    /// What an identity provider says about itself.
    async fn provider(&self, issuer: &str) -> Result<Value, SignInError> {
        let page = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let request = Request::get(page).header(ACCEPT, "application/json").body(Vec::new());
        let request = request.map_err(|error| wrong(&error.to_string()))?;
        let response = self.send(request).await?;
        let said = serde_json::from_slice::<Value>(response.body()).unwrap_or_default();
        match said["issuer"].as_str() == Some(issuer) {
            true => Ok(said),
            false => Err(wrong("the identity provider does not say who it is, or is somebody else")),
        }
    }

    async fn ask(&self, counter: &Counter<'_>, wanted: &[(&str, &str)]) -> Result<Value, SignInError> {
        let place = super::address(counter.token_url)?;
        let is_near = |url: &Url| is_loopback(url.host_str().unwrap_or_default());
        if place.scheme() != "https" && !(is_near(&place) && is_near(&self.service)) {
            return Err(wrong("tokens are given at an address that is not encrypted"));
        }
        let request = counter.request(wanted, self.clock.now().as_second())?;
        given(&self.send(request).await?)
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, SignInError> {
        let answer = self.network.send(request, OAuthHttpRedirectPolicy::Stop).await;
        answer.map_err(|error| wrong(&format!("whoever gives tokens cannot be reached: {error}")))
    }
}
