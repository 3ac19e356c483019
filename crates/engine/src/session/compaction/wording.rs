//! The words of a fold: functions of the log and of what is noted with the fold, so that a replay can find them once more.

use std::path::Path;

use tiller_protocol::block::RawBlock;
use tiller_protocol::compaction::{Compacted, FoldIngredients, Kept};
use tiller_protocol::entry::{Body, Entry, Origin};
use tiller_protocol::rewind::Stretch;
use tiller_steering::asked;
use tiller_steering::compaction::{
    CARRIED_TOKENS, Carried, Ending, Length, Part, Replacement, carry, chunks, ending, in_full, request,
    text_tokens, transcript,
};

use super::survey::Survey;
use crate::archive::Archive;
use crate::replay::Tape;
use crate::store::StoreError;

/// The part of the window that words of the user, results that were not seen, and files may take, each.
pub(super) const SHARE: u64 = 8;

/// When a conversation is folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Timing {
    /// In the middle of work, which goes on with the next request.
    InTurn,
    /// When nothing waits for an answer.
    BetweenTurns,
}

impl Survey {
    /// The user's own words, apart from those that are kept anyway.
    pub(super) fn carried(&self, kept: Option<&Kept>, window: u64) -> Carried {
        let is_folded = |entry: &&Entry| kept.is_none_or(|kept| entry.seq < kept.from);
        carry(self.words.iter().filter(is_folded), CARRIED_TOKENS.min(window / SHARE))
    }

    /// Results that the model has called for and not seen, if they had to be folded.
    fn unseen(&self, end: usize, window: u64) -> Option<String> {
        let messages = &self.messages;
        let (Ending::Kept(at) | Ending::Told(at)) = ending(messages, &self.answers) else { return None };
        if end <= at {
            return None;
        }
        let room = window / SHARE;
        let whole = in_full(&messages[at..end]).join("\n\n");
        let told =
            if text_tokens(&whole) <= room { whole } else { transcript(&messages[at..end]).join("\n\n") };
        (text_tokens(&told) <= room && !told.is_empty()).then_some(told)
    }

    /// What stands in the place of the messages before `end`, which this fold is about.
    pub(super) fn replacement(
        &self,
        end: usize,
        timing: Timing,
        fold: &Compacted,
        ingredients: &FoldIngredients,
    ) -> String {
        let unseen = match timing {
            Timing::InTurn => self.unseen(end, ingredients.window),
            Timing::BetweenTurns => None,
        };
        Replacement {
            summary: &fold.summary,
            carried: &self.carried(fold.kept.as_ref(), ingredients.window),
            unseen: unseen.as_deref(),
            recall: ingredients.recall,
            trigger: fold.trigger,
        }
        .text()
    }
}

/// The request for the summary of one of several parts.
pub(super) fn question(
    parts: &[String],
    at: usize,
    before: Option<&str>,
    instructions: Option<&str>,
    length: Length,
) -> String {
    let text = parts.get(at).map(String::as_str).unwrap_or_default();
    request(Part { text, number: at + 1, of: parts.len(), before, instructions, length })
}

/// By what a request is known again.
pub(super) fn digest(question: &str) -> String {
    asked(&[question]).digest
}

/// In a replay: rebuilds the text of recorded compactions and compares it, the requests for their summaries and what stands in the place of
/// what was folded. These are the entries from the first fold on; the stretches are no part of the conversation.
pub(in crate::session) fn compare_folds(
    tape: &Tape,
    log: &Path,
    abandoned: &[Stretch],
    entries: &[Entry],
    timing: Timing,
) -> Result<(), StoreError> {
    for pair in entries.windows(2) {
        let (Body::Compacted(fold), Body::User(told)) = (&pair[0].body, &pair[1].body) else { continue };
        let Some(ingredients) = fold.made_of.as_ref().filter(|_| told.origin == Origin::Summary) else {
            tape.pass_over("what the words of a compaction were made of is not on record");
            continue;
        };
        let before = Archive::behind(log.to_owned(), pair[0].seq.saturating_sub(1));
        let survey = Survey::read(&before, abandoned, None)?;
        let first_kept = |kept: &Kept| survey.messages.iter().position(|entry| entry.id == kept.first);
        let end = fold.kept.as_ref().and_then(first_kept).unwrap_or(survey.messages.len());
        compare_requests(tape, &survey, end, fold, ingredients);
        let recorded: String = told.content.iter().filter_map(RawBlock::as_text).collect();
        tape.compare_part("summary", &recorded, &survey.replacement(end, timing, fold, ingredients));
    }
    Ok(())
}

fn compare_requests(
    tape: &Tape,
    survey: &Survey,
    end: usize,
    fold: &Compacted,
    ingredients: &FoldIngredients,
) {
    const PART: &str = "request for a summary";
    let parts = chunks(&transcript(&survey.messages[..end]), ingredients.part);
    let number = |parts: usize| format!("{parts} requests");
    tape.compare_part(PART, &number(ingredients.asked.len()), &number(parts.len()));
    let mut before = survey.earlier.clone();
    for (at, recorded) in ingredients.asked.iter().enumerate() {
        let length = if recorded.brief { Length::Brief } else { Length::Usual };
        let question = question(&parts, at, before.as_deref(), fold.instructions.as_deref(), length);
        let now = digest(&question);
        if now != recorded.digest {
            let was = format!("digest {}", recorded.digest);
            tape.compare_part(PART, &was, &format!("digest {now} of: {question}"));
        }
        before.clone_from(&recorded.answer);
    }
}
