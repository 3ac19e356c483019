//! What stands in working directories only so that commands cannot make it anew: it does not outlast the session, even
//! one that was killed, and is no change of the session's.

use serde_json::json;
use tiller_testkit::Reply;

use crate::harness::{World, eventually, held_by_namespaces, marker, processes_with};

const SESSION: &str = "2b0c4f0e-6a51-4f6b-9a0e-0d5f3c1b7a92";
const SETTINGS: [&str; 2] = [".tiller", ".claude"];

#[test]
fn what_a_killed_session_left_goes_with_the_next_one_unless_it_is_the_users() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let marker = marker();
    let command = format!("touch begun; sleep {marker}");
    world.server.reply(Reply::new().tool("Bash", json!({"command": command})));
    let mut child = world.command(&["-p", "go", "--allowedTools", "Bash"]).spawn().unwrap();
    eventually("the command runs", || world.path("begun").exists());
    assert!(SETTINGS.iter().all(|name| world.path(name).is_dir()));
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("the command is gone", || processes_with(&marker).is_empty());
    assert!(SETTINGS.iter().all(|name| world.path(name).is_dir()));
    world.write(".claude/notes.md", "the user's");
    world.server.reply(Reply::text("hello"));
    // Wherever the next one works.
    let elsewhere = tempfile::tempdir().unwrap();
    let next = world.command(&["-p", "hi"]).current_dir(elsewhere.path()).output().unwrap();
    assert!(next.status.success(), "{next:?}");
    assert!(!world.path(".tiller").exists());
    assert_eq!(world.read(".claude/notes.md"), "the user's");
    let records = fs_err::read_dir(world.config_dir().join("placeholders")).unwrap();
    assert_eq!(records.count(), 0);
}

#[test]
fn they_are_no_changes_of_the_session() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    for name in ["one", "two"] {
        let command = format!("ls -d .tiller .claude && mkdir {name}");
        world.server.reply(Reply::new().tool("Bash", json!({"command": command})));
    }
    world.server.reply(Reply::text("done"));
    world.run(&["-p", "go", "--allowedTools", "Bash", "--session-id", SESSION]).ok();
    assert!(SETTINGS.iter().all(|name| !world.path(name).exists()));
    let shown = world.run(&["sessions", "diff", SESSION, "--json"]).ok();
    let changes: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let paths: Vec<_> = changes.as_array().unwrap().iter().map(|change| &change["path"]).collect();
    assert_eq!(paths, [&json!(world.path("one")), &json!(world.path("two"))]);
}
