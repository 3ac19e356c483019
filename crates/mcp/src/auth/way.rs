//! The way to services that let us in.

use std::sync::Arc;

use rmcp::transport::auth::{AuthorizationManager, OAuthClientConfig};
use tiller_config::{McpGrant, McpOAuth};
use tiller_protocol::env::Env;

use super::grant::Entrance;
use super::minted::Minted;
use super::network::{Binding, Network};
use super::store::Besides;
use super::{Outside, Prover, SignInError, TokenStore, address, manager};

/// The way to a service that lets us in.
pub(crate) struct Way {
    pub(crate) manager: AuthorizationManager,
    /// For tokens that are bound to a key.
    pub(crate) prover: Option<Arc<Prover>>,
}

/// The way to a service that is known to let us in: the user has signed in before, or need not. None if it has to be
/// asked first.
///
/// # Errors
/// When the service does not accept what is configured for it.
pub(crate) async fn way(
    url: &str,
    oauth: &McpOAuth,
    tokens: &TokenStore,
    Outside { env, offline }: Outside<'_>,
) -> Result<Option<Way>, SignInError> {
    if !oauth.grant.needs_user() {
        return if offline {
            Err(SignInError::Offline)
        } else {
            without_user(url, oauth, env).await.map(Some)
        };
    }
    // Who has given the tokens would be asked whether they are still good.
    if offline || !tokens.has(url) {
        return Ok(None);
    }
    let known = known(url, oauth, tokens, env).await;
    // Whoever cannot be reached or has changed their mind is asked anew.
    Ok(known.inspect_err(|error| tracing::warn!("{error}")).unwrap_or_default())
}

async fn known(
    url: &str,
    oauth: &McpOAuth,
    tokens: &TokenStore,
    env: &Env,
) -> Result<Option<Way>, SignInError> {
    let Some(kept) = tokens.kept(url)? else { return Ok(None) };
    let key = kept.besides.proof_key.as_deref();
    let prover = key.map(|key| Prover::restored(key, Arc::clone(&env.clock)).map(Arc::new)).transpose()?;
    let binding = prover.clone().map_or(Binding::Never, Binding::Always);
    // A secret that the service gave belongs to the id that it gave.
    let client = match (&oauth.client_id, &oauth.client_secret) {
        (Some(id), Some(secret)) => Some((id.clone(), secret.clone())),
        (Some(_), None) => None,
        (None, _) => kept.besides.client_secret.clone().map(|secret| (kept.credentials.client_id, secret)),
    };
    let service = address(url)?;
    let network = Arc::new(Network::new(&service, None, binding, kept.besides, env)?);
    let mut manager = manager(service, &network).await?;
    manager.set_credential_store(tokens.of(url, network));
    if !manager.initialize_from_store().await? {
        return Ok(None);
    }
    if let Some((id, secret)) = client {
        manager
            .configure_client(OAuthClientConfig::new(id, "http://127.0.0.1").with_client_secret(secret))?;
    }
    Ok(Some(Way { manager, prover }))
}

async fn without_user(url: &str, oauth: &McpOAuth, env: &Env) -> Result<Way, SignInError> {
    let idp = match &oauth.grant {
        McpGrant::Enterprise(idp) => Some(address(idp.token_url.as_deref().unwrap_or(&idp.issuer))?),
        _ => None,
    };
    let prover = match oauth.dpop {
        Some(true) => Some(Arc::new(Prover::new(Arc::clone(&env.clock))?)),
        _ => None,
    };
    let binding = prover.clone().map_or(Binding::Never, Binding::Always);
    let service = address(url)?;
    let network = Arc::new(Network::new(&service, idp.as_ref(), binding, Besides::default(), env)?);
    let mut manager = manager(service.clone(), &network).await?;
    let metadata = manager.resolve_metadata().await?.metadata;
    manager.set_metadata(metadata.clone());
    manager.configure_client_id(oauth.client_id.as_deref().unwrap_or_default())?;
    let clock = Arc::clone(&env.clock);
    let resource = url.to_owned();
    let entrance = Entrance { service, resource, oauth: oauth.clone(), metadata, network, clock };
    let minted = Minted::begin(entrance).await?;
    let prover = prover.filter(|_| minted.is_bound());
    manager.set_credential_store(minted);
    Ok(Way { manager, prover })
}
