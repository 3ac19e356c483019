//! May this call run? Policy decides, or the user is asked.

use std::sync::Arc;

use serde_json::Value;
use tiller_config::HookEvent;
use tiller_policy::{
    Behavior, Context, Decision, Finding, Permit, Reason, Request, answer_for_user, approve, open_question,
    suggest,
};
use tiller_protocol::ask::{Answer, Ask, PermissionAsk, Then};
use tiller_protocol::block::ToolUse;
use tiller_protocol::entry::DecisionRecord;
use tiller_tools::{ENTER_PLAN_MODE_QUESTION, EnterPlanMode, Input, PreparedCall, Tool, View};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::call::{Line, News, Verdict};
use super::changed::Changed;
use super::foresight::foresee;
use super::hooked::{Hooked, judged};
use crate::hook::{self, PermissionAnswer, PreDecision};
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

/// A call that only the user can decide, and what it was judged by.
pub(super) struct Open {
    pub(super) request: Request,
    pub(super) policy: Arc<Context>,
    pub(super) reason: Reason,
    /// What a hook says that insists on the question, too.
    pub(super) remark: Option<String>,
}

impl Open {
    /// Why it is asked, for the user and the model.
    fn explain(&self) -> String {
        match &self.remark {
            Some(remark) => format!("{}; {remark}", self.reason.explain()),
            None => self.reason.explain(),
        }
    }
}

/// A call and what it may do.
pub(crate) struct Permitted {
    pub(crate) prepared: Box<dyn PreparedCall>,
    pub(crate) permit: Permit,
    /// The input that the user has put in place of the model's.
    pub(crate) changed: Option<Value>,
}

impl Permission<'_> {
    /// Decides, asking the user if need be.
    pub(crate) async fn seek(
        &self,
        prepared: Box<dyn PreparedCall>,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let request = self.request(prepared.as_ref());
        let policy =
            self.informed(&request, Vec::new(), |behavior| !self.hook_settles(behavior), cancel).await?;
        match judged(&request, &policy, self.hook.as_ref()) {
            Decision::Allow(permit, reason) => {
                self.record("allow", &reason, Value::Null);
                Ok(Permitted { prepared, permit, changed: None })
            }
            Decision::Ask(reason) => {
                let remark = self.remark_beside(&reason);
                self.open(prepared, Open { request, policy, reason, remark }, cancel).await
            }
            Decision::Deny(reason) => {
                self.services.asked.note(&request);
                Err(self.deny(&reason))
            }
        }
    }

    fn request(&self, prepared: &dyn PreparedCall) -> Request {
        Request {
            tool: self.call.name.clone(),
            access: prepared.access(self.view),
            read_only: prepared.read_only(),
        }
    }

    /// What decides at this moment, with what a model finds about rules in words: as far as that is wanted, and not known
    /// already.
    async fn informed(
        &self,
        request: &Request,
        mut findings: Vec<Finding>,
        wanted: impl Fn(Behavior) -> bool,
        cancel: &CancellationToken,
    ) -> Result<Arc<Context>, Verdict> {
        loop {
            let mut policy = self.services.policy.now();
            if !findings.is_empty() {
                policy = Arc::new(Context { findings: findings.clone(), ..Context::clone(&policy) });
            }
            let Some(question) = open_question(request, &policy).filter(|open| wanted(open.behavior)) else {
                return Ok(policy);
            };
            let (beside, name) = (self.services.beside(), self.services.small_model.as_str());
            let spent = |bill| self.line.tell(News::Spent(bill));
            let found = tokio::select! {
                () = cancel.cancelled() => return Err(Verdict::Cancelled),
                found = self.services.classifier.compare(&question, &beside, name, spent) => found,
            };
            findings.push(Finding { question, found });
        }
    }

    /// What a hook that asks says, where something else asks anyway.
    fn remark_beside(&self, reason: &Reason) -> Option<String> {
        let PreDecision { reason: says, hook_name, .. } =
            self.hook.as_ref().filter(|hook| hook.verdict == hook::Verdict::Ask)?;
        let by_hook = Reason::Hook { name: hook_name.clone(), reason: says.clone() };
        (*reason != by_hook).then(|| by_hook.explain())
    }

    /// Whether what hooks say makes rules in words superfluous.
    fn hook_settles(&self, behavior: Behavior) -> bool {
        match self.hook.as_ref().map(|hook| hook.verdict) {
            Some(hook::Verdict::Deny) => true,
            Some(hook::Verdict::Allow) => behavior == Behavior::Allow,
            Some(hook::Verdict::Ask) | None => false,
        }
    }

    /// Hooks may answer in the user's place; then it is the user's turn.
    async fn open(
        &self,
        prepared: Box<dyn PreparedCall>,
        open: Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        if open.reason == Reason::NeedsUser {
            return self.consult(prepared, open, cancel).await;
        }
        let by_hook =
            Reason::Hook { name: HookEvent::PermissionRequest.name().to_owned(), reason: String::new() };
        match self.hooks_answer(&open, cancel).await {
            Some(PermissionAnswer::Allow { updated_input, updated_permissions }) => {
                self.line.tell(News::Permit(updated_permissions, None));
                self.allowed_by(by_hook, prepared, updated_input, &open, cancel).await
            }
            Some(PermissionAnswer::Deny { message, interrupt }) => {
                self.record("deny", &by_hook, self.call.input.clone());
                let text = format!("A hook refused this call in the user's place: {message}");
                Err(if interrupt { Verdict::Rejected(text) } else { Verdict::error(&text) })
            }
            None if self.services.permission_tool.is_some() => self.ask_tool(prepared, open, cancel).await,
            None if self.services.interactive => self.ask(prepared, open, cancel).await,
            None => {
                self.services.asked.note(&open.request);
                Err(self.nobody_to_ask(&open))
            }
        }
    }

    /// What hooks say to a question, as far as it is theirs to answer.
    async fn hooks_answer(&self, open: &Open, cancel: &CancellationToken) -> Option<PermissionAnswer> {
        if !self.services.hooks.has(HookEvent::PermissionRequest) {
            return None;
        }
        let suggestions = serde_json::to_value(suggest(&open.request, &open.policy)).unwrap_or_default();
        let hooked = Hooked { view: self.view, services: self.services, line: self.line };
        let answer = hooked.asked(self.call, &suggestions, cancel).await?;
        let by_hook = Reason::Hook { name: String::new(), reason: String::new() };
        let may_allow =
            || matches!(answer_for_user(&open.request, &open.policy, by_hook), Decision::Allow(..));
        let counts = matches!(answer, PermissionAnswer::Deny { .. }) || may_allow();
        counts.then_some(answer)
    }

    pub(super) async fn ask(
        &self,
        prepared: Box<dyn PreparedCall>,
        open: Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let (sender, answer) = oneshot::channel();
        let mut question = self.question(&open);
        let (prepared, change) =
            foresee(prepared, self.view, cancel, |call, view| call.preview(view)).await?;
        question.change = change.map(Box::new);
        if let Some(warning) = prepared.warning() {
            question.reason = format!("{}; {warning}", question.reason);
            question.restates = false;
        }
        self.line.tell(News::Ask(Ask::Permission(question), sender));
        let answer = tokio::select! {
            () = cancel.cancelled() => return Err(Verdict::Cancelled),
            answer = answer => answer,
        };
        match answer {
            // What shall be permitted from now on is permitted already: the session sees to that before it passes the
            // answer on.
            Ok(Answer::Allow { updated_input, .. }) => {
                self.allowed_by(Reason::User, prepared, updated_input, &open, cancel).await
            }
            Ok(Answer::Refuse { feedback, then }) => Err(self.refused(feedback, then)),
            _ => Err(self.nobody_to_ask(&open)),
        }
    }

    fn question(&self, open: &Open) -> PermissionAsk {
        let Open { request, policy, reason, .. } = open;
        let suggestions = match reason {
            Reason::Hook { .. } | Reason::NeedsUser => Vec::new(),
            _ => suggest(request, policy),
        };
        let would_cover = self.services.asked.covered_by(&suggestions, policy);
        self.services.asked.note(request);
        let blocked_path = match reason {
            Reason::WorkingDir { path } | Reason::Guarded { path } => Some(path.clone()),
            _ => None,
        };
        PermissionAsk {
            call: self.call.id.clone(),
            tool: self.call.name.clone(),
            input: self.call.input.clone(),
            reason: match self.call.name.as_str() {
                EnterPlanMode::NAME => ENTER_PLAN_MODE_QUESTION.trim_end().to_owned(),
                _ => open.explain(),
            },
            restates: open.remark.is_none() && reason.restates(self.call.input["command"].as_str()),
            cwd: self.view.cwd.clone(),
            blocked_path,
            suggestions,
            change: None,
            would_cover,
            leaves_sandbox: false,
            agent: self.services.asker(),
        }
    }

    /// Somebody said yes, perhaps to other input: that is parsed and judged anew, and what forbids it still holds.
    pub(super) async fn allowed_by(
        &self,
        who: Reason,
        prepared: Box<dyn PreparedCall>,
        updated: Option<Value>,
        open: &Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let changed = updated.filter(|input| *input != self.call.input);
        let prepared = match &changed {
            None => prepared,
            Some(input) => self.prepared_anew(input)?,
        };
        let request = self.request(prepared.as_ref());
        let (known, forbids) = (open.policy.findings.clone(), |behavior| behavior == Behavior::Deny);
        let policy = self.informed(&request, known, forbids, cancel).await?;
        let decision = match &who {
            Reason::Hook { .. } => answer_for_user(&request, &policy, who.clone()),
            _ => approve(&request, &policy),
        };
        match decision {
            Decision::Allow(permit, _) => {
                self.record("allow", &who, changed.clone().unwrap_or_default());
                let prepared = match &changed {
                    // Other input for a call that is a question to the user is the answer to it.
                    Some(input) if open.reason != Reason::NeedsUser => {
                        Box::new(Changed::new(prepared, input, &who))
                    }
                    _ => prepared,
                };
                Ok(Permitted { prepared, permit, changed })
            }
            Decision::Deny(reason) | Decision::Ask(reason) => Err(self.deny(&reason)),
        }
    }

    fn prepared_anew(&self, input: &Value) -> Result<Box<dyn PreparedCall>, Verdict> {
        let parsed = self.services.registry.prepare(&self.call.name, Input::Json(input));
        let parsed = parsed.map_err(|error| Verdict::error(&error.to_string()))?;
        parsed.validate(self.view).map_err(|problem| Verdict::error(&problem))?;
        Ok(parsed)
    }

    pub(super) fn refused(&self, feedback: Option<String>, then: Then) -> Verdict {
        let reason = Reason::Refused { feedback: feedback.clone() };
        self.record("deny", &reason, self.call.input.clone());
        let text = match feedback {
            Some(feedback) => format!("The user refused this call and said: {feedback}"),
            None => "The user refused this call. Nothing was done.".to_owned(),
        };
        match then {
            Then::GoOn => Verdict::error(&text),
            Then::EndTurn => Verdict::Rejected(text),
        }
    }

    pub(super) fn deny(&self, reason: &Reason) -> Verdict {
        self.record("deny", reason, self.call.input.clone());
        let text = format!("{} is not allowed here: {}.", self.call.name, reason.explain());
        Verdict::error(&text)
    }

    pub(super) fn nobody_to_ask(&self, open: &Open) -> Verdict {
        self.record("deny", &open.reason, self.call.input.clone());
        let text = format!(
            "{} needs the user's permission ({}), and nobody can be asked in this run. Do without it, or say in \
             your answer what was needed.",
            self.call.name,
            open.explain()
        );
        Verdict::error(&text)
    }

    /// Whoever was to decide has not.
    pub(super) fn undecided(&self, open: &Open, why: &str) -> Verdict {
        self.record("deny", &open.reason, self.call.input.clone());
        let text =
            format!("{} needs permission ({}), which was not given: {why}.", self.call.name, open.explain());
        Verdict::error(&self.services.secrets.mask(&text))
    }

    pub(super) fn record(&self, behavior: &str, reason: &Reason, input: Value) {
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
