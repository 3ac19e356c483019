//! Hooks end to end: from settings files, and registered by a host over the stream.

use serde_json::{Value, json};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, blocks_of, eventually, held_by_namespaces, result_text};
use crate::live::Live;

fn settings(hooks: &Value) -> String {
    json!({"hooks": hooks}).to_string()
}

fn runs(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

/// A session whose host has registered hooks.
fn hosting(world: &World, hooks: &Value, extra: &[&str]) -> Live {
    let mut live = world.talk(extra);
    let response = live.request(&json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(response["response"]["hooks_applied"], true, "{response}");
    assert_eq!(response["response"]["hook_on_failure_supported"], true);
    live
}

fn callback(live: &mut Live) -> Value {
    let frames = live.until(|frame| frame["request"]["subtype"] == "hook_callback");
    frames.last().unwrap().clone()
}

// HOOK-03: the same in a headless run, from a file of the project.
#[test]
fn a_hook_of_the_project_guards_a_headless_run() {
    let guard = runs("grep -q precious && { echo 'precious is not to be touched' >&2; exit 2; } || exit 0");
    let world = World::new().file(".tiller/settings.json", &settings(&json!({"PreToolUse": guard})));
    world.server.replies([
        Reply::new().tool_with_id("a", "Bash", json!({"command": "touch precious"})),
        Reply::new().tool_with_id("b", "Bash", json!({"command": "touch cheap"})),
        Reply::text("done"),
    ]);
    let run = world.run(&["-p", "go", "--dangerously-skip-permissions"]).ok();
    assert!(!world.path("precious").exists() && world.path("cheap").exists());
    let messages = world.server.messages();
    assert!(result_text(messages[1].body(), "a").contains("precious is not to be touched"));
    assert!(!run.stderr.contains("no effect"), "{}", run.stderr);
    world.server.assert_clean();
}

// HOOK-09, HEAD-01: a prompt that a hook refuses costs nothing and is not a success.
#[test]
fn a_refused_prompt_has_an_exit_code_of_its_own() {
    let refuse = runs("echo 'ask me tomorrow' >&2; exit 2");
    let world = World::new().file(".tiller/settings.json", &settings(&json!({"UserPromptSubmit": refuse})));
    let run = world.run(&["-p", "now"]);
    assert_eq!(run.code(), 3, "{}", run.stderr);
    assert!(run.stderr.contains("ask me tomorrow"), "{}", run.stderr);
    assert!(world.server.messages().is_empty());
}

// HOOK-17: a project can be left out, and its hooks with it.
#[test]
fn hooks_of_a_project_that_is_left_out_do_not_run() {
    let world =
        World::new().file(".tiller/settings.json", &settings(&json!({"SessionStart": runs("touch ran")})));
    world.server.reply(Reply::text("hi"));
    world.run(&["-p", "go", "--no-project-settings"]).ok();
    assert!(!world.path("ran").exists());
}

// HOOK-02, HOOK-16: the host's program is asked, and its yes spares the question.
#[test]
fn a_host_allows_a_call() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let mut live = hosting(
        &world,
        &json!({"PreToolUse": [{"matcher": "Bash|Write", "hookCallbackIds": ["hook_0"]}]}),
        &[],
    );
    world.server.replies([
        Reply::new().tool_with_id("a", "Bash", json!({"command": "touch made"})),
        Reply::text("done"),
    ]);
    live.say("go");
    let asked = callback(&mut live);
    let request = &asked["request"];
    assert_eq!(
        (request["callback_id"].as_str(), request["tool_use_id"].as_str()),
        (Some("hook_0"), Some("a"))
    );
    let input = &request["input"];
    assert_eq!(
        (input["hook_event_name"].as_str(), input["tool_name"].as_str()),
        (Some("PreToolUse"), Some("Bash"))
    );
    assert!(
        input["session_id"].is_string() && input["transcript_path"].is_string() && input["cwd"].is_string()
    );
    live.answer(
        &asked,
        &json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}),
    );
    assert_eq!(live.turn().pop().unwrap()["result"], "done");
    assert!(world.path("made").exists());
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// HOOK-03, HOOK-05, HOOK-08
#[test]
fn a_host_denies_changes_and_comments() {
    let world = World::new();
    let hooks = json!({
        "PreToolUse": [{"matcher": null, "hookCallbackIds": ["pre"]}],
        "PostToolUse": [{"hookCallbackIds": ["post"]}],
        "UserPromptSubmit": [{"hookCallbackIds": ["prompt"]}],
    });
    let mut live = hosting(&world, &hooks, &["--dangerously-skip-permissions"]);
    world.server.replies([
        Reply::new().tool_with_id("a", "Bash", json!({"command": "touch a"})),
        Reply::new().tool_with_id("b", "Bash", json!({"command": "touch b"})),
        Reply::text("done"),
    ]);
    live.say("go");
    let prompt = callback(&mut live);
    assert_eq!(prompt["request"]["input"]["prompt"], "go");
    live.answer(&prompt, &json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "mind the gap"}}));
    let first = callback(&mut live);
    live.answer(&first, &json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not a"}}));
    let second = callback(&mut live);
    live.answer(&second, &json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "touch c"}}}));
    let post = callback(&mut live);
    assert_eq!(post["request"]["callback_id"], "post");
    assert_eq!(post["request"]["input"]["tool_input"]["command"], "touch c");
    live.answer(
        &post,
        &json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "well done"}}),
    );
    live.turn();
    assert!(!world.path("a").exists() && !world.path("b").exists() && world.path("c").exists());
    let requests = world.server.messages();
    assert!(requests[0].body().to_string().contains("mind the gap"));
    assert!(result_text(requests[1].body(), "a").contains("not a"));
    let texts = blocks_of(requests[2].body(), "text");
    assert!(texts.last().unwrap()["text"].as_str().unwrap().contains("well done"));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// HOOK-14: a callback that fails has no opinion, unless it was registered as one that must not fail.
#[test]
fn a_callback_that_fails_decides_only_where_it_must_not() {
    for (on_failure, runs_it) in [(json!(null), true), (json!("block"), false)] {
        let world = World::new();
        let hooks = json!({"PreToolUse": [{"hookCallbackIds": ["h"], "onFailure": on_failure}]});
        let mut live = hosting(&world, &hooks, &["--dangerously-skip-permissions"]);
        world.server.replies([
            Reply::new().tool_with_id("a", "Bash", json!({"command": "touch made"})),
            Reply::text("done"),
        ]);
        live.say("go");
        let asked = callback(&mut live);
        let response = json!({"subtype": "error", "request_id": asked["request_id"], "error": "raised"});
        live.send(&json!({"type": "control_response", "response": response}));
        live.turn();
        assert_eq!(world.path("made").exists(), runs_it, "{on_failure}");
        assert_eq!(live.finish().code, 0);
    }
}

// HEAD-02: when the host is gone, its hooks are not waited for.
#[test]
fn a_host_that_leaves_is_not_waited_for() {
    let world = World::new();
    let mut live = hosting(
        &world,
        &json!({"PreToolUse": [{"hookCallbackIds": ["h"]}]}),
        &["--dangerously-skip-permissions"],
    );
    world.server.replies([
        Reply::new().tool_with_id("a", "Bash", json!({"command": "touch made"})),
        Reply::text("done"),
    ]);
    live.say("go");
    callback(&mut live);
    live.close_stdin();
    assert_eq!(live.turn().pop().unwrap()["result"], "done");
    assert!(world.path("made").exists());
    assert_eq!(live.wait().code, 0);
}

#[test]
fn a_host_can_watch_hooks_start_and_end() {
    let hooks = json!({"SessionStart": runs("echo hello"), "Stop": runs("echo bye; exit 1")});
    for (extra, events) in
        [(&[][..], &["SessionStart"][..]), (&["--include-hook-events"], &["SessionStart", "Stop"])]
    {
        let world = World::new().file(".tiller/settings.json", &settings(&hooks));
        world.server.reply(Reply::text("hi"));
        let frames =
            world.run(&[&["-p", "go", "--output-format", "stream-json"][..], extra].concat()).ok().frames();
        let of = |subtype: &str| -> Vec<Value> {
            frames.iter().filter(|frame| frame["subtype"] == subtype).cloned().collect()
        };
        let (started, ended) = (of("hook_started"), of("hook_response"));
        assert_eq!(
            ended.iter().map(|frame| frame["hook_event"].as_str().unwrap()).collect::<Vec<_>>(),
            events
        );
        for (start, end) in started.iter().zip(&ended) {
            assert_eq!(start["hook_id"], end["hook_id"]);
        }
        assert_eq!(started.len(), ended.len());
        let first =
            (ended[0]["stdout"].as_str(), ended[0]["outcome"].as_str(), ended[0]["exit_code"].as_i64());
        assert_eq!(first, (Some("hello\n"), Some("success"), Some(0)));
    }
}

// A guard that cannot be understood is not left out.
#[test]
fn a_matcher_that_is_none_keeps_a_session_from_starting() {
    let hooks =
        json!({"PreToolUse": [{"matcher": "Bash(", "hooks": [{"type": "command", "command": "exit 2"}]}]});
    let world = World::new().file(".tiller/settings.json", &settings(&hooks));
    let run = world.run(&["-p", "go"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("Bash(") && run.stderr.contains("settings.json"), "{}", run.stderr);
    assert!(world.server.messages().is_empty());
}

// LOOP-42: ten refusals in a row; what the user says meanwhile begins a new row.
#[test]
fn input_of_the_user_begins_a_new_row_of_refused_ends() {
    let hook =
        "n=$(($(cat count) + 1)); echo $n >count; case $n in 7|14) exit 0;; esac; echo more >&2; exit 2";
    let world = World::new()
        .file("count", "0")
        .file(".tiller/settings.json", &settings(&json!({"Stop": runs(hook)})));
    let gate = Gate::new();
    let seventh = Reply::text("7").gate(&gate);
    let replies = (1..=14).map(|n| if n == 7 { seventh.clone() } else { Reply::text(n.to_string()) });
    world.server.replies(replies.collect::<Vec<_>>());
    let mut live = world.talk(&[]);
    live.say("go");
    gate.wait_reached();
    live.say("one more thing");
    eventually("the message is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    gate.open();
    let frames = live.turn();
    assert_eq!(frames.last().unwrap()["result"], "14");
    assert!(!frames.iter().any(|frame| frame["subtype"] == "stop_hooks"), "{frames:#?}");
    live.finish();
    world.server.assert_clean();
}
