//! What is proposed to the user after a turn.

use tiller_engine::{Setup, SteeringChoice};
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Body, Response};
use tiller_protocol::mode::Mode;
use tiller_testkit::{Matcher, Reply};

use crate::harness::{Lab, Watch};
use crate::mode_key::Measurements;

fn setup(lab: &Lab, mode: Mode) -> Setup {
    let steering = SteeringChoice { suggestions: true, ..SteeringChoice::default() };
    Setup { interactive: true, mode: Some(mode), steering, ..lab.setup() }
}

fn proposals(watch: &Watch) -> Vec<String> {
    let proposal = |event: &Event| match event {
        Event::Suggestion(text) => Some(text.clone()),
        _ => None,
    };
    watch.seen.iter().filter_map(proposal).collect()
}

async fn say(watch: &mut Watch, text: &str) {
    watch.send(Command::Submit(UserInput::text(text))).await;
    watch.until_turn_ends().await;
}

// SESS-19: not before the second answer; the small model is asked, and what that costs is counted.
#[tokio::test]
async fn the_next_message_is_proposed() {
    Measurements::begin();
    let lab = Lab::new();
    let small = lab.server.conversation(Matcher::first_user_contains("most likely to send next"));
    small.reply(Reply::text("\"now run the tests\"\n"));
    lab.server.replies([Reply::text("I looked."), Reply::text("I changed it.")]);
    let mut watch = lab.turn(setup(&lab, Mode::Default), "look").await;
    say(&mut watch, "change it").await;
    assert_eq!(Measurements::last("reason"), Some("\"early\"".to_owned()));
    watch.until(|event| matches!(event, Event::Suggestion(_))).await;
    assert_eq!(proposals(&watch), ["now run the tests"]);
    let asked = lab.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(asked.contains("change it") && asked.contains("I changed it."), "{asked}");
    let side = |body: &Body| matches!(body, Body::Response(Response { side: true, .. }));
    assert_eq!(watch.entries().iter().filter(|entry| side(&entry.body)).count(), 1);
    watch.close().await;
    lab.server.assert_clean();
}

// PLAN-61, SESS-19
#[tokio::test]
async fn while_planning_nothing_is_proposed() {
    Measurements::begin();
    let lab = Lab::new();
    lab.server.replies([Reply::text("I looked."), Reply::text("I planned.")]);
    let mut watch = lab.turn(setup(&lab, Mode::Plan), "look").await;
    say(&mut watch, "plan it").await;
    watch.close().await;
    assert_eq!(Measurements::last("reason"), Some("\"plan_mode\"".to_owned()));
    assert_eq!((proposals(&watch).len(), lab.server.messages().len()), (0, 2));
}
