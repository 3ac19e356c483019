//! Changes to what is permitted, as data.

use std::path::{Path, PathBuf};

use tiller_protocol::mode::Mode;
use tiller_protocol::permission::{Behavior, Destination, RuleValue, Update};

use crate::context::Context;
use crate::rule::{Origin, Rule, RuleError, Source};

/// The kind of place that rules with this destination come from.
fn source(destination: Destination) -> Source {
    match destination {
        Destination::Session => Source::Session,
        Destination::LocalSettings => Source::Local,
        Destination::ProjectSettings => Source::Project,
        Destination::UserSettings => Source::User,
    }
}

/// Only what can also be written in settings is a rule.
fn rule(value: &RuleValue, source: Source) -> Result<Rule, RuleError> {
    let rule: Rule = value.spelled().parse()?;
    Ok(rule.from_origin(Origin { source, file: None }))
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

/// Applies changes in order: all of them or, on an error, none. Rules of the command line and of a policy are out of
/// reach.
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
                add(&mut cx, rules, *behavior, source(*destination))?;
            }
            Update::ReplaceRules { rules, behavior, destination } => {
                let source = source(*destination);
                cx.rules.of_mut(*behavior).retain(|rule| rule.origin.source != source);
                add(&mut cx, rules, *behavior, source)?;
            }
            Update::RemoveRules { rules, behavior, destination } => {
                remove(&mut cx, rules, *behavior, source(*destination))?;
            }
            Update::AddDirectories { directories, .. } => {
                for dir in directories {
                    let real = directory(&cx, dir);
                    if !cx.roots.contains(&real) {
                        cx.roots.push(real);
                    }
                }
            }
            Update::RemoveDirectories { directories, .. } => remove_directories(&mut cx, directories),
        }
    }
    Ok(cx)
}

fn add(cx: &mut Context, rules: &[RuleValue], behavior: Behavior, source: Source) -> Result<(), RuleError> {
    for value in rules {
        let rule = rule(value, source)?;
        let all = cx.rules.of_mut(behavior);
        if !all.contains(&rule) {
            all.push(rule);
        }
    }
    Ok(())
}

fn remove(
    cx: &mut Context,
    rules: &[RuleValue],
    behavior: Behavior,
    source: Source,
) -> Result<(), RuleError> {
    for value in rules {
        let gone = RuleValue::from(&rule(value, source)?);
        let all = cx.rules.of_mut(behavior);
        all.retain(|rule| rule.origin.source != source || RuleValue::from(rule) != gone);
    }
    Ok(())
}

/// Where a directory really is; a relative one starts where the session was started.
fn directory(cx: &Context, dir: &Path) -> PathBuf {
    let start = cx.roots.first().map(PathBuf::as_path).unwrap_or(Path::new("/"));
    cx.place(&start.join(dir)).real
}

/// What a rule forbids in a directory stays forbidden when it is a working directory no longer.
fn remove_directories(cx: &mut Context, directories: &[PathBuf]) {
    let gone: Vec<PathBuf> = directories.iter().map(|dir| directory(cx, dir)).collect();
    let is_gone = |at: usize, root: &PathBuf| at > 0 && gone.contains(root);
    let (mut kept, mut former) = (Vec::new(), Vec::new());
    for (at, root) in std::mem::take(&mut cx.roots).into_iter().enumerate() {
        if is_gone(at, &root) { former.push(root) } else { kept.push(root) }
    }
    cx.roots = kept;
    cx.former_roots.extend(former);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::{Access, Request, Script};
    use crate::decide::{Decision, approve, decide};

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

    #[test]
    fn rules_are_removed_however_they_are_written() {
        let rule = |content: Option<&str>| RuleValue {
            tool_name: "Bash".to_owned(),
            rule_content: content.map(str::to_owned),
        };
        let change = |rules, add: bool| {
            let (behavior, destination) = (Behavior::Deny, Destination::UserSettings);
            match add {
                true => Update::AddRules { rules, behavior, destination },
                false => Update::RemoveRules { rules, behavior, destination },
            }
        };
        let updates = [change(vec![rule(Some("*"))], true), change(vec![rule(None)], false)];
        assert_eq!(apply(&cx(), &updates).unwrap().rules.deny, []);
    }

    fn any_update() -> impl Strategy<Value = Update> {
        let rule =
            prop::sample::select(vec!["Read", "Read(secret/**)", "Edit(secret/**)", "Bash(rm:*)", "Bash"]);
        let value = rule.prop_map(|text| RuleValue::from(&text.parse::<Rule>().unwrap()));
        let behavior = prop::sample::select(vec![Behavior::Allow, Behavior::Ask, Behavior::Deny]);
        let destination = prop::sample::select(vec![
            Destination::Session,
            Destination::LocalSettings,
            Destination::ProjectSettings,
            Destination::UserSettings,
        ]);
        let dirs = prop::sample::select(vec!["/w", "/extra", "/"]);
        (
            0..6,
            prop::collection::vec(value, 0..3),
            behavior,
            destination,
            dirs,
            prop::sample::select(Mode::ALL.to_vec()),
        )
            .prop_map(|(kind, rules, behavior, destination, dir, mode)| {
                let directories = vec![PathBuf::from(dir)];
                match kind {
                    0 => Update::SetMode { mode, destination },
                    1 => Update::AddRules { rules, behavior, destination },
                    2 => Update::ReplaceRules { rules, behavior, destination },
                    3 => Update::RemoveRules { rules, behavior, destination },
                    4 => Update::AddDirectories { directories, destination },
                    _ => Update::RemoveDirectories { directories, destination },
                }
            })
    }

    proptest! {
        // PERM-20: what a policy forbids stays forbidden, whatever an answer says.
        #[test]
        fn no_change_loosens_what_a_policy_forbids(updates in prop::collection::vec(any_update(), 0..6)) {
            let mut before = Context { roots: vec!["/w".into(), "/extra".into()], ..Context::default() };
            for rule in ["Read(secret/**)", "Edit(secret/**)", "Bash(rm:*)"] {
                let origin = Origin { source: Source::Managed, file: None };
                before.rules.deny.push(rule.parse::<Rule>().unwrap().from_origin(origin));
            }
            let script = Script { command: "make; rm x".to_owned(), cwd: "/w".into() };
            let forbidden = [
                ("Read", Access::Read("/w/secret/a".into())),
                ("Read", Access::Read("/extra/secret/a".into())),
                ("Write", Access::Write("/extra/secret/a".into())),
                ("Bash", Access::Exec(script)),
            ];
            if let Ok(after) = apply(&before, &updates) {
                prop_assert!(after.mode != Mode::BypassPermissions);
                for (tool, access) in forbidden {
                    let request = Request { tool: tool.to_owned(), access: vec![access], read_only: false };
                    prop_assert!(matches!(decide(&request, &before), Decision::Deny(_)));
                    prop_assert!(matches!(approve(&request, &after), Decision::Deny(_)), "{request:?}");
                }
            }
        }
    }
}
