//! The JSON messages of the stream, as agent SDKs expect them.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tiller_model::Catalog;
use tiller_model::name::{Names, StepChoice, exceeds_200k};
use tiller_protocol::compaction::Compacted;
use tiller_protocol::entry::{AssistantBlock, Attachment, CallResult, Entry, Notice, Outcome};
use tiller_protocol::id::{CallId, SessionId};
use tiller_protocol::mcp::{McpServer, PREFIX};
use tiller_protocol::state::ModelSpent;
use tiller_tools::{Recall, Tool};
use uuid::Uuid;

use super::compact;
use super::denials::Denials;
use super::tally::{Halt, Tally};
use crate::args::PROTOCOL_LEVEL;
use crate::extensions::Offered;

/// SDKs read lines of at most one mebibyte; structured output beyond this is left out of a frame.
const MAX_DETAIL: usize = 256 * 1024;
/// Images and documents in a frame are left out when it would grow beyond this.
const MAX_CONTENT: usize = 600 * 1024;

/// What a run knows of itself before its session has begun.
pub(crate) struct SessionFacts {
    pub(crate) cwd: PathBuf,
    pub(crate) model: String,
    /// How model names are understood.
    pub(crate) names: Names,
    /// The model as the user chose it.
    pub(crate) model_setting: Option<String>,
    pub(crate) tools: Vec<String>,
    pub(crate) agents: Vec<String>,
    pub(crate) offered: Arc<Offered>,
    pub(crate) api_key_source: &'static str,
    pub(crate) betas: Vec<String>,
    pub(crate) catalog: Catalog,
    pub(crate) fresh: Box<dyn Fn() -> Uuid + Send>,
}

/// What every frame of a session needs.
pub(crate) struct Frames {
    facts: SessionFacts,
    session: SessionId,
}

impl SessionFacts {
    pub(crate) fn into_session(self, session: SessionId) -> Frames {
        Frames { facts: self, session }
    }
}

/// MCP servers and where they stand, in few words.
fn servers(tally: &Tally) -> Vec<Value> {
    let server = |server: &McpServer| json!({"name": server.name, "status": server.state.status()});
    tally.servers.values().map(server).collect()
}

impl Frames {
    /// Adds to the agents that work can be delegated to.
    pub(crate) fn offer_agents<'a>(&mut self, names: impl Iterator<Item = &'a String>) {
        let known = &mut self.facts.agents;
        for name in names {
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
    }

    /// Another model was chosen, by an alias or an id.
    pub(crate) fn choose_model(&mut self, setting: &str) {
        self.facts.model_setting = Some(setting.to_owned());
    }

    /// Adds to the tools.
    pub(crate) fn offer_tool(&mut self, name: &str) {
        if !self.facts.tools.iter().any(|known| known == name) {
            self.facts.tools.push(name.to_owned());
        }
    }

    /// The session.
    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// The first message of each turn.
    pub(crate) fn init(&self, tally: &Tally) -> Value {
        let model = self.model(tally);
        let offered = &self.facts.offered;
        let own = compact::OFFER.name;
        let commands = offered.commands().map(|command| command.name.as_str());
        let of_servers = tally.servers.values().flat_map(|server| &server.prompts);
        let of_servers = of_servers.map(|prompt| prompt.name.as_str());
        let commands: Vec<&str> = std::iter::once(own).chain(commands).chain(of_servers).collect();
        let skills: Vec<&str> = offered.skills().map(|skill| skill.name.as_str()).collect();
        let plugins: Vec<Value> =
            offered.plugins.iter().map(|(name, path)| json!({"name": name, "path": path})).collect();
        json!({
            "type": "system", "subtype": "init", "session_id": self.session, "uuid": self.uuid(),
            "cwd": self.facts.cwd, "model": model, "tools": self.tools(tally), "mcp_servers": servers(tally),
            "permissionMode": tally.state.mode, "slash_commands": commands, "agents": self.facts.agents,
            "skills": skills, "plugins": plugins,
            "apiKeySource": self.facts.api_key_source, "claude_code_version": PROTOCOL_LEVEL,
            "tiller_version": tiller_engine::VERSION, "output_style": offered.style, "betas": self.facts.betas,
            "capabilities": ["interrupt_receipt_v1"],
        })
    }

    /// The model that is asked first.
    fn model(&self, tally: &Tally) -> String {
        let mode = tally.state.mode;
        self.facts.names.for_step(StepChoice {
            setting: self.facts.model_setting.as_deref(),
            mode,
            main_model: tally.state.model.as_deref().unwrap_or(&self.facts.model),
            exceeds_200k: exceeds_200k(mode, tally.state.last_usage.as_ref()),
        })
    }

    /// The tools of this turn, those of servers that are ready included.
    fn tools(&self, tally: &Tally) -> Vec<String> {
        let of_servers =
            tally.servers.values().flat_map(|server| server.tools.iter().map(|tool| tool.name.clone()));
        // Nothing can be looked up before something was folded.
        let is_offered = |name: &&String| *name != Recall::NAME || tally.state.folded.is_some();
        self.facts.tools.iter().filter(is_offered).cloned().chain(of_servers).collect()
    }

    /// How far a call of a server's tool is, as the server says.
    pub(crate) fn progress(&self, call: &CallId, data: &Value) -> Option<Value> {
        (data["type"] == "mcp_progress").then(|| {
            json!({
                "type": "tool_progress", "uuid": self.uuid(), "session_id": self.session, "tool_use_id": call,
                "tool_name": data["tool"], "parent_tool_use_id": null, "elapsed_time_seconds": data["elapsed"],
                "progress": data["progress"], "total": data["total"], "message": data["message"],
            })
        })
    }

    pub(crate) fn assistant(&self, entry: &Entry, block: &AssistantBlock, tally: &Tally) -> Value {
        let mut frame = json!({
            "type": "assistant", "uuid": entry.id, "session_id": self.session, "parent_tool_use_id": null,
            "message": {
                "id": block.message_id, "type": "message", "role": "assistant", "model": block.model,
                "content": [block.block.to_value()], "stop_reason": null, "stop_sequence": null,
            },
        });
        // What stands for an answer that never came has consumed nothing.
        frame["message"]["usage"] = json!(tally.usages.get(&block.message_id).copied().unwrap_or_default());
        if let Some(kind) = &block.api_error {
            frame["error"] = kind.as_str().into();
        }
        if block.aborted {
            frame["aborted"] = true.into();
        }
        frame
    }

    pub(crate) fn result_of_call(&self, entry: &Entry, result: &CallResult) -> Value {
        let is_of_server = result.tool.starts_with(PREFIX);
        let detail = match &result.detail {
            _ if result.is_error => Value::String(result.text()),
            detail if detail.to_string().len() > MAX_DETAIL => Value::String(result.text()),
            // Hosts know what servers say as it came.
            detail if is_of_server => detail.get("content").unwrap_or(detail).clone(),
            detail => detail.clone(),
        };
        let mut frame = json!({
            "type": "user", "uuid": entry.id, "session_id": self.session, "parent_tool_use_id": null,
            "message": {"role": "user", "content": bounded(vec![result.to_block().to_value()])},
            "tool_use_result": detail,
        });
        if let Some(structured) = result.detail.get("structuredContent").filter(|_| is_of_server) {
            frame["mcp_meta"] = json!({"structuredContent": structured});
        }
        frame
    }

    pub(crate) fn user(&self, entry: &Entry, content: Vec<Value>, replay: bool) -> Value {
        let mut frame = json!({
            "type": "user", "uuid": entry.id, "session_id": self.session, "parent_tool_use_id": null,
            "message": {"role": "user", "content": bounded(content)},
        });
        if replay {
            frame["isReplay"] = true.into();
        }
        frame
    }

    /// Input that was sent while the agent worked and has now reached the model.
    pub(crate) fn delivered(&self, attachment: &Attachment) -> Value {
        let content = attachment.attachment["prompt"].as_array().cloned().unwrap_or_default();
        json!({
            "type": "user", "uuid": attachment.attachment["id"], "session_id": self.session,
            "parent_tool_use_id": null, "isReplay": true,
            "message": {"role": "user", "content": bounded(content)},
        })
    }

    pub(crate) fn stream_event(&self, json: &str) -> String {
        // The event is copied as it came: parsing two million of them would be felt. A line feed can only be white
        // space between its parts.
        let json = if json.contains(['\n', '\r']) {
            json.replace(['\n', '\r'], " ").into()
        } else {
            Cow::Borrowed(json)
        };
        format!(
            r#"{{"type":"stream_event","uuid":"{}","session_id":"{}","parent_tool_use_id":null,"event":{json}}}"#,
            self.uuid(),
            self.session
        )
    }

    pub(crate) fn notice(&self, entry: &Entry, notice: &Notice) -> Value {
        json!({
            "type": "system", "subtype": notice.subtype, "level": notice.level, "content": notice.content,
            "uuid": entry.id, "session_id": self.session,
        })
    }

    /// Where the conversation was folded, and what of it is left.
    pub(crate) fn boundary(&self, entry: &Entry, compacted: &Compacted) -> Value {
        let kept = compacted.kept.as_ref().map_or(0, |kept| kept.messages);
        json!({
            "type": "system", "subtype": "compact_boundary", "uuid": entry.id, "session_id": self.session,
            "compact_metadata": {
                "trigger": compacted.trigger, "pre_tokens": compacted.pre_tokens,
                "post_tokens": compacted.post_tokens, "folded_messages": compacted.folded_messages,
                "kept_messages": kept, "carried_prompts": compacted.carried,
                "shortened_prompts": compacted.shortened, "left_out_prompts": compacted.left_out,
                "restored": compacted.restored,
            },
        })
    }

    pub(crate) fn system(&self, subtype: &str, fields: Value) -> Value {
        let mut frame =
            json!({"type": "system", "subtype": subtype, "uuid": self.uuid(), "session_id": self.session});
        if let (Some(frame), Value::Object(fields)) = (frame.as_object_mut(), fields) {
            frame.extend(fields);
        }
        frame
    }

    /// The last message of each turn.
    pub(crate) fn result(&self, tally: &Tally) -> Value {
        let outcome = tally.turn.end.as_ref().map(|end| &end.outcome);
        let ending = Ending::of(tally);
        let mut frame = json!({
            "type": "result", "subtype": ending.subtype, "uuid": self.uuid(), "session_id": self.session,
            "is_error": ending.is_error, "outcome": ending.outcome, "num_turns": tally.turn.requests,
            "duration_ms": tally.duration_ms(), "duration_api_ms": tally.api_ms(),
            "stop_reason": tally.turn.stop_reason, "terminal_reason": ending.terminal_reason,
            "total_cost_usd": tally.state.spent.usd, "usage": tally.turn.usage,
            "modelUsage": self.model_usage(tally),
        });
        let denials = Denials::fitting(&tally.turn.denials);
        frame["permission_denials"] = denials.told.into();
        if denials.left_out > 0 {
            frame["permission_denials_left_out"] = denials.left_out.into();
        }
        if tally.state.spent.unpriced {
            frame["cost_incomplete"] = "a model's price is not known".into();
        }
        match ending.error {
            None => frame["result"] = tally.result().into(),
            Some(error) if ending.subtype == "success" => frame["result"] = error.into(),
            Some(error) => frame["errors"] = json!([error]),
        }
        if !tally.warnings.is_empty() {
            frame["warnings"] = json!(tally.warnings);
        }
        if tally.turn.is_self_started {
            frame["origin"] = json!({"kind": "task-notification"});
        }
        if let Some(structured) = &tally.turn.structured {
            frame["structured_output"] = structured.clone();
        }
        if let Some(Outcome::PlanHandedOver { path, .. }) = outcome {
            frame["plan_file"] = json!(path);
        }
        if let Some(status) = ending.api_status {
            frame["api_error_status"] = status.into();
        }
        frame
    }

    fn model_usage(&self, tally: &Tally) -> Value {
        let usage = |(model, spent): (&String, &ModelSpent)| {
            let info = self.facts.catalog.info(model);
            let value = json!({
                "inputTokens": spent.usage.input_tokens, "outputTokens": spent.usage.output_tokens,
                "cacheReadInputTokens": spent.usage.cache_read_input_tokens,
                "cacheCreationInputTokens": spent.usage.cache_creation_input_tokens,
                "webSearchRequests": spent.usage.server_tool_use.web_search_requests, "costUSD": spent.usd,
                "contextWindow": info.context_window, "maxOutputTokens": info.max_output,
            });
            (model.clone(), value)
        };
        Value::Object(tally.state.spent.by_model.iter().map(usage).collect())
    }

    fn uuid(&self) -> Uuid {
        (self.facts.fresh)()
    }
}

/// Content that fits into one line: images and documents beyond it are named instead.
fn bounded(mut content: Vec<Value>) -> Vec<Value> {
    let size = |content: &[Value]| content.iter().map(|block| block.to_string().len()).sum::<usize>();
    if size(&content) > MAX_CONTENT {
        content.iter_mut().for_each(name_instead);
    }
    content
}

fn name_instead(block: &mut Value) {
    if let Some(inner) = block.get_mut("content").and_then(Value::as_array_mut) {
        inner.iter_mut().for_each(name_instead);
    }
    if block["source"]["data"].is_string() {
        let kind = block["source"]["media_type"].as_str().unwrap_or("binary data").to_owned();
        *block = json!({"type": "text", "text": format!("[{kind}, too large for this stream]")});
    }
}

/// Whether the result of the last turn is told as an error.
pub(super) fn is_error(tally: &Tally) -> bool {
    Ending::of(tally).is_error
}

/// How an outcome is told.
struct Ending {
    subtype: &'static str,
    outcome: &'static str,
    terminal_reason: &'static str,
    is_error: bool,
    error: Option<String>,
    api_status: Option<u16>,
}

impl Ending {
    fn good() -> Self {
        Self {
            subtype: "success",
            outcome: "success",
            terminal_reason: "completed",
            is_error: false,
            error: None,
            api_status: None,
        }
    }

    /// How the last turn of a run ended.
    fn of(tally: &Tally) -> Self {
        let end = tally.turn.end.as_ref();
        let outcome = end.map(|end| &end.outcome);
        let in_tools = end.is_some_and(|end| end.marker.is_some_and(|marker| marker.tool_use));
        let failed = |subtype, terminal_reason, error: &str| Self {
            subtype,
            outcome: subtype,
            terminal_reason,
            is_error: true,
            error: Some(error.to_owned()),
            api_status: None,
        };
        match outcome {
            Some(Outcome::Success) => {
                let outcome = match tally.halt() {
                    None => "success",
                    Some(Halt::Denied) => "denied",
                    Some(Halt::Unanswered) => "needs_input",
                };
                Self { outcome, ..Self::good() }
            }
            Some(Outcome::PlanHandedOver { .. }) => Self::good(),
            Some(Outcome::MaxTurns) => {
                failed("error_max_turns", "max_turns", "the limit on model requests is reached")
            }
            Some(Outcome::MaxBudget) => {
                failed("error_max_budget_usd", "budget_exhausted", "the spending limit is reached")
            }
            Some(Outcome::MaxTokens) => {
                failed("error_max_tokens", "budget_exhausted", "the limit on tokens is reached")
            }
            Some(Outcome::MaxTime) => {
                failed("error_max_time", "budget_exhausted", "the limit on time is reached")
            }
            Some(Outcome::Interrupted | Outcome::ToolRejected) => Self {
                outcome: "interrupted",
                ..failed(
                    "error_during_execution",
                    if in_tools { "aborted_tools" } else { "aborted_streaming" },
                    "the turn was interrupted",
                )
            },
            Some(Outcome::HookStopped { message }) => {
                Self { outcome: "denied", ..failed("error_during_execution", "hook_stopped", message) }
            }
            Some(Outcome::Unstructured { message }) => {
                failed("error_max_structured_output_retries", "structured_output_retry_exhausted", message)
            }
            Some(Outcome::Refused { message }) => failed("error_during_execution", "model_error", message),
            // SDKs know a failed request as a "success" that is an error, with the text as its result.
            Some(Outcome::Error { message, status }) => Self {
                outcome: "error_during_execution",
                api_status: *status,
                ..failed("success", "api_error", message)
            },
            None => {
                let problem = tally.breakdown.as_deref().unwrap_or("the run ended unexpectedly");
                failed("error_during_execution", "model_error", problem)
            }
        }
    }
}
