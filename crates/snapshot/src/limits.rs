//! How much a snapshot holds.

/// Bounds of what is kept. What lies beyond them is known to exist, and left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Files and directories of all roots together.
    pub entries: usize,
    /// Bytes that one snapshot may add to the store.
    pub added: u64,
    /// Bytes of a file.
    pub file: u64,
    /// Bytes of a file that an ignore file names.
    pub ignored_file: u64,
    /// Entries of a directory that an ignore file names, such as build output.
    pub ignored_entries: usize,
    /// Bytes of such a directory.
    pub ignored_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 150_000,
            added: 4 << 30,
            file: 32 << 20,
            ignored_file: 1 << 20,
            ignored_entries: 256,
            ignored_bytes: 8 << 20,
        }
    }
}
