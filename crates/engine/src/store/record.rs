//! One line of a log: an entry with its place in the chain, somebody else's line, or damage.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::line;

use super::writer::{HASH_FIELD, HASH_LEN, chain};

/// How every line of ours begins.
const BEGIN: &str = "{\"type\":\"";

/// How much of a line is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// All but what a call has returned.
    Bare,
}

/// What a line turned out to be.
pub(super) enum Read<'a> {
    /// An entry.
    Record(Box<Record<'a>>),
    /// A line of another program.
    Foreign,
    /// Nothing that can be used.
    Damaged,
}

/// An entry as it stands in the log.
pub(super) struct Record<'a> {
    pub(super) entry: Entry,
    /// What the hash covers, without the brace that closes it.
    pub(super) open: Cow<'a, str>,
    /// Absent in lines of versions that did not write one.
    pub(super) hash: Option<Cow<'a, str>>,
}

impl Record<'_> {
    /// The hash it has to have behind a record with this one.
    pub(super) fn expected(&self, previous: &str) -> String {
        chain(previous, &self.open)
    }

    pub(super) fn continues(&self, previous: &str) -> bool {
        self.hash.as_ref().is_some_and(|hash| *hash == self.expected(previous))
    }

    /// The same, without the line it was read from.
    pub(super) fn into_owned(self) -> Record<'static> {
        Record {
            entry: self.entry,
            open: Cow::Owned(self.open.into_owned()),
            hash: self.hash.map(|hash| Cow::Owned(hash.into_owned())),
        }
    }
}

pub(super) fn read(text: &[u8], extent: Extent) -> Read<'_> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(_) => return Read::Damaged,
    };
    // Nearly all lines are as they were written, and parsed once.
    match as_written(text, extent) {
        Some(record) => Read::Record(Box::new(record)),
        None if is_foreign(text) => Read::Foreign,
        None => rewritten(text).map_or(Read::Damaged, |record| Read::Record(Box::new(record))),
    }
}

/// Whole records in a line that is none: a writer was cut off and somebody went on behind it, or the end of a line was
/// damaged. Only what continues the chain counts.
pub(super) fn salvage(text: &[u8], previous: &str) -> Vec<Record<'static>> {
    let text = String::from_utf8_lossy(text);
    let starts: Vec<usize> = text.match_indices(BEGIN).map(|(at, _)| at).collect();
    let mut found: Vec<Record<'static>> = Vec::new();
    let mut from = 0;
    for start in &starts {
        if *start < from {
            continue;
        }
        let ends = starts.iter().copied().filter(|end| end > start).chain([text.len()]);
        let previous = found.last().and_then(|record| record.hash.as_deref()).unwrap_or(previous);
        let whole =
            ends.filter_map(|end| Some((end, text[*start..end].rfind("\"}")?))).find_map(|(end, close)| {
                let record = as_written(&text[*start..*start + close + 2], Extent::Whole)?;
                record.continues(previous).then(|| (record.into_owned(), end))
            });
        if let Some((record, end)) = whole {
            found.push(record);
            from = end;
        }
    }
    found
}

/// Other programs add lines of their own, such as titles: JSON without our sequence number. They are left alone.
fn is_foreign(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Foreign {
        #[serde(rename = "type")]
        _kind: IgnoredAny,
        seq: Option<IgnoredAny>,
        hash: Option<IgnoredAny>,
    }
    serde_json::from_str::<Foreign>(text).is_ok_and(|line| line.seq.is_none() && line.hash.is_none())
}

/// An entry that another program, or an older version, has written: the same facts in other bytes.
fn rewritten(text: &str) -> Option<Record<'static>> {
    let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
    let hash = match value.as_object_mut()?.shift_remove("hash") {
        Some(hash) => Some(Cow::Owned(hash.as_str()?.to_owned())),
        None => None,
    };
    let mut line = value.to_string();
    let entry = line::read(&line).ok()?;
    line.pop();
    Some(Record { entry, open: Cow::Owned(line), hash })
}

/// What the hash of a line covers, without the brace that closes it, and the hash.
pub(super) fn parts(text: &str) -> Option<(&str, &str)> {
    // An editor or a transfer may have ended lines in its own way.
    let rest = text.strip_suffix('\r').unwrap_or(text).strip_suffix("\"}")?;
    let at = rest.len().checked_sub(HASH_LEN)?;
    Some((rest.get(..at)?.strip_suffix(HASH_FIELD)?, rest.get(at..)?))
}

fn as_written(text: &str, extent: Extent) -> Option<Record<'_>> {
    let (open, hash) = parts(text)?;
    let mut entry = match extent {
        Extent::Whole => line::read(text).ok()?,
        Extent::Bare => line::read_bare(text).ok()?,
    };
    // What is kept as it is must not take the hash of its line for a part of itself.
    if matches!(entry.body, Body::Unknown(_)) {
        entry = line::read(&format!("{open}}}")).ok()?;
    }
    Some(Record { entry, open: Cow::Borrowed(open), hash: Some(Cow::Borrowed(hash)) })
}
