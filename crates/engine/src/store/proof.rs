//! Following the chain of hashes through a long log, beside whoever reads it: that is a third of the work, and a session
//! that goes on waits for it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::{packed, record, writer};

/// Shorter logs are read in a moment.
const WORTH_A_THREAD: u64 = if cfg!(test) { 4 * 1024 } else { 4 * 1024 * 1024 };
/// Bytes that are read at once, and after which is told how far it got.
const PIECE: usize = 128 * 1024;

/// How far a log is known to be as it was written. The other end stops when this one is gone.
#[derive(Debug)]
pub(super) struct Proof(Arc<(Mutex<Progress>, Condvar)>);

#[derive(Debug, Default)]
struct Progress {
    /// Bytes from the beginning whose lines continue each other.
    proven: u64,
    /// There will not be more.
    ended: bool,
}

impl Proof {
    /// Begins at the beginning of a log, if that is worth while.
    pub(super) fn begin(log: &Path) -> Option<Self> {
        let is_long = || fs_err::metadata(log).is_ok_and(|meta| meta.len() >= WORTH_A_THREAD);
        let is_possible = || thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        if packed::is_packed(log) || !is_long() || !is_possible() {
            return None;
        }
        let file = fs_err::File::open(log).ok()?;
        let shared = Arc::<(Mutex<Progress>, Condvar)>::default();
        let told = Arc::clone(&shared);
        let follow = move || {
            follow(BufReader::with_capacity(PIECE, file), &told);
            lock(&told.0).ended = true;
            told.1.notify_one();
        };
        thread::Builder::new().name("proof".to_owned()).spawn(follow).ok()?;
        Some(Self(shared))
    }

    /// Whether the log is proven up to this byte. Waits until that is known.
    pub(super) fn covers(&self, end: u64) -> bool {
        let (progress, told) = &*self.0;
        let is_open = |progress: &mut Progress| progress.proven < end && !progress.ended;
        let progress = told.wait_while(lock(progress), is_open).unwrap_or_else(PoisonError::into_inner);
        progress.proven >= end
    }
}

/// Goes through the lines up to the first that does not continue the one before it.
fn follow(mut log: impl BufRead, shared: &Arc<(Mutex<Progress>, Condvar)>) {
    let (mut proven, mut untold) = (0, 0);
    let (mut line, mut previous) = (Vec::new(), String::new());
    let tell = |proven: u64| {
        lock(&shared.0).proven = proven;
        shared.1.notify_one();
    };
    while Arc::strong_count(shared) > 1 {
        line.clear();
        let length = log.read_until(b'\n', &mut line).unwrap_or(0);
        let text = line.strip_suffix(b"\n").and_then(|text| std::str::from_utf8(text).ok());
        let Some((open, hash)) = text.and_then(record::parts) else { return tell(proven) };
        if writer::chain(&previous, open) != hash {
            return tell(proven);
        }
        previous.replace_range(.., hash);
        proven += length as u64;
        untold += length;
        if untold >= PIECE {
            untold = 0;
            tell(proven);
        }
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LogWriter;

    #[test]
    fn a_log_is_proven_up_to_the_first_line_that_was_changed() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log.jsonl");
        let mut writer = LogWriter::open(&log, "test").unwrap();
        let mut ends = vec![0];
        for number in 0..200 {
            writer.append(&format!("{{\"number\":{number},\"text\":\"{}\"}}", "x".repeat(50))).unwrap();
            ends.push(fs_err::metadata(&log).unwrap().len());
        }
        let whole = fs_err::read(&log).unwrap();
        if let Some(proof) = Proof::begin(&log) {
            assert!(proof.covers(1) && proof.covers(ends[200]) && !proof.covers(ends[200] + 1));
        }
        for line in [0, 1, 77, 199] {
            let mut changed = whole.clone();
            changed[usize::try_from(ends[line]).unwrap() + 20] ^= 1;
            fs_err::write(&log, changed).unwrap();
            if let Some(proof) = Proof::begin(&log) {
                assert!(proof.covers(ends[line]) && !proof.covers(ends[line] + 1), "{line}");
            }
        }
        fs_err::write(&log, &whole[..WORTH_A_THREAD as usize - 1]).unwrap();
        assert!(Proof::begin(&log).is_none(), "it is short");
    }
}
