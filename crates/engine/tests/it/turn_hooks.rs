//! Hooks around prompts, turns and sessions.

use serde_json::{Value, json};
use tiller_engine::{Setup, Start};
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Body, Outcome};
use tiller_protocol::mode::Mode;
use tiller_protocol::state::State;
use tiller_testenv::eventually_beside;
use tiller_testkit::Reply;

use crate::agents::{self, sent_to, task};
use crate::harness::{Lab, Watch, hooks, says};

fn runs(command: &str) -> Value {
    json!([{"hooks": [{"type": "command", "command": command}]}])
}

fn with(lab: &Lab, hooked: Value) -> Setup {
    Setup { hooks: hooks(hooked), ..lab.setup() }
}

/// A hook that writes its input to a file, one line each time.
fn notes(lab: &Lab) -> (Value, std::path::PathBuf) {
    let file = lab.project().join("noted.jsonl");
    (runs(&format!("cat >> {0}; echo >> {0}", file.display())), file)
}

fn noted(file: &std::path::Path) -> Vec<Value> {
    let text = fs_err::read_to_string(file).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n') && line.len() > 1);
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn wire_text(lab: &Lab, request: usize) -> String {
    lab.server.messages()[request].body()["messages"].to_string()
}

fn user_messages(watch: &Watch) -> usize {
    watch.entries().iter().filter(|entry| matches!(entry.body, Body::User(_))).count()
}

// HOOK-09
#[tokio::test]
async fn a_blocked_prompt_is_neither_sent_nor_kept() {
    for hook in [
        "echo 'no secrets here' >&2; exit 2",
        "echo '{\"decision\":\"block\",\"reason\":\"no secrets here\"}'",
    ] {
        let lab = Lab::new();
        let watch = lab.turn(with(&lab, json!({"UserPromptSubmit": runs(hook)})), "my password").await;
        assert_eq!(watch.outcome(), Outcome::HookStopped { message: "no secrets here".into() });
        assert!(lab.server.messages().is_empty());
        assert_eq!(user_messages(&watch), 0);
        let kept: Vec<String> = watch.entries().iter().map(|entry| format!("{:?}", entry.body)).collect();
        assert!(!kept.iter().any(|body| body.contains("my password")), "{kept:#?}");
    }
}

// HOOK-08: context of a prompt follows it directly, that of a session's start comes before.
#[tokio::test]
async fn prompts_and_starts_get_context_at_their_place() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hi"));
    let context = |event: &str, text: &str| {
        runs(&format!(
            "echo '{}'",
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
        ))
    };
    let hooked = json!({
        "SessionStart": context("SessionStart", "from the start"),
        "UserPromptSubmit": context("UserPromptSubmit", "about the prompt"),
    });
    lab.turn(with(&lab, hooked), "the prompt").await;
    let text = wire_text(&lab, 0);
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing in {text}"));
    assert!(at("from the start") < at("the prompt\"") && at("the prompt\"") < at("about the prompt"));
    lab.server.assert_clean();
}

#[tokio::test]
async fn plain_output_reaches_the_model_at_prompts_and_starts_only() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", says("x")), Reply::text("done")]);
    let hooked = json!({
        "SessionStart": runs("echo plain-start"),
        "UserPromptSubmit": runs("echo plain-prompt"),
        "PostToolUse": runs("echo plain-post"),
        "Stop": runs("echo plain-stop"),
    });
    lab.turn(with(&lab, hooked), "go").await;
    let text = wire_text(&lab, 1);
    assert!(text.contains("plain-start") && text.contains("plain-prompt"), "{text}");
    assert!(!text.contains("plain-post") && !text.contains("plain-stop"), "{text}");
}

#[tokio::test]
async fn a_hook_may_reword_the_prompt() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hi"));
    let output =
        json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "updatedPrompt": "better words"}});
    lab.turn(with(&lab, json!({"UserPromptSubmit": runs(&format!("echo '{output}'"))})), "bad words").await;
    let text = wire_text(&lab, 0);
    assert!(text.contains("better words") && !text.contains("bad words"), "{text}");
}

// HOOK-10
#[tokio::test]
async fn a_start_says_how_it_came_about() {
    let lab = Lab::new();
    let (hook, file) = notes(&lab);
    lab.server.replies([Reply::text("1"), Reply::text("2"), Reply::text("3")]);
    let mut watch = lab.turn(with(&lab, json!({"SessionStart": hook})), "go").await;
    watch.send(Command::Submit(UserInput::text("again"))).await;
    watch.until_turn_ends().await;
    let id = watch.session.id;
    watch.close().await;
    let resumed = Setup { start: Start::Resume(id), ..with(&lab, json!({"SessionStart": hook})) };
    lab.turn(resumed, "go on").await;
    let sources: Vec<Value> = noted(&file).into_iter().map(|input| input["source"].clone()).collect();
    assert_eq!(sources, ["startup", "resume"]);
}

const STOPS: &str = r#"echo '{"continue": false, "stopReason": "not today"}'"#;

// HOOK-15: the prompt is discarded like one that hooks block; the next one finds a session that has begun.
#[tokio::test]
async fn a_start_can_end_the_turn() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hi"));
    let mut watch = lab.turn(with(&lab, json!({"SessionStart": runs(STOPS)})), "go").await;
    assert_eq!(watch.outcome(), Outcome::HookStopped { message: "not today".into() });
    assert!(lab.server.messages().is_empty());
    assert_eq!(user_messages(&watch), 0);
    watch.send(Command::Submit(UserInput::text("again"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// HOOK-15
#[tokio::test]
async fn the_start_of_an_agent_can_end_it() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("Explore", "find the treasure")),
        Reply::text("done"),
    ]);
    let setup = Setup { hooks: hooks(json!({"SubagentStart": runs(STOPS)})), ..agents::setup(&lab) };
    let watch = lab.turn(setup, "go").await;
    assert_eq!(watch.outcome(), Outcome::Success, "only the agent's turn was ended");
    let told = watch.result("t").text();
    assert!(told.contains("A hook ended the agent's work: not today"), "{told}");
    assert!(sent_to(&lab, "find the treasure").is_empty());
    lab.server.assert_clean();
}

#[tokio::test]
async fn the_end_of_a_session_says_why() {
    for (command, reason) in
        [(Command::Leave, "prompt_input_exit"), (Command::Shutdown, "other"), (Command::Clear, "clear")]
    {
        let lab = Lab::new();
        let (hook, file) = notes(&lab);
        lab.server.reply(Reply::text("1"));
        let mut watch = lab.turn(with(&lab, json!({"SessionEnd": hook})), "go").await;
        watch.send(command).await;
        watch.until(|event| matches!(event, Event::Closed)).await;
        let reasons: Vec<Value> = noted(&file).into_iter().map(|input| input["reason"].clone()).collect();
        assert_eq!(reasons, [reason]);
    }
}

#[tokio::test]
async fn notifications_say_what_the_user_is_waited_for() {
    let question = json!({"questions": [{"question": "Which?", "header": "Kind", "multiSelect": false,
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]});
    for (tool, input, kind) in [
        ("Bash", json!({"command": "make it", "description": "Make"}), "permission_prompt"),
        ("AskUserQuestion", question, "question"),
    ] {
        let lab = Lab::new();
        let (hook, file) = notes(&lab);
        lab.server.reply(Reply::new().tool_with_id("a", tool, input));
        let setup = Setup { registry: tiller_tools::built_in(), ..with(&lab, json!({"Notification": hook})) };
        let mut watch =
            lab.begin(Setup { mode: Some(Mode::Default), interactive: true, ..setup }, "go").await;
        watch.until(|event| matches!(event, Event::Asked(..))).await;
        eventually_beside("the notification has come", || !noted(&file).is_empty()).await;
        assert_eq!(noted(&file)[0]["notification_type"], kind);
    }
}

#[tokio::test]
async fn the_end_of_a_session_is_heard_once() {
    let lab = Lab::new();
    let (hook, file) = notes(&lab);
    lab.server.reply(Reply::text("1"));
    let mut watch = lab.turn(with(&lab, json!({"SessionEnd": hook})), "go").await;
    watch.close().await;
    let reasons: Vec<Value> = noted(&file).into_iter().map(|input| input["reason"].clone()).collect();
    assert_eq!(reasons, ["other"]);
}

// HOOK-13, HOOK-10, SESS-05, SESS-06: beginning anew is the end of one session and the start of another, with nothing carried over.
#[tokio::test]
async fn clearing_ends_one_session_and_starts_another() {
    let lab = Lab::new();
    let (hook, file) = notes(&lab);
    let hooked = json!({"SessionStart": hook, "SessionEnd": hook});
    lab.server.replies([Reply::text("1"), Reply::text("2")]);
    let mut watch = lab.turn(with(&lab, hooked.clone()), "remember this").await;
    let before = watch.session.id;
    watch.send(Command::Clear).await;
    watch.until(|event| matches!(event, Event::Closed)).await;
    let setup = Setup { start: Start::Cleared, ..with(&lab, hooked) };
    let watch = lab.turn(setup, "what do you know?").await;
    assert_ne!(watch.session.id, before);
    assert_eq!(watch.session.history, State::default(), "no files, no snapshots, nothing that waits");
    assert!(!wire_text(&lab, 1).contains("remember this"));
    let told: Vec<(Value, Value)> = noted(&file)
        .into_iter()
        .map(|input| (input["hook_event_name"].clone(), input["source"].clone()))
        .collect();
    assert_eq!(told[0], (json!("SessionStart"), json!("startup")));
    assert_eq!(told[1].0, "SessionEnd");
    assert_eq!(noted(&file)[1]["reason"], "clear");
    assert_eq!(told[2], (json!("SessionStart"), json!("clear")));
    lab.server.assert_clean();
}

// SESS-02 SESS-08: what hooks say stands at the end of what there is, which is nothing after clearing.
#[tokio::test]
async fn what_a_start_is_told_stands_at_the_end() {
    let lab = Lab::new();
    let says = |matcher: &str, text: &str| {
        let hook = json!({"type": "command", "command": format!("echo {text}")});
        json!({"matcher": matcher, "hooks": [hook]})
    };
    let hooked = json!({"SessionStart": [says("resume", "welcome-back"), says("clear", "fresh-start")]});
    lab.server.replies([Reply::text("1"), Reply::text("2"), Reply::text("3")]);
    let mut watch = lab.turn(with(&lab, hooked.clone()), "first words").await;
    let id = watch.session.id;
    watch.close().await;
    lab.turn(Setup { start: Start::Resume(id), ..with(&lab, hooked.clone()) }, "go on").await;
    let resumed = wire_text(&lab, 1);
    let place = |words: &str| resumed.find(words).unwrap();
    assert!(
        place("first words") < place("welcome-back") && place("welcome-back") < place("go on"),
        "{resumed}"
    );
    lab.turn(Setup { start: Start::Cleared, ..with(&lab, hooked) }, "anew").await;
    let cleared = wire_text(&lab, 2);
    assert!(cleared.find("fresh-start").unwrap() < cleared.find("anew").unwrap(), "{cleared}");
    assert!(!cleared.contains("first words"));
}

// LOOP-39, LOOP-40, HOOK-12
#[tokio::test]
async fn a_stop_hook_makes_the_agent_go_on_and_knows_that_it_did() {
    let lab = Lab::new();
    let (note, file) = notes(&lab);
    let state = lab.project().join("blocked-once");
    let block =
        format!("test -e {0} || {{ touch {0}; echo 'tests are missing' >&2; exit 2; }}", state.display());
    let hooked = json!({"Stop": [note[0], runs(&block)[0]]});
    lab.server.replies([
        Reply::text("finished"),
        Reply::new().tool_with_id("a", "Probe", says("tested")),
        Reply::text("really finished"),
    ]);
    let watch = lab.turn(with(&lab, hooked), "go").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert!(wire_text(&lab, 1).contains("tests are missing"));
    let active: Vec<Value> =
        noted(&file).into_iter().map(|input| input["stop_hook_active"].clone()).collect();
    assert_eq!(active, [false, true]);
    lab.server.assert_clean();
}

// LOOP-42
#[tokio::test]
async fn stop_hooks_cannot_hold_a_turn_open_for_ever() {
    let lab = Lab::new();
    lab.server.respond_with(|_| Reply::text("finished"));
    let watch = lab.turn(with(&lab, json!({"Stop": runs("echo more >&2; exit 2")})), "go").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert_eq!(lab.server.messages().len(), 11);
    assert!(watch.sketch().contains(&"notice stop_hooks".to_owned()));
}

// LOOP-41
#[tokio::test]
async fn errors_and_interruptions_run_no_stop_hooks() {
    let lab = Lab::new();
    let (hook, file) = notes(&lab);
    lab.server.reply(Reply::status(400, "invalid_request_error", "no"));
    let watch = lab.turn(with(&lab, json!({"Stop": hook})), "go").await;
    assert!(matches!(watch.outcome(), Outcome::Error { .. }));
    assert!(noted(&file).is_empty());

    let lab = Lab::new();
    let (hook, file) = notes(&lab);
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", json!({"wait": "never", "safe": true})));
    let mut watch = lab.begin(with(&lab, json!({"Stop": hook})), "go").await;
    watch.until_started("a").await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert!(noted(&file).is_empty());
}

// HOOK-20
#[tokio::test]
async fn an_asynchronous_hook_is_heard_once_at_the_next_boundary() {
    let lab = Lab::new();
    let done = lab.project().join("done");
    let late = json!({"systemMessage": "checked", "hookSpecificOutput":
        {"hookEventName": "UserPromptSubmit", "additionalContext": "late news"}});
    let command = format!(
        "grep -q '\"prompt\":\"go\"' || exit 0; echo '{{\"async\":true,\"asyncTimeout\":600000}}'; while ! test -e {}; do sleep 0.01; done; echo '{late}'",
        done.display()
    );
    lab.server.respond_with(|_| Reply::text("fine"));
    let mut watch = lab.turn(with(&lab, json!({"UserPromptSubmit": runs(&command)})), "go").await;
    assert_eq!(times_heard(&watch), 0);
    fs_err::write(&done, "").unwrap();
    // Nobody says when it is over; each turn is another boundary.
    while times_heard(&watch) == 0 {
        watch.send(Command::Submit(UserInput::text("again"))).await;
        watch.until_turn_ends().await;
    }
    let news = lab.server.messages().len() - 1;
    assert!(wire_text(&lab, news).contains("late news") && !wire_text(&lab, news - 1).contains("late news"));
    watch.send(Command::Submit(UserInput::text("once more"))).await;
    watch.until_turn_ends().await;
    assert_eq!(times_heard(&watch), 1, "{:?}", watch.sketch());
    lab.server.assert_clean();
}

fn times_heard(watch: &Watch) -> usize {
    watch.sketch().iter().filter(|line| *line == "attachment async_hook_response").count()
}

// HOOK-09: what was queued meets the same hooks when it is delivered.
#[tokio::test]
async fn queued_prompts_pass_the_hooks_when_they_are_delivered() {
    let lab = Lab::new();
    let hook = "grep -q forbidden && { echo 'not that' >&2; exit 2; } || exit 0";
    lab.server.replies([
        Reply::new().tool_with_id("a", "Probe", json!({"wait": "gate", "safe": true, "read_only": true})),
        Reply::text("done"),
    ]);
    let mut watch = lab.begin(with(&lab, json!({"UserPromptSubmit": runs(hook)})), "go").await;
    watch.until_started("a").await;
    watch.send(Command::Submit(UserInput::text("something forbidden"))).await;
    watch.send(Command::Submit(UserInput::text("something fine"))).await;
    watch
        .until(|event| matches!(event, Event::Appended(entry)
            if matches!(&entry.body, Body::Queued(queued) if format!("{:?}", queued.content).contains("fine"))))
        .await;
    lab.gates.open("gate");
    watch.until_turn_ends().await;
    let text = wire_text(&lab, 1);
    assert!(text.contains("something fine") && !text.contains("forbidden"), "{text}");
    assert!(watch.sketch().contains(&"notice prompt_blocked".to_owned()));
    lab.server.assert_clean();
}
