//! Attachments as users meet them: mentions on the command line, settings, and what is said about wrong ones.

use serde_json::{Value, json};
use tiller_testkit::{Captured, Reply};

use crate::harness::{World, blocks_of};

/// All text in the user's role of the last request.
fn told(world: &World) -> String {
    let requests = world.server.messages();
    let messages = requests.last().unwrap().body()["messages"].as_array().unwrap().clone();
    messages.iter().filter(|message| message["role"] == "user").map(Value::to_string).collect()
}

// STEER-22 STEER-23
#[test]
fn files_lines_and_directories_are_mentioned_in_a_prompt() {
    let world = World::new()
        .file("src/main.rs", "fn main() {}\n")
        .file("my file.txt", "alpha\nbeta\ngamma\n")
        .file("docs/a.md", "x");
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "see @src/main.rs, @\"my file.txt\"#L2-3 and @docs."]).ok();
    let text = told(&world);
    for part in ["1→fn main() {}", "2→beta\\n     3→gamma", "a.md"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("1→alpha"), "{text}");
    let kinds: Vec<Value> = world
        .log()
        .iter()
        .filter(|line| line["type"] == "attachment")
        .map(|line| line["attachment"]["type"].clone())
        .collect();
    assert_eq!(kinds, ["file", "file", "directory"]);
}

// RULE-06
#[test]
fn a_denied_file_is_not_attached_and_the_user_hears_why() {
    let world = World::new()
        .file("secret.txt", "hunter2")
        .file(".tiller/settings.json", r#"{"permissions": {"deny": ["Read(secret.txt)"]}}"#);
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "@secret.txt"]).ok();
    assert!(!told(&world).contains("hunter2"));
    let notice = world.log().into_iter().find(|line| line["subtype"] == "mention").unwrap();
    assert!(notice["content"].as_str().unwrap().contains("@secret.txt was not attached"), "{notice}");
}

// STEER-46
#[test]
fn an_output_style_is_a_file_of_the_project() {
    let world = World::new()
        .file(".tiller/settings.json", r#"{"outputStyle": "pirate"}"#)
        .file(".tiller/output-styles/pirate.md", "---\nname: pirate\n---\nSay arr.\n");
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "hello"]).ok();
    assert!(told(&world).contains("Say arr."));
}

// STEER-46
#[test]
fn built_in_styles_are_there_and_unknown_ones_are_named() {
    for (style, expected) in
        [("concise", "as few words"), ("explanatory", "why it is built"), ("learning", "learn by doing")]
    {
        let world = World::new().file(".tiller/settings.json", &format!(r#"{{"outputStyle": "{style}"}}"#));
        world.server.reply(Reply::text("ok"));
        world.run(&["-p", "hello"]).ok();
        assert!(told(&world).contains(expected), "{style}");
    }
    let world = World::new().file(".tiller/settings.json", r#"{"outputStyle": "opera"}"#);
    world.server.reply(Reply::text("ok"));
    let run = world.run(&["-p", "hello"]).ok();
    assert!(run.stderr.contains("there is no output style named \"opera\""), "{}", run.stderr);
}

// STEER-34
#[test]
fn a_text_can_be_repeated() {
    let world = World::new()
        .file(".tiller/settings.json", r#"{"ultraMemoryFile": "notes/always.md"}"#)
        .file("notes/always.md", "Never touch legacy/.");
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "hello"]).ok();
    assert!(told(&world).contains("Never touch legacy/."));
    for (file, problem) in [("nowhere.md", "No such file"), ("notes", "is not a file")] {
        let world = World::new()
            .file(".tiller/settings.json", &format!(r#"{{"ultraMemoryFile": "{file}"}}"#))
            .file("notes/always.md", "Never touch legacy/.");
        world.server.reply(Reply::text("ok"));
        let run = world.run(&["-p", "hello"]).ok();
        assert!(run.stderr.contains("ultraMemoryFile: ") && run.stderr.contains(problem), "{}", run.stderr);
    }
}

// STEER-32
#[test]
fn earlier_sessions_can_be_told() {
    let world = World::new().file(".tiller/settings.json", r#"{"sessionMemory": true}"#);
    world.server.replies([Reply::text("The pump is mended."), Reply::text("ok")]);
    world.run(&["-p", "mend the pump"]).ok();
    assert!(!told(&world).contains("Earlier sessions"));
    world.run(&["-p", "hello"]).ok();
    let text = told(&world);
    assert!(text.contains("mend the pump") && text.contains("The pump is mended."), "{text}");
}

// LEDG-03 STEER-12
#[test]
fn kinds_can_be_muted_but_not_those_that_hold_a_limit() {
    let settings = r#"{"steering": {"mute": ["file", "plan_mode", "nonsense"]}}"#;
    let world = World::new().file(".tiller/settings.json", settings).file("a.txt", "content of a");
    world.server.replies([Reply::text("ok"), Reply::text("ok")]);
    let run = world.run(&["-p", "@a.txt"]).ok();
    assert!(!told(&world).contains("content of a"));
    assert!(run.stderr.contains("steering.mute: plan_mode cannot be muted"), "{}", run.stderr);
    assert!(
        run.stderr.contains("steering.mute: there is no kind of attachment named nonsense"),
        "{}",
        run.stderr
    );

    let off = World::new().var("TILLER_DISABLE_ATTACHMENTS", "1").file("a.txt", "content of a");
    off.server.reply(Reply::text("ok"));
    off.run(&["-p", "@a.txt"]).ok();
    assert!(!told(&off).contains("content of a"));
}

// STEER-10
#[test]
fn instruction_files_import_others() {
    let world =
        World::new().file("AGENTS.md", "Read @docs/style.md first.").file("docs/style.md", "Tabs, always.");
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "hello"]).ok();
    assert!(told(&world).contains("Tabs, always."));
}

/// The smallest picture there is: one transparent pixel.
pub(crate) const PIXEL: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\xdacd\xf8\xcfP\x0f\x00\x03\x86\x01\x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82";

// STEER-22
#[test]
fn pictures_and_notebooks_are_mentioned_as_reading_shows_them() {
    let notebook =
        r#"{"cells": [{"cell_type": "code", "source": ["print(6 * 7)"], "outputs": []}], "nbformat": 4}"#;
    let world = World::new().file("sum.ipynb", notebook);
    fs_err::write(world.path("dot.png"), PIXEL).unwrap();
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "compare @dot.png and @sum.ipynb"]).ok();
    let request = world.server.messages()[0].body().clone();
    assert_eq!(blocks_of(&request, "image").len(), 1, "{request:#}");
    assert!(told(&world).contains("print(6 * 7)"));
    world.server.assert_clean();
}

// STEER-28 TODO-12 TODO-13
#[test]
fn a_list_that_was_not_touched_for_ten_answers_is_recalled_once() {
    let script = || {
        let mut step = 0;
        move |_: &Captured| {
            step += 1;
            match step {
                ..=14 => Reply::new().tool("Glob", json!({"pattern": format!("*.{step}")})),
                _ => Reply::text("done"),
            }
        }
    };
    let reminded = |world: &World| -> Vec<usize> {
        let requests = world.server.messages();
        let has = |request: &Captured| request.body()["messages"].to_string().contains("TodoWrite");
        requests.iter().enumerate().filter(|(_, request)| has(request)).map(|(at, _)| at).collect()
    };
    let world = World::new();
    world.server.respond_with(script());
    world.run(&["-p", "look around"]).ok();
    assert_eq!(reminded(&world), [10, 11, 12, 13, 14], "from the request after the tenth answer on");
    let kinds = world.log().into_iter().filter(|line| line["attachment"]["type"] == "todo_reminder");
    assert_eq!(kinds.count(), 1);

    let without = World::new();
    without.server.respond_with(script());
    without.run(&["-p", "look around", "--tools", "Glob"]).ok();
    assert!(reminded(&without).is_empty());
}

// STEER-36
#[test]
fn an_agent_is_asked_for_by_its_type() {
    let world = World::new();
    world.server.replies([Reply::text("ok"), Reply::text("ok")]);
    world.run(&["-p", "let @agent-Explore look for the pump"]).ok();
    let kinds = |world: &World| -> Vec<Value> {
        let attachments = world.log().into_iter().filter(|line| line["type"] == "attachment");
        attachments.map(|line| line["attachment"].clone()).collect()
    };
    assert_eq!(kinds(&world), [json!({"type": "agent_mention", "agentType": "Explore"})]);
    let none = World::new();
    none.server.reply(Reply::text("ok"));
    none.run(&["-p", "let @agent-Nobody look for the pump"]).ok();
    assert!(kinds(&none).is_empty());
}
