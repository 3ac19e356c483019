//! Paths that lead elsewhere in each process.

use super::*;

/// A project in which some links lead through what each process sees in its own way, as Tiller itself would resolve them.
fn with_links_to_own_views(mode: Mode) -> Context {
    let target = |link: &Path| match link.to_str() {
        Some("/w/here") => Some(PathBuf::from("/proc/self/cwd")),
        Some("/w/sub/up") => Some(PathBuf::from("../here/..")),
        Some("/w/open") => Some(PathBuf::from("/dev/fd")),
        Some("/w/plain") => Some(PathBuf::from("docs")),
        _ => None,
    };
    let resolver = Resolver::new(|path: &Path| {
        let own = ["/proc/self/cwd", "/w/here", "/w/sub/up"];
        let led = own.iter().find_map(|own| Some(Path::new("/w").join(path.strip_prefix(own).ok()?)));
        crate::path::lexical(&led.unwrap_or_else(|| path.to_owned()))
    });
    Context { resolver: resolver.with_link_targets(target), ..cx(mode) }
}

// RULE-05: what a program sees as its own directory is not that of Tiller.
#[test]
fn what_only_a_process_can_tell_is_asked_about() {
    for mode in [Mode::Default, Mode::AcceptEdits] {
        let cx = with_links_to_own_views(mode);
        for command in [
            "cat /proc/self/cwd/x",
            "cd sub && cat /proc/self/cwd/l",
            "cd sub && cat /proc/thread-self/cwd/l",
            "cd sub && cat /dev/fd/../cwd/l",
            "cd sub && cat /proc/self/root/proc/self/cwd/l",
            "cd sub && cat /proc/self/task/../cwd/../sub/l",
            "cd sub && cat ../here/l",
            "cd sub && cat up/sub/l",
            "cat here/x",
            "cat here/*",
            "cat /proc/self/cwd/*",
            "ls /proc/self/cwd",
            "exec 3< sub; cat /dev/fd/3/l",
            "exec 3< sub; cat open/3/l",
            "cd here && cat l",
            "f=/proc/self/cwd; cat \"$f/l\"",
            "diff x /dev/stdin < sub",
            "cat /dev/stdin/l < sub",
            "cd sub && echo x > /proc/self/cwd/l",
            "cd sub && cp ../x ../here/l",
        ] {
            assert_eq!(verdict(&bash(command), &cx), "ask", "{mode:?} {command}");
        }
        for command in ["cat plain/x", "cat /proc/cpuinfo", "cd sub && cat x", "cat /dev/stdin < x"] {
            assert_eq!(verdict(&bash(command), &cx), "allow", "{mode:?} {command}");
        }
    }
}

// PERM-21
#[test]
fn what_steers_is_seen_through_what_only_a_process_can_tell() {
    let cx = with_links_to_own_views(Mode::BypassPermissions);
    for command in [
        "cd .git/hooks && cp ../../x /proc/self/cwd/pre-commit",
        "cd .git && cp ../x /proc/self/cwd/config",
        "cd .git && echo x > /dev/fd/../cwd/config",
        "cd .git && cp ../x ../here/config",
        "cd .git && cd /proc/self/cwd && cp x config",
        "cp x /proc/self/root/w/.git/config",
        "cd .git && cp ../x /proc/self/root/proc/self/cwd/config",
        "exec 3< .git; cp x /dev/fd/3/config",
        "exec 3< .git; cp x open/3/config",
        "cp x /dev/stdin < .git/config",
    ] {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in ["cd src && cp ../x /proc/self/cwd/y", "cp x /dev/stdin < y", "cat /proc/self/status"] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-05, RULE-06
#[test]
fn rules_hold_through_what_only_a_process_can_tell() {
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::BypassPermissions] {
        let cx = with(with_links_to_own_views(mode), Behavior::Deny, &["Read(secret/**)", "Edit(src/**)"]);
        for command in [
            "cat /proc/self/cwd/secret/s",
            "cd secret && cat /proc/self/cwd/s",
            "cd secret && cat ../here/s",
            "cat /proc/self/root/w/secret/s",
            "exec 3< other; cat /dev/fd/3/../secret/s",
            "cd src && cp ../x /proc/self/cwd/main.rs",
            "cd src && cp ../x ../here/main.rs",
            "cd src && echo x > /proc/self/cwd/main.rs",
        ] {
            assert_eq!(verdict(&bash(command), &cx), "deny", "{mode:?} {command}");
        }
    }
}

// PERM-17: a yes lets a command reach what its words name outside, and not what that is called in Tiller.
#[test]
fn what_only_a_process_can_tell_is_not_let_out() {
    let outside = |command: &str| {
        let analysis = shell::analyse(command, Path::new("/w"));
        change::changed_outside(&analysis, &with_links_to_own_views(Mode::Default))
    };
    assert!(outside("cd sub && touch /proc/self/cwd/x ../here/x").is_empty());
    let root = outside("touch /proc/self/root/etc/x");
    assert_eq!(root.iter().map(Place::real).collect::<Vec<_>>(), [Path::new("/etc/x")]);
}

// RULE-05
#[test]
fn links_on_disk_are_followed_as_far_as_they_lead_to_the_same_for_all() {
    let project = tempfile::tempdir().unwrap();
    let root = fs_err::canonicalize(project.path()).unwrap();
    fs_err::create_dir_all(root.join("sub")).unwrap();
    for (link, target) in [
        ("here", "/proc/self/cwd"),
        ("sub/step", "../here"),
        ("open", "/dev/fd"),
        ("round", "round"),
        ("plain", "sub"),
    ] {
        fs_err::os::unix::fs::symlink(target, root.join(link)).unwrap();
    }
    let resolver = Resolver::new(|path| fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
        .with_link_targets(|path| path.read_link().ok());
    let cx = Context { resolver, roots: vec![root.clone()], ..cx(Mode::Default) };
    let decided = |command: &str| {
        let script = Script { command: command.to_owned(), cwd: root.clone() };
        verdict(&request("Bash", vec![Access::Exec(script)], true), &cx)
    };
    for command in ["cat here/x", "cat sub/step/x", "cat plain/step/x", "cat open/0", "cd sub && cat step/x"]
    {
        assert_eq!(decided(command), "ask", "{command}");
    }
    for command in ["cat plain/x", "cat sub/x", "cat round", "cd plain && cat x"] {
        assert_eq!(decided(command), "allow", "{command}");
    }
}
