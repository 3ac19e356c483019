//! May this call run? Policy decides, or the user is asked.

use std::sync::Arc;

use serde_json::Value;
use tiller_policy::{Context, Decision, Permit, Reason, Request, approve};
use tiller_protocol::ask::{Answer, Ask, PermissionAsk, Then};
use tiller_protocol::block::ToolUse;
use tiller_protocol::entry::DecisionRecord;
use tiller_tools::{Input, PreparedCall, View};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::call::{Line, News, Verdict};
use super::hooked::judged;
use crate::hook::PreDecision;
use crate::services::Services;

/// Seeks permission for one call.
pub(crate) struct Permission<'a> {
    pub(crate) call: &'a ToolUse,
    pub(crate) view: &'a View,
    pub(crate) services: &'a Services,
    pub(crate) line: &'a Line,
    /// What hooks say of the call.
    pub(crate) hook: Option<PreDecision>,
}

/// A call and what it may do.
pub(crate) type Permitted = (Box<dyn PreparedCall>, Permit);

impl Permission<'_> {
    /// Decides, asking the user if need be.
    pub(crate) async fn seek(
        &self,
        prepared: Box<dyn PreparedCall>,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let request = self.request(prepared.as_ref());
        match judged(&request, &self.policy(), self.hook.as_ref()) {
            Decision::Allow(permit, reason) => {
                self.record("allow", &reason, Value::Null);
                Ok((prepared, permit))
            }
            Decision::Deny(reason) => Err(self.deny(&reason)),
            Decision::Ask(reason) if self.services.interactive => self.ask(prepared, reason, cancel).await,
            Decision::Ask(reason) => Err(self.nobody_to_ask(&reason)),
        }
    }

    fn request(&self, prepared: &dyn PreparedCall) -> Request {
        Request {
            tool: self.call.name.clone(),
            access: prepared.access(self.view),
            read_only: prepared.read_only(),
        }
    }

    fn policy(&self) -> Arc<Context> {
        Arc::clone(&self.services.policy.borrow())
    }

    async fn ask(
        &self,
        prepared: Box<dyn PreparedCall>,
        reason: Reason,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let (sender, answer) = oneshot::channel();
        let ask = Ask::Permission(PermissionAsk {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            input: self.call.input.clone(),
            reason: reason.explain(),
            blocked_path: None,
            suggestions: Vec::new(),
            would_cover: Vec::new(),
            agent: None,
        });
        self.line.tell(News::Ask(ask, sender));
        let answer = tokio::select! {
            () = cancel.cancelled() => return Err(Verdict::Cancelled),
            answer = answer => answer,
        };
        match answer {
            Ok(Answer::Allow { updated_input, .. }) => self.allowed_by_user(prepared, updated_input),
            Ok(Answer::Refuse { feedback, then }) => {
                self.record("deny", &Reason::User, self.call.input.clone());
                let text = match feedback {
                    Some(feedback) => format!("The user refused this call and said: {feedback}"),
                    None => "The user refused this call. Nothing was done.".to_owned(),
                };
                Err(match then {
                    Then::GoOn => Verdict::error(&text),
                    Then::EndTurn => Verdict::Rejected(text),
                })
            }
            Ok(Answer::Hook { .. }) | Err(_) => Err(self.nobody_to_ask(&reason)),
        }
    }

    /// The user said yes, perhaps to other input: that is parsed and judged anew, and a deny rule still holds.
    fn allowed_by_user(
        &self,
        prepared: Box<dyn PreparedCall>,
        updated: Option<Value>,
    ) -> Result<Permitted, Verdict> {
        let changed = updated.clone().filter(|input| *input != self.call.input);
        let prepared = match updated {
            None => prepared,
            Some(input) => {
                let parsed = self.services.registry.prepare(&self.call.name, Input::Json(&input));
                let parsed = parsed.map_err(|error| Verdict::error(&error.to_string()))?;
                parsed.validate(self.view).map_err(|problem| Verdict::error(&problem))?;
                parsed
            }
        };
        match approve(&self.request(prepared.as_ref()), &self.policy()) {
            Decision::Allow(permit, reason) => {
                self.record("allow", &reason, changed.unwrap_or_default());
                Ok((prepared, permit))
            }
            Decision::Deny(reason) | Decision::Ask(reason) => Err(self.deny(&reason)),
        }
    }

    fn deny(&self, reason: &Reason) -> Verdict {
        self.record("deny", reason, self.call.input.clone());
        let text = format!("{} is not allowed here: {}.", self.call.name, reason.explain());
        Verdict::error(&text)
    }

    fn nobody_to_ask(&self, reason: &Reason) -> Verdict {
        self.record("deny", reason, self.call.input.clone());
        let text = format!(
            "{} needs the user's permission ({}), and nobody can be asked in this run. Do without it, or say in \
             your answer what was needed.",
            self.call.name,
            reason.explain()
        );
        Verdict::error(&text)
    }

    fn record(&self, behavior: &str, reason: &Reason, input: Value) {
        self.line.tell(News::Decided(DecisionRecord {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            behavior: behavior.to_owned(),
            reason: serde_json::to_value(reason).unwrap_or_default(),
            message: reason.explain(),
            input,
        }));
    }
}
