//! Changes to what is permitted, as data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tiller_protocol::mode::Mode;

use crate::context::Context;
use crate::rule::{Behavior, Origin, Rule, RuleError, Source};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Update {
    /// Another mode.
    SetMode {
        /// The new mode.
        mode: Mode,
        /// Where it is kept.
        destination: Destination,
    },
    /// More rules.
    AddRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// What they say.
        behavior: Behavior,
        /// Where they are kept.
        destination: Destination,
    },
    /// Other rules instead of all that say the same in the same place.
    ReplaceRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// What they say.
        behavior: Behavior,
        /// Where they are kept.
        destination: Destination,
    },
    /// Fewer rules.
    RemoveRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// What they say.
        behavior: Behavior,
        /// Where they are kept.
        destination: Destination,
    },
    /// More working directories.
    AddDirectories {
        /// The directories, absolute.
        directories: Vec<PathBuf>,
        /// Where they are kept.
        destination: Destination,
    },
    /// Fewer working directories.
    RemoveDirectories {
        /// The directories, absolute.
        directories: Vec<PathBuf>,
        /// Where they are kept.
        destination: Destination,
    },
}

/// A rule in two fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// What of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

/// Where a change is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// In memory, until the session ends.
    Session,
    /// In the project's settings for this machine.
    LocalSettings,
    /// In the project's settings.
    ProjectSettings,
    /// In the user's settings.
    UserSettings,
}

impl Destination {
    fn source(self) -> Source {
        match self {
            Self::Session => Source::Session,
            Self::LocalSettings => Source::Local,
            Self::ProjectSettings => Source::Project,
            Self::UserSettings => Source::User,
        }
    }
}

impl RuleValue {
    /// Only what can also be written in settings is a rule.
    fn rule(&self, source: Source) -> Result<Rule, RuleError> {
        let text = match &self.rule_content {
            None => self.tool_name.clone(),
            Some(content) => format!("{}({content})", self.tool_name),
        };
        let rule: Rule = text.parse()?;
        Ok(rule.from_origin(Origin { source, file: None }))
    }
}

impl From<&Rule> for RuleValue {
    fn from(rule: &Rule) -> Self {
        Self { tool_name: rule.tool.clone(), rule_content: rule.content.clone() }
    }
}

/// A change that cannot be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// The session was not started so that it could bypass permissions.
    #[error(
        "bypassing permissions is not available in this session; start it with --allow-dangerously-skip-permissions"
    )]
    BypassUnavailable,
    /// A rule cannot be understood.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// Applies changes in order: all of them or, on an error, none.
///
/// # Errors
/// When one of them cannot be made.
pub fn apply(cx: &Context, updates: &[Update]) -> Result<Context, UpdateError> {
    let mut cx = cx.clone();
    for update in updates {
        match update {
            Update::SetMode { mode, .. } => {
                if *mode == Mode::BypassPermissions && !cx.bypass_available && cx.mode != *mode {
                    return Err(UpdateError::BypassUnavailable);
                }
                cx.mode = *mode;
            }
            Update::AddRules { rules, behavior, destination } => {
                add(&mut cx, rules, *behavior, destination.source())?;
            }
            Update::ReplaceRules { rules, behavior, destination } => {
                let source = destination.source();
                cx.rules.of_mut(*behavior).retain(|rule| rule.origin.source != source);
                add(&mut cx, rules, *behavior, source)?;
            }
            Update::RemoveRules { rules, behavior, destination } => {
                let source = destination.source();
                cx.rules
                    .of_mut(*behavior)
                    .retain(|rule| rule.origin.source != source || !rules.contains(&RuleValue::from(rule)));
            }
            Update::AddDirectories { directories, .. } => {
                for dir in directories {
                    let real = cx.place(dir).real;
                    if !cx.roots.contains(&real) {
                        cx.roots.push(real);
                    }
                }
            }
            Update::RemoveDirectories { directories, .. } => {
                let gone: Vec<PathBuf> = directories.iter().map(|dir| cx.place(dir).real).collect();
                let first = cx.roots.first().cloned();
                cx.roots.retain(|root| Some(root) == first.as_ref() || !gone.contains(root));
            }
        }
    }
    Ok(cx)
}

fn add(cx: &mut Context, rules: &[RuleValue], behavior: Behavior, source: Source) -> Result<(), RuleError> {
    for rule in rules {
        let rule = rule.rule(source)?;
        let all = cx.rules.of_mut(behavior);
        if !all.contains(&rule) {
            all.push(rule);
        }
    }
    Ok(())
}

/// The mode after this one when the user cycles through them.
#[must_use]
pub fn next_mode(mode: Mode, bypass_available: bool) -> Mode {
    match mode {
        Mode::Default => Mode::AcceptEdits,
        Mode::AcceptEdits => Mode::Plan,
        Mode::Plan if bypass_available => Mode::BypassPermissions,
        Mode::Plan | Mode::BypassPermissions | Mode::DontAsk => Mode::Default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cx() -> Context {
        Context { roots: vec!["/w".into()], ..Context::default() }
    }

    fn parse(json: serde_json::Value) -> Vec<Update> {
        serde_json::from_value(json).unwrap()
    }

    // PERM-09, PERM-10
    #[test]
    fn updates_are_applied_in_their_order() {
        let updates = parse(serde_json::json!([
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "addRules", "behavior": "allow", "destination": "session",
             "rules": [{"toolName": "Bash", "ruleContent": "a"}, {"toolName": "Bash", "ruleContent": "b"}]},
            {"type": "addRules", "behavior": "allow", "destination": "userSettings", "rules": [{"toolName": "Read"}]},
            {"type": "removeRules", "behavior": "allow", "destination": "session",
             "rules": [{"toolName": "Bash", "ruleContent": "a"}, {"toolName": "Read"}]},
            {"type": "addRules", "behavior": "deny", "destination": "projectSettings", "rules": [{"toolName": "x"}]},
            {"type": "replaceRules", "behavior": "deny", "destination": "projectSettings", "rules": [{"toolName": "y"}]},
            {"type": "addDirectories", "destination": "session", "directories": ["/a", "/b/../c", "/a"]},
            {"type": "removeDirectories", "destination": "session", "directories": ["/a", "/w"]},
            {"type": "setMode", "mode": "plan", "destination": "localSettings"}
        ]));
        let after = apply(&cx(), &updates).unwrap();
        let show = |rules: &[Rule]| {
            rules.iter().map(|rule| (rule.to_string(), rule.origin.source)).collect::<Vec<_>>()
        };
        assert_eq!(
            show(&after.rules.allow),
            [("Bash(b)".into(), Source::Session), ("Read".into(), Source::User)]
        );
        assert_eq!(show(&after.rules.deny), [("y".into(), Source::Project)]);
        assert_eq!(after.roots, [PathBuf::from("/w"), "/c".into()]);
        assert_eq!(after.mode, Mode::Plan);
    }

    // PERM-20
    #[test]
    fn bypass_cannot_be_switched_on_where_it_is_not_available() {
        let updates = parse(serde_json::json!([
            {"type": "addRules", "behavior": "allow", "destination": "session", "rules": [{"toolName": "Bash"}]},
            {"type": "setMode", "mode": "bypassPermissions", "destination": "session"}
        ]));
        assert_eq!(apply(&cx(), &updates).unwrap_err(), UpdateError::BypassUnavailable);
        let available = Context { bypass_available: true, ..cx() };
        assert_eq!(apply(&available, &updates).unwrap().mode, Mode::BypassPermissions);
    }

    #[test]
    fn a_text_that_is_no_rule_changes_nothing() {
        let update = Update::AddRules {
            rules: vec![RuleValue { tool_name: "not a tool".to_owned(), rule_content: None }],
            behavior: Behavior::Allow,
            destination: Destination::Session,
        };
        assert!(matches!(apply(&cx(), &[update]), Err(UpdateError::Rule(_))));
    }

    // PERM-13
    #[test]
    fn the_mode_key_cycles_in_its_order() {
        let cycle = |bypass| {
            let mut modes = vec![Mode::Default];
            while modes.len() < 5 {
                modes.push(next_mode(modes[modes.len() - 1], bypass));
            }
            modes
        };
        let (default, edits, plan) = (Mode::Default, Mode::AcceptEdits, Mode::Plan);
        assert_eq!(cycle(false), [default, edits, plan, default, edits]);
        assert_eq!(cycle(true), [default, edits, plan, Mode::BypassPermissions, default]);
        assert_eq!(next_mode(Mode::DontAsk, true), default);
    }
}
