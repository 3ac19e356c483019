//! One line of a log: an entry with its place in the chain, somebody else's line, or damage.

use serde::Deserialize;
use serde::de::IgnoredAny;
use tiller_protocol::entry::Entry;
use tiller_protocol::line;

use super::writer::{HASH_FIELD, HASH_LEN, chain};

/// How every line of ours begins.
const BEGIN: &str = "{\"type\":\"";

/// What a line turned out to be.
pub(super) enum Read {
    /// An entry.
    Record(Box<Record>),
    /// A line of another program.
    Foreign,
    /// Nothing that can be used.
    Damaged,
}

/// An entry as it stands in the log.
pub(super) struct Record {
    pub(super) entry: Entry,
    /// What the hash covers.
    pub(super) line: String,
    /// Absent in lines of versions that did not write one.
    pub(super) hash: Option<String>,
}

impl Record {
    /// The hash it has to have behind a record with this one.
    pub(super) fn expected(&self, previous: &str) -> String {
        chain(previous, &self.line)
    }

    pub(super) fn continues(&self, previous: &str) -> bool {
        self.hash.as_ref().is_some_and(|hash| *hash == self.expected(previous))
    }
}

pub(super) fn read(text: &[u8]) -> Read {
    if is_foreign(text) {
        return Read::Foreign;
    }
    match std::str::from_utf8(text).ok().and_then(parse) {
        Some(record) => Read::Record(Box::new(record)),
        None => Read::Damaged,
    }
}

/// A whole record behind the beginning of another one: its writer was cut off, and somebody went on in the same line.
pub(super) fn salvage(text: &[u8], previous: &str) -> Option<Record> {
    let text = std::str::from_utf8(text).ok()?;
    let mut starts = text.match_indices(BEGIN).map(|(at, _)| at).filter(|at| *at > 0);
    starts.find_map(|at| as_written(&text[at..]).filter(|record| record.continues(previous)))
}

/// Other programs add lines of their own, such as titles: JSON without our sequence number. They are left alone.
fn is_foreign(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Foreign {
        #[serde(rename = "type")]
        _kind: IgnoredAny,
        seq: Option<IgnoredAny>,
        hash: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Foreign>(text).is_ok_and(|line| line.seq.is_none() && line.hash.is_none())
}

fn parse(text: &str) -> Option<Record> {
    as_written(text).or_else(|| rewritten(text))
}

/// An entry that another program, or an older version, has written: the same facts in other bytes.
fn rewritten(text: &str) -> Option<Record> {
    let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
    let hash = match value.as_object_mut()?.shift_remove("hash") {
        Some(hash) => Some(hash.as_str()?.to_owned()),
        None => None,
    };
    let line = value.to_string();
    Some(Record { entry: line::read(&line).ok()?, line, hash })
}

fn as_written(text: &str) -> Option<Record> {
    let open = text.strip_suffix("\"}")?;
    let at = open.len().checked_sub(HASH_LEN)?;
    let hash = open.get(at..)?.to_owned();
    let line = format!("{}}}", open.get(..at)?.strip_suffix(HASH_FIELD)?);
    Some(Record { entry: line::read(&line).ok()?, line, hash: Some(hash) })
}
