//! Talking to a language model: requests, streams, retries, usage and prices.
//!
//! [`Model`] is all the rest of Tiller sees. [`anthropic::Anthropic`] speaks to the provider;
//! [`recording::Player`] plays back what [`recording::Recorder`] wrote.

pub mod anthropic;
pub mod catalog;
mod error;
mod event;
pub mod name;
mod outbox;
pub mod recording;
mod request;
pub mod sse;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

pub use catalog::{Catalog, ModelInfo, Price, cost};
pub use error::ModelError;
pub use event::{Abandon, Completion, ModelEvent};
pub use request::{Effort, Request, Thinking};

/// A language model that can be asked. Object-safe: shared as `Arc<dyn Model>`.
pub trait Model: Send + Sync {
    /// Streams one response. The work happens while the stream is polled, and dropping it aborts the request.
    fn stream(&self, request: Request) -> BoxStream<'static, Result<ModelEvent, ModelError>>;

    /// One whole answer without streaming, with the same retries: for digests, classification, searches.
    fn complete(&self, request: Request) -> BoxFuture<'static, Result<Completion, ModelError>>;

    /// How many input tokens the request has, as the provider counts.
    fn count_tokens(&self, request: Request) -> BoxFuture<'static, Result<u64, ModelError>>;

    /// What is known of a model: the catalogue, refined by an earlier [`Model::refresh`].
    fn info(&self, id: &str) -> ModelInfo;

    /// Asks the provider about a model and remembers the answer. Never part of starting up.
    fn refresh(&self, id: String) -> BoxFuture<'static, Result<ModelInfo, ModelError>>;
}
