//! The one way out of a command's confinement: the user is asked, for this command and this once.

use serde_json::Value;
use tiller_policy::{Decision, Permit, Reason, leave};
use tiller_protocol::ask::{Answer, Ask, PermissionAsk, Then};
use tiller_protocol::block::ToolUse;
use tiller_protocol::entry::DecisionRecord;
use tiller_tools::{Leave, Refused};
use tokio::sync::oneshot;

use crate::executor::{Line, News};
use crate::services::Services;

/// A command that failed because of its confinement.
pub(crate) struct WayOut {
    pub(crate) call: ToolUse,
    pub(crate) line: Line,
    pub(crate) services: Services,
    pub(crate) permit: Permit,
    pub(crate) refused: Refused,
    pub(crate) reason: Reason,
}

impl WayOut {
    /// Asks, unless nobody is there or the answer is known.
    pub(crate) async fn ask(self) -> Leave {
        let may_ask =
            !self.services.policy.now().offline && self.services.confiner.network_may_be_asked_for();
        let is_settled = self.refused == Refused::Network && !may_ask;
        if !self.services.interactive || is_settled || self.permitted().is_err() {
            return Leave::NotAsked;
        }
        let input = self.input();
        let (sender, answer) = oneshot::channel();
        let ask = PermissionAsk {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            input: input.clone(),
            reason: self.reason.explain(),
            restates: false,
            cwd: self.services.env.cwd.clone(),
            blocked_path: None,
            suggestions: Vec::new(),
            change: None,
            would_cover: Vec::new(),
            leaves_sandbox: true,
            agent: self.services.asker(),
        };
        self.line.tell(News::Ask(Ask::Permission(ask), sender));
        match answer.await {
            Ok(Answer::Allow { updated_input, .. })
                if updated_input.as_ref().is_none_or(|to| *to == input) =>
            {
                match self.permitted() {
                    Ok(permit) => {
                        self.record("allow", Value::Null);
                        Leave::Permitted(permit)
                    }
                    Err(reason) => Leave::Refused(Some(reason.explain())),
                }
            }
            Ok(Answer::Allow { .. }) => {
                self.record("deny", input);
                Leave::Refused(Some("another command should be run instead; call Bash with it".to_owned()))
            }
            Ok(Answer::Refuse { feedback, then }) => {
                self.record("deny", input);
                if then == Then::EndTurn {
                    self.line.tell(News::EndTurn);
                }
                Leave::Refused(feedback)
            }
            _ => Leave::NotAsked,
        }
    }

    /// What policy says to it at this moment, given that the user says yes.
    fn permitted(&self) -> Result<Permit, Reason> {
        let policy = self.services.policy.now();
        let Some(release) = self.refused.release() else { return Err(self.reason.clone()) };
        match leave(&self.permit, release, &policy) {
            Decision::Allow(permit, _) => Ok(permit),
            Decision::Deny(reason) | Decision::Ask(reason) => Err(reason),
        }
    }

    /// The input with the command that would really run.
    fn input(&self) -> Value {
        let mut input = self.call.input.clone();
        if let (Some(fields), Ok(script)) = (input.as_object_mut(), self.permit.script()) {
            fields.insert("command".to_owned(), script.command.clone().into());
        }
        input
    }

    fn record(&self, behavior: &str, input: Value) {
        self.line.tell(News::Decided(DecisionRecord {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            behavior: behavior.to_owned(),
            reason: serde_json::to_value(&self.reason).unwrap_or_default(),
            message: self.reason.explain(),
            input,
        }));
    }
}
