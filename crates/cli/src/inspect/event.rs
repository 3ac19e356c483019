//! What happened besides requests, calls, decisions and hooks, in a line each.

use serde::Serialize;
use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::{Effect, PlanVersion, Todo, TodoStatus};
use tiller_protocol::entry::{Body, Delivery, Level, Queued};
use tiller_protocol::rewind::Rewound;

use super::compaction;
use super::excerpt::short;
use super::figures::counted;
use super::report::{Event, EventKind, Mark};

/// The events of an entry.
pub(super) fn of(body: &Body, mark: Mark) -> Vec<Event> {
    let event = |kind, level, text| Event { mark, kind, subtype: None, level, text };
    let info = |kind, text| vec![event(kind, Level::Info, text)];
    match body {
        Body::Opened(opened) => {
            info(EventKind::Opened, format!("opened ({}) in {}", opened.source, opened.cwd.display()))
        }
        Body::Epoch(epoch) => info(EventKind::Epoch, format!("a new epoch began: {}", epoch.reason)),
        Body::Notice(notice) => vec![Event {
            subtype: Some(notice.subtype.clone()),
            ..event(EventKind::Notice, notice.level, notice.content.clone())
        }],
        Body::Repaired(repair) => vec![event(EventKind::Repaired, Level::Warning, repair.what.clone())],
        Body::Orphaned(orphaned) => {
            let count = orphaned.ids.len();
            let text = format!(
                "an answer became void ({}): {count} entries are not sent again",
                word(&orphaned.cause)
            );
            vec![event(EventKind::Orphaned, Level::Warning, text)]
        }
        Body::Queued(queued) => info(EventKind::Queued, told(queued)),
        Body::Dequeued(gone) => {
            let count = counted(gone.ids.len() as u64, "waiting message was", "waiting messages were");
            info(EventKind::Dequeued, format!("{count} dropped"))
        }
        Body::Compacted(compacted) => info(EventKind::Compacted, compaction::told(compacted)),
        Body::Cleared(cleared) => {
            let count = counted(cleared.calls.len() as u64, "old result was", "old results were");
            info(EventKind::Cleared, format!("{count} cleared, about {} tokens", cleared.tokens))
        }
        Body::Rewound(rewound) => info(EventKind::Rewound, went_back(rewound)),
        Body::Effect(effect) => of_effect(effect, mark).into_iter().collect(),
        Body::Result(result) => result.effects.iter().filter_map(|effect| of_effect(effect, mark)).collect(),
        Body::Unknown(value) => {
            let kind = value.get("type").and_then(Value::as_str).unwrap_or("nameless");
            let text = format!("an entry that this version does not understand: {kind}");
            vec![event(EventKind::Unknown, Level::Warning, text)]
        }
        _ => Vec::new(),
    }
}

fn of_effect(effect: &Effect, mark: Mark) -> Option<Event> {
    let (kind, text) = match effect {
        Effect::SetMode { mode } => (EventKind::Mode, format!("the mode is now {mode}")),
        Effect::SetModel { model } => (EventKind::Model, format!("the model is now {model}")),
        Effect::Permissions { updates } => {
            let updates: Vec<_> = updates.iter().map(json).collect();
            (EventKind::Permissions, format!("permissions changed: {}", updates.join(", ")))
        }
        Effect::SetTodos { todos } => (EventKind::Todos, todo_list(todos)),
        Effect::ChangeDir { path } => {
            (EventKind::Directory, format!("commands start in {} now", path.display()))
        }
        Effect::SetPlan { slug } => (EventKind::Plan, format!("the plan is called {slug}")),
        Effect::PlanKept(PlanVersion { moment, content, .. }) => {
            let lines = counted(content.lines().count() as u64, "line", "lines");
            (EventKind::Plan, format!("the plan was {} ({lines})", moment.words()))
        }
        Effect::SkillUsed(used) => (EventKind::Skill, format!("the skill {} is followed", used.name)),
        Effect::Snapshot { .. }
        | Effect::NotKept { .. }
        | Effect::WentBack { .. }
        | Effect::FileSeen(_)
        | Effect::FileForgotten { .. }
        | Effect::PlanApproved { .. }
        | Effect::FilesTakenOver { .. }
        | Effect::RecipeCalled(_)
        | Effect::Shaped(_) => return None,
    };
    Some(Event { mark, kind, subtype: None, level: Level::Info, text })
}

fn went_back(rewound: &Rewound) -> String {
    if rewound.unfolded.is_some() {
        return "the last compaction was undone".to_owned();
    }
    let what = match (&rewound.conversation, &rewound.files) {
        (Some(_), Some(_)) => "conversation and files",
        (Some(_), None) => "the conversation",
        (None, _) => "files",
    };
    match (rewound.to, rewound.branch) {
        (Some(prompt), _) => format!("{what} went back to before the prompt {prompt}"),
        (None, Some(_)) => format!("going on from what was left behind: {what}"),
        (None, None) => format!("going back was undone: {what}"),
    }
}

fn told(queued: &Queued) -> String {
    let text: Vec<String> = queued.content.iter().filter_map(RawBlock::as_text).collect();
    let text = short(&text.join(" "));
    match queued.delivery {
        Delivery::Steer => format!("the user steered: {text}"),
        Delivery::Queue => format!("the user queued: {text}"),
        Delivery::WithNext => format!("the user noted: {text}"),
    }
}

fn todo_list(todos: &[Todo]) -> String {
    let count = |status| todos.iter().filter(|todo| todo.status == status).count();
    let (done, running, open) =
        (count(TodoStatus::Completed), count(TodoStatus::InProgress), count(TodoStatus::Pending));
    format!("todo list: {done} done, {running} in progress, {open} to do")
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A name as the log writes it.
pub(super) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(other) => other.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
        Err(_) => String::new(),
    }
}
