//! What is copied and moved lands below its target, by its own name and with all it holds.

use super::*;

/// A project in which `tmpl` holds settings, `src` plain files, `huge` too much, and `conf` and `sub` are directories.
fn project() -> Context {
    let dirs = ["/w", "/w/tmpl", "/w/src", "/w/huge", "/w/conf", "/w/sub", "/w/tmpl/.git"];
    let below = |dir: &Path| {
        let names: &[&str] = match dir.to_str() {
            Some("/w/tmpl") => {
                &[".git", ".git/hooks", ".git/hooks/pre-commit", "deep/.claude/settings.json", "x"]
            }
            Some("/w/tmpl/.git") => &["hooks", "hooks/pre-commit"],
            Some("/w/sub") => &[".mcp.json"],
            Some("/w") => &["tmpl", "tmpl/.git", "tmpl/.git/hooks", "tmpl/x"],
            Some("/w/src") => &["main.rs", "conf", "conf/a.txt", "to.rs"],
            Some("/w/src/conf") => &["a.txt"],
            Some("/w/huge") => return None,
            _ => &[],
        };
        Some(names.iter().map(PathBuf::from).collect())
    };
    let resolver = Resolver::new(|path: &Path| match path.to_str() {
        Some("/w/to.rs") => "/home/u/to.rs".into(),
        _ => crate::path::lexical(path),
    });
    let resolver = resolver.with_trees(move |path| dirs.iter().any(|dir| path == Path::new(dir)), below);
    Context { resolver, ..cx(Mode::AcceptEdits) }
}

// PERM-03, PERM-21
#[test]
fn nothing_guarded_is_copied_or_moved_into_place() {
    let cx = project();
    for command in [
        "cp -r tmpl/. .",
        "cp -rT tmpl .",
        "cp -a tmpl/ new",
        "cp -r tmpl/.git .",
        "cp -R tmpl new",
        "cp -r tmpl/.g* .",
        "cp -r *mpl/. .",
        "cp -r ./*mpl/./.git .",
        "cp -rT tmp? .",
        "f=tmpl/.; cp -r \"$f\" .",
        "for f in sub/.m*; do cp \"$f\" .; done",
        "for f in .gi*/hooks/x; do cp src/main.rs \"$f\"; done",
        "for f in .gi*/config; do echo x > \"$f\"; done",
        "mv tmpl new",
        "mv tmpl conf",
        "cd tmpl && cp -r . ..",
        "cp sub/.mcp.json .",
        "cp sub/HEAD sub/x .",
        "cd tmpl && cp --parents .git/hooks/pre-commit ..",
        "cd tmpl && cp --parents .gi*/hooks/pre-commit ..",
        "cd tmpl && cp --parents .gi*/hooks/pre* ..",
        "cd tmpl && cp -r --parents .gi* ..",
        "cd tmpl && cp -r --parents .gi*/. ..",
        "cd tmpl && cp -r --parents d*p/.c* ..",
        "cd tmpl && f=.git && cp --parents \"$f/config\" ..",
        "cd tmpl && f=.git/config && cp --parents \"$f\" ..",
        "cd tmpl && for f in .gi*/hooks/*; do cp --parents \"$f\" ..; done",
        "cd src/conf && cp --parents ../*.rs ../new",
        "for i in 1 2; do cp -r tmpl/.git n; done",
        "for ((i=0;i<2;i++)); do cp -r tmpl/.git n; done",
        "while true; do cp -r tmpl/.git n; done",
        "f() { cp -r tmpl/.git n; }; f; f",
        "find src -exec cp -r tmpl/.git n \\;",
        "mkdir new && cp .mcp.json new",
        "cp -r huge new",
        "cp -r src/. .",
        "cp src/*.rs .",
        "cp src/to.rs .",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "cp -r src/. dst",
        "cp -r src dst",
        "cp -r src conf",
        "cp src/m*.rs .",
        "cp src/main.rs .",
        "cp .mcp.json mcp.bak",
        "cp -r tmpl/.git n",
        "for i in 1 2; do cp -r src n; done",
        "cp --parents src/m*.rs new",
        "cd src && cp --parents conf/*.txt ..",
        "cp --parents src/main.rs new",
        "d=src && cp --parents \"$d/main.rs\" new",
        "cp tmpl/* new",
        "mv src lib",
        "for f in src/m*.rs; do cp \"$f\" new/; done",
        "for f in src/*.bak; do rm \"$f\"; done",
        "for f in src/*.rs; do echo x >> \"$f\"; done",
        "mkdir x && touch x/y && cp -r x z",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
    let allowed = with(Context { mode: Mode::Default, ..cx }, Behavior::Allow, &["Bash(cp:*)"]);
    assert_eq!(verdict(&bash("cp -r tmpl/. ."), &allowed), "ask");
    assert_eq!(verdict(&bash("cp -r src/main.rs new"), &allowed), "allow");
}

// RULE-06
#[test]
fn rules_against_changes_hold_for_what_lands_there() {
    let cx = with(project(), Behavior::Deny, &["Edit(conf/**)", "Edit(*.lock)"]);
    for command in [
        "cp a.txt conf",
        "cd src && cp --parents conf/a.* ..",
        "cd src && cp --parents c*/a.txt ..",
        "d=conf; cd src && cp --parents \"$d/a.txt\" ..",
        "cd src/to && cp --parents ../conf/a.txt ../../new",
        "mv a.txt conf",
        "cp -r sub conf",
        "cp -r sub/x.txt conf/",
        "cp -t conf a.txt",
        "ln -s ../a conf",
        "git mv a.txt conf",
        "cp -r src/. .",
        "cp -r src/* .",
        "cp src/*.rs conf",
        "cp sub/a.lock .",
        "cd src && cp main.rs ../conf",
        "mkdir -p sub/conf && touch sub/conf/x && cp -r sub/. .",
        "cp -r src t && cp -r t/. .",
        "cp -r src t && mv t/c* .",
        "mv src t && mv t u && cp -r u/. .",
        "for i in 1 2 3; do cp -r t/c* .; cp -r u t; cp -r src u; done",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "deny", "{command}");
    }
    // A tree that nobody sees all of stays one when it is copied on, and so does one that grows with each repetition.
    for command in
        ["cp -r huge t && cp -r t/. .", "while true; do cp -r a b/x; cp -r b a/x; cp -r b/. .; done"]
    {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in [
        "cp a.txt conf2",
        "cp Cargo.lock old.txt",
        "cp -r src dst",
        "cp conf/a.txt .",
        "cp -r src dst && cp -r dst third",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}
