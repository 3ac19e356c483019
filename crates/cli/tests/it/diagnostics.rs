//! Problems that language servers find, on their way to the model.

use serde_json::{Value, json};
use tiller_sandbox::{Level, probe};
use tiller_testkit::{Captured, Gate, Reply};

use crate::harness::{World, eventually, stream_args};

/// A world in which problems of Python are told, by the server that the test environment has, however slow it is.
fn python() -> World {
    let command = [&tiller_testenv::python().display().to_string(), "-m", "pylsp"];
    let confined = probe().level != Level::None;
    let settings = json!({
        "diagnosticsWaitMs": 60_000,
        "diagnosticsStartWaitMs": 60_000,
        "languageServers": {"python": {"command": command, "confined": confined}},
    });
    World::new().var("TILLER_DIAGNOSTICS", "1").file(".tiller/settings.json", &settings.to_string())
}

fn conversation(request: &Captured) -> String {
    request.body()["messages"].to_string()
}

fn attachments(world: &World) -> Vec<Value> {
    let lines = world.log().into_iter().filter(|line| line["attachment"]["type"] == "diagnostics");
    lines.map(|line| line["attachment"]["files"].clone()).collect()
}

// STEER-45
#[test]
fn an_edit_that_breaks_a_file_is_told_with_the_very_next_request_and_told_once() {
    let world = python();
    let write = json!({"file_path": "greet.py", "content": "def greet(name):\n    return nmae\n"});
    let edit = json!({"file_path": "greet.py", "old_string": "nmae", "new_string": "name + title"});
    // The first edit starts the server, the second finds it running; nothing was changed before the last request.
    world.server.reply(Reply::new().tool("Write", write));
    world.server.reply(Reply::new().tool("Edit", edit));
    world.server.reply(Reply::new().tool("Read", json!({"file_path": "greet.py"})));
    world.server.reply(Reply::text("done"));
    world.run(&stream_args("improve the greeting")).ok();

    let told = attachments(&world);
    assert_eq!(told.len(), 2, "{told:#?}");
    for (files, (column, name)) in told.iter().zip([(12, "nmae"), (19, "title")]) {
        assert_eq!(files[0]["uri"], json!(world.path("greet.py")));
        let expected = json!([{
            "severity": "error", "line": 2, "column": column, "source": "pyflakes",
            "message": format!("undefined name '{name}'"),
        }]);
        assert_eq!(files[0]["diagnostics"], expected);
    }
    let requests: Vec<String> = world.server.messages().iter().map(conversation).collect();
    let problems = ["2:12: undefined name 'nmae' [pyflakes]", "2:19: undefined name 'title' [pyflakes]"];
    let known = |request: &String| problems.map(|problem| request.matches(problem).count());
    assert_eq!(requests.iter().map(known).collect::<Vec<_>>(), [[0, 0], [1, 0], [1, 1], [1, 1]]);
}

#[test]
fn a_server_that_does_not_work_is_told_to_the_user() {
    let settings = json!({"languageServers": {
        "text": {"command": ["no-such-server"], "extensions": [".txt"], "confined": false},
    }});
    let world =
        World::new().var("TILLER_DIAGNOSTICS", "1").file(".tiller/settings.json", &settings.to_string());
    let gate = Gate::new();
    world.server.reply(Reply::new().tool("Write", json!({"file_path": "a.txt", "content": "x"})));
    world.server.reply(Reply::text("ok").gate(&gate));
    let live = world.start(&stream_args("go"));
    gate.wait_reached();
    let notice = || world.log().into_iter().find(|line| line["subtype"] == "language_server");
    eventually("the user is told", || notice().is_some());
    gate.open();
    live.finish();
    let content = notice().unwrap()["content"].as_str().unwrap().to_owned();
    assert!(content.contains("no-such-server was not found"), "{content}");
}

#[test]
fn a_server_is_held_like_a_command() {
    if probe().level == Level::None {
        return;
    }
    // What it must not do comes first; a server that reads nothing more is as good as any.
    let script = "touch ~/outside; cat secret.txt > leaked; echo x >> kept.txt; : < /dev/tcp/127.0.0.1/PORT && \
                  touch connected; echo x > inside; exec cat";
    let world = World::new()
        .var("TILLER_DIAGNOSTICS", "1")
        .file("secret.txt", "hunter2")
        .file("kept.txt", "as it was")
        // Where only Landlock holds, nothing new can be made beside what is protected.
        .file("inside", "")
        .file("leaked", "");
    let port = world.server.url().rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    let command = ["bash", "-c", &script.replace("PORT", &port)];
    let settings = json!({
        "diagnosticsStartWaitMs": 0,
        "permissions": {"deny": ["Read(secret.txt)", "Edit(kept.txt)"]},
        "languageServers": {"text": {"command": command, "extensions": [".txt"]}},
    });
    world.write(".tiller/settings.json", &settings.to_string());
    let gate = Gate::new();
    world.server.reply(Reply::new().tool("Write", json!({"file_path": "a.txt", "content": "x"})));
    world.server.reply(Reply::text("ok").gate(&gate));
    let live = world.start(&stream_args("go"));
    gate.wait_reached();
    eventually("the server has tried", || world.read("inside") == "x\n");
    gate.open();
    live.finish();
    assert!(!world.home().join("outside").exists());
    assert_eq!(world.read("leaked"), "");
    assert_eq!(world.read("kept.txt"), "as it was");
    assert!(!world.path("connected").exists());
}

#[test]
fn the_settings_in_the_documentation_are_understood() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/diagnostics.md");
    let page = fs_err::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```json\n").unwrap();
    let (settings, _) = rest.split_once("```").unwrap();
    let world = World::new().file(".tiller/settings.json", settings);
    world.server.reply(Reply::text("ok"));
    let run = world.run(&["-p", "hello"]).ok();
    assert_eq!(run.stderr, "");
}

#[test]
fn nothing_is_started_where_problems_are_not_wanted() {
    let command = json!(["sh", "-c", "touch started; cat"]);
    let server = json!({"text": {"command": command, "extensions": [".txt"], "confined": false}});
    for (settings, variable) in [
        (json!({"diagnostics": false, "languageServers": server}), ""),
        (json!({"languageServers": server}), "0"),
        (json!({"steering": {"mute": ["diagnostics"]}, "languageServers": server}), "1"),
    ] {
        let world = World::new()
            .var("TILLER_DIAGNOSTICS", variable)
            .file(".tiller/settings.json", &settings.to_string());
        world.server.reply(Reply::new().tool("Write", json!({"file_path": "a.txt", "content": "x"})));
        world.server.reply(Reply::text("ok"));
        world.run(&stream_args("go")).ok();
        assert!(!world.path("started").exists(), "{settings}");
    }
}

#[test]
fn what_is_said_of_a_language_in_vain_is_warned_about() {
    let settings = json!({"languageServers": {"lua": {"command": ["luals"]}, "rust": {"confined": true}}});
    let world = World::new().file(".tiller/settings.json", &settings.to_string());
    world.server.reply(Reply::text("ok"));
    let run = world.run(&["-p", "hello"]).ok();
    assert!(run.stderr.contains("languageServers.lua: it names no extensions of files"), "{}", run.stderr);
    assert!(!run.stderr.contains("languageServers.rust"), "{}", run.stderr);
}
