//! `EnterPlanMode`: explore and design first.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;
use tiller_protocol::mode::Mode;

use crate::cx::{ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};

/// What the user is asked.
pub const QUESTION: &str = include_str!("question.md");

/// Switches to plan mode, if the user agrees.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnterPlanMode;

/// `EnterPlanMode` needs to know nothing.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnterPlanModeInput {}

impl Tool for EnterPlanMode {
    const NAME: &'static str = "EnterPlanMode";
    type Input = EnterPlanModeInput;

    fn describe(&self) -> Description {
        Description::new("Explores and designs first", include_str!("prompt.md"))
    }

    fn parallel(&self, _input: &EnterPlanModeInput) -> bool {
        true
    }

    fn read_only(&self, _input: &EnterPlanModeInput) -> bool {
        true
    }

    fn validate(&self, _input: &EnterPlanModeInput, view: &View) -> Result<(), String> {
        if view.sub_agent {
            return Err(
                "EnterPlanMode is not available to agents. Do your task, or say in your answer that it \
                        should be planned first."
                    .to_owned(),
            );
        }
        if view.mode == Mode::Plan {
            return Err("Plan mode is on already. Go on planning.".to_owned());
        }
        Ok(())
    }

    fn access(&self, _input: &EnterPlanModeInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, _input: EnterPlanModeInput, _cx: ToolCx) -> Result<Done, ToolError> {
        let text = include_str!("result.md").trim_end();
        Ok(Done::text(text).with_detail(json!({"message": text})))
    }
}
