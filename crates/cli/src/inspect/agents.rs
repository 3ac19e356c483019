//! Sub-agents of a session: each has a log of its own, and worked for a call.

use std::path::Path;

use tiller_engine::store;
use tiller_protocol::entry::{AgentOpened, Body};

use super::figures::{counted, price};
use super::find::Log;
use super::fold::Fold;
use super::report::{AgentRun, Report, Step};
use super::text::tokens;

/// What the sub-agents of a session did, oldest first.
pub(super) fn of(session: &Log) -> Vec<AgentRun> {
    let Ok(logs) = fs_err::read_dir(session.path.with_extension("").join("subagents")) else {
        return Vec::new();
    };
    let mut runs: Vec<AgentRun> = logs.filter_map(|log| read(session, &log.ok()?.path())).collect();
    runs.sort_by_key(|run| run.report.session.started_at);
    runs
}

fn read(session: &Log, path: &Path) -> Option<AgentRun> {
    let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
    let mut fold = Fold::new(session.id, path.to_owned());
    let mut made_as = None;
    let loaded = store::load(path, |entry| {
        if let Body::Opened(opened) = &entry.body {
            made_as = opened.agent.clone().or(made_as.take());
        }
        fold.take(&entry);
    });
    let AgentOpened { kind, description, call, .. } = made_as?;
    let report = fold.finish(&loaded.ok()?.damage);
    Some(AgentRun { id, kind, description, call: call.0, report })
}

impl Report {
    /// The agents that worked for a call.
    pub(super) fn agents_of<'a>(&'a self, call: &'a str) -> impl Iterator<Item = &'a AgentRun> {
        self.agents.iter().filter(move |agent| agent.call == call)
    }
}

impl AgentRun {
    /// What it came to, in a line.
    pub(super) fn summary(&self) -> String {
        let Self { id, kind, report, .. } = self;
        let totals = &report.totals;
        let (steps, calls) = (counted(totals.steps, "step", "steps"), counted(totals.calls, "call", "calls"));
        let cost = price(totals.cost_usd, totals.unpriced_requests);
        format!("agent {id} ({kind}): {steps}, {calls}; {}; {cost}", tokens(totals.tokens))
    }

    /// Each of its steps in a line.
    pub(super) fn steps(&self) -> impl Iterator<Item = String> {
        self.report.turns.iter().flat_map(|turn| &turn.steps).map(step)
    }
}

fn step(step: &Step) -> String {
    let model = if step.model.is_empty() { "no answer" } else { &step.model };
    let cost = price(step.cost_usd, u64::from(step.cost_usd.is_none()));
    let calls: Vec<String> = step.calls.iter().map(|call| format!("{} {}", call.tool, call.about)).collect();
    let calls = if calls.is_empty() { String::new() } else { format!("; {}", calls.join(", ")) };
    format!("{} {model}: {}; {cost}{calls}", step.number, tokens(step.tokens))
}
