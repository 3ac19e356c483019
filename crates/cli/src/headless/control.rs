//! The control protocol of the JSON stream: requests by the host, and questions to it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tiller_model::name::Names;
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::Delivery;
use tiller_protocol::id::{AskId, EntryId};
use tiller_protocol::mode::Mode;

use super::initialize::initialize;
use super::tally::Tally;

/// What the host may do, settled when the run starts.
pub(crate) struct Terms {
    /// Permission questions go to the host.
    pub(crate) asks: bool,
    /// The host may switch to bypassing permissions.
    pub(crate) bypass: bool,
    /// How model names are understood.
    pub(crate) names: Names,
    /// The configured model, as written.
    pub(crate) model_setting: Option<String>,
}

/// Keeps track of what was asked over the stream.
pub(crate) struct Control {
    terms: Terms,
    pending: HashMap<String, AskId>,
    host_is_gone: bool,
}

/// What a frame or an event leads to.
#[derive(Default)]
pub(crate) struct Reaction {
    pub(crate) frames: Vec<Value>,
    pub(crate) commands: Vec<Command>,
    /// Why the run cannot go on.
    pub(crate) failure: Option<String>,
}

type Answered = Result<(Value, Vec<Command>), String>;

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
    pub(crate) fn new(terms: Terms) -> Self {
        Self { terms, pending: HashMap::new(), host_is_gone: false }
    }

    /// What an event calls for: frames for the host, or answers in its place.
    pub(crate) fn on_event(&mut self, event: &Event) -> Reaction {
        let frames = match event {
            Event::Asked(id, _) if self.host_is_gone => {
                return Reaction { commands: vec![refuse(*id)], ..Reaction::default() };
            }
            Event::Asked(id, Ask::Permission(ask)) if self.terms.asks => {
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
        };
        Reaction { frames, ..Reaction::default() }
    }

    /// The host is gone: open questions are answered with no, and so are those that follow.
    pub(crate) fn nobody_answers(&mut self) -> Vec<Command> {
        self.host_is_gone = true;
        self.pending.drain().map(|(_, id)| refuse(id)).collect()
    }

    /// What a frame of the host asks for. Unknown kinds are passed over.
    pub(crate) fn on_frame(&mut self, frame: Value, tally: &Tally) -> Reaction {
        match frame["type"].as_str() {
            Some("user") => user(frame),
            Some("control_request") => self.request(&frame, tally),
            Some("control_response") => self.response(&frame["response"]),
            _ => Reaction::default(),
        }
    }

    fn response(&mut self, response: &Value) -> Reaction {
        let id = response["request_id"].as_str().and_then(|id| self.pending.remove(id));
        let Some(id) = id else { return Reaction::default() };
        let body = &response["response"];
        let answer = match (response["subtype"].as_str(), body["behavior"].as_str()) {
            (Some("success"), Some("allow")) => Answer::Allow {
                updated_input: body.get("updatedInput").filter(|input| input.is_object()).cloned(),
            },
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

    fn request(&self, frame: &Value, tally: &Tally) -> Reaction {
        let request = &frame["request"];
        let id = &frame["request_id"];
        let subtype = request["subtype"].as_str().unwrap_or_default();
        let answered = match subtype {
            "initialize" => initialize(request, tally),
            "interrupt" => Ok(interrupt(tally)),
            "set_permission_mode" => self.set_mode(request),
            "set_model" => Ok(self.set_model(request)),
            "mcp_status" => Ok((json!({"mcpServers": []}), Vec::new())),
            other => Err(format!("unsupported request: {other}")),
        };
        let answer = |response: Value| vec![json!({"type": "control_response", "response": response})];
        match answered {
            Ok((response, commands)) => {
                let frames = answer(json!({"subtype": "success", "request_id": id, "response": response}));
                Reaction { frames, commands, failure: None }
            }
            Err(error) => {
                let frames = answer(json!({"subtype": "error", "request_id": id, "error": error}));
                // Hosts send their first message before they have read the answer: without what they asked for, it
                // must not run.
                let failure = (subtype == "initialize").then_some(error);
                Reaction { frames, commands: Vec::new(), failure }
            }
        }
    }

    fn set_mode(&self, request: &Value) -> Answered {
        match request["mode"].as_str().unwrap_or_default().parse::<Mode>() {
            Ok(Mode::BypassPermissions) if !self.terms.bypass => {
                Err("bypassPermissions has to be allowed when tiller is started".to_owned())
            }
            Ok(mode) => Ok((json!({"mode": mode}), vec![Command::SetMode(mode)])),
            Err(error) => Err(error.to_string()),
        }
    }

    fn set_model(&self, request: &Value) -> (Value, Vec<Command>) {
        let chosen = request["model"].as_str().filter(|name| !name.is_empty() && *name != "default");
        let setting = chosen.or(self.terms.model_setting.as_deref()).unwrap_or("sonnet");
        (json!({"model": self.terms.names.resolve(setting)}), vec![Command::SetModel(setting.to_owned())])
    }
}

fn refuse(id: AskId) -> Command {
    let feedback = "the stream closed before the question was answered".to_owned();
    Command::Answer(id, Answer::Refuse { feedback: Some(feedback) })
}

fn interrupt(tally: &Tally) -> (Value, Vec<Command>) {
    let queued: Vec<&EntryId> = tally.state.queue.iter().map(|queued| &queued.id).collect();
    (json!({"still_queued": queued}), vec![Command::Interrupt])
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
