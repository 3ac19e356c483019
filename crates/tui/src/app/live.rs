//! What is going on right now and leaves no trace in this form.

use std::collections::HashMap;
use std::time::Duration;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use tiller_protocol::command::{AgentInfo, BackgroundTask, Event, TaskState};
use tiller_protocol::entry::Body;
use tiller_protocol::id::{AgentId, CallId};

use crate::cell::{Answer, Call};
use crate::text::clean;

/// A block of the response that is being written.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text(Answer),
    Thinking(String),
    Call { tool: String, bytes: usize },
}

/// A call that runs.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    pub(crate) since: Duration,
    /// The end of what it has printed.
    pub(crate) output: String,
}

/// A sub-agent at work.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) info: AgentInfo,
    pub(crate) since: Duration,
    pub(crate) activity: String,
    pub(crate) tokens: u64,
}

/// A turn under way.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) since: Duration,
    /// Tokens that were written and are accounted for.
    pub(crate) tokens: u64,
    /// Bytes that were streamed and are not.
    pub(crate) streamed: usize,
    pub(crate) usd_before: f64,
    /// Failures that were told.
    pub(crate) failures: Vec<String>,
    /// A fold is taken back, and nothing else happens.
    pub(crate) only_unfolds: bool,
}

/// The provider is about to be asked again.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) at: Duration,
    pub(crate) attempt: u32,
    pub(crate) max: u32,
    pub(crate) error: String,
}

/// Everything that is under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    pub(crate) blocks: IndexMap<u64, Block>,
    pub(crate) calls: HashMap<CallId, Call>,
    pub(crate) running: IndexMap<CallId, Running>,
    pub(crate) agents: IndexMap<AgentId, Agent>,
    pub(crate) tasks: IndexMap<String, BackgroundTask>,
    /// What has ended in the background since the agent last looked.
    pub(crate) ended: Vec<String>,
    pub(crate) turn: Option<Turn>,
    pub(crate) retry: Option<Retry>,
    pub(crate) stopping: bool,
    /// The command that folds the conversation as soon as the running step has ended.
    pub(crate) compact: Option<String>,
    /// The conversation is being folded; how many tokens a request took before.
    pub(crate) folding: Option<u64>,
}

#[derive(Deserialize)]
struct StreamEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    index: u64,
    #[serde(default)]
    content_block: Value,
    #[serde(default)]
    delta: Value,
}

impl Live {
    /// Takes a raw streaming event. What is not known is passed over.
    pub(crate) fn stream(&mut self, json: &str) {
        let Ok(event) = serde_json::from_str::<StreamEvent>(json) else { return };
        match event.kind.as_str() {
            "content_block_start" => self.begin_block(event.index, &event.content_block),
            "content_block_delta" => self.grow_block(event.index, &event.delta),
            _ => {}
        }
    }

    fn begin_block(&mut self, index: u64, block: &Value) {
        self.retry = None;
        let text = |field: &str| block[field].as_str().unwrap_or_default();
        let block = match text("type") {
            "text" => {
                let mut answer = Answer::default();
                answer.push(text("text"));
                Block::Text(answer)
            }
            "thinking" => Block::Thinking(text("thinking").to_owned()),
            "tool_use" => Block::Call { tool: text("name").to_owned(), bytes: 0 },
            _ => return,
        };
        self.blocks.insert(index, block);
    }

    fn grow_block(&mut self, index: u64, delta: &Value) {
        let text = |field: &str| delta[field].as_str().unwrap_or_default();
        let grown = match self.blocks.get_mut(&index) {
            Some(Block::Text(answer)) => {
                answer.push(text("text"));
                text("text").len()
            }
            Some(Block::Thinking(thoughts)) => {
                thoughts.push_str(text("thinking"));
                text("thinking").len()
            }
            Some(Block::Call { bytes, .. }) => {
                *bytes += text("partial_json").len();
                text("partial_json").len()
            }
            None => 0,
        };
        if let Some(turn) = &mut self.turn {
            turn.streamed += grown;
        }
    }

    /// The answers that are being written.
    pub(crate) fn answers(&mut self) -> impl Iterator<Item = &mut Answer> {
        self.blocks.values_mut().filter_map(|block| match block {
            Block::Text(answer) => Some(answer),
            _ => None,
        })
    }

    /// The answer that is given out first.
    pub(crate) fn open_answer(&self) -> Option<&Answer> {
        self.blocks.values().find_map(|block| match block {
            Block::Text(answer) => Some(answer),
            _ => None,
        })
    }

    /// Takes the first block of the response that fits.
    pub(crate) fn take_block(&mut self, fits: impl Fn(&Block) -> bool) -> Option<Block> {
        let index = self.blocks.iter().find(|(_, block)| fits(block)).map(|(index, _)| *index)?;
        self.blocks.shift_remove(&index)
    }

    pub(crate) fn start_call(&mut self, call: CallId, now: Duration) {
        self.running.insert(call, Running { since: now, output: String::new() });
    }

    pub(crate) fn progress(&mut self, call: &CallId, data: &Value) {
        if let (Some(running), Some(output)) = (self.running.get_mut(call), data["output"].as_str()) {
            output.clone_into(&mut running.output);
        }
    }

    pub(crate) fn start_agent(&mut self, info: AgentInfo, now: Duration) {
        let agent = Agent { since: now, activity: String::new(), tokens: 0, info };
        self.agents.insert(agent.info.id.clone(), agent);
    }

    /// News of a sub-agent: what it does now.
    pub(crate) fn agent_news(&mut self, id: &AgentId, event: &Event, title: impl Fn(&Call) -> String) {
        let Some(agent) = self.agents.get_mut(id) else { return };
        let Event::Appended(entry) = event else { return };
        match &entry.body {
            Body::Assistant(block) => {
                if let Some(call) = block.block.as_tool_use() {
                    agent.activity = title(&Call::from(call));
                }
            }
            Body::Response(response) => agent.tokens += response.usage.output_tokens,
            _ => {}
        }
    }

    pub(crate) fn task_changed(&mut self, task: BackgroundTask) {
        if matches!(task.state, TaskState::Completed | TaskState::Failed) {
            let how = if task.state == TaskState::Failed { " (failed)" } else { "" };
            let what = clean(&task.description).lines().next().unwrap_or_default().to_owned();
            self.ended.push(format!("{what}{how}"));
        }
        self.tasks.insert(task.id.clone(), task);
    }

    /// Background tasks that run.
    pub(crate) fn running_tasks(&self) -> usize {
        self.tasks.values().filter(|task| task.state == TaskState::Running).count()
    }
}
