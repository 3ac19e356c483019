//! What a session's log holds, folded from as little of it as that takes. What calls have returned is most of a log, and
//! most of it is sent no more.
//!
//! A log that is one conversation from its beginning to its end is read once, without what was cleared. One that was folded
//! or gone back in is read twice: all of it bare, which proves it and tells from where on it is part of the next request,
//! and that part as a whole.

use std::path::Path;
use std::sync::Arc;

use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Body, Entry, Epoch};
use tiller_protocol::id::SessionId;
use tiller_protocol::line::{self, Envelope};
use tiller_protocol::rewind::Rewound;
use tiller_protocol::state::State;
use tiller_steering::Conversation;
use tiller_steering::compaction::{Room, replacement};
use tiller_steering::past::Past;

use super::sample::THINKING_DROPPED;
use crate::archive::Archive;
use crate::journal::VERSION;
use crate::plan::Slug;
use crate::store::{
    Damage, Kinds, Loaded, LogWriter, Mark, StoreError, kinds, load, load_after, load_bare, load_sparing,
};
use crate::view::{Frame, View, Viewing};

/// Bytes at the end of a log whose entries a front end gets as a whole, however little of it is part of the next
/// request: what it shows of the past.
const SHOWN: u64 = 2 * 1024 * 1024;

/// What a log holds, folded.
#[derive(Default)]
pub(super) struct History {
    pub(super) state: State,
    pub(super) conversation: Conversation,
    pub(super) past: Arc<Past>,
    pub(super) room: Room,
    pub(super) epoch: Option<Epoch>,
    /// The provider was told to drop reasoning that no longer fits.
    pub(super) drop_thinking: bool,
    /// The name of the plan, as the first line with one tells it.
    pub(super) slug: Option<String>,
    pub(super) damage: Vec<Damage>,
    /// The entries, if somebody wants them; older ones without what calls have returned.
    pub(super) entries: Vec<Arc<Entry>>,
}

/// Who else wants the entries of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// A front end that shows them.
    FrontEnd,
    /// Nobody.
    Nobody,
}

impl History {
    /// Reads a log; a writer goes on behind it.
    pub(super) fn read(
        log: &Path,
        writer: Option<&mut LogWriter>,
        audience: Audience,
    ) -> Result<Self, StoreError> {
        let kinds = kinds(log)?;
        if !kinds.is_view && audience == Audience::Nobody {
            let (history, loaded) = Self::read_at_once(log, kinds)?;
            // What was cleared is known from lines that nobody had proven yet, and lines that somebody has written anew
            // may say more than their beginnings told.
            let is_sound = loaded.damage.iter().all(|damage| matches!(damage, Damage::TornTail { .. }));
            if is_sound && history.state.abandoned.is_empty() && history.state.folded.is_none() {
                return history.conclude(loaded, writer);
            }
        }
        let mut history = Self::default();
        let mut past = Past::default();
        // What is counted up to a fold, as long as nothing is left behind.
        let mut at_fold = None;
        let loaded = load_bare(log, |entry| {
            history.note(&entry);
            past.push(&entry);
            if let Body::Compacted(_) = entry.body {
                at_fold = Some((entry.seq, past.clone()));
            }
            if audience == Audience::FrontEnd {
                history.entries.push(Arc::new(entry));
            }
        })?;
        drop(past);
        let folded = history.state.folded.filter(|folded| folded.until.is_some());
        let known = at_fold.filter(|(seq, _)| folded.is_some_and(|folded| folded.seq == *seq));
        let known = known.map(|(_, past)| past).filter(|_| history.state.abandoned.is_empty());
        history.view(log, &loaded, known)?;
        history.conclude(loaded, writer)
    }

    /// Reads a log that is one conversation from its beginning to its end. Of results that were cleared nothing but a
    /// note is sent.
    fn read_at_once(log: &Path, Kinds { cleared, .. }: Kinds) -> Result<(Self, Loaded), StoreError> {
        let mut history = Self::default();
        let loaded = load_sparing(log, cleared.clone(), |mut entry| {
            if let Body::Result(result) = &mut entry.body
                && cleared.contains(&result.call)
            {
                // The note will stand where this stands.
                result.content = vec![RawBlock::text(replacement())];
            }
            history.take(&entry);
        })?;
        Ok((history, loaded))
    }

    fn conclude(mut self, loaded: Loaded, writer: Option<&mut LogWriter>) -> Result<Self, StoreError> {
        if let Some(writer) = writer {
            writer.continue_at(loaded.length, loaded.hash)?;
        }
        self.damage = loaded.damage;
        self.slug = loaded.slug;
        Ok(self)
    }

    /// The second reading.
    fn view(&mut self, log: &Path, loaded: &Loaded, past: Option<Past>) -> Result<(), StoreError> {
        let frame = Frame::new(self.state.abandoned.clone(), self.state.folded, u64::MAX);
        let shown = loaded.length.saturating_sub(SHOWN);
        let needed =
            |mark: &&Mark| mark.seq < frame.from() && (self.entries.is_empty() || mark.offset <= shown);
        let mark = loaded.marks.iter().rev().find(needed).cloned().unwrap_or_default();
        let is_counted = past.is_some() || frame.from() == 0;
        let mut viewing = Viewing::new(frame, past);
        if !is_counted {
            load_bare(log, |entry| viewing.count(&entry))?;
        }
        let mut whole = Vec::new();
        load_after(log, &mark, |entry| {
            viewing.take(&entry);
            if !self.entries.is_empty() {
                whole.push(Arc::new(entry));
            }
        })?;
        if let Some(first) = whole.first() {
            self.entries.truncate(self.entries.partition_point(|entry| entry.seq < first.seq));
            self.entries.append(&mut whole);
        }
        let View { conversation, past, room } = viewing.finish();
        (self.conversation, self.past, self.room) = (conversation, past, room);
        Ok(())
    }

    /// Copies a log under another session id, and under another name of its plan.
    pub(super) fn copy(
        log: &Path,
        id: SessionId,
        writer: Option<&mut LogWriter>,
        audience: Audience,
        mut name_plan: impl FnMut() -> Slug,
    ) -> Result<Self, StoreError> {
        let history = Self::read(log, None, audience)?;
        let Some(writer) = writer else { return Ok(history) };
        let mut state = State::default();
        let mut copied = Ok(());
        load(log, |entry| {
            state.apply(&entry);
            let slug = state.plan_slug.as_ref().map(|_| name_plan());
            let envelope = Envelope {
                session: id,
                cwd: &state.cwd,
                version: VERSION,
                git_branch: None,
                slug: slug.as_ref().map(Slug::as_str),
            };
            if copied.is_ok() {
                copied =
                    line::write(&entry, &envelope).map_err(Into::into).and_then(|line| writer.append(&line));
            }
        })?;
        copied.map(|()| history)
    }

    /// After a step back the conversation is another view of the log.
    pub(super) fn go_back(&mut self, log: &Path, entry: &Entry) -> Result<(), StoreError> {
        if let Body::Rewound(Rewound { conversation: Some(back), .. }) = &entry.body {
            let View { conversation, past, room } =
                View::after(&Archive::Log(log.to_owned()), back, entry.seq)?;
            (self.conversation, self.past, self.room) = (conversation, past, room);
        }
        Ok(())
    }

    pub(super) fn take(&mut self, entry: &Entry) {
        self.note(entry);
        Arc::make_mut(&mut self.past).push(entry);
        self.room.push(entry);
        self.conversation.push(entry);
    }

    /// Folds what concerns the whole session.
    fn note(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Epoch(epoch) => self.epoch = Some(epoch.clone()),
            Body::Notice(notice) => self.drop_thinking |= notice.subtype == THINKING_DROPPED,
            _ => {}
        }
        self.state.apply(entry);
    }
}

#[cfg(test)]
mod tests;
