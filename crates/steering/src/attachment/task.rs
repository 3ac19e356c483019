//! `task_status`, `task_progress`: commands and agents in the background.

use serde::Serialize;

use super::text::{Filled, fill};
use super::{Kind, Rendered};

const STATUS: &str = include_str!("task_status.md");
const PROGRESS: &str = include_str!("task_progress.md");

/// A background task whose status has changed, or that goes on after compaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// The name under which it can be asked for.
    pub task_id: String,
    /// `bash` or `agent`.
    pub task_type: String,
    /// Where it stands, e.g. `completed`.
    pub status: String,
    /// What it is.
    pub description: String,
    /// What has happened since it was last looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta_summary: Option<String>,
    /// How its output can be had.
    #[serde(skip)]
    pub how_to_read: String,
}

impl Kind for TaskStatus {
    const NAME: &'static str = "task_status";

    fn render(&self) -> Rendered {
        let status = fill(
            STATUS,
            &[
                ("kind", &self.task_type),
                ("id", &self.task_id),
                ("description", &self.description),
                ("status", &self.status),
                ("how", &self.how_to_read),
            ],
        );
        let delta = self.delta_summary.as_deref().map(Filled::outside).unwrap_or_default();
        Rendered::reminder(&status.then(&delta))
    }
}

/// News from a background task that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskProgress {
    /// The task.
    pub task_id: String,
    /// What is new.
    pub message: String,
}

impl Kind for TaskProgress {
    const NAME: &'static str = "task_progress";

    fn render(&self) -> Rendered {
        Rendered::reminder(&fill(PROGRESS, &[("id", &self.task_id), ("message", &self.message)]))
    }
}
