use super::*;

/// Programs and words that mean nothing but themselves.
fn plain() -> impl Strategy<Value = Vec<String>> {
    let program = prop::sample::select(vec![
        "ls",
        "rm",
        "git",
        "git-push",
        "./deploy.sh",
        "scripts/deploy.sh",
        "/usr/bin/curl",
        "../x/y",
        "a/../b",
        "env",
        "xargs",
        "find",
        "awk",
        "sh",
        "fd",
        "python3",
        "[",
        "cd",
        "export",
        "FOO=1",
        "timeout",
        "sudo",
    ]);
    let word = prop::sample::select(vec![
        "x", "push", "-v", "--flag", "a/b", "./c", "a=b", "-la", "5", "--", "\"q r\"", "'s'", "t\\ u", "@f",
        "]",
    ]);
    (program, prop::collection::vec(word, 0..4))
        .prop_map(|(program, words)| std::iter::once(program).chain(words).map(str::to_owned).collect())
}

proptest! {
    // PERM-03, RULE-01
    #[test]
    fn what_is_denied_as_it_is_written_is_denied(
        words in plain(),
        kept in 1_usize..5,
        mode in prop::sample::select(Mode::ALL.to_vec()),
        allow in prop::sample::select(vec!["Bash", "Bash(ls:*)", "Bash(./deploy.sh:*)", "Read"]),
        before in prop::sample::select(vec!["", "cd sub && ", "ls; ", "true | "]),
    ) {
        let command = words.join(" ");
        let prefix = words[..kept.min(words.len())].join(" ");
        for rule in [format!("Bash({command})"), format!("Bash({prefix}:*)")] {
            let cx = with(with(cx(mode), Behavior::Allow, &[allow]), Behavior::Deny, &[&rule]);
            let script = format!("{before}{command}");
            prop_assert_eq!(verdict(&bash(&script), &cx), "deny", "{} in {}", rule, script);
        }
    }

    // Adding a deny rule never allows more.
    #[test]
    fn a_rule_against_something_allows_nothing_else(
        words in plain(),
        against in plain(),
        open in any::<bool>(),
        mode in prop::sample::select(Mode::ALL.to_vec()),
        allow in prop::sample::select(vec!["Bash", "Bash(ls:*)", "Bash(rm:*)", "Read"]),
    ) {
        let rule = format!("Bash({}{})", against.join(" "), if open { ":*" } else { "" });
        let before = with(cx(mode), Behavior::Allow, &[allow]);
        let after = with(before.clone(), Behavior::Deny, &[&rule]);
        let rank = |verdict| match verdict { "allow" => 2, "ask" => 1, _ => 0 };
        let request = bash(&words.join(" "));
        prop_assert!(rank(verdict(&request, &after)) <= rank(verdict(&request, &before)), "{}", rule);
    }
}

// RULE-06: `pushd` goes to places of a stack that nobody has written down.
#[test]
fn a_place_of_the_stack_is_no_directory_of_that_name() {
    let cx = with(cx(Mode::BypassPermissions), Behavior::Deny, &["Read(secrets/**)"]);
    for (command, expected) in [
        ("pushd secrets && cat key", "deny"),
        ("pushd secrets && pushd .. && pushd +1 && cat key", "deny"),
        ("pushd secrets && pushd .. && pushd -0 && cat key", "deny"),
        ("pushd src && pushd .. && pushd src && cat key", "allow"),
    ] {
        assert_eq!(verdict(&bash(command), &cx), expected, "{command}");
    }
}
