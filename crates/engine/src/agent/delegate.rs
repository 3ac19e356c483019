//! One agent from the call that asks for it to its last words.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use serde_json::json;
use tiller_config::{AgentDefinition, Isolation};
use tiller_model::name::StepChoice;
use tiller_protocol::command::{AgentInfo, Event, TaskState};
use tiller_protocol::entry::Outcome;
use tiller_protocol::id::{AgentId, CallId};
use tiller_protocol::mode::Mode;
use tiller_tools::{AgentOrder, AgentReport, Delegated, StructuredOutput, Tool};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::book::Known;
use super::{Agents, Worktree};
use crate::hook::Agent;
use crate::policy::resolved;
use crate::services::Services;
use crate::session::{Aside, Commission, Finished};
use crate::telemetry::{self, Telemetry};

/// Characters of an agent's answer that its caller sees.
const LONGEST_ANSWER: usize = 60_000;

/// A call that asks for an agent.
pub(crate) struct Delegation {
    pub(crate) agents: Arc<Agents>,
    pub(crate) call: CallId,
    /// Those of the agent that calls.
    pub(crate) services: Services,
    /// Stops the call.
    pub(crate) cancel: CancellationToken,
}

/// An agent that is ready to work.
struct Ready {
    agents: Arc<Agents>,
    info: AgentInfo,
    commission: Commission,
    worktree: Option<Worktree>,
    services: Services,
}

impl Delegation {
    /// Lets an agent do the work. Waits for it, unless it is to work in the background.
    ///
    /// # Errors
    /// A text for the model.
    pub(crate) async fn run(self, order: AgentOrder) -> Result<Delegated, String> {
        let ready = self.prepare(order).await?;
        let agents = Arc::clone(&self.agents);
        let Some(known) = agents.book.begin(ready.info.clone(), ready.services.ended.clone()) else {
            return Err(format!("The agent {} is still at work; wait for its report.", ready.info.id));
        };
        self.services.tell(Event::AgentStarted(ready.info.clone()));
        let id = ready.info.id.clone();
        if known.info.background {
            agents.announce(&self.services, &id);
            self.services.tasks.spawn(ready.work());
            return Ok(Delegated::Started(id.to_string()));
        }
        let work = self.services.tasks.spawn(ready.work());
        self.attend(known, work).await
    }

    /// Waits for an agent, which goes on without its caller only if the user wants that.
    async fn attend(self, known: Known, mut work: JoinHandle<AgentReport>) -> Result<Delegated, String> {
        let with_the_call = known.stop.clone().drop_guard();
        tokio::select! {
            biased;
            report = &mut work => return finished(report),
            () = self.cancel.cancelled() => known.stop.cancel(),
            () = known.moved.cancelled() => {
                if let Some(known) = self.agents.book.leave_alone(&known.info.id) {
                    with_the_call.disarm();
                    self.services.tell(Event::TaskChanged(known.task()));
                    return Ok(Delegated::Moved(known.info.id.to_string()));
                }
            }
        }
        finished(work.await)
    }

    async fn prepare(&self, order: AgentOrder) -> Result<Ready, String> {
        let agents = &self.agents;
        if self.services.depth >= agents.limits.depth {
            return Err("Agents at this level cannot start others; do the work yourself.".to_owned());
        }
        let resumed = match &order.resume {
            Some(id) => Some(agents.template.known_kind(id)?),
            None => None,
        };
        let id = match &order.resume {
            Some(id) => AgentId::from(id.as_str()),
            None => agents.fresh_id(&self.services),
        };
        // What an agent may do follows from what it was made as, not from what the call says it is.
        let definition = agents.find(resumed.as_deref().unwrap_or(&order.kind))?.clone();
        let worktree = self.worktree(&definition, &id).await?;
        let services = self.services_of(&definition, &id, &order, worktree.as_ref());
        let model = self.model(&definition, order.model.as_deref());
        let info = AgentInfo {
            id,
            kind: definition.name.clone(),
            description: order.description,
            model: model.clone(),
            parent: self.services.agent.as_ref().map(|agent| agent.id.clone()),
            call: self.call.clone(),
            background: order.background,
        };
        self.measure(&definition, &model);
        let commission = Commission {
            definition,
            model,
            prompt: order.prompt,
            resume: resumed.is_some(),
            lead: self.services.lead.borrow().clone(),
        };
        Ok(Ready { agents: Arc::clone(agents), info, commission, worktree, services })
    }

    fn measure(&self, definition: &AgentDefinition, model: &str) {
        let selected = Telemetry::AgentSelected {
            kind: &definition.name,
            model,
            source: &definition.origin.layer.to_string(),
            built_in: definition.is_built_in(),
        };
        let (chain, depth) = self.services.lead.borrow().step;
        telemetry::record(&selected, chain, depth);
    }

    async fn worktree(&self, definition: &AgentDefinition, id: &AgentId) -> Result<Option<Worktree>, String> {
        match definition.isolation {
            Some(Isolation::Worktree) if self.services.policy.now().mode == Mode::Plan => Err(format!(
                "{} works in a git worktree of its own, and none can be made in plan mode. Use another agent.",
                definition.name
            )),
            Some(Isolation::Worktree) => {
                let below = self.agents.template.worktrees();
                Worktree::make(&resolved(&self.services.env.cwd), &below, id).await.map(Some)
            }
            None => Ok(None),
        }
    }

    fn model(&self, definition: &AgentDefinition, asked_for: Option<&str>) -> String {
        let lead = self.services.lead.borrow().clone();
        let parent = StepChoice {
            setting: lead.setting.as_deref(),
            mode: self.services.policy.now().mode,
            main_model: &lead.main_model,
            exceeds_200k: false,
        };
        self.agents.template.names().for_subagent(asked_for, definition.model.as_deref(), parent)
    }

    /// What the agent works with: that of its caller, within the bounds of its definition.
    fn services_of(
        &self,
        definition: &AgentDefinition,
        id: &AgentId,
        order: &AgentOrder,
        worktree: Option<&Worktree>,
    ) -> Services {
        let mut services = self.services.clone();
        let fence = worktree.map(|worktree| worktree.path.clone());
        services.depth += 1;
        let may_delegate = services.depth < self.agents.limits.depth;
        let definition_of_agent = definition.clone();
        services.registry = services
            .registry
            .filtered(|tool| definition.allows(tool) && (may_delegate || !DELEGATING.contains(&tool)))
            // The result of the run is the main agent's to hand over.
            .filtered(|tool| tool != StructuredOutput::NAME)
            .limiting_source(move |tool| definition_of_agent.allows(tool));
        services.policy = services.policy.of_agent(id.clone(), fence.clone(), definition.permission_mode);
        services.hooks = services.hooks.with(&definition.sourced_hooks());
        let (id, kind) = (id.clone(), definition.name.clone());
        services.agent = Some(Agent { id, kind, description: order.description.clone() });
        services.editors = None;
        if let Some(cwd) = fence {
            services.env.cwd = cwd;
            // Servers that know the project do not know the copy.
            services.languages = None;
        }
        services.ended = self.services.session_ended.child_token();
        services
    }
}

/// What hands out work.
const DELEGATING: [&str; 2] = ["Task", "TaskOutput"];

impl Ready {
    /// Works to the end and tells of it.
    async fn work(self) -> AgentReport {
        let Self { agents, info, commission, worktree, services } = self;
        let started = tokio::time::Instant::now();
        let slot = tokio::select! {
            slot = agents.slot(&services) => slot,
            () = services.ended.cancelled() => None,
        };
        let finished = match slot {
            Some(_slot) => {
                let work = AssertUnwindSafe(agents.template.work(commission, &info, services.clone()));
                // Whatever becomes of an agent, whoever waits for it is told.
                work.catch_unwind().await.unwrap_or_else(|_| Finished::broken())
            }
            None => Finished::stopped(),
        };
        let left = match worktree {
            Some(worktree) => worktree.leave().await,
            None => None,
        };
        let report = report(&info, &finished, left, started.elapsed().as_millis());
        let state = match &finished.outcome {
            Outcome::Success | Outcome::PlanHandedOver { .. } => TaskState::Completed,
            Outcome::Interrupted => TaskState::Stopped,
            _ => TaskState::Failed,
        };
        let known = agents.book.end(&info.id, state, report.text.clone());
        let outcome =
            if state == TaskState::Completed { Ok(finished.words) } else { Err(report.text.clone()) };
        services.tell(Event::AgentEnded { id: info.id.clone(), spent: finished.spent, state, outcome });
        // It may have been moved there meanwhile.
        if let Some(known) = known.filter(|known| known.info.background) {
            services.tell(Event::TaskChanged(known.task()));
            // The session may be over; then nobody waits for it.
            let _ = services.asides.send(Aside::TaskEnded);
        }
        report
    }
}

fn finished(report: Result<AgentReport, JoinError>) -> Result<Delegated, String> {
    report.map(Delegated::Finished).map_err(|error| format!("The agent is lost: {error}"))
}

/// What the caller is told.
fn report(info: &AgentInfo, finished: &Finished, left: Option<String>, took_ms: u128) -> AgentReport {
    let words = clipped(&finished.words);
    let (status, mut text) = match trouble(&finished.outcome) {
        None if words.trim().is_empty() => ("completed", "The agent ended without a word.".to_owned()),
        None => ("completed", words),
        Some(trouble) if words.trim().is_empty() => ("failed", trouble),
        Some(trouble) => ("failed", format!("{trouble}\nIts last words:\n{words}")),
    };
    if let Some(more) = left {
        text.push_str("\n\n");
        text.push_str(&more);
    }
    let detail = json!({
        "status": status,
        "agentId": info.id,
        "agentType": info.kind,
        "description": info.description,
        "model": info.model,
        "content": [{"type": "text", "text": text}],
        "totalDurationMs": u64::try_from(took_ms).unwrap_or(u64::MAX),
        "totalTokens": finished.tokens(),
        "totalToolUseCount": finished.calls,
        "totalCostUsd": finished.spent.usd,
    });
    AgentReport { id: info.id.to_string(), text, detail, failed: status == "failed" }
}

fn clipped(words: &str) -> String {
    match words.char_indices().nth(LONGEST_ANSWER) {
        Some((end, _)) => format!("{}\n[The answer is longer; the rest was left out.]", &words[..end]),
        None => words.to_owned(),
    }
}

fn trouble(outcome: &Outcome) -> Option<String> {
    Some(match outcome {
        Outcome::Success | Outcome::PlanHandedOver { .. } => return None,
        Outcome::MaxTurns => "The agent stopped: it reached its limit on model requests.".to_owned(),
        Outcome::MaxBudget => "The agent stopped: the spending limit of the session is reached.".to_owned(),
        Outcome::MaxTokens => "The agent stopped: the token limit of the session is reached.".to_owned(),
        Outcome::MaxTime => "The agent stopped: the time limit of the session is reached.".to_owned(),
        Outcome::Error { message, .. } | Outcome::Unstructured { message } => {
            format!("The agent failed: {message}")
        }
        Outcome::Interrupted => "The agent was stopped.".to_owned(),
        Outcome::ToolRejected => "The agent stopped: the user refused one of its calls.".to_owned(),
        Outcome::HookStopped { message } => format!("A hook ended the agent's work: {message}"),
        Outcome::Refused { message } => format!("The agent's model declined to answer: {message}"),
    })
}

impl Agents {
    /// Waits until an agent of this level may work.
    async fn slot(&self, services: &Services) -> Option<OwnedSemaphorePermit> {
        let level = services.depth.checked_sub(1)? as usize;
        Arc::clone(self.slots.get(level)?).acquire_owned().await.ok()
    }

    fn fresh_id(&self, services: &Services) -> AgentId {
        let digits = services.env.fresh().simple().to_string();
        // The first digits of an id tell the time, which parallel agents share.
        AgentId(format!("a{}", &digits[digits.len() - 8..]))
    }

    fn announce(&self, services: &Services, id: &AgentId) {
        if let Some(known) = self.book.get(id.as_str()) {
            services.tell(Event::TaskChanged(known.task()));
        }
    }
}
