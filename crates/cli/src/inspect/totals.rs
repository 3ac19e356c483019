//! Sums over a session.

use tiller_protocol::ledger::{self, Ledger};
use tiller_protocol::usage::Usage;

use super::figures::between;
use super::report::{
    Call, EventKind, Kind, ModelTotal, NextRequest, Report, Steering, Step, Tokens, ToolTotal, Totals,
};

/// A share as it is printed, to a hundredth of a percent.
pub(super) fn rounded(fraction: f64) -> f64 {
    (fraction * 10_000.0).round() / 10_000.0
}

pub(super) fn next_request(ledger: &Ledger) -> NextRequest {
    let (sent, share) = (ledger.sent(), ledger.share());
    NextRequest {
        system_bytes: sent.system,
        tools_bytes: sent.tools,
        user_context_bytes: sent.user_context,
        conversation_bytes: sent.conversation,
        added_bytes: sent.added,
        sent_bytes: share.sent,
        steering_bytes: share.steering,
        steering_share: rounded(share.fraction()),
    }
}

pub(super) fn steering(steering: &mut Steering, ledger: &Ledger) {
    let kind = |(kind, total): (&str, ledger::KindTotal)| Kind {
        kind: kind.to_owned(),
        count: total.count,
        repeated: total.repeated,
        bytes: total.bytes,
        tokens: ledger::tokens(total.bytes),
    };
    steering.kinds = ledger.kinds().map(kind).collect();
    steering.kinds.sort_by_key(|kind| std::cmp::Reverse(kind.bytes));
    steering.bytes = steering.kinds.iter().map(|kind| kind.bytes).sum();
    steering.tokens = ledger::tokens(steering.bytes);
    steering.forged_tags = ledger.forged();
    steering.masked = ledger.masks().to_vec();
}

pub(super) fn of(report: &Report) -> Totals {
    let mut totals = Totals { turns: report.turns.len() as u64, ..Totals::default() };
    for step in report.turns.iter().flat_map(|turn| &turn.steps) {
        totals.step(step);
    }
    totals.side_requests = report.side_requests.len() as u64;
    totals.requests += totals.side_requests;
    for request in &report.side_requests {
        totals.spend(&request.model, request.tokens, request.cost_usd);
        totals.model_ms += to_f64(request.duration_ms);
    }
    totals.hooks = report.hooks.len() as u64;
    let count = |kind| report.events.iter().filter(|event| event.kind == kind).count() as u64;
    totals.notices = count(EventKind::Notice);
    totals.repairs = count(EventKind::Repaired);
    if let (Some(from), Some(to)) = (report.session.started_at, report.session.ended_at) {
        totals.wall_ms = between(from, to);
    }
    totals.cost_usd = sum(totals.models.iter().map(|model| model.cost_usd));
    totals.tools.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    totals.model_ms = tenth(totals.model_ms);
    totals.tool_ms = tenth(totals.tool_ms);
    totals
}

impl Totals {
    fn step(&mut self, step: &Step) {
        self.requests += 1;
        self.steps += u64::from(step.attempt == 1);
        self.void_requests += u64::from(step.is_void());
        if step.stop_reason.is_some() {
            self.spend(&step.model, step.tokens, step.cost_usd);
        }
        self.model_ms += step.duration_ms.unwrap_or_default();
        step.calls.iter().for_each(|call| self.call(call));
    }

    fn call(&mut self, call: &Call) {
        let ms = call.duration_ms.unwrap_or_default();
        self.calls += 1;
        self.failed_calls += u64::from(call.error);
        self.denied_calls += u64::from(call.is_denied());
        self.tool_ms += ms;
        let at = self.tools.iter().position(|tool| tool.tool == call.tool).unwrap_or_else(|| {
            self.tools.push(ToolTotal { tool: call.tool.clone(), ..ToolTotal::default() });
            self.tools.len() - 1
        });
        let tool = &mut self.tools[at];
        tool.calls += 1;
        tool.failed += u64::from(call.error);
        tool.ms = tenth(tool.ms + ms);
    }

    fn spend(&mut self, model: &str, tokens: Tokens, cost_usd: Option<f64>) {
        let at = self.models.iter().position(|total| total.model == model).unwrap_or_else(|| {
            self.models.push(ModelTotal { model: model.to_owned(), ..ModelTotal::default() });
            self.models.len() - 1
        });
        let total = &mut self.models[at];
        total.requests += 1;
        total.tokens.add(tokens);
        total.cost_usd = sum([total.cost_usd, cost_usd]);
        total.unpriced_requests += u64::from(cost_usd.is_none());
        self.tokens.add(tokens);
        self.unpriced_requests += u64::from(cost_usd.is_none());
    }
}

impl Tokens {
    fn add(&mut self, other: Self) {
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
    }

    /// Everything that went in.
    pub(super) fn sent(self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}

impl From<&Usage> for Tokens {
    fn from(usage: &Usage) -> Self {
        Self {
            input: usage.input_tokens,
            cache_read: usage.cache_read_input_tokens,
            cache_write: usage.cache_creation_input_tokens,
            output: usage.output_tokens,
        }
    }
}

impl Step {
    /// Whether its answer was thrown away.
    pub(super) fn is_void(&self) -> bool {
        self.void.is_some() || self.stop_reason.as_deref() == Some("abandoned")
    }
}

impl Call {
    pub(super) fn is_denied(&self) -> bool {
        self.permission.as_deref() == Some("deny")
    }
}

/// Dollars to a millionth, so that sums print as they were meant.
fn sum(parts: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let known = parts.into_iter().flatten().reduce(|a, b| a + b)?;
    Some((known * 1e6).round() / 1e6)
}

fn tenth(ms: f64) -> f64 {
    (ms * 10.0).round() / 10.0
}

#[expect(clippy::cast_precision_loss, reason = "a request takes less than 2^52 milliseconds")]
fn to_f64(ms: u64) -> f64 {
    ms as f64
}
