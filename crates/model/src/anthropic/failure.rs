//! What a failed request means: an error for the user, and whether trying again makes sense.

use std::time::Duration;

use http::HeaderMap;
use jiff::Timestamp;

use super::wire::{ErrorBody, ErrorObject};
use crate::error::ModelError;

/// A request that failed once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    pub(crate) advice: Advice,
}

/// Whether to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// It would fail again.
    GiveUp,
    /// After a pause of our choice.
    Retry,
    /// After the pause the provider asks for.
    RetryAfter(Duration),
}

impl Failure {
    /// A failure that will not go away.
    pub(crate) fn fatal(error: ModelError) -> Self {
        Self { error, advice: Advice::GiveUp }
    }

    /// Reads an answer that is not a success.
    pub(crate) fn from_response(status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Self {
        let parsed = serde_json::from_slice::<ErrorBody>(body).ok();
        let request_id = header(headers, "request-id")
            .map(str::to_owned)
            .or_else(|| parsed.as_ref().and_then(|body| body.request_id.clone()));
        let object = parsed.map_or_else(|| foreign_error(status, body), |body| body.error);
        let wait = retry_after(headers, now);
        let advice = advice(status, header(headers, "x-should-retry"), wait);
        Self { error: error(status, object, wait, request_id), advice }
    }

    /// Reads an error that was reported inside a stream, where the status had already been a success.
    pub(crate) fn from_event(object: ErrorObject, request_id: Option<String>) -> Self {
        let status = status_of(&object.kind);
        Self { error: error(status, object, None, request_id), advice: advice(status, None, None) }
    }
}

/// An error that does not look like the provider's, perhaps from a gateway.
fn foreign_error(status: u16, body: &[u8]) -> ErrorObject {
    const SHOWN: usize = 300;
    let text = String::from_utf8_lossy(body);
    let text: String = text.trim().chars().take(SHOWN).collect();
    let message = if text.is_empty() { "no explanation was given".to_owned() } else { text };
    ErrorObject { kind: kind_of(status).to_owned(), message }
}

fn error(
    status: u16,
    object: ErrorObject,
    retry_after: Option<Duration>,
    request_id: Option<String>,
) -> ModelError {
    let ErrorObject { kind, message } = object;
    match status {
        529 => ModelError::Overloaded,
        _ if kind == "overloaded_error" => ModelError::Overloaded,
        429 => ModelError::RateLimited { message, retry_after, request_id },
        401 | 403 => ModelError::Unauthorized { status, message, request_id },
        400 if message.contains("bound to a different conversation") => {
            ModelError::PrefixMismatch { message, request_id }
        }
        400 if is_too_long(&message) => {
            let (tokens, limit) = lengths(&message);
            ModelError::PromptTooLong { message, tokens, limit, request_id }
        }
        _ => ModelError::Api { status, kind, message, request_id },
    }
}

fn is_too_long(message: &str) -> bool {
    message.contains("prompt is too long") || message.contains("exceed context limit")
}

/// The numbers of `prompt is too long: N tokens > M maximum`.
fn lengths(message: &str) -> (Option<u64>, Option<u64>) {
    let Some((left, right)) = message.split_once('>') else { return (None, None) };
    let number = |text: &str| {
        let digits = text.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty());
        digits.and_then(|digits| digits.parse().ok())
    };
    (number(left), number(right))
}

fn advice(status: u16, should_retry: Option<&str>, wait: Option<Duration>) -> Advice {
    let again = wait.map_or(Advice::Retry, Advice::RetryAfter);
    match (status, should_retry) {
        (400..=404 | 413, _) | (_, Some("false")) => Advice::GiveUp,
        (_, Some("true")) => again,
        // Without a date to come back, a limit is one that waiting does not lift.
        (429, _) => wait.map_or(Advice::GiveUp, Advice::RetryAfter),
        (408 | 409 | 500.., _) => again,
        _ => Advice::GiveUp,
    }
}

fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let seconds = |text: &str, unit: f64| {
        let number = text.trim().parse::<f64>().ok()?;
        Duration::try_from_secs_f64(number / unit).ok()
    };
    if let Some(wait) = header(headers, "retry-after-ms").and_then(|text| seconds(text, 1000.0)) {
        return Some(wait);
    }
    let text = header(headers, "retry-after")?;
    seconds(text, 1.0).or_else(|| {
        let date = jiff::fmt::rfc2822::parse(text.trim()).ok()?.timestamp();
        Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
    })
}

/// A header as text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

const KINDS: [(u16, &str); 11] = [
    (400, "invalid_request_error"),
    (401, "authentication_error"),
    (402, "billing_error"),
    (403, "permission_error"),
    (404, "not_found_error"),
    (409, "conflict_error"),
    (413, "request_too_large"),
    (429, "rate_limit_error"),
    (500, "api_error"),
    (504, "timeout_error"),
    (529, "overloaded_error"),
];

fn kind_of(status: u16) -> &'static str {
    let found = KINDS.iter().find(|(known, _)| *known == status);
    found.map_or(if status >= 500 { "api_error" } else { "unknown_error" }, |(_, kind)| kind)
}

fn status_of(kind: &str) -> u16 {
    KINDS.iter().find(|(_, known)| *known == kind).map_or(500, |(status, _)| *status)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-15T00:00:00Z";

    fn read(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> Failure {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Failure::from_response(status, &headers, body.as_bytes(), NOW.parse().unwrap())
    }

    fn body(kind: &str, message: &str) -> String {
        serde_json::json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
            .to_string()
    }

    #[test]
    fn what_is_retried_and_what_is_not() {
        let second = Duration::from_secs(1);
        for (status, headers, advice) in [
            (400, &[][..], Advice::GiveUp),
            (400, &[("x-should-retry", "true")], Advice::GiveUp),
            (401, &[], Advice::GiveUp),
            (402, &[], Advice::GiveUp),
            (403, &[], Advice::GiveUp),
            (404, &[], Advice::GiveUp),
            (408, &[], Advice::Retry),
            (409, &[], Advice::Retry),
            (413, &[], Advice::GiveUp),
            (418, &[], Advice::GiveUp),
            (418, &[("x-should-retry", "true")], Advice::Retry),
            (429, &[], Advice::GiveUp),
            (429, &[("retry-after", "1")], Advice::RetryAfter(second)),
            (429, &[("retry-after", "1.0"), ("retry-after-ms", "250")], Advice::RetryAfter(second / 4)),
            (429, &[("retry-after", "Sun, 15 Nov 2026 00:00:01 GMT")], Advice::RetryAfter(second)),
            (429, &[("retry-after", "Sat, 14 Nov 2026 00:00:01 GMT")], Advice::RetryAfter(Duration::ZERO)),
            (429, &[("retry-after", "-1")], Advice::GiveUp),
            (500, &[], Advice::Retry),
            (500, &[("x-should-retry", "false")], Advice::GiveUp),
            (504, &[], Advice::Retry),
            (529, &[], Advice::Retry),
            (529, &[("retry-after", "1")], Advice::RetryAfter(second)),
        ] {
            assert_eq!(read(status, headers, "").advice, advice, "{status} {headers:?}");
        }
    }

    #[test]
    fn errors_are_told_apart() {
        let long =
            read(400, &[], &body("invalid_request_error", "prompt is too long: 12 tokens > 10 maximum"))
                .error;
        assert!(matches!(long, ModelError::PromptTooLong { tokens: Some(12), limit: Some(10), .. }));
        assert_eq!(long.request_id(), Some("req_1"));
        let bound =
            "messages.1.content.0: Invalid signature. The block is bound to a different conversation.";
        let bound = read(400, &[("request-id", "req_2")], &body("invalid_request_error", bound)).error;
        assert!(matches!(bound, ModelError::PrefixMismatch { .. }));
        assert_eq!(bound.request_id(), Some("req_2"));
        let gone = read(404, &[], &body("not_found_error", "model: x")).error;
        assert_eq!((gone.status(), gone.kind()), (Some(404), "not_found_error"));
        assert!(gone.to_string().contains("--model"), "{gone}");
        assert_eq!(read(529, &[], "").error, ModelError::Overloaded);
        assert_eq!(read(503, &[], &body("overloaded_error", "")).error, ModelError::Overloaded);
        let gateway = read(502, &[], "<html>bad gateway</html>").error;
        assert!(gateway.to_string().contains("bad gateway"), "{gateway}");
        assert_eq!(read(429, &[], "").error.kind(), "rate_limit_error");
        assert!(read(401, &[], "").error.to_string().contains("ANTHROPIC_API_KEY"));
    }

    #[test]
    fn events_get_the_status_of_their_kind() {
        let event = |kind: &str| {
            Failure::from_event(ErrorObject { kind: kind.to_owned(), message: String::new() }, None)
        };
        assert_eq!(event("overloaded_error").error, ModelError::Overloaded);
        assert_eq!(event("invalid_request_error").advice, Advice::GiveUp);
        assert_eq!(event("api_error").advice, Advice::Retry);
        assert_eq!(event("of_the_future").error.status(), Some(500));
    }
}
