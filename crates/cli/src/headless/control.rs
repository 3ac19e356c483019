//! The control protocol of the JSON stream: requests by the host, and questions to it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::Delivery;
use tiller_protocol::id::{AskId, EntryId};
use tiller_protocol::mode::Mode;

use super::tally::Tally;

/// Keeps track of what was asked over the stream.
pub(crate) struct Control {
    asks: bool,
    pending: HashMap<String, AskId>,
}

/// What a frame of the host leads to.
#[derive(Default)]
pub(crate) struct Reaction {
    pub(crate) frames: Vec<Value>,
    pub(crate) commands: Vec<Command>,
}

#[derive(Deserialize)]
struct UserFrame {
    message: UserFrameMessage,
    #[serde(default)]
    uuid: Option<EntryId>,
    #[serde(default)]
    priority: Option<String>,
}

#[derive(Deserialize)]
struct UserFrameMessage {
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Value>),
}

impl Control {
    pub(crate) fn new(asks: bool) -> Self {
        Self { asks, pending: HashMap::new() }
    }

    /// Frames for the host that an event calls for.
    pub(crate) fn on_event(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::Asked(id, Ask::Permission(ask)) if self.asks => {
                let request_id = id.to_string();
                self.pending.insert(request_id.clone(), *id);
                let request = json!({"subtype": "can_use_tool", "tool_name": ask.tool, "display_name": ask.tool,
                    "description": ask.reason, "input": ask.input, "tool_use_id": ask.call,
                    "permission_suggestions": []});
                vec![json!({"type": "control_request", "request_id": request_id, "request": request})]
            }
            Event::Resolved(id) if self.pending.remove(&id.to_string()).is_some() => {
                vec![json!({"type": "control_cancel_request", "request_id": id.to_string()})]
            }
            _ => Vec::new(),
        }
    }

    /// The host is gone: open questions are answered with no.
    pub(crate) fn nobody_answers(&mut self) -> Vec<Command> {
        let feedback = "the stream closed before the question was answered".to_owned();
        let refuse = |(_, id)| Command::Answer(id, Answer::Refuse { feedback: Some(feedback.clone()) });
        self.pending.drain().map(refuse).collect()
    }

    /// What a frame of the host asks for. Unknown kinds are passed over.
    pub(crate) fn on_frame(&mut self, frame: Value, tally: &Tally) -> Reaction {
        match frame["type"].as_str() {
            Some("user") => user(frame),
            Some("control_request") => request(&frame, tally),
            Some("control_response") => self.response(&frame["response"]),
            _ => Reaction::default(),
        }
    }

    fn response(&mut self, response: &Value) -> Reaction {
        let id = response["request_id"].as_str().and_then(|id| self.pending.remove(id));
        let Some(id) = id else { return Reaction::default() };
        let body = &response["response"];
        let answer = match (response["subtype"].as_str(), body["behavior"].as_str()) {
            (Some("success"), Some("allow")) => {
                Answer::Allow { updated_input: body.get("updatedInput").filter(|input| input.is_object()).cloned() }
            }
            (Some("success"), _) if body["interrupt"] == true => Answer::Refuse { feedback: None },
            (Some("success"), _) => {
                let message = body["message"].as_str().unwrap_or("no reason was given");
                Answer::Refuse { feedback: Some(message.to_owned()) }
            }
            _ => {
                let error = response["error"].as_str().unwrap_or("the permission callback failed");
                Answer::Refuse { feedback: Some(error.to_owned()) }
            }
        };
        Reaction { commands: vec![Command::Answer(id, answer)], ..Reaction::default() }
    }
}

fn user(frame: Value) -> Reaction {
    let Ok(frame) = serde_json::from_value::<UserFrame>(frame) else {
        tracing::warn!("a user message without content was passed over");
        return Reaction::default();
    };
    let content = match frame.message.content {
        Content::Text(text) => vec![RawBlock::text(&text)],
        Content::Blocks(blocks) => blocks.iter().map(RawBlock::from_value).collect(),
    };
    let delivery = if frame.priority.as_deref() == Some("later") { Delivery::Queue } else { Delivery::Steer };
    let mut commands = Vec::new();
    if frame.priority.as_deref() == Some("now") {
        commands.push(Command::Interrupt);
    }
    commands.push(Command::Submit(UserInput { id: frame.uuid, content, delivery }));
    Reaction { commands, ..Reaction::default() }
}

fn request(frame: &Value, tally: &Tally) -> Reaction {
    let request = &frame["request"];
    let id = &frame["request_id"];
    let subtype = request["subtype"].as_str().unwrap_or_default();
    let (answer, commands) = match subtype {
        "initialize" => (Ok(initialized(tally)), Vec::new()),
        "interrupt" => {
            let queued: Vec<&EntryId> = tally.state.queue.iter().map(|queued| &queued.id).collect();
            (Ok(json!({"still_queued": queued})), vec![Command::Interrupt])
        }
        "set_permission_mode" => match request["mode"].as_str().unwrap_or_default().parse::<Mode>() {
            Ok(Mode::BypassPermissions) if tally.state.mode != Mode::BypassPermissions => {
                (Err("bypassPermissions has to be chosen when tiller is started".to_owned()), Vec::new())
            }
            Ok(mode) => (Ok(json!({"mode": mode})), vec![Command::SetMode(mode)]),
            Err(error) => (Err(error.to_string()), Vec::new()),
        },
        "set_model" => {
            let model = request["model"].as_str().unwrap_or("sonnet");
            (Ok(json!({"model": model})), vec![Command::SetModel(model.to_owned())])
        }
        "mcp_status" => (Ok(json!({"mcpServers": []})), Vec::new()),
        other => (Err(format!("unsupported request: {other}")), Vec::new()),
    };
    let response = match answer {
        Ok(response) => json!({"subtype": "success", "request_id": id, "response": response}),
        Err(error) => json!({"subtype": "error", "request_id": id, "error": error}),
    };
    Reaction { frames: vec![json!({"type": "control_response", "response": response})], commands }
}

fn initialized(tally: &Tally) -> Value {
    json!({
        "commands": [], "agents": [], "output_style": "default", "available_output_styles": ["default"],
        "models": [{"value": "default", "displayName": "Default", "description": "The configured model"}],
        "account": {}, "claude_code_version": crate::args::PROTOCOL_LEVEL, "pid": std::process::id(),
        "current_permission_mode": tally.state.mode,
    })
}
