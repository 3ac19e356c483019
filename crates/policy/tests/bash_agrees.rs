//! What is allowed because it only looks is given to a real bash: nothing may run there that was not seen, and no file may
//! be made. Texts are put together from what quotes, comments, here-documents and expansions begin and end with, in and
//! out of order, which is where a tree and a shell disagree.

#![expect(clippy::disallowed_methods, reason = "a person chooses other texts by a variable")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tiller_policy::{Access, Behavior, Context, Request, Script, explain, is_read_only_command};

/// A program that nobody knows: whoever runs it leaves a trace.
const UNKNOWN: &str = "pwn";

const BEGINNINGS: &[&str] = &["echo ", "true ", "printf a ", "echo a; ", "x=1; ", "test a ", ": "];

const PIECES: &[&str] = &[
    " ",
    "\n",
    "\npwn\n",
    ";pwn;",
    "pwn",
    "echo ",
    "a",
    "E",
    "\nE\n",
    "; ",
    " | ",
    "&& ",
    "&",
    "'",
    "\"",
    "`",
    "$",
    "$$",
    "\\",
    "\\\\",
    "\\\n",
    "\\'",
    "\\\"",
    "\\`",
    "\\}",
    "\\)",
    "#",
    " #",
    "}",
    ")",
    "]",
    "{",
    "(",
    "$(",
    "${x",
    "$'",
    "$\"",
    "<<E\n",
    "<<'E'\n",
    "<<-E\n",
    "<<<",
    "<(",
    "*",
    "~",
    "=",
    "1",
    "$x",
    "\"$x\"",
    "{a,b}",
    "!",
    "\t",
    "2>&1 ",
    ">/dev/null ",
    "-eq",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    "((",
    "))",
    "''",
    "\"\"",
    "é",
    "–",
    "x=",
    "/",
];

const ODD: &[&str] = &[
    "\\", "\\\\", "'", "`", "\"", "#", " #", "(", ")", "$", "}", "\\\n", "\\\nE\n", "E\n", "\nE\n", "ls ",
    "ls #", "a", "$'", "`ls ", ": ", "echo '",
];

const PAIRS: &[(&str, &str)] = &[
    ("'", "'"),
    ("\"", "\""),
    ("`", "`"),
    ("$(", ")"),
    ("${x:-", "}"),
    ("${x#", "}"),
    ("${x/a/", "}"),
    ("${x/", "/}"),
    ("$((", "))"),
    ("$'", "'"),
    ("$\"", "\""),
    ("<<E\n", "\nE\n"),
    ("<<'E'\n", "\nE\n"),
    ("<<-E\n", "\n\tE\n"),
    (" #", "\n"),
    ("[[ ", " ]]"),
    ("[ ", " ]"),
    ("{ ", "; }"),
    ("( ", " )"),
    ("a[", "]"),
    ("if true; then ", "; fi "),
    ("for i in a; do ", "; done "),
    ("case x in x) ", ";; esac "),
    ("<(", ")"),
    ("@(", ")"),
    ("x=(", ")"),
    ("\\", ""),
    ("${x^", "}"),
    ("${x:-'", "'}"),
    ("$[", "]"),
];

/// Anything inside of anything.
fn jumble() -> impl Strategy<Value = String> {
    let piece = || select(PIECES).prop_map(str::to_owned);
    let nested = piece().prop_recursive(4, 24, 5, move |inner| {
        let several = prop::collection::vec(inner, 1..5).prop_map(|parts| parts.concat());
        prop_oneof![
            several.clone(),
            (select(PAIRS), several).prop_map(|((open, close), inner)| format!("{open}{inner}{close}")),
        ]
    });
    prop::collection::vec(nested, 2..6).prop_map(|parts| parts.concat())
}

/// Something that may or may not have ended when a line follows, and something that makes up for it afterwards.
fn early_end() -> impl Strategy<Value = String> {
    let odd = || prop_oneof![2 => Just(""), 8 => select(ODD)];
    let line = select(&["; pwn ", "\npwn\n", "\npwn != f\n", ";>out;", "\n>out\n"][..]);
    let parts = (select(PAIRS), odd(), prop::bool::ANY, line, odd(), odd(), prop::bool::ANY, odd());
    parts.prop_map(|((open, close), first, ends, line, second, third, is_hidden, last)| {
        let end = if ends { close } else { "" };
        let hide = if is_hidden { " #" } else { "" };
        format!("{open}{first}{end}{line}{second}{third}{hide}{close}{last}")
    })
}

fn text() -> impl Strategy<Value = String> {
    let rest = prop_oneof![jumble(), early_end(), early_end()];
    (select(BEGINNINGS), rest).prop_map(|(begin, rest)| format!("{begin}{rest}"))
}

fn is_allowed(command: &str, dir: &std::path::Path) -> bool {
    let script = Script { command: command.to_owned(), cwd: dir.to_owned() };
    let read_only = is_read_only_command(command);
    let request = Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only };
    let cx = Context { roots: vec![dir.to_owned()], home: "/home/u".into(), ..Context::default() };
    explain(&request, &cx).decision == Behavior::Allow
}

/// How many texts are tried, and which: the same ones every time, unless somebody wants others.
fn runner() -> TestRunner {
    let number =
        |name: &str, usual: u32| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let config =
        Config { cases: number("PROPTEST_CASES", 20_000), failure_persistence: None, ..Config::default() };
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&number("TILLER_TEST_SEED", 1).to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

// RULE-01
#[test]
fn what_only_looks_runs_nothing_else_in_a_real_shell() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name);
    for dir in ["bin", "work"] {
        fs_err::create_dir(at(dir)).unwrap();
    }
    let (program, trace, work) = (at("bin").join(UNKNOWN), at("trace"), at("work"));
    fs_err::write(&program, "#!/bin/sh\n: > \"$TRACE\"\n").unwrap();
    fs_err::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let allowed = std::cell::Cell::new(0);
    let outcome = runner().run(&text(), |text| {
        if !(text.contains(UNKNOWN) || text.contains(">out")) || !is_allowed(&text, &work) {
            return Ok(());
        }
        allowed.set(allowed.get() + 1);
        // An earlier text may have left something.
        _ = fs_err::remove_file(&trace);
        fs_err::remove_dir_all(&work).unwrap();
        fs_err::create_dir(&work).unwrap();
        // Nothing can be reached but that program, and what the shell itself can do.
        let mut bash = Command::new("/bin/bash");
        bash.args(["--norc", "--noprofile", "-c", &format!("ulimit -t 5; {text}")]);
        bash.env_clear().env("PATH", at("bin")).env("TRACE", &trace).current_dir(&work);
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        bash.status().unwrap();
        let made = fs_err::read_dir(&work).unwrap().count();
        prop_assert!(!trace.exists() && made == 0, "bash did something with {text:?}");
        Ok(())
    });
    outcome.unwrap();
    assert!(allowed.get() > 50, "too few texts are allowed to learn anything: {allowed:?}");
}
