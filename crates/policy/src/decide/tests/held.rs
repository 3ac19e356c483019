//! What depends on whether the kernel holds a command, and what a yes lets it reach.

use super::*;

// KERN-03: a hook's yes is enough for what a command's words show, and for the rest only where the kernel holds it.
#[test]
fn a_hook_does_not_answer_for_what_nothing_holds() {
    let hook = || Reason::Hook { name: "h".to_owned(), reason: String::new() };
    let unheld = with(cx(Mode::Default), Behavior::Ask, &["Bash(rm:*)"]);
    let held = Context { holding: confining(), ..unheld.clone() };
    let allows = |decision| matches!(decision, Decision::Allow(..));
    for (command, shows) in [
        ("make", false),
        ("git config core.pager x", false),
        ("eval \"$COMMAND\"", false),
        ("touch a &", false),
        ("mkdir -p a && cp b a/b", true),
        ("cat /elsewhere/a > b", true),
        ("cat b > /elsewhere/a", false),
        ("find .git -name config -exec tee {} + < a", false),
    ] {
        let request = bash(command);
        assert_eq!(allows(vouch(&request, &unheld, hook())), shows, "{command}");
        assert_eq!(allows(answer_for_user(&request, &unheld, hook())), shows, "{command}");
        assert!(allows(vouch(&request, &held, hook())), "{command}");
        assert!(allows(answer_for_user(&request, &held, hook())), "{command}");
        assert!(allows(approve(&request, &unheld)), "{command}");
    }
    let denied = with(cx(Mode::Default), Behavior::Deny, &["Read(secrets/**)"]);
    let allowed = with(denied, Behavior::Allow, &["Bash"]);
    assert_eq!(verdict(&bash("tar cf - secrets"), &allowed), "deny");
    assert_eq!(verdict(&bash("tar cf - secrets"), &Context { holding: confining(), ..allowed }), "allow");
}

// KERN-06: one yes is enough for what a command plainly names, and for nothing else.
#[test]
fn a_yes_covers_the_files_outside_that_a_command_names() {
    let cx = Context { holding: confining(), ..cx(Mode::Default) };
    let outside = |decision: Decision| match decision {
        Decision::Allow(permit, _) => permit.outside().to_vec(),
        other => panic!("{other:?}"),
    };
    for (command, expected) in [
        ("echo x > /out/a", &["/out/a"][..]),
        ("cp a ~/b && mkdir -p /out/c", &["/home/u/b", "/out/c"]),
        ("touch a 2>/dev/null", &[]),
        ("touch /out/.git/config", &[]),
        ("make > /out/log", &[]),
        ("python3 x.py /out/a", &[]),
        ("touch /out/a &", &[]),
    ] {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(outside(approve(&bash(command), &cx)), expected, "{command}");
    }
    let ruled = with(cx.clone(), Behavior::Allow, &["Bash(touch:*)"]);
    assert!(outside(decide(&bash("touch /out/a"), &ruled)).is_empty());
    let ruled = with(ruled, Behavior::Allow, &["Edit(//out/**)"]);
    assert_eq!(outside(decide(&bash("touch /out/a"), &ruled)), [PathBuf::from("/out/a")]);
    let bypassing = Context { mode: Mode::Plan, bypass_available: true, ..cx };
    assert!(outside(decide(&bash("touch /out/a"), &bypassing)).is_empty());
}

// CUST-03: what is typed into a running command may be a command: rules against commands count, and it is never harmless.
#[test]
fn what_is_typed_is_judged_by_the_rules_for_commands() {
    let typed = |text: &str| Request { tool: "ShellInput".to_owned(), ..bash(text) };
    let cx = with(cx(Mode::Default), Behavior::Deny, &["Bash(curl:*)", "Read(.env)"]);
    for (text, expected) in
        [("curl x\n", "deny"), ("cat .env", "deny"), ("ls\n", "ask"), ("y\n", "ask"), ("", "ask")]
    {
        assert_eq!(verdict(&typed(text), &cx), expected, "{text}");
    }
    assert!(crate::suggest(&typed("make all\n"), &cx).is_empty());
    for rule in ["Bash", "ShellInput"] {
        assert_eq!(verdict(&typed("y\n"), &with(cx.clone(), Behavior::Allow, &[rule])), "allow", "{rule}");
        assert_eq!(
            verdict(&typed("curl x\n"), &with(cx.clone(), Behavior::Allow, &[rule])),
            "deny",
            "{rule}"
        );
        assert_eq!(verdict(&typed("y\n"), &with(cx.clone(), Behavior::Deny, &[rule])), "deny", "{rule}");
    }
    assert_eq!(verdict(&typed("y\n"), &with(cx, Behavior::Allow, &["Bash(y:*)"])), "ask");
}

// PERM-21: what is not known to be fine does not hide what is guarded.
#[test]
fn a_guarded_file_is_found_among_the_places_that_are_possible() {
    let hook = Reason::Hook { name: "h".to_owned(), reason: String::new() };
    let decision = vouch(&bash("cd .git && echo evil > config"), &cx(Mode::Default), hook);
    assert!(matches!(decision, Decision::Ask(Reason::Guarded { .. })), "{decision:?}");
}

// RULE-01: what may be what a rule denies is not allowed with all other commands, and not in silence when nothing is asked.
#[test]
fn a_denied_command_has_no_other_spelling() {
    let denied = with(cx(Mode::Default), Behavior::Deny, &["Bash(touch:*)"]);
    let allowing = with(denied.clone(), Behavior::Allow, &["Bash"]);
    let bypassing = Context { mode: Mode::BypassPermissions, bypass_available: true, ..denied };
    let scripts = [
        "tou\\\nch made",
        "tou$@ch made",
        "a=tou b=ch\n$a$b made",
        "$(printf tou)ch made",
        "shopt -s expand_aliases\nalias t=tou''ch\nt made",
        "hash -p /usr/bin/tou''ch t\nt made",
        "t() { tou''ch made; }\nt",
    ];
    for script in scripts {
        for cx in [&allowing, &bypassing] {
            assert_ne!(verdict(&bash(script), cx), "allow", "{script}");
        }
    }
    for script in ["make $TARGET", "echo $HOME", "ls &&\\\nls \\\n-l", "./run \"$x\""] {
        assert_eq!(verdict(&bash(script), &allowing), "allow", "{script}");
    }
}

// PERM-17: what runs unasked because it only looks runs nothing that a repository names.
#[test]
fn git_is_kept_harmless_wherever_nobody_was_asked() {
    let accepting = cx(Mode::AcceptEdits);
    let by_rule = with(cx(Mode::Default), Behavior::Allow, &["Bash(make:*)", "Bash(git push:*)"]);
    let is_kept = |command: &str, cx: &Context| match decide(&bash(command), cx) {
        Decision::Allow(permit, _) => permit.keeps_git_harmless(),
        other => panic!("{command}: {other:?}"),
    };
    assert!(is_kept("cd bare && git status -s", &cx(Mode::Default)));
    assert!(is_kept("c=status; cd bare && git $c -s", &cx(Mode::Default)));
    assert!(is_kept("touch x; cd bare && git status -s", &accepting));
    assert!(is_kept("git log > out; git -C bare status", &accepting));
    assert!(is_kept("make; cd bare && git status -s", &by_rule));
    assert!(!is_kept("git push && make", &by_rule));
    assert!(!is_kept("touch x", &accepting));
    assert!(!is_kept("git commit -m x && git status", &cx(Mode::BypassPermissions)));
    match approve(&bash("git commit -m x && git status"), &accepting) {
        Decision::Allow(permit, _) => assert!(!permit.keeps_git_harmless(), "the user was asked"),
        other => panic!("{other:?}"),
    }
}

// PERM-17: where nothing holds a command, what a rule protects does not go with a directory either.
#[test]
fn what_may_hold_something_protected_is_not_removed_in_silence() {
    let accepting = with(cx(Mode::AcceptEdits), Behavior::Deny, &["Edit(*.lock)"]);
    let cx = Context {
        resolver: accepting.resolver.clone().with_trees(|path| path.ends_with("t"), |_| Some(Vec::new())),
        ..accepting
    };
    assert_eq!(verdict(&bash("rm -r t"), &cx), "ask");
    assert_eq!(verdict(&bash("rm -r a.txt"), &cx), "allow");
}

// PERM-17: what steers Tiller or git does not go with the directory that it lies in.
#[test]
fn a_directory_with_something_guarded_in_it_is_not_removed_in_silence() {
    let below = |path: &Path| {
        Some(if path.ends_with("pkg") { vec![".claude/settings.json".into()] } else { Vec::new() })
    };
    let accepting = cx(Mode::AcceptEdits);
    let cx = Context { resolver: accepting.resolver.clone().with_trees(|_| true, below), ..accepting };
    assert_eq!(verdict(&bash("rm -r pkg"), &cx), "ask");
    assert_eq!(verdict(&bash("rm -rf target"), &cx), "allow");
}
