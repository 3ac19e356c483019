//! The paths at which sockets are bound, in Tiller's network and in those of the user's other processes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

use crate::confine::proc;

/// How long a process counts as being in the network that it was seen in.
const SETTLED: Duration = Duration::from_secs(60);
/// How long it takes until it is worth while to look again.
const FRESH: Duration = Duration::from_secs(10);
/// How many numbers are tried one by one, before listing all processes costs less.
const TRIED: u32 = 100;
/// How many of the last numbers may belong to processes that are only about to be listed.
const NEWEST: u32 = 8;

/// Its last number is the one that was given to a process last.
const LOADS: &str = "/proc/loadavg";

static KNOWN: Mutex<Networks> = Mutex::new(Networks::NONE);

/// The number of a network; none where a process is another user's.
type Network = Option<u64>;

/// The networks that processes were seen in, and since when. Some of the processes may be gone.
struct Networks {
    of: BTreeMap<u32, Network>,
    /// Numbers that had been given out when last looked, but whose process was gone, or not there yet.
    missing: Vec<u32>,
    /// The number of the process that was the youngest then.
    youngest: Option<u32>,
    since: Option<Instant>,
}

/// Looks at all processes if that was some time ago, so that before the next command only new ones have to be looked at.
pub(crate) fn look_at_networks() {
    let is_fresh = known().is_younger_than(FRESH);
    if !is_fresh {
        let mut looked = Networks::NONE;
        looked.look(youngest());
        *known() = looked;
    }
}

fn known() -> MutexGuard<'static, Networks> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Networks {
    const NONE: Self = Self { of: BTreeMap::new(), missing: Vec::new(), youngest: None, since: None };

    /// Looks where processes are that are new, or all of them after a while.
    fn look(&mut self, youngest: Option<u32>) {
        let new = self.youngest.zip(youngest).and_then(|(before, now)| now.checked_sub(before));
        match (self.youngest, new.filter(|new| *new <= TRIED && self.is_younger_than(SETTLED))) {
            (Some(before), Some(new)) => {
                // Numbers are given out in turn, to threads as well, a moment before anybody is there to be looked at.
                let again = std::mem::take(&mut self.missing);
                self.of.extend(again.into_iter().filter_map(seen));
                for number in before + 1..=before + new {
                    match seen(number) {
                        Some((process, network)) => _ = self.of.insert(process, network),
                        None => self.missing.push(number),
                    }
                }
            }
            _ => {
                let of: BTreeMap<_, _> = processes().into_iter().filter_map(seen).collect();
                let last = youngest.map_or(0..=0, |youngest| youngest.saturating_sub(NEWEST)..=youngest);
                let missing = last.filter(|number| !of.contains_key(number)).collect();
                *self = Self { of, missing, since: Some(Instant::now()), ..Self::NONE };
            }
        }
        self.youngest = youngest;
    }

    fn is_younger_than(&self, age: Duration) -> bool {
        self.since.is_some_and(|since| since.elapsed() <= age)
    }
}

pub(super) fn paths() -> Vec<PathBuf> {
    let mut known = known();
    // Asked before anything is listed: who comes in between is looked at next time.
    known.look(youngest());
    static OWN: OnceLock<Network> = OnceLock::new();
    let own = *OWN.get_or_init(|| network_of("self"));
    let own_table = proc::read("/proc/net/unix").unwrap_or_default();
    let mut paths = paths_in(&own_table);
    let mut networks = BTreeSet::from([own]);
    for (process, network) in &mut known.of {
        // Another one may still be there to be asked.
        if !networks.contains(network)
            && let Ok(table) = proc::read(&format!("/proc/{process}/net/unix"))
        {
            networks.insert(*network);
            if is_same_network(&table, &own_table) {
                // From now on the turn of the next one whose network is not told.
                *network = own;
            } else {
                paths.extend(paths_in(&table));
            }
        }
    }
    drop(known);
    let (mut absolute, relative): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_absolute());
    if !relative.is_empty() {
        // Whoever bound them most likely still is where it was.
        let processes = processes().into_iter();
        let dirs: BTreeSet<PathBuf> =
            processes.filter_map(|process| link(&process.to_string(), "cwd")).collect();
        absolute.extend(dirs.iter().flat_map(|dir| relative.iter().map(|path| dir.join(path))));
    }
    absolute
}

/// A process with the network that it is in, unless it is gone.
fn seen(process: u32) -> Option<(u32, Network)> {
    let network = network_of(&process.to_string());
    let is_there = network.is_some() || Path::new(&format!("/proc/{process}")).exists();
    is_there.then_some((process, network))
}

/// The number that was given to a process or thread last; nothing where nobody can tell.
fn youngest() -> Option<u32> {
    if !tells_own_numbers() {
        return None;
    }
    let loads = String::from_utf8(proc::read(LOADS).ok()?).ok()?;
    loads.split_whitespace().last()?.parse().ok().filter(|number| *number > 0)
}

/// Whether the kernel itself, and no stand-in for it, tells numbers as Tiller knows them: containers may show the processes
/// of another name space, or loads that somebody else has written.
fn tells_own_numbers() -> bool {
    static TELLS: OnceLock<bool> = OnceLock::new();
    *TELLS.get_or_init(|| {
        let is_own =
            fs_err::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == own_number().as_str());
        is_own && statfs(LOADS).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
    })
}

fn own_number() -> String {
    std::process::id().to_string()
}

fn processes() -> Vec<u32> {
    let entries = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn network_of(process: &str) -> Network {
    let named = link(process, "ns/net")?;
    named.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

fn link(process: &str, name: &str) -> Option<PathBuf> {
    fs_err::read_link(format!("/proc/{process}/{name}")).ok()
}

/// Whether two tables are of one network: each socket has a number that no other has, in no network.
fn is_same_network(table: &[u8], other: &[u8]) -> bool {
    let has_rows = rows(table).any(|row| !row.is_empty());
    has_rows && table == other
}

/// The last column of the table: paths as they were bound. Names that are none begin with `@`.
fn paths_in(table: &[u8]) -> Vec<PathBuf> {
    let paths = rows(table).filter_map(|row| path_of(row).map(<[u8]>::to_vec));
    paths.map(|path| PathBuf::from(OsString::from_vec(path))).collect()
}

fn rows(table: &[u8]) -> impl Iterator<Item = &[u8]> {
    table.split(|byte| *byte == b'\n').skip(1)
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
    fn networks_are_told_apart_by_their_sockets() {
        let (head, row) = ("Num RefCount\n", "0: 2 0 10000 1 1 29393 /run/a\n");
        let (here, elsewhere) = (format!("{head}{row}"), format!("{head}{}", row.replace("29393", "29394")));
        assert!(is_same_network(here.as_bytes(), here.as_bytes()));
        assert!(!is_same_network(here.as_bytes(), elsewhere.as_bytes()));
        assert!(!is_same_network(head.as_bytes(), head.as_bytes()), "any network may be empty");
    }

    #[test]
    fn processes_are_looked_at_when_they_are_new() {
        let own = std::process::id();
        let here = network_of("self");
        let elsewhere = Some(1);
        let seen = |youngest, since| Networks {
            of: BTreeMap::from([(own, elsewhere)]),
            youngest,
            since,
            ..Networks::NONE
        };
        let now = Some(Instant::now());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let youngest = Some(child.id());
        let mut networks = seen(Some(child.id() - 1), now);
        networks.look(youngest);
        assert_eq!(networks.of.get(&own), Some(&elsewhere), "it was seen a moment ago");
        assert_eq!(networks.of.get(&child.id()), Some(&here), "it is new");
        for (before, since) in [(youngest, None), (None, now), (Some(u32::MAX), now)] {
            let mut networks = seen(before, since);
            networks.look(youngest);
            assert_eq!(networks.of.get(&own), Some(&here), "all are looked at");
            assert_eq!(networks.of.get(&child.id()), Some(&here));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_was_not_there_yet_is_looked_for_once_more() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (late, youngest) = (child.id(), Some(child.id()));
        let now = Some(Instant::now());
        let mut networks = Networks { missing: vec![late], youngest, since: now, ..Networks::NONE };
        networks.look(youngest);
        assert!(networks.of.contains_key(&late));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut networks = Networks { youngest: Some(late - 1), since: now, ..Networks::NONE };
        networks.look(youngest);
        assert_eq!(networks.missing, [late], "it has left");
        networks.look(youngest);
        assert!(networks.missing.is_empty() && networks.of.is_empty(), "it is not looked for for ever");
    }

    #[test]
    fn the_kernel_tells_the_youngest_process() {
        // Somebody else may stand in for the kernel here.
        let Some(before) = youngest() else { return };
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let after = youngest().unwrap();
        let has_begun_anew = after < before;
        assert!(has_begun_anew || (before < child.id() && child.id() <= after), "{before} {after}");
    }
}
