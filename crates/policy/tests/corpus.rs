//! The corpus of shell commands: what is plainly harmless is allowed, nothing harmful ever is.
//!
//! Each line: expected decision, mode, command (`␤` for a new line). `@allow`, `@ask`, `@deny` add a rule, `@confined`
//! offers the kernel's confinement, `@names` says what every directory holds, `@reset` clears all of it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken corpus has to fail loudly")]

use std::path::PathBuf;

use tiller_policy::{
    Access, Behavior, Context, Kernel, Request, Rule, Script, explain, is_read_only_command,
};

fn fresh() -> Context {
    let cx = Context { roots: vec!["/w".into()], home: "/home/u".into(), ..Context::default() };
    holding(cx, "README.md a.txt package.json src")
}

fn holding(cx: Context, names: &str) -> Context {
    let names: Vec<PathBuf> = names.split(' ').map(PathBuf::from).collect();
    Context { resolver: cx.resolver.clone().with_names_in(move |_| Some(names.clone())), ..cx }
}

fn bash(command: &str) -> Request {
    let script = Script { command: command.to_owned(), cwd: "/w".into() };
    let read_only = is_read_only_command(command);
    Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only }
}

fn direct(cx: &mut Context, directive: &str) {
    let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
    let rule = || rest.parse::<Rule>().unwrap();
    match word {
        "reset" => *cx = fresh(),
        "names" => *cx = holding(fresh(), rest),
        "confined" => cx.holding.kernel = Kernel::new(|| true),
        "allow" => cx.rules.allow.push(rule()),
        "ask" => cx.rules.ask.push(rule()),
        "deny" => cx.rules.deny.push(rule()),
        other => panic!("unknown directive {other}"),
    }
}

fn check(name: &str, corpus: &str) {
    let mut cx = fresh();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(directive) = line.strip_prefix('@') {
            direct(&mut cx, directive);
            continue;
        }
        let mut fields = line.splitn(3, ' ');
        let mut field = || fields.next().unwrap_or_else(|| panic!("{name}: {line}"));
        let (expected, mode, command) = (field(), field(), field().replace('␤', "\n"));
        let context = Context { mode: mode.parse().unwrap(), ..cx.clone() };
        let explanation = explain(&bash(&command), &context);
        let decision = match explanation.decision {
            Behavior::Allow => "allow",
            Behavior::Ask => "ask",
            Behavior::Deny => "deny",
        };
        count += 1;
        if decision != expected {
            wrong.push(format!("{line}\n    got {decision}: {}", explanation.because));
        }
    }
    assert!(count > 0);
    assert!(wrong.is_empty(), "{name}: {} of {count} wrong\n{}", wrong.len(), wrong.join("\n"));
}

// PERM-17, RULE-01
#[test]
fn the_harmless_is_not_asked_about() {
    check("harmless", include_str!("corpus/harmless.txt"));
}

// PERM-17, RULE-01
#[test]
fn the_harmful_is_never_allowed_by_itself() {
    check("harmful", include_str!("corpus/harmful.txt"));
}

// RULE-01
#[test]
fn nothing_hides_behind_harmless_words() {
    check("sneaky", include_str!("corpus/sneaky.txt"));
}

// RULE-01
#[test]
fn what_the_shell_computes_runs_nothing() {
    check("computed", include_str!("corpus/computed.txt"));
}

// RULE-01, RULE-05, RULE-06
#[test]
fn no_way_leads_to_files_that_no_word_names() {
    check("reads", include_str!("corpus/reads.txt"));
}

// PERM-02, PERM-03, PERM-04, PERM-21, PLAN-48
#[test]
fn modes_judge_changes_by_their_place() {
    check("edits", include_str!("corpus/edits.txt"));
}

// RULE-01, RULE-06
#[test]
fn rules_reach_every_part() {
    check("rules", include_str!("corpus/rules.txt"));
}

// PERM-03, PERM-21
#[test]
fn what_steers_git_is_asked_about_and_its_other_files_are_not() {
    check("git_files", include_str!("corpus/git_files.txt"));
}

// RULE-01
#[test]
fn what_is_written_and_run_escapes_no_rule() {
    check("own_work", include_str!("corpus/own_work.txt"));
}
