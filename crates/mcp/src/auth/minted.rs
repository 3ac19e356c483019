//! Tokens of services that let Tiller in without anybody signing in: asked for when they are needed, kept nowhere.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde_json::json;
use tokio::time::Instant;

use super::SignInError;
use super::grant::Entrance;
use super::store::{Stored, is_bound};

/// A token is used until this long before its end.
const MARGIN: Duration = Duration::from_secs(60);
/// How long a token counts that says nothing about it.
const UNTOLD: Duration = Duration::from_secs(600);

/// Tokens that are asked for when they are needed.
pub(super) struct Minted {
    entrance: Entrance,
    held: Mutex<Option<(StoredCredentials, Instant)>>,
}

impl Minted {
    /// Asks for the first token.
    ///
    /// # Errors
    /// When there is none.
    pub(super) async fn begin(entrance: Entrance) -> Result<Self, SignInError> {
        let minted = Self { entrance, held: Mutex::default() };
        minted.fresh().await?;
        Ok(minted)
    }

    /// Whether what was given is bound to a key.
    pub(super) fn is_bound(&self) -> bool {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_some_and(|(credentials, _)| is_bound(credentials))
    }

    async fn fresh(&self) -> Result<StoredCredentials, SignInError> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((credentials, until)) = held
            && Instant::now() < until
        {
            return Ok(credentials);
        }
        let mut token = self.entrance.token().await?;
        let lasts = token["expires_in"].as_u64().map_or(UNTOLD, Duration::from_secs);
        // It is asked for anew in the same way as now, whatever else is offered.
        token["refresh_token"].take();
        if token["token_type"].is_null() {
            token["token_type"] = json!("bearer");
        }
        let token = serde_json::from_value(token)
            .map_err(|error| SignInError::Service(format!("its token is odd: {error}")))?;
        let id = self.entrance.oauth.client_id.clone().unwrap_or_default();
        let credentials = StoredCredentials::new(id, Some(token), Vec::new(), None);
        let until = Instant::now() + lasts.saturating_sub(MARGIN.min(lasts / 2));
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some((credentials.clone(), until));
        Ok(credentials)
    }
}

impl CredentialStore for Minted {
    fn load<'a, 'b>(&'a self) -> Stored<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            let fresh = self.fresh().await;
            fresh.map(Some).map_err(|error| AuthError::TokenExchangeFailed(error.to_string()))
        })
    }

    fn save<'a, 'b>(&'a self, _: StoredCredentials) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { Ok(()) })
    }

    fn clear<'a, 'b>(&'a self) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { Ok(()) })
    }
}
