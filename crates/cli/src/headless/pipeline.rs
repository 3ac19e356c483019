//! Who writes to standard input.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

type Pid = u32;

/// What is known of a process: its parent, and the group that a shell puts the commands of one pipeline into.
struct Process {
    parent: Pid,
    group: Pid,
}

/// Whether another command of the same pipeline writes to standard input: then its end will come, however late its
/// beginning. Nothing is known of a parent that holds the other end: it may have something to say, or have left it open.
pub(super) fn feeds_standard_input() -> bool {
    let Ok(pipe) = fs_err::metadata("/dev/stdin") else { return false };
    let (own, all) = (std::process::id(), processes());
    let Some(group) = all.get(&own).map(|process| process.group).filter(|_| pipe.file_type().is_fifo())
    else {
        return false;
    };
    let ancestors: HashSet<Pid> =
        std::iter::successors(Some(own), |pid| all.get(pid).map(|process| process.parent)).collect();
    let identity = (pipe.dev(), pipe.ino());
    let writers: Vec<&Pid> = all.keys().filter(|pid| writes_to(**pid, identity)).collect();
    let is_beside = |pid: &Pid| all.get(pid).is_some_and(|process| process.group == group);
    !writers.iter().any(|pid| ancestors.contains(pid)) && writers.into_iter().any(is_beside)
}

/// All processes that can be seen.
fn processes() -> HashMap<Pid, Process> {
    let entries = fs_err::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let numbered = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<Pid>().ok());
    numbered.filter_map(|pid| Some((pid, process(pid)?))).collect()
}

fn process(pid: Pid) -> Option<Process> {
    let stat = fs_err::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name before it may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
    Some(Process { parent: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
}

/// Whether a process has a pipe open for writing; one that does not let itself be looked at counts as none.
fn writes_to(pid: Pid, pipe: (u64, u64)) -> bool {
    let open = fs_err::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().filter_map(Result::ok);
    open.into_iter().any(|file| {
        let same = fs_err::metadata(file.path()).is_ok_and(|found| (found.dev(), found.ino()) == pipe);
        same && is_for_writing(&Path::new("/proc").join(format!("{pid}/fdinfo")).join(file.file_name()))
    })
}

/// Whether a file is open for writing, as the kernel says: `flags:` in octal digits, the last of which is the way it is
/// open.
fn is_for_writing(info: &Path) -> bool {
    let info = fs_err::read_to_string(info).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & 0o3 != 0)
}
