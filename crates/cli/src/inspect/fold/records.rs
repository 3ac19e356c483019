//! What single entries tell.

use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{
    AssistantBlock, CallResult, DecisionRecord, Entry, Opened, Orphaned, Response, TurnEnd, UserMessage,
};
use tiller_protocol::hook::HookRecord;
use tiller_protocol::ledger;

use super::Fold;
use crate::inspect::excerpt::{Excerpt, about, short};
use crate::inspect::figures::between;
use crate::inspect::report::{Addition, Call, Decision, Failure, Hook, Mark, SideRequest, Tokens};

impl Fold {
    pub(super) fn opened(&mut self, opened: &Opened) {
        let session = &mut self.report.session;
        session.runs += 1;
        session.directory.clone_from(&opened.cwd);
        session.version.clone_from(&opened.version);
        session.forked_from = opened.forked_from.or(session.forked_from);
    }

    pub(super) fn user(&mut self, message: &UserMessage) {
        if message.is_hidden() {
            return;
        }
        let text = shown(&message.content);
        if self.report.session.title.is_empty() {
            self.report.session.title = short(&text);
        }
        if let Some(turn) = self.report.turns.last_mut() {
            turn.origin = Some(message.origin);
            turn.prompt = Some(Excerpt::of(&text));
        }
    }

    pub(super) fn block(&mut self, entry: &Entry, block: &AssistantBlock) {
        let Some(turn) = self.report.turns.len().checked_sub(1) else { return };
        let Some(at) = self.report.turns[turn].steps.len().checked_sub(1) else { return };
        let step = &mut self.report.turns[turn].steps[at];
        self.steps.insert(entry.id, (turn, at));
        step.settled_at = entry.at;
        if let Some(kind) = &block.api_error {
            let text = block.block.as_text().unwrap_or_default();
            step.failure = Some(Failure { kind: kind.clone(), text });
            return;
        }
        step.model.clone_from(&block.model);
        block.message_id.as_str().clone_into(&mut step.message_id);
        step.aborted |= block.aborted;
        if let Some(call) = block.block.as_tool_use() {
            self.calls.insert(call.id.clone(), (turn, at, step.calls.len()));
            let input = block.invalid_input.clone().unwrap_or_else(|| call.input.to_string());
            step.calls.push(Call {
                id: call.id.0,
                tool: call.name,
                seq: entry.seq,
                about: about(&call.input),
                input: Excerpt::of(&input),
                asked_at: entry.at,
                span: (None, u64::MAX),
                ..Call::default()
            });
        } else if block.block.is_thinking() {
            let thought = block.block.to_value()["thinking"].as_str().unwrap_or_default().to_owned();
            append(&mut step.thinking, &thought);
        } else {
            append(&mut step.text, &shown(std::slice::from_ref(&block.block)));
        }
    }

    pub(super) fn response(&mut self, entry: &Entry, response: &Response) {
        let tokens = Tokens::from(&response.usage);
        if response.side {
            let mark = self.mark(entry);
            self.report.side_requests.push(SideRequest {
                mark,
                model: response.model.clone(),
                request_id: response.request_id.clone(),
                tokens,
                cost_usd: response.cost_usd,
                duration_ms: response.duration_ms,
            });
            return;
        }
        let Some(step) = self.step_mut() else { return };
        if response.duration_ms > 0 {
            let took =
                jiff::SignedDuration::from_millis(i64::try_from(response.duration_ms).unwrap_or(i64::MAX));
            step.started_at = entry.at.checked_sub(took).unwrap_or(step.started_at);
        }
        step.duration_ms = Some(between(step.started_at, entry.at));
        step.answered_at = Some(entry.at);
        step.settled_at = entry.at;
        step.model.clone_from(&response.model);
        response.message_id.as_str().clone_into(&mut step.message_id);
        step.request_id.clone_from(&response.request_id);
        step.tokens = tokens;
        step.cost_usd = response.cost_usd;
        step.stop_reason = Some(response.stop_reason.as_str().to_owned());
    }

    pub(super) fn result(&mut self, entry: &Entry, result: &CallResult) {
        let Some((turn, step, call)) = self.calls.get(&result.call).copied() else { return };
        let step = &mut self.report.turns[turn].steps[step];
        step.settled_at = step.settled_at.max(entry.at);
        let call = &mut step.calls[call];
        call.ended_at = Some(entry.at);
        call.duration_ms = call.started_at.map(|started| between(started, entry.at));
        call.span.1 = entry.seq;
        call.result = Some(Excerpt::of(&shown(&result.content)));
        call.error = result.is_error;
        call.cause = Some(result.cause);
    }

    pub(super) fn decision(&mut self, entry: &Entry, record: &DecisionRecord) {
        if let Some((turn, step, call)) = self.calls.get(&record.call).copied() {
            let call = &mut self.report.turns[turn].steps[step].calls[call];
            call.permission = Some(record.behavior.clone());
            if record.behavior == "allow" {
                call.started_at = Some(entry.at);
                call.span.0 = Some(entry.seq);
            }
        }
        let field = |name: &str| record.reason.get(name).and_then(|value| value.as_str()).map(str::to_owned);
        let mark = self.mark(entry);
        self.report.decisions.push(Decision {
            mark,
            call: record.call.0.clone(),
            tool: record.tool.clone(),
            behavior: record.behavior.clone(),
            by: field("type").unwrap_or_default(),
            rule: field("rule"),
            source: field("source"),
            file: field("file"),
            message: record.message.clone(),
        });
    }

    pub(super) fn hook(&mut self, entry: &Entry, record: &HookRecord) {
        let mark = self.mark(entry);
        self.report.hooks.push(Hook {
            mark,
            event: record.event.clone(),
            name: record.name.clone(),
            source: record.source.clone(),
            call: record.call.as_ref().map(|call| call.0.clone()),
            end: record.end,
            exit_code: record.exit_code,
            duration_ms: record.duration_ms,
            stdout: Excerpt::of(&record.stdout),
            stderr: Excerpt::of(&record.stderr),
        });
    }

    pub(super) fn orphaned(&mut self, orphaned: &Orphaned) {
        for id in &orphaned.ids {
            if let Some((turn, step)) = self.steps.get(id).copied() {
                self.report.turns[turn].steps[step].void = Some(orphaned.cause);
            }
            if let Some(addition) = self.additions.get(id).copied() {
                self.report.steering.additions[addition].void = true;
            }
        }
    }

    pub(super) fn turn_ended(&mut self, entry: &Entry, end: &TurnEnd) {
        if let Some(turn) = self.report.turns.last_mut() {
            turn.ended_at = Some(entry.at);
            turn.duration_ms = Some(between(turn.started_at, entry.at));
            turn.outcome = Some(end.outcome.clone());
        }
        self.turn_open = false;
    }

    pub(super) fn add(&mut self, addition: ledger::Addition) {
        self.additions.insert(addition.id, self.report.steering.additions.len());
        let place = addition.place;
        self.report.steering.additions.push(Addition {
            tokens: addition.tokens(),
            mark: Mark { seq: addition.seq, at: addition.at, turn: Some(place.turn), step: Some(place.step) },
            kind: addition.kind,
            source: addition.source,
            why: addition.why,
            text: addition.text,
            bytes: addition.bytes,
            forged_tags: addition.forged,
            repeats: addition.repeats,
            void: false,
        });
    }
}

/// The text of blocks; what is not text is named in brackets.
fn shown(blocks: &[RawBlock]) -> String {
    let shown = |block: &RawBlock| block.as_text().unwrap_or_else(|| format!("[{}]", block.kind()));
    blocks.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn append(excerpt: &mut Option<Excerpt>, text: &str) {
    *excerpt = Some(match excerpt.take() {
        Some(before) => before.followed_by(text),
        None => Excerpt::of(text),
    });
}
