//! A first look at a log that reads hardly any of its lines: their beginnings tell of what kind they are.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;

use tiller_protocol::entry::Body;
use tiller_protocol::id::CallId;
use tiller_protocol::line;

use super::{StoreError, packed};

/// Bytes that are read at once.
const BUFFER: usize = 128 * 1024;

/// What the kinds of its lines tell of a log. It proves nothing: whoever relies on it reads the log afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// Somebody went back, or the conversation was folded: it is a view of the log.
    pub(crate) is_view: bool,
    /// Calls whose results were cleared, unless it is a view.
    pub(crate) cleared: HashSet<CallId>,
}

pub(crate) fn kinds(log: &Path) -> Result<Kinds, StoreError> {
    let mut reader = BufReader::with_capacity(BUFFER, packed::open(log)?);
    let mut kinds = Kinds::default();
    let mut line = Vec::new();
    // A view is read in another way, whatever else the log holds.
    while !kinds.is_view {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(kinds),
            Ok(_) => {}
            Err(error) if packed::is_damage(log, &error) => return Ok(kinds),
            Err(error) => return Err(error.into()),
        }
        if !line.ends_with(b"\n") {
            // It is torn, and will be cut off.
            return Ok(kinds);
        }
        let is = |kind: &str| line.starts_with(b"{\"type\":\"") && line[9..].starts_with(kind.as_bytes());
        if is("rewound\"") {
            kinds.is_view = true;
        } else if is("system\"") || is("cleared\"") {
            let entry = std::str::from_utf8(&line).ok().and_then(|text| line::read(text).ok());
            match entry.map(|entry| entry.body) {
                Some(Body::Compacted(_)) => kinds.is_view = true,
                Some(Body::Cleared(cleared)) => kinds.cleared.extend(cleared.calls),
                _ => {}
            }
        }
    }
    Ok(kinds)
}
