//! What one hook says, in the words of its event.

use serde_json::Value;
use tiller_config::{HookEvent, OnFailure};
use tiller_protocol::entry::Level;

use super::case::Case;
use super::document::{Decision, Document, Permission, Specific, Texts};
use super::outcome::{Conclusion, PermissionAnswer, Verdict};

/// What is said where a hook gives no reason.
const NO_REASON: &str = "no reason was given";

/// How a hook ended, before anybody has thought about it.
#[derive(Debug)]
pub(super) enum Ended {
    /// The command exited with 0 and printed this.
    Printed(Printed),
    /// The command exited with 2, or the model said no.
    Objected(String),
    /// The host answered, or the model had nothing against it.
    Answered(Value),
    /// It could not do its work.
    Failed(String),
    /// It took too long.
    TimedOut,
    /// It was called off.
    Cancelled,
    /// It goes on by itself.
    RunsOn,
    /// It goes on at the host.
    HandedOver,
}

/// Standard output of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Printed {
    pub(super) text: String,
    /// Whether something in the middle was left out.
    pub(super) is_cut: bool,
}

/// What one hook says.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) decision: Option<(Verdict, String)>,
    pub(super) block: Option<String>,
    pub(super) stop: Option<String>,
    pub(super) context: Vec<String>,
    /// Plain text, where it means something.
    pub(super) text: Option<String>,
    pub(super) updated_input: Option<Value>,
    pub(super) updated_output: Option<Value>,
    pub(super) updated_prompt: Option<String>,
    pub(super) answer: Option<PermissionAnswer>,
    pub(super) suppressed: bool,
    /// For the user.
    pub(super) notices: Vec<(Level, String)>,
}

/// Finds out what a hook says at a case, and how it went.
pub(super) fn interpret(ended: Ended, case: &Case, on_failure: OnFailure) -> (Conclusion, Said) {
    let mut said = Said::default();
    let told = match ended {
        Ended::Printed(printed) => said.take_printed(&printed, case, on_failure),
        Ended::Answered(value) => said.take_document(value, case),
        Ended::Objected(text) => said.object(case.event, text),
        Ended::Failed(why) => Err(why),
        Ended::TimedOut => {
            said.fail(case.event, "it took too long and was ended", on_failure);
            return (Conclusion::TimedOut, said);
        }
        Ended::Cancelled => return (Conclusion::Cancelled, said),
        Ended::RunsOn => return (Conclusion::RunsOn, said),
        Ended::HandedOver => return (Conclusion::HandedOver, said),
    };
    match told {
        Err(why) => {
            let mut said = Said::default();
            said.fail(case.event, &why, on_failure);
            (Conclusion::Failed(why), said)
        }
        Ok(()) if said.blocks() => (Conclusion::Blocked, said),
        Ok(()) => (Conclusion::Success, said),
    }
}

impl Said {
    fn blocks(&self) -> bool {
        self.block.is_some()
            || matches!(self.decision, Some((Verdict::Deny, _)))
            || matches!(self.answer, Some(PermissionAnswer::Deny { .. }))
    }

    fn take_printed(&mut self, printed: &Printed, case: &Case, on_failure: OnFailure) -> Result<(), String> {
        if !printed.text.trim_start().starts_with('{') {
            self.take_text(&printed.text, case.event);
            return Ok(());
        }
        if printed.is_cut {
            return Err("it printed more JSON than is read".to_owned());
        }
        match serde_json::from_str(&printed.text) {
            Ok(value) => self.take_document(value, case),
            Err(error) => {
                let why = format!("it printed what looks like JSON but is not: {error}");
                if on_failure == OnFailure::Block {
                    return Err(why);
                }
                tracing::warn!(event = case.event.name(), "a hook's output is taken as plain text: {error}");
                self.notices.push((Level::Warning, format!("{why}; it is taken as plain text")));
                self.take_text(&printed.text, case.event);
                Ok(())
            }
        }
    }

    fn take_text(&mut self, text: &str, event: HookEvent) {
        let means_something =
            matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::PreCompact);
        self.text = Some(text.trim().to_owned()).filter(|text| means_something && !text.is_empty());
    }

    fn take_document(&mut self, value: Value, case: &Case) -> Result<(), String> {
        let unusable = |why| format!("its output is not usable: {why}");
        if !value.is_object() {
            return Err(unusable("it is not an object".to_owned()));
        }
        let document = Document::read(value, case.event).map_err(unusable)?;
        let unknown = document.unknown_fields();
        if !unknown.is_empty() {
            let told = format!("its {} is not known in this place and has no effect", unknown.join(", "));
            self.notices.push((Level::Warning, told));
        }
        self.suppressed = document.suppress_output == Some(true);
        self.notices.extend(document.system_message.map(|message| (Level::Info, message)));
        if document.goes_on == Some(false) {
            let reason = document.stop_reason.clone().unwrap_or_else(|| NO_REASON.to_owned());
            match can_stop(case.event) {
                true => self.stop = Some(reason),
                false => self.has_no_effect("continue", case.event),
            }
        }
        if document.additional_context.is_some() {
            self.has_no_effect("additionalContext outside of hookSpecificOutput", case.event);
        }
        self.take_specific(document.hook_specific_output.unwrap_or_default(), case);
        match document.decision {
            Some(Decision::Block) if can_block(case.event) => {
                self.object(case.event, document.reason.unwrap_or_default())?;
            }
            Some(Decision::Approve) if case.event == HookEvent::PreToolUse => {
                self.decide(Verdict::Allow, document.reason);
            }
            Some(Decision::Block) => self.has_no_effect("decision", case.event),
            Some(Decision::Approve) | None => {}
        }
        Ok(())
    }

    fn take_specific(&mut self, own: Specific, case: &Case) {
        let event = case.event;
        let before_call = event == HookEvent::PreToolUse;
        if let Some(choice) = self.allowed("permissionDecision", own.permission_decision, event, before_call)
        {
            self.decide(choice.into(), own.permission_decision_reason);
        }
        let input = self.allowed("updatedInput", own.updated_input, event, before_call);
        self.updated_input = input.map(Value::Object);
        let texts = own.additional_context.map(Texts::said).filter(|texts| !texts.is_empty());
        self.context =
            self.allowed("additionalContext", texts, event, takes_context(event)).unwrap_or_default();
        let is_mcp_result = event == HookEvent::PostToolUse && case.is_mcp;
        self.updated_output =
            self.allowed("updatedMCPToolOutput", own.updated_mcp_tool_output, event, is_mcp_result);
        let is_prompt = event == HookEvent::UserPromptSubmit;
        self.updated_prompt = self.allowed("updatedPrompt", own.updated_prompt, event, is_prompt);
        let is_question = event == HookEvent::PermissionRequest;
        self.answer = self.allowed("decision", own.decision, event, is_question).map(answer);
    }

    /// A field's value where it counts; elsewhere the author of the hook should know that it does not.
    fn allowed<T>(&mut self, field: &str, value: Option<T>, event: HookEvent, counts: bool) -> Option<T> {
        if value.is_some() && !counts {
            self.has_no_effect(field, event);
            return None;
        }
        value
    }

    fn has_no_effect(&mut self, field: &str, event: HookEvent) {
        self.notices.push((Level::Warning, format!("its {field} has no effect at this {}", event.name())));
    }

    /// Several decisions in one answer: the strictest counts.
    fn decide(&mut self, verdict: Verdict, reason: Option<String>) {
        if self.decision.as_ref().is_none_or(|(before, _)| *before <= verdict) {
            self.decision = Some((verdict, given(reason)));
        }
    }

    /// The hook says no. Where nothing can be stopped, that is a mistake of its author.
    fn object(&mut self, event: HookEvent, text: String) -> Result<(), String> {
        let text = given(Some(text));
        match event {
            HookEvent::PreToolUse => self.decide(Verdict::Deny, Some(text)),
            HookEvent::PermissionRequest => {
                self.answer = Some(PermissionAnswer::Deny { message: text, interrupt: false });
            }
            _ if can_block(event) => self.block = Some(text),
            _ => return Err(format!("it objects, but nothing can be stopped at {}: {text}", event.name())),
        }
        Ok(())
    }

    fn fail(&mut self, event: HookEvent, why: &str, on_failure: OnFailure) {
        let blocks = on_failure == OnFailure::Block
            && self.object(event, format!("A hook that must not fail has failed: {why}")).is_ok();
        let (level, consequence) =
            if blocks { (Level::Error, "blocks") } else { (Level::Warning, "is ignored") };
        self.notices.push((level, format!("failed and {consequence}: {why}")));
    }
}

fn answer(permission: Permission) -> PermissionAnswer {
    match permission {
        Permission::Allow { updated_input, updated_permissions } => PermissionAnswer::Allow {
            updated_input: updated_input.map(Value::Object),
            updated_permissions: updated_permissions.unwrap_or_default(),
        },
        Permission::Deny { message, interrupt } => {
            PermissionAnswer::Deny { message: given(message), interrupt: interrupt.unwrap_or_default() }
        }
    }
}

fn given(reason: Option<String>) -> String {
    reason
        .filter(|text| !text.trim().is_empty())
        .map_or_else(|| NO_REASON.to_owned(), |text| text.trim().to_owned())
}

/// The events at which a hook can say no.
pub(super) fn can_block(event: HookEvent) -> bool {
    matches!(
        event,
        HookEvent::PreToolUse
            | HookEvent::PermissionRequest
            | HookEvent::PostToolUse
            | HookEvent::UserPromptSubmit
            | HookEvent::Stop
            | HookEvent::SubagentStop
    )
}

/// The events at which there is a turn that can be stopped.
fn can_stop(event: HookEvent) -> bool {
    !matches!(event, HookEvent::SessionEnd | HookEvent::Notification)
}

/// The events at which a hook can add to the conversation.
fn takes_context(event: HookEvent) -> bool {
    matches!(
        event,
        HookEvent::SessionStart
            | HookEvent::UserPromptSubmit
            | HookEvent::PostToolUse
            | HookEvent::PostToolUseFailure
            | HookEvent::SubagentStart
    )
}
