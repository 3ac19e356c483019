//! `tiller agents`, with the example of docs/agents.md.

use serde_json::Value;

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

#[test]
fn agents_on_the_command_line_have_to_be_json() {
    let run = World::new().run(&["-p", "hello", "--agents", "{reviewer"]);
    assert_eq!(run.code(), 1, "{run:#?}");
    assert!(run.stderr.contains("--agents is not JSON"), "{}", run.stderr);
}
