//! The control protocol of the JSON stream: requests by the host, and questions to it.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tiller_model::name::{Names, chosen};
use tiller_protocol::ask::{Answer, Ask, PermissionAsk, Then};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Body, Delivery, Entry, Reading};
use tiller_protocol::env::Env;
use tiller_protocol::id::{AskId, EntryId};
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::Update;

use super::background::{Calls, stop_task};
use super::consult::{self, EditedPlan, Pending, Yes};
use super::context::{self, ContextTerms};
use super::initialize::initialize;
use super::rewinds::Rewinds;
use super::servers;
use super::tally::Tally;
use crate::extensions::Offered;

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
    /// Gives ids to messages that have none.
    pub(crate) env: Env,
    /// What else extends the session.
    pub(crate) offered: Arc<Offered>,
    /// The agents that work can be delegated to: names, and when to use them.
    pub(crate) agents: Vec<(String, String)>,
    /// What the context is measured by.
    pub(crate) context: ContextTerms,
}

/// What a host says it knows, so that it is asked whether a command may leave the sandbox.
const LEAVE_SANDBOX: &str = "leave_sandbox";

/// Keeps track of what was asked over the stream.
pub(crate) struct Control {
    terms: Terms,
    pending: HashMap<String, (AskId, Pending)>,
    /// The host knows the question whether a command may leave the sandbox.
    lets_out: bool,
    /// What the host's program was asked for, and no person: hooks, and messages for servers.
    in_host: HashMap<String, AskId>,
    /// Messages that have not reached the model yet.
    undelivered: Vec<EntryId>,
    host_is_gone: bool,
    calls: Calls,
    rewinds: Rewinds,
}

/// What a frame or an event leads to.
#[derive(Default)]
pub(crate) struct Reaction {
    pub(crate) frames: Vec<Value>,
    pub(crate) commands: Vec<Command>,
    /// What the host should know went wrong.
    pub(crate) warning: Option<String>,
    /// A plan as the user wants it, to be written before the commands are carried out.
    pub(crate) plan: Option<EditedPlan>,
    /// Why the run cannot go on.
    pub(crate) failure: Option<String>,
    /// Whether the host wants to hear what sub-agents say.
    pub(crate) forward_text: Option<bool>,
}

/// The answer to a request with what it leads to, or why there is none.
pub(super) type Answered = Result<(Value, Vec<Command>), String>;

#[derive(Deserialize)]
struct UserFrame {
    message: UserFrameMessage,
    #[serde(default)]
    uuid: Option<String>,
    #[serde(default)]
    priority: Option<String>,
    /// It is meant word for word.
    #[serde(default)]
    client_composed: bool,
    /// Without it, a message starts a turn.
    #[serde(default, rename = "shouldQuery")]
    should_query: Option<bool>,
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
        Self {
            terms,
            pending: HashMap::new(),
            in_host: HashMap::new(),
            lets_out: false,
            undelivered: Vec::new(),
            host_is_gone: false,
            calls: Calls::default(),
            rewinds: Rewinds::default(),
        }
    }

    /// What an event calls for: frames for the host, or answers in its place.
    pub(crate) fn on_event(&mut self, event: &Event) -> Reaction {
        self.calls.note(event);
        let frames = match event {
            Event::Appended(entry) => {
                self.note_delivery(entry);
                Vec::new()
            }
            Event::Asked(id, ask) if self.host_is_gone => {
                let refusal = match ask {
                    Ask::Hook(_) | Ask::Server(_) => no_host(*id),
                    _ => refuse(*id),
                };
                return Reaction { commands: vec![refusal], ..Reaction::default() };
            }
            Event::Asked(id, Ask::Permission(ask)) if ask.leaves_sandbox && !self.lets_out => {
                return Reaction { commands: vec![not_asked(*id)], ..Reaction::default() };
            }
            Event::Asked(id, Ask::Permission(ask)) if self.terms.asks => {
                vec![self.put(*id, Pending::Permission, &can_use_tool(ask))]
            }
            Event::Asked(id, Ask::Question(ask)) => {
                vec![self.put(*id, Pending::Question, &consult::questions(ask))]
            }
            Event::Asked(id, Ask::Plan(ask)) => {
                vec![self.put(*id, Pending::Plan(Box::new(ask.clone())), &consult::plan(ask))]
            }
            Event::Asked(id, Ask::Elicitation(ask)) => {
                vec![self.put(*id, Pending::Elicitation, &servers::elicitation(ask))]
            }
            Event::Asked(id, Ask::Sampling(ask)) => {
                vec![self.put(*id, Pending::Permission, &servers::sampling(ask))]
            }
            Event::Asked(id, Ask::Hook(ask)) => {
                let request = json!({"subtype": "hook_callback", "callback_id": ask.callback, "input": ask.input,
                    "tool_use_id": ask.call});
                vec![self.turn_to_host(*id, &request)]
            }
            Event::Asked(id, Ask::Server(ask)) => {
                vec![self.turn_to_host(*id, &servers::message(ask))]
            }
            Event::Rewind(report) => self.rewinds.done(report),
            Event::Rejected(problem) => self.rewinds.refused(problem),
            Event::Resolved(id) if self.in_host.remove(&id.to_string()).is_some() => {
                vec![json!({"type": "control_cancel_request", "request_id": id.to_string()})]
            }
            Event::Resolved(id) if self.pending.remove(&id.to_string()).is_some() => {
                vec![json!({"type": "control_cancel_request", "request_id": id.to_string()})]
            }
            _ => Vec::new(),
        };
        Reaction { frames, ..Reaction::default() }
    }

    /// Puts a question to the host.
    fn put(&mut self, id: AskId, pending: Pending, request: &Value) -> Value {
        let request_id = id.to_string();
        let frame = json!({"type": "control_request", "request_id": request_id, "request": request});
        self.pending.insert(request_id, (id, pending));
        frame
    }

    /// Asks the host's program for something.
    fn turn_to_host(&mut self, id: AskId, request: &Value) -> Value {
        let request_id = id.to_string();
        let frame = json!({"type": "control_request", "request_id": request_id, "request": request});
        self.in_host.insert(request_id, id);
        frame
    }

    /// The host is gone: open questions are answered with no, and so are those that follow.
    pub(crate) fn nobody_answers(&mut self) -> Vec<Command> {
        self.host_is_gone = true;
        let questions = self.pending.drain().map(|(_, (id, _))| refuse(id));
        questions.chain(self.in_host.drain().map(|(_, id)| no_host(id))).collect()
    }

    /// What a frame of the host asks for. Unknown kinds are passed over.
    pub(crate) fn on_frame(&mut self, frame: Value, tally: &Tally) -> Reaction {
        match frame["type"].as_str() {
            Some("user") => self.user(frame),
            Some("control_request") => self.request(&frame, tally),
            Some("control_response") => self.response(&frame["response"]),
            _ => Reaction::default(),
        }
    }

    fn user(&mut self, frame: Value) -> Reaction {
        let frame = match serde_json::from_value::<UserFrame>(frame) {
            Ok(frame) => frame,
            Err(error) => {
                let problem = format!("a user message cannot be understood: {error}");
                return Reaction { failure: Some(problem), ..Reaction::default() };
            }
        };
        let content = match frame.message.content {
            Content::Text(text) => vec![RawBlock::text(&text)],
            Content::Blocks(blocks) => blocks.iter().map(RawBlock::from_value).collect(),
        };
        let delivery = match (frame.should_query, frame.priority.as_deref()) {
            (Some(false), _) => Delivery::WithNext,
            (_, Some("later")) => Delivery::Queue,
            _ => Delivery::Steer,
        };
        let mut commands = Vec::new();
        if frame.priority.as_deref() == Some("now") {
            commands.push(Command::Interrupt);
        }
        let reading = if frame.client_composed { Reading::AsWritten } else { Reading::Usual };
        // An id that is not a UUID cannot name an entry; the message gets one of ours.
        let id = frame.uuid.and_then(|id| id.parse().ok()).unwrap_or_else(|| EntryId(self.terms.env.fresh()));
        self.undelivered.push(id);
        commands.push(Command::Submit(UserInput { id: Some(id), content, delivery, reading }));
        Reaction { commands, ..Reaction::default() }
    }

    fn response(&mut self, response: &Value) -> Reaction {
        let request = response["request_id"].as_str().unwrap_or_default();
        if let Some(id) = self.in_host.remove(request) {
            let command = Command::Answer(id, Answer::Host { answer: host_answer(response) });
            return Reaction { commands: vec![command], ..Reaction::default() };
        }
        let Some((id, pending)) = self.pending.remove(request) else { return Reaction::default() };
        let body = &response["response"];
        if matches!(pending, Pending::Elicitation) {
            let command = Command::Answer(id, servers::elicited(body));
            return Reaction { commands: vec![command], ..Reaction::default() };
        }
        let (updates, unclear) = match updates(body) {
            Ok(updates) => (updates, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let refused = |answer| Yes { answer, edited: None, warning: None };
        let Yes { answer, edited: plan, warning } =
            match (response["subtype"].as_str(), body["behavior"].as_str()) {
                (Some("success"), Some("allow")) => {
                    let input = body.get("updatedInput").filter(|input| input.is_object()).cloned();
                    consult::yes(pending, input, updates)
                }
                (Some("success"), _) => {
                    let then = if body["interrupt"] == true { Then::EndTurn } else { Then::GoOn };
                    let message = body["message"].as_str().unwrap_or("no reason was given");
                    refused(Answer::Refuse { feedback: Some(message.to_owned()), then })
                }
                _ => {
                    let error = response["error"].as_str().unwrap_or("the permission callback failed");
                    refused(Answer::Refuse { feedback: Some(error.to_owned()), then: Then::GoOn })
                }
            };
        let warning = unclear.or(warning);
        Reaction { commands: vec![Command::Answer(id, answer)], warning, plan, ..Reaction::default() }
    }

    fn request(&mut self, frame: &Value, tally: &Tally) -> Reaction {
        let request = &frame["request"];
        let id = &frame["request_id"];
        let subtype = request["subtype"].as_str().unwrap_or_default();
        if subtype == "rewind_files" {
            return self.rewinds.order(request, id);
        }
        let answered = match subtype {
            "initialize" => {
                let known = request["supportedDialogKinds"].as_array();
                self.lets_out = known.is_some_and(|kinds| kinds.iter().any(|kind| kind == LEAVE_SANDBOX));
                initialize(request, tally, &mut self.terms)
            }
            "interrupt" => Ok(self.interrupt(tally)),
            "set_permission_mode" => self.set_mode(request),
            "set_model" => Ok(self.set_model(request)),
            "background_tasks" => self.calls.background(request),
            "stop_task" => stop_task(request, tally),
            "get_context_usage" => context::usage(&self.terms.context, tally),
            "cancel_async_message" => self.cancel(request),
            "set_max_thinking_tokens" => set_thinking(request),
            "mcp_status" => Ok((json!({"mcpServers": servers::status(tally)}), Vec::new())),
            "mcp_message" => servers::heard(request),
            "mcp_reconnect" | "mcp_toggle" | "mcp_authenticate" | "mcp_clear_auth" => {
                servers::order(request, subtype, tally)
            }
            other => Err(format!("unsupported request: {other}")),
        };
        let answer = |response: Value| vec![json!({"type": "control_response", "response": response})];
        match answered {
            Ok((response, commands)) => {
                let frames = answer(json!({"subtype": "success", "request_id": id, "response": response}));
                let forward_text = request["forwardSubagentText"].as_bool();
                Reaction { frames, commands, forward_text, ..Reaction::default() }
            }
            Err(error) => {
                let frames = answer(json!({"subtype": "error", "request_id": id, "error": error}));
                // Hosts send their first message before they have read the answer: without what they asked for, it
                // must not run.
                let failure = (subtype == "initialize").then_some(error);
                Reaction { frames, failure, ..Reaction::default() }
            }
        }
    }

    /// The receipt of an interrupt. It lists what the host has sent before, whether the session has seen it yet or not;
    /// the message that starts a turn is not waiting any more.
    fn interrupt(&self, tally: &Tally) -> (Value, Vec<Command>) {
        let starting = usize::from(!tally.is_in_turn());
        let from_before =
            tally.state.queue.iter().map(|queued| queued.id).filter(|id| !self.undelivered.contains(id));
        let queued: Vec<EntryId> =
            from_before.chain(self.undelivered.iter().skip(starting).copied()).collect();
        (json!({"still_queued": queued}), vec![Command::Interrupt])
    }

    /// Drops a message that waits.
    fn cancel(&self, request: &Value) -> Answered {
        let id = request["message_uuid"].as_str().and_then(|id| id.parse::<EntryId>().ok());
        let Some(id) = id else { return Err("message_uuid is missing, or is no UUID".to_owned()) };
        let waits = self.undelivered.contains(&id);
        Ok((json!({"cancelled": waits}), waits.then_some(Command::Dequeue(id)).into_iter().collect()))
    }

    fn note_delivery(&mut self, entry: &Entry) {
        match &entry.body {
            Body::User(_) => self.undelivered.retain(|id| *id != entry.id),
            Body::Dequeued(gone) => self.undelivered.retain(|id| !gone.ids.contains(id)),
            Body::Attachment(attachment) => {
                self.undelivered.retain(|id| attachment.queued_id() != Some(*id));
            }
            _ => {}
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
        let chosen = request["model"].as_str().and_then(chosen);
        let setting = chosen.or(self.terms.model_setting.as_deref()).unwrap_or("sonnet");
        (json!({"model": self.terms.names.resolve(setting)}), vec![Command::SetModel(setting.to_owned())])
    }
}

fn set_thinking(request: &Value) -> Answered {
    let tokens = match &request["max_thinking_tokens"] {
        Value::Null => None,
        said => match said.as_u64().and_then(|tokens| u32::try_from(tokens).ok()) {
            Some(tokens) => Some(tokens),
            None => return Err("max_thinking_tokens has to be a whole number, or null".to_owned()),
        },
    };
    Ok((json!({}), vec![Command::SetThinking(tokens)]))
}

/// A host that decides by tool and input alone would let every command out that it lets run.
fn not_asked(id: AskId) -> Command {
    let feedback = "the host does not know this question; the command stays in the sandbox".to_owned();
    Command::Answer(id, Answer::Refuse { feedback: Some(feedback), then: Then::GoOn })
}

fn can_use_tool(ask: &PermissionAsk) -> Value {
    let mut request = json!({"subtype": "can_use_tool", "tool_name": ask.tool, "display_name": ask.tool,
        "description": ask.reason, "input": ask.input, "tool_use_id": ask.call,
        "permission_suggestions": ask.suggestions});
    if ask.leaves_sandbox {
        request["leaves_sandbox"] = json!(true);
        request["display_name"] = json!(format!("{} outside of the sandbox", ask.tool));
        request["decision_reason"] = json!(ask.reason);
    }
    if let Some(path) = &ask.blocked_path {
        request["blocked_path"] = json!(path);
    }
    if !ask.would_cover.is_empty() {
        request["suggestions_would_cover"] = json!(ask.would_cover);
    }
    request
}

/// What a yes changes for later calls. All of it has to be understood.
fn updates(answer: &Value) -> Result<Vec<Update>, String> {
    let Some(updates) = answer.get("updatedPermissions").filter(|updates| !updates.is_null()) else {
        return Ok(Vec::new());
    };
    serde_json::from_value(updates.clone()).map_err(|error| {
        format!("Permissions stay as they are: updatedPermissions are not understood: {error}.")
    })
}

fn refuse(id: AskId) -> Command {
    let feedback = "the stream closed before the question was answered".to_owned();
    Command::Answer(id, Answer::Refuse { feedback: Some(feedback), then: Then::GoOn })
}

fn no_host(id: AskId) -> Command {
    let answer = Err("the stream closed before the host answered".to_owned());
    Command::Answer(id, Answer::Host { answer })
}

fn host_answer(response: &Value) -> Result<Value, String> {
    match response["subtype"].as_str() {
        Some("success") => Ok(response["response"].clone()),
        _ => Err(response["error"].as_str().unwrap_or("it failed in the host").to_owned()),
    }
}
