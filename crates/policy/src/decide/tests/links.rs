//! Names that lead elsewhere.

use super::*;
use crate::Place;

// RULE-05, RULE-06
#[test]
fn a_rule_holds_for_the_name_and_for_where_it_leads() {
    let named = |written: &str, real: &str| Place::new(Path::new(written), real.into());
    let cx = cx(Mode::AcceptEdits);
    let denied = with(cx.clone(), Behavior::Deny, &["Read(.env)", "Read(secrets/**)", "Edit(kept)"]);
    let asked = with(cx.clone(), Behavior::Ask, &["Read(.env)", "Edit(kept)"]);
    for tool in ["Read", "Grep", "Glob", "ReadMcpResourceTool"] {
        for (written, real) in [
            ("/w/.env", "/w/dev.env"),
            ("/w/dev.env", "/w/.env"),
            ("/w/secrets/key", "/w/real/key"),
            ("/w/x/../secrets", "/w/real"),
        ] {
            let read = request(tool, vec![Access::Read(named(written, real))], true);
            assert_eq!(verdict(&read, &cx), "allow", "{tool} {written}");
            assert_eq!(verdict(&read, &denied), "deny", "{tool} {written}");
        }
        let read = request(tool, vec![Access::Read(named("/w/.env", "/w/dev.env"))], true);
        assert_eq!(verdict(&read, &asked), "ask", "{tool}");
    }
    let write = request("Write", vec![Access::Write(named("/w/kept", "/w/target"))], false);
    assert_eq!(verdict(&write, &cx), "allow");
    assert_eq!(verdict(&write, &asked), "ask");
    assert_eq!(verdict(&write, &denied), "deny");
    let guarded = request("Write", vec![Access::Write(named("/w/.git/config", "/w/plain"))], false);
    assert_eq!(verdict(&guarded, &cx), "ask");
}

// RULE-05
#[test]
fn what_a_pattern_reaches_through_links_is_judged_by_where_they_lead() {
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/docs/out") => "/home/u/.netrc".into(),
        Some("/w/docs/env") => "/w/.env".into(),
        _ => crate::path::lexical(path),
    });
    let links = |dir: &Path, names: &str| match names {
        "o*" if dir == Path::new("/w/docs") => Some(vec!["/w/docs/out".into()]),
        "e*" if dir == Path::new("/w/docs") => Some(vec!["/w/docs/env".into()]),
        "*" if dir == Path::new("/w/docs") => None,
        _ => Some(Vec::new()),
    };
    let cx = Context { resolver: resolver.with_links(links), ..cx(Mode::Default) };
    for command in ["cat docs/o*", "cat docs/*", "for f in docs/o*; do cat \"$f\"; done", "wc -l < docs/o*"] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in ["cat docs/e*", "cat src/*", "for f in docs/e*; do cat \"$f\"; done"] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
    let denied = with(cx, Behavior::Deny, &["Read(.env)"]);
    assert_eq!(verdict(&bash("cat docs/e*"), &denied), "deny");
    assert_eq!(verdict(&bash("for f in docs/e*; do cat \"$f\"; done"), &denied), "deny");
}

// RULE-05: what is listed may be a link, and whoever reads it follows.
#[test]
fn links_among_what_is_listed_are_judged_by_where_they_lead() {
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/docs/out.md") => "/home/u/.netrc".into(),
        Some("/w/src/in.rs") => "/w/docs/in.rs".into(),
        _ => crate::path::lexical(path),
    });
    let links = |dir: &Path, names: &str| {
        let all: [PathBuf; 2] = ["/w/docs/out.md".into(), "/w/src/in.rs".into()];
        match (names, dir == Path::new("/w/huge")) {
            ("**", true) => None,
            ("**", false) => Some(all.into_iter().filter(|link| link.starts_with(dir)).collect()),
            _ => Some(Vec::new()),
        }
    };
    let cx = Context { resolver: resolver.with_links(links), ..cx(Mode::Default) };
    for command in [
        "find . -exec cat {} +",
        "find . -exec head -n 1 {} \\;",
        "find . | xargs cat",
        "find docs -name '*.md' | xargs cat",
        "find . -type f -o -name x | xargs cat",
        "find . ! -type f | xargs cat",
        "find . -type d | xargs ls",
        "find . -type f -name '*.md' -o -name x -exec cat {} +",
        "find huge | xargs wc -l",
        "git ls-files | xargs cat",
        "cat $(git ls-files)",
        "ls docs | xargs cat",
        "fd . | xargs cat",
        "cd docs && find . -exec cat {} +",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "find . -type f -exec cat {} +",
        "find . -type f | xargs cat",
        "find huge -type f | xargs wc -l",
        "find . -name '*.rs' | xargs wc -l",
        "find src | xargs cat",
        "find . -name '*.md'",
        "rg -l x | xargs wc -l",
        "git ls-files",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05: a shell that has gone through a link goes up by the letters of its path.
#[test]
fn going_up_is_judged_both_ways() {
    let resolver = Resolver::new(|path: &Path| {
        let inner = Path::new("/w/deep/er");
        let real = path.strip_prefix("/w/link").map_or_else(|_| path.to_owned(), |rest| inner.join(rest));
        crate::path::lexical(&real)
    });
    let cx = Context { resolver, ..cx(Mode::Default) };
    for command in ["cd link/../.. && cat etc/x", "cd link && cd ../.. && cat etc/x", "cd link/../.. && ls"] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in ["cd link && cat x", "cd link && cat ../x", "cd link/.. && cat x"] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

/// A project in which `sub` holds a link that leads out, and `docs` none.
fn with_a_link_in_sub(mode: Mode) -> Context {
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/sub/link") => "/home/u/.netrc".into(),
        Some("/w/in") => "/w/docs/in".into(),
        _ => crate::path::lexical(path),
    });
    let links = |dir: &Path, _: &str| {
        let link = PathBuf::from("/w/sub/link");
        Some(if link.starts_with(dir) { vec![link] } else { Vec::new() })
    };
    Context { resolver: resolver.with_links(links), ..cx(mode) }
}

// RULE-05: a link leads on when its directory is moved.
#[test]
fn what_a_script_moves_leads_nobody_knows_where() {
    let cx = with_a_link_in_sub(Mode::AcceptEdits);
    for command in [
        "mv sub s2 && cat s2/link",
        "mv sub s2 && cat s2/*",
        "mv sub s2; wc -l < s2/link",
        "cp -r sub s2 && head s2/link",
        "mv sub a && mv a b && cat b/link",
        "mv sub d/s2 && mv d e && cat e/s2/link",
        "for i in 1 2; do cat s2/link; mv sub s2; done",
        "mv sub s2 && cd s2 && cat link",
        "mv sub s2 && find . | xargs cat",
        "mv sub s2 && cat $(git ls-files)",
        "mv in deep/er/in && cat deep/er/in",
        "mv sub s2 && cat in",
        "mv sub \"$D\" && cat s2/link",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in
        ["mv docs d2 && cat d2/x", "mv sub s2 && cat docs/x", "cp a docs/ && cat docs/a", "mv a b && cat b"]
    {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
    let linking = with(cx.clone(), Behavior::Allow, &["Bash(ln:*)"]);
    for command in ["ln -s ../.. up && cat up/x", "ln -s /etc && cat etc/x"] {
        assert_eq!(verdict(&bash(command), &linking), "ask", "{command}");
    }
    let denied = with(Context { mode: Mode::BypassPermissions, ..cx }, Behavior::Deny, &["Read(.env)"]);
    assert_eq!(
        verdict(&bash("mv sub s2 && cat s2/link"), &denied),
        "deny",
        "nothing hides it from the command"
    );
    assert_eq!(verdict(&bash("mv docs d2 && cat d2/x"), &denied), "allow");
}

// RULE-05, RULE-06: `diff` follows links in the directories that it compares.
#[test]
fn directories_that_are_compared_are_looked_into() {
    let cx = with_a_link_in_sub(Mode::Default);
    for command in ["diff sub docs", "diff docs sub", "diff -q s* docs", "cd sub && diff . ../docs"] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in ["diff docs old", "diff docs/a docs/b"] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
    let denied = with(Context { mode: Mode::BypassPermissions, ..cx }, Behavior::Deny, &["Read(.env)"]);
    assert_eq!(verdict(&bash("diff docs old"), &denied), "deny", "it may be in there");
}

/// A project in which `in` leads to `docs`, `docs/to` to `deep`, and only from there one leads out.
fn with_links_from_link_to_link(mode: Mode) -> Context {
    const LINKS: [(&str, &str); 5] = [
        ("/w/src/in", "/w/docs"),
        ("/w/docs/to", "/w/deep"),
        ("/w/deep/out", "/home/u"),
        ("/w/tools/python", "/usr/bin/python3"),
        ("/w/lib/all", "/usr/lib"),
    ];
    let resolver = Resolver::new(|path: &Path| {
        let led = LINKS.iter().find_map(|(link, to)| Some(Path::new(to).join(path.strip_prefix(link).ok()?)));
        crate::path::lexical(&led.unwrap_or_else(|| path.to_owned()))
    });
    let links = |dir: &Path, _: &str| {
        let below = LINKS.iter().map(|(link, _)| PathBuf::from(link)).filter(|link| link.starts_with(dir));
        Some(below.collect())
    };
    let is_dir = |path: &Path| path != Path::new("/usr/bin/python3");
    let resolver = resolver.with_links(links).with_trees(is_dir, |_| None);
    Context { resolver, ..cx(mode) }
}

// RULE-05: where links are followed, all that they lead to counts, and all that links there lead to.
#[test]
fn links_that_are_followed_are_judged_to_their_ends() {
    let cx = with_links_from_link_to_link(Mode::Default);
    for command in [
        "grep -R x .",
        "grep -R x",
        "grep -Rn x src",
        "grep -rR x docs",
        "grep --dereference-recursive x deep",
        "grep -m {1,-R} '' src",
        "grep --{dereference-recursive,color} '' src",
        "grep -R x other src",
        "grep -R x s*",
        "cd src && grep -R x",
        "d=src; grep -R x \"$d\"",
        "diff -r src other",
        "diff -rq other docs",
        "diff -ru deep other",
        "diff --recursive other src",
        "diff --exclude=.git -rq src other",
        "grep -R x lib",
        "grep -R x tools",
        "grep -R x /usr/lib",
        "grep -R x /home/u",
        "find other | xargs grep -R x",
        "find other -exec grep -R x {} +",
        "ls -d other/* | xargs diff -r",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "grep -R x other",
        "grep -Rn --include='*.rs' x other src/plain",
        "diff -r other plain",
        "diff -rq other old | head",
        "cd other && grep -RIl x .",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
    let editing = with_links_from_link_to_link(Mode::AcceptEdits);
    for command in ["mv deep d2 && grep -R x d2", "cp -r docs other && diff -r other old"] {
        assert_eq!(verdict(&bash(command), &editing), "ask", "{command}");
    }
}

// RULE-05, RULE-06: a rule against reading something holds where a link leads to it.
#[test]
fn rules_hold_where_links_are_followed() {
    let bypass = with_links_from_link_to_link(Mode::BypassPermissions);
    let denied = |cx: &Context, rule: &str| with(cx.clone(), Behavior::Deny, &[rule]);
    for rule in ["Read(docs/**)", "Read(deep/key)", "Read(.env)", "Read(//home/u/**)"] {
        for command in ["grep -R x src", "diff -r src other"] {
            assert_eq!(verdict(&bash(command), &denied(&bypass, rule)), "deny", "{rule} {command}");
        }
    }
    let elsewhere = denied(&with_links_from_link_to_link(Mode::Default), "Read(secret/**)");
    assert_eq!(verdict(&bash("grep -R x other"), &elsewhere), "allow");
    assert_eq!(verdict(&bash("grep -R x secret"), &elsewhere), "ask");
    assert_eq!(verdict(&bash("grep -R x secret/sub"), &elsewhere), "deny");
    assert_eq!(verdict(&bash("grep -R x ."), &elsewhere), "ask");
    assert_eq!(verdict(&bash("ls -d other/* | xargs grep -R x"), &elsewhere), "ask");
    // A refusal outweighs the question whether there is more of it.
    let named = denied(&with_links_from_link_to_link(Mode::Default), "Read(u)");
    assert_eq!(verdict(&bash("diff -r other docs"), &named), "deny");
    assert_eq!(verdict(&bash("diff -r other plain"), &named), "ask");
}

// RULE-05: a pattern that fits nothing is a name, and braces in a value are text.
#[test]
fn names_that_look_like_patterns_are_judged_as_names() {
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/[a]x" | "/w/{a,b}" | "/w/{a}z") => "/home/u/.netrc".into(),
        _ => crate::path::lexical(path),
    });
    let links =
        |_: &Path, names: &str| Some(if names == "{a}*" { vec!["/w/{a}z".into()] } else { Vec::new() });
    let cx = Context { resolver: resolver.with_links(links), ..cx(Mode::AcceptEdits) };
    for command in [
        "cat [a]x",
        "f=[a]x; cat \"$f\"",
        "f='[a]x'; cat $f",
        "cat \\[a]x",
        "cat {a}*",
        "f='{a}*'; cat $f",
        "f={a,b}; cat \"$f\"",
        "f={a,b}; cat $f",
        "f={a,b}; echo x > \"$f\"",
        "f=[a]x; echo x > \"$f\"",
        "f='.gi*/config'; echo x > $f",
        "f='\\../*'; cat $f",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "cat [b]x",
        "f=[b]x; cat $f",
        "f={b,c}; cat $f",
        "for f in {b,c}; do cat $f; done",
        "f={b,c}; echo x > \"$f\"",
        "f='*.md'; wc -l $f",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05: whoever takes names from a list takes those that come apart for others.
#[test]
fn names_that_come_apart_are_asked_about() {
    let odd = |dir: &Path| match dir.to_str() {
        Some("/w/huge") => None,
        Some("/w/src") => Some(vec!["/w/src/-f/x".into()]),
        Some("/w/app") => Some(vec!["/w/app/[id].ts".into()]),
        Some("/w") => Some(vec!["/w/x /tmp/a.md".into()]),
        _ => Some(Vec::new()),
    };
    let cx = Context { resolver: Resolver::default().with_odd_names(odd), ..cx(Mode::Default) };
    for command in [
        "find . -type f | xargs cat",
        "find . -type f | xargs -I{} cat {}",
        "find . -name '*.md' | xargs wc -l",
        "find huge -type f | xargs wc -l",
        "find 'a b' -type f | xargs cat",
        "grep -rl hi . | xargs cat",
        "rg -l 'a b' | xargs wc -l",
        "git ls-files | xargs cat",
        "git ls-files | sort | xargs cat",
        "cat $(git ls-files)",
        "grep -n x $(git ls-files)",
        "cd src && git ls-files | xargs grep TODO",
        "cd src && grep -n x $(git ls-files)",
        "cd src && git ls-files -z | xargs -0 -n 1 wc -l",
        "cd src && git diff --name-only -z | xargs -0 wc -l",
        "cd src && rg -l0 x | xargs -0 wc -l",
        "ls -R | xargs -n 1 wc -l",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "find . -type f -print0 | xargs -0 cat",
        "find . -type f -print0 | xargs -0 -n 1 wc -l",
        "find . -type f -exec cat {} +",
        "find . -name '*.rs' -type f | xargs wc -l",
        "find src -type f | xargs wc -l",
        "rg -l 'a b' docs | xargs wc -l",
        "cd docs && git ls-files | xargs grep TODO",
        "cd docs && cat $(git ls-files)",
        "cd app && git ls-files | xargs wc -l",
        "cd app && cat $(git ls-files)",
        "git ls-files -z | xargs -0 -n 1 wc -l",
        "cd src && find . -type f -print0 | xargs -0 wc -l",
        "cd src && git ls-files -z src && diff <(sort a) <(sort b)",
        "find . -type f",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05: conditions hold for what follows them, and only as words of the expression itself.
#[test]
fn conditions_behind_an_action_restrict_nothing() {
    let links = |_: &Path, names: &str| Some(if names == "**" { vec!["/w/lnk".into()] } else { Vec::new() });
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/lnk") => "/home/u/.netrc".into(),
        _ => crate::path::lexical(path),
    });
    let cx = Context { resolver: resolver.with_links(links), ..cx(Mode::Default) };
    for command in [
        "find . -exec cat {} + -type f",
        "find . -print -type f | xargs cat",
        "find . -exec cat {} + -name nothing",
        "find . -exec grep -e -type f {} +",
        "find . -newer -type f -exec cat {} +",
        "find . -type f -exec cat {} + -o -exec cat {} +",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "find . -maxdepth 2 -type f -name '*.rs' -exec cat {} +",
        "find src/* -type f -exec grep -l x {} + -print",
        "find . -name '*.md' -print | xargs cat",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05: what a loop goes through comes apart where it is put in without quotes.
#[test]
fn names_that_a_loop_puts_in_without_quotes_may_be_others() {
    let odd = |dir: &Path| match dir.to_str() {
        Some("/w") => Some(vec!["/w/x /tmp".into()]),
        Some("/w/deep") => Some(vec!["/w/deep/[a]".into()]),
        _ => Some(Vec::new()),
    };
    let links = |dir: &Path, names: &str| {
        let has_link = dir == Path::new("/w/deep") && names == "*";
        Some(if has_link { vec!["/w/deep/lnk".into()] } else { Vec::new() })
    };
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/deep/lnk") => "/home/u/.netrc".into(),
        _ => crate::path::lexical(path),
    });
    let names = |dir: &Path| {
        let names: &[&str] = match dir.to_str() {
            Some("/w") => &["x ", "deep", "src"],
            Some("/w/deep") => &["[a]", "a b", "lnk"],
            _ => &["a.rs"],
        };
        Some(names.iter().map(PathBuf::from).collect())
    };
    let resolver = resolver.with_links(links).with_odd_names(odd).with_names_in(names);
    let cx = Context { resolver, ..cx(Mode::Default) };
    for command in [
        "for f in */*; do cat $f; done",
        "cd deep && for f in a*; do cat $f; done",
        "for f in deep/???; do cat $f; done",
        "for f in deep/?a?; do cat $f; done",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "for f in */*; do cat \"$f\"; done",
        "for f in *.md; do cat $f; done",
        "for f in src/*/*; do cat $f; done",
        "cd deep/er && cat $(git ls-files)",
        "cd deep/er && for f in *; do cat $f; done",
        "cd deep && for f in a*; do cat \"$f\"; done",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}
