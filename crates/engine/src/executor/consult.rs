//! Calls that are questions to the user: a plan, a choice, and whether to plan at all.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tiller_policy::{Behavior, Decision, Destination, Reason, RuleValue, Update, approve};
use tiller_protocol::ask::{AllowedPrompt, Answer, Ask, PlanAsk, QuestionAsk, Then};
use tiller_protocol::effect::{PlanMoment, PlanVersion};
use tiller_protocol::entry::{Level, Notice};
use tiller_protocol::mode::Mode;
use tiller_tools::{
    AskUserQuestion, AskUserQuestionInput, EnterPlanMode, ExitPlanMode, ExitPlanModeInput, PreparedCall,
    Tool, View, plan_file,
};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::call::{News, Verdict};
use super::changed::Changed;
use super::permission::{Open, Permission, Permitted};

/// Stands before a plan that is not what was handed over.
const EDITED: &str = "[The user changed the plan before approving it. What counts is the text below.]";

/// What the user is told when a question about a plan is put again.
const CHANGED: &str = "The plan file has changed since the plan was shown. It is shown again as it is now.";

/// What a run without a user tells the model that hands a plan over.
const HANDED_OVER: &str = "The plan was handed over. Nobody can approve it in this run, which ends here; plan mode \
     stays on.";

/// A plan that was handed over where nobody can approve it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandedOver {
    pub(crate) plan: String,
    pub(crate) path: PathBuf,
}

impl HandedOver {
    /// What the model is told.
    pub(crate) fn text(&self) -> &'static str {
        HANDED_OVER
    }
}

/// The user's word on a plan, and what follows from it.
pub(crate) struct PlanAnswer {
    /// The plan at that moment.
    pub(crate) version: PlanVersion,
    /// The choice, as it is measured.
    pub(crate) outcome: &'static str,
    /// What changes, in this order.
    pub(crate) updates: Vec<Update>,
}

impl Permission<'_> {
    /// Puts a call before the user that is a question itself.
    pub(super) async fn consult(
        &self,
        prepared: Box<dyn PreparedCall>,
        open: Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        match self.call.name.as_str() {
            // Whoever works for others has nothing to be approved: that plan is theirs.
            ExitPlanMode::NAME if self.services.agent.is_some() => self.granted(prepared, &open),
            ExitPlanMode::NAME => self.hand_over(prepared, open, cancel).await,
            _ if !self.services.interactive => Err(self.nobody_to_ask(&open)),
            EnterPlanMode::NAME => self.enter(prepared, open, cancel).await,
            AskUserQuestion::NAME => self.ask_questions(prepared, open, cancel).await,
            _ => self.ask(prepared, open, cancel).await,
        }
    }

    /// Lets a call run to which nobody objects.
    fn granted(&self, prepared: Box<dyn PreparedCall>, open: &Open) -> Result<Permitted, Verdict> {
        match approve(&open.request, &open.policy) {
            Decision::Allow(permit, _) => Ok(Permitted { prepared, permit, changed: None }),
            Decision::Deny(reason) | Decision::Ask(reason) => Err(self.deny(&reason)),
        }
    }

    async fn enter(
        &self,
        prepared: Box<dyn PreparedCall>,
        open: Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let _alone = self.wait_for_turn(cancel).await?;
        self.still_valid(prepared.as_ref())?;
        let permitted = self.ask(prepared, open, cancel).await?;
        self.settle(cancel, |done| News::Permit(vec![set_mode(Mode::Plan)], Some(done))).await?;
        Ok(permitted)
    }

    async fn ask_questions(
        &self,
        prepared: Box<dyn PreparedCall>,
        open: Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let mut input = self.call.input.clone();
        let questions = serde_json::from_value::<AskUserQuestionInput>(input.clone());
        let questions = questions.map_err(|error| Verdict::error(&error.to_string()))?.questions;
        let ask = QuestionAsk { call: self.call.id.clone(), questions, agent: self.services.asker() };
        let answers: Map<String, Value> = match self.put(Ask::Question(ask), cancel).await? {
            Some(Answer::Question { answers }) => {
                answers.into_iter().map(|(question, answer)| (question, answer.into())).collect()
            }
            Some(Answer::Refuse { feedback, then }) => return Err(self.refused(feedback, then)),
            _ => return Err(self.nobody_to_ask(&open)),
        };
        // Whatever the model has put there itself, only the user answers.
        input["answers"] = answers.into();
        self.allowed_by(Reason::User, prepared, Some(input), &open, cancel).await
    }

    /// Two plans are looked at one after the other, and what was decided on the first counts when the second is.
    async fn hand_over(
        &self,
        prepared: Box<dyn PreparedCall>,
        open: Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        let _alone = self.wait_for_turn(cancel).await?;
        self.still_valid(prepared.as_ref())?;
        let path = self.view.plan_file.clone().unwrap_or_default();
        let plan = written(&path)?;
        if !self.services.interactive {
            let handed_over = HandedOver { plan: self.services.secrets.mask(&plan).into_owned(), path };
            self.answered(plan, PlanMoment::HandedOver, "no-user", Vec::new(), cancel).await?;
            return Err(Verdict::HandedOver(Box::new(handed_over)));
        }
        let mut shown = plan.clone();
        loop {
            let ask = self.plan_ask(path.clone(), &shown);
            match self.put(Ask::Plan(ask.clone()), cancel).await? {
                Some(Answer::Plan { mode, plan: seen }) => {
                    let now = written(&path)?;
                    if ![&*now, &*self.services.secrets.mask(&now)].contains(&seen.as_str()) {
                        let (subtype, level) = ("plan_changed".to_owned(), Level::Warning);
                        let content = CHANGED.to_owned();
                        self.line.tell(News::Notice(Notice { subtype, level, content }));
                        shown = now;
                        continue;
                    }
                    let edited = now != plan;
                    let permitted = self.granted(prepared, &open)?;
                    self.approved(now, mode, &ask, cancel).await?;
                    return Ok(if edited { permitted.noting(EDITED) } else { permitted });
                }
                Some(Answer::Refuse { feedback, then }) => {
                    let plan = plan_file::read(&path).unwrap_or(shown);
                    self.answered(plan, PlanMoment::Refused, "no", Vec::new(), cancel).await?;
                    return Err(self.sent_back(feedback, then));
                }
                _ => return Err(self.nobody_to_ask(&open)),
            }
        }
    }

    fn plan_ask(&self, path: PathBuf, plan: &str) -> PlanAsk {
        let input: ExitPlanModeInput = serde_json::from_value(self.call.input.clone()).unwrap_or_default();
        let mut modes = vec![Mode::AcceptEdits, Mode::Default];
        if self.services.policy.now().bypass_available {
            modes.insert(0, Mode::BypassPermissions);
        }
        PlanAsk {
            call: self.call.id.clone(),
            plan: self.services.secrets.mask(plan).into_owned(),
            path,
            allowed_prompts: input.allowed_prompts,
            modes,
        }
    }

    async fn approved(
        &self,
        plan: String,
        chosen: Mode,
        ask: &PlanAsk,
        cancel: &CancellationToken,
    ) -> Result<(), Verdict> {
        let mode = if ask.modes.contains(&chosen) { chosen } else { Mode::Default };
        if mode != chosen {
            let content =
                format!("The mode {chosen} is not available; the plan is carried out in mode {mode}.");
            let subtype = "permission_update".to_owned();
            self.line.tell(News::Notice(Notice { subtype, level: Level::Warning, content }));
        }
        let outcome = match mode {
            Mode::BypassPermissions => "yes-bypass-permissions",
            Mode::AcceptEdits => "yes-accept-edits",
            _ => "yes-default",
        };
        self.record("allow", &Reason::User, Value::Null);
        self.answered(plan, PlanMoment::Approved, outcome, approval(mode, &ask.allowed_prompts), cancel).await
    }

    /// Tells the session the user's word on the plan, and waits until what follows from it holds.
    async fn answered(
        &self,
        content: String,
        moment: PlanMoment,
        outcome: &'static str,
        updates: Vec<Update>,
        cancel: &CancellationToken,
    ) -> Result<(), Verdict> {
        let path = self.view.plan_file.clone().unwrap_or_default();
        let version = PlanVersion { path, moment, content };
        self.settle(cancel, |done| News::Plan(Box::new(PlanAnswer { version, outcome, updates }), done)).await
    }

    async fn settle(
        &self,
        cancel: &CancellationToken,
        news: impl FnOnce(oneshot::Sender<()>) -> News,
    ) -> Result<(), Verdict> {
        let (done, settled) = oneshot::channel();
        self.line.tell(news(done));
        tokio::select! {
            () = cancel.cancelled() => Err(Verdict::Cancelled),
            settled = settled => settled.map_err(|_| Verdict::Cancelled),
        }
    }

    fn sent_back(&self, feedback: Option<String>, then: Then) -> Verdict {
        self.record("deny", &Reason::Refused { feedback: feedback.clone() }, self.call.input.clone());
        let said = match feedback {
            Some(feedback) => format!("The user has not approved the plan and said: {feedback}"),
            None => "The user has not approved the plan.".to_owned(),
        };
        let text = format!("{said}\nPlan mode stays on. Revise the plan file, then hand it over again.");
        match then {
            Then::GoOn => Verdict::error(&text),
            Then::EndTurn => Verdict::Rejected(text),
        }
    }

    /// Puts a question to the user; nothing comes back if nobody can answer any more.
    async fn put(&self, ask: Ask, cancel: &CancellationToken) -> Result<Option<Answer>, Verdict> {
        let (sender, answer) = oneshot::channel();
        self.line.tell(News::Ask(ask, sender));
        tokio::select! {
            () = cancel.cancelled() => Err(Verdict::Cancelled),
            answer = answer => Ok(answer.ok()),
        }
    }

    async fn wait_for_turn(
        &self,
        cancel: &CancellationToken,
    ) -> Result<tokio::sync::SemaphorePermit<'_>, Verdict> {
        tokio::select! {
            () = cancel.cancelled() => Err(Verdict::Cancelled),
            turn = self.services.plan_talk.acquire() => turn.map_err(|_| Verdict::Cancelled),
        }
    }

    /// Another call may have changed the mode since this one was looked at.
    fn still_valid(&self, prepared: &dyn PreparedCall) -> Result<(), Verdict> {
        let view = View { mode: self.services.policy.now().mode, ..self.view.clone() };
        prepared.validate(&view).map_err(|problem| Verdict::error(&problem))
    }
}

impl Permitted {
    /// The same, with a remark before the result.
    fn noting(self, note: &str) -> Self {
        Self { prepared: Box::new(Changed::noting(self.prepared, note.to_owned())), ..self }
    }
}

fn written(path: &Path) -> Result<String, Verdict> {
    let plan = plan_file::read(path).filter(|plan| !plan.trim().is_empty());
    plan.ok_or_else(|| Verdict::error(&plan_file::missing(path)))
}

/// What an approval changes: the mode first, then what the plan needs. The purposes stay as they were written.
fn approval(mode: Mode, prompts: &[AllowedPrompt]) -> Vec<Update> {
    let rules: Vec<RuleValue> = prompts
        .iter()
        .map(|prompt| RuleValue {
            tool_name: prompt.tool.clone(),
            rule_content: Some(format!("prompt: {}", prompt.prompt.trim())),
        })
        .collect();
    let mut updates = vec![set_mode(mode)];
    if !rules.is_empty() {
        let (behavior, destination) = (Behavior::Allow, Destination::Session);
        updates.push(Update::AddRules { rules, behavior, destination });
    }
    updates
}

fn set_mode(mode: Mode) -> Update {
    Update::SetMode { mode, destination: Destination::Session }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // PLAN-52, PLAN-53, PLAN-54
    #[test]
    fn an_approval_sets_the_mode_and_then_adds_what_the_plan_needs() {
        let prompt = |text: &str| AllowedPrompt { tool: "Bash".to_owned(), prompt: text.to_owned() };
        let updates = approval(Mode::AcceptEdits, &[prompt(" run the tests* "), prompt("build (all of it)")]);
        let rules = json!([
            {"toolName": "Bash", "ruleContent": "prompt: run the tests*"},
            {"toolName": "Bash", "ruleContent": "prompt: build (all of it)"},
        ]);
        assert_eq!(
            serde_json::to_value(updates).unwrap(),
            json!([
                {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
                {"type": "addRules", "behavior": "allow", "destination": "session", "rules": rules},
            ])
        );
        let alone = approval(Mode::Default, &[]);
        assert_eq!(alone, [set_mode(Mode::Default)]);
    }
}
