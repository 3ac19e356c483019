//! One page over HTTP, within limits.

use std::time::Duration;

use futures::StreamExt;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, StatusCode};
use tiller_policy::Permit;
use tiller_protocol::host;
use url::Url;

/// Bytes a page may have.
const MAX_BYTES: usize = 10 * 1024 * 1024;
/// Time for all of it.
const MAX_TIME: Duration = Duration::from_secs(30);
/// Redirects that are followed, all on one host.
const MAX_REDIRECTS: usize = 5;
const ACCEPTED: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1";

/// What was found at an address.
#[derive(Debug)]
pub(super) enum Found {
    /// A page.
    Page(Page),
    /// A pointer to another host.
    Elsewhere {
        /// The address that points there.
        from: Url,
        /// The address it points to.
        to: Url,
        status: StatusCode,
    },
}

/// A page as it came.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    pub(super) content_type: String,
    pub(super) body: Vec<u8>,
}

/// Reads an address: http and https only, without credentials, http made https except on this machine.
pub(super) fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| {
        format!("\"{text}\" is not a complete address ({error}). Give one like https://example.org/page.")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("WebFetch reads http and https addresses only, not {}:.", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "The address contains a user name or password. Remove it: credentials do not belong here."
                .to_owned(),
        );
    }
    Ok(upgraded(url))
}

fn upgraded(mut url: Url) -> Url {
    if url.scheme() == "http" && !is_loopback(&url) && url.set_scheme("https").is_err() {
        tracing::debug!(%url, "stays on http");
    }
    url
}

/// Whether an address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(host::is_loopback)
}

/// Fetches a page. The error is a text for the model.
pub(super) async fn get(client: &Client, url: Url, permit: &Permit) -> Result<Found, String> {
    let shown = url.to_string();
    match tokio::time::timeout(MAX_TIME, follow(client, url, permit)).await {
        Ok(found) => found,
        Err(_) => Err(format!("{shown} did not answer within {} seconds.", MAX_TIME.as_secs())),
    }
}

async fn follow(client: &Client, mut url: Url, permit: &Permit) -> Result<Found, String> {
    for _ in 0..=MAX_REDIRECTS {
        permit.connect(url.host_str().unwrap_or_default()).map_err(|error| error.to_string())?;
        let request = client.get(url.clone()).header(ACCEPT, ACCEPTED);
        let response = request.send().await.map_err(|error| unreachable(&url, &error))?;
        let Some(target) = redirect(&url, &response) else {
            return page(url, response).await.map(Found::Page);
        };
        let target = address(&target)?;
        if target.host_str() != url.host_str() {
            return Ok(Found::Elsewhere { from: url, to: target, status: response.status() });
        }
        url = target;
    }
    Err(format!("{url} redirects more than {MAX_REDIRECTS} times."))
}

fn redirect(url: &Url, response: &Response) -> Option<String> {
    if !response.status().is_redirection() {
        return None;
    }
    let location = response.headers().get(LOCATION)?.to_str().ok()?;
    url.join(location).ok().map(String::from)
}

async fn page(url: Url, response: Response) -> Result<Page, String> {
    let status = response.status();
    if !status.is_success() {
        return Err(format!("{url} answered {status}."));
    }
    let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let too_large = || format!("{url} is larger than {} MB.", MAX_BYTES >> 20);
    if response.content_length().is_some_and(|length| length > MAX_BYTES as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| unreachable(&url, &error))?;
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Page { url, status, content_type, body })
}

/// The whole chain of causes: the first alone says nothing.
fn unreachable(url: &Url, error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    if causes.is_empty() {
        causes.push(error.to_string());
    }
    format!("{url} could not be fetched: {}.", causes.join(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_upgraded_except_on_this_machine() {
        for (given, used) in [
            ("http://example.org/a", "https://example.org/a"),
            ("http://example.org:8080/", "https://example.org:8080/"),
            ("https://example.org", "https://example.org/"),
            ("http://localhost:3000/", "http://localhost:3000/"),
            ("http://app.localhost/", "http://app.localhost/"),
            ("http://127.0.0.1/", "http://127.0.0.1/"),
            ("http://[::1]:80/", "http://[::1]/"),
            ("http://localhost.example.org/", "https://localhost.example.org/"),
        ] {
            assert_eq!(address(given).unwrap().as_str(), used);
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        for (given, why) in [
            ("example.org", "complete address"),
            ("file:///etc/passwd", "not file:"),
            ("ftp://example.org/", "not ftp:"),
            ("https://me:pw@example.org/", "password"),
            ("https://me@example.org/", "user name"),
        ] {
            let error = address(given).unwrap_err();
            assert!(error.contains(why), "{given}: {error}");
        }
    }
}
