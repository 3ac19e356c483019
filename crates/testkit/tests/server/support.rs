//! A plain client of the server.

use reqwest::Response;
use serde_json::{Value, json};
use tiller_testkit::ModelServer;

/// Sends bodies and reads what comes back.
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    key: String,
}

impl Client {
    /// A client of this server.
    pub(crate) fn new(server: &ModelServer) -> Self {
        Self::at(server.url(), server.key())
    }

    /// A client of the server at this address.
    pub(crate) fn at(url: &str, key: &str) -> Self {
        // An error means that another test of this process was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { http, url: url.to_owned(), key: key.to_owned() }
    }

    /// A message request with the right headers.
    pub(crate) async fn send(&self, body: &Value) -> Response {
        self.send_with(body, &[]).await
    }

    /// A message request with more headers.
    pub(crate) async fn send_with(&self, body: &Value, headers: &[(&str, &str)]) -> Response {
        let request = self
            .http
            .post(format!("{}/v1/messages", self.url))
            .header("x-api-key", &self.key)
            .header("anthropic-version", "2026-10-21")
            .json(body);
        headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value))
            .send()
            .await
            .unwrap()
    }

    /// A message request under the version that knew sampling parameters.
    pub(crate) async fn send_old_version(&self, body: &Value) -> Response {
        let version = [("anthropic-version", "2023-06-01"), ("content-type", "application/json")];
        let headers: Vec<_> = [("x-api-key", self.key.as_str())].into_iter().chain(version).collect();
        self.bare(body, &headers).await
    }

    /// A message request with exactly these headers.
    pub(crate) async fn bare(&self, body: &Value, headers: &[(&str, &str)]) -> Response {
        let request = self.http.post(format!("{}/v1/messages", self.url)).body(body.to_string());
        headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value))
            .send()
            .await
            .unwrap()
    }

    /// Status and JSON body.
    pub(crate) async fn post(&self, body: &Value) -> (u16, Value) {
        let response = self.send(body).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// The payloads of a stream that ends well.
    pub(crate) async fn events(&self, body: &Value) -> Vec<Value> {
        let (text, ended) = self.read_to_end(body).await;
        ended.unwrap();
        text.lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect()
    }

    /// Everything received, and how the stream ended.
    pub(crate) async fn read_to_end(&self, body: &Value) -> (String, reqwest::Result<()>) {
        let mut response = self.send(body).await;
        let mut text = Vec::new();
        let ended = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => text.extend_from_slice(&chunk),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        (String::from_utf8(text).unwrap(), ended)
    }

    /// The chunks as they arrived.
    pub(crate) async fn chunks(&self, body: &Value) -> Vec<Vec<u8>> {
        let mut response = self.send(body).await;
        let mut chunks = Vec::new();
        while let Some(chunk) = response.chunk().await.unwrap() {
            chunks.push(chunk.to_vec());
        }
        chunks
    }
}

/// A small streaming request.
pub(crate) fn ask(text: &str) -> Value {
    json!({
        "model": "claude-opus-5-5",
        "max_tokens": 1000,
        "stream": true,
        "messages": [{ "role": "user", "content": text }],
    })
}

/// The `type` of each event.
pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}
