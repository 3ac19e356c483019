//! Signing in to services: the way of OAuth, with the user's browser and a port of this machine.

mod callback;
mod challenge;
mod standing;
mod store;

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, ClientCredentialsConfig, OAuthClientConfig,
    OAuthState,
};
use tiller_config::{McpGrant, McpOAuth};
use tokio::net::TcpListener;
use tokio::time::timeout;

pub(crate) use challenge::Challenge;
pub(crate) use standing::Standing;
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
    /// Nobody is to be contacted.
    #[error(
        "signing in needs the network, which this run does without (offline); sign in without --offline first"
    )]
    Offline,
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
    pub(crate) challenge: Option<&'a Challenge>,
    pub(crate) tokens: &'a TokenStore,
    /// Whether only this machine may be contacted.
    pub(crate) offline: bool,
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
pub async fn sign_in(
    url: &str,
    oauth: &McpOAuth,
    tokens: &TokenStore,
    offline: bool,
) -> Result<Login, SignInError> {
    SignIn { url, oauth, challenge: None, tokens, offline }.begin().await
}

impl SignIn<'_> {
    pub(crate) async fn begin(self) -> Result<Login, SignInError> {
        // The service names others to which the user is sent, and the user's browser is not ours to hold back.
        if self.offline {
            return Err(SignInError::Offline);
        }
        let port = self.oauth.callback_port.unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(SignInError::Port)?;
        let port = listener.local_addr().map_err(SignInError::Port)?.port();
        let mut manager = manager(self.url).await?;
        manager.set_credential_store(self.tokens.of(self.url));
        let mut state = OAuthState::Unauthorized(manager);
        let back = format!("http://127.0.0.1:{port}{CALLBACK}");
        state.start_authorization(self.request(back)).await?;
        let url = state.get_authorization_url().await?;
        Ok(Login { state, listener, url })
    }

    /// What the service is asked for, and in whose name.
    fn request(&self, back: String) -> AuthorizationRequest {
        let mut request = AuthorizationRequest::new(back)
            .with_client_name("Tiller")
            .with_application_type("native")
            .with_initial_scope_selection()
            .with_scopes(self.scopes());
        if let Some(id) = &self.oauth.client_id {
            request = request.with_preregistered_client(id);
            if let Some(secret) = &self.oauth.client_secret {
                request = request.with_client_secret(secret);
            }
        }
        if let Some(page) = &self.oauth.client_metadata_url {
            request = request.with_client_metadata_url(page);
        }
        match self.challenge {
            Some(challenge) => request.with_challenge(&challenge.said),
            None => request,
        }
    }

    /// What has to be granted, if that is not left to the service: a user who needs more keeps what they have.
    fn scopes(&self) -> Vec<String> {
        let mut scopes = self.oauth.scopes.clone();
        if let Some(challenge) = self.challenge.filter(|challenge| challenge.wants_more)
            && let Ok(service) = Url::parse(self.url)
        {
            scopes.extend(self.tokens.granted(self.url));
            scopes.extend(challenge.scopes(&service));
        }
        let mut known = BTreeSet::new();
        scopes.retain(|scope| known.insert(scope.clone()));
        scopes
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

/// The way to a service that is known to let us in: the user has signed in before, or need not. None if it has to be
/// asked first.
///
/// # Errors
/// When the service does not accept the id and secret that are configured for it.
pub(crate) async fn way(
    url: &str,
    oauth: &McpOAuth,
    tokens: &TokenStore,
    offline: bool,
) -> Result<Option<AuthorizationManager>, SignInError> {
    if oauth.grant == McpGrant::ClientCredentials {
        return if offline { Err(SignInError::Offline) } else { without_user(url, oauth).await.map(Some) };
    }
    // Who has given the tokens would be asked whether they are still good.
    if offline || !tokens.has(url) {
        return Ok(None);
    }
    let known = known(url, oauth, tokens).await;
    // Whoever cannot be reached or has changed their mind is asked anew.
    Ok(known.inspect_err(|error| tracing::warn!("{error}")).unwrap_or_default())
}

async fn known(
    url: &str,
    oauth: &McpOAuth,
    tokens: &TokenStore,
) -> Result<Option<AuthorizationManager>, SignInError> {
    let mut manager = manager(url).await?;
    manager.set_credential_store(tokens.of(url));
    if !manager.initialize_from_store().await? {
        return Ok(None);
    }
    if let (Some(id), Some(secret)) = (&oauth.client_id, &oauth.client_secret) {
        let config = OAuthClientConfig::new(id, "http://127.0.0.1").with_client_secret(secret);
        manager.configure_client(config)?;
    }
    Ok(Some(manager))
}

async fn without_user(url: &str, oauth: &McpOAuth) -> Result<AuthorizationManager, SignInError> {
    let config = ClientCredentialsConfig::ClientSecret {
        client_id: oauth.client_id.clone().unwrap_or_default(),
        client_secret: oauth.client_secret.clone().unwrap_or_default(),
        scopes: oauth.scopes.clone(),
        resource: Some(url.to_owned()),
    };
    let mut state = OAuthState::Unauthorized(manager(url).await?);
    state.authenticate_client_credentials(config).await?;
    let refused = || SignInError::Service("the service gave no access".to_owned());
    state.into_authorization_manager().ok_or_else(refused)
}

/// Services on other machines cannot lead us to addresses that only this network reaches.
async fn manager(url: &str) -> Result<AuthorizationManager, SignInError> {
    crate::http::prepare();
    let url = Url::parse(url).map_err(|error| SignInError::Service(error.to_string()))?;
    Ok(AuthorizationManager::new(url).await?)
}
