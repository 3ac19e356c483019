//! What the server saw: every request, in the order of arrival.

use std::{
    sync::{
        Arc, Condvar, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU16, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::gate::PATIENCE;

/// One request as it arrived; clones share the data.
#[derive(Clone, Debug)]
pub struct Captured(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    raw: Bytes,
    /// None when the body is no JSON.
    body: OnceLock<Option<Value>>,
    status: Arc<AtomicU16>,
    arrived: Instant,
    sent: Arc<OnceLock<Instant>>,
}

impl Captured {
    pub(crate) fn new(parts: &http::request::Parts, raw: Bytes) -> Self {
        Self(Arc::new(Inner {
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers.clone(),
            raw,
            body: OnceLock::new(),
            status: Arc::default(),
            arrived: Instant::now(),
            sent: Arc::default(),
        }))
    }

    /// The same request without its body, for servers that do not keep bodies.
    pub(crate) fn without_body(&self) -> Self {
        Self(Arc::new(Inner {
            method: self.0.method.clone(),
            path: self.0.path.clone(),
            query: self.0.query.clone(),
            headers: self.0.headers.clone(),
            raw: Bytes::new(),
            body: OnceLock::new(),
            status: Arc::clone(&self.0.status),
            arrived: self.0.arrived,
            sent: Arc::clone(&self.0.sent),
        }))
    }

    /// The HTTP method.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The query without `?`; empty when there is none.
    pub fn query(&self) -> &str {
        &self.0.query
    }

    /// All headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// One header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name)?.to_str().ok()
    }

    /// The names in the `anthropic-beta` headers.
    pub fn betas(&self) -> Vec<&str> {
        let values = self.0.headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).map(str::trim).filter(|name| !name.is_empty()).collect()
    }

    /// The body as sent.
    pub fn raw(&self) -> &Bytes {
        &self.0.raw
    }

    /// The body as JSON, parsed on first use; `null` when it is none.
    pub fn body(&self) -> &Value {
        self.json().unwrap_or(&Value::Null)
    }

    pub(crate) fn json(&self) -> Option<&Value> {
        self.0.body.get_or_init(|| serde_json::from_slice(&self.0.raw).ok()).as_ref()
    }

    /// The HTTP status of the answer, once its head was decided.
    pub fn status(&self) -> Option<u16> {
        match self.0.status.load(Ordering::Acquire) {
            0 => None,
            status => Some(status),
        }
    }

    /// When the whole request had arrived.
    pub fn arrived(&self) -> Instant {
        self.0.arrived
    }

    /// When the last piece of a streamed answer was handed to the connection, if it was.
    pub fn sent(&self) -> Option<Instant> {
        self.0.sent.get().copied()
    }

    /// Whether this asks for a message, as opposed to a token count or the model list.
    pub fn is_message(&self) -> bool {
        self.0.path == "/v1/messages"
    }

    pub(crate) fn answered(&self, status: u16) {
        self.0.status.store(status, Ordering::Release);
    }

    pub(crate) fn completely_sent(&self) {
        self.0.sent.get_or_init(Instant::now);
    }
}

/// The list of requests, with a way to wait for it to grow.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    list: Mutex<Vec<Captured>>,
    grown: Condvar,
}

impl Captures {
    pub(crate) fn push(&self, captured: Captured) -> usize {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(captured);
        self.grown.notify_all();
        list.len()
    }

    pub(crate) fn all(&self) -> Vec<Captured> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn wait(&self, count: usize, wanted: impl Fn(&Captured) -> bool) -> Vec<Captured> {
        let few = |list: &mut Vec<Captured>| list.iter().filter(|seen| wanted(seen)).count() < count;
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let (list, timeout) =
            self.grown.wait_timeout_while(list, PATIENCE, few).unwrap_or_else(PoisonError::into_inner);
        let seen: Vec<String> = list.iter().map(|one| format!("{} {}", one.method(), one.path())).collect();
        assert!(
            !timeout.timed_out(),
            "waited {PATIENCE:?} for {count} requests, saw {}: {seen:?}",
            seen.len()
        );
        list.iter().filter(|seen| wanted(seen)).cloned().collect()
    }
}
