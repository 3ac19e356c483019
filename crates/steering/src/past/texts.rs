//! Texts of files as the model saw them, so that a change can be shown by what changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use tiller_protocol::effect::Fingerprint;

/// Bytes that are remembered at most; the texts that were seen longest ago go first.
const LIMIT: usize = 8 * 1024 * 1024;

/// Texts by path, least recently seen first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    texts: IndexMap<PathBuf, (Fingerprint, Arc<str>)>,
    bytes: usize,
}

impl Texts {
    pub(crate) fn insert(&mut self, path: &Path, fingerprint: &Fingerprint, text: &str) {
        self.remove(path);
        self.bytes += text.len();
        self.texts.insert(path.to_owned(), (fingerprint.clone(), text.into()));
        while self.bytes > LIMIT
            && let Some((_, (_, text))) = self.texts.shift_remove_index(0)
        {
            self.bytes -= text.len();
        }
    }

    pub(crate) fn get(&self, path: &Path, fingerprint: &Fingerprint) -> Option<Arc<str>> {
        let (seen, text) = self.texts.get(path)?;
        (seen == fingerprint).then(|| Arc::clone(text))
    }

    fn remove(&mut self, path: &Path) {
        if let Some((_, text)) = self.texts.shift_remove(path) {
            self.bytes -= text.len();
        }
    }
}

/// Texts that were read, until it is said which content of their files that was.
#[derive(Clone, Debug, Default)]
pub(super) struct Unidentified(Vec<(PathBuf, Option<Arc<str>>)>);

impl Unidentified {
    /// A file was read; without its text, if that was only a part.
    pub(super) fn push(&mut self, path: &Path, text: Option<&str>) {
        self.0.push((path.into(), text.map(Into::into)));
    }

    /// The text that was read first of those of a file.
    pub(super) fn take(&mut self, path: &Path) -> Option<Arc<str>> {
        let first = self.0.iter().position(|(read, _)| read == path)?;
        self.0.remove(first).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // LOG-08
    #[test]
    fn what_was_seen_longest_ago_is_forgotten_first() {
        let mut texts = Texts::default();
        let print = Fingerprint("f".to_owned());
        let large = "x".repeat(LIMIT / 2);
        for name in ["/a", "/b", "/a", "/c"] {
            texts.insert(Path::new(name), &print, &large);
        }
        assert!(texts.get(Path::new("/b"), &print).is_none());
        assert!(texts.get(Path::new("/a"), &print).is_some() && texts.get(Path::new("/c"), &print).is_some());
        assert!(texts.get(Path::new("/a"), &Fingerprint("other".to_owned())).is_none());
        texts.insert(Path::new("/d"), &print, &"x".repeat(LIMIT + 1));
        assert_eq!(texts.bytes, 0);
    }
}
