//! What agents and those they work for know of each other: files that were seen, and how far the work is.

use serde_json::json;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::Body;
use tiller_testkit::{Gate, Reply};

use crate::agents::{by_prompt, sent_to, setup, task};
use crate::harness::Lab;

// EXEC-28: an agent knows of files what its caller knows; it cannot change what has changed since, and its own looks stay
// with it.
#[tokio::test]
async fn an_agent_knows_which_files_its_caller_has_seen() {
    let lab = Lab::new();
    for name in ["known.txt", "unknown.txt", "later.txt"] {
        fs_err::write(lab.project().join(name), "one\n").unwrap();
    }
    let path = |name: &str| lab.project().join(name);
    let edit = |name: &str| json!({"file_path": path(name), "old_string": "one", "new_string": "two"});
    lab.server.replies([
        Reply::new().tool_with_id("r", "Read", json!({"file_path": path("known.txt")})),
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "edit them")),
        Reply::new().tool_with_id("own", "Edit", edit("later.txt")),
        Reply::text("done"),
    ]);
    let child = lab.server.conversation(by_prompt("edit them"));
    child.replies([
        Reply::new().tool_with_id("known", "Edit", edit("known.txt")).tool_with_id(
            "unknown",
            "Edit",
            edit("unknown.txt"),
        ),
        Reply::new().tool_with_id("look", "Read", json!({"file_path": path("later.txt")})),
        Reply::text("edited"),
    ]);
    let watch = lab.turn(setup(&lab), "go").await;
    assert_eq!(fs_err::read_to_string(path("known.txt")).unwrap(), "two\n");
    assert_eq!(fs_err::read_to_string(path("unknown.txt")).unwrap(), "one\n");
    assert!(watch.result("own").text().contains("has not been read yet"), "{}", watch.result("own").text());
    let told = sent_to(&lab, "edit them")[0].to_string();
    assert!(!told.contains("no longer what you saw"), "{told}");
    lab.server.assert_clean();
}

// STEER-29: how far a background agent is.
#[tokio::test]
async fn a_background_agent_tells_how_far_it_is() {
    let lab = Lab::new();
    let mut order = task("Explore", "take your time");
    order["run_in_background"] = json!(true);
    let gate = Gate::new();
    let child = lab.server.conversation(by_prompt("take your time"));
    child.replies([
        Reply::new().tool_with_id("look", "Glob", json!({"pattern": "*"})),
        Reply::new().gate_headers(&gate).and_text("at last"),
    ]);
    lab.server.replies([Reply::new().tool_with_id("t", "Task", order), Reply::text("meanwhile")]);
    let mut watch = lab.begin(setup(&lab), "go").await;
    watch.until_turn_ends().await;
    let answered = |event: &Event| matches!(event, Event::Appended(entry) if matches!(&entry.body, Body::Response(response) if response.agent.is_some()));
    if !watch.seen.iter().any(answered) {
        watch.until(answered).await;
    }
    lab.server.replies([Reply::text("still waiting")]);
    watch.send(Command::Submit(UserInput::text("well?"))).await;
    watch.until_turn_ends().await;
    // The agent may have asked last.
    let requests = lab.server.messages();
    let mut texts = requests.iter().map(|request| request.body()["messages"].to_string());
    let told = texts.find(|text| text.contains("well?")).unwrap();
    assert!(told.contains("its model has answered 1 times so far"), "{told}");
    gate.open();
}
