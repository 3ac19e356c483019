//! From entries to the report, one at a time.

mod records;

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use tiller_engine::store::Damage;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::id::{CallId, EntryId, SessionId};
use tiller_protocol::ledger::{Ledger, Share};
use tiller_protocol::rewind::Rewound;

use super::compaction::Compaction;
use super::report::{Facts, Mark, Report, SCHEMA, Step, Turn};
use super::timeline::CACHE_MISS;
use super::{beside, event, head, totals};

/// A report that is being written.
#[derive(Default)]
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
        let session = Facts { id, log, ..Facts::default() };
        Self { report: Report { schema: SCHEMA, session, ..Report::default() }, ..Self::default() }
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
            .chain(report.compactions.iter_mut().map(|compaction| &mut compaction.mark))
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
        let turn = Turn { number, seq: entry.seq, started_at: entry.at, ..Turn::default() };
        self.report.turns.push(turn);
    }

    fn begin_step(&mut self, entry: &Entry, (number, attempt): (u32, u32), share: Share) {
        let step = Step {
            number,
            attempt,
            seq: entry.seq,
            // Until the response tells how long it took.
            started_at: self.last_at.unwrap_or(entry.at),
            settled_at: entry.at,
            sent_bytes: share.sent,
            steering_bytes: share.steering,
            steering_share: totals::rounded(share.fraction()),
            ..Step::default()
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
            Body::Compacted(compacted) => {
                let compaction = Compaction::of(compacted, entry.id, self.mark(entry));
                self.report.compactions.push(compaction);
            }
            Body::Rewound(Rewound { unfolded: Some(id), .. }) => {
                for compaction in self.report.compactions.iter_mut().filter(|one| one.id == *id) {
                    compaction.undone = true;
                }
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
}

/// Damage in the words of somebody who only looks.
pub(crate) fn told(damage: &Damage) -> String {
    match damage {
        Damage::TornTail { bytes } => format!("the last line is incomplete ({bytes} bytes)"),
        Damage::Unreadable { line } => format!("line {line} cannot be read"),
        Damage::Altered { line } => format!("line {line} was changed after it was written"),
        Damage::Repeated { line } => format!("line {line} repeats an earlier one"),
        Damage::Undecodable { line } => format!("what follows line {line} cannot be unpacked"),
        Damage::BrokenChain { line } => format!("line {line} does not continue the line before it"),
    }
}
