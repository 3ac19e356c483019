//! Agents that are moved out of the way while they work.

use serde_json::json;
use tiller_protocol::command::{Command, Event, TaskState, UserInput};
use tiller_testkit::{Gate, Reply};

use crate::agents::{by_prompt, setup, task};
use crate::harness::Lab;

// VERB-03: an agent that is waited for goes on in the background if the user wants that, and reports like any other.
#[tokio::test]
async fn an_agent_at_work_is_moved_to_the_background() {
    let lab = Lab::new();
    let order = task("Explore", "take your time");
    lab.server.replies([Reply::new().tool_with_id("t", "Task", order), Reply::text("meanwhile")]);
    let gate = Gate::new();
    let child = lab.server.conversation(by_prompt("take your time"));
    child.reply(Reply::new().gate_headers(&gate).and_text("at last"));
    let mut watch = lab.begin(setup(&lab), "go").await;
    watch.until(|event| matches!(event, Event::AgentStarted(_))).await;
    watch.send(Command::Background("t".into())).await;
    watch.until_turn_ends().await;
    let moved = watch.result("t");
    let id = moved.detail["agentId"].as_str().unwrap().to_owned();
    assert!(!moved.is_error && moved.text().contains("moved the agent"), "{}", moved.text());
    assert_eq!(moved.detail["backgroundedByUser"], true);
    // The turn in which it began is over, and may even have been stopped: it goes on.
    watch.send(Command::Interrupt).await;
    lab.server.replies([
        Reply::new().tool_with_id("o", "TaskOutput", json!({"task_id": id})),
        Reply::text("thanks"),
    ]);
    gate.open();
    watch
        .until(|event| matches!(event, Event::TaskChanged(task) if task.state == TaskState::Completed))
        .await;
    watch.send(Command::Submit(UserInput::text("and?"))).await;
    watch.until_result("o").await;
    assert!(watch.result("o").text().contains("at last"), "{}", watch.result("o").text());
    watch.until_turn_ends().await;
    watch.send(Command::Background("t".into())).await;
    watch.until(|event| matches!(event, Event::Rejected(_))).await;
    lab.server.assert_clean();
}
