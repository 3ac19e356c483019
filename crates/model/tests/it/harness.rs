//! A client for a scripted server, and answers in a form that is easy to compare.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use tiller_model::anthropic::{Anthropic, Config};
use tiller_model::{Abandon, Catalog, Model, ModelError, ModelEvent, Request};
use tiller_protocol::block::RawBlock;
use tiller_protocol::env::{Clock, Env, Ids};
use tiller_testkit::ModelServer;

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Ids for Still {
    fn next(&self) -> uuid::Uuid {
        uuid::Uuid::nil()
    }

    fn random(&self) -> f64 {
        0.5
    }
}

/// Surroundings with these variables.
pub(crate) fn env(vars: &[(&str, &str)]) -> Env {
    let vars: BTreeMap<_, _> =
        vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Env {
        clock: Arc::new(Still),
        ids: Arc::new(Still),
        vars: Arc::new(vars),
        home: "/".into(),
        cwd: "/".into(),
    }
}

/// A client with these variables.
pub(crate) fn client_with(vars: &[(&str, &str)]) -> Anthropic {
    let env = env(vars);
    Anthropic::new(Config::from_env(&env).unwrap(), Catalog::shipped().unwrap(), env).unwrap()
}

/// A client of that server that does not wait long before a retry.
pub(crate) fn client(server: &ModelServer) -> Anthropic {
    client_and(server, &[])
}

/// The same, with further variables.
pub(crate) fn client_and(server: &ModelServer, more: &[(&str, &str)]) -> Anthropic {
    let vars = [
        ("ANTHROPIC_BASE_URL", server.url()),
        ("ANTHROPIC_API_KEY", server.key()),
        ("TILLER_RETRY_BASE_MS", "1"),
    ];
    client_with(&[&vars, more].concat())
}

/// JSON as bytes.
pub(crate) fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// A question to a model.
pub(crate) fn ask(text: &str) -> Request {
    Request {
        model: "claude-opus-5-5".to_owned(),
        system: bytes(&json!([{"type": "text", "text": "You are a test."}])),
        messages: vec![bytes(&json!({"role": "user", "content": text}))].into(),
        ..Request::default()
    }
}

/// Everything an answer consists of.
pub(crate) struct Answer {
    pub(crate) events: Vec<ModelEvent>,
    pub(crate) error: Option<ModelError>,
}

/// Asks and waits for the end.
pub(crate) async fn answer(model: &dyn Model, request: Request) -> Answer {
    let mut stream = model.stream(request);
    let mut answer = Answer { events: Vec::new(), error: None };
    let all = async {
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => answer.events.push(event),
                Err(error) => answer.error = Some(error),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all).await.unwrap();
    answer
}

impl Answer {
    /// The events without the provider's own, one word or two each.
    pub(crate) fn outline(&self) -> Vec<String> {
        let error = self.error.iter().map(|error| format!("error {}", error.kind()));
        self.events.iter().filter_map(outline).chain(error).collect()
    }

    /// The blocks that count: those after the last abandonment.
    pub(crate) fn blocks(&self) -> Vec<RawBlock> {
        let mut blocks = Vec::new();
        for event in &self.events {
            match event {
                ModelEvent::Block { block, .. } => blocks.push(block.clone()),
                ModelEvent::Abandoned { .. } => blocks.clear(),
                _ => {}
            }
        }
        blocks
    }

    /// The provider's events.
    pub(crate) fn raw(&self) -> Vec<Value> {
        let raw = self.events.iter().filter_map(|event| match event {
            ModelEvent::Raw(json) => Some(serde_json::from_str(json).unwrap()),
            _ => None,
        });
        raw.collect()
    }

    /// The last event, which ends an answer that succeeded.
    pub(crate) fn finished(&self) -> &ModelEvent {
        let last = self.events.last().unwrap();
        assert!(matches!(last, ModelEvent::Finished { .. }), "{:?} {:?}", self.error, last);
        last
    }
}

fn outline(event: &ModelEvent) -> Option<String> {
    Some(match event {
        ModelEvent::Raw(_) => return None,
        ModelEvent::Started { .. } => "started".to_owned(),
        ModelEvent::Block { block, .. } => {
            format!("block {}", block.as_text().unwrap_or_else(|| block.kind()))
        }
        ModelEvent::Finished { stop_reason, .. } => format!("finished {}", stop_reason.as_str()),
        ModelEvent::Retrying { attempt, status, .. } => {
            format!("retrying {attempt} {}", status.map_or("-".to_owned(), |status| status.to_string()))
        }
        ModelEvent::Abandoned { why: Abandon::Overloaded } => "abandoned overloaded".to_owned(),
        ModelEvent::Abandoned { why: Abandon::StreamBroken { .. } } => "abandoned broken".to_owned(),
    })
}
