//! All answers to one case, put together in configuration order.

use serde_json::Value;
use tiller_config::{HookEvent, OnFailure};
use tiller_protocol::entry::Level;

use super::attachment::{Speaker, short};
use super::case::Case;
use super::outcome::{HookRun, Outcome, PermissionAnswer, PreDecision, Verdict};
use super::output::{Ended, Said, interpret};

/// A hook that has come to its end.
pub(super) struct Finished {
    /// Its record, without its conclusion.
    pub(super) run: HookRun,
    pub(super) ended: Ended,
    pub(super) on_failure: OnFailure,
}

/// Puts together what hooks say at a case. The result does not depend on who finished first.
pub(super) fn combine(case: &Case, finished: Vec<Finished>) -> Outcome {
    let mut outcome = Outcome::default();
    for finished in finished {
        let run = outcome.take(case, finished);
        outcome.runs.push(run);
    }
    outcome
}

impl Outcome {
    /// Adds what one hook says; gives its final record.
    pub(super) fn take(&mut self, case: &Case, finished: Finished) -> HookRun {
        let Finished { mut run, ended, on_failure } = finished;
        let (conclusion, said) = interpret(ended, case, on_failure);
        run.suppressed = said.suppressed;
        run.conclusion = conclusion;
        self.add(said, &run, case);
        run
    }

    fn add(&mut self, said: Said, run: &HookRun, case: &Case) {
        let about = case.call_in_words();
        let from = Speaker {
            about: about.as_deref(),
            event: run.event,
            hook_name: &run.hook_name,
            source: &run.source,
            call: case.call.as_ref(),
        };
        if let Some(text) = said.block {
            // A discarded prompt reaches nobody, and neither does what was said of it.
            if case.event != HookEvent::UserPromptSubmit {
                self.attachments.push(from.blocking_error(&text));
            }
            join(&mut self.blocked, text);
        }
        match said.text {
            Some(text) if case.event == HookEvent::PreCompact => self.instructions.push(text),
            Some(text) => self.attachments.push(from.success(&text)),
            None => {}
        }
        self.attachments.extend(said.context.iter().map(|text| from.additional_context(text)));
        if let Some(reason) = said.stop {
            self.attachments.push(from.stopped_continuation(&reason));
            join(&mut self.stopped, reason);
        }
        if let Some((verdict, reason)) = said.decision {
            self.decide(verdict, reason, &run.hook_name);
        }
        if let Some(answer) = said.answer {
            self.answer = Some(merge(self.answer.take(), answer));
        }
        if said.updated_input.is_some() {
            (self.updated_input, self.updated_by) = (said.updated_input, Some(run.hook_name.clone()));
        }
        self.updated_output = said.updated_output.or(self.updated_output.take());
        self.updated_prompt = said.updated_prompt.or(self.updated_prompt.take());
        self.notices.extend(said.notices.into_iter().map(|(level, text)| notice(run, level, &text)));
    }

    fn decide(&mut self, verdict: Verdict, reason: String, hook_name: &str) {
        match &mut self.decision {
            Some(before) if before.verdict > verdict => {}
            Some(before) if before.verdict == verdict => {
                before.reason = format!("{}\n{reason}", before.reason);
            }
            decision => *decision = Some(PreDecision { verdict, reason, hook_name: hook_name.to_owned() }),
        }
    }
}

/// What the user is told of a hook.
pub(super) fn notice(run: &HookRun, level: Level, text: &str) -> (Level, String) {
    (level, format!("{} hook `{}` ({}): {text}", run.event.name(), short(&run.hook_name), run.source))
}

/// A denial goes before an allowance; allowances add up, and the last input counts.
fn merge(before: Option<PermissionAnswer>, answer: PermissionAnswer) -> PermissionAnswer {
    use PermissionAnswer::{Allow, Deny};
    match (before, answer) {
        (None, answer) | (Some(Allow { .. }), answer @ Deny { .. }) => answer,
        (Some(denial @ Deny { .. }), Allow { .. }) => denial,
        (Some(Deny { message, interrupt }), Deny { message: more, interrupt: also }) => {
            Deny { message: format!("{message}\n{more}"), interrupt: interrupt || also }
        }
        (
            Some(Allow { updated_input, mut updated_permissions }),
            Allow { updated_input: later, updated_permissions: more },
        ) => {
            updated_permissions.extend(more);
            Allow { updated_input: later.or(updated_input), updated_permissions }
        }
    }
}

fn join(all: &mut Option<String>, text: String) {
    *all = Some(match all.take() {
        None => text,
        Some(before) => format!("{before}\n{text}"),
    });
}

/// What an outcome means for the session, in words.
pub(super) fn meaning(outcome: &Outcome) -> Vec<String> {
    let mut says = Vec::new();
    let json = |value: &Value| value.to_string();
    if let Some(PreDecision { verdict, reason, .. }) = &outcome.decision {
        says.push(match verdict {
            Verdict::Allow => format!("allows the call without a question: {reason}"),
            Verdict::Ask => format!("makes Tiller ask the user: {reason}"),
            Verdict::Deny => format!("denies the call: {reason}"),
        });
    }
    match &outcome.answer {
        Some(PermissionAnswer::Allow { .. }) => says.push("allows in place of the user".to_owned()),
        Some(PermissionAnswer::Deny { message, .. }) => {
            says.push(format!("refuses in place of the user: {message}"));
        }
        None => {}
    }
    says.extend(outcome.blocked.iter().map(|text| format!("blocks: {text}")));
    says.extend(outcome.stopped.iter().map(|text| format!("ends the turn: {text}")));
    says.extend(outcome.updated_input.iter().map(|input| format!("replaces the input: {}", json(input))));
    says.extend(outcome.updated_output.iter().map(|output| format!("replaces the output: {}", json(output))));
    says.extend(outcome.updated_prompt.iter().map(|prompt| format!("replaces the prompt: {prompt}")));
    says.extend(
        outcome.instructions.iter().map(|text| format!("adds to the summary's instructions: {text}")),
    );
    let context = outcome.attachments.iter().filter(|attachment| {
        matches!(attachment.kind(), "hook_success" | "hook_additional_context" | "async_hook_response")
    });
    says.extend(context.map(|attachment| format!("tells the model ({})", attachment.kind())));
    says.extend(outcome.notices.iter().map(|(_, text)| format!("tells the user: {text}")));
    says
}
