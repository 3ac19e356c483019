//! `todo_reminders`: a hint when the todo list is not used for long.

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{TodoReminder, attach};

/// Turns without the list, and turns since the last hint.
const PATIENCE: u32 = 10;

pub(super) struct TodoReminders;

impl Source for TodoReminders {
    const LABEL: &'static str = "todo_reminders";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["todo_reminder"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let (facts, past) = (cx.facts, &cx.facts.past);
        let unused = past.turns_without_todo_write();
        let due = facts.tools.iter().any(|tool| tool == "TodoWrite")
            && past.called_since_prompt()
            && unused >= PATIENCE
            && past.turns_without("todo_reminder") >= PATIENCE;
        let why = format!("TodoWrite was not used for {unused} answers");
        Ok(due.then(|| attach(&TodoReminder::new(facts.todos.clone()), Self::LABEL, why)).into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::Facts;
    use super::super::trial::observed;
    use super::*;
    use crate::past::Story;

    async fn is_told(story: Story, tools: &[&str]) -> bool {
        let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
        let facts = Facts { past: Arc::new(story.past), tools, ..Facts::default() };
        !observed(&TodoReminders, &facts).await.attachments.is_empty()
    }

    const WITH: &[&str] = &["Read", "TodoWrite"];

    fn reads(story: Story, times: u32) -> Story {
        (0..times).fold(story, |story, _| story.calls("Read"))
    }

    fn reminder() -> serde_json::Value {
        json!({"type": "todo_reminder"})
    }

    // STEER-28 TODO-12
    #[tokio::test]
    async fn ten_turns_without_use_and_ten_since_the_last_hint() {
        let begun = || Story::default().prompt();
        assert!(!is_told(reads(begun(), 9), WITH).await);
        assert!(is_told(reads(begun(), 10), WITH).await);
        assert!(!is_told(reads(begun().calls("TodoWrite"), 9), WITH).await);
        assert!(is_told(reads(begun().calls("TodoWrite"), 10), WITH).await);
        assert!(!is_told(reads(reads(begun(), 10).attach(reminder()), 9), WITH).await);
        assert!(is_told(reads(reads(begun(), 10).attach(reminder()), 10), WITH).await);
        assert!(!is_told(reads(begun().attach(reminder()).calls("Read").calls("TodoWrite"), 9), WITH).await);
    }

    // TODO-13
    #[tokio::test]
    async fn without_the_tool_there_is_no_hint() {
        assert!(!is_told(reads(Story::default().prompt(), 20), &["Read"]).await);
    }

    // STEER-28
    #[tokio::test]
    async fn mere_conversation_needs_no_list() {
        assert!(!is_told(Story::default().prompt().says(20), WITH).await);
        assert!(!is_told(reads(Story::default().prompt(), 20).prompt(), WITH).await);
        assert!(is_told(reads(Story::default().prompt(), 20).prompt().calls("Read"), WITH).await);
    }
}
