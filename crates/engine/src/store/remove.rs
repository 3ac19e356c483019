//! Removing a session with everything that belongs to it.

use std::path::Path;

use tiller_protocol::id::SessionId;
use tiller_tools::todo_file;

use super::{LogWriter, StoreError, packed};

/// Removes a session: its log, what lies beside it and its todo list. Returns the bytes that were freed.
///
/// # Errors
/// When it is in use, or a file cannot be removed.
pub fn remove(config_dir: &Path, log: &Path, id: SessionId) -> Result<u64, StoreError> {
    // Nobody can open it any more while it is being removed.
    let _held = LogWriter::open(log, &id.to_string())?;
    let beside = log.with_file_name(id.to_string());
    let mut freed = fs_err::metadata(log)?.len() + length(&beside);
    if beside.is_dir() {
        fs_err::remove_dir_all(&beside)?;
    }
    let todos = todo_file::path(config_dir, id);
    if let Ok(metadata) = fs_err::metadata(&todos) {
        freed += metadata.len();
        fs_err::remove_file(&todos)?;
    }
    // What it was unpacked from would bring it back.
    let packed = packed::with_ending(log);
    if let Ok(metadata) = fs_err::metadata(&packed) {
        freed += metadata.len();
        fs_err::remove_file(&packed)?;
    }
    // The log goes last: as long as it is there, the rest can be found.
    fs_err::remove_file(log)?;
    Ok(freed)
}

fn length(dir: &Path) -> u64 {
    let Ok(entries) = fs_err::read_dir(dir) else { return 0 };
    let lengths = entries.filter_map(Result::ok).map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => length(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    lengths.sum()
}
