//! What hosts ask besides: the context, files that go back, tasks and servers that do not exist.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::World;
use crate::live::Live;

const PROMPT: &str = "5b5c3a0e-8a57-4f7e-9d0e-d2a1f5b6c7d8";

#[track_caller]
fn error(live: &mut Live, request: &Value) -> String {
    let response = live.request(request);
    assert_eq!(response["subtype"], "error", "{response}");
    response["error"].as_str().unwrap().to_owned()
}

#[test]
fn what_does_not_exist_cannot_be_ordered() {
    let world = World::new();
    let mut live = world.talk(&[]);
    let stop = json!({"subtype": "stop_task", "task_id": "nope"});
    assert_eq!(error(&mut live, &stop), "there is no background task nope");
    for subtype in ["mcp_reconnect", "mcp_toggle", "mcp_authenticate", "mcp_clear_auth"] {
        let order = json!({"subtype": subtype, "serverName": "nope", "enabled": true});
        assert_eq!(error(&mut live, &order), "there is no MCP server nope", "{subtype}");
    }
    assert_eq!(live.finish().code, 0);
}

#[test]
fn a_host_sees_what_the_context_is_made_of() {
    let world = World::new();
    world.server.reply(Reply::text("done"));
    let mut live = world.talk(&[]);
    live.say("go");
    live.turn();
    let usage = live.request(&json!({"subtype": "get_context_usage"}))["response"].clone();
    let total = usage["totalTokens"].as_u64().unwrap();
    let max = usage["maxTokens"].as_u64().unwrap();
    assert!(total > 0 && max >= 200_000 && usage["percentage"].as_u64().unwrap() <= 100, "{usage}");
    assert_eq!(
        (&usage["model"], &usage["isAutoCompactEnabled"]),
        (&json!("claude-sonnet-5-5"), &json!(true))
    );
    let tokens = |name: &str| {
        let part = usage["categories"].as_array().unwrap().iter().find(|part| part["name"] == name);
        part.unwrap_or_else(|| panic!("{name} is missing: {usage}"))["tokens"].as_u64().unwrap()
    };
    assert!(tokens("System prompt") > 0 && tokens("Tools") > 0 && tokens("Messages") > 0, "{usage}");
    assert_eq!(tokens("Free space"), max - total);
    assert_eq!(live.finish().code, 0);
}

#[test]
fn a_host_lets_files_go_back() {
    let world = World::new().file("kept.txt", "before\n");
    let write = Reply::new().tool("Bash", json!({"command": "echo after > kept.txt"}));
    world.server.replies([write, Reply::text("done")]);
    let mut live = world.talk(&["--permission-mode", "bypassPermissions"]);
    live.send(&json!({"type": "user", "uuid": PROMPT, "message": {"content": "go"}}));
    live.turn();
    let mut rewind = json!({"subtype": "rewind_files", "user_message_id": PROMPT, "dry_run": true});
    let would = live.request(&rewind)["response"].clone();
    assert_eq!((&would["canRewind"], world.read("kept.txt").as_str()), (&json!(true), "after\n"), "{would}");
    assert_eq!(would["filesChanged"], json!([world.path("kept.txt")]));
    rewind["dry_run"] = json!(false);
    assert_eq!(live.request(&rewind)["response"]["canRewind"], true);
    assert_eq!(world.read("kept.txt"), "before\n");
    rewind["user_message_id"] = json!("00000000-0000-4000-8000-000000000000");
    let unknown = live.request(&rewind)["response"].clone();
    assert!(unknown["canRewind"] == false && unknown["error"].is_string(), "{unknown}");
    rewind["user_message_id"] = json!("the first");
    assert!(error(&mut live, &rewind).contains("user_message_id"));
    assert_eq!(live.finish().code, 0);
}

#[test]
fn a_host_says_how_much_the_model_thinks() {
    let world = World::new();
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    let mut live = world.talk(&["--model", "claude-sonnet-4-5"]);
    let tokens = |tokens: Value| json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": tokens});
    for said in [json!(4000), json!(0)] {
        assert_eq!(live.request(&tokens(said))["subtype"], "success");
        live.say("go");
        live.turn();
    }
    assert!(error(&mut live, &tokens(json!("many"))).contains("whole number"));
    let thinking = |request: usize| world.server.messages()[request].body()["thinking"].clone();
    assert_eq!(thinking(0)["budget_tokens"], 4000);
    assert_ne!(thinking(1)["type"], "enabled");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}
