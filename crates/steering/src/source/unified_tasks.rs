//! `unified_tasks`: what has become of background commands and agents.

use tiller_protocol::entry::Attachment;

use super::{Cx, Group, Observation, Source, SourceError, Task};
use crate::attachment::{TaskProgress, TaskStatus, attach};
use crate::past::Past;

/// Turns between two messages about the progress of one task.
const DISTANCE: u32 = 3;
const RUNNING: &str = "running";

pub(super) struct UnifiedTasks;

impl Source for UnifiedTasks {
    const LABEL: &'static str = "unified_tasks";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["task_status", "task_progress"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let past = &cx.facts.past;
        let told = cx.facts.tasks.iter().filter_map(|task| match task.status.as_str() {
            RUNNING => progress(task, past),
            _ => status(task, past),
        });
        Ok(told.collect::<Vec<_>>().into())
    }
}

fn status(task: &Task, past: &Past) -> Option<Attachment> {
    if past.knows_end(&task.id, &task.status) {
        return None;
    }
    let status = TaskStatus {
        task_id: task.id.clone(),
        task_type: task.kind.clone(),
        status: task.status.clone(),
        description: task.description.clone(),
        delta_summary: None,
        how_to_read: task.how_to_read.clone(),
    };
    Some(attach(&status, UnifiedTasks::LABEL, format!("the background task {} has ended", task.id)))
}

fn progress(task: &Task, past: &Past) -> Option<Attachment> {
    let message = task.progress.clone()?;
    if past.turns_since_progress(&task.id).is_some_and(|turns| turns < DISTANCE) {
        return None;
    }
    let progress = TaskProgress { task_id: task.id.clone(), message };
    Some(attach(&progress, UnifiedTasks::LABEL, format!("the background task {} has news", task.id)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::Facts;
    use super::super::trial::observed;
    use super::*;
    use crate::past::Story;

    fn task(status: &str, progress: Option<&str>) -> Task {
        Task {
            id: "bash_1".to_owned(),
            kind: "bash".to_owned(),
            status: status.to_owned(),
            description: "make".to_owned(),
            how_to_read: "BashOutput".to_owned(),
            progress: progress.map(str::to_owned),
        }
    }

    async fn told(task: Task, story: Story) -> Vec<String> {
        let facts = Facts { tasks: vec![task], past: Arc::new(story.past), ..Facts::default() };
        observed(&UnifiedTasks, &facts).await.attachments.iter().map(|one| one.kind().to_owned()).collect()
    }

    // STEER-29
    #[tokio::test]
    async fn an_end_is_told_once() {
        let known = |status| {
            Story::default().attach(json!({"type": "task_status", "taskId": "bash_1", "status": status}))
        };
        assert!(told(task("running", None), Story::default()).await.is_empty());
        assert_eq!(told(task("failed", None), Story::default()).await, ["task_status"]);
        assert!(told(task("failed", None), known("failed")).await.is_empty());
        assert_eq!(told(task("completed", None), known("running")).await, ["task_status"]);
    }

    // STEER-29
    #[tokio::test]
    async fn progress_is_told_in_moderation() {
        let known = || Story::default().attach(json!({"type": "task_progress", "taskId": "bash_1"}));
        let news = || task("running", Some("half"));
        assert_eq!(told(news(), Story::default()).await, ["task_progress"]);
        assert!(told(news(), known().says(2)).await.is_empty());
        assert_eq!(told(news(), known().says(3)).await, ["task_progress"]);
    }
}
