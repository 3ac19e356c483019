//! A session without a model: calls come from another program, and are carried out as those of a model would be.

use serde_json::Value;
use tiller_protocol::block::{RawBlock, ToolUse};
use tiller_protocol::command::Event;
use tiller_protocol::entry::CallResult;
use tiller_protocol::id::CallId;
use tokio::sync::{mpsc, oneshot};

use super::history::Audience;
use super::{Setup, Task};
use crate::executor::Order;
use crate::store::StoreError;

/// Calls that may wait.
const WAITING: usize = 64;

/// A session that carries out calls of another program, under the same rules, hooks and confinement as those of a model.
pub struct Workbench {
    orders: mpsc::Sender<(String, Value, oneshot::Sender<WorkDone>)>,
    ended: tokio::task::JoinHandle<()>,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct WorkDone {
    /// What the model would see.
    pub content: Vec<RawBlock>,
    /// Whether it failed, or was not permitted.
    pub is_error: bool,
}

impl Workbench {
    /// Opens it. Must be called inside a runtime.
    ///
    /// # Errors
    /// When its log cannot be written.
    pub fn open(setup: Setup) -> Result<Self, StoreError> {
        let (_commands, inbox) = mpsc::channel(1);
        let (sender, mut events) = mpsc::unbounded_channel();
        let (task, _) = Task::open(setup, inbox, sender, Audience::Nobody)?;
        let (orders, ordered) = mpsc::channel(WAITING);
        let ended = tokio::spawn(async move {
            let heard = async { while events.recv().await.is_some() {} };
            tokio::join!(task.work_off(ordered), heard);
        });
        Ok(Self { orders, ended })
    }

    /// Carries a call out. Nothing comes back if the bench is closed.
    pub async fn call(&self, tool: String, input: Value) -> Option<WorkDone> {
        let (done, waiting) = oneshot::channel();
        self.orders.send((tool, input, done)).await.ok()?;
        waiting.await.ok()
    }

    /// Ends everything that calls have started.
    pub async fn close(self) {
        let Self { orders, ended } = self;
        drop(orders);
        // A bench that broke has ended as well.
        let _ = ended.await;
    }
}

impl Task {
    /// Carries calls out, one after the other, until no more come.
    async fn work_off(mut self, mut orders: mpsc::Receiver<(String, Value, oneshot::Sender<WorkDone>)>) {
        self.inbox_open = false;
        self.journal.tell(Event::TurnStarted);
        while let Some((name, input, done)) = orders.recv().await {
            let outcome = self.carry_out(name, input).await;
            let outcome = outcome.unwrap_or_else(|error| WorkDone {
                content: vec![RawBlock::text(&error.to_string())],
                is_error: true,
            });
            // Whoever ordered it may have gone.
            let _ = done.send(outcome);
        }
        self.end().await;
    }

    async fn carry_out(&mut self, name: String, input: Value) -> Result<WorkDone, StoreError> {
        let call = ToolUse { id: CallId::from(self.fixed.env.fresh().to_string().as_str()), name, input };
        let model = self.lead.borrow().main_model.clone();
        let mut attempt = self.new_attempt(&model);
        attempt.kept = Some(Vec::new());
        attempt.executor.add(Order::new(&self.services, call, None));
        self.drain(&mut attempt).await?;
        let last = attempt.kept.and_then(|mut kept| kept.pop());
        Ok(last.map_or_else(
            || WorkDone { content: Vec::new(), is_error: true },
            |CallResult { content, is_error, .. }| WorkDone { content, is_error },
        ))
    }
}
