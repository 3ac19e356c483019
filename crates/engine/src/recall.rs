//! Looking up what was folded away: all of it is still in the log.

use std::cmp::Reverse;

use tiller_protocol::compaction::Folded;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::id::EntryId;
use tiller_protocol::rewind::Stretch;
use tiller_steering::compaction::{self, Question, Told};
use tiller_tools::{Passage, RecallRequest, Recalled};

use crate::archive::Archive;
use crate::store::StoreError;

/// Passages that are shown.
const MOST: usize = 8;
/// Characters of a passage that is read as a whole.
const LONGEST: usize = 12_000;

/// The part of a log that was folded away.
pub(crate) struct Past {
    pub(crate) archive: Archive,
    pub(crate) folded: Folded,
    pub(crate) abandoned: Vec<Stretch>,
}

impl Past {
    /// Looks something up.
    pub(crate) fn recall(&self, order: &RecallRequest) -> Result<Recalled, StoreError> {
        match order {
            RecallRequest::Search { query } => self.search(query),
            RecallRequest::Entry { entry, offset } => self.read(*entry, *offset),
        }
    }

    /// Gives each entry that was folded away to `take`, and those that became void to `void`.
    fn each(&self, mut take: impl FnMut(&Entry), mut void: impl FnMut(&[EntryId])) -> Result<(), StoreError> {
        let end = self.folded.kept_from.unwrap_or(self.folded.seq);
        self.archive.read(|entry| {
            let left_behind = self.abandoned.iter().any(|stretch| stretch.holds(entry.seq));
            if entry.seq >= end || left_behind {
                return;
            }
            match &entry.body {
                Body::Orphaned(orphaned) => void(&orphaned.ids),
                _ => take(&entry),
            }
        })
    }

    fn search(&self, query: &str) -> Result<Recalled, StoreError> {
        let question = Question::new(query);
        let found = std::cell::RefCell::new((Vec::<compaction::Passage>::new(), 0));
        self.each(
            |entry| {
                let Some(passage) = question.look(entry) else { return };
                let (best, count) = &mut *found.borrow_mut();
                *count += 1;
                best.push(passage);
                // The newest may still become void, so a few more are remembered than are shown.
                if best.len() > 4 * MOST {
                    best.sort_by_key(rank);
                    best.truncate(2 * MOST);
                }
            },
            |ids| {
                let (best, count) = &mut *found.borrow_mut();
                let before = best.len();
                best.retain(|passage| !ids.contains(&passage.id));
                *count -= before - best.len();
            },
        )?;
        let (mut best, count) = found.into_inner();
        best.sort_by_key(rank);
        best.truncate(MOST);
        let left_out = count - best.len();
        let passages = best.into_iter().map(|passage| Passage {
            entry: passage.seq,
            at: passage.at.strftime("%Y-%m-%d %H:%M").to_string(),
            whose: passage.heading,
            text: passage.text,
        });
        Ok(Recalled { passages: passages.collect(), left_out })
    }

    fn read(&self, wanted: u64, offset: usize) -> Result<Recalled, StoreError> {
        let mut found = None;
        self.each(
            |entry| {
                if entry.seq == wanted {
                    found = Told::of(entry).map(|told| whole(entry, &told, offset));
                }
            },
            |_| {},
        )?;
        Ok(Recalled { passages: found.into_iter().collect(), left_out: 0 })
    }
}

/// What has most of the question comes first, then what is newest.
fn rank(passage: &compaction::Passage) -> (Reverse<usize>, Reverse<u64>) {
    (Reverse(passage.weight), Reverse(passage.seq))
}

fn whole(entry: &Entry, told: &Told, offset: usize) -> Passage {
    let mut rest = told.text.chars().skip(offset);
    let mut text: String = rest.by_ref().take(LONGEST).collect();
    let more = rest.count();
    if more > 0 {
        text.push_str(&format!("\n[… {more} more characters, from offset {} on]", offset + LONGEST));
    }
    let at = entry.at.strftime("%Y-%m-%d %H:%M").to_string();
    Passage { entry: entry.seq, at, whose: told.heading.clone(), text }
}
