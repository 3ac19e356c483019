//! The attachments of plan mode.

mod agent_counts;

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::text::{Filled, fill};
use super::{Kind, Rendered};
use tiller_protocol::template::{Facts, render};

pub use agent_counts::AgentCounts;

const FULL: &str = include_str!("full.md");
const SPARSE: &str = include_str!("sparse.md");
const AGENT: &str = include_str!("agent.md");
const REENTRY: &str = include_str!("reentry.md");
const EXIT: &str = include_str!("exit.md");
const FILE_REFERENCE: &str = include_str!("file_reference.md");

/// Plan mode is on.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanMode {
    /// How much of it is told.
    pub reminder_type: ReminderType,
    /// Whether a sub-agent is told.
    pub is_sub_agent: bool,
    /// The only file that may be changed.
    pub plan_file_path: PathBuf,
    /// Whether it is there already.
    pub plan_exists: bool,
    /// Who is told.
    #[serde(skip)]
    pub reader: PlanReader,
}

/// How much is told of plan mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReminderType {
    /// Everything.
    Full,
    /// That it still holds.
    Sparse,
}

/// What the texts depend on besides.
#[derive(Clone, Debug, Default)]
pub struct PlanReader {
    /// The tools of the agent; a text names no other.
    pub tools: Vec<String>,
    /// How many agents may explore and design.
    pub counts: AgentCounts,
}

impl Kind for PlanMode {
    const NAME: &'static str = "plan_mode";

    fn render(&self) -> Rendered {
        let template = match (self.is_sub_agent, self.reminder_type) {
            (true, _) => AGENT,
            (false, ReminderType::Sparse) => SPARSE,
            (false, ReminderType::Full) => FULL,
        };
        Rendered::reminder(&self.fill(template))
    }
}

impl PlanMode {
    fn fill(&self, template: &str) -> Filled {
        let counts = self.reader.counts;
        let mut holds = vec![if self.plan_exists { "plan-exists" } else { "plan-missing" }];
        holds.extend((counts.plan > 1).then_some("several-plan-agents"));
        fill(
            &self.reader.select(template, &holds),
            &[
                ("path", &self.plan_file_path.to_string_lossy()),
                ("explore_agents", &counts.explore.to_string()),
                ("plan_agents", &counts.plan.to_string()),
            ],
        )
    }
}

impl PlanReader {
    /// The lines of a text that apply to an agent with these tools, when these conditions hold.
    fn select(&self, template: &str, conditions: &[&str]) -> String {
        let mut holds: Vec<&str> = self.tools.iter().map(String::as_str).collect();
        holds.extend(conditions);
        render(template, Facts { tools: &holds, interactive: true })
    }
}

/// Plan mode is on again, and there is a plan of the time before.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanModeReentry {
    /// The plan.
    pub plan_file_path: PathBuf,
    /// Who is told.
    #[serde(skip)]
    pub reader: PlanReader,
}

impl Kind for PlanModeReentry {
    const NAME: &'static str = "plan_mode_reentry";

    fn render(&self) -> Rendered {
        let text = self.reader.select(REENTRY, &[]);
        Rendered::reminder(&at(&text, &self.plan_file_path))
    }
}

/// Plan mode was left.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanModeExit {
    /// The plan.
    pub plan_file_path: PathBuf,
    /// Whether there is one.
    pub plan_exists: bool,
}

impl Kind for PlanModeExit {
    const NAME: &'static str = "plan_mode_exit";

    fn render(&self) -> Rendered {
        let conditions: &[&str] = if self.plan_exists { &["plan-exists"] } else { &[] };
        let text = PlanReader::default().select(EXIT, conditions);
        Rendered::reminder(&at(&text, &self.plan_file_path))
    }
}

/// The plan, after compaction.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanFileReference {
    /// The plan.
    pub plan_file_path: PathBuf,
    /// What it says.
    pub plan_content: String,
}

impl Kind for PlanFileReference {
    const NAME: &'static str = "plan_file_reference";

    fn render(&self) -> Rendered {
        let path = self.plan_file_path.to_string_lossy();
        Rendered::reminder(&fill(FILE_REFERENCE, &[("path", &path), ("content", &self.plan_content)]))
    }
}

fn at(template: &str, path: &Path) -> Filled {
    fill(template, &[("path", &path.to_string_lossy())])
}

#[cfg(test)]
mod tests;
