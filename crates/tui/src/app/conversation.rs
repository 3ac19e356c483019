//! Entries as cells of the transcript.

use std::sync::Arc;

use tiller_protocol::entry::{
    AssistantBlock, Attachment, Body, CallResult, Entry, Level, Origin, Outcome, TurnEnd,
};

use super::live::Block;
use super::{App, Effect};
use crate::cell::{self, Answer, Call, Took, Word};

/// Additions of Tiller's that `/steering` lists.
const ADDITIONS: usize = 50;

/// What the session says when a fold was taken back, which is a turn of its own.
const UNFOLDED: &str = "compaction_undone";

impl App {
    /// Takes an entry that was appended.
    pub(super) fn appended(&mut self, entry: &Arc<Entry>) -> Vec<Effect> {
        let before = self.state.mode;
        self.fold(entry);
        let mut effects = self.show(entry);
        if self.state.mode != before {
            effects.extend(self.refresh_status());
        }
        effects
    }

    /// Lets everything that is a fold of the log follow.
    pub(super) fn fold(&mut self, entry: &Entry) {
        self.state.apply(entry);
        self.trail.apply(entry);
        self.follow_calls(entry);
        self.follow_fold(entry);
        if let Body::Epoch(epoch) = &entry.body {
            self.instructions = epoch.instructions.iter().map(|file| file.path.clone()).collect();
        }
        if let Some(addition) = self.ledger.apply(entry) {
            self.additions.push_back(addition);
            if self.additions.len() > ADDITIONS {
                self.additions.pop_front();
            }
        }
    }

    fn follow_calls(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Assistant(block) => {
                let call = block.block.as_tool_use();
                self.live.calls.extend(call.map(|call| (call.id.clone(), Call::from(call))));
            }
            Body::Decision(decision) => {
                let refusal = decision.refusal().map(|words| Word::Refused(words.to_owned()));
                if let (Some(call), Some(word)) = (self.live.calls.get_mut(&decision.call), refusal) {
                    call.word = Some(word);
                }
            }
            Body::Result(result) => {
                if let Some(call) = self.live.calls.get(&result.call) {
                    self.trail.called(call, result);
                }
            }
            _ => {}
        }
    }

    /// Puts an entry into the transcript.
    pub(super) fn show(&mut self, entry: &Entry) -> Vec<Effect> {
        match &entry.body {
            Body::User(message) if message.is_hidden() => self.woken(),
            Body::User(message) => {
                // With a prompt the model hears of it anyway.
                self.live.ended.clear();
                let text = cell::content_text(&message.content);
                let remark = (message.origin == Origin::Queued).then_some("was queued");
                if self.seen.take().is_none_or(|seen| remark.is_some() || seen != text) {
                    let rows = cell::prompt(&text, remark, &self.look.paper());
                    self.put(rows);
                }
            }
            Body::Attachment(attachment) => self.attached(attachment),
            Body::Assistant(block) => self.said(block),
            Body::Response(response) => {
                if let Some(turn) = &mut self.live.turn {
                    turn.tokens += response.usage.output_tokens;
                    turn.streamed = 0;
                }
            }
            Body::Result(result) => self.answered(result),
            Body::Notice(notice) => {
                let rows = cell::notice(notice, &self.look.paper());
                self.put(rows);
                if let Some(turn) = self.live.turn.as_mut().filter(|_| notice.subtype == UNFOLDED) {
                    turn.only_unfolds = true;
                }
                if notice.level != Level::Info {
                    self.has_told(&notice.content);
                }
            }
            Body::Hook(record) => {
                let rows = cell::hook(record, &self.look.paper());
                self.put(rows);
            }
            Body::Orphaned(_) => {
                self.close_answers();
                self.tell(Level::Info, "The text above is discarded; the model is asked again.");
            }
            Body::Compacted(compacted) => self.show_fold(compacted),
            Body::Rewound(rewound) => self.stepped_back(rewound),
            Body::TurnEnded(end) => return self.turn_ended(end),
            _ => {}
        }
        Vec::new()
    }

    /// Input that was sent while the agent worked has reached the model, or what a prompt mentions.
    fn attached(&mut self, attachment: &Attachment) {
        if attachment.queued_id().is_none() {
            let rows = cell::mentioned(attachment, &self.look.paper());
            return self.put(rows);
        }
        let blocks = attachment.attachment["prompt"].as_array().cloned().unwrap_or_default();
        let blocks: Vec<_> = blocks.iter().map(tiller_protocol::block::RawBlock::from_value).collect();
        let rows =
            cell::prompt(&cell::content_text(&blocks), Some("steered: delivered now"), &self.look.paper());
        self.put(rows);
    }

    /// Tiller has begun a turn by itself: that is told together with the reason.
    fn woken(&mut self) {
        let ended = std::mem::take(&mut self.live.ended);
        if !ended.is_empty() {
            self.tell(
                Level::Info,
                &format!("The agent looks at what has ended in the background: {}", ended.join(", ")),
            );
        }
    }

    fn said(&mut self, block: &AssistantBlock) {
        if block.block.as_tool_use().is_some() {
            self.live.take_block(|block| matches!(block, Block::Call { .. }));
            return;
        }
        if block.block.is_thinking() {
            self.live.take_block(|block| matches!(block, Block::Thinking(_)));
            let thoughts = block.block.to_value();
            let rows = cell::thinking(thoughts["thinking"].as_str().unwrap_or_default(), &self.look.paper());
            self.put(rows);
            return;
        }
        let Some(text) = block.block.as_text() else { return };
        if block.api_error.is_some() {
            self.close_answers();
            let rows = cell::failure(&text, &self.look.paper());
            self.put(rows);
            self.has_told(&text);
            return;
        }
        let streamed = self.live.take_block(|block| matches!(block, Block::Text(_)));
        let answer = match streamed {
            Some(Block::Text(mut answer)) => {
                answer.complete_with(&text);
                answer.end();
                answer
            }
            _ => Answer::whole(&text),
        };
        self.outbox.push_answer(answer);
        self.release();
    }

    fn answered(&mut self, result: &CallResult) {
        self.live.running.shift_remove(&result.call);
        let call = self.live.calls.remove(&result.call);
        let mut call = call.unwrap_or_else(|| Call::new(result.tool.clone(), serde_json::Value::Null));
        call.approved_in(self.state.mode, result);
        let rows = cell::finished(&call, result, &self.look.paper());
        self.put(rows);
        self.results.keep(call, result);
    }

    fn turn_ended(&mut self, end: &TurnEnd) -> Vec<Effect> {
        self.close_answers();
        let Some(turn) = self.live.turn.take() else { return Vec::new() };
        self.live.running.clear();
        self.live.retry = None;
        self.live.stopping = false;
        let time = self.now.saturating_sub(turn.since);
        let usd = (!self.state.spent.unpriced).then_some(self.state.spent.usd - turn.usd_before);
        let took = Took { time, tokens: turn.tokens, usd };
        // Where something was only put back, there is nothing to account for.
        let is_needless = end.outcome == Outcome::Success && turn.only_unfolds;
        if !is_needless && !is_told(&end.outcome, &turn.failures) {
            let rows = cell::turn_end(&end.outcome, took, &self.look.paper());
            self.put(rows);
        }
        self.finish_notice(time)
    }

    /// A failure stands there.
    fn has_told(&mut self, failure: &str) {
        if let Some(turn) = &mut self.live.turn {
            turn.failures.push(failure.to_owned());
        }
    }

    /// The terminal shows what was just typed: as the prompt of a turn it is not shown again.
    pub(crate) fn seen_already(&mut self, line: &str) {
        self.seen = (!self.is_working()).then(|| line.to_owned());
    }

    /// Nothing more comes of answers that were begun.
    pub(super) fn close_answers(&mut self) {
        for block in std::mem::take(&mut self.live.blocks).into_values() {
            if let Block::Text(mut answer) = block {
                answer.end();
                self.outbox.push_answer(answer);
            }
        }
        self.release();
    }

    /// Adds rows to the transcript, after the answer that is being written.
    pub(super) fn put(&mut self, rows: Vec<ratatui::text::Line<'static>>) {
        if self.answer_is_open() { self.held.extend(rows) } else { self.outbox.push(rows) }
    }

    fn release(&mut self) {
        if !self.answer_is_open() {
            self.outbox.push(std::mem::take(&mut self.held));
        }
    }

    fn answer_is_open(&self) -> bool {
        self.live.open_answer().is_some_and(Answer::has_begun)
    }
}

/// Whether a failure stands there already, alone or in more words.
fn is_told(outcome: &Outcome, failures: &[String]) -> bool {
    match outcome {
        Outcome::Error { message, .. } => failures.iter().any(|told| told.contains(message.as_str())),
        _ => false,
    }
}
