//! A stream that is driven by a future: the future runs only while the stream is polled and has nothing to give,
//! so that nothing is spawned, a slow reader slows the work down, and dropping the stream stops it at once.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use futures::stream::{BoxStream, Stream};
use tokio::sync::mpsc;

use crate::error::ModelError;
use crate::event::ModelEvent;

type Item = Result<ModelEvent, ModelError>;

/// Where the work puts what happens.
#[derive(Clone, Debug)]
pub(crate) struct Outbox(mpsc::UnboundedSender<Item>);

impl Outbox {
    /// Hands an event to the stream's reader.
    pub(crate) fn push(&self, event: ModelEvent) {
        // The reader owns the work, so it cannot be gone while the work runs.
        let _ = self.0.send(Ok(event));
    }
}

/// The stream of what `work` puts out, with its error, if any, at the end.
pub(crate) fn stream<F, W>(work: W) -> BoxStream<'static, Item>
where
    W: FnOnce(Outbox) -> F,
    F: Future<Output = Result<(), ModelError>> + Send + 'static,
{
    let (sender, items) = mpsc::unbounded_channel();
    let work = work(Outbox(sender.clone()));
    let work = async move {
        if let Err(error) = work.await {
            let _ = sender.send(Err(error));
        }
    };
    Box::pin(Driven { work: Some(Box::pin(work)), items })
}

struct Driven {
    work: Option<BoxFuture<'static, ()>>,
    items: mpsc::UnboundedReceiver<Item>,
}

impl Stream for Driven {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        if let Ok(item) = self.items.try_recv() {
            return Poll::Ready(Some(item));
        }
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        let ended = work.as_mut().poll(cx).is_ready();
        if ended {
            self.work = None;
        }
        match self.items.try_recv() {
            Ok(item) => Poll::Ready(Some(item)),
            Err(_) if ended => Poll::Ready(None),
            Err(_) => Poll::Pending,
        }
    }
}
