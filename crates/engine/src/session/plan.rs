//! The session's plan: its file, its versions, and what follows from the user's word on it.

use tiller_policy::Context;
use tiller_protocol::effect::{Effect, PlanMoment, PlanVersion};
use tiller_protocol::entry::{Body, CallResult};
use tiller_protocol::mode::Mode;
use tiller_steering::attachment::{AgentCounts, PlanReader};
use tiller_steering::source::{Delegate, Plan};
use tiller_tools::plan_file;
use tokio::sync::oneshot;

use super::{Role, Task};
use crate::executor::PlanAnswer;
use crate::plan::Slug;
use crate::store::StoreError;
use crate::telemetry::Telemetry;

/// What switches a thing off.
const OFF: [&str; 4] = ["0", "false", "no", "off"];

impl Task {
    /// Gives the plan files of a session a name when it plans for the first time.
    pub(super) fn name_plan(&mut self) -> Result<(), StoreError> {
        let planning = self.journal.state.mode == Mode::Plan && matches!(self.role, Role::Main { .. });
        if !planning || self.slug().is_some() {
            return Ok(());
        }
        let slug = self.fixed.plans.fresh(self.fixed.env.ids.as_ref());
        self.append(Body::Effect(Effect::SetPlan { slug: slug.to_string() }))?;
        Ok(())
    }

    /// Takes the plan of an earlier run up again, under the name that the log told first. A fork plans on in a file of
    /// its own. Says whether there is a plan.
    pub(super) fn take_up_plan(
        &mut self,
        told: Option<&str>,
        forked: Option<Slug>,
    ) -> Result<bool, StoreError> {
        let Some(slug) = told.and_then(Slug::parse).or_else(|| self.slug()) else { return Ok(false) };
        if let Some(own) = &forked {
            self.fixed.plans.copy(&slug, own);
        }
        let slug = forked.unwrap_or(slug);
        if self.slug().as_ref() == Some(&slug) {
            self.follow_plan(slug.as_str());
        } else {
            self.append(Body::Effect(Effect::SetPlan { slug: slug.to_string() }))?;
        }
        Ok(plan_file::read(&self.fixed.plans.file(&slug)).is_some())
    }

    fn slug(&self) -> Option<Slug> {
        self.journal.state.plan_slug.as_deref().and_then(Slug::parse)
    }

    /// Lets decisions follow a name that is in the log: the file may be written while planning.
    pub(super) fn follow_plan(&mut self, slug: &str) {
        let Some(slug) = Slug::parse(slug) else {
            tracing::warn!("the log names a plan that cannot be one: {slug:?}");
            return;
        };
        self.fixed.plans.prepare();
        let plan_file = Some(self.fixed.plans.file(&slug));
        self.decide_by(Context { plan_file, ..Context::clone(&self.services.policy.now()) });
    }

    /// What sources of attachments need to know of the plan.
    pub(super) fn plan_fact(&self) -> Option<Plan> {
        let path = self.services.policy.now().plan_file.clone()?;
        let env = &self.fixed.env;
        let verify = env.var_or_alias("TILLER_VERIFY_PLAN", "CLAUDE_CODE_VERIFY_PLAN");
        let verifies = !verify.is_some_and(|said| OFF.contains(&said.to_ascii_lowercase().as_str()));
        let tools = self.tool_names();
        Some(Plan {
            exists: plan_file::read(&path).is_some(),
            path,
            reader: PlanReader { tools, counts: AgentCounts::of(env) },
            approval: self.journal.past.approval().filter(|_| verifies),
        })
    }

    /// What sources of attachments need to know of delegate mode.
    pub(super) fn delegate_fact(&self) -> Delegate {
        let state = &self.journal.state;
        Delegate { active: state.mode == Mode::Delegate, exit_notice_due: state.delegate.exit_notice_due }
    }

    /// Keeps the plan as a call has left it.
    pub(super) fn keep_written_plan(&mut self, result: &CallResult) -> Result<(), StoreError> {
        if result.is_error || !matches!(result.tool.as_str(), "Write" | "Edit") {
            return Ok(());
        }
        let Some(path) = self.services.policy.now().plan_file.clone() else { return Ok(()) };
        let written = result.detail["filePath"].as_str();
        if written.is_none_or(|written| path.as_os_str() != written) {
            return Ok(());
        }
        match plan_file::read(&path) {
            Some(content) => self.keep_plan(PlanVersion { path, moment: PlanMoment::Written, content }),
            None => Ok(()),
        }
    }

    fn keep_plan(&mut self, version: PlanVersion) -> Result<(), StoreError> {
        let content = self.services.secrets.mask(&version.content).into_owned();
        self.append(Body::Effect(Effect::PlanKept(PlanVersion { content, ..version })))?;
        Ok(())
    }

    /// What follows from the user's word on a plan. The call that handed it over goes on when all of it holds.
    pub(super) fn on_plan_answer(
        &mut self,
        answer: PlanAnswer,
        done: oneshot::Sender<()>,
    ) -> Result<(), StoreError> {
        let PlanAnswer { version, outcome, updates } = answer;
        self.measure(&Telemetry::PlanExit { length: version.content.chars().count(), outcome });
        self.keep_plan(version)?;
        self.permit(updates)?;
        // The call may have been stopped meanwhile; then nobody waits.
        let _ = done.send(());
        Ok(())
    }
}
