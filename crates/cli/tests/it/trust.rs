//! Trust in a project: given, listed, taken back; and the options that leave its settings out.

use serde_json::json;
use tiller_testkit::Reply;

use crate::harness::{World, held_by_namespaces};

const NOBODY: &str = "no directory is trusted yet\n";

const LOOSE: &str =
    r#"{"permissions": {"allow": ["Bash(touch:*)"], "deny": ["WebFetch"]}, "env": {"A": "b"}}"#;

#[test]
fn trust_is_given_for_what_is_shown_and_can_be_taken_back() {
    let world = World::new().file(".tiller/settings.json", LOOSE);
    let dir = world.dir().display().to_string();
    let shown = world.run(&["trust", "--show"]).ok();
    let file = world.path(".tiller/settings.json").display().to_string();
    for word in ["run     env.A = \"b\"", "loosen  permissions.allow = \"Bash(touch:*)\"", &file] {
        assert!(shown.stdout.contains(word), "{word} is not in {}", shown.stdout);
    }
    assert!(!shown.stdout.contains("WebFetch"), "what only restricts needs no trust: {}", shown.stdout);
    assert_eq!(world.run(&["trust", "--list"]).ok().stdout, NOBODY);

    let trusted = world.run(&["trust"]).ok();
    assert!(trusted.stdout.ends_with(&format!("{dir} is now trusted\n")), "{}", trusted.stdout);
    assert_eq!(world.run(&["trust", "--list"]).ok().stdout, format!("{dir}\n"));
    assert_eq!(world.run(&["trust"]).ok().stdout, format!("{dir} needs no further trust\n"));

    world.write(".tiller/settings.json", &LOOSE.replace("touch", "rm"));
    let listed = world.run(&["trust", "--list"]).ok().stdout;
    assert!(listed.contains("its settings have changed since"), "{listed}");

    assert_eq!(world.run(&["trust", "--remove", &dir]).ok().stdout, format!("{dir} is no longer trusted\n"));
    assert_eq!(world.run(&["trust", "--remove"]).ok().stdout, format!("{dir} was not trusted\n"));
    assert_eq!(world.run(&["trust", "--list"]).ok().stdout, NOBODY);
    let run = world.run(&["trust", "nowhere"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("is not a directory"), "{}", run.stderr);
}

#[test]
fn a_run_can_give_trust_on_its_way() {
    let world = World::new().file(".tiller/settings.json", LOOSE);
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "go"]).ok();
    assert_eq!(
        world.run(&["trust", "--list"]).ok().stdout,
        NOBODY,
        "a run that asks for nothing gives no trust"
    );
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "go", "--trust"]).ok();
    assert_eq!(world.run(&["trust", "--list"]).ok().stdout, format!("{}\n", world.dir().display()));
    world.server.assert_clean();
}

#[test]
fn a_headless_run_follows_the_project_unless_told_not_to() {
    if !held_by_namespaces() {
        return;
    }
    for (args, done) in [
        (&[][..], true),
        (&["--setting-sources", "user,project"], true),
        (&["--setting-sources", "user"], false),
        (&["--setting-sources="], false),
        (&["--no-project-settings"], false),
        (&["--no-project-settings", "--trust"], false),
    ] {
        let world = World::new().file(".tiller/settings.json", LOOSE);
        let call = Reply::new().tool_with_id("a", "Bash", json!({"command": "touch done"}));
        world.server.replies([call, Reply::text("done")]);
        world.run(&[&["-p", "go"][..], args].concat());
        world.server.assert_clean();
        assert_eq!(world.path("done").exists(), done, "{args:?}");
    }
}
