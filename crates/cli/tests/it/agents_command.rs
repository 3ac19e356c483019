//! `tiller agents`, with the example of docs/agents.md.

use serde_json::{Value, json};
use tiller_testkit::{Matcher, Reply};

use crate::harness::World;

/// The first block of this kind in a page.
fn example(page: &str, kind: &str) -> String {
    let page = fs_err::read_to_string(format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (_, block) = page.split_once(&format!("```{kind}\n")).unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_agents_there_are_can_be_listed() {
    let world = World::new().file(".tiller/agents/reviewer.md", &example("agents.md", "markdown"));
    let run = world.run(&["agents", "list"]).ok();
    for part in [
        "general-purpose\n",
        "Explore\n",
        "reviewer\n  Reviews changes",
        "model: opus; tools: Read, Grep, Glob, Bash",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(run.stdout.contains("tools: all without Task, ExitPlanMode"), "{}", run.stdout);
    assert_eq!(run.stderr, "");

    let without = world.run(&["agents", "list", "--no-project-settings"]).ok();
    assert!(!without.stdout.contains("reviewer"));
}

#[test]
fn a_broken_file_is_told_and_everything_else_is_there() {
    let world = World::new().file(".claude/agents/broken.md", "---\ntools: Read\n---\nDo it.\n");
    let run = world.run(&["agents", "list"]).ok();
    assert!(run.stderr.contains("broken.md: line 1, column 1: description: is missing"), "{}", run.stderr);
    assert!(run.stdout.contains("general-purpose"));

    let run = world.run(&["agents", "list", "--json"]).ok();
    let listed: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(listed["agents"].as_array().unwrap().len(), 5);
    assert_eq!(
        (&listed["agents"][1]["name"], &listed["agents"][1]["layer"]),
        (&"Explore".into(), &"default".into())
    );
    assert!(listed["agents"][1]["prompt"].as_str().unwrap().contains("READ-ONLY"));
    assert!(listed["problems"][0].as_str().unwrap().contains("broken.md"), "{listed:#}");
}

/// What the model is told of the tool that delegates.
fn delegation(world: &World) -> String {
    let request = world.server.messages()[0].body().clone();
    let tools = request["tools"].as_array().unwrap().clone();
    tools.into_iter().find(|tool| tool["name"] == "Task").unwrap()["description"].as_str().unwrap().to_owned()
}

#[test]
fn agents_can_be_given_on_the_command_line() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    let given = r#"{"reviewer": {"description": "Reviews changes", "prompt": "You review."}}"#;
    world.run(&["-p", "review the last commit", "--agents", given]).ok();
    assert!(delegation(&world).contains("- reviewer: Reviews changes"), "{}", delegation(&world));
    world.server.assert_clean();
}

#[test]
fn a_host_brings_agents() {
    let world = World::new();
    world.server.replies([
        Reply::new().tool("Task", json!({"description": "d", "prompt": "look", "subagent_type": "reviewer"})),
        Reply::text("done"),
    ]);
    let reviewing = world.server.conversation(Matcher::first_user_contains("look"));
    reviewing.reply(Reply::text("fine"));
    let mut live = world.talk(&["--permission-mode", "bypassPermissions"]);
    let agents =
        json!({"reviewer": {"description": "Reviews changes", "prompt": "You review.", "tools": ["Read"]}});
    let answer = live.request(&json!({"subtype": "initialize", "agents": agents}));
    let listed = answer["response"]["agents"].as_array().unwrap().clone();
    assert!(listed.contains(&json!({"name": "reviewer", "description": "Reviews changes"})), "{listed:#?}");
    live.say("go");
    let frames = live.turn();
    let init = frames.iter().find(|frame| frame["subtype"] == "init").unwrap();
    assert!(init["agents"].as_array().unwrap().contains(&json!("reviewer")), "{init:#}");
    assert!(delegation(&world).contains("- reviewer: Reviews changes"));
    let request = reviewing.requests()[0].body().clone();
    assert!(request["system"].to_string().contains("You review."), "{}", request["system"]);
    assert_eq!(request["tools"].as_array().unwrap().len(), 1);
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn agents_on_the_command_line_have_to_be_json() {
    let run = World::new().run(&["-p", "hello", "--agents", "{reviewer"]);
    assert_eq!(run.code(), 1, "{run:#?}");
    assert!(run.stderr.contains("--agents is not JSON"), "{}", run.stderr);
}
