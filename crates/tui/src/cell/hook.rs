//! Hooks: those that went well stay silent.

use ratatui::text::Line;
use tiller_protocol::entry::Level;
use tiller_protocol::hook::{HookEnd, HookRecord};

use super::{Paper, told};

/// A hook that ran, if there is anything to tell about it.
pub(crate) fn hook(record: &HookRecord, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let (level, what) = match record.end {
        HookEnd::Success | HookEnd::Detached | HookEnd::Cancelled => return Vec::new(),
        HookEnd::Blocked => (Level::Warning, "said no"),
        HookEnd::Failed => (Level::Error, "failed"),
        HookEnd::TimedOut => (Level::Error, "took too long"),
    };
    let said = if record.stderr.trim().is_empty() { record.stdout.trim() } else { record.stderr.trim() };
    let said = said.lines().take(5).collect::<Vec<_>>().join("\n");
    let colon = if said.is_empty() { "" } else { ": " };
    told(level, &format!("{} hook {} {what}{colon}{said}", record.event, record.name), paper)
}
