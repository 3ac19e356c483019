//! The paths at which sockets are bound, in Tiller's network and in those of the user's other processes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a process counts as being in the network that it was seen in.
const SETTLED: Duration = Duration::from_secs(60);
/// How long it takes until it is worth while to look again.
const FRESH: Duration = Duration::from_secs(10);

static KNOWN: Mutex<Networks> = Mutex::new(Networks { of: BTreeMap::new(), since: None });

/// The networks that processes were seen in, and since when. None of a process that is another user's.
struct Networks {
    of: BTreeMap<String, Option<PathBuf>>,
    since: Option<Instant>,
}

/// Looks at all processes if that was some time ago, so that before the next command only new ones have to be looked at.
pub(crate) fn look_at_networks() {
    let is_fresh = known().is_younger_than(FRESH);
    if !is_fresh {
        let mut looked = Networks { of: BTreeMap::new(), since: None };
        looked.look(&processes());
        *known() = looked;
    }
}

fn known() -> MutexGuard<'static, Networks> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Networks {
    /// Keeps these processes and looks where those are that are new, or all of them after a while.
    fn look(&mut self, processes: &[String]) {
        if !self.is_younger_than(SETTLED) {
            *self = Self { of: BTreeMap::new(), since: Some(Instant::now()) };
        }
        let mut before = std::mem::take(&mut self.of);
        let mut network = |process: &String| before.remove(process).unwrap_or_else(|| network_of(process));
        self.of = processes.iter().map(|process| (process.clone(), network(process))).collect();
    }

    fn is_younger_than(&self, age: Duration) -> bool {
        self.since.is_some_and(|since| since.elapsed() <= age)
    }
}

pub(super) fn paths() -> Vec<PathBuf> {
    let processes = processes();
    let mut known = known();
    known.look(&processes);
    let mut networks = BTreeSet::from([network_of("self")]);
    let mut paths = paths_in("/proc/net/unix");
    for (process, network) in &known.of {
        if networks.insert(network.clone()) {
            paths.extend(paths_in(&format!("/proc/{process}/net/unix")));
        }
    }
    let (mut absolute, relative): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_absolute());
    if !relative.is_empty() {
        // Whoever bound them most likely still is where it was.
        let dirs: BTreeSet<PathBuf> = processes.iter().filter_map(|process| link(process, "cwd")).collect();
        absolute.extend(dirs.iter().flat_map(|dir| relative.iter().map(|path| dir.join(path))));
    }
    absolute
}

fn processes() -> Vec<String> {
    let entries = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

fn network_of(process: &str) -> Option<PathBuf> {
    link(process, "ns/net")
}

fn link(process: &str, name: &str) -> Option<PathBuf> {
    fs_err::read_link(format!("/proc/{process}/{name}")).ok()
}

/// The last column of the table: paths as they were bound. Names that are none begin with `@`.
fn paths_in(table: &str) -> Vec<PathBuf> {
    let table = fs_err::read(table).unwrap_or_default();
    let rows = table.split(|byte| *byte == b'\n').skip(1);
    let paths = rows.filter_map(|row| path_of(row).map(<[u8]>::to_vec));
    paths.map(|path| PathBuf::from(OsString::from_vec(path))).collect()
}

/// Reads `address: references protocol flags type state inode path`.
fn path_of(mut row: &[u8]) -> Option<&[u8]> {
    for _ in 0..7 {
        let start = row.iter().position(|byte| *byte != b' ')?;
        let end = row[start..].iter().position(|byte| *byte == b' ')?;
        row = &row[start + end..];
    }
    row.strip_prefix(b" ").filter(|path| !path.is_empty() && !path.starts_with(b"@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let row = b"0000000000000000: 00000002 00000000 00010000 0001 01 29393 /run/a socket";
        assert_eq!(path_of(row), Some(&b"/run/a socket"[..]));
        let row = b"0000000000000000: 00000002 00000000 00010000 0001 01     7 here";
        assert_eq!(path_of(row), Some(&b"here"[..]));
        for none in ["0000000000000000: 00000003 00000000 00000000 0001 03 39", "", "a b c d e f g @hidden"] {
            assert_eq!(path_of(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn processes_are_looked_at_when_they_are_new() {
        let own = std::process::id().to_string();
        let elsewhere = Some(PathBuf::from("net:[1]"));
        let mut networks = Networks { of: BTreeMap::new(), since: Some(Instant::now()) };
        networks.of.insert(own.clone(), elsewhere.clone());
        networks.of.insert("gone".to_owned(), elsewhere.clone());
        networks.look(std::slice::from_ref(&own));
        assert_eq!(networks.of, BTreeMap::from([(own.clone(), elsewhere)]), "it was seen a moment ago");
        networks.since = None;
        networks.look(std::slice::from_ref(&own));
        assert_eq!(networks.of, BTreeMap::from([(own, network_of("self"))]));
    }
}
