//! Imports: `@path` in an instruction file stands for the file of that path.
//!
//! A project must not be able to have arbitrary files of the user told to the model. So a file may import what lies
//! below its own directory or in the repository it stands in; only the user's own file may import what lies elsewhere
//! in the home directory.

use std::path::{Path, PathBuf};

use super::{Collected, InstructionFile, git};

/// Imports of imports that are followed.
const DEPTH: usize = 5;
/// Imports that are followed from one file, those of imported files included.
const MOST: usize = 50;

/// Follows the imports of one instruction file.
pub(super) struct Importer {
    /// Where imported files may lie, links resolved.
    realm: PathBuf,
    home: PathBuf,
    pending: Vec<(PathBuf, usize)>,
}

impl Importer {
    pub(super) fn new(file: &InstructionFile, realm: Option<&Path>, home: &Path) -> Self {
        let dir = file.path.parent().unwrap_or(&file.path);
        let realm = realm.unwrap_or_else(|| git::root(dir).unwrap_or(dir));
        let realm = fs_err::canonicalize(realm).unwrap_or_else(|_| realm.to_owned());
        let mut importer = Self { realm, home: home.to_owned(), pending: Vec::new() };
        importer.note(file, 1);
        importer
    }

    /// Reads what is imported, depth first, in the order of the text.
    pub(super) fn follow(mut self, collected: &mut Collected<'_>) {
        for _ in 0..MOST {
            let Some((path, depth)) = self.pending.pop() else { return };
            if !fs_err::canonicalize(&path).is_ok_and(|real| real.starts_with(&self.realm)) {
                tracing::warn!(path = %path.display(), "an import is not followed: it leads out of {}", self.realm.display());
                continue;
            }
            let Some(file) = collected.read(path).filter(|file| !file.text.contains('\0')) else { continue };
            self.note(&file, depth + 1);
            collected.files.push(file);
        }
    }

    fn note(&mut self, file: &InstructionFile, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let dir = file.path.parent().unwrap_or(&file.path);
        let named: Vec<PathBuf> =
            imports(&file.text).into_iter().filter_map(|written| self.existing(dir, written)).collect();
        self.pending.extend(named.into_iter().rev().map(|path| (path, depth)));
    }

    /// The file that is meant; a word behind an `@` need not be one. Punctuation may belong to the sentence.
    fn existing(&self, dir: &Path, written: &str) -> Option<PathBuf> {
        let trimmed = written.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '*', '_']);
        let path = |written: &str| match written.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => dir.join(written),
        };
        [written, trimmed].into_iter().map(path).find(|path| path.is_file())
    }
}

/// The words behind `@` that stand neither in a block of code nor between backticks.
fn imports(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let marker = ["```", "~~~"].into_iter().find(|marker| line.trim_start().starts_with(marker));
        match (fence, marker) {
            (None, Some(_)) => fence = marker,
            (Some(open), Some(closing)) if open == closing => fence = None,
            (None, None) => {
                let prose = line.split('`').step_by(2);
                let words = prose.flat_map(str::split_whitespace);
                let named =
                    words.filter_map(|word| word.trim_start_matches(['(', '*', '_']).strip_prefix('@'));
                found.extend(named.filter(|name| !name.is_empty()));
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stand_in_prose_only() {
        let text = "See @a.md, (@docs/b.md) and `@c.md`.\n```\n@d.md\n```\n- **@e.md**\nada@f.md @\n~~~\n```\n@g\n~~~\n@h";
        assert_eq!(imports(text), ["a.md,", "docs/b.md)", "e.md**", "h"]);
    }
}
