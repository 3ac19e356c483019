//! Signing in to services: the way of OAuth, with the user's browser and a port of this machine.

mod callback;
mod challenge;
mod counter;
mod grant;
mod jwt;
mod minted;
mod neighbours;
mod network;
mod proof;
mod standing;
mod store;
mod way;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationRequest, OAuthState};
use tiller_config::McpOAuth;
use tiller_protocol::env::Env;
use tokio::net::TcpListener;
use tokio::time::timeout;

pub(crate) use challenge::Challenge;
use network::{Binding, Network};
pub(crate) use proof::Prover;
pub(crate) use standing::Standing;
use store::Besides;
pub use store::TokenStore;
pub(crate) use way::{Way, way};

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
    /// The service does not accept what is configured for it, and will not the next time.
    #[error("{0}")]
    Refused(String),
    /// A key cannot be used.
    #[error(
        "the key cannot be used; it has to be a private key as PEM (PKCS #8), for EC P-256, P-384, RSA or Ed25519"
    )]
    Key,
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

/// The world as far as signing in concerns it.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    /// What tells the time, and which proxies there are.
    pub env: &'a Env,
    /// Whether only this machine may be contacted.
    pub offline: bool,
}

/// What signing in needs.
pub(crate) struct SignIn<'a> {
    pub(crate) url: &'a str,
    pub(crate) oauth: &'a McpOAuth,
    /// What the service said when it refused.
    pub(crate) challenge: Option<&'a Challenge>,
    pub(crate) tokens: &'a TokenStore,
    pub(crate) outside: Outside<'a>,
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
    outside: Outside<'_>,
) -> Result<Login, SignInError> {
    SignIn { url, oauth, challenge: None, tokens, outside }.begin().await
}

impl SignIn<'_> {
    pub(crate) async fn begin(self) -> Result<Login, SignInError> {
        // The service names others to which the user is sent, and the user's browser is not ours to hold back.
        if self.outside.offline {
            return Err(SignInError::Offline);
        }
        let port = self.oauth.callback_port.unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await.map_err(SignInError::Port)?;
        let port = listener.local_addr().map_err(SignInError::Port)?.port();
        let service = address(self.url)?;
        let prover = || Prover::new(Arc::clone(&self.outside.env.clock)).map(Arc::new);
        let binding = match self.oauth.dpop {
            Some(true) => Binding::Always(prover()?),
            Some(false) => Binding::Never,
            None => Binding::IfWanted(prover()?),
        };
        let network = Arc::new(Network::new(&service, None, binding, Besides::default(), self.outside.env)?);
        if let Some(challenge) = self.challenge {
            network.heed(&challenge.said);
        }
        let mut manager = manager(service, &network).await?;
        manager.set_credential_store(self.tokens.of(self.url, network));
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

fn address(url: &str) -> Result<Url, SignInError> {
    Url::parse(url).map_err(|error| SignInError::Service(error.to_string()))
}

async fn manager(service: Url, network: &Arc<Network>) -> Result<AuthorizationManager, SignInError> {
    let network = Arc::clone(network);
    Ok(AuthorizationManager::new_with_oauth_http_client(service, network).await?)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tiller_protocol::env::{Clock, Ids};

    use super::*;

    pub(super) struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::from_second(1_700_000_000).unwrap()
        }
    }

    impl Ids for Stopped {
        fn next(&self) -> uuid::Uuid {
            uuid::Uuid::nil()
        }

        fn random(&self) -> f64 {
            0.0
        }
    }

    pub(super) fn network(besides: Besides) -> Arc<Network> {
        let env = Env {
            clock: Arc::new(Stopped),
            ids: Arc::new(Stopped),
            vars: Arc::default(),
            home: PathBuf::from("/"),
            cwd: PathBuf::from("/"),
        };
        let prover = Arc::new(Prover::new(Arc::new(Stopped)).unwrap());
        let service = Url::parse("https://example.org/mcp").unwrap();
        Arc::new(Network::new(&service, None, Binding::IfWanted(prover), besides, &env).unwrap())
    }
}
