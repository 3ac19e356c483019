//! The error answers of the API.

use http::StatusCode;
use serde_json::{Value, json};

/// An error answer: HTTP status, `error.type`, text, and the optional machine code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) message: String,
}

/// The result of checking one rule.
pub(crate) type Check<T = ()> = Result<T, ApiError>;

impl ApiError {
    pub(crate) fn new(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self { status, kind: kind.to_owned(), message: message.into() }
    }

    /// 400, the answer to nearly every broken rule.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    /// 400 naming the field at fault.
    pub(crate) fn at(path: impl std::fmt::Display, message: impl std::fmt::Display) -> Self {
        Self::invalid(format!("{path}: {message}"))
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(crate) fn body(&self, request_id: &str) -> Value {
        json!({
            "type": "error",
            "error": { "type": self.kind, "message": self.message },
            "request_id": request_id,
        })
    }
}
