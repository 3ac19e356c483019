//! A server that is a service: how it is reached over HTTP.

mod bounded;
mod client;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use reqwest::Client;
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tiller_protocol::env::Env;
use tiller_protocol::host::is_loopback;
use tiller_tls::Certificates;
use url::Url;

pub(crate) use bounded::{LARGEST, body};
pub(crate) use client::HttpClient;

use crate::auth::SignInError;

/// How long making a connection may take.
const CONNECT: Duration = Duration::from_secs(15);

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The service cannot be reached, or breaks off.
    #[error(transparent)]
    Request(#[from] reqwest::Error),
    /// It sends more than it may.
    #[error("it answered with more than {} MB", .0 / (1024 * 1024))]
    TooLong(usize),
    /// The token cannot be used.
    #[error(transparent)]
    Proof(#[from] SignInError),
}

impl HttpError {
    /// What a service did wrong, where it was not only the connection that broke.
    pub(crate) fn in_request(error: &ServiceError) -> Option<&Self> {
        let ServiceError::TransportSend(error) = error else { return None };
        match error.error.downcast_ref::<StreamableHttpError<Self>>()? {
            StreamableHttpError::Client(error @ Self::TooLong(_)) => Some(error),
            _ => None,
        }
    }
}

/// Checks an address.
///
/// # Errors
/// Why it cannot be used.
pub(crate) fn address(url: &str, offline: bool) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|error| format!("its address is not understood: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("its address begins with {}:, not with http: or https:", url.scheme()));
    }
    let host = url.host_str().unwrap_or_default();
    if offline && !is_loopback(host) {
        return Err(format!("{host} is not contacted: only this machine may be (offline)"));
    }
    Ok(url)
}

/// Whether a service at this address is contacted at all.
#[must_use]
pub fn is_reached(url: &str, offline: bool) -> bool {
    address(url, offline).is_ok()
}

/// What sends requests.
///
/// # Errors
/// When there is no way to make encrypted connections.
pub(crate) fn client(env: &Env) -> Result<Client, String> {
    let client = Certificates::of(env).trusted_by(tiller_tls::client().connect_timeout(CONNECT));
    client.map_err(|error| error.to_string())?.build().map_err(|error| error.to_string())
}

/// What requests carry.
///
/// # Errors
/// When a header cannot be sent.
pub(crate) fn headers(
    headers: &BTreeMap<String, String>,
) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let wrong = || format!("the header {name} cannot be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        custom.insert(header, value);
    }
    Ok(custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    // NET-02
    #[test]
    fn offline_reaches_this_machine_only() {
        assert!(address("http://127.0.0.1:1/mcp", true).is_ok());
        assert!(address("https://example.org/mcp", true).unwrap_err().contains("offline"));
        assert!(address("https://example.org/mcp", false).is_ok());
        assert!(address("file:///etc/passwd", false).is_err());
    }
}
