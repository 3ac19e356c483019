//! Directories that patterns and lists stand for, where files right in them are read.

use super::*;

/// A project in which `sub/link` leads to a file outside, `deep/to` to `sub`, and `docs/env` to `.env`.
fn with_links_in_directories(mode: Mode) -> Context {
    const LINKS: [(&str, &str); 3] =
        [("/w/sub/link", "/home/u/.netrc"), ("/w/deep/to", "/w/sub"), ("/w/docs/env", "/w/.env")];
    let resolver = Resolver::new(|path: &Path| {
        let led = LINKS.iter().find_map(|(link, to)| Some(Path::new(to).join(path.strip_prefix(link).ok()?)));
        crate::path::lexical(&led.unwrap_or_else(|| path.to_owned()))
    });
    let links = |dir: &Path, names: &str| {
        let names: Vec<&str> = names.split('/').filter(|part| !part.is_empty()).collect();
        let fits = |link: &&Path| {
            let below: Vec<_> = link.strip_prefix(dir).into_iter().flatten().collect();
            let mut pairs = names.iter().zip(&below);
            let fits = |(part, name): (&&str, &&std::ffi::OsStr)| {
                let name = name.to_string_lossy();
                part.split_once('*')
                    .map_or(**part == name, |(begin, end)| name.starts_with(begin) && name.ends_with(end))
            };
            link.starts_with(dir) && (names == ["**"] || names.len() == below.len() && pairs.all(fits))
        };
        Some(LINKS.iter().map(|(link, _)| Path::new(link)).filter(fits).map(Path::to_owned).collect())
    };
    let is_dir = |path: &Path| !path.ends_with(".netrc") && !path.ends_with(".env");
    let resolver = resolver.with_links(links).with_trees(is_dir, |_| Some(Vec::new()));
    Context { resolver, ..cx(mode) }
}

// RULE-05
#[test]
fn links_in_directories_that_patterns_fit_are_judged_by_where_they_lead() {
    let cx = with_links_in_directories(Mode::Default);
    for command in [
        "diff a.txt s*b",
        "diff a.txt s*b/",
        "diff a.txt */",
        "diff a.txt {docs,sub}",
        "for d in s*b; do diff a.txt $d; done",
        "for d in s*b; do diff a.txt \"$d\"; done",
        "for d in */; do diff a.txt \"$d\"; done",
        "d=s*b; diff a.txt $d",
        "cd sub && diff ../a.txt .",
        "diff -r a.txt s*b",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "diff *.txt",
        "diff a.txt src/*.txt",
        "diff a.txt d*cs",
        "diff a.txt b.txt",
        "diff a.txt {src,docs}",
        "diff {a,b}.txt",
        "for f in *.txt; do diff a.txt \"$f\"; done",
        "for d in src/*/; do diff a.txt \"$d\"; done",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05
#[test]
fn links_in_directories_that_are_listed_are_judged_by_where_they_lead() {
    let cx = with_links_in_directories(Mode::Default);
    for command in [
        "find . -name sub -exec diff a.txt {} \\;",
        "find . -name sub -exec diff a.txt {} +",
        "find . -name sub | xargs diff a.txt",
        "echo s*b | xargs diff a.txt",
        "printf '%s\\n' s*b | xargs -n1 diff a.txt",
        "git ls-files deep | xargs -n1 diff a.txt",
        "cd sub && diff *",
        "find . -type d -name sub -print0 | xargs -0 -n1 diff a.txt",
        "find deep -name to | xargs -n1 diff a.txt",
        "for d in $(find . -name sub); do diff a.txt $d; done",
        "for d in $(find . -name sub); do diff a.txt \"$d\"; done",
        "for d in $(find . -name sub); do diff -r a.txt \"$d\"; done",
        "find . -name sub | while read -r d; do diff a.txt \"$d\"; done",
        "cd sub && ls | xargs -n1 diff a.txt",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "find src -name '*.txt' -exec diff a.txt {} \\;",
        "find . -type f -name '*.txt' -exec diff a.txt {} \\;",
        "for f in $(find src -name '*.txt'); do diff a.txt \"$f\"; done",
        "find . -name sub",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05, RULE-06: a rule against reading something holds where a link in a directory leads to it.
#[test]
fn rules_hold_for_what_links_in_directories_lead_to() {
    let cx = with(with_links_in_directories(Mode::Default), Behavior::Deny, &["Read(/.env)"]);
    let bypass = Context { mode: Mode::BypassPermissions, ..cx.clone() };
    for command in ["diff a.txt docs", "diff a.txt d*cs", "for d in d*cs; do diff a.txt \"$d\"; done"] {
        assert_eq!(verdict(&bash(command), &cx), "deny", "{command}");
        assert_eq!(verdict(&bash(command), &bypass), "deny", "{command}");
    }
    assert_eq!(verdict(&bash("diff a.txt src"), &cx), "allow");
}
