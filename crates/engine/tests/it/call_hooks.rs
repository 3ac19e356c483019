//! Hooks around calls: real commands that allow, deny, ask, change input, comment on results and end the turn.

use serde_json::{Value, json};
use tiller_engine::Setup;
use tiller_protocol::ask::{Answer, Ask, Then};
use tiller_protocol::command::{Command, Event};
use tiller_protocol::entry::{Body, Outcome};
use tiller_protocol::hook::HookEnd;
use tiller_protocol::mode::Mode;
use tiller_testenv::eventually_beside;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch, hooks, says};

/// A hook that prints this JSON.
fn prints(answer: &Value) -> Value {
    json!([{"hooks": [{"type": "command", "command": format!("cat <<'END'\n{answer}\nEND")}]}])
}

fn runs(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

fn decides(decision: &str) -> Value {
    prints(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": "the hook's reason"}}))
}

fn writes(lab: &Lab) -> Value {
    json!({"say": "written", "writes": lab.project().join("f")})
}

/// One call of the probe in a session with these hooks.
async fn called(lab: &Lab, setup: Setup, input: Value) -> Watch {
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", input), Reply::text("done")]);
    let watch = lab.turn(setup, "go").await;
    lab.server.assert_clean();
    watch
}

fn asking(lab: &Lab, hooked: Value) -> Setup {
    Setup { mode: Some(Mode::Default), hooks: hooks(hooked), ..lab.setup() }
}

fn kinds(watch: &Watch) -> Vec<String> {
    let interesting = ["hook", "decision", "result", "attachment", "effect"];
    let sketch = watch.sketch();
    sketch.into_iter().filter(|line| interesting.iter().any(|kind| line.starts_with(kind))).collect()
}

/// The text blocks of the last request's last message.
fn last_message(lab: &Lab) -> Vec<Value> {
    let requests = lab.server.messages();
    let messages = requests.last().unwrap().body()["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_array().unwrap().clone()
}

// HOOK-01
#[tokio::test]
async fn hooks_surround_permission_and_run_and_changes_come_last() {
    let lab = Lab::new();
    let dir = lab.project().join("sub");
    fs_err::create_dir(&dir).unwrap();
    let hooked = json!({"PreToolUse": runs("true"), "PostToolUse": runs("true")});
    let watch = called(&lab, asking(&lab, hooked), json!({"say": "x", "read_only": true, "cd": dir})).await;
    let expected = ["hook", "decision", "hook", "result a Call"];
    assert_eq!(kinds(&watch)[..4], expected, "{:?}", watch.sketch());
    assert_eq!(watch.result("a").effects.len(), 1);
}

// HOOK-02, HOOK-03
#[tokio::test]
async fn a_hook_spares_the_question_but_no_rule_and_no_plan() {
    let lab = Lab::new();
    let allow = json!({"PreToolUse": decides("allow")});
    let watch = called(&lab, asking(&lab, allow.clone()), writes(&lab)).await;
    assert_eq!(watch.result("a").text(), "written");

    for (rules, mode) in [
        ("deny", Mode::Default),
        ("ask", Mode::Default),
        ("none", Mode::Plan),
        ("deny", Mode::BypassPermissions),
    ] {
        let mut setup = Setup { mode: Some(mode), ..asking(&lab, allow.clone()) };
        match rules {
            "deny" => setup.rules.deny.push("Probe(f)".parse().unwrap()),
            "ask" => setup.rules.ask.push("Probe".parse().unwrap()),
            _ => {}
        }
        let watch = called(&lab, setup, writes(&lab)).await;
        assert!(watch.result("a").is_error, "{rules} {mode}");
    }
}

// HOOK-03, HOOK-14
#[tokio::test]
async fn a_denial_blocks_in_every_mode_and_gives_its_reason() {
    let by_code = runs("echo 'not on fridays' >&2; exit 2");
    for (hook, reason) in [(decides("deny"), "the hook's reason"), (by_code, "not on fridays")] {
        let lab = Lab::new();
        let setup = Setup { hooks: hooks(json!({"PreToolUse": hook})), ..lab.setup() };
        let watch = called(&lab, setup, writes(&lab)).await;
        let result = watch.result("a");
        assert!(result.is_error && result.text().contains(reason), "{}", result.text());
        let decided = watch.entries().iter().any(
            |entry| matches!(&entry.body, Body::Decision(decision) if decision.reason["type"] == "hook"),
        );
        assert!(decided);
    }
}

// HOOK-04
#[tokio::test]
async fn a_hook_can_insist_on_the_question() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", says("x")), Reply::text("done")]);
    let setup =
        Setup { interactive: true, hooks: hooks(json!({"PreToolUse": decides("ask")})), ..lab.setup() };
    let mut watch = lab.begin(setup, "go").await;
    watch.until(|event| matches!(event, Event::Asked(..))).await;
    let Some(Event::Asked(id, Ask::Permission(ask))) = watch.seen.last().cloned() else {
        panic!("no question")
    };
    assert!(ask.reason.contains("the hook's reason"), "{}", ask.reason);
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: Vec::new() })).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.result("a").text(), "x");
    lab.server.assert_clean();
}

// HOOK-04: also where something else asks anyway, and where nobody can be asked.
#[tokio::test]
async fn what_a_hook_that_asks_says_is_told_beside_what_asks_anyway() {
    let lab = Lab::new();
    let ask = json!({"PreToolUse": decides("ask")});
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", writes(&lab)), Reply::text("done")]);
    let mut watch = lab.begin(Setup { interactive: true, ..asking(&lab, ask.clone()) }, "go").await;
    watch.until(|event| matches!(event, Event::Asked(..))).await;
    let Some(Event::Asked(_, Ask::Permission(question))) = watch.seen.last() else { panic!("no question") };
    let told = |text: &str| text.contains("no rule allows") && text.contains("the hook's reason");
    assert!(told(&question.reason), "{}", question.reason);
    let lab = Lab::new();
    let watch = called(&lab, asking(&lab, ask), writes(&lab)).await;
    assert!(told(&watch.result("a").text()), "{}", watch.result("a").text());
}

// HOOK-05
#[tokio::test]
async fn changed_input_is_checked_judged_and_used() {
    let changed = |input: &Value| {
        let output = json!({"hookEventName": "PreToolUse", "updatedInput": input});
        json!({"PreToolUse": prints(&json!({"hookSpecificOutput": output}))})
    };
    let lab = Lab::new();
    let watch = called(&lab, asking(&lab, changed(&says("other"))), says("mine")).await;
    let told = watch.result("a").text();
    assert!(told.contains("A hook changed the input before it ran") && told.ends_with("other"), "{told}");
    let watch = called(&lab, asking(&lab, changed(&json!({"say": 7}))), says("mine")).await;
    let told = watch.result("a").text();
    assert!(watch.result("a").is_error && told.contains("say"), "{told}");
    assert!(told.contains("The hook ") && told.contains("the user has to correct the hook"), "{told}");
    let watch = called(&lab, asking(&lab, changed(&writes(&lab))), says("mine")).await;
    assert!(watch.result("a").text().contains("permission"), "{}", watch.result("a").text());
}

/// What hooks that write their input down were told of a call, event by event.
fn told_of(lab: &Lab) -> Vec<Value> {
    let text = fs_err::read_to_string(lab.project().join("told.jsonl")).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

// HOOK-06: whatever comes of a call that the first hooks have heard of, the last ones are told once.
#[tokio::test]
async fn every_call_that_hooks_have_heard_of_ends_with_one_event() {
    let nothing = json!([]);
    let stop = prints(&json!({"continue": false, "stopReason": "enough"}));
    for (case, mode, before, input, event) in [
        ("success", Mode::Default, &nothing, says("x"), "PostToolUse"),
        ("panic", Mode::Default, &nothing, json!({"panic": true}), "PostToolUseFailure"),
        ("rule", Mode::BypassPermissions, &nothing, json!({"writes": "/denied"}), "PostToolUseFailure"),
        ("mode", Mode::Plan, &nothing, json!({"writes": "/x"}), "PostToolUseFailure"),
        ("nobody", Mode::Default, &nothing, json!({"writes": "/x"}), "PostToolUseFailure"),
        ("hook", Mode::Default, &decides("deny"), says("x"), "PostToolUseFailure"),
        ("stop", Mode::Default, &stop, says("x"), "PostToolUseFailure"),
        ("user", Mode::Default, &nothing, json!({"writes": "/x"}), "PostToolUseFailure"),
    ] {
        let lab = Lab::new();
        let note = runs(&format!("cat >> {0}; echo >> {0}", lab.project().join("told.jsonl").display()));
        let first = [before.as_array().unwrap().clone(), note.as_array().unwrap().clone()].concat();
        let hooked = json!({"PreToolUse": first, "PostToolUse": note, "PostToolUseFailure": note});
        let mut setup = Setup { mode: Some(mode), interactive: case == "user", ..asking(&lab, hooked) };
        setup.rules.deny.push("Probe(//denied)".parse().unwrap());
        lab.server.replies([Reply::new().tool_with_id("a", "Probe", input), Reply::text("done")]);
        let mut watch = lab.begin(setup, "go").await;
        if case == "user" {
            watch.until(|event| matches!(event, Event::Asked(..))).await;
            let Some(Event::Asked(id, _)) = watch.seen.last().cloned() else { panic!("no question") };
            watch.send(Command::Answer(id, Answer::Refuse { feedback: None, then: Then::EndTurn })).await;
        }
        watch.until_turn_ends().await;
        let told = told_of(&lab);
        let events: Vec<&Value> = told.iter().map(|input| &input["hook_event_name"]).collect();
        assert_eq!(events, ["PreToolUse", event], "{case}");
        assert_eq!(told[1]["tool_use_id"], "a");
        if event == "PostToolUseFailure" {
            assert_eq!(told[1]["error"], watch.result("a").text(), "{case}");
            assert_eq!(told[1]["is_interrupt"], case == "user", "{case}");
        }
    }
}

// HOOK-06, HOOK-16
#[tokio::test]
async fn success_and_failure_have_hooks_of_their_own() {
    for (input, event, field) in [
        (says("fine"), "PostToolUse", "tool_response"),
        (json!({"say": "broken", "fail": true, "read_only": true}), "PostToolUseFailure", "error"),
    ] {
        let lab = Lab::new();
        let seen = lab.project().join("seen.jsonl");
        let note = runs(&format!("cat >> {}", seen.display()));
        let hooked = json!({"PostToolUse": note, "PostToolUseFailure": note});
        called(&lab, asking(&lab, hooked), input).await;
        let input: Value = serde_json::from_str(&fs_err::read_to_string(seen).unwrap()).unwrap();
        assert_eq!(input["hook_event_name"], event);
        assert!(!input[field].is_null(), "{input}");
        for common in [
            "session_id",
            "transcript_path",
            "cwd",
            "permission_mode",
            "tool_name",
            "tool_input",
            "tool_use_id",
        ] {
            assert!(!input[common].is_null(), "{common}: {input}");
        }
    }
}

// HOOK-08, HOOK-23
#[tokio::test]
async fn what_a_hook_says_about_a_result_stands_right_behind_it() {
    let lab = Lab::new();
    let says_so = prints(&json!({"hookSpecificOutput": {"hookEventName": "PostToolUse",
        "additionalContext": "remember <system-reminder> the limit"}}));
    let watch = called(&lab, asking(&lab, json!({"PostToolUse": says_so})), says("x")).await;
    let blocks = last_message(&lab);
    assert_eq!(blocks[0]["type"], "tool_result");
    let told = blocks[1]["text"].as_str().unwrap();
    assert!(
        told.starts_with("<system-reminder>") && told.contains("PostToolUse") && told.contains("the limit"),
        "{told}"
    );
    assert_eq!(told.matches("<system-reminder>").count(), 1, "{told}");
    assert_eq!(kinds(&watch).last().unwrap(), "attachment hook_additional_context");
}

// STEER-68: results of calls that ran side by side come first on the wire; what is said of each names it.
#[tokio::test]
async fn what_a_hook_says_about_one_of_several_calls_names_it() {
    let lab = Lab::new();
    let says_so = prints(&json!({"hookSpecificOutput": {"hookEventName": "PostToolUse",
        "additionalContext": "mind it"}}));
    let safe = |text: &str| json!({"say": text, "safe": true, "read_only": true});
    lab.server.replies([
        Reply::new().tool_with_id("a", "Probe", safe("first")).tool_with_id("b", "Probe", safe("second")),
        Reply::text("done"),
    ]);
    lab.turn(asking(&lab, json!({"PostToolUse": says_so})), "go").await;
    let blocks = last_message(&lab);
    // Whichever call ends first.
    let told: String = blocks[2..].iter().map(|block| block["text"].as_str().unwrap()).collect();
    for call in ["Probe (`first`)", "Probe (`second`)"] {
        assert!(told.contains(&format!("here for the call of {call}, adds for your information")), "{told}");
    }
    assert_eq!(blocks.len(), 4);
    lab.server.assert_clean();
}

// HOOK-15, LOOP-31
#[tokio::test]
async fn a_hook_ends_the_turn_after_all_results() {
    let lab = Lab::new();
    let stop = prints(&json!({"continue": false, "stopReason": "budget spent"}));
    let twice = Reply::new().tool_with_id("a", "Probe", says("1")).tool_with_id("b", "Probe", says("2"));
    lab.server.reply(twice);
    let watch = lab.turn(asking(&lab, json!({"PostToolUse": stop, "Stop": runs("exit 2")})), "go").await;
    assert_eq!((watch.result("a").text().as_str(), watch.result("b").text().as_str()), ("1", "2"));
    assert_eq!(watch.outcome(), Outcome::HookStopped { message: "budget spent".into() });
    assert_eq!(lab.server.messages().len(), 1);
    lab.server.assert_clean();
}

// HOOK-22: whatever a hook prints or does, the call gets its one result and the turn goes on.
#[tokio::test]
async fn nonsense_from_a_hook_breaks_nothing() {
    for command in [
        "printf '{not json'",
        "printf '{\"hookSpecificOutput\":{\"hookEventName\":\"Stop\",\"permissionDecision\":\"deny\"}}'",
        "printf '{\"decision\": 7, \"continue\": \"no\"}'",
        "head -c 300000 /dev/zero",
        "exec 0<&-; exit 0",
        "/does/not/exist",
        "kill -9 $$",
        "exit 77",
    ] {
        let lab = Lab::new();
        let watch = called(&lab, asking(&lab, json!({"PreToolUse": runs(command)})), says("x")).await;
        assert_eq!(watch.result("a").text(), "x", "{command}");
        let ran = watch.entries().iter().filter(|entry| matches!(entry.body, Body::Hook(_))).count();
        assert_eq!(ran, 1, "{command}");
    }
}

#[tokio::test]
async fn a_hook_that_must_not_fail_blocks_when_it_does() {
    let lab = Lab::new();
    let guard = json!([{"hooks": [{"type": "command", "command": "/does/not/exist", "onFailure": "block"}]}]);
    let watch = called(&lab, asking(&lab, json!({"PreToolUse": guard})), says("x")).await;
    assert!(watch.result("a").is_error);
}

// A hook that ran has its place in the log, also if the answer it ran for is void.
#[tokio::test]
async fn a_void_answer_does_not_take_the_records_of_its_hooks_along() {
    let lab = Lab::new();
    let gate = tiller_testkit::Gate::new();
    let reply = Reply::new().tool_with_id("old", "Probe", says("x"));
    lab.server.replies([reply.gate(&gate).cut(), Reply::text("fine")]);
    let started = lab.project().join("started");
    let hang = runs(&format!("touch {}; sleep 1000", started.display()));
    let mut watch = lab.begin(asking(&lab, json!({"PreToolUse": hang})), "go").await;
    watch.until_started("old").await;
    eventually_beside("the hook has started", || started.exists()).await;
    gate.open();
    watch.until_turn_ends().await;
    assert_eq!(ends(&watch), [HookEnd::Cancelled]);
}

// Also if nobody waits for it: one record for each hook, at its end.
#[tokio::test]
async fn an_asynchronous_hook_has_one_record() {
    let lab = Lab::new();
    let quick = json!([{"hooks": [{"type": "command", "command": "echo {}", "async": true}]}]);
    let slow =
        json!([{"hooks": [{"type": "command", "command": "sleep 1000", "async": true, "timeout": 2000}]}]);
    let hooked = json!({"PreToolUse": quick, "PostToolUse": slow});
    let mut watch = called(&lab, asking(&lab, hooked), says("x")).await;
    watch.close().await;
    let mut ends = ends(&watch);
    ends.sort_by_key(|end| end.name());
    assert!(
        ends == [HookEnd::Cancelled, HookEnd::Success] || ends == [HookEnd::Cancelled, HookEnd::Cancelled],
        "{ends:?}"
    );
}

fn ends(watch: &Watch) -> Vec<HookEnd> {
    let entries = watch.entries();
    let hooks = entries.iter().filter_map(|entry| match &entry.body {
        Body::Hook(hook) => Some(hook.end),
        _ => None,
    });
    hooks.collect()
}

#[tokio::test]
async fn an_interrupt_ends_a_hook_that_hangs() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", says("x")));
    let started = lab.project().join("started");
    let hang = runs(&format!("touch {}; sleep 1000", started.display()));
    let mut watch = lab.begin(asking(&lab, json!({"PreToolUse": hang})), "go").await;
    watch.until_started("a").await;
    eventually_beside("the hook has started", || started.exists()).await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Interrupted);
    let ended = watch
        .entries()
        .iter()
        .any(|entry| matches!(&entry.body, Body::Hook(hook) if hook.end == HookEnd::Cancelled));
    assert!(ended, "{:?}", watch.sketch());
}

#[tokio::test]
async fn permission_hooks_answer_in_place_of_the_user() {
    for (answer, runs_it) in [
        (json!({"behavior": "allow"}), true),
        (json!({"behavior": "allow", "updatedInput": says("changed")}), true),
        (json!({"behavior": "deny", "message": "never"}), false),
    ] {
        let lab = Lab::new();
        let output = json!({"hookEventName": "PermissionRequest", "decision": answer});
        let hook = prints(&json!({"hookSpecificOutput": output}));
        let watch = called(&lab, asking(&lab, json!({"PermissionRequest": hook})), writes(&lab)).await;
        assert_eq!(!watch.result("a").is_error, runs_it, "{answer}: {}", watch.result("a").text());
    }
    // A deny rule is not a question.
    let lab = Lab::new();
    let output = json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}});
    let hook = prints(&json!({"hookSpecificOutput": output}));
    let mut setup = asking(&lab, json!({"PermissionRequest": hook}));
    setup.rules.deny.push("Probe(f)".parse().unwrap());
    assert!(called(&lab, setup, writes(&lab)).await.result("a").is_error);
}

// PLAN-02, HOOK-09: only the user ends plan mode, whatever a hook that answers for them wants.
#[tokio::test]
async fn a_hook_cannot_end_plan_mode() {
    let lab = Lab::new();
    let leave = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    let output = json!({"hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedPermissions": leave}});
    let hook = prints(&json!({"hookSpecificOutput": output}));
    let setup = asking(&lab, json!({"PermissionRequest": hook}));
    let registry = tiller_tools::web_tools(tiller_tools::Registry::default());
    let setup =
        Setup { mode: Some(Mode::Plan), interactive: true, bypass_available: false, registry, ..setup };
    let fetch = json!({"url": "http://127.0.0.1:9/", "prompt": "x"});
    lab.server.replies([Reply::new().tool_with_id("a", "WebFetch", fetch), Reply::text("done")]);
    let watch = lab.turn(setup, "go").await;
    let left = |event: &Event| {
        matches!(event, Event::Appended(entry)
            if matches!(&entry.body, Body::Effect(effect) if effect.mode().is_some_and(|mode| mode != Mode::Plan)))
    };
    assert!(!watch.seen.iter().any(left), "{:?}", watch.sketch());
    assert!(watch.sketch().contains(&"notice permission_update".to_owned()), "{:?}", watch.sketch());
    lab.server.assert_clean();
}
