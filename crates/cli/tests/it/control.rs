//! Requests of the host about the session itself: set-up, model, mode.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::World;
use crate::live::user;

fn initialize(fields: &Value) -> Value {
    let mut request = json!({"subtype": "initialize", "hooks": null});
    for (name, value) in fields.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

// Init is sent again at each turn, with the model and mode of that moment.
#[test]
fn model_and_mode_follow_the_host() {
    let world = World::new();
    world.server.replies([Reply::text("one"), Reply::text("two"), Reply::text("three")]);
    let mut live = world.talk(&["--model", "haiku"]);
    live.say("go");
    assert_eq!(live.turn()[0]["model"], "claude-haiku-5-5");
    let response = live.request(&json!({"subtype": "set_model", "model": "opus"}));
    assert_eq!(response["response"]["model"], "claude-opus-5-5");
    live.send(&json!({"type": "control_request", "request_id": "m", "request": {"subtype": "set_permission_mode", "mode": "plan"}}));
    let frames = live.until(|frame| frame["subtype"] == "status");
    assert_eq!(frames[0]["response"]["response"]["mode"], "plan");
    assert_eq!(frames[1]["permissionMode"], "plan");
    live.say("go");
    let init = live.turn().remove(0);
    assert_eq!(
        (init["model"].as_str(), init["permissionMode"].as_str()),
        (Some("claude-opus-5-5"), Some("plan"))
    );
    let response = live.request(&json!({"subtype": "set_model", "model": null}));
    assert_eq!(response["response"]["model"], "claude-haiku-5-5");
    live.say("go");
    live.turn();
    assert_eq!(live.finish().code, 0);
    let models: Vec<String> = world
        .server
        .messages()
        .iter()
        .map(|request| request.body()["model"].as_str().unwrap().to_owned())
        .collect();
    // MODEL-10: while planning, haiku gives way to sonnet.
    assert_eq!(models, ["claude-haiku-5-5", "claude-opus-5-5", "claude-sonnet-5-5"]);
    world.server.assert_clean();
}

#[test]
fn wrong_modes_and_unknown_requests_are_errors() {
    let world = World::new();
    let mut live = world.talk(&[]);
    let error = |response: Value| {
        assert_eq!(response["subtype"], "error");
        response["error"].as_str().unwrap().to_owned()
    };
    let mode = |mode: &str| json!({"subtype": "set_permission_mode", "mode": mode});
    assert!(error(live.request(&mode("yolo"))).contains("unknown permission mode \"yolo\""));
    assert!(error(live.request(&mode("bypassPermissions"))).contains("when tiller is started"));
    assert!(error(live.request(&json!({"subtype": "teleport"}))).contains("teleport"));
    assert_eq!(live.finish().code, 0);
    let mut live = world.talk(&["--allow-dangerously-skip-permissions"]);
    assert_eq!(live.request(&mode("bypassPermissions"))["subtype"], "success");
    assert_eq!(live.finish().code, 0);
    let mut live = world.talk(&["--permission-mode", "bypassPermissions"]);
    assert_eq!(live.request(&mode("default"))["subtype"], "success");
    assert_eq!(live.request(&mode("bypassPermissions"))["subtype"], "success");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn initialize_tells_the_facts() {
    let world = World::new();
    let mut live = world.talk(&["--permission-mode", "plan"]);
    let response = live.request(&initialize(&json!({"sdkMcpServers": [], "agents": {}})));
    assert_eq!(response["subtype"], "success");
    let facts = &response["response"];
    assert_eq!(facts["current_permission_mode"], "plan");
    assert_eq!(facts["pid"], live.pid());
    for list in ["commands", "agents", "models", "available_output_styles"] {
        assert!(facts[list].is_array(), "{list}");
    }
    assert_eq!(live.request(&json!({"subtype": "mcp_status"}))["response"]["mcpServers"], json!([]));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// One SDK sends the prompt in initialize, and its first message right behind it.
#[test]
fn the_prompt_of_initialize_counts_from_the_first_request() {
    for (fields, system) in [
        (json!({"systemPrompt": [""]}), None),
        (json!({"systemPrompt": ["Be a bird.", "Sing."]}), Some("Be a bird.\n\nSing.")),
        (json!({"systemPrompt": "Be a fish."}), Some("Be a fish.")),
    ] {
        let world = World::new();
        world.server.reply(Reply::text("tweet"));
        let mut live = world.talk(&[]);
        live.send(&json!({"type": "control_request", "request_id": "i", "request": initialize(&fields)}));
        live.say("go");
        live.turn();
        assert_eq!(live.finish().code, 0);
        let request = world.server.messages()[0].body().clone();
        match system {
            None => assert_eq!(request["system"], Value::Null),
            Some(text) => assert_eq!(request["system"][0]["text"], text),
        }
        world.server.assert_clean();
    }
}

#[test]
fn appended_text_stands_at_the_end_of_the_default_prompt() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    let mut live = world.talk(&[]);
    assert_eq!(
        live.request(&initialize(&json!({"appendSystemPrompt": "Answer in Latin."})))["subtype"],
        "success"
    );
    live.say("go");
    live.turn();
    let late = live.request(&initialize(&json!({"appendSystemPrompt": "Answer in Greek."})));
    assert!(late["error"].as_str().unwrap().contains("before the first message"));
    let end = live.finish();
    assert_eq!(end.code, 1);
    let request = world.server.messages()[0].body().clone();
    let system = request["system"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    assert!(system.starts_with("You are Tiller") && system.ends_with("\n\nAnswer in Latin."), "{system}");
    world.server.assert_clean();
}

// A guard that is asked for and cannot be given is an error, and the message behind it does not run without it.
#[test]
fn what_initialize_cannot_get_is_refused() {
    for (field, value) in [
        ("hooks", json!({"PreToolUse": {"hookCallbackIds": ["h"]}})),
        ("hooks", json!({"PreToolUse": [{"matcher": "Bash(", "hookCallbackIds": ["h"]}]})),
        ("agents", json!({"reviewer": {"description": "reviews"}})),
        ("sdkMcpServers", json!(["no/name"])),
        ("jsonSchema", json!({"type": "no such type"})),
    ] {
        let world = World::new();
        let mut live = world.talk(&[]);
        live.send(&json!({"type": "control_request", "request_id": "i", "request": initialize(&json!({field: value}))}));
        live.send(&user("rm -rf everything"));
        let end = live.finish();
        assert_eq!(end.frames[0]["response"]["subtype"], "error", "{field}");
        assert!(end.frames[0]["response"]["error"].as_str().unwrap().contains(field));
        assert_eq!((end.frames.len(), end.code), (1, 1), "{end:#?}");
        assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
        assert_eq!(world.server.messages().len(), 0);
        world.server.assert_clean();
    }
}
