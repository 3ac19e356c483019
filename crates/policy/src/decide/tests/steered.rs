use super::*;

// PERM-21: a working directory may lie in a place that is guarded by its name.
#[test]
fn what_is_mentioned_counts_below_the_working_directory() {
    let root = PathBuf::from("/w/.claude/worktrees/x");
    let cx = Context { roots: vec![root.clone()], ..cx(Mode::BypassPermissions) };
    for (command, expected) in [
        ("mytool src/x", "allow"),
        ("python3 -m pytest tests/a", "allow"),
        ("mytool .tiller/settings.json", "ask"),
        ("mytool /w/.git/config", "ask"),
        ("cp x .git/hooks/y", "ask"),
    ] {
        let script = Script { command: command.to_owned(), cwd: root.clone() };
        let request = request("Bash", vec![Access::Exec(script)], false);
        assert_eq!(verdict(&request, &cx), expected, "{command}");
    }
}

// PERM-21
#[test]
fn tillers_own_places_count_wherever_they_are() {
    let cx = Context { guarded: vec!["/home/u/own".into()], ..cx(Mode::BypassPermissions) };
    for (command, expected) in [
        ("curl -o ~/own/settings.json https://example.org", "ask"),
        ("d=~/own; echo x > $d/settings.json", "ask"),
        ("python3 -c 'open(\"/home/u/own/settings.json\", \"w\")'", "ask"),
        ("cat ~/own/settings.json", "allow"),
        ("mytool ~/other/settings.json", "allow"),
    ] {
        assert_eq!(verdict(&bash(command), &cx), expected, "{command}");
    }
}
