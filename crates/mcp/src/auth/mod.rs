//! Signing in to services: the way of OAuth, with the user's browser and a port of this machine.

mod callback;
mod store;

use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, OAuthClientConfig, OAuthState,
};
use tiller_config::McpOAuth;
use tokio::net::TcpListener;
use tokio::time::timeout;

pub use store::TokenStore;

/// How long the user may take in the browser.
const PATIENCE: Duration = Duration::from_secs(300);
/// The page to which services send the user back.
const CALLBACK: &str = "/callback";

/// Why signing in did not work.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The service does not do it, or refuses.
    #[error("{0}")]
    Service(String),
    /// No port for the answer.
    #[error(
        "no port of this machine could be used for the answer: {0}; name another one as oauth.callbackPort"
    )]
    Port(std::io::Error),
    /// The user did not come back.
    #[error("nobody signed in within {} minutes; try again", PATIENCE.as_secs() / 60)]
    Late,
}

impl From<AuthError> for SignInError {
    fn from(error: AuthError) -> Self {
        Self::Service(crate::connect::short(&error.to_string()))
    }
}

/// What signing in needs.
pub(crate) struct SignIn<'a> {
    pub(crate) url: &'a str,
    pub(crate) oauth: &'a McpOAuth,
    /// What the service said when it refused.
    pub(crate) challenge: Option<&'a str>,
    pub(crate) tokens: &'a TokenStore,
}

/// A sign-in that waits for the user.
pub struct Login {
    state: OAuthState,
    listener: TcpListener,
    url: String,
}

/// Begins to sign in to a service, which is asked what it demands.
///
/// # Errors
/// When the service offers no way to sign in, or no port is free.
pub async fn sign_in(url: &str, oauth: &McpOAuth, tokens: &TokenStore) -> Result<Login, SignInError> {
    SignIn { url, oauth, challenge: None, tokens }.begin().await
}

impl SignIn<'_> {
    pub(crate) async fn begin(self) -> Result<Login, SignInError> {
        let port = self.oauth.callback_port.unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(SignInError::Port)?;
        let port = listener.local_addr().map_err(SignInError::Port)?.port();
        let mut manager = manager(self.url).await?;
        manager.set_credential_store(self.tokens.of(self.url));
        let mut request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}{CALLBACK}"))
            .with_client_name("Tiller")
            .with_scopes(self.oauth.scopes.iter().cloned());
        if let Some(id) = &self.oauth.client_id {
            request = request.with_preregistered_client(id);
            if let Some(secret) = &self.oauth.client_secret {
                request = request.with_client_secret(secret);
            }
        }
        if let Some(challenge) = self.challenge {
            request = request.with_challenge(challenge);
        }
        let mut state = OAuthState::Unauthorized(manager);
        state.start_authorization(request).await?;
        let url = state.get_authorization_url().await?;
        Ok(Login { state, listener, url })
    }
}

impl Login {
    /// The page at which the user signs in.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the user to come back, and keeps what the service gives.
    ///
    /// # Errors
    /// When the user takes too long, or the service refuses.
    pub async fn finish(mut self) -> Result<(), SignInError> {
        let back = timeout(PATIENCE, callback::wait(&self.listener, CALLBACK)).await;
        let back = back.map_err(|_| SignInError::Late)?.map_err(SignInError::Port)?;
        if let Some(refused) = callback::refusal(&back) {
            return Err(SignInError::Service(format!("the service refused: {refused}")));
        }
        self.state.handle_callback_url(&back).await?;
        Ok(())
    }
}

/// The way to a service at which the user has signed in before.
pub(crate) async fn known(url: &str, oauth: &McpOAuth, tokens: &TokenStore) -> Option<AuthorizationManager> {
    if !tokens.has(url) {
        return None;
    }
    let mut manager = manager(url).await.ok()?;
    manager.set_credential_store(tokens.of(url));
    let is_known = manager.initialize_from_store().await.inspect_err(|error| tracing::warn!("{error}"));
    if !is_known.ok()? {
        return None;
    }
    if let (Some(id), Some(secret)) = (&oauth.client_id, &oauth.client_secret) {
        let config = OAuthClientConfig::new(id, "http://127.0.0.1").with_client_secret(secret);
        manager.configure_client(config).ok()?;
    }
    Some(manager)
}

/// Services on other machines cannot lead us to addresses that only this network reaches.
async fn manager(url: &str) -> Result<AuthorizationManager, SignInError> {
    crate::http::prepare();
    let url = Url::parse(url).map_err(|error| SignInError::Service(error.to_string()))?;
    Ok(AuthorizationManager::new(url).await?)
}
