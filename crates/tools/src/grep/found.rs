//! What a search has found so far. Memory stays bounded: only what can still be shown is kept, the rest is counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::sink::{Hits, Outcome};
use super::{OutputMode, Settings};

/// The results, by path.
pub(super) struct Found {
    settings: Settings,
    pub(super) files: BTreeMap<PathBuf, Hits>,
    /// Entries that `files` holds.
    entries: usize,
    pub(super) total_files: usize,
    pub(super) total_matches: u64,
    pub(super) searched: usize,
    pub(super) binary: usize,
    pub(super) too_large: usize,
    pub(super) unreadable: usize,
    pub(super) links: usize,
    pub(super) stopped: bool,
}

impl Found {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            files: BTreeMap::new(),
            entries: 0,
            total_files: 0,
            total_matches: 0,
            searched: 0,
            binary: 0,
            too_large: 0,
            unreadable: 0,
            links: 0,
            stopped: false,
        }
    }

    /// Adds what a file yielded.
    pub(super) fn add(&mut self, path: &Path, outcome: Outcome) {
        self.searched += usize::from(matches!(outcome, Outcome::Searched(_)));
        match outcome {
            Outcome::Searched(hits) if hits.matches > 0 => self.keep(path, hits),
            Outcome::Searched(_) => {}
            Outcome::Binary => self.binary += 1,
            Outcome::TooLarge => self.too_large += 1,
            Outcome::Unreadable => self.unreadable += 1,
            Outcome::Stopped => self.stopped = true,
        }
    }

    fn keep(&mut self, path: &Path, hits: Hits) {
        self.total_files += 1;
        self.total_matches += hits.matches;
        self.entries += self.weight(&hits);
        self.files.insert(path.to_owned(), hits);
        // Output is in the order of paths: the last file goes as soon as the others fill what can be shown.
        while let Some(last) = self.files.last_entry() {
            let weight = weight(self.settings.mode, last.get());
            if self.entries - weight < self.settings.kept() {
                break;
            }
            last.remove();
            self.entries -= weight;
        }
    }

    fn weight(&self, hits: &Hits) -> usize {
        weight(self.settings.mode, hits)
    }
}

fn weight(mode: OutputMode, hits: &Hits) -> usize {
    match mode {
        OutputMode::Content => hits.lines.len(),
        OutputMode::FilesWithMatches | OutputMode::Count => 1,
    }
}
