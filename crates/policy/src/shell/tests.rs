mod second_opinion;
mod wrapped;

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use self::second_opinion::{Seen, bare, second_opinion};
use super::*;

#[test]
fn only_plain_lookers_are_read_only() {
    for command in
        ["ls", "ls -la src", "git status", "git log --oneline -5", "cat a.rs", "grep -rn x src", "ls | wc -l"]
    {
        assert!(is_read_only(command), "{command}");
    }
    for command in
        ["", "# only a comment", "rm x", "ls > f", "ls; rm x", "cat $(rm x)", "find . -delete", "ls &"]
    {
        assert!(!is_read_only(command), "{command}");
    }
}

#[test]
fn commands_run_where_the_shell_has_gone() {
    let analysis = analyse("cd a && make; cd b || ls; (cd c && pwd); pwd", Path::new("/w"));
    let dirs = |text: &str| {
        let command = analysis.commands.iter().rfind(|command| command.text == text).unwrap();
        command.dirs.as_ref().map(|dirs| dirs.iter().map(|dir| dir.display().to_string()).collect::<Vec<_>>())
    };
    assert_eq!(dirs("make"), Some(vec!["/w/a".to_owned()]));
    assert_eq!(dirs("ls"), Some(vec!["/w".into(), "/w/a".into(), "/w/b".into(), "/w/a/b".into()]));
    assert_eq!(dirs("pwd"), dirs("ls"));
    for command in
        ["cd $x; ls", "cd -; ls", "pushd $x; popd; ls", "while ls; do cd ..; done", "f() { cd ..; }; f; ls"]
    {
        let analysis = analyse(command, Path::new("/w"));
        let unknown =
            analysis.commands.iter().filter(|command| command.text == "ls").all(|ls| ls.dirs.is_none());
        assert!(unknown, "{command}");
    }
}

fn simple() -> impl Strategy<Value = String> {
    let program = prop::sample::select(vec!["alpha", "beta", "gamma", "delta"]);
    let argument = prop::sample::select(vec![
        "x",
        "-v",
        "'a b'",
        "\"c; d\"",
        "e\\ f",
        "$v",
        "*.rs",
        "a=b",
        "#",
        "a#b",
        "2>/dev/null",
        "> out",
        "< in",
        "{1,2}",
        "''",
        "$(alpha y)",
        "\"$(beta 'y z')\"",
        "`gamma y`",
        "\"a `delta` b\"",
        "'$(alpha)'",
        "\"\\$(alpha)\"",
        "$(alpha $(beta \"$(gamma)\"))",
        "${v:-$(beta)}",
        "\"${v:-'$(gamma)'}\"",
        "\"${v:+\"$(delta)\"}\"",
        "${v:-'$(alpha)'}",
        "<(beta z)",
        "> >(gamma)",
        "<<< x",
        "<<< \"$(beta)\"",
        "$'a\\'b'",
    ]);
    (program, prop::collection::vec(argument, 0..4)).prop_map(|(program, arguments)| {
        std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
    })
}

fn document() -> impl Strategy<Value = String> {
    let body = prop::sample::select(vec![
        "text",
        "$(alpha x)",
        "`beta`",
        "'$(gamma)'",
        "${v:-$(delta)}",
        "${v:-'$(alpha)'}",
        "\\$(alpha)",
        "a ; beta",
    ]);
    (simple(), prop::sample::select(vec!["E", "'E'"]), body)
        .prop_map(|(simple, end, body)| format!("{simple} <<{end}\n{body}\nE"))
}

/// Two scripts, one after the other. What ends with a here-document ends its line.
fn joined(one: &str, joint: &str, other: &str) -> String {
    let joint = if one.contains("\nE") { "\n" } else { joint };
    format!("{one}{joint}{other}")
}

fn script() -> impl Strategy<Value = String> {
    prop_oneof![4 => simple(), 1 => document()].prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec![" && ", " || ", " | ", "; ", "\n", " & "]),
                inner.clone()
            )
                .prop_map(|(one, joint, other)| joined(&one, joint, &other)),
            inner.clone().prop_map(|inner| format!("({inner}\n)")),
            inner.clone().prop_map(|inner| format!("{{ {inner}\n}}")),
            inner.clone().prop_map(|inner| format!("! {inner}")),
            inner.clone().prop_map(|inner| format!("x=$({inner}\n)")),
            inner.clone().prop_map(|inner| format!("alpha \"$({inner}\n)\"")),
            inner.clone().prop_map(|inner| format!("f() {{ {inner}\n}}")),
            inner.clone().prop_map(|inner| format!("function f {{ {inner}\n}}")),
            inner.clone().prop_map(|inner| format!("[[ -n $({inner}\n) ]]")),
            (inner.clone(), inner.clone())
                .prop_map(|(one, other)| format!("case $({one}\n) in a|b) {one}\n;; *) {other}\n;; esac")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("if {one}\nthen {other}\nfi")),
            inner.clone().prop_map(|inner| format!("for v in a $({inner}\n)\ndo {inner}\ndone")),
            inner.clone().prop_map(|inner| format!("while {inner}\ndo {inner}\ndone")),
            inner.prop_map(|inner| format!("until {inner}\ndo {inner}\ndone")),
        ]
    })
}

// RULE-01
#[test]
fn two_parsers_agree_on_what_is_run_or_it_is_opaque() {
    let cases = 1024;
    let compared = Cell::new(0);
    let substituted = Cell::new(0);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&script(), |script| {
        let analysis = analyse(&script, Path::new("/w"));
        let Some(expected) = second_opinion(&script).filter(|_| analysis.opaque.is_none()) else {
            return Ok(());
        };
        let runs = analysis.commands.iter().filter(|command| command.kind == Kind::Run);
        let mut found: Vec<Seen> =
            runs.map(|command| (bare(&command.words()[0].text), command.words().len())).collect();
        found.sort();
        prop_assert_eq!(&found, &expected, "{}", script);
        compared.set(compared.get() + 1);
        substituted.set(substituted.get() + u32::from(script.contains("$(")));
        Ok(())
    });
    outcome.unwrap();
    // Agreement of parsers that understand nothing would prove nothing.
    let (compared, substituted) = (compared.get(), substituted.get());
    assert!(
        compared > cases / 4 && substituted > cases / 8,
        "compared {compared}, {substituted} of them with substitutions"
    );
}
