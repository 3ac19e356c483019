//! Permission: decided by policy, asked of the user, refused.

use serde_json::json;
use tiller_engine::Setup;
use tiller_protocol::ask::{Answer, Ask, Then};
use tiller_protocol::command::{Command, Event};
use tiller_protocol::entry::{Body, Cause, EndMarker, EndReason, Outcome};
use tiller_protocol::id::AskId;
use tiller_protocol::mode::Mode;
use tiller_testkit::{Gate, Reply};

use crate::harness::{Lab, Watch, says};

fn asking(lab: &Lab) -> Setup {
    Setup { mode: Some(Mode::Default), interactive: true, ..lab.setup() }
}

fn write(lab: &Lab) -> serde_json::Value {
    json!({"say": "written", "writes": lab.project().join("f")})
}

async fn asked(watch: &mut Watch) -> (AskId, Ask) {
    watch.until(|event| matches!(event, Event::Asked(..))).await;
    match watch.seen.last() {
        Some(Event::Asked(id, ask)) => (*id, ask.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_user_is_asked_and_says_yes() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", write(&lab)), Reply::text("done")]);
    let mut watch = lab.begin(asking(&lab), "go").await;
    let (id, Ask::Permission(ask)) = asked(&mut watch).await else { panic!("another question") };
    assert_eq!((ask.tool.as_str(), ask.call.as_str()), ("Probe", "a"));
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: Vec::new() })).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.result("a").text(), "written");
    lab.server.assert_clean();
}

#[tokio::test]
async fn the_users_changed_input_is_what_runs() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", write(&lab)), Reply::text("done")]);
    let mut watch = lab.begin(asking(&lab), "go").await;
    let (id, _) = asked(&mut watch).await;
    watch
        .send(Command::Answer(
            id,
            Answer::Allow { updated_input: Some(json!({"say": "other"})), updates: Vec::new() },
        ))
        .await;
    watch.until_turn_ends().await;
    let note = r#"[The user changed the input before it ran: {"say":"other"}]"#;
    assert_eq!(watch.result("a").text(), format!("{note}\nother"));
    lab.server.assert_clean();
}

// The model is told what ran, but not at any length; and not if what ran is what it wrote.
#[tokio::test]
async fn the_model_is_told_of_changed_input_in_short() {
    for (input, is_told) in [
        (json!({"say": "x".repeat(10_000)}), true),
        (json!({"fail": true, "say": "failed"}), true),
        (serde_json::Value::Null, false),
    ] {
        let lab = Lab::new();
        lab.server.replies([Reply::new().tool_with_id("a", "Probe", write(&lab)), Reply::text("done")]);
        let mut watch = lab.begin(asking(&lab), "go").await;
        let (id, ask) = asked(&mut watch).await;
        let Ask::Permission(ask) = ask else { panic!("{ask:?}") };
        let input = if input.is_null() { ask.input } else { input };
        let answer = Answer::Allow { updated_input: Some(input.clone()), updates: Vec::new() };
        watch.send(Command::Answer(id, answer)).await;
        watch.until_turn_ends().await;
        let result = watch.result("a");
        let note = result.content[0].as_text().unwrap();
        assert_eq!(note.starts_with("[The user changed the input"), is_told, "{note}");
        assert!(note.len() < 2_200);
        assert_eq!(result.is_error, input["fail"] == true);
        lab.server.assert_clean();
    }
}

// PERM-16, LOOP-30
#[tokio::test]
async fn a_refusal_without_a_word_ends_the_turn() {
    let lab = Lab::new();
    let reply =
        Reply::new().tool_with_id("a", "Probe", write(&lab)).tool_with_id("b", "Probe", says("unused"));
    lab.server.reply(reply);
    let mut watch = lab.begin(asking(&lab), "go").await;
    let (id, _) = asked(&mut watch).await;
    watch.until_answered().await;
    watch.send(Command::Answer(id, Answer::Refuse { feedback: None, then: Then::EndTurn })).await;
    watch.until_turn_ends().await;
    assert!(watch.result("a").is_error);
    assert!(matches!(watch.result("b").cause, Cause::SiblingError | Cause::ToolRejection));
    assert_eq!(watch.outcome(), Outcome::ToolRejected);
    let marker = watch.entries().iter().find_map(|entry| match &entry.body {
        Body::TurnEnded(end) => end.marker,
        _ => None,
    });
    assert_eq!(marker, Some(EndMarker { tool_use: true, reason: EndReason::ToolRejection }));
    lab.server.assert_clean();
}

// PERM-16, REPL-01: the same while the model is still writing, which is cut short by it; also in the replay.
#[tokio::test]
async fn a_refusal_cuts_an_answer_short() {
    let lab = Lab::new();
    let gate = Gate::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", write(&lab)).gate(&gate).tool_with_id(
        "b",
        "Probe",
        says("unused"),
    ));
    let mut watch = lab.begin(asking(&lab), "go").await;
    let (id, _) = asked(&mut watch).await;
    watch.send(Command::Answer(id, Answer::Refuse { feedback: None, then: Then::EndTurn })).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::ToolRejected);
    gate.open();
}

// PERM-16
#[tokio::test]
async fn a_refusal_with_feedback_goes_on() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", write(&lab)), Reply::text("done")]);
    let mut watch = lab.begin(asking(&lab), "go").await;
    let (id, _) = asked(&mut watch).await;
    watch
        .send(Command::Answer(
            id,
            Answer::Refuse { feedback: Some("not that file".into()), then: Then::GoOn },
        ))
        .await;
    watch.until_turn_ends().await;
    assert!(watch.result("a").text().contains("not that file"));
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// PERM-18, HEAD-02: without anybody to ask, the model is told so.
#[tokio::test]
async fn nobody_to_ask_means_no() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", write(&lab)), Reply::text("done")]);
    let setup = Setup { interactive: false, ..asking(&lab) };
    let watch = lab.turn(setup, "go").await;
    assert!(watch.result("a").text().contains("nobody can be asked"));
    lab.server.assert_clean();
}

// PERM-15: a mode change during a turn affects the next decision; a deny rule outranks every mode.
#[tokio::test]
async fn the_mode_counts_at_the_moment_of_the_decision() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("a", "Probe", json!({"wait": "gate", "safe": true, "read_only": true})),
        Reply::new().tool_with_id("b", "Probe", write(&lab)),
        Reply::text("done"),
    ]);
    let mut watch = lab.begin(asking(&lab), "go").await;
    watch.until_started("a").await;
    watch.send(Command::SetMode(Mode::AcceptEdits)).await;
    watch
        .until(|event| matches!(event, Event::Appended(entry) if matches!(entry.body, Body::Effect(_))))
        .await;
    lab.gates.open("gate");
    watch.until_turn_ends().await;
    assert_eq!(watch.result("b").text(), "written");

    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("a", "Probe", write(&lab)), Reply::text("done")]);
    let mut setup = lab.setup();
    setup.rules.deny.push("Probe(f)".parse().unwrap());
    let watch = lab.turn(setup, "go").await;
    assert!(watch.result("a").text().contains("Probe(f)"), "{}", watch.result("a").text());
    lab.server.assert_clean();
}

#[tokio::test]
async fn an_interrupt_withdraws_the_question() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", write(&lab)));
    let mut watch = lab.begin(asking(&lab), "go").await;
    let (id, _) = asked(&mut watch).await;
    watch.send(Command::Interrupt).await;
    watch.until(|event| matches!(event, Event::Resolved(resolved) if *resolved == id)).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.result("a").cause, Cause::Interrupted);
    lab.server.assert_clean();
}
