//! Reading a log back, one entry at a time. A torn last line is left out; a damaged one in the middle loses only
//! itself.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tiller_protocol::entry::Entry;
use tiller_protocol::line;

use super::StoreError;
use super::writer::{HASH_FIELD, HASH_LEN, chain};

/// What was found besides entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// The last line is incomplete: the writer was stopped in the middle of it.
    TornTail {
        /// Bytes that will be cut off.
        bytes: u64,
    },
    /// A line cannot be read.
    Unreadable {
        /// Its number, from 1.
        line: u64,
    },
    /// A line was changed, or one before it is missing.
    BrokenChain {
        /// Its number, from 1.
        line: u64,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TornTail { bytes } => {
                write!(f, "the last record was incomplete ({bytes} bytes) and was cut off")
            }
            Self::Unreadable { line } => write!(f, "line {line} is damaged and was skipped"),
            Self::BrokenChain { line } => write!(f, "line {line} does not continue the line before it"),
        }
    }
}

/// What loading tells besides the entries themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Length of the sound part of the file.
    pub length: u64,
    /// Hash of the last sound line.
    pub hash: String,
    /// Entries read.
    pub entries: u64,
    /// What was wrong.
    pub damage: Vec<Damage>,
    /// The name of the session's plan files, as the first line with one tells it.
    pub slug: Option<String>,
}

/// Reads a log and gives each entry to `take`, in order. Memory does not grow with the log.
///
/// # Errors
/// When the file cannot be read.
pub fn load(path: &Path, mut take: impl FnMut(Entry)) -> Result<Loaded, StoreError> {
    let mut reader = BufReader::new(fs_err::File::open(path)?);
    let mut loaded = Loaded::default();
    let mut buffer = Vec::new();
    let mut number = 0;
    let mut chained = true;
    loop {
        buffer.clear();
        let bytes = reader.read_until(b'\n', &mut buffer)? as u64;
        if bytes == 0 {
            return Ok(loaded);
        }
        number += 1;
        let Some(text) = buffer.strip_suffix(b"\n") else {
            loaded.damage.push(Damage::TornTail { bytes });
            return Ok(loaded);
        };
        loaded.length += bytes;
        if is_foreign(text) {
            continue;
        }
        let Some((entry, line, hash)) = parse(text) else {
            loaded.damage.push(Damage::Unreadable { line: number });
            chained = false;
            continue;
        };
        if chained && chain(&loaded.hash, &line) != hash {
            loaded.damage.push(Damage::BrokenChain { line: number });
        }
        chained = true;
        loaded.slug = loaded.slug.take().or_else(|| told_slug(&line));
        loaded.hash = hash;
        loaded.entries += 1;
        take(entry);
    }
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

/// Most lines have none, which is seen without parsing them once more.
fn told_slug(line: &str) -> Option<String> {
    if line.contains("\"slug\":\"") { line::slug(line) } else { None }
}

/// An entry, the line its hash covers, and the hash.
fn parse(text: &[u8]) -> Option<(Entry, String, String)> {
    let text = std::str::from_utf8(text).ok()?;
    as_written(text).or_else(|| rewritten(text))
}

/// An entry that another program has written anew: the same facts in other bytes. Its hash no longer proves anything.
fn rewritten(text: &str) -> Option<(Entry, String, String)> {
    let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
    let hash = value.as_object_mut()?.remove("hash")?.as_str()?.to_owned();
    let line = value.to_string();
    Some((line::read(&line).ok()?, line, hash))
}

fn as_written(text: &str) -> Option<(Entry, String, String)> {
    let open = text.strip_suffix("\"}")?;
    let at = open.len().checked_sub(HASH_LEN)?;
    let hash = open.get(at..)?;
    let line = format!("{}}}", open.get(..at)?.strip_suffix(HASH_FIELD)?);
    Some((line::read(&line).ok()?, line, hash.to_owned()))
}
