//! Answers that count no more.

use std::pin::pin;

use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, Cause, Orphaned};
use tiller_protocol::id::CallId;
use tiller_protocol::usage::StopReason;

use super::Task;
use super::sample::Attempt;
use crate::executor::{Discarded, News, STOP_GRACE, Stop, synthetic};
use crate::store::StoreError;
use crate::telemetry::Telemetry;

impl Task {
    /// The provider gave up in the middle of an answer. Its calls stop at once; who answers instead, and therefore what is
    /// said of them, turns out later.
    pub(super) async fn give_up(&mut self, attempt: &mut Attempt) -> Result<(), StoreError> {
        self.stop_calls(attempt).await?;
        attempt.is_given_up = true;
        Ok(())
    }

    /// An answer that was given up, and in whose place no other model answers.
    pub(super) async fn void_if_given_up(&mut self, attempt: &mut Attempt) -> Result<(), StoreError> {
        if attempt.is_given_up {
            self.void(attempt, Cause::StreamingFallback).await?;
        }
        Ok(())
    }

    /// The answer so far is void: its calls are answered for the display, and none of it is ever sent. What they have
    /// changed in the conversation is what it was.
    pub(super) async fn void(&mut self, attempt: &mut Attempt, cause: Cause) -> Result<(), StoreError> {
        self.stop_calls(attempt).await?;
        attempt.is_given_up = false;
        self.count_unfinished(attempt, "abandoned")?;
        let stop = Stop::new(cause);
        for (call, open) in self.journal.state.open_calls.clone() {
            if attempt.entries.contains(&open.entry) {
                let result = self.append(Body::Result(synthetic(&call, &open.tool, &stop)))?;
                attempt.entries.push(result.id);
            }
        }
        let ids = std::mem::take(&mut attempt.entries);
        attempt.blocks = 0;
        attempt.message_id = None;
        attempt.is_overly_agreeable = false;
        if !ids.is_empty() {
            let name = serde_json::to_value(cause).ok();
            let name = name.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
            self.measure(&Telemetry::OrphanedMessages { count: ids.len(), cause: name });
            self.end_void_grants(&ids);
            self.turn.form = attempt.form_before;
            let todos = self.journal.state.todos.clone();
            self.append(Body::Orphaned(Orphaned { ids, cause }))?;
            if self.journal.state.todos != todos {
                self.copy_todos();
            }
        }
        Ok(())
    }

    /// Ends what an answer has begun: its calls, and the block that was being written.
    async fn stop_calls(&mut self, attempt: &mut Attempt) -> Result<(), StoreError> {
        attempt.waiting.clear();
        attempt.held = None;
        attempt.partial.clear();
        let executor = self.new_executor();
        let mut discarded = std::mem::replace(&mut attempt.executor, executor).discard();
        for call in discarded.running.drain(..) {
            self.journal.tell(Event::CallStopped(call));
        }
        self.outwait(&mut discarded).await?;
        self.withdraw_asks(tokio::sync::oneshot::Sender::is_closed);
        for (call, news) in discarded.unheard() {
            self.keep_account(&call, news)?;
        }
        Ok(())
    }

    /// Waits for calls of an answer that is void: the next one may change what they are still changing. Commands are heard
    /// meanwhile, and where the user stops the turn there is no next answer.
    async fn outwait(&mut self, discarded: &mut Discarded) -> Result<(), StoreError> {
        let token = self.turn.token.clone();
        let mut ended = pin!(tokio::time::timeout(STOP_GRACE, discarded.ended()));
        loop {
            tokio::select! {
                biased;
                ended = &mut ended => {
                    if ended.is_err() {
                        tracing::warn!("a call of an abandoned answer did not stop in time");
                    }
                    return Ok(());
                }
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                () = token.cancelled() => return Ok(()),
            }
        }
    }

    /// What was read and written of an answer that did not come to its end has to be paid for as well.
    pub(super) fn count_unfinished(&mut self, attempt: &Attempt, why: &str) -> Result<(), StoreError> {
        if attempt.finished.is_none() && attempt.message_id.is_some() {
            let response = self.response(attempt, StopReason::Other(why.to_owned()), 0);
            self.append(Body::Response(response))?;
        }
        Ok(())
    }

    /// What has happened has happened, also on behalf of an answer that is void.
    fn keep_account(&mut self, call: &CallId, news: News) -> Result<(), StoreError> {
        match news {
            News::Hooks(outcome) => self.record_hooks(&outcome, Some(call)),
            News::Spent(bill) => self.count(bill),
            News::Notice(notice) => self.append(Body::Notice(notice)).map(drop),
            _ => Ok(()),
        }
    }
}
