//! The bound on what a result may take of the conversation: the rest is stored where the model can read it.

use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::id::CallId;

use crate::tool::Done;

/// Characters set aside for the note about what was left out.
const NOTE: usize = 500;

/// Cuts the text of a result to `limit` characters. What was cut is stored in a file below `spill_dir`, and a note in
/// the text says how much there was and where it is. Other blocks stay as they are.
#[must_use]
pub fn bound(mut done: Done, limit: usize, spill_dir: &Path, call: &CallId) -> Done {
    let texts: Vec<Option<String>> = done.content.iter().map(RawBlock::as_text).collect();
    let total: usize = texts.iter().flatten().map(|text| text.chars().count()).sum();
    if total <= limit {
        return done;
    }
    let whole = texts.iter().flatten().map(String::as_str).collect::<Vec<_>>().join("\n");
    let stored = store(spill_dir, &format!("{}.txt", file_stem(call)), whole.as_bytes());
    let note = note(&format!("{total} characters"), &stored);
    let mut room = limit.saturating_sub(NOTE);
    let mut content = Vec::with_capacity(done.content.len());
    for (block, text) in done.content.into_iter().zip(texts) {
        match text {
            None => content.push(block),
            Some(text) => content.extend(fit(block, &text, &mut room, &note)),
        }
    }
    done.content = content;
    if let Value::String(detail) = &done.detail {
        done.detail = cut(detail, limit.saturating_sub(NOTE), &note).into();
    }
    done
}

/// The block as it is, cut to the room that is left, or nothing when there is none.
fn fit(block: RawBlock, text: &str, room: &mut usize, note: &str) -> Option<RawBlock> {
    let length = text.chars().count();
    if length <= *room {
        *room -= length;
        return Some(block);
    }
    let room = std::mem::take(room);
    (room > 0).then(|| RawBlock::text(&cut(text, room, note)))
}

/// Keeps `room` characters of a text, half from its beginning and half from its end, with a note in between.
pub(crate) fn cut(text: &str, room: usize, note: &str) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let place = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let tail = room / 2;
    join(&text[..place(room - tail)], note, &text[place(length - tail)..])
}

/// A beginning and an end with a note in between, cut at line ends where these are near.
pub(crate) fn join(head: &str, note: &str, tail: &str) -> String {
    let head = match head.rfind('\n') {
        Some(at) if at > head.len() * 3 / 4 => &head[..at],
        _ => head,
    };
    let tail = match tail.find('\n') {
        Some(at) if at < tail.len() / 4 => &tail[at + 1..],
        _ => tail,
    };
    format!("{head}\n\n{note}\n\n{tail}")
}

/// Says how much there was and where it is.
pub(crate) fn note(size: &str, stored: &Result<PathBuf, String>) -> String {
    match stored {
        Ok(path) => format!(
            "[... cut here: {size} in all. Everything is in {}; look at parts of it with Read (offset, limit) or Grep ...]",
            path.display()
        ),
        Err(error) => {
            format!("[... cut here: {size} in all. The rest is lost, it could not be stored: {error} ...]")
        }
    }
}

/// A call's id as a file name.
pub(crate) fn file_stem(call: &CallId) -> String {
    call.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(80).collect()
}

/// Stores text where only the user can read it.
pub(crate) fn store(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let path = dir.join(name);
    let write = || -> io::Result<()> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut options = fs_err::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600).open(&path)?.write_all(bytes)
    };
    write().map_err(|error| error.to_string())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text_of(done: &Done) -> String {
        done.content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n")
    }

    // EXEC-41
    #[test]
    fn a_long_result_is_cut_with_its_size_and_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("begin{}end", "é".repeat(5000));
        let done = bound(Done::text(&text), 2000, &dir.path().join("spill"), &CallId::from("call/1"));
        let cut = text_of(&done);
        let file = dir.path().join("spill/call_1.txt");
        assert!(cut.starts_with("begin") && cut.ends_with("end"), "{cut}");
        assert!(cut.contains("5008 characters") && cut.contains(file.to_str().unwrap()), "{cut}");
        assert!(cut.chars().count() <= 2000, "{}", cut.chars().count());
        assert_eq!(done.detail, json!(cut));
        assert_eq!(fs_err::read_to_string(file).unwrap(), text);
    }

    // EXEC-41
    #[test]
    fn what_fits_and_what_is_no_text_stays() {
        let dir = tempfile::tempdir().unwrap();
        let image = RawBlock::from_value(&json!({"type": "image", "source": {"data": "x".repeat(9000)}}));
        let content =
            vec![image.clone(), RawBlock::text("short"), RawBlock::text(&"y".repeat(3000)), image.clone()];
        let done = Done { content, ..Done::default() };
        let same = bound(done.clone(), 3005, dir.path(), &CallId::from("c"));
        assert_eq!(same.content, done.content);
        let cut = bound(done, 1000, dir.path(), &CallId::from("c"));
        assert_eq!((cut.content.len(), &cut.content[0], &cut.content[3]), (4, &image, &image));
        assert_eq!(cut.content[1].as_text().unwrap(), "short");
        assert!(text_of(&cut).chars().count() <= 1000);
    }

    #[test]
    fn a_file_that_cannot_be_stored_is_told() {
        let done = bound(Done::text(&"x".repeat(2000)), 1000, Path::new("/proc/none"), &CallId::from("c"));
        assert!(text_of(&done).contains("could not be stored"));
    }

    proptest! {
        #[test]
        fn cutting_never_splits_a_character(text in "\\PC{0,300}", room in 0_usize..200) {
            let shown = cut(&text, room, "NOTE");
            prop_assert!(shown.chars().count() <= room.max(text.chars().count().min(room)) + "\n\nNOTE\n\n".len());
        }
    }
}
