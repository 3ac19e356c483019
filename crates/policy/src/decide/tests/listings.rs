//! Names that one command lists and the shell puts into the words of another.

use super::*;

/// How names get from a lister, which `L` stands for, to a reader.
const WAYS: &[&str] = &[
    "for f in $(L); do cat \"$f\"; done",
    "for f in $(L); do head -3 $f; done",
    "for f in $(L | sort); do sed -n 1p \"$f\"; done",
    "for f in $(L); do wc -l < \"$f\"; done",
    "L | while read -r f; do cat \"$f\"; done",
    "L | while IFS= read -r f; do n=$(wc -l < \"$f\"); echo \"$n $f\"; done",
    "L | sort | while read f; do grep -n x $f; done",
    "while read -r f; do rg x \"$f\"; done < <(L)",
    "f=$(L | head -1); cat \"$f\"",
    "files=$(L); for f in $files; do cat \"$f\"; done",
    "files=$(L); wc -l $files",
    "cat $(L)",
    "grep -n x $(L)",
    "sed -n 1p $(L)",
    "L | xargs cat",
    "L | xargs sed -n 1p",
    "L | xargs grep -l x | xargs wc -l",
];

fn all_ways(lister: &str) -> Vec<String> {
    WAYS.iter().map(|way| way.replace('L', lister)).collect()
}

fn all_are(cx: &Context, expected: &str, lister: &str) {
    for command in all_ways(lister) {
        assert_eq!(verdict(&bash(&command), cx), expected, "{command}");
    }
}

const LISTERS: &[&str] = &[
    "find src -type f",
    "find . -name '*.rs'",
    "git ls-files",
    "git ls-files '*.rs'",
    "git grep -l x",
    "git diff --name-only",
    "rg -l x",
    "rg --files -tpy src",
    "grep -rl x src",
    "fd -e rs",
    "ls",
    "ls -t src/*.rs",
    "printf '%s\\n' src/*.rs",
];

// RULE-05
#[test]
fn plain_names_are_read_however_they_are_put_in() {
    for lister in LISTERS {
        all_are(&cx(Mode::Default), "allow", lister);
    }
}

// RULE-05
#[test]
fn links_among_names_that_are_put_in_are_judged_by_where_they_lead() {
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/src/out.rs") => "/home/u/.netrc".into(),
        _ => crate::path::lexical(path),
    });
    let links = |dir: &Path, _: &str| {
        let link = PathBuf::from("/w/src/out.rs");
        Some(if link.starts_with(dir) { vec![link] } else { Vec::new() })
    };
    let cx = Context { resolver: resolver.with_links(links), ..cx(Mode::Default) };
    let follow = |lister: &&&str| !lister.starts_with("rg") && !lister.starts_with("grep");
    for lister in LISTERS.iter().filter(follow).filter(|lister| !lister.contains("-type f")) {
        all_are(&cx, "ask", lister);
    }
    for lister in ["find src -type f", "rg -l x", "grep -rl x src", "find docs -name '*.md'", "rg --files"] {
        all_are(&cx, "allow", lister);
    }
}

// RULE-05: where several names are put in, the first is a pattern and the others are read.
#[test]
fn links_behind_a_name_that_is_a_pattern_are_judged_by_where_they_lead() {
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/out") => "/home/u/.netrc".into(),
        _ => crate::path::lexical(path),
    });
    let links = |_: &Path, _: &str| Some(vec![PathBuf::from("/w/out")]);
    let cx = Context { resolver: resolver.with_links(links), ..cx(Mode::Default) };
    for command in
        ["find . | xargs grep", "find . -print0 | xargs -0 grep", "find . -exec grep {} +", "grep $(ls)"]
    {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    let cx = with(Context { resolver: Resolver::default(), ..cx }, Behavior::Deny, &["Read(.env)"]);
    for command in ["find . | xargs grep", "find . -exec grep {} +", "grep $(ls)"] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
}

// RULE-05
#[test]
fn names_that_are_put_in_and_come_apart_are_asked_about() {
    for odd in ["x /etc/passwd", "a\n/etc/passwd", "it's", "a\\b", "deep/x /etc/passwd"] {
        let odd_names = move |dir: &Path| {
            let odd = Path::new("/w/src").join(odd);
            Some(if odd.starts_with(dir) { vec![odd] } else { Vec::new() })
        };
        let cx = Context { resolver: Resolver::default().with_odd_names(odd_names), ..cx(Mode::Default) };
        for lister in LISTERS.iter().filter(|lister| !lister.contains("'*.rs'")) {
            all_are(&cx, "ask", lister);
        }
        all_are(&cx, "ask", "git ls-files '*.rs'");
        for lister in ["find docs -name '*.md'", "find src -name '*.rs'"] {
            all_are(&cx, "allow", lister);
        }
    }
    let unknown = |_: &Path| None;
    let cx = Context { resolver: Resolver::default().with_odd_names(unknown), ..cx(Mode::Default) };
    for lister in LISTERS {
        all_are(&cx, "ask", lister);
    }
}

// RULE-05
#[test]
fn names_that_are_put_in_and_are_options_are_asked_about() {
    let odd_names = |dir: &Path| Some(if dir == Path::new("/w") { vec!["/w/-i".into()] } else { Vec::new() });
    let cx = Context { resolver: Resolver::default().with_odd_names(odd_names), ..cx(Mode::Default) };
    for lister in ["git ls-files", "ls", "rg -l x", "fd -e rs", "git grep -l x", "git diff --name-only"] {
        all_are(&cx, "ask", lister);
    }
    for lister in ["find . -type f", "find src -name '*.rs'"] {
        all_are(&cx, "allow", lister);
    }
    // Even where names do not come apart, and where no file is read.
    for command in [
        "git ls-files -z | xargs -0 sed -n 1p",
        "git ls-files -z | xargs -0 sort",
        "git ls-files | xargs -I{} rg x {}",
        "git diff --name-only | xargs git diff --stat",
        "for f in $(git ls-files); do git log --oneline $f; done",
        "for f in $(ls); do file $f; done",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
}

// RULE-05: what the shell puts in without quotes is a pattern.
#[test]
fn names_that_are_patterns_are_asked_about() {
    let odd = |name: &'static str| {
        move |dir: &Path| {
            let odd = Path::new("/w/app").join(name);
            Some(if odd.starts_with(dir) { vec![odd] } else { Vec::new() })
        }
    };
    let with_name = |name: &'static str| Context {
        resolver: Resolver::default().with_odd_names(odd(name)),
        ..cx(Mode::Default)
    };
    for command in ["cat $(find app -type f)", "for f in $(rg -l x app); do cat \"$f\"; done"] {
        assert_eq!(verdict(&bash(command), &with_name("[id].ts")), "ask", "{command}");
        assert_eq!(verdict(&bash(command), &with_name(".*/passwd")), "ask", "{command}");
    }
    for command in ["cat $(git ls-files)", "for f in $(git ls-files app); do cat \"$f\"; done"] {
        assert_eq!(verdict(&bash(command), &with_name("[id].ts")), "allow", "{command}");
    }
    let command = "for f in $(git ls-files app); do cat \"$f\"; done";
    assert_eq!(verdict(&bash(command), &with_name(".*/passwd")), "ask", "it leads up");
}

// RULE-05: `ls` shows what a directory holds without saying which one it is.
#[test]
fn patterns_that_fit_directories_are_asked_about() {
    let below = |dir: &Path| {
        let names: &[&str] =
            if dir == Path::new("/w/src") { &["a.rs", "d.rs", "d.rs/-i"] } else { &["x.md"] };
        Some(names.iter().map(PathBuf::from).collect())
    };
    let is_dir = |path: &Path| path.ends_with("d.rs");
    let cx = Context { resolver: Resolver::default().with_trees(is_dir, below), ..cx(Mode::Default) };
    for lister in ["ls src/*.rs", "ls src/*", "ls */", "ls -t src/*/"] {
        all_are(&cx, "ask", lister);
    }
    for lister in ["ls -d src/*.rs", "ls docs/*.md", "ls src/*.md", "printf '%s\\n' src/*.rs"] {
        all_are(&cx, "allow", lister);
    }
}

// RULE-05: between listing and reading, links may come to other places.
#[test]
fn names_are_not_read_where_the_script_changes_something() {
    let cx = cx(Mode::AcceptEdits);
    for command in [
        "f=$(find src -type f | head -1); mv sub \"src/x\"; cat \"$f\"",
        "f=$(git ls-files | head -1); cp -r sub src; sed -n 1p \"$f\"",
        "f=$(git ls-files | head -1); mkdir -p 'x '; cat $f",
        "for f in $(git ls-files); do rm \"$f\"; done",
        "git ls-files | while read -r f; do mv \"$f\" docs; done",
        "for f in $(git ls-files); do echo x > \"$f\"; done",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    assert_eq!(verdict(&bash("f=$(git ls-files | head -1); cat \"$f\""), &cx), "allow");
}

// RULE-05: names are good where they were listed.
#[test]
fn names_are_read_where_they_were_listed() {
    let cx = cx(Mode::Default);
    for command in [
        "f=$(ls | head -1); cd src; cat \"$f\"",
        "f=$(ls | head -1); cd src && cat \"$f\"",
        "cd src && f=$(ls | head -1) && cd .. && cat \"$f\"",
        "(cd src; ls) | while read -r f; do cat \"$f\"; done",
        "ls | while read -r f; do (cd src && cat \"$f\"); done",
        "for f in $(ls); do cd \"$f\"; cat x; done",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "cd src && for f in $(ls); do cat \"$f\"; done",
        "cd src && ls | while read -r f; do cat \"$f\"; done",
        "(cd src && f=$(ls | head -1) && cat \"$f\")",
        "cd src; cat $(ls | head -1)",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05: `git diff` names what changed in all of the repository.
#[test]
fn names_from_above_the_directory_that_come_apart_are_asked_about() {
    let repository = tempfile::tempdir().unwrap();
    let top = repository.path().to_owned();
    fs_err::create_dir_all(top.join(".git")).unwrap();
    fs_err::create_dir_all(top.join("sub")).unwrap();
    let odd_names = {
        let top = top.clone();
        move |dir: &Path| Some(if dir == top { vec![top.join("x /etc/passwd")] } else { Vec::new() })
    };
    let cx = Context {
        roots: vec![top.clone()],
        resolver: Resolver::default().with_odd_names(odd_names),
        ..cx(Mode::Default)
    };
    let verdict_in = |dir: &str, command: &str| {
        let script = Script { command: command.to_owned(), cwd: top.join(dir) };
        let request = Request { access: vec![Access::Exec(script)], ..bash(command) };
        verdict(&request, &cx)
    };
    for command in ["git diff --name-only | xargs cat", "cat $(git diff --name-only)"] {
        assert_eq!(verdict_in("sub", command), "ask", "{command}");
    }
    for command in ["git ls-files | xargs cat", "cat $(git ls-files)"] {
        assert_eq!(verdict_in("sub", command), "allow", "{command}");
    }
}

// RULE-05: where nothing is listed, `find` looks at all that lies where it runs.
#[test]
fn names_that_are_put_in_may_be_none() {
    let links =
        |dir: &Path, _: &str| Some(if dir == Path::new("/w") { vec!["/w/lnk".into()] } else { Vec::new() });
    let resolve = |path: &Path| if path == Path::new("/w/lnk") { "/home/u".into() } else { path.to_owned() };
    let cx = Context { resolver: Resolver::new(resolve).with_links(links), ..cx(Mode::Default) };
    for command in [
        "find $(find docs -type f) -name lnk -exec cat {} \\;",
        "for f in $(find docs -type f); do :; done; find $f -name lnk | xargs cat",
        "find docs -type f | while read -r f; do :; done; find $f -name lnk -exec cat {} \\;",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
        assert_eq!(verdict(&bash(&command.replace("lnk", "a.txt")), &cx), "allow", "{command}");
    }
}
