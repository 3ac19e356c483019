//! Permission questions that go to the host.

use serde_json::{Value, json};
use tiller_testkit::{Captured, Matcher, Reply};

use crate::harness::{World, held_by_namespaces, result_text};
use crate::live::Live;

/// A session that asks the host, with a command that needs permission under way.
fn asking(world: &World) -> Live {
    world.server.reply(Reply::new().tool_with_id("touch", "Bash", json!({"command": "touch asked"})));
    let mut live = world.talk(&["--permission-prompt-tool", "stdio"]);
    live.say("touch it");
    live
}

fn told(world: &World) -> String {
    let last: Captured = world.server.messages().pop().unwrap();
    result_text(last.body(), "touch")
}

#[test]
fn the_question_says_what_would_run() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    let request = &question["request"];
    assert_eq!(
        (request["tool_name"].as_str(), request["tool_use_id"].as_str()),
        (Some("Bash"), Some("touch"))
    );
    assert_eq!(request["input"], json!({"command": "touch asked"}));
    assert!(!world.path("asked").exists());
    world.server.reply(Reply::text("done"));
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": request["input"]}));
    let result = live.turn().pop().unwrap();
    assert_eq!((result["result"].as_str(), &result["permission_denials"]), (Some("done"), &json!([])));
    assert!(world.path("asked").exists());
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn the_host_may_change_the_input() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    world.server.reply(Reply::text("done"));
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": {"command": "touch changed"}}));
    live.turn();
    assert!(world.path("changed").exists() && !world.path("asked").exists());
    let note = r#"[The user changed the input before it ran: {\"command\":\"touch changed\"}]"#;
    assert!(told(&world).contains(note), "{}", told(&world));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-16: a no with a reason is told to the model, and the turn goes on.
#[test]
fn a_denial_is_told_to_the_model() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    world.server.reply(Reply::text("as you wish"));
    live.answer(&question, &json!({"behavior": "deny", "message": "not on my disk"}));
    let result = live.turn().pop().unwrap();
    assert_eq!((result["result"].as_str(), result["is_error"].as_bool()), (Some("as you wish"), Some(false)));
    assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
    assert_eq!(result["permission_denials"][0]["tool_input"]["command"], "touch asked");
    assert!(told(&world).contains("not on my disk"));
    assert!(!world.path("asked").exists());
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-16: a no that says so ends the turn.
#[test]
fn a_denial_can_end_the_turn() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    live.answer(&question, &json!({"behavior": "deny", "message": "stop", "interrupt": true}));
    let result = live.turn().pop().unwrap();
    assert_eq!((result["outcome"].as_str(), result["is_error"].as_bool()), (Some("interrupted"), Some(true)));
    assert_eq!(world.server.messages().len(), 1);
    world.server.reply(Reply::text("fine"));
    live.say("something else");
    assert_eq!(live.turn().pop().unwrap()["result"], "fine");
    assert!(told(&world).contains("refused"));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn a_callback_that_fails_is_a_denial() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    world.server.reply(Reply::text("as you wish"));
    let response =
        json!({"subtype": "error", "request_id": question["request_id"], "error": "callback raised"});
    live.send(&json!({"type": "control_response", "response": response}));
    live.turn();
    assert!(told(&world).contains("callback raised"));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// HEAD-02: nothing waits for an answer that cannot come.
#[test]
fn a_host_that_goes_away_has_said_no() {
    let world = World::new();
    let mut live = asking(&world);
    live.question();
    world.server.reply(Reply::text("alone now"));
    let end = live.finish();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("alone now"), 0));
    assert_eq!(result["permission_denials"][0]["tool_use_id"], "touch");
    assert!(told(&world).contains("stream closed"));
    world.server.assert_clean();
}

// HEAD-02: also when the question comes after the host is gone.
#[test]
fn nobody_is_asked_who_is_not_there() {
    let world = World::new();
    let mut live = asking(&world);
    world.server.reply(Reply::text("alone now"));
    live.close_stdin();
    let end = live.wait();
    let (result, code) = end.result();
    assert_eq!((result["result"].as_str(), code), (Some("alone now"), 0));
    assert_eq!(result["permission_denials"][0]["tool_use_id"], "touch");
    world.server.assert_clean();
}

// On interrupt the question is taken back.
#[test]
fn an_interrupt_withdraws_the_question() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    live.request(&json!({"subtype": "interrupt"}));
    let frames = live.turn();
    let withdrawn: Vec<&Value> =
        frames.iter().filter(|frame| frame["type"] == "control_cancel_request").collect();
    assert_eq!(withdrawn.len(), 1);
    assert_eq!(withdrawn[0]["request_id"], question["request_id"]);
    assert_eq!(frames.last().unwrap()["outcome"], "interrupted");
    assert!(!world.path("asked").exists());
    assert_eq!(live.finish().code, 1);
    world.server.assert_clean();
}

// PERM-03: what a rule forbids is not asked about; what a rule allows is not either.
#[test]
fn rules_come_before_questions() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    world.server.replies([
        Reply::new().tool_with_id("no", "Bash", json!({"command": "touch forbidden"})),
        Reply::new().tool_with_id("yes", "Bash", json!({"command": "touch allowed"})),
        Reply::text("done"),
    ]);
    let rules = ["--disallowedTools", "Bash(touch forbidden)", "--allowedTools", "Bash(touch allowed)"];
    let mut live = world.talk(&[&["--permission-prompt-tool", "stdio"][..], &rules].concat());
    live.say("go");
    let frames = live.turn();
    assert!(frames.iter().all(|frame| frame["type"] != "control_request"));
    assert!(world.path("allowed").exists() && !world.path("forbidden").exists());
    assert_eq!(frames.last().unwrap()["permission_denials"].as_array().unwrap().len(), 1);
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-15: a mode change during a turn holds for the next decision.
#[test]
fn a_mode_change_holds_for_the_next_call() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    let response = live.request(&json!({"subtype": "set_permission_mode", "mode": "acceptEdits"}));
    assert_eq!(response["subtype"], "success");
    world.server.replies([
        Reply::new().tool("Write", json!({"file_path": "new", "content": "x"})),
        Reply::text("done"),
    ]);
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": question["request"]["input"]}));
    let frames = live.turn();
    assert!(frames.iter().all(|frame| frame["type"] != "control_request"));
    assert_eq!(world.read("new"), "x");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

#[test]
fn states_tell_that_somebody_is_waited_for() {
    let world = World::new().var("CLAUDE_CODE_SDK_READS_SESSION_STATE", "1");
    let mut live = asking(&world);
    let frames = live.until(|frame| frame["request"]["subtype"] == "can_use_tool");
    let states: Vec<&str> = frames.iter().filter_map(|frame| frame["state"].as_str()).collect();
    assert_eq!(states, ["running", "requires_action"]);
    world.server.reply(Reply::text("ok"));
    live.answer(frames.last().unwrap(), &json!({"behavior": "deny", "message": "no"}));
    let frames = live.until(|frame| frame["state"] == "idle");
    let states: Vec<&str> = frames.iter().filter_map(|frame| frame["state"].as_str()).collect();
    assert_eq!(states, ["running", "idle"]);
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

/// Has the model run one more command; gives the frames of the turn, or those up to the question.
fn runs_on(world: &World, live: &mut Live, command: &str) -> Vec<Value> {
    world.server.replies([Reply::new().tool("Bash", json!({"command": command})), Reply::text("done")]);
    live.say("go on");
    live.until(|frame| frame["type"] == "result" || frame["request"]["subtype"] == "can_use_tool")
}

fn is_asked(frames: &[Value]) -> bool {
    frames.last().is_some_and(|frame| frame["type"] == "control_request")
}

fn yes(question: &Value, updates: &Value) -> Value {
    json!({"behavior": "allow", "updatedInput": question["request"]["input"], "updatedPermissions": updates})
}

// RULE-04, PERM-09: the suggestion that is sent back is remembered, for this session and the next.
#[test]
fn a_suggestion_that_is_sent_back_is_remembered() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    let suggestions = &question["request"]["permission_suggestions"];
    let rule = json!({"toolName": "Bash", "ruleContent": "touch:*"});
    let expected =
        json!([{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}]);
    assert_eq!(*suggestions, expected);
    world.server.reply(Reply::text("done"));
    live.answer(&question, &yes(&question, suggestions));
    live.turn();
    assert!(!is_asked(&runs_on(&world, &mut live, "touch second")));
    assert_eq!(live.finish().code, 0);
    let settings: Value = serde_json::from_str(&world.read(".tiller/settings.local.json")).unwrap();
    assert_eq!(settings, json!({"permissions": {"allow": ["Bash(touch:*)"]}}));

    let mut live = world.talk(&["--permission-prompt-tool", "stdio"]);
    assert!(!is_asked(&runs_on(&world, &mut live, "touch third")));
    assert_eq!(live.finish().code, 0);
    assert!(["asked", "second", "third"].iter().all(|name| world.path(name).exists()));
    world.server.assert_clean();
}

// RULE-04: what was asked before and would be covered stands beside the suggestion.
#[test]
fn a_question_says_what_the_suggestion_would_cover() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    assert_eq!(question["request"].get("suggestions_would_cover"), None);
    world.server.reply(Reply::text("done"));
    live.answer(&question, &json!({"behavior": "deny", "message": "no"}));
    live.turn();
    let question = runs_on(&world, &mut live, "touch other").pop().unwrap();
    assert_eq!(question["request"]["suggestions_would_cover"], json!(["touch asked"]));
    live.answer(&question, &json!({"behavior": "deny", "message": "no"}));
    live.turn();
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-11: a rule for the session is in the log and in no settings file; the session has it when it is resumed.
#[test]
fn a_rule_for_the_session_stays_with_the_session() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    let updates = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
        "behavior": "allow", "destination": "session"}]);
    world.server.reply(Reply::text("done"));
    live.answer(&question, &yes(&question, &updates));
    live.turn();
    assert!(!is_asked(&runs_on(&world, &mut live, "touch second")));
    assert_eq!(live.finish().code, 0);
    assert!(!world.path(".tiller").exists() && !world.config_dir().join("settings.json").exists());
    let told: Vec<Value> = world.log().into_iter().filter(|entry| entry["effect"] == "permissions").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["updates"], updates);

    let mut live = world.talk(&["--permission-prompt-tool", "stdio", "--continue"]);
    assert!(!is_asked(&runs_on(&world, &mut live, "touch third")));
    assert_eq!(live.finish().code, 0);
    let mut live = world.talk(&["--permission-prompt-tool", "stdio"]);
    assert!(is_asked(&runs_on(&world, &mut live, "touch fourth")));
    live.close_stdin();
    live.wait();
}

// PERM-09: a mode in an answer is told like any other change of mode.
#[test]
fn a_mode_in_an_answer_is_told() {
    let world = World::new();
    let mut live = asking(&world);
    let question = live.question();
    let updates = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    world.server.reply(Reply::text("done"));
    live.answer(&question, &yes(&question, &updates));
    let frames = live.turn();
    let modes: Vec<&Value> = frames
        .iter()
        .filter(|frame| frame["subtype"] == "status")
        .map(|frame| &frame["permissionMode"])
        .collect();
    assert_eq!(modes, ["acceptEdits"]);
    let frames = runs_on(&world, &mut live, "touch second");
    assert!(!is_asked(&frames));
    assert_eq!(frames[0]["permissionMode"], "acceptEdits");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PERM-20: bypass is settled at start, whichever way it is asked for.
#[test]
fn bypass_by_an_answer_needs_leave_from_the_start() {
    if !held_by_namespaces() {
        return;
    }
    let bypass = json!([{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]);
    let disabled = r#"{"permissions": {"disableBypassPermissionsMode": true}}"#;
    let available = "--allow-dangerously-skip-permissions";
    for (options, is_available) in
        [(vec![], false), (vec![available], true), (vec![available, "--settings", disabled], false)]
    {
        let world = World::new();
        world.server.reply(Reply::new().tool_with_id("touch", "Bash", json!({"command": "touch asked"})));
        let mut live = world.talk(&[&["--permission-prompt-tool", "stdio"][..], &options].concat());
        live.say("touch it");
        let question = live.question();
        world.server.reply(Reply::text("done"));
        live.answer(&question, &yes(&question, &bypass));
        let frames = live.turn();
        let notice = frames.iter().find(|frame| frame["subtype"] == "permission_update");
        assert_eq!(notice.is_none(), is_available, "{frames:#?}");
        assert!(world.path("asked").exists(), "the call goes on");
        let request = json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"});
        assert_eq!(live.request(&request)["subtype"] == "success", is_available);
        assert_eq!(is_asked(&runs_on(&world, &mut live, "mkfifo second")), !is_available);
        live.close_stdin();
        live.wait();
    }
}

// An answer that says something else than permissions is a yes, and nothing more.
#[test]
fn changes_that_are_not_understood_are_told() {
    if !held_by_namespaces() {
        return;
    }
    let rules = json!([{"toolName": "Bash"}]);
    for bad in [
        json!([{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"}, {"type": "grantAll"}]),
        json!([{"type": "setMode", "mode": "yolo", "destination": "session"}]),
        json!([{"type": "addRules", "rules": [{"toolName": "Ba sh"}], "behavior": "allow", "destination": "session"}]),
    ] {
        let world = World::new();
        let mut live = asking(&world);
        let question = live.question();
        world.server.reply(Reply::text("done"));
        live.answer(&question, &yes(&question, &bad));
        let frames = live.turn();
        let notice = frames.iter().find(|frame| frame["subtype"] == "permission_update").unwrap();
        assert!(notice["content"].as_str().unwrap().contains("stay as they are"), "{notice}");
        assert!(world.path("asked").exists());
        assert!(is_asked(&runs_on(&world, &mut live, "touch second")));
        live.close_stdin();
        live.wait();
    }
}

// PERM-12
#[test]
fn a_rule_in_words_is_compared_by_the_small_model() {
    if !held_by_namespaces() {
        return;
    }
    let rule = r#"{"permissions": {"allow": ["Bash(prompt: make empty files)"], "deny": ["Bash(prompt: delete anything)"]}}"#;
    let world = World::new().file(".tiller/settings.json", rule);
    let small = world.server.conversation(Matcher::system_contains("You compare one shell command"));
    small.respond_with(|request| {
        let text = request.body()["messages"][0]["content"][0]["text"].as_str().unwrap();
        let asked: Value = serde_json::from_str(text).unwrap();
        let wanted = if asked["behavior"] == "allow" { "touch" } else { "rm" };
        let matches = asked["command"].as_str().unwrap().contains(wanted);
        Reply::text(json!({"matches": matches, "confidence": "high", "reason": "it says so"}).to_string())
    });
    world.server.replies([
        Reply::new().tool_with_id("yes", "Bash", json!({"command": "touch made"})),
        Reply::new().tool_with_id("no", "Bash", json!({"command": "touch other; rm made"})),
        Reply::text("done"),
    ]);
    let run = world.run(&["-p", "go", "--output-format", "json"]);
    let result = &run.frames()[0];
    assert!(world.path("made").exists() && !world.path("other").exists());
    assert_eq!(result["permission_denials"][0]["tool_use_id"], "no");
    assert_eq!(small.requests().len(), 3, "two questions for the first, one for the second");
    let models = result["modelUsage"].as_object().unwrap();
    assert_eq!(models.len(), 2, "what the small model costs is counted: {models:?}");
    world.server.assert_clean();
}

// PERM-12: a restriction that nobody would apply is an error.
#[test]
fn only_commands_can_be_compared_with_words() {
    let world = World::new();
    let rule = "WebFetch(prompt: read the news)";
    for option in ["--disallowedTools", "--allowedTools"] {
        let run = world.run(&["-p", "go", option, rule]);
        assert_eq!(run.code(), 1);
        assert!(run.stderr.contains(rule) && run.stderr.contains("only commands"), "{}", run.stderr);
    }
    world.server.assert_clean();
}
