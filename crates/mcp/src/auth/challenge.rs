//! What services say when the user has to sign in, or to sign in for more.

use std::error::Error;

use reqwest::Url;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::auth::WWWAuthenticateParams;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

/// A refusal that signing in can help with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// What the service said, as it said it.
    pub(crate) said: String,
    /// Whether the user is known but may not do this.
    pub(crate) wants_more: bool,
}

impl Challenge {
    /// The challenge in why a request failed.
    pub(crate) fn in_request(error: &ServiceError) -> Option<Self> {
        match error {
            ServiceError::TransportSend(error) => Self::behind(error.error.as_ref()),
            _ => None,
        }
    }

    /// The challenge in why there is no connection.
    pub(crate) fn in_start(error: &ClientInitializeError) -> Option<Self> {
        match error {
            ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
                Self::in_start(fallback).or_else(|| Self::in_start(discover))
            }
            ClientInitializeError::TransportError { error, .. } => Self::behind(error.error.as_ref()),
            _ => None,
        }
    }

    /// The challenge behind an error.
    pub(crate) fn behind(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(unknown) = error.downcast_ref::<AuthRequiredError>() {
                return Some(Self { said: unknown.www_authenticate_header.clone(), wants_more: false });
            }
            if let Some(narrow) = error.downcast_ref::<InsufficientScopeError>() {
                return Some(Self { said: narrow.www_authenticate_header.clone(), wants_more: true });
            }
            cause = error.source();
        }
        None
    }

    /// What the user has to be granted.
    pub(crate) fn scopes(&self, service: &Url) -> Vec<String> {
        let params = WWWAuthenticateParams::parse(&self.said, service);
        params.scope.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::DynamicTransportError;

    use super::*;

    #[test]
    fn a_challenge_is_found_however_deep_it_is() {
        let said = r#"Bearer scope="read write", error="insufficient_scope""#;
        let cause = InsufficientScopeError::new(said.to_owned(), None);
        let error = DynamicTransportError::from_parts("http", std::any::TypeId::of::<()>(), Box::new(cause));
        let challenge = Challenge::in_request(&ServiceError::TransportSend(error)).unwrap();
        assert!(challenge.wants_more);
        assert_eq!(challenge.scopes(&Url::parse("https://example.org/mcp").unwrap()), ["read", "write"]);
        assert_eq!(Challenge::in_request(&ServiceError::TransportClosed), None);
    }
}
