//! The lines of a log as they were written, without what is damaged in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use tiller_protocol::entry::Body;
use tiller_protocol::id::SessionId;
use tiller_protocol::line::{self, Envelope};

use super::record::{Extent, Read, read};
use super::{Loaded, StoreError, load, open};
use crate::journal::VERSION;

/// Gives each sound line to `take`, byte for byte, those of other programs included. What was saved out of a damaged
/// line stands in a line of its own.
///
/// # Errors
/// When the file cannot be read.
pub fn sound_lines(
    path: &Path,
    session: SessionId,
    mut take: impl FnMut(&str),
) -> Result<Loaded, StoreError> {
    let mut wanted = BTreeMap::new();
    let loaded = load(path, |entry| _ = wanted.insert(entry.seq, entry.id))?;
    let mut whole = BTreeSet::new();
    each_line(path, |text| {
        if let Read::Record(record) = read(text.as_bytes(), Extent::Bare)
            && wanted.get(&record.entry.seq) == Some(&record.entry.id)
        {
            whole.insert((record.entry.seq, record.entry.id));
        }
    })?;
    wanted.retain(|seq, id| !whole.contains(&(*seq, *id)));
    let mut saved = if wanted.is_empty() { BTreeMap::new() } else { written_anew(path, session, &wanted)? };
    each_line(path, |text| match read(text.as_bytes(), Extent::Bare) {
        Read::Foreign => take(text),
        Read::Record(record) if whole.remove(&(record.entry.seq, record.entry.id)) => {
            while saved.first_key_value().is_some_and(|(seq, _)| *seq < record.entry.seq) {
                saved.pop_first().into_iter().for_each(|(_, line)| take(&line));
            }
            take(text);
        }
        Read::Record(_) | Read::Damaged => {}
    })?;
    saved.values().for_each(|line| take(line));
    Ok(loaded)
}

fn each_line(path: &Path, mut take: impl FnMut(&str)) -> Result<(), StoreError> {
    let mut reader = BufReader::new(open(path)?);
    let mut buffer = Vec::new();
    // A compressed file may be damaged at its end; loading has told so.
    while reader.read_until(b'\n', &mut buffer).is_ok_and(|bytes| bytes > 0) {
        if let Some(Ok(text)) = buffer.strip_suffix(b"\n").map(std::str::from_utf8) {
            take(text);
        }
        buffer.clear();
    }
    Ok(())
}

/// Entries that have no line of their own, as lines.
fn written_anew<T>(
    path: &Path,
    session: SessionId,
    wanted: &BTreeMap<u64, T>,
) -> Result<BTreeMap<u64, String>, StoreError> {
    let mut lines = BTreeMap::new();
    let mut cwd = PathBuf::new();
    load(path, |entry| {
        if let Body::Opened(opened) = &entry.body {
            cwd.clone_from(&opened.cwd);
        }
        let envelope = Envelope { session, cwd: &cwd, version: VERSION, git_branch: None, slug: None };
        if wanted.contains_key(&entry.seq)
            && let Ok(line) = line::write(&entry, &envelope)
        {
            lines.insert(entry.seq, line);
        }
    })?;
    Ok(lines)
}
