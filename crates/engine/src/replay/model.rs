//! The recorded words of the model, in its place.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tiller_model::{Catalog, Completion, Model, ModelError, ModelEvent, ModelInfo, Request};

use super::tape::Tape;

/// What a recorded answer consists of.
pub(super) enum Played {
    /// News of the answer.
    Event(ModelEvent),
    /// The request failed.
    Failed(ModelError),
    /// Nothing more came: the user stopped it, or the process ended.
    Silence,
    /// Nothing more came, because the user refused a call of it.
    CutShort,
}

/// Answers with what was recorded.
pub(super) struct TapeModel {
    tape: Arc<Tape>,
    catalog: Catalog,
}

impl TapeModel {
    pub(super) fn new(tape: Arc<Tape>, catalog: Catalog) -> Self {
        Self { tape, catalog }
    }
}

impl Model for TapeModel {
    fn stream(&self, _request: Request) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let tape = Arc::clone(&self.tape);
        let answer = self.tape.play();
        let play = move |played| {
            let tape = Arc::clone(&tape);
            async move {
                match played {
                    Played::Event(event) => Ok(event),
                    Played::Failed(error) => Err(error),
                    Played::Silence => {
                        tape.interrupt();
                        std::future::pending().await
                    }
                    Played::CutShort => std::future::pending().await,
                }
            }
        };
        stream::iter(answer).then(play).boxed()
    }

    fn complete(&self, _request: Request) -> BoxFuture<'static, Result<Completion, ModelError>> {
        let text = "requests beside the conversation are not replayed".to_owned();
        async { Err(ModelError::Recording(text)) }.boxed()
    }

    fn count_tokens(&self, _request: Request) -> BoxFuture<'static, Result<u64, ModelError>> {
        async { Err(ModelError::Recording("tokens are not counted in a replay".to_owned())) }.boxed()
    }

    fn info(&self, id: &str) -> ModelInfo {
        self.catalog.info(id)
    }

    fn refresh(&self, id: String) -> BoxFuture<'static, Result<ModelInfo, ModelError>> {
        let info = self.catalog.info(&id);
        async { Ok(info) }.boxed()
    }
}
