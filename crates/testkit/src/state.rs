//! What the server thread and the test share.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::Value;

use crate::{
    cache::PromptCache,
    capture::Captures,
    compose::Ids,
    digest::{Digest, fingerprint},
    models::Model,
    prompt::items,
    script::Script,
    validate::tools::CheckedTools,
};

/// How strict the server is.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) key: String,
    pub(crate) validate: bool,
    pub(crate) keep_bodies: bool,
    pub(crate) window: Option<u64>,
    pub(crate) cache_minimum: Option<u64>,
    pub(crate) models_hidden: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            key: "sk-ant-test-key".to_owned(),
            validate: true,
            keep_bodies: true,
            window: None,
            cache_minimum: None,
            models_hidden: false,
        }
    }
}

impl Settings {
    pub(crate) fn window(&self, model: &Model) -> u64 {
        self.window.unwrap_or(model.context)
    }

    pub(crate) fn cache_minimum(&self, model: &Model) -> u64 {
        self.cache_minimum.unwrap_or(model.cache_minimum)
    }
}

/// Everything behind the endpoints.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) captures: Captures,
    pub(crate) requests: AtomicU64,
    settings: Mutex<Settings>,
    script: Mutex<Script>,
    rejections: Mutex<Vec<String>>,
    memory: Mutex<Memory>,
}

/// What the service remembers between requests.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) ids: Ids,
    pub(crate) cache: PromptCache,
    pub(crate) issued: Issued,
    pub(crate) tools: CheckedTools,
}

/// The thinking that came with each tool call, so that its absence can be noticed.
#[derive(Default)]
pub(crate) struct Issued(HashMap<Digest, Thought>);

/// The thinking blocks of one message.
#[derive(Debug, Clone)]
pub(crate) struct Thought {
    pub(crate) model: String,
    /// Signatures and redacted data, in order.
    pub(crate) seals: Vec<String>,
}

impl Issued {
    pub(crate) fn record(&mut self, message: &Value) {
        let content = items(&message["content"]);
        let seals: Vec<String> = content.iter().filter_map(seal_of).map(str::to_owned).collect();
        if seals.is_empty() {
            return;
        }
        let thought = Thought { model: message["model"].as_str().unwrap_or_default().to_owned(), seals };
        for call in content.iter().filter(|block| block["type"] == "tool_use") {
            self.0.insert(fingerprint(call).digest, thought.clone());
        }
    }

    pub(crate) fn with_call(&self, call: &Digest) -> Option<&Thought> {
        self.0.get(call)
    }
}

/// What identifies a thinking block.
pub(crate) fn seal_of(block: &Value) -> Option<&str> {
    match block["type"].as_str()? {
        "thinking" => block["signature"].as_str(),
        "redacted_thinking" => block["data"].as_str(),
        _ => None,
    }
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings: Mutex::new(settings), ..Self::default() }
    }

    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn rejections(&self) -> MutexGuard<'_, Vec<String>> {
        self.rejections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn next_request_id(&self) -> String {
        format!("req_{:02}", self.requests.fetch_add(1, Ordering::Relaxed) + 1)
    }
}
