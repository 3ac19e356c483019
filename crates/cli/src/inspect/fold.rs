//! From entries to the report, one at a time.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use tiller_engine::store::Damage;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{
    AssistantBlock, Body, CallResult, DecisionRecord, Entry, Opened, Orphaned, Response, TurnEnd, UserMessage,
};
use tiller_protocol::hook::HookRecord;
use tiller_protocol::id::{CallId, EntryId, SessionId};
use tiller_protocol::ledger::{self, Ledger, Share};

use super::excerpt::{Excerpt, about, short};
use super::figures::between;
use super::report::{
    Addition, Call, Decision, Facts, Failure, Hook, Mark, NextRequest, Report, SCHEMA, SideRequest, Steering,
    Step, Tokens, Totals, Turn,
};
use super::timeline::CACHE_MISS;
use super::{beside, event, head, totals};

/// A report that is being written.
pub(super) struct Fold {
    ledger: Ledger,
    report: Report,
    turn_open: bool,
    last_at: Option<Timestamp>,
    steps: HashMap<EntryId, (usize, usize)>,
    calls: HashMap<CallId, (usize, usize, usize)>,
    additions: HashMap<EntryId, usize>,
}

impl Fold {
    pub(super) fn new(id: SessionId, log: PathBuf) -> Self {
        let report = Report {
            schema: SCHEMA,
            session: Facts { id, log, ..Facts::default() },
            totals: Totals::default(),
            next_request: NextRequest::default(),
            steering: Steering::default(),
            turns: Vec::new(),
            decisions: Vec::new(),
            hooks: Vec::new(),
            events: Vec::new(),
            side_requests: Vec::new(),
            epochs: Vec::new(),
        };
        Self {
            ledger: Ledger::default(),
            report,
            turn_open: false,
            last_at: None,
            steps: HashMap::new(),
            calls: HashMap::new(),
            additions: HashMap::new(),
        }
    }

    /// Takes in one more entry.
    pub(super) fn take(&mut self, entry: &Entry) {
        let (before, share) = (self.ledger.place(), self.ledger.share());
        let addition = self.ledger.apply(entry);
        let now = self.ledger.place();
        if now.turn != before.turn {
            self.begin_turn(entry, now.turn);
        }
        if (now.step, now.attempt) != (before.step, before.attempt) {
            self.begin_step(entry, (now.step, now.attempt), share);
        }
        self.report.session.entries += 1;
        self.report.session.started_at.get_or_insert(entry.at);
        self.report.session.ended_at = Some(entry.at);
        self.record(entry);
        if let Some(addition) = addition {
            self.add(addition);
        }
        self.last_at = Some(entry.at);
    }

    /// The report, with everything that needs the whole log.
    pub(super) fn finish(mut self, damage: &[Damage]) -> Report {
        self.report.session.damage = damage.iter().map(told).collect();
        let turns = self.report.turns.len();
        let steps = self.ledger.place().step;
        let after_the_last = |turn: &Option<u32>| turn.is_some_and(|turn| turn as usize > turns);
        let report = &mut self.report;
        let marks = (report.decisions.iter_mut().map(|decision| &mut decision.mark))
            .chain(report.hooks.iter_mut().map(|hook| &mut hook.mark))
            .chain(report.events.iter_mut().map(|event| &mut event.mark))
            .chain(report.side_requests.iter_mut().map(|request| &mut request.mark))
            .chain(report.epochs.iter_mut().map(|epoch| &mut epoch.mark))
            .chain(report.steering.additions.iter_mut().map(|addition| &mut addition.mark));
        for mark in marks {
            mark.turn = mark.turn.filter(|_| !after_the_last(&mark.turn));
            mark.step = mark.step.filter(|step| *step <= steps);
        }
        for step in self.report.turns.iter_mut().flat_map(|turn| &mut turn.steps) {
            beside::arrange(&mut step.calls);
        }
        self.report.next_request = totals::next_request(&self.ledger);
        totals::steering(&mut self.report.steering, &self.ledger);
        self.report.totals = totals::of(&self.report);
        self.report
    }

    fn mark(&self, entry: &Entry) -> Mark {
        let turn = if self.turn_open { self.ledger.place().turn } else { self.ledger.next_place().turn };
        let step = self.step().filter(|_| self.turn_open).map(|step| step.number);
        Mark { seq: entry.seq, at: entry.at, turn: Some(turn), step }
    }

    fn step(&self) -> Option<&Step> {
        self.report.turns.last()?.steps.last()
    }

    fn step_mut(&mut self) -> Option<&mut Step> {
        self.report.turns.last_mut()?.steps.last_mut()
    }

    fn begin_turn(&mut self, entry: &Entry, number: u32) {
        self.turn_open = true;
        self.report.turns.push(Turn {
            number,
            seq: entry.seq,
            started_at: entry.at,
            ended_at: None,
            duration_ms: None,
            origin: None,
            prompt: None,
            outcome: None,
            steps: Vec::new(),
        });
    }

    fn begin_step(&mut self, entry: &Entry, (number, attempt): (u32, u32), share: Share) {
        let step = Step {
            number,
            attempt,
            seq: entry.seq,
            // Until the response tells how long it took.
            started_at: self.last_at.unwrap_or(entry.at),
            answered_at: None,
            settled_at: entry.at,
            duration_ms: None,
            model: String::new(),
            message_id: String::new(),
            request_id: None,
            tokens: Tokens::default(),
            cost_usd: None,
            stop_reason: None,
            void: None,
            failure: None,
            aborted: false,
            cache_miss: None,
            sent_bytes: share.sent,
            steering_bytes: share.steering,
            steering_share: totals::rounded(share.fraction()),
            thinking: None,
            text: None,
            calls: Vec::new(),
        };
        if let Some(turn) = self.report.turns.last_mut() {
            turn.steps.push(step);
        }
    }

    fn record(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Opened(opened) => self.opened(opened),
            Body::User(message) => self.user(message),
            Body::Assistant(block) => self.block(entry, block),
            Body::Response(response) => self.response(entry, response),
            Body::Result(result) => self.result(entry, result),
            Body::Decision(decision) => self.decision(entry, decision),
            Body::Hook(hook) => self.hook(entry, hook),
            Body::Orphaned(orphaned) => self.orphaned(orphaned),
            Body::TurnEnded(end) => self.turn_ended(entry, end),
            Body::Epoch(epoch) => {
                let mark = self.mark(entry);
                self.report.epochs.push(head::of(epoch, mark));
            }
            Body::Notice(notice) if notice.subtype == CACHE_MISS => {
                if let Some(step) = self.step_mut() {
                    step.cache_miss = Some(notice.content.clone());
                }
            }
            _ => {}
        }
        let mark = self.mark(entry);
        self.report.events.extend(event::of(&entry.body, mark));
    }

    fn opened(&mut self, opened: &Opened) {
        let session = &mut self.report.session;
        session.runs += 1;
        session.directory.clone_from(&opened.cwd);
        session.version.clone_from(&opened.version);
        session.forked_from = opened.forked_from.or(session.forked_from);
    }

    fn user(&mut self, message: &UserMessage) {
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

    fn block(&mut self, entry: &Entry, block: &AssistantBlock) {
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
                started_at: None,
                ended_at: None,
                duration_ms: None,
                group: 0,
                beside: Vec::new(),
                permission: None,
                result: None,
                error: false,
                cause: None,
                span: (None, u64::MAX),
            });
        } else if block.block.is_thinking() {
            let thought = block.block.to_value()["thinking"].as_str().unwrap_or_default().to_owned();
            append(&mut step.thinking, &thought);
        } else {
            append(&mut step.text, &shown(std::slice::from_ref(&block.block)));
        }
    }

    fn response(&mut self, entry: &Entry, response: &Response) {
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

    fn result(&mut self, entry: &Entry, result: &CallResult) {
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

    fn decision(&mut self, entry: &Entry, record: &DecisionRecord) {
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

    fn hook(&mut self, entry: &Entry, record: &HookRecord) {
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

    fn orphaned(&mut self, orphaned: &Orphaned) {
        for id in &orphaned.ids {
            if let Some((turn, step)) = self.steps.get(id).copied() {
                self.report.turns[turn].steps[step].void = Some(orphaned.cause);
            }
            if let Some(addition) = self.additions.get(id).copied() {
                self.report.steering.additions[addition].void = true;
            }
        }
    }

    fn turn_ended(&mut self, entry: &Entry, end: &TurnEnd) {
        if let Some(turn) = self.report.turns.last_mut() {
            turn.ended_at = Some(entry.at);
            turn.duration_ms = Some(between(turn.started_at, entry.at));
            turn.outcome = Some(end.outcome.clone());
        }
        self.turn_open = false;
    }

    fn add(&mut self, addition: ledger::Addition) {
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

/// Damage in the words of somebody who only looks.
fn told(damage: &Damage) -> String {
    match damage {
        Damage::TornTail { bytes } => format!("the last line is incomplete ({bytes} bytes)"),
        Damage::Unreadable { line } => format!("line {line} cannot be read"),
        Damage::BrokenChain { line } => format!("line {line} does not continue the line before it"),
    }
}
