//! Holding what the loop makes against what was recorded.

use bytes::Bytes;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Attachment, Body, Outcome};
use tiller_protocol::ingredients::Asked;
use tiller_steering::{Chain, Conversation};

use super::difference::{Difference, excerpts};
use super::tape::{HOOK, LATE_HOOK, Reading, is_answer, tells_of_failure};

/// Kinds of attachments that follow from the log alone: they are made anew. Others tell of what was outside.
const REMADE: [&str; 10] = [
    "plan_mode",
    "plan_mode_reentry",
    "plan_mode_exit",
    "verify_plan_reminder",
    "delegate_mode",
    "delegate_mode_exit",
    "todo_reminder",
    "critical_system_reminder",
    "queued_command",
    "output_style",
];

impl Reading {
    pub(super) fn end(&mut self, outcome: &Outcome) {
        if self.is_over() {
            return;
        }
        if self.next_answer().is_some() {
            let text = "the model was asked again";
            self.differs("the end of the turn".to_owned(), text, &word(outcome));
        } else if let Some(recorded) = self.outcome().map(word)
            && recorded != word(outcome)
        {
            self.differs("the end of the turn".to_owned(), &recorded, &word(outcome));
        }
    }

    pub(super) fn compare(&mut self, conversation: &Conversation) {
        if self.is_over() {
            return;
        }
        let Some(at) = self.next_answer() else {
            let stopped = matches!(self.outcome(), None | Some(Outcome::Interrupted));
            if !stopped {
                let recorded = self.outcome().map(word).unwrap_or_default();
                self.differs("the end of the turn".to_owned(), &recorded, "the model was asked again");
            }
            return;
        };
        // Of a request that failed nothing is on record, and the conversation may have been another one before it.
        if self.remaining.before(at).any(|at| tells_of_failure(&self.entries[at].body)) {
            return;
        }
        for entry in &self.entries[self.pushed.min(at)..at] {
            self.expected.push(entry);
        }
        self.pushed = self.pushed.max(at);
        let recorded = self.entries[at..].iter().find_map(|entry| match &entry.body {
            Body::Response(response) if is_answer(&entry.body) => response.asked.clone(),
            _ => None,
        });
        let said = conversation.said();
        let now = self.rewritten.asked(&said, (&self.scratch, &self.config_dir));
        let is_it = |asked: &Asked| (asked.messages, &asked.digest) == (now.messages, &now.digest);
        if recorded.as_ref().is_some_and(is_it) {
            return;
        }
        let said: Vec<String> = said.iter().map(|message| self.as_recorded(&text(message))).collect();
        let expected: Vec<String> = self.expected.said().iter().map(|message| text(message)).collect();
        let parts = (0..expected.len().max(said.len())).find(|&at| expected.get(at) != said.get(at));
        match (parts, recorded) {
            (Some(at), _) => {
                let of = |messages: &[String]| messages.get(at).cloned().unwrap_or_default();
                self.differs(format!("messages[{at}]"), &of(&expected), &of(&said));
            }
            (None, Some(recorded)) => {
                let before = format!("{} messages, digest {}", recorded.messages, recorded.digest);
                let after = format!("{} messages, digest {} of the same entries", now.messages, now.digest);
                self.differs("how the conversation is written".to_owned(), &before, &after);
            }
            (None, None) => {}
        }
    }

    pub(super) fn attachments(&mut self, mut made: Vec<Attachment>) -> Vec<Attachment> {
        // What hooks found out in the background comes when sources are asked, and not when hooks run.
        let is_sampled = |one: &Attachment| one.source != HOOK || one.kind() == LATE_HOOK;
        let is_sampled =
            |at: &usize| matches!(&self.entries[*at].body, Body::Attachment(one) if is_sampled(one));
        let recorded = self.remaining.before(self.boundary()).filter(is_sampled).collect();
        let mut attached = Vec::new();
        for attachment in self.take_attachments(recorded) {
            if !REMADE.contains(&attachment.kind()) {
                attached.push(attachment);
                continue;
            }
            let again = made.iter().position(|one| one.kind() == attachment.kind());
            let again = again.map(|at| made.remove(at));
            let (before, now) =
                (shown(&attachment), again.as_ref().map(|again| self.as_recorded(&shown(again))));
            if now.as_ref() != Some(&before) {
                self.differs_next(
                    format!("reminder {}", attachment.kind()),
                    &before,
                    &now.unwrap_or_default(),
                );
            }
            attached.extend(again);
        }
        // Where the process was ended by force, nobody knows what it would have told next.
        let is_cut_off = self.next_answer().is_none() && self.outcome().is_none();
        for attachment in made.into_iter().filter(|one| !is_cut_off && REMADE.contains(&one.kind())) {
            self.differs_next(format!("reminder {}", attachment.kind()), "", &shown(&attachment));
            attached.push(attachment);
        }
        attached
    }

    /// A text with paths as they were when it was recorded.
    pub(super) fn as_recorded(&self, text: &str) -> String {
        text.replace(&self.scratch, &self.config_dir)
    }

    /// Notes the first difference, in the step that is being made.
    pub(super) fn differs(&mut self, part: String, expected: &str, actual: &str) {
        self.differs_at(self.found.steps, part, expected, actual);
    }

    /// The same in what the next request will be made of.
    pub(super) fn differs_next(&mut self, part: String, expected: &str, actual: &str) {
        self.differs_at(self.found.steps + usize::from(!self.preparing), part, expected, actual);
    }

    fn differs_at(&mut self, step: usize, part: String, expected: &str, actual: &str) {
        if self.is_over() || self.until.is_some_and(|until| step > until) {
            return;
        }
        let (expected, actual) = excerpts(expected, actual);
        let (agent, prompt) = (self.agent.clone(), self.prompt);
        self.found.difference = Some(Difference { agent, step, prompt, part, expected, actual });
    }
}

/// The messages of a request with paths as they were when it was recorded, as a digest behind each of them: those that
/// the request before had as well are not read again.
#[derive(Default)]
pub(super) struct Rewritten(Vec<(Bytes, Chain)>);

impl Rewritten {
    /// What would have been noted of a request with these messages, if `now` were `recorded` wherever it stands.
    fn asked(&mut self, messages: &[Bytes], (now, recorded): (&str, &str)) -> Asked {
        let is_known = |(known, message): &(&(Bytes, Chain), &Bytes)| is_same(&known.0, message);
        let known = self.0.iter().zip(messages).take_while(is_known).count();
        self.0.truncate(known);
        for message in &messages[known..] {
            let chain = self.0.last().map(|(_, chain)| *chain).unwrap_or_default();
            let chain = chain.then(text(message).replace(now, recorded).as_bytes());
            self.0.push((message.clone(), chain));
        }
        self.0.last().map(|(_, chain)| *chain).unwrap_or_default().noted(messages.len())
    }
}

/// Whether two messages share their bytes, which never change: what is held here is not given to anybody else.
fn is_same(one: &Bytes, other: &Bytes) -> bool {
    (one.as_ptr(), one.len()) == (other.as_ptr(), other.len())
}

/// The name of an outcome.
fn word(outcome: &Outcome) -> String {
    let value = serde_json::to_value(outcome).unwrap_or_default();
    value["kind"].as_str().unwrap_or_default().to_owned()
}

fn text(message: &[u8]) -> String {
    String::from_utf8_lossy(message).into_owned()
}

fn shown(attachment: &Attachment) -> String {
    attachment.rendered.iter().map(RawBlock::json).collect::<Vec<_>>().join("\n")
}
