//! The approved plan that the work is to be held against.

use std::path::PathBuf;

use tiller_protocol::effect::{Effect, TodoStatus};
use tiller_protocol::entry::CallResult;
use tiller_protocol::mode::Mode;

use crate::source::Approval;

/// What is known of an approved plan, and of the list by which it is carried out.
#[derive(Clone, Debug, Default)]
pub(super) struct Approved {
    pending: Option<Pending>,
    /// The todo list has open items.
    todos_open: bool,
}

#[derive(Clone, Debug)]
struct Pending {
    path: PathBuf,
    /// The number of turns at the approval.
    turn: u32,
    reminders: u32,
    /// The last open item was completed, and no reminder came since.
    todos_completed: bool,
}

impl Approved {
    /// Follows a change of state in this turn.
    pub(super) fn effect(&mut self, effect: &Effect, turn: u32) {
        match effect {
            Effect::PlanApproved { path } => {
                let path = path.clone();
                self.pending = Some(Pending { path, turn, reminders: 0, todos_completed: false });
            }
            Effect::SetTodos { todos } => {
                let open = todos.iter().any(|todo| todo.status != TodoStatus::Completed);
                let completed = std::mem::replace(&mut self.todos_open, open) && !open;
                if let Some(pending) = self.pending.as_mut().filter(|_| completed) {
                    pending.todos_completed = true;
                }
            }
            // A new plan is being made; the old one is no measure any more.
            effect if effect.mode() == Some(Mode::Plan) => self.pending = None,
            _ => {}
        }
    }

    /// A reminder was given.
    pub(super) fn reminded(&mut self) {
        if let Some(pending) = &mut self.pending {
            pending.reminders += 1;
            pending.todos_completed = false;
        }
    }

    /// Whoever reads the plan after a reminder has acted upon it.
    pub(super) fn result(&mut self, result: &CallResult) {
        let reads = result.tool == "Read" && !result.is_error;
        let Some(read) = result.detail["file"]["filePath"].as_str().filter(|_| reads) else { return };
        let acted = |pending: &Pending| pending.reminders > 0 && pending.path.as_os_str() == read;
        if self.pending.as_ref().is_some_and(acted) {
            self.pending = None;
        }
    }

    /// Where it stands after so many turns.
    pub(super) fn standing(&self, turns: u32) -> Option<Approval> {
        let pending = self.pending.as_ref()?;
        Some(Approval {
            turns_since: turns.saturating_sub(pending.turn),
            todos_completed: pending.todos_completed,
            reminders: pending.reminders,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tiller_protocol::effect::Todo;

    use super::*;
    use crate::past::Story;

    fn approved() -> Effect {
        Effect::PlanApproved { path: "/plans/a.md".into() }
    }

    fn todos(states: &[TodoStatus]) -> Effect {
        let todo = |status: &TodoStatus| Todo {
            content: "do".to_owned(),
            status: *status,
            active_form: "doing".to_owned(),
        };
        Effect::SetTodos { todos: states.iter().map(todo).collect() }
    }

    fn reads(story: Story, path: &str) -> Story {
        story.result("Read", json!({"file": {"filePath": path}}))
    }

    // PLAN-60
    #[test]
    fn an_approval_is_pending_until_it_is_acted_upon() {
        let story = Story::default().says(3).effect(approved()).says(4);
        assert_eq!(story.past.approval().unwrap().turns_since, 4);
        let unprompted = reads(story, "/plans/a.md");
        assert!(unprompted.past.approval().is_some(), "reading before a reminder is no answer to it");
        let reminded = unprompted.attach(json!({"type": "verify_plan_reminder"}));
        assert_eq!(reminded.past.approval().unwrap().reminders, 1);
        assert!(reads(reminded.clone(), "/other").past.approval().is_some());
        assert!(reads(reminded, "/plans/a.md").past.approval().is_none());
    }

    // PLAN-60
    #[test]
    fn planning_anew_disarms_it() {
        let story = Story::default().effect(approved());
        assert!(story.clone().effect(Effect::SetMode { mode: Mode::Default }).past.approval().is_some());
        assert!(story.effect(Effect::SetMode { mode: Mode::Plan }).past.approval().is_none());
    }

    // PLAN-60
    #[test]
    fn the_end_of_the_list_is_noticed_once() {
        use TodoStatus::{Completed, InProgress, Pending};
        let told = |story: &Story| story.past.approval().unwrap().todos_completed;
        let story = Story::default().effect(todos(&[Pending])).effect(approved());
        assert!(!told(&story));
        let working = story.effect(todos(&[Completed, InProgress]));
        assert!(!told(&working));
        // A list that is done is cleared.
        let done = working.effect(todos(&[]));
        assert!(told(&done));
        let reminded = done.attach(json!({"type": "verify_plan_reminder"}));
        assert!(!told(&reminded));
        assert!(!told(&reminded.effect(todos(&[]))));
    }
}
