//! `ExitPlanMode`: hands the plan over.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;
use tiller_protocol::ask::AllowedPrompt;
use tiller_protocol::effect::Effect;
use tiller_protocol::mode::Mode;

use crate::blocking::blocking;
use crate::cx::{ToolCx, View};
use crate::plan_file;
use crate::tool::{Description, Done, Tool, ToolError};

/// Ends plan mode, if the user approves the plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExitPlanMode;

/// What `ExitPlanMode` may be told.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExitPlanModeInput {
    /// Kinds of commands that the plan will need.
    #[serde(default)]
    pub allowed_prompts: Vec<AllowedPrompt>,
}

impl Tool for ExitPlanMode {
    const NAME: &'static str = "ExitPlanMode";
    type Input = ExitPlanModeInput;

    fn describe(&self) -> Description {
        Description::new("Hands the plan over", include_str!("prompt.md"))
    }

    fn parallel(&self, _input: &ExitPlanModeInput) -> bool {
        true
    }

    fn validate(&self, input: &ExitPlanModeInput, view: &View) -> Result<(), String> {
        if view.mode != Mode::Plan {
            return Err("Plan mode is not on, so there is nothing to leave. Go on with the work.".to_owned());
        }
        if let Some(at) = input.allowed_prompts.iter().position(|prompt| !is_purpose(prompt)) {
            return Err(format!(
                "allowedPrompts[{at}] needs the tool Bash and a purpose in one line, e.g. \"run the tests\"."
            ));
        }
        plan(view.plan_file.as_deref()).map(drop)
    }

    fn access(&self, _input: &ExitPlanModeInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, _input: ExitPlanModeInput, cx: ToolCx) -> Result<Done, ToolError> {
        blocking(cx, |cx| {
            let path = cx.view.plan_file.clone();
            let plan = plan(path.as_deref()).map_err(ToolError::Model)?;
            let detail = json!({"plan": plan, "isAgent": cx.view.sub_agent, "filePath": path});
            let Some(path) = path.filter(|_| !cx.view.sub_agent) else {
                let text =
                    "The plan is approved, and there is nothing else for you to do. Answer with \"ok\".";
                return Ok(Done::text(text).with_detail(detail));
            };
            let done = Done::text(&approved(&path, &plan)).with_detail(detail);
            Ok(done.with_effect(Effect::PlanApproved { path }))
        })
        .await
    }
}

/// Rules in words are compared with commands, one line each.
fn is_purpose(prompt: &AllowedPrompt) -> bool {
    let text = prompt.prompt.trim();
    prompt.tool == "Bash" && !text.is_empty() && !text.contains(char::is_control)
}

fn plan(path: Option<&Path>) -> Result<String, String> {
    let path = path.ok_or("There is no plan file. Plan mode was never entered.")?;
    let plan = plan_file::read(path).filter(|plan| !plan.trim().is_empty());
    plan.ok_or_else(|| plan_file::missing(path))
}

fn approved(path: &Path, plan: &str) -> String {
    format!(
        "The user has approved the plan; you may begin. Bring the todo list up to date first, if there is one or it \
         helps. The plan stays in {}, where you can look it up.\n\n## Approved plan\n\n{plan}",
        path.display()
    )
}

#[cfg(test)]
mod tests;
