//! What the model has seen of which file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::effect::{Effect, FileSeen, Lines};
use crate::id::EntryId;

/// Files remembered at most; the least recently seen is forgotten first.
const REMEMBERED: usize = 100;

/// What the model has seen of which file; bounded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Files {
    seen: IndexMap<PathBuf, FileSeen>,
    /// Those whose content stood in results that were cleared since.
    out_of_sight: BTreeSet<PathBuf>,
    /// Those that only the agent has seen that this one works for.
    taken_over: BTreeSet<PathBuf>,
    /// What was known before entries since the last answer began, which may still become void.
    unsettled: Vec<Before>,
}

/// What was known of a file before an entry, and what the entry says of it.
#[derive(Clone, Debug, PartialEq)]
struct Before {
    entry: EntryId,
    seq: u64,
    shown: Option<FileSeen>,
    path: PathBuf,
    seen: Option<FileSeen>,
    out_of_sight: bool,
    taken_over: bool,
}

impl Files {
    /// What was seen of a file.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&FileSeen> {
        self.seen.get(path)
    }

    /// The files, least recently seen first.
    pub fn iter(&self) -> impl Iterator<Item = &FileSeen> {
        self.seen.values()
    }

    /// The same without those that only the agent has seen that this one works for.
    pub fn own(&self) -> impl Iterator<Item = &FileSeen> {
        self.iter().filter(|seen| !self.taken_over.contains(&seen.path))
    }

    /// What was seen of a file and still stands in the conversation.
    #[must_use]
    pub fn in_sight(&self, path: &Path) -> Option<&FileSeen> {
        self.get(path).filter(|_| !self.out_of_sight.contains(path) && !self.taken_over.contains(path))
    }

    /// Files that were seen, but whose content no longer stands in the conversation.
    pub fn out_of_sight(&self) -> impl Iterator<Item = &PathBuf> {
        self.out_of_sight.iter()
    }

    /// The same with what these effects say about files.
    #[must_use]
    pub fn after<'a>(&self, effects: impl IntoIterator<Item = &'a Effect>) -> Self {
        let mut files = self.clone();
        effects.into_iter().for_each(|effect| files.take(effect));
        files
    }

    pub(super) fn take(&mut self, effect: &Effect) {
        match effect {
            Effect::FileSeen(seen) => self.see(seen.clone()),
            Effect::FileForgotten { path } => self.forget(path),
            Effect::FilesTakenOver { files } => {
                files.iter().for_each(|seen| self.see(seen.clone()));
                self.taken_over.extend(files.iter().map(|seen| seen.path.clone()));
            }
            _ => {}
        }
    }

    /// What entries from this number on show by themselves, of those since the last answer began.
    #[must_use]
    pub fn shown_since(&self, seq: u64) -> Self {
        let mut files = Self::default();
        for Before { path, shown, .. } in self.unsettled.iter().filter(|before| before.seq >= seq) {
            match shown {
                Some(seen) => files.see(seen.clone()),
                None => files.forget(path),
            }
        }
        files
    }

    /// What an entry says of files is not to be read in it.
    pub(super) fn shows_only_a_part(&mut self, entry: EntryId) {
        self.unsettled
            .iter_mut()
            .filter(|before| before.entry == entry)
            .for_each(|before| before.shown = None);
    }

    /// Takes an effect of an entry, which goes if the answer that this belongs to becomes void.
    pub(super) fn take_of(&mut self, (entry, seq): (EntryId, u64), effect: &Effect) {
        let (path, shown) = match effect {
            Effect::FileSeen(seen) => (&seen.path, Some(seen.clone())),
            Effect::FileForgotten { path } => (path, None),
            _ => return,
        };
        self.unsettled.push(Before {
            entry,
            seq,
            shown,
            path: path.clone(),
            seen: self.seen.get(path).cloned(),
            out_of_sight: self.out_of_sight.contains(path),
            taken_over: self.taken_over.contains(path),
        });
        self.take(effect);
    }

    /// Whether there are entries that may still become void.
    pub(super) fn is_unsettled(&self) -> bool {
        !self.unsettled.is_empty()
    }

    /// The answer so far is there to stay.
    pub(super) fn settle(&mut self) {
        self.unsettled.clear();
    }

    /// Entries are void: what they have shown was never seen.
    pub(super) fn undo(&mut self, entries: &[EntryId]) {
        for before in std::mem::take(&mut self.unsettled).into_iter().rev() {
            if !entries.contains(&before.entry) {
                self.unsettled.insert(0, before);
                continue;
            }
            self.forget(&before.path);
            if before.out_of_sight {
                self.out_of_sight.insert(before.path.clone());
            }
            if before.taken_over {
                self.taken_over.insert(before.path.clone());
            }
            self.seen.extend(before.seen.map(|seen| (before.path, seen)));
        }
    }

    pub(super) fn lose_sight<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        let known = paths.into_iter().filter(|path| self.seen.contains_key(*path));
        self.out_of_sight.extend(known.cloned());
    }

    pub(super) fn see(&mut self, mut seen: FileSeen) {
        if let Some(before) =
            self.in_sight(&seen.path).filter(|before| before.fingerprint == seen.fingerprint)
        {
            seen.lines = joined(before.lines.as_ref(), seen.lines);
        }
        self.forget(&seen.path);
        self.seen.insert(seen.path.clone(), seen);
        if self.seen.len() > REMEMBERED
            && let Some(oldest) = self.seen.keys().next().cloned()
        {
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, path: &Path) {
        self.seen.shift_remove(path);
        self.out_of_sight.remove(path);
        self.taken_over.remove(path);
    }
}

/// What two looks at the same content have shown together.
fn joined(before: Option<&Lines>, now: Option<Lines>) -> Option<Lines> {
    Some(before?.with(&now?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::{Fingerprint, LineRange};

    fn seen(content: &str, lines: Option<(u64, u64)>) -> FileSeen {
        FileSeen {
            path: "/f".into(),
            fingerprint: Fingerprint(content.to_owned()),
            mtime_ms: 0,
            lines: lines.map(|(first, last)| LineRange { first, last }.into()),
        }
    }

    #[test]
    fn looks_at_the_same_content_add_up() {
        let mut files = Files::default();
        files.see(seen("a", Some((1, 10))));
        files.see(seen("a", Some((5, 20))));
        assert_eq!(files.get(Path::new("/f")), Some(&seen("a", Some((1, 20)))));
        files.see(seen("a", Some((30, 40))));
        let lines = files.get(Path::new("/f")).unwrap().lines.as_ref().unwrap();
        assert_eq!(lines.to_string(), "1 to 20, 30 to 40", "what lies between was not seen");
        files.see(seen("b", Some((3, 4))));
        assert_eq!(files.get(Path::new("/f")), Some(&seen("b", Some((3, 4)))));
        files.see(seen("b", None));
        files.see(seen("b", Some((1, 2))));
        assert_eq!(files.get(Path::new("/f")), Some(&seen("b", None)));
    }

    #[test]
    fn the_least_recently_seen_file_is_forgotten() {
        let mut files = Files::default();
        for n in 0..=REMEMBERED {
            files.see(FileSeen { path: format!("/{n}").into(), ..seen("a", None) });
        }
        assert_eq!(files.iter().count(), REMEMBERED);
        assert!(files.get(Path::new("/0")).is_none());
    }

    // LOOP-46: results that are never sent have shown nothing.
    #[test]
    fn what_void_results_have_shown_was_never_seen() {
        let id = |n: u64| EntryId(uuid::Uuid::from_u128(n.into()));
        let (path, other) = (Path::new("/f"), Path::new("/g"));
        let mut files = Files::default();
        files.see(seen("a", Some((1, 10))));
        files.lose_sight([&path.to_owned()]);
        let known = files.clone();
        files.take_of((id(1), 1), &Effect::FileSeen(seen("b", None)));
        files.take_of((id(2), 2), &Effect::FileForgotten { path: path.to_owned() });
        let elsewhere = FileSeen { path: other.to_owned(), ..seen("c", None) };
        files.take_of((id(3), 3), &Effect::FileSeen(elsewhere));
        assert!(files.get(path).is_none() && files.get(other).is_some());
        assert_eq!(files.shown_since(2).iter().count(), 1, "what was folded is out of sight");
        files.undo(&[id(1), id(2)]);
        assert_eq!(files.get(path), known.get(path));
        assert!(files.in_sight(path).is_none() && files.in_sight(other).is_some());
        files.undo(&[id(3)]);
        assert_eq!(files, known);
        files.take_of((id(4), 4), &Effect::FileSeen(seen("d", None)));
        files.settle();
        files.undo(&[id(4)]);
        assert_eq!(files.get(path), Some(&seen("d", None)), "what was settled stays");
    }

    #[test]
    fn files_that_are_taken_over_are_known_but_were_not_seen() {
        let (mut files, path) = (Files::default(), Path::new("/f"));
        files.take(&Effect::FilesTakenOver { files: vec![seen("a", None)] });
        assert!(files.get(path).is_some() && files.in_sight(path).is_none());
        assert_eq!(files.own().count(), 0);
        files.see(seen("a", Some((1, 2))));
        assert_eq!(files.in_sight(path), Some(&seen("a", Some((1, 2)))), "what one sees oneself counts");
        assert_eq!(files.own().count(), 1);
    }
}
