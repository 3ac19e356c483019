//! The decision itself.

use std::path::{Path, PathBuf};

use serde::Serialize;
use tiller_protocol::mode::Mode;

use crate::access::{Access, Request};
use crate::permit::Permit;
use crate::rule::{Reading, Rule, Rules};
use crate::shell;

/// What a decision depends on besides the request.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The mode at this moment.
    pub mode: Mode,
    /// Rules from flags and settings.
    pub rules: Rules,
    /// The working directories, resolved.
    pub roots: Vec<PathBuf>,
    /// Directories of Tiller's own that may be read, e.g. stored tool output.
    pub readable: Vec<PathBuf>,
}

/// Yes, no, or a question for the user.
#[derive(Debug)]
pub enum Decision {
    /// Go ahead.
    Allow(Permit, Reason),
    /// No.
    Deny(Reason),
    /// The user decides; [`approve`] turns a yes into a permit.
    Ask(Reason),
}

/// What a decision rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Reason {
    /// The permission mode.
    Mode {
        /// The mode.
        mode: Mode,
    },
    /// A rule.
    Rule {
        /// As it was written.
        rule: String,
    },
    /// The place: inside or outside the working directories.
    WorkingDir {
        /// The path in question.
        path: PathBuf,
    },
    /// The call changes nothing.
    ReadOnly,
    /// The user said yes.
    User,
    /// Nothing speaks for it or against it.
    Uncovered {
        /// What would be touched.
        what: String,
    },
}

impl Reason {
    /// A sentence for users and for the model.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::Mode { mode } => format!("the permission mode is {mode}"),
            Self::Rule { rule } => format!("the rule {rule} says so"),
            Self::WorkingDir { path } => format!("{} is outside the working directories", path.display()),
            Self::ReadOnly => "it changes nothing".to_owned(),
            Self::User => "the user allowed it".to_owned(),
            Self::Uncovered { what } => format!("no rule allows {what}"),
        }
    }
}

/// Judges a call.
#[must_use]
pub fn decide(request: &Request, cx: &Context) -> Decision {
    if let Some(reason) = denied(request, cx) {
        return Decision::Deny(reason);
    }
    // What touches nothing outside the session, like keeping the todo list, is fine while planning.
    if cx.mode == Mode::Plan && !request.read_only && !request.access.is_empty() {
        return Decision::Deny(Reason::Mode { mode: Mode::Plan });
    }
    if let Some(rule) = asked(request, cx) {
        return ask(cx, Reason::Rule { rule: rule.to_string() });
    }
    if cx.mode == Mode::BypassPermissions {
        return allow(request, Reason::Mode { mode: cx.mode });
    }
    if let Some(rule) = cx.rules.allow.iter().find(|rule| rule.is_whole_tool(&request.tool)) {
        return allow(request, Reason::Rule { rule: rule.to_string() });
    }
    let mut because = Reason::ReadOnly;
    for access in &request.access {
        match opinion(request, access, cx) {
            Ok(reason) => because = reason,
            Err(reason) => return ask(cx, reason),
        }
    }
    allow(request, because)
}

/// Judges a call that the user has said yes to: deny rules and plan mode still hold.
#[must_use]
pub fn approve(request: &Request, cx: &Context) -> Decision {
    match decide(request, &Context { mode: asking(cx.mode), ..cx.clone() }) {
        Decision::Ask(_) => allow(request, Reason::User),
        settled => settled,
    }
}

fn asking(mode: Mode) -> Mode {
    if mode == Mode::DontAsk { Mode::Default } else { mode }
}

fn allow(request: &Request, reason: Reason) -> Decision {
    Decision::Allow(Permit::new(request.access.clone()), reason)
}

fn ask(cx: &Context, reason: Reason) -> Decision {
    match cx.mode {
        Mode::DontAsk => Decision::Deny(reason),
        _ => Decision::Ask(reason),
    }
}

fn denied(request: &Request, cx: &Context) -> Option<Reason> {
    let rule = find(&cx.rules.deny, request, cx)?;
    Some(Reason::Rule { rule: rule.to_string() })
}

fn asked<'a>(request: &Request, cx: &'a Context) -> Option<&'a Rule> {
    find(&cx.rules.ask, request, cx)
}

fn find<'a>(rules: &'a [Rule], request: &Request, cx: &Context) -> Option<&'a Rule> {
    rules.iter().find(|rule| {
        rule.is_whole_tool(&request.tool)
            || request
                .access
                .iter()
                .any(|access| rule.matches(&request.tool, access, &cx.roots, Reading::Touches))
    })
}

/// Why an access is fine by itself, or why it has to be asked.
fn opinion(request: &Request, access: &Access, cx: &Context) -> Result<Reason, Reason> {
    let rule =
        cx.rules.allow.iter().find(|rule| rule.matches(&request.tool, access, &cx.roots, Reading::Covers));
    if let Some(rule) = rule {
        return Ok(Reason::Rule { rule: rule.to_string() });
    }
    let inside = |path: &Path, dirs: &[PathBuf]| dirs.iter().any(|dir| path.starts_with(dir));
    match access {
        Access::Read(path) if inside(path, &cx.roots) || inside(path, &cx.readable) => Ok(Reason::ReadOnly),
        Access::Read(path) => Err(Reason::WorkingDir { path: path.clone() }),
        Access::Write(path) if !inside(path, &cx.roots) => Err(Reason::WorkingDir { path: path.clone() }),
        Access::Write(path) if is_guarded(path) => {
            Err(Reason::Uncovered { what: format!("changing {}, which steers what is run", path.display()) })
        }
        Access::Write(_) if cx.mode == Mode::AcceptEdits => Ok(Reason::Mode { mode: cx.mode }),
        Access::Write(path) => Err(Reason::Uncovered { what: format!("writing {}", path.display()) }),
        Access::Exec(script) if shell::is_read_only(&script.command) => Ok(Reason::ReadOnly),
        Access::Exec(script) => Err(Reason::Uncovered { what: format!("the command `{}`", script.command) }),
        Access::Net(host) => Err(Reason::Uncovered { what: format!("contacting {host}") }),
    }
}

/// Files that decide what is allowed or run later are never changed without a question.
fn is_guarded(path: &Path) -> bool {
    path.components().any(|part| [".tiller", ".claude", ".git"].iter().any(|dir| part.as_os_str() == *dir))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::Script;

    fn cx(mode: Mode) -> Context {
        Context { mode, roots: vec!["/w".into()], ..Context::default() }
    }

    fn ask_for(tool: &str, access: Access, read_only: bool) -> Request {
        Request { tool: tool.to_owned(), access: vec![access], read_only }
    }

    fn write(path: &str) -> Request {
        ask_for("Write", Access::Write(path.into()), false)
    }

    fn bash(command: &str) -> Request {
        let script = Script { command: command.to_owned(), cwd: "/w".into() };
        ask_for("Bash", Access::Exec(script), shell::is_read_only(command))
    }

    fn verdict(request: &Request, cx: &Context) -> &'static str {
        match decide(request, cx) {
            Decision::Allow(..) => "allow",
            Decision::Deny(_) => "deny",
            Decision::Ask(_) => "ask",
        }
    }

    // PERM-02, PERM-03, PERM-04, PLAN-45
    #[test]
    fn modes_decide_what_no_rule_covers() {
        let cases = [
            (Mode::Default, ["ask", "ask", "ask", "allow"]),
            (Mode::AcceptEdits, ["allow", "ask", "ask", "allow"]),
            (Mode::BypassPermissions, ["allow", "allow", "allow", "allow"]),
            (Mode::DontAsk, ["deny", "deny", "deny", "allow"]),
            (Mode::Plan, ["deny", "deny", "deny", "allow"]),
        ];
        for (mode, expected) in cases {
            let requests = [write("/w/a"), write("/etc/passwd"), bash("make"), bash("ls")];
            let verdicts = requests.each_ref().map(|request| verdict(request, &cx(mode)));
            assert_eq!(verdicts, expected, "{mode}");
        }
    }

    // PERM-21
    #[test]
    fn files_that_steer_tiller_or_git_are_always_asked_for() {
        for path in [
            "/w/.tiller/settings.json",
            "/w/.claude/settings.json",
            "/w/.git/hooks/pre-commit",
            "/w/sub/.git/config",
        ] {
            assert_eq!(verdict(&write(path), &cx(Mode::AcceptEdits)), "ask", "{path}");
        }
        assert_eq!(verdict(&write("/w/.gitignore"), &cx(Mode::AcceptEdits)), "allow");
    }

    #[test]
    fn a_yes_of_the_user_does_not_outrank_a_deny_rule_or_plan_mode() {
        let mut denied = cx(Mode::Default);
        denied.rules.deny.push("Write(secret/**)".parse().unwrap());
        assert!(matches!(approve(&write("/w/secret/a"), &denied), Decision::Deny(_)));
        assert!(matches!(approve(&write("/w/a"), &denied), Decision::Allow(..)));
        assert!(matches!(approve(&write("/w/a"), &cx(Mode::Plan)), Decision::Deny(_)));
    }

    #[test]
    fn a_permit_covers_what_was_declared_and_nothing_else() {
        let Decision::Allow(permit, _) = decide(&write("/w/a"), &cx(Mode::AcceptEdits)) else {
            panic!("not allowed")
        };
        assert!(permit.write(Path::new("/w/a")).is_ok());
        assert!(permit.write(Path::new("/w/b")).is_err());
        assert!(permit.script().is_err() && permit.connect("example.org").is_err());
    }

    proptest! {
        // Adding a deny rule never allows more.
        #[test]
        fn deny_is_monotone(command in "[a-z&;|$() ./-]{0,30}", rule in "[a-z]{1,6}", mode in prop::sample::select(Mode::ALL.to_vec())) {
            let before = cx(mode);
            let mut after = before.clone();
            after.rules.deny.push(format!("Bash({rule}:*)").parse().unwrap());
            let rank = |verdict| match verdict { "allow" => 2, "ask" => 1, _ => 0 };
            prop_assert!(rank(verdict(&bash(&command), &after)) <= rank(verdict(&bash(&command), &before)));
        }
    }
}
