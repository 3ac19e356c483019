//! What is made or removed on the way.

use super::*;

/// A project in which `link` leads out.
fn with_a_link_out(mode: Mode) -> Context {
    let resolver = Resolver::new(|path: &Path| {
        let led = path.strip_prefix("/w/link").map(|rest| Path::new("/home/u/far").join(rest));
        crate::path::lexical(&led.unwrap_or_else(|_| path.to_owned()))
    });
    Context { resolver, ..cx(mode) }
}

// PERM-03, RULE-05
#[test]
fn directories_that_are_entered_and_left_again_are_changed() {
    let cx = with_a_link_out(Mode::AcceptEdits);
    for command in ["mkdir -p link/a/../../w/b", "mkdir -p src/a link/../x", "cp --parents link/../a.txt sub"]
    {
        assert_eq!(verdict(&bash(command), &cx), "ask", "{command}");
    }
    for command in ["mkdir -p src/../dist", "mkdir -p ./src/a", "cd sub && mkdir -p ../dist/a"] {
        assert_eq!(verdict(&bash(command), &cx), "allow", "{command}");
    }
}

// RULE-06
#[test]
fn rules_hold_for_what_is_made_or_removed_on_the_way() {
    for mode in [Mode::AcceptEdits, Mode::BypassPermissions] {
        let cx = with(cx(mode), Behavior::Deny, &["Edit(kept)"]);
        for command in [
            "mkdir -p kept/../b",
            "d=kept; mkdir -p $d/../b",
            "rmdir -p kept/b",
            "cp --parents kept/../a out",
        ] {
            assert_eq!(verdict(&bash(command), &cx), "deny", "{mode:?} {command}");
        }
        assert_eq!(verdict(&bash("mkdir -p a/../b"), &cx), "allow", "{mode:?}");
    }
}

// PERM-21: what a hook may vouch for stays inside.
#[test]
fn what_is_made_on_the_way_outside_is_named() {
    let analysis = |command: &str| shell::analyse(command, Path::new("/w"));
    let outside = |command: &str| change::changed_outside(&analysis(command), &cx(Mode::Default));
    let made = outside("mkdir -p ../new/../w/b");
    assert_eq!(made.iter().map(Place::real).collect::<Vec<_>>(), [Path::new("/new")]);
    assert!(outside("mkdir -p a/b").is_empty());
    assert!(change::stays_inside(&analysis("mkdir -p a/../b"), &cx(Mode::Default)));
    assert!(!change::stays_inside(&analysis("mkdir -p ../new/../w/b"), &cx(Mode::Default)));
    assert!(!change::stays_inside(&analysis("rmdir -p /w/b"), &cx(Mode::Default)));
}
