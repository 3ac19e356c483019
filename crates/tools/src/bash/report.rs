//! What the model is told about a command's output, within the bound on results.

use std::path::PathBuf;

use tiller_protocol::id::CallId;
use tiller_sandbox::{Captured, SPOOL_LIMIT};

use super::clean::clean;
use crate::bound::{cut, file_stem, join, note, store};
use crate::cx::View;
use crate::secret::Vault;

/// Characters of output that a result may hold.
pub(crate) const LIMIT: usize = 30_000;
/// Characters of it that are set aside for notes.
const NOTES: usize = 1_500;
/// Longer words are data, and are shown as far as they are there.
const LONGEST_WORD: usize = 4_096;

/// Both streams, cut to the bound.
pub(crate) struct Shown {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Files that hold what was cut.
    pub(crate) files: Vec<PathBuf>,
}

impl Shown {
    /// Cuts both streams so that together they fit. Standard error is usually short and telling: it gets at least a
    /// third of the room if it needs that.
    pub(crate) fn new(stdout: &Captured, stderr: &Captured, view: &View, call: &CallId) -> Self {
        let (out, err) = (Stream::new(stdout, &view.secrets), Stream::new(stderr, &view.secrets));
        let room = LIMIT - NOTES;
        let err_room = err.length().min((room / 3).max(room.saturating_sub(out.length())));
        let mut files = Vec::new();
        let mut fit = |stream: &Stream<'_>, name: &str, room| {
            let file = format!("{}.{name}.txt", file_stem(call));
            stream.fit(room, |bytes| store(&view.spill_dir, &file, bytes), &mut files)
        };
        let stderr = fit(&err, "stderr", err_room);
        let stdout = fit(&out, "stdout", room - err_room);
        Self { stdout, stderr, files }
    }

    /// Both streams as one text.
    pub(crate) fn text(&self) -> String {
        let parts = [&self.stdout, &self.stderr].map(|stream| stream.trim_matches('\n').trim_end());
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// One stream in readable form.
struct Stream<'a> {
    captured: &'a Captured,
    head: String,
    tail: String,
}

impl<'a> Stream<'a> {
    /// Masked before anything is cut: half a credential is not recognised.
    fn new(captured: &'a Captured, secrets: &Vault) -> Self {
        let shown = |bytes: &[u8]| secrets.mask(&clean(bytes)).into_owned();
        if captured.left_out() > 0 {
            let (head, tail) = (without_last_word(&captured.head), without_first_word(&captured.tail));
            return Self { captured, head: shown(head), tail: shown(tail) };
        }
        let head = shown(&[captured.head.as_slice(), &captured.tail].concat());
        Self { captured, head, tail: String::new() }
    }

    /// Characters it would take to show all that is in memory.
    fn length(&self) -> usize {
        self.head.chars().count() + self.tail.chars().count()
    }

    fn fit(
        &self,
        room: usize,
        store: impl FnOnce(&[u8]) -> Result<PathBuf, String>,
        files: &mut Vec<PathBuf>,
    ) -> String {
        let complete = self.captured.left_out() == 0;
        if complete && self.length() <= room {
            return self.head.clone();
        }
        let stored = self.captured.file.clone().unwrap_or_else(|| {
            let raw = [self.captured.head.as_slice(), &self.captured.tail].concat();
            store(&raw)
        });
        files.extend(stored.iter().cloned());
        let note = note(&self.size(), &stored);
        if complete {
            return cut(&self.head, room, &note);
        }
        let keep = room / 2;
        let head_end = self.head.char_indices().nth(keep).map_or(self.head.len(), |(at, _)| at);
        let skipped = self.tail.chars().count().saturating_sub(keep);
        let tail_start = self.tail.char_indices().nth(skipped).map_or(self.tail.len(), |(at, _)| at);
        join(&self.head[..head_end], &note, &self.tail[tail_start..])
    }

    fn size(&self) -> String {
        let cap = if self.captured.file_is_cut {
            format!(", of which the first {SPOOL_LIMIT} are stored")
        } else {
            String::new()
        };
        format!("{} bytes{cap}", self.captured.total)
    }
}

/// Output up to the word that the end of memory may have cut in two.
fn without_last_word(bytes: &[u8]) -> &[u8] {
    let longest = bytes.len().saturating_sub(LONGEST_WORD);
    let blank = bytes[longest..].iter().rposition(u8::is_ascii_whitespace);
    blank.map_or(bytes, |blank| &bytes[..=longest + blank])
}

/// Output after the word that its beginning may have cut in two.
pub(super) fn without_first_word(bytes: &[u8]) -> &[u8] {
    let blank = bytes.iter().take(LONGEST_WORD).position(u8::is_ascii_whitespace);
    blank.map_or(bytes, |blank| &bytes[blank..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Bench;

    fn captured(text: &str) -> Captured {
        Captured { head: text.as_bytes().to_vec(), total: text.len() as u64, ..Captured::default() }
    }

    fn show(stdout: &str, stderr: &str) -> (tempfile::TempDir, Shown) {
        let dir = tempfile::tempdir().unwrap();
        let view = View { spill_dir: dir.path().to_owned(), ..Bench::new().view() };
        let shown = Shown::new(&captured(stdout), &captured(stderr), &view, &CallId::from("c"));
        (dir, shown)
    }

    #[test]
    fn output_comes_before_errors() {
        let (_dir, shown) = show("\nout\n\n", "err\n");
        assert_eq!(shown.text(), "out\nerr");
        assert!(shown.files.is_empty());
    }

    // EXEC-41
    #[test]
    fn both_streams_together_fit_the_bound() {
        let (_dir, shown) = show(&"o".repeat(50_000), &"e".repeat(50_000));
        assert!(shown.text().chars().count() <= LIMIT);
        assert!(shown.stderr.matches('e').count() > 8_000 && shown.stdout.matches('o').count() > 15_000);
        assert!(shown.text().contains("50000 bytes"));
        let contents: Vec<_> = shown.files.iter().map(|file| fs_err::read(file).unwrap().len()).collect();
        assert_eq!(contents, [50_000, 50_000]);
        let (_dir, shown) = show("short", &"e".repeat(50_000));
        assert!(shown.stderr.matches('e').count() > 28_000, "the room that output leaves is used");
    }
}
