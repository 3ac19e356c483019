//! Thinking is sent back whole, unchanged and in its own conversation.

use serde_json::{Value, json};
use tiller_testkit::{ModelServer, Reply};

use crate::support::{Client, ask};

const CONTROLS: (&str, &str) = ("anthropic-beta", "thinking-binding-controls-2026-08-01");
const BOUND: &str = "The block is bound to a different conversation";
const MODIFIED: &str = "blocks in the latest assistant message cannot be modified";

/// A conversation that has made a tool call after thinking, twice.
struct Talk {
    server: ModelServer,
    client: Client,
    body: Value,
}

impl Talk {
    async fn begin(model: &str) -> Self {
        let server = ModelServer::start();
        let client = Client::new(&server);
        let mut body = ask("go");
        body["model"] = json!(model);
        body["stream"] = json!(false);
        body["system"] = json!("Be brief.");
        body["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
        let mut talk = Self { server, client, body };
        talk.step(Reply::new().thinking("one").redacted("x").tool("Read", json!({ "n": 1 }))).await;
        talk.step(
            Reply::new().thinking("two").and_text("mid").thinking("three").tool("Read", json!({ "n": 2 })),
        )
        .await;
        talk
    }

    /// Gets a reply and appends it with the results of its calls.
    async fn step(&mut self, reply: Reply) {
        self.server.reply(reply);
        let (status, message) = self.client.post(&self.body).await;
        assert_eq!(status, 200, "{message}");
        let content = message["content"].clone();
        let results: Vec<Value> = content
            .as_array()
            .unwrap()
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .map(|call| json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "ok" }))
            .collect();
        let messages = self.body["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": content }));
        messages.push(json!({ "role": "user", "content": results }));
    }

    /// The answer to a changed body: an empty text when it was accepted.
    async fn after(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut body = self.body.clone();
        change(&mut body);
        self.server.reply(Reply::text("fine"));
        let (_, answer) = self.client.post(&body).await;
        answer["error"]["message"].as_str().unwrap_or_default().to_owned()
    }
}

fn remove(body: &mut Value, message: usize, block: usize) {
    body["messages"][message]["content"].as_array_mut().unwrap().remove(block);
}

#[tokio::test]
async fn an_unchanged_conversation_goes_on() {
    let mut talk = Talk::begin("claude-opus-5-5").await;
    talk.step(Reply::new().thinking("four").and_text("done")).await;
    talk.server.assert_clean();
}

#[tokio::test]
async fn cache_marks_and_appended_messages_change_nothing() {
    let talk = Talk::begin("claude-opus-5-5").await;
    let refused = talk
        .after(|body| {
            body["system"] =
                json!([{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }]);
            body["messages"][4]["content"][0]["cache_control"] = json!({ "type": "ephemeral" });
            let note = json!({ "role": "system", "content": "The date has changed." });
            body["messages"].as_array_mut().unwrap().push(note);
        })
        .await;
    assert_eq!(refused, "");
}

#[tokio::test]
async fn history_is_bound_on_the_models_that_check_it() {
    for (model, checked) in [("claude-opus-5-5", true), ("claude-haiku-5-5", true), ("claude-opus-5", false)]
    {
        let talk = Talk::begin(model).await;
        let edits: [fn(&mut Value); 4] = [
            |body| body["system"] = json!("Be long."),
            |body| body["messages"][0]["content"] = json!("stop"),
            |body| body["messages"][2]["content"][0]["content"] = json!("trimmed"),
            |body| body["tools"] = json!([{ "name": "Read", "input_schema": { "type": "object" } }]),
        ];
        for edit in edits {
            let refused = talk.after(edit).await;
            assert_eq!(refused.contains(BOUND), checked, "{model}: {refused}");
        }
    }
}

#[tokio::test]
async fn thinking_between_others_may_not_be_left_out() {
    let talk = Talk::begin("claude-fable-5-2").await;
    let refused = talk.after(|body| remove(body, 1, 0)).await;
    assert!(refused.starts_with("messages.1.content.0: ") && refused.contains(BOUND), "{refused}");
    let lenient = Talk::begin("claude-opus-5").await;
    assert_eq!(lenient.after(|body| remove(body, 1, 0)).await, "");
}

#[tokio::test]
async fn the_last_message_of_a_tool_loop_keeps_its_thinking() {
    let talk = Talk::begin("claude-opus-5").await;
    let refused = talk.after(|body| remove(body, 3, 0)).await;
    assert!(refused.contains(MODIFIED), "{refused}");
    let refused = talk
        .after(|body| {
            remove(body, 3, 2);
            remove(body, 3, 0);
        })
        .await;
    assert!(refused.contains(MODIFIED), "{refused}");
    let refused = talk.after(|body| body["messages"][3]["content"][0]["thinking"] = json!("changed")).await;
    assert!(refused.contains(MODIFIED), "{refused}");
    let swapped = talk
        .after(|body| {
            let blocks = body["messages"][3]["content"].as_array_mut().unwrap();
            blocks.swap(0, 2);
        })
        .await;
    assert!(swapped.contains(MODIFIED), "{swapped}");
    let text = json!([{ "role": "user", "content": "new turn" }]);
    let all_dropped = talk.after(|body| body["messages"] = text).await;
    assert_eq!(all_dropped, "");
}

#[tokio::test]
async fn foreign_signatures_are_invalid() {
    let talk = Talk::begin("claude-opus-5").await;
    let refused =
        talk.after(|body| body["messages"][1]["content"][0]["signature"] = json!("bWFkZSB1cA==")).await;
    assert_eq!(refused, "messages.1.content.0: Invalid `signature` in `thinking` block");
    let refused = talk.after(|body| body["messages"][1]["content"][1]["data"] = json!("bWFkZSB1cA==")).await;
    assert_eq!(refused, "messages.1.content.1: Invalid `data` in `redacted_thinking` block");
    let refused = talk.after(|body| body["messages"][1]["content"][0]["thinking"] = json!("changed")).await;
    assert!(refused.contains("Invalid `signature`"), "{refused}");
}

#[tokio::test]
async fn drop_block_lets_a_changed_conversation_go_on() {
    let talk = Talk::begin("claude-opus-5-5").await;
    let mut body = talk.body.clone();
    body["system"] = json!("Be long.");
    body["thinking"]["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
    talk.server.reply(Reply::text("fine"));
    let refused = talk.client.send(&body).await;
    assert_eq!(refused.status(), 400, "the field needs its beta");
    let accepted: Value = talk.client.send_with(&body, &[CONTROLS]).await.json().await.unwrap();
    let dropped = accepted["input_transformations"].as_array().unwrap();
    assert_eq!(dropped.len(), 4, "{accepted}");
    assert_eq!(
        dropped[0],
        json!({ "type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch" })
    );
}

#[tokio::test]
async fn thinking_of_an_unreadable_model_is_dropped_silently() {
    let talk = Talk::begin("claude-fable-5-2").await;
    let mut body = talk.body.clone();
    body["model"] = json!("claude-opus-5");
    talk.server.reply(Reply::text("fine"));
    let accepted: Value = talk.client.send_with(&body, &[CONTROLS]).await.json().await.unwrap();
    assert_eq!(accepted["input_transformations"][0]["reason"], "model_binding_mismatch", "{accepted}");
}

#[tokio::test]
async fn omitted_thinking_is_empty_and_still_bound() {
    let server = ModelServer::start();
    server.reply(Reply::new().thinking("secret").and_text("done"));
    let client = Client::new(&server);
    let events = client.events(&ask("hi")).await;
    let deltas: Vec<&str> = events.iter().filter_map(|event| event["delta"]["type"].as_str()).collect();
    assert_eq!(deltas, ["signature_delta", "text_delta"]);
    let signature = events[2]["delta"]["signature"].clone();
    let mut body = ask("hi");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": [
        { "type": "thinking", "thinking": "text put in is ignored", "signature": signature },
        { "type": "text", "text": "done" },
    ] }));
    messages.push(json!({ "role": "user", "content": "more" }));
    server.reply(Reply::text("fine"));
    client.events(&body).await;
    server.assert_clean();
}

#[tokio::test]
async fn manual_thinking_wants_thinking_first() {
    let server = ModelServer::start();
    let mut body = ask("go");
    body["model"] = json!("claude-sonnet-4-5");
    body["max_tokens"] = json!(4000);
    body["thinking"] = json!({ "type": "enabled", "budget_tokens": 2000 });
    body["messages"] = json!([
        { "role": "user", "content": "go" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "a", "name": "Read", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "a" }] },
    ]);
    let (status, answer) = Client::new(&server).post(&body).await;
    assert_eq!(status, 400);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("messages.1.content.0.type: Expected `thinking`"), "{message}");
}

#[tokio::test]
async fn a_conversation_can_move_to_another_server() {
    let talk = Talk::begin("claude-opus-5-5").await;
    let next = ModelServer::start();
    next.reply(Reply::new().tool("Read", json!({})));
    let (status, message) = Client::new(&next).post(&talk.body).await;
    assert_eq!(status, 200, "{message}");
    assert_eq!(message["content"][0]["id"], "toolu_03", "ids of the conversation are not used twice");
}
