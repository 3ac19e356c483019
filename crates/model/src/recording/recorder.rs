//! Writes a recording of what another model answers.

use std::io::Write;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use fs_err::os::unix::fs::OpenOptionsExt;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, Stream};
use serde_json::value::RawValue;

use super::fingerprint::Fingerprint;
use super::{Answer, Failed};
use crate::Model;
use crate::catalog::ModelInfo;
use crate::error::ModelError;
use crate::event::{Completion, ModelEvent};
use crate::request::Request;

/// A model that passes everything on to another one and writes down its answers.
#[derive(Clone)]
pub struct Recorder {
    model: Arc<dyn Model>,
    file: Arc<Mutex<fs_err::File>>,
}

impl Recorder {
    /// Records `model` at the end of a file that only the user can read.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn new(model: Arc<dyn Model>, path: &Path) -> Result<Self, ModelError> {
        let file = fs_err::OpenOptions::new().create(true).append(true).mode(0o600).open(path);
        let file = file.map_err(|error| ModelError::Recording(error.to_string()))?;
        Ok(Self { model, file: Arc::new(Mutex::new(file)) })
    }

    fn take(&self, request: &Request) -> Take {
        let answer = Answer { request: Some(Fingerprint::new(request)), cut: true, ..Answer::default() };
        Take { answer: Some(answer), file: Arc::clone(&self.file) }
    }
}

/// One answer while it is being recorded. Whatever happens to the answer, it is written when this is dropped.
struct Take {
    answer: Option<Answer>,
    file: Arc<Mutex<fs_err::File>>,
}

impl Take {
    fn hear(&mut self, event: &Result<ModelEvent, ModelError>) {
        let Some(answer) = &mut self.answer else { return };
        match event {
            Ok(ModelEvent::Started { model, .. }) => answer.model.clone_from(model),
            Ok(ModelEvent::Raw(json)) => answer.events.extend(RawValue::from_string(json.to_string())),
            Ok(ModelEvent::Block { block, .. }) => answer.blocks.push(block.clone()),
            Ok(ModelEvent::Finished { usage, stop_reason, stop_details, .. }) => {
                answer.usage = Some(*usage);
                answer.stop_reason = Some(stop_reason.clone());
                answer.stop_details.clone_from(stop_details);
                answer.cut = false;
            }
            Ok(ModelEvent::Abandoned { .. }) => {
                answer.events.clear();
                answer.blocks.clear();
            }
            Ok(ModelEvent::Retrying { .. }) => {}
            Err(error) => {
                answer.error = Some(Failed::new(error));
                answer.cut = false;
            }
        }
    }

    fn write(&self, mut answer: Answer) -> std::io::Result<()> {
        if !answer.events.is_empty() {
            // The events say it all.
            answer =
                Answer { blocks: Vec::new(), usage: None, stop_reason: None, stop_details: None, ..answer };
        }
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

impl Drop for Take {
    fn drop(&mut self) {
        let Some(answer) = self.answer.take() else { return };
        if let Err(error) = self.write(answer) {
            tracing::warn!(%error, "an answer could not be recorded");
        }
    }
}

struct Recorded {
    stream: BoxStream<'static, Result<ModelEvent, ModelError>>,
    take: Take,
}

impl Stream for Recorded {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.stream.as_mut().poll_next(cx);
        if let Poll::Ready(Some(event)) = &next {
            self.take.hear(event);
        }
        next
    }
}

impl Model for Recorder {
    fn stream(&self, request: Request) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let take = self.take(&request);
        Box::pin(Recorded { stream: self.model.stream(request), take })
    }

    fn complete(&self, request: Request) -> BoxFuture<'static, Result<Completion, ModelError>> {
        let mut take = self.take(&request);
        let answer = self.model.complete(request);
        Box::pin(async move {
            let result = answer.await;
            if let Some(answer) = &mut take.answer {
                answer.cut = false;
                match &result {
                    Ok(whole) => describe(answer, whole),
                    Err(error) => answer.error = Some(Failed::new(error)),
                }
            }
            result
        })
    }

    fn count_tokens(&self, request: Request) -> BoxFuture<'static, Result<u64, ModelError>> {
        self.model.count_tokens(request)
    }

    fn info(&self, id: &str) -> ModelInfo {
        self.model.info(id)
    }

    fn refresh(&self, id: String) -> BoxFuture<'static, Result<ModelInfo, ModelError>> {
        self.model.refresh(id)
    }
}

fn describe(answer: &mut Answer, whole: &Completion) {
    answer.model.clone_from(&whole.model);
    answer.blocks.clone_from(&whole.blocks);
    answer.usage = Some(whole.usage);
    answer.stop_reason = Some(whole.stop_reason.clone());
    answer.stop_details.clone_from(&whole.stop_details);
}
