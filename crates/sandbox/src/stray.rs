//! Processes found in `/proc`.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, RawDir, open, openat};
use rustix::process::{Pid, Signal, kill_process};

use crate::program::MARK_VAR;

/// How long stray processes are hunted.
const HUNT: Duration = Duration::from_secs(2);
/// The pause between two rounds.
const ROUND: Duration = Duration::from_millis(10);

/// Calls `act` with each child of a process. Allocates nothing: the supervisor uses it after the fork.
pub(crate) fn each_child(of: Pid, mut act: impl FnMut(Pid)) {
    each_process(|pid, stat| {
        if stat.parent == of.as_raw_nonzero().get() {
            act(pid);
        }
    });
}

/// Kills what a command left behind when its supervisor was killed: processes of its session, and those that
/// carry the call's mark in their environment. Gives the number of those that could not be killed.
pub(crate) async fn hunt(supervisor: Pid, mark: &str) -> u32 {
    let started = Instant::now();
    let session = supervisor.as_raw_nonzero().get();
    loop {
        let mut found = 0;
        each_process(|pid, stat| {
            if stat.alive && (stat.session == session || is_marked(pid, mark)) {
                found += 1;
                _ = kill_process(pid, Signal::KILL);
            }
        });
        if found == 0 || started.elapsed() > HUNT {
            return found;
        }
        tokio::time::sleep(ROUND).await;
    }
}

/// What the system says about a process.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    alive: bool,
    parent: i32,
    session: i32,
}

fn each_process(mut act: impl FnMut(Pid, Stat)) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = open(c"/proc", flags, Mode::empty()) else { return };
    let mut space = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(&proc, &mut space);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        let pid = number(name).and_then(Pid::from_raw);
        if let Some((pid, stat)) = pid.zip(stat(proc.as_fd(), name)) {
            act(pid, stat);
        }
    }
}

fn stat(proc: BorrowedFd<'_>, name: &[u8]) -> Option<Stat> {
    let mut path = [0_u8; 24];
    let end = name.len() + b"/stat".len();
    path.get_mut(..name.len())?.copy_from_slice(name);
    path.get_mut(name.len()..end)?.copy_from_slice(b"/stat");
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let file = openat(proc, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut line = [0_u8; 512];
    let length = rustix::io::read(&file, &mut line).ok()?;
    parse(line.get(..length)?)
}

/// Reads `pid (name) state parent group session …`. The name may contain anything, even parentheses.
fn parse(line: &[u8]) -> Option<Stat> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let mut fields = line.get(name_end + 1..)?.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let alive = !matches!(fields.next()?, b"Z" | b"X");
    let parent = number(fields.next()?)?;
    let session = number(fields.nth(1)?)?;
    Some(Stat { alive, parent, session })
}

fn number(digits: &[u8]) -> Option<i32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn is_marked(pid: Pid, mark: &str) -> bool {
    let Ok(environment) = fs_err::read(format!("/proc/{}/environ", pid.as_raw_nonzero())) else {
        return false;
    };
    let wanted = format!("{MARK_VAR}={mark}");
    environment.split(|byte| *byte == 0).any(|var| var == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_anything() {
        let stat = |alive, parent, session| Some(Stat { alive, parent, session });
        assert_eq!(parse(b"12 (a) b) S 7 12 11 0"), stat(true, 7, 11));
        assert_eq!(parse(b"12 (bash) Z 1 12 0 5"), stat(false, 1, 0));
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn own_children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut children = Vec::new();
        each_child(rustix::process::getpid(), |pid| children.push(pid.as_raw_nonzero().get()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(children.contains(&i32::try_from(child.id()).unwrap()));
    }
}
