//! What the user says while the final answer is written, and what stops the turn before it is delivered.

use serde_json::{Value, json};
use tiller_engine::Setup;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Body, Outcome};
use tiller_testenv::eventually_beside;
use tiller_testkit::{Gate, Reply};

use crate::harness::{Lab, Watch, hooks};

/// Ends the turn for a prompt with this word, and lets all others through.
fn stops_at(word: &str) -> String {
    format!(r#"grep -q {word} && echo '{{"continue": false, "stopReason": "not today"}}' || exit 0"#)
}

fn with(lab: &Lab, command: &str) -> Setup {
    let hooked = json!([{"hooks": [{"type": "command", "command": command}]}]);
    Setup { hooks: hooks(json!({"UserPromptSubmit": hooked})), ..lab.setup() }
}

/// A session whose final answer is almost there when these messages are sent.
async fn said_late(lab: &Lab, setup: Setup, messages: &[&str]) -> Watch {
    let gate = Gate::new();
    lab.server.reply(Reply::text("all done").gate(&gate));
    let mut watch = lab.begin(setup, "go").await;
    gate.wait_reached_async().await;
    say(&mut watch, messages).await;
    gate.open();
    watch
}

async fn say(watch: &mut Watch, messages: &[&str]) {
    for message in messages {
        watch.send(Command::Submit(UserInput::text(message))).await;
        let queued =
            |event: &Event| matches!(event, Event::Appended(entry) if matches!(entry.body, Body::Queued(_)));
        watch.until(queued).await;
    }
}

fn asked(lab: &Lab, request: usize) -> Value {
    lab.server.messages()[request].body()["messages"].clone()
}

// LOOP-43, LOOP-27: a turn that is stopped while hooks look at what was said late comes to its end.
#[tokio::test]
async fn stopping_the_turn_while_something_late_is_looked_at_ends_it() {
    let lab = Lab::new();
    let (started, never) = (lab.project().join("started"), lab.project().join("never"));
    let command = format!(
        "grep -q late || exit 0; mkfifo {1}; touch {0}; exec cat {1}",
        started.display(),
        never.display()
    );
    let mut watch = said_late(&lab, with(&lab, &command), &["something late"]).await;
    eventually_beside("the hook looks at it", || started.exists()).await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Interrupted);
    assert_eq!(lab.server.messages().len(), 1);
    // What nobody has answered is answered when the user speaks again.
    fs_err::remove_file(&never).unwrap();
    fs_err::write(&never, "").unwrap();
    lab.server.respond_with(|_| Reply::text("fine"));
    watch.send(Command::Submit(UserInput::text("and now"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    let last = asked(&lab, lab.server.messages().len() - 1).to_string();
    assert!(last.contains("and now") && last.contains("something late"), "{last}");
}

// HOOK-15, LOOP-43
#[tokio::test]
async fn a_hook_can_end_the_turn_at_what_is_said_late() {
    let lab = Lab::new();
    let mut watch = said_late(&lab, with(&lab, &stops_at("forbidden")), &["something forbidden"]).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::HookStopped { message: "not today".into() });
    assert_eq!(lab.server.messages().len(), 1);
    lab.server.assert_clean();
}

// HOOK-15: what nobody would answer in a turn that is over gets one of its own, before and behind what has ended it.
#[tokio::test]
async fn what_is_said_beside_the_end_of_a_turn_is_answered_in_the_next() {
    for messages in [["something forbidden", "something fine"], ["something fine", "something forbidden"]] {
        let lab = Lab::new();
        let mut watch = said_late(&lab, with(&lab, &stops_at("forbidden")), &messages).await;
        lab.server.reply(Reply::text("fine indeed"));
        watch.until_turn_ends().await;
        assert_eq!(watch.outcome(), Outcome::HookStopped { message: "not today".into() });
        assert_eq!(lab.server.messages().len(), 1);
        watch.until_turn_ends().await;
        assert_eq!(watch.outcome(), Outcome::Success);
        let asked = asked(&lab, 1).to_string();
        assert!(asked.contains("something fine") && !asked.contains("forbidden"), "{asked}");
        assert!(!watch.sketch().contains(&"attachment queued_command".to_owned()), "{:?}", watch.sketch());
        lab.server.assert_clean();
    }
}

// HOOK-15: the same with results, which wait for the next message then.
#[tokio::test]
async fn a_hook_can_end_the_turn_at_what_is_said_beside_calls() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", json!({"wait": "gate"})));
    let mut watch = lab.begin(with(&lab, &stops_at("forbidden")), "go").await;
    watch.until_started("a").await;
    say(&mut watch, &["something fine", "something forbidden"]).await;
    lab.server.reply(Reply::text("fine indeed"));
    lab.gates.open("gate");
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::HookStopped { message: "not today".into() });
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert!(asked(&lab, 1).to_string().contains("something fine"));
    lab.server.assert_clean();
}
