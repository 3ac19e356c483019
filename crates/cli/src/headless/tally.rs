//! What a run has done so far: the fold of its entries, plus the figures of the current turn.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{AgentInfo, BackgroundTask, Event, TaskKind, TaskState};
use tiller_protocol::compaction::Compacted;
use tiller_protocol::entry::{Body, DecisionRecord, Entry, Level, Outcome, TurnEnd};
use tiller_protocol::id::{AgentId, EntryId, MessageId};
use tiller_protocol::mcp::{McpServer, McpState};
use tiller_protocol::state::State;
use tiller_protocol::usage::{StopReason, Usage};
use tiller_tools::{ONLY_WITH_USER, StructuredOutput, Tool};

/// Figures for results.
pub(crate) struct Tally {
    pub(crate) state: State,
    pub(crate) turn: TurnTally,
    pub(crate) turns: u32,
    /// Why the session broke down, if it did.
    pub(crate) breakdown: Option<String>,
    /// Sub-agents, by their ids.
    pub(crate) agents: HashMap<AgentId, AgentInfo>,
    /// MCP servers, by their names.
    pub(crate) servers: BTreeMap<String, McpServer>,
    /// What is at work in the background, by its id.
    pub(crate) tasks: HashMap<String, TaskKind>,
    /// The session's log.
    pub(crate) log: PathBuf,
    /// Whether the host wants to hear what sub-agents say, and not only what they do.
    pub(crate) forward_text: bool,
    /// What should be looked at, of this turn and what was before the first one.
    pub(crate) warnings: Vec<String>,
    /// What answers had consumed when they began, those of sub-agents included, which may outlast a turn.
    pub(crate) usages: HashMap<MessageId, Usage>,
    /// Those of them that are whole.
    whole: Vec<MessageId>,
}

/// What kept the model from what it last tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Halt {
    /// It was denied.
    Denied,
    /// It was a question to the user, and nobody was there to answer.
    Unanswered,
}

/// Figures of one turn.
pub(crate) struct TurnTally {
    started: Instant,
    api_ms_before: u64,
    pub(crate) requests: u32,
    pub(crate) usage: Usage,
    pub(crate) stop_reason: Option<String>,
    pub(crate) denials: Vec<Value>,
    /// Why, for people.
    pub(crate) denial_reasons: Vec<String>,
    pub(crate) end: Option<TurnEnd>,
    /// The result in the form that was asked for.
    pub(crate) structured: Option<Value>,
    answer: (Option<MessageId>, String),
    /// The last response with calls.
    calling: Option<MessageId>,
    halt: Option<Halt>,
    was_cut: bool,
    /// Nobody has asked for it: work in the background has ended.
    pub(crate) is_self_started: bool,
    /// Entries of the last answer, and how much of its text stood there before them.
    said: (Vec<EntryId>, usize),
}

impl TurnTally {
    fn new(api_ms_before: u64) -> Self {
        Self {
            started: Instant::now(),
            api_ms_before,
            requests: 0,
            usage: Usage::default(),
            stop_reason: None,
            denials: Vec::new(),
            denial_reasons: Vec::new(),
            end: None,
            structured: None,
            answer: (None, String::new()),
            calling: None,
            halt: None,
            was_cut: false,
            is_self_started: false,
            said: (Vec::new(), 0),
        }
    }

    fn deny(&mut self, decision: &DecisionRecord) {
        self.denials.push(denial(decision));
        self.denial_reasons.push(decision.message.clone());
    }
}

/// What is told of a compaction that was undone.
const UNFOLDED: &str = "compaction_undone";

/// A compaction in words.
pub(super) fn told_of_fold(Compacted { pre_tokens, post_tokens, .. }: &Compacted) -> String {
    format!("The conversation was compacted: about {pre_tokens} tokens became {post_tokens}.")
}

impl Tally {
    /// A tally that goes on from a resumed session's totals.
    pub(crate) fn new(history: State, log: PathBuf) -> Self {
        let api_ms = history.spent.api_ms;
        Self {
            state: history,
            turn: TurnTally::new(api_ms),
            turns: 0,
            breakdown: None,
            agents: HashMap::new(),
            servers: BTreeMap::new(),
            tasks: HashMap::new(),
            log,
            forward_text: false,
            warnings: Vec::new(),
            usages: HashMap::new(),
            whole: Vec::new(),
        }
    }

    pub(crate) fn take_server(&mut self, server: &McpServer) {
        self.servers.insert(server.name.clone(), server.clone());
    }

    /// Whether some server may still become ready.
    pub(crate) fn awaits_servers(&self) -> bool {
        let waits = |server: &McpServer| matches!(server.state, McpState::Configured | McpState::Starting);
        self.servers.values().any(waits)
    }

    pub(crate) fn delegate(&mut self, info: &AgentInfo) {
        self.agents.insert(info.id.clone(), info.clone());
    }

    pub(crate) fn take_task(&mut self, task: &BackgroundTask) {
        match task.state {
            TaskState::Running => _ = self.tasks.insert(task.id.clone(), task.kind),
            _ => _ = self.tasks.remove(&task.id),
        }
    }

    /// Whether agents are at work in the background.
    pub(crate) fn has_agents_at_work(&self) -> bool {
        self.tasks.values().any(|kind| *kind == TaskKind::Agent)
    }

    /// What a sub-agent was not allowed to do is missing from the result of the run as well.
    pub(crate) fn take_of_agent(&mut self, event: &Event) {
        self.take_usage(event);
        if let Event::Appended(entry) = event
            && let Body::Decision(decision) = &entry.body
            && decision.behavior == "deny"
        {
            self.turn.deny(decision);
        }
    }

    /// Notes what an answer has consumed so far.
    pub(crate) fn take_usage(&mut self, event: &Event) {
        if let Event::Answering { message, usage } = event {
            self.usages.insert(message.clone(), *usage);
        }
    }

    pub(crate) fn begin_turn(&mut self) {
        self.turn = TurnTally::new(self.state.spent.api_ms);
        if self.turns > 0 {
            self.warnings.clear();
        }
        for answer in self.whole.drain(..) {
            self.usages.remove(&answer);
        }
        self.turns += 1;
    }

    pub(crate) fn take(&mut self, entry: &Entry) {
        self.state.apply(entry);
        if let Body::Response(response) = &entry.body {
            self.whole.push(response.message_id.clone());
        }
        match &entry.body {
            Body::Assistant(block) => {
                if self.turn.answer.0.as_ref() != Some(&block.message_id) {
                    // What follows an answer that the output limit cut is its continuation.
                    let begun = if self.turn.was_cut {
                        std::mem::take(&mut self.turn.answer.1)
                    } else {
                        String::new()
                    };
                    self.turn.said = (Vec::new(), begun.len());
                    self.turn.answer = (Some(block.message_id.clone()), begun);
                }
                self.turn.said.0.push(entry.id);
                self.turn.answer.1.push_str(&block.block.as_text().unwrap_or_default());
                if block.block.as_tool_use().is_some()
                    && self.turn.calling.as_ref() != Some(&block.message_id)
                {
                    self.turn.calling = Some(block.message_id.clone());
                    self.turn.halt = None;
                }
            }
            Body::Response(response) if !response.side => {
                // An answer without a word is one, too: what was said before it is not the result. One that was cut off
                // before its first word is none.
                let is_whole = !matches!(response.stop_reason, StopReason::Other(_));
                if is_whole && self.turn.answer.0.as_ref() != Some(&response.message_id) && !self.turn.was_cut
                {
                    self.turn.answer = (Some(response.message_id.clone()), String::new());
                }
                self.turn.requests += 1;
                self.turn.usage += response.usage;
                if is_whole {
                    self.turn.was_cut =
                        response.stop_reason == StopReason::MaxTokens && self.state.open_calls.is_empty();
                }
                self.turn.stop_reason = Some(response.stop_reason.as_str().to_owned());
            }
            Body::Decision(decision) if decision.behavior == "deny" => {
                self.turn.halt = Some(Halt::Denied);
                self.turn.deny(decision);
            }
            Body::Compacted(compacted) if self.turn.requests == 0 => {
                self.turn.answer.1 = told_of_fold(compacted);
            }
            Body::Notice(notice) if notice.subtype == UNFOLDED && self.turn.requests == 0 => {
                self.turn.answer.1.clone_from(&notice.content);
            }
            Body::Result(result) if result.tool == StructuredOutput::NAME && !result.is_error => {
                self.turn.structured = Some(result.detail.clone());
            }
            Body::Result(result) if result.is_error && ONLY_WITH_USER.contains(&result.tool.as_str()) => {
                self.turn.halt.get_or_insert(Halt::Unanswered);
            }
            Body::Notice(notice) if notice.level != Level::Info => {
                self.warnings.push(notice.content.clone());
            }
            // What is repeated may have the same id.
            Body::Orphaned(orphaned) if self.turn.said.0.iter().any(|id| orphaned.ids.contains(id)) => {
                self.turn.answer.0 = None;
                self.turn.answer.1.truncate(self.turn.said.1);
            }
            Body::User(message) if message.is_of_task() => self.turn.is_self_started = true,
            Body::TurnEnded(end) => self.turn.end = Some(end.clone()),
            _ => {}
        }
    }

    /// The user did not wait for the end of the turn.
    pub(crate) fn stopped_by_force(&mut self) {
        let steps = self.turn.requests;
        self.turn.end.get_or_insert(TurnEnd { outcome: Outcome::Interrupted, marker: None, steps });
    }

    /// The text of the last answer.
    pub(crate) fn answer(&self) -> &str {
        &self.turn.answer.1
    }

    /// What the turn came to: the plan that was handed over, or the last answer.
    pub(crate) fn result(&self) -> &str {
        match self.turn.end.as_ref().map(|end| &end.outcome) {
            Some(Outcome::PlanHandedOver { plan, .. }) => plan,
            _ => self.answer(),
        }
    }

    /// Whether a turn was begun and has not ended.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.turns > 0 && self.turn.end.is_none()
    }

    /// What the last response with calls came to a halt at.
    pub(crate) fn halt(&self) -> Option<Halt> {
        self.turn.halt
    }

    pub(crate) fn duration_ms(&self) -> u64 {
        u64::try_from(self.turn.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn api_ms(&self) -> u64 {
        self.state.spent.api_ms - self.turn.api_ms_before
    }
}

fn denial(decision: &DecisionRecord) -> Value {
    json!({"tool_name": decision.tool, "tool_use_id": decision.call, "tool_input": decision.input})
}

/// The text blocks of a message, joined.
pub(crate) fn text_of(blocks: &[RawBlock]) -> String {
    blocks.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
