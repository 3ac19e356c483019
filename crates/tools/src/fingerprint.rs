//! What identifies a file's content.

use tiller_protocol::effect::Fingerprint;

/// Files up to this size are identified by their content, larger ones by size and time stamp.
pub(crate) const HASHED_UP_TO: u64 = 32 * 1024 * 1024;

/// The fingerprint of content.
#[must_use]
pub fn of_content(bytes: &[u8]) -> Fingerprint {
    Fingerprint(format!("blake3:{}", blake3::hash(bytes).to_hex()))
}

/// The fingerprint of a file too large to be read for it.
pub(crate) fn of_stamp(size: u64, mtime_ns: i128) -> Fingerprint {
    Fingerprint(format!("stamp:{size}:{mtime_ns}"))
}
