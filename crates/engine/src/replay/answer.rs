//! Calls that end as they did when they were recorded.

use std::sync::Arc;
use std::time::Duration;

use tiller_protocol::block::ToolUse;
use tiller_protocol::entry::{Body, CallResult, Cause, DecisionRecord, Outcome};
use tiller_protocol::id::CallId;
use tiller_tools::View;
use tokio_util::sync::CancellationToken;

use super::tape::{LATE_HOOK, Reading, Tape};
use crate::executor::{Aftermath, Ended, HandedOver, Line, News, Order, Settled, Verdict};
use crate::services::Services;

/// How long a call waits for others that ended before it. Longer, and they will not.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a call ended.
enum End {
    /// With this.
    Verdict(Box<Verdict>),
    /// It was stopped; the user did it, or something else did.
    Stopped { by_user: bool },
}

impl Tape {
    /// Ends a call as it did.
    pub(crate) async fn answer(
        self: Arc<Self>,
        order: Order,
        view: View,
        services: Services,
        line: Line,
        cancel: CancellationToken,
    ) {
        let call = order.call;
        let recorded = self.reading().result(&call.id);
        let Some(result) = recorded else {
            // The process ended first.
            self.interrupt();
            cancel.cancelled().await;
            return finish(&line, Verdict::Cancelled, Aftermath::default());
        };
        if result.cause == Cause::Call {
            self.run_live(&call, &result, view, services, &cancel).await;
        }
        let end = self.reading().end_of_call(&call, &result);
        self.let_others_end(&call.id).await;
        let verdict = match end {
            End::Verdict(verdict) => *verdict,
            End::Stopped { by_user } => {
                if by_user {
                    self.interrupt();
                }
                cancel.cancelled().await;
                Verdict::Cancelled
            }
        };
        let aftermath = self.reading().aftermath(&call.id);
        finish(&line, verdict, aftermath);
        self.reading().ended.insert(call.id);
        self.ended.notify_waiters();
    }

    /// Waits for the calls of the same answer that were done before this one: results stand in the order in which calls
    /// were done, and one that fails stops others.
    async fn let_others_end(&self, call: &CallId) {
        let all_ended = async {
            loop {
                let ended = self.ended.notified();
                if self.reading().others_have_ended(call) {
                    return;
                }
                ended.await;
            }
        };
        if tokio::time::timeout(PATIENCE, all_ended).await.is_err() {
            tracing::debug!(%call, "other calls of the answer did not come to their end");
        }
    }

    async fn run_live(
        &self,
        call: &ToolUse,
        recorded: &CallResult,
        view: View,
        services: Services,
        cancel: &CancellationToken,
    ) {
        let Some(live) = &self.live else { return };
        if !live.covers(&view.cwd) {
            let cwd = view.cwd.display();
            return self.pass_over(&format!("calls in {cwd}, of which there is no copy, were not run again"));
        }
        let Some(settled) = live.run(call, view, services, cancel.clone()).await else { return };
        let mut reading = self.reading();
        reading.count_call();
        let texts = |blocks: &[tiller_protocol::block::RawBlock]| {
            blocks.iter().map(|block| block.as_text().unwrap_or_default()).collect::<Vec<_>>().join("\n")
        };
        let (before, now) = (texts(&recorded.content), live.as_recorded(&texts(&settled.content)));
        if before != now {
            reading.differs(format!("result of {} ({})", call.id, call.name), &before, &now);
        }
    }
}

fn finish(line: &Line, verdict: Verdict, aftermath: Aftermath) {
    line.tell(News::Finished(Ended { verdict, aftermath }));
}

impl Reading {
    fn result(&self, call: &CallId) -> Option<CallResult> {
        match &self.entries[self.index.result(call)?].body {
            Body::Result(result) => Some(result.clone()),
            _ => None,
        }
    }

    fn end_of_call(&self, call: &ToolUse, result: &CallResult) -> End {
        if result.cause != Cause::Call {
            return End::Stopped { by_user: result.cause == Cause::Interrupted };
        }
        let verdict = match self.outcome().filter(|_| self.index.is_of_last_answer(&call.id)) {
            Some(Outcome::PlanHandedOver { plan, path })
                if !result.is_error && call.name == "ExitPlanMode" =>
            {
                Verdict::HandedOver(Box::new(HandedOver { plan: plan.clone(), path: path.clone() }))
            }
            Some(Outcome::ToolRejected) if self.rejected().as_ref() == Some(&call.id) => {
                Verdict::Rejected(result.text())
            }
            _ => Verdict::Settled(Box::new(Settled {
                content: result.content.clone(),
                is_error: result.is_error,
                detail: result.detail.clone(),
                effects: result.effects.clone(),
            })),
        };
        End::Verdict(Box::new(verdict))
    }

    /// The call whose refusal ended the turn: the last one that was refused, or else the last one that failed.
    fn rejected(&self) -> Option<CallId> {
        let denied = self.entries.iter().rev().find_map(|entry| match &entry.body {
            Body::Decision(DecisionRecord { call, behavior, .. }) if behavior == "deny" => Some(call.clone()),
            _ => None,
        });
        denied.or_else(|| {
            self.entries.iter().rev().find_map(|entry| match &entry.body {
                Body::Result(result) if result.is_error && result.cause == Cause::Call => {
                    Some(result.call.clone())
                }
                _ => None,
            })
        })
    }

    /// Whether those calls have ended that had a result of their own before this one had one, or was stopped.
    fn others_have_ended(&self, call: &CallId) -> bool {
        let place = |id: &CallId| {
            let at = self.index.result(id)?;
            matches!(&self.entries[at].body, Body::Result(result) if result.cause == Cause::Call)
                .then_some(at)
        };
        let own = place(call).unwrap_or(self.entries.len());
        let others = self.index.siblings(call).iter().filter(|id| *id != call);
        let mut before = others.filter(|id| place(id).is_some_and(|place| place < own));
        before.all(|id| self.ended.contains(id))
    }

    /// What hooks left behind the result.
    fn aftermath(&mut self, call: &CallId) -> Aftermath {
        let is_of_call = |at: &usize| match &self.entries[*at].body {
            Body::Attachment(one) => one.kind() != LATE_HOOK && one.attachment["toolUseID"] == call.as_str(),
            _ => false,
        };
        let attachments = self.remaining.before(self.horizon()).filter(is_of_call).collect();
        let attachments = self.take_attachments(attachments);
        let stop = match self.outcome() {
            Some(Outcome::HookStopped { message }) if self.index.is_of_last_answer(call) => {
                Some(message.clone())
            }
            _ => None,
        };
        Aftermath { attachments, stop }
    }
}
