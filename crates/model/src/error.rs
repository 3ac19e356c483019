//! What can go wrong when a model is asked, told so that the user knows what to do next.

use std::time::Duration;

/// A request failed for good: whatever could be retried has been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The provider has too much to do.
    #[error("the model is overloaded; try again in a few minutes or choose another model")]
    Overloaded,
    /// The conversation does not fit into the model's context window.
    #[error(
        "the conversation is too long for the model ({message}); start a new session, or use a model with a larger \
         window"
    )]
    PromptTooLong {
        /// The provider's words.
        message: String,
        /// How long it was, if the provider said so.
        tokens: Option<u64>,
        /// How long it may be, if the provider said so.
        limit: Option<u64>,
        /// The provider's id of the request.
        request_id: Option<String>,
    },
    /// A thinking block was made under another prefix. Repeating with
    /// [`drop_mismatched_thinking`](crate::Request::drop_mismatched_thinking) helps.
    #[error(
        "the provider refused earlier reasoning because the conversation before it has changed: {message}"
    )]
    PrefixMismatch {
        /// The provider's words.
        message: String,
        /// The provider's id of the request.
        request_id: Option<String>,
    },
    /// The credential is missing, wrong or lacks a right.
    #[error(
        "the provider did not accept the credential (HTTP {status}): {message}; \
         check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN"
    )]
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// The provider's words.
        message: String,
        /// The provider's id of the request.
        request_id: Option<String>,
    },
    /// Too many requests, and waiting was not offered or did not help.
    #[error("the provider's rate or spending limit is reached: {message}; {}", wait_hint(*.retry_after))]
    RateLimited {
        /// The provider's words.
        message: String,
        /// When to come back, if the provider said so.
        retry_after: Option<Duration>,
        /// The provider's id of the request.
        request_id: Option<String>,
    },
    /// Any other refusal.
    #[error("the provider refused the request (HTTP {status}, {kind}): {message}{}", hint(*.status))]
    Api {
        /// The HTTP status, or the one that belongs to the kind when it came inside a stream.
        status: u16,
        /// The provider's word for the kind of error.
        kind: String,
        /// The provider's words.
        message: String,
        /// The provider's id of the request.
        request_id: Option<String>,
    },
    /// The provider could not be reached.
    #[error(
        "could not reach the model at {endpoint}: {detail}; check the network, ANTHROPIC_BASE_URL, proxies and certificates (NODE_EXTRA_CA_CERTS)"
    )]
    Network {
        /// Where the request went, without credentials.
        endpoint: String,
        /// What happened.
        detail: String,
    },
    /// The provider fell silent.
    #[error("the model at {endpoint} gave no answer for {}s; try again", .waited.as_secs())]
    Stalled {
        /// Where the request went.
        endpoint: String,
        /// How long nothing came.
        waited: Duration,
    },
    /// The answer made no sense.
    #[error(
        "the answer of the model could not be understood: {detail}; if a gateway is in between, check it"
    )]
    Protocol {
        /// What was wrong with it.
        detail: String,
    },
    /// The client cannot be set up as configured.
    #[error("{0}")]
    Setup(String),
    /// A recording does not have what was asked for.
    #[error("{0}")]
    Recording(String),
}

fn wait_hint(retry_after: Option<Duration>) -> String {
    match retry_after {
        Some(wait) => format!("try again in {}s", wait.as_secs().max(1)),
        None => "waiting will not help, check the limits of the account".to_owned(),
    }
}

fn hint(status: u16) -> &'static str {
    match status {
        402 => "; check the billing of the account",
        404 => "; check the name given with --model",
        413 => "; the request is too large, start a new session",
        500.. => "; the provider has a problem, try again later",
        _ => "",
    }
}

impl ModelError {
    /// The HTTP status, if the provider answered.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Overloaded => Some(529),
            Self::PromptTooLong { .. } | Self::PrefixMismatch { .. } => Some(400),
            Self::RateLimited { .. } => Some(429),
            Self::Unauthorized { status, .. } | Self::Api { status, .. } => Some(*status),
            Self::Network { .. }
            | Self::Stalled { .. }
            | Self::Protocol { .. }
            | Self::Setup(_)
            | Self::Recording(_) => None,
        }
    }

    /// The kind of error in one word: the provider's, or ours where it said nothing.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Overloaded => "overloaded_error",
            Self::PromptTooLong { .. } | Self::PrefixMismatch { .. } => "invalid_request_error",
            Self::Unauthorized { status: 403, .. } => "permission_error",
            Self::Unauthorized { .. } => "authentication_error",
            Self::RateLimited { .. } => "rate_limit_error",
            Self::Api { kind, .. } => kind,
            Self::Network { .. } => "network",
            Self::Stalled { .. } => "stalled",
            Self::Protocol { .. } => "protocol",
            Self::Setup(_) => "setup",
            Self::Recording(_) => "recording",
        }
    }

    /// The provider's id of the request, for support.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::PromptTooLong { request_id, .. }
            | Self::PrefixMismatch { request_id, .. }
            | Self::Unauthorized { request_id, .. }
            | Self::RateLimited { request_id, .. }
            | Self::Api { request_id, .. } => request_id.as_deref(),
            Self::Overloaded
            | Self::Network { .. }
            | Self::Stalled { .. }
            | Self::Protocol { .. }
            | Self::Setup(_)
            | Self::Recording(_) => None,
        }
    }
}
