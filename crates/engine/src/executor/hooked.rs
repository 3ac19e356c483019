//! Hooks around one call: before it is judged, and after it has run.

use serde_json::Value;
use tiller_policy::{Context, Decision, Reason, Request, decide, vouch};
use tiller_protocol::block::{RawBlock, ToolUse};
use tiller_tools::View;
use tokio_util::sync::CancellationToken;

use super::call::{Aftermath, Line, News, Settled};
use crate::hook::{Moment, Occasion, Outcome, PermissionAnswer, PreDecision, Verdict};
use crate::services::Services;

/// How the names of tools from outside begin.
const MCP: &str = "mcp__";

/// Runs the hooks of one call.
pub(crate) struct Hooked<'a> {
    pub(crate) view: &'a View,
    pub(crate) services: &'a Services,
    pub(crate) line: &'a Line,
}

/// What hooks say before a call is judged.
#[derive(Default)]
pub(crate) struct Before {
    /// Whether it should run.
    pub(crate) decision: Option<PreDecision>,
    /// What it should run with instead.
    pub(crate) updated_input: Option<Value>,
    /// The hook that wants that.
    pub(crate) updated_by: Option<String>,
    /// Why the turn, and with it the call, should end.
    pub(crate) stopped: Option<String>,
}

impl Hooked<'_> {
    /// Hears the hooks that come first.
    pub(crate) async fn before(
        &self,
        call: &ToolUse,
        cancel: &CancellationToken,
        aftermath: &mut Aftermath,
    ) -> Before {
        let occasion = Occasion::PreToolUse { tool: &call.name, input: &call.input, call: &call.id };
        let mut outcome = self.run(occasion, cancel).await;
        let decision = outcome.decision.take();
        let (updated_input, updated_by) = (outcome.updated_input.take(), outcome.updated_by.take());
        let stopped = outcome.stopped.clone();
        self.take(outcome, aftermath);
        Before { decision, updated_input, updated_by, stopped }
    }

    /// Hears the hooks that come after a call has run. One may replace the output of a tool from outside.
    pub(crate) async fn after(
        &self,
        call: &ToolUse,
        settled: &mut Settled,
        cancel: &CancellationToken,
        aftermath: &mut Aftermath,
    ) {
        if settled.is_error {
            let error = settled.content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n");
            return self.failed(call, &error, false, cancel, aftermath).await;
        }
        let is_mcp = call.name.starts_with(MCP);
        let (tool, input, response) = (&call.name, &call.input, &settled.detail);
        let occasion = Occasion::PostToolUse { tool, input, call: &call.id, response, is_mcp };
        let mut outcome = self.run(occasion, cancel).await;
        if let Some(output) = outcome.updated_output.take().filter(|_| is_mcp) {
            let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            settled.content = vec![RawBlock::text(&text)];
            settled.detail = output;
        }
        self.take(outcome, aftermath);
    }

    /// Hears the hooks for a call that failed, was refused, or was stopped.
    pub(crate) async fn failed(
        &self,
        call: &ToolUse,
        error: &str,
        is_interrupt: bool,
        cancel: &CancellationToken,
        aftermath: &mut Aftermath,
    ) {
        let (tool, input) = (&call.name, &call.input);
        let occasion = Occasion::PostToolUseFailure { tool, input, call: &call.id, error, is_interrupt };
        let outcome = self.run(occasion, cancel).await;
        self.take(outcome, aftermath);
    }

    /// Hears the hooks that may answer in the user's place.
    pub(crate) async fn asked(
        &self,
        call: &ToolUse,
        suggestions: &Value,
        cancel: &CancellationToken,
    ) -> Option<PermissionAnswer> {
        let (tool, input) = (&call.name, &call.input);
        let mut outcome = self.run(Occasion::PermissionRequest { tool, input, suggestions }, cancel).await;
        let answer = outcome.answer.take();
        let end = outcome.stopped.take().map(|message| PermissionAnswer::Deny { message, interrupt: true });
        self.line.tell(News::Hooks(Box::new(outcome)));
        end.or(answer)
    }

    async fn run(&self, occasion: Occasion<'_>, cancel: &CancellationToken) -> Outcome {
        let mode = self.services.policy.now().mode;
        let moment = Moment { cwd: self.view.cwd.clone(), mode, agent: self.services.agent.clone() };
        self.services.hooks.run(occasion, &moment, cancel).await
    }

    /// Keeps what belongs behind the result, and tells the session the rest.
    fn take(&self, mut outcome: Outcome, aftermath: &mut Aftermath) {
        aftermath.attachments.append(&mut outcome.attachments);
        aftermath.stop = aftermath.stop.take().or(outcome.stopped.take());
        if !outcome.runs.is_empty() || !outcome.notices.is_empty() {
            self.line.tell(News::Hooks(Box::new(outcome)));
        }
    }
}

/// What policy says of a call, with what hooks say of it. A hook can forbid anything, insist on a question, or spare
/// one; it cannot loosen what a rule or plan mode forbids.
pub(crate) fn judged(request: &Request, policy: &Context, hook: Option<&PreDecision>) -> Decision {
    let Some(PreDecision { verdict, reason, hook_name }) = hook else { return decide(request, policy) };
    let by_hook = Reason::Hook { name: hook_name.clone(), reason: reason.clone() };
    match verdict {
        Verdict::Deny => Decision::Deny(by_hook),
        Verdict::Allow => vouch(request, policy, by_hook),
        Verdict::Ask => match decide(request, policy) {
            Decision::Allow(..) if policy.never_asks() => Decision::Deny(by_hook),
            Decision::Allow(..) => Decision::Ask(by_hook),
            settled => settled,
        },
    }
}
