//! What earlier sessions were about, told by their logs: how they began and how they ended. No model is asked.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use tiller_protocol::entry::Body;
use tiller_protocol::id::SessionId;
use tiller_protocol::line;
use tiller_steering::attachment::Memory;

use super::head::title;
use super::here;

/// Bytes of the end of a log that are looked at for the last answer.
const TAIL: u64 = 128 * 1024;
/// Characters of the last answer that are told.
const ANSWER_CHARS: usize = 300;

/// Sessions of a project other than this one in which something was said, newest first.
pub(crate) fn recall(config_dir: &Path, project: &Path, except: SessionId, at_most: usize) -> Vec<Memory> {
    let others = here(config_dir, project).filter(|file| file.id != except);
    others
        .filter_map(|file| {
            let log = file.log;
            let began = title(&log)?;
            let date = Timestamp::try_from(file.modified).ok()?.strftime("%Y-%m-%d").to_string();
            let text = match last_answer(&log) {
                Some(answer) => format!("It began with \"{began}\" and ended with \"{answer}\""),
                None => format!("It began with \"{began}\""),
            };
            Some(Memory { date, text })
        })
        .take(at_most)
        .collect()
}

/// The beginning of the last text that the model wrote.
fn last_answer(log: &Path) -> Option<String> {
    let mut file = fs_err::File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let answer =
        tail.lines().rev().filter_map(|text| line::read(text).ok()).find_map(|entry| match entry.body {
            Body::Assistant(block) if block.api_error.is_none() => block.block.as_text(),
            _ => None,
        })?;
    let line = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(match line.char_indices().nth(ANSWER_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    })
}
