//! Plays a recording in the place of a model.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{BoxStream, StreamExt};
use tiller_protocol::block::RawBlock;
use tokio::time::{Instant, sleep};

use super::fingerprint::Fingerprint;
use super::{Answer, parse, pieces};
use crate::Model;
use crate::anthropic::{Assembly, StreamFault};
use crate::catalog::{Catalog, ModelInfo};
use crate::error::ModelError;
use crate::event::{Completion, ModelEvent};
use crate::outbox::{self, Outbox};
use crate::request::Request;

/// Bytes of a request that make a token, roughly.
const BYTES_PER_TOKEN: u64 = 4;

/// A model whose answers were written down before. Cheap to clone; clones share the place in the recording.
#[derive(Clone)]
pub struct Player {
    tape: Arc<Mutex<Tape>>,
    catalog: Arc<Catalog>,
    pace: Duration,
}

struct Tape {
    answers: Vec<Option<Answer>>,
    differences: Vec<Difference>,
    played: usize,
}

/// A request was not the one that had been recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The number of the request, from 1.
    pub request: usize,
    /// What is different.
    pub what: String,
}

impl Player {
    /// Plays a recording, with `{{name}}` in its blocks replaced by `placeholders["name"]`.
    ///
    /// # Errors
    /// When the text is not a recording.
    pub fn new(
        recording: &str,
        placeholders: &BTreeMap<String, String>,
        catalog: Catalog,
    ) -> Result<Self, ModelError> {
        let mut answers = parse(recording)?;
        for block in answers.iter_mut().flat_map(|answer| &mut answer.blocks) {
            *block = fill(block, placeholders)?;
        }
        let answers = answers.into_iter().map(Some).collect();
        let tape = Tape { answers, differences: Vec::new(), played: 0 };
        Ok(Self { tape: Arc::new(Mutex::new(tape)), catalog: Arc::new(catalog), pace: Duration::ZERO })
    }

    /// Plays a file.
    ///
    /// # Errors
    /// When the file cannot be read or is not a recording.
    pub fn open(
        path: &Path,
        placeholders: &BTreeMap<String, String>,
        catalog: Catalog,
    ) -> Result<Self, ModelError> {
        let text = fs_err::read_to_string(path).map_err(|error| ModelError::Recording(error.to_string()))?;
        Self::new(&text, placeholders, catalog)
    }

    /// Waits so long before each piece of text, so that people can follow.
    #[must_use]
    pub fn with_pace(self, pace: Duration) -> Self {
        Self { pace, ..self }
    }

    /// Where requests differed from the recorded ones so far.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).differences.clone()
    }

    /// How many recorded answers have not been asked for.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.answers.iter().flatten().count()
    }

    fn next(&self, request: &Request) -> Result<(Answer, usize), ModelError> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner).next(request)
    }
}

impl Tape {
    /// The answer recorded for this very request, or else the next one.
    fn next(&mut self, request: &Request) -> Result<(Answer, usize), ModelError> {
        self.played += 1;
        let print = Fingerprint::new(request);
        let recorded = |slot: &Option<Answer>| {
            slot.as_ref().is_some_and(|answer| answer.request.as_ref() == Some(&print))
        };
        let place = self.answers.iter().position(recorded);
        let place = place.or_else(|| self.answers.iter().position(Option::is_some));
        let answer = place.and_then(|place| self.answers[place].take()).ok_or_else(|| {
            ModelError::Recording(format!(
                "the recording has {} answers, but a request more was made; record it anew or ask less of it",
                self.answers.len()
            ))
        })?;
        if let Some(what) = answer.request.as_ref().and_then(|expected| expected.difference(&print)) {
            self.differences.push(Difference { request: self.played, what });
        }
        Ok((answer, self.played))
    }
}

/// Replaces placeholders inside a block's JSON strings.
fn fill(block: &RawBlock, placeholders: &BTreeMap<String, String>) -> Result<RawBlock, ModelError> {
    let mut json = block.json().to_owned();
    for (name, value) in placeholders {
        let escaped = serde_json::Value::from(value.as_str()).to_string();
        json = json.replace(&format!("{{{{{name}}}}}"), &escaped[1..escaped.len() - 1]);
    }
    RawBlock::parse(json)
        .map_err(|error| ModelError::Recording(format!("a placeholder breaks a block: {error}")))
}

async fn play(answer: Answer, number: usize, pace: Duration, out: Outbox) -> Result<(), ModelError> {
    let events = match answer.events.as_slice() {
        [] if answer.error.is_some() => Vec::new(),
        [] => pieces::events(&answer, number),
        recorded => recorded.iter().map(|event| event.get().to_owned()).collect(),
    };
    let mut assembly = Assembly::new(None, Instant::now());
    for event in &events {
        if !pace.is_zero() && event.contains("\"content_block_delta\"") {
            sleep(pace).await;
        }
        assembly.event(event, &mut |event| out.push(event)).map_err(|fault| unplayable(fault, number))?;
    }
    match answer.error {
        Some(failed) => Err(failed.error()),
        None if assembly.is_complete() => Ok(()),
        None => Err(ModelError::Recording(format!("recorded answer {number} was cut off"))),
    }
}

fn unplayable(fault: StreamFault, number: usize) -> ModelError {
    let detail = match fault {
        StreamFault::Unreadable(detail) => detail,
        StreamFault::Reported(error) => format!("it contains the error {}: {}", error.kind, error.message),
    };
    ModelError::Recording(format!("recorded answer {number} cannot be played: {detail}"))
}

/// Waits for a stream and puts the answer together.
async fn collect(
    mut stream: BoxStream<'static, Result<ModelEvent, ModelError>>,
) -> Result<Completion, ModelError> {
    let mut begun = None;
    let mut blocks = Vec::new();
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Started { message_id, model, request_id, .. } => {
                begun = Some((message_id, model, request_id));
            }
            ModelEvent::Block { block, .. } => blocks.push(block),
            ModelEvent::Finished { usage, stop_reason, stop_details, duration } => {
                let Some((message_id, model, request_id)) = begun else { break };
                return Ok(Completion {
                    message_id,
                    model,
                    blocks,
                    usage,
                    stop_reason,
                    stop_details,
                    request_id,
                    duration,
                });
            }
            ModelEvent::Abandoned { .. } => blocks.clear(),
            ModelEvent::Raw(_) | ModelEvent::Retrying { .. } => {}
        }
    }
    Err(ModelError::Recording("the recorded answer has no end".to_owned()))
}

impl Model for Player {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let answer = self.next(&request);
        let pace = self.pace;
        outbox::stream(move |out| async move {
            let (answer, number) = answer?;
            play(answer, number, pace, out).await
        })
    }

    fn complete(&self, request: Request) -> BoxFuture<'static, Result<Completion, ModelError>> {
        Box::pin(collect(self.clone().with_pace(Duration::ZERO).stream(request)))
    }

    fn count_tokens(&self, request: Request) -> BoxFuture<'static, Result<u64, ModelError>> {
        let bytes = request.system.len() + request.tools.len() + request.messages.bytes();
        Box::pin(async move { Ok(bytes as u64 / BYTES_PER_TOKEN) })
    }

    fn info(&self, id: &str) -> ModelInfo {
        self.catalog.info(id)
    }

    fn refresh(&self, id: String) -> BoxFuture<'static, Result<ModelInfo, ModelError>> {
        let info = self.info(&id);
        Box::pin(async move { Ok(info) })
    }
}
