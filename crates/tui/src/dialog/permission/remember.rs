//! "From now on": which rules that would add, where they would stand, and what they would have covered.

use std::path::PathBuf;

use ratatui::text::Line;
use tiller_protocol::ask::PermissionAsk;
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::{Behavior, Destination, RuleValue, Update};

use crate::text::visible_line;
use crate::theme::Theme;

/// Where rules can be kept, from narrow to wide.
const SCOPES: [(Destination, &str); 4] = [
    (Destination::Session, "this session"),
    (Destination::LocalSettings, "this project, only me"),
    (Destination::ProjectSettings, "this project, everyone"),
    (Destination::UserSettings, "all my projects"),
];
/// Earlier calls that are listed.
const COVERED: usize = 5;

/// The changes that are offered, and how far they shall reach.
#[derive(Clone, Debug)]
pub(super) struct Remember {
    updates: Vec<Update>,
    would_cover: Vec<String>,
    scope: usize,
}

impl Remember {
    /// None if nothing general can be offered.
    pub(super) fn of(ask: &PermissionAsk) -> Option<Self> {
        let first = ask.suggestions.iter().find(|update| has_scope(update)).or(ask.suggestions.first())?;
        let scope = SCOPES.iter().position(|(place, _)| *place == first.destination()).unwrap_or(0);
        Some(Self { updates: ask.suggestions.clone(), would_cover: ask.would_cover.clone(), scope })
    }

    pub(super) fn can_choose_scope(&self) -> bool {
        self.updates.iter().any(has_scope)
    }

    pub(super) fn widen(&mut self) {
        self.scope = (self.scope + 1) % SCOPES.len();
    }

    pub(super) fn narrow(&mut self) {
        self.scope = self.scope.checked_sub(1).unwrap_or(SCOPES.len() - 1);
    }

    /// The changes as they are to be made. The mode belongs to the session, whatever happens to the rules.
    pub(super) fn updates(&self) -> Vec<Update> {
        let placed = |update: &Update| match update {
            update if has_scope(update) => update.clone().meant_for(SCOPES[self.scope].0),
            update => update.clone(),
        };
        self.updates.iter().map(placed).collect()
    }

    pub(super) fn label(&self) -> String {
        let what: Vec<String> = self.updates.iter().map(described).collect();
        format!("Yes, and from now on {}", what.join(", "))
    }

    /// What is told about it while it is marked, or if it is printed once and for all.
    pub(super) fn detail(&self, marked: bool, theme: &Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        if self.can_choose_scope() {
            let scope = SCOPES[self.scope].1;
            let text = if marked && !theme.is_printed {
                format!("← in {scope} →")
            } else {
                format!("in {scope}")
            };
            lines.push(Line::styled(text, theme.edits));
        }
        if (marked || theme.is_printed) && !self.would_cover.is_empty() {
            lines.push(Line::styled("would have covered as well:", theme.dim));
            let shown = self.would_cover.iter().take(COVERED);
            lines.extend(shown.map(|call| Line::styled(format!("· {}", visible_line(call)), theme.dim)));
            let more = self.would_cover.len().saturating_sub(COVERED);
            if more > 0 {
                lines.push(Line::styled(format!("· and {more} more"), theme.dim));
            }
        }
        lines
    }
}

fn has_scope(update: &Update) -> bool {
    !matches!(update, Update::SetMode { .. })
}

/// A change in a few words.
pub(crate) fn described(update: &Update) -> String {
    match update {
        Update::SetMode { mode: Mode::AcceptEdits, .. } => "accept all edits of this session".to_owned(),
        Update::SetMode { mode, .. } => format!("work in mode {mode}"),
        Update::AddRules { rules, behavior, .. } => format!("{} {}", verb(*behavior), listed(rules)),
        Update::ReplaceRules { rules, behavior, .. } => {
            format!("{} only {} instead of what the rules there say", verb(*behavior), listed(rules))
        }
        Update::RemoveRules { rules, behavior, .. } => {
            format!("no longer {} {}", verb(*behavior), listed(rules))
        }
        Update::AddDirectories { directories, .. } => format!("work in {} as well", places(directories)),
        Update::RemoveDirectories { directories, .. } => format!("no longer work in {}", places(directories)),
    }
}

fn verb(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::Allow => "allow",
        Behavior::Ask => "ask about",
        Behavior::Deny => "deny",
    }
}

fn listed(rules: &[RuleValue]) -> String {
    let all: Vec<String> = rules.iter().map(|rule| visible_line(&rule.spelled())).collect();
    all.join(" and ")
}

fn places(directories: &[PathBuf]) -> String {
    let all: Vec<String> = directories.iter().map(|dir| visible_line(&dir.display().to_string())).collect();
    all.join(" and ")
}
