//! Running calls to their results, and reporting these in order.

use std::path::{Path, PathBuf};

use tiller_protocol::ask::Answer;
use tiller_protocol::command::Event;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Cause};
use tiller_protocol::id::{AskId, CallId};
use tiller_tools::View;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::sample::{Attempt, cause_of};
use super::{Aside, Role, Task};
use crate::executor::{News, Order, Report, STOP_GRACE, Stop};
use crate::next::Abort;
use crate::store::StoreError;

impl Task {
    /// Reports what is finished and starts what may start. Results come first: the changes of a batch have to hold for
    /// the call behind it.
    pub(super) async fn advance(&mut self, attempt: &mut Attempt) -> Result<(), StoreError> {
        self.report(attempt)?;
        self.start_ready(attempt).await?;
        self.report(attempt)
    }

    /// Starts what may start.
    async fn start_ready(&mut self, attempt: &mut Attempt) -> Result<(), StoreError> {
        for order in attempt.executor.ready() {
            let order = self.announced(attempt, order).await?;
            self.journal.tell(Event::CallStarted(order.call.id.clone()));
            attempt.executor.spawn(order, self.view(), &self.services);
        }
        Ok(())
    }

    /// A call that changes something is on disk before it runs. Where what it may change is kept first, one wait for the
    /// disk does for both, later.
    pub(super) async fn announced(&mut self, attempt: &Attempt, order: Order) -> Result<Order, StoreError> {
        let changes = attempt.executor.changes_something(&order.call.id);
        if changes {
            self.record_kept_beside().await?;
        }
        if !changes || order.is_kept_for(&self.services, &self.view()) {
            return Ok(order);
        }
        self.journal.sync().await?;
        Ok(Order { is_announced: true, ..order })
    }

    /// Appends the results that may be reported, then the changes of a batch that is over.
    fn report(&mut self, attempt: &mut Attempt) -> Result<(), StoreError> {
        for Report { result, attachments } in attempt.executor.take_reports() {
            let call = result.call.clone();
            if !result.is_error && attempt.executor.changes_something(&call) {
                self.tell_servers(&result.effects);
            }
            let entry = self.append(Body::Result(result.clone()))?;
            if let Some(kept) = &mut attempt.kept {
                kept.push(result.clone());
            }
            self.keep_written_plan(&result)?;
            attempt.entries.push(entry.id);
            for attachment in attachments {
                if !self.pipeline.mutes(attachment.kind()) {
                    let entry = self.append(Body::Attachment(attachment))?;
                    attempt.entries.push(entry.id);
                }
            }
            self.journal.tell(Event::CallStopped(call));
        }
        for effect in attempt.executor.take_batch_effects() {
            let entry = self.append(Body::Effect(effect))?;
            attempt.entries.push(entry.id);
        }
        Ok(())
    }

    /// Waits until every call is reported. Told to stop, calls have a moment to do so.
    pub(super) async fn drain(&mut self, attempt: &mut Attempt) -> Result<(), StoreError> {
        let mut deadline = None;
        loop {
            self.advance(attempt).await?;
            if attempt.executor.is_drained() {
                return Ok(());
            }
            if attempt.executor.is_cancelled() {
                deadline.get_or_insert_with(|| Instant::now() + STOP_GRACE);
            }
            let token = self.turn.token.clone();
            tokio::select! {
                biased;
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                news = attempt.executor.next_news() => {
                    if let Some((call, news)) = news {
                        self.on_news(attempt, &call, news).await?;
                    }
                }
                () = token.cancelled(), if !attempt.executor.is_cancelled() => {
                    attempt.executor.cancel(Stop::new(cause_of(self.turn.abort.unwrap_or(Abort::Interrupted))));
                }
                () = sleep_until(deadline), if deadline.is_some() => attempt.executor.give_up(),
            }
        }
    }

    pub(super) async fn on_news(
        &mut self,
        attempt: &mut Attempt,
        call: &CallId,
        news: News,
    ) -> Result<(), StoreError> {
        match news {
            News::Progress(data) => self.journal.tell(Event::Progress { call: call.clone(), data }),
            News::Decided(record) => {
                self.append(Body::Decision(record))?;
            }
            News::Spent(bill) => self.count(bill)?,
            News::Ask(ask, answer) => self.put(ask, answer),
            News::Permit(updates, done) => {
                self.permit_for_hook(updates)?;
                // Whoever does not wait has no need to know.
                done.map(|done| done.send(()));
            }
            News::Plan(answer, done) => self.on_plan_answer(*answer, done)?,
            News::Hooks(outcome) => self.record_hooks(&outcome, Some(call))?,
            News::Ready(kept, done) => {
                if let Some(kept) = kept {
                    self.turn.has_kept |= matches!(kept, Effect::Snapshot { .. });
                    self.append(Body::Effect(kept))?;
                }
                // One wait for the call, the decision about it and what it may change.
                self.journal.sync().await?;
                // The call may have been given up meanwhile.
                let _ = done.send(());
            }
            News::Notice(notice) => {
                self.append(Body::Notice(notice))?;
            }
            News::EndTurn => self.reject(attempt),
            News::Finished(ended) => {
                if attempt.executor.finish(call, ended) {
                    self.reject(attempt);
                }
                self.withdraw_asks(oneshot::Sender::is_closed);
            }
        }
        Ok(())
    }

    /// Ends the turn because the user has refused something.
    fn reject(&mut self, attempt: &mut Attempt) {
        self.turn.stop(Abort::ToolRejection);
        attempt.executor.cancel(Stop::new(Cause::ToolRejection));
    }

    /// Takes back questions that need no answer any more.
    pub(super) fn withdraw_asks(&mut self, is_dead: impl Fn(&oneshot::Sender<Answer>) -> bool) {
        if let Role::Sub = self.role {
            // The session may be over; then nobody shows them any more.
            let _ = self.services.asides.send(Aside::Withdraw);
            return;
        }
        let dead: Vec<AskId> =
            self.asks.iter().filter(|(_, waiting)| is_dead(waiting)).map(|(id, _)| *id).collect();
        for id in dead {
            self.asks.remove(&id);
            self.journal.tell(Event::Resolved(id));
        }
    }

    pub(super) fn view(&self) -> View {
        let (state, policy) = (&self.journal.state, self.services.policy.now());
        View {
            cwd: nearest_existing(&state.cwd),
            home: self.fixed.env.home.clone(),
            roots: policy.roots.clone(),
            files: std::sync::Arc::clone(&state.files),
            todos: state.todos.clone(),
            mode: policy.mode,
            plan_file: policy.plan_file.clone(),
            sub_agent: self.services.agent.is_some(),
            spill_dir: self.paths.spill_dir(),
            typed: self.services.shells.typed(),
            secrets: std::sync::Arc::clone(&self.services.secrets),
        }
    }
}

/// A directory may be gone by the time the next call starts in it.
fn nearest_existing(dir: &Path) -> PathBuf {
    dir.ancestors().find(|ancestor| ancestor.is_dir()).unwrap_or(dir).to_owned()
}

pub(super) async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
