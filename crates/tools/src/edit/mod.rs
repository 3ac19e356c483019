//! `Edit`: replaces text in a file, meeting the model half way where it cannot see the difference.

mod hint;
mod locate;
mod matched;
mod plan;
mod splice;
mod tokens;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_policy::Access;
use tiller_protocol::ask::FileChange;

use crate::blocking::blocking;
use crate::cx::{ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};
use crate::workspace::{self, Before};
use crate::written::{Echo, Written};

/// Replaces text in a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edit;

/// What `Edit` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditInput {
    /// The file.
    file_path: String,
    /// The text to replace.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl Tool for Edit {
    const NAME: &'static str = "Edit";
    const READS_FILES: bool = true;
    type Input = EditInput;

    fn describe(&self) -> Description {
        Description::new("Replaces text in a file", include_str!("prompt.md"))
    }

    fn validate(&self, input: &EditInput, view: &View) -> Result<(), String> {
        plan::plan(input, view).map(drop)
    }

    fn preview(&self, input: &EditInput, view: &View) -> Option<FileChange> {
        written(input, view).ok().map(|written| written.preview(view))
    }

    fn access(&self, input: &EditInput, view: &View) -> Vec<Access> {
        vec![Access::Write(workspace::place(view, &input.file_path))]
    }

    async fn run(&self, input: EditInput, cx: ToolCx) -> Result<Done, ToolError> {
        blocking(cx, move |cx| written(&input, &cx.view).map_err(ToolError::Model)?.write(cx)).await
    }
}

fn written(input: &EditInput, view: &View) -> Result<Written, String> {
    let plan = plan::plan(input, view)?;
    let headline = match (&plan.before, plan.places) {
        (Before::Absent, _) => format!("Created {}.", plan.path.display()),
        (_, 1) => format!("Edited {} at line {}.", plan.path.display(), plan.first_line()),
        (_, places) => format!("Edited {} at {places} places.", plan.path.display()),
    };
    Ok(Written {
        path: plan.path,
        before: plan.before,
        old_text: plan.old_text,
        new_text: plan.new_text,
        bytes: plan.bytes,
        headline,
        remarks: plan.remarks,
        echo: Echo::Excerpt,
        knowledge: plan.knowledge,
    })
}

#[cfg(test)]
mod tests;
