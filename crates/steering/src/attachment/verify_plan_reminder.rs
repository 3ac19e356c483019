//! `verify_plan_reminder`: the plan that was approved.

use std::path::PathBuf;

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("verify_plan_reminder.md");

/// A reminder to hold the work against the plan.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifyPlanReminder {
    /// The plan.
    pub plan_file_path: PathBuf,
}

impl Kind for VerifyPlanReminder {
    const NAME: &'static str = "verify_plan_reminder";

    fn render(&self) -> Rendered {
        Rendered::reminder(&fill(TEXT, &[("path", &self.plan_file_path.to_string_lossy())]))
    }
}
