//! The namespaces of a command. Their first process does what a supervisor does elsewhere; the supervisor stays
//! outside and only sees to it that the first process, and with it everything else in there, ends.
//!
//! Nothing inside can kill, stop or trace the first process, and the supervisor is out of sight.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, setsid, waitpid};
use rustix::time::Timespec;

use super::apply::{Failure, last_errno};
use crate::image::Image;

/// Calls that fail outside of all steps.
const NO_STEP: i32 = -1;

/// Makes the namespaces. Their first process gets its number as seen from outside, and runs `first`; this one returns
/// that number.
#[expect(unsafe_code, reason = "clone has no safe wrapper")]
pub(crate) fn enter(image: &Image, first: impl FnOnce(i32)) -> Result<Pid, Failure> {
    let failed = |errno| Failure { step: NO_STEP, errno };
    let (go, ready) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    let flags = image.namespaces | u64::from(libc::SIGCHLD.cast_unsigned());
    // SAFETY: without a stack and without shared memory this is a fork; only this thread exists.
    let cloned = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if cloned == 0 {
        drop(ready);
        if let Some(own) = await_start(&go) {
            drop(go);
            first(own);
        }
        // SAFETY: _exit does nothing but end this process.
        unsafe { libc::_exit(0) }
    }
    let number = i32::try_from(cloned).unwrap_or(-1);
    let pid = Pid::from_raw(number.max(0)).ok_or_else(|| failed(last_errno()))?;
    if let Err(failure) = image.outside.run(Some(number)) {
        drop(ready);
        _ = waitpid(Some(pid), WaitOptions::empty());
        return Err(failure);
    }
    _ = rustix::io::write(&ready, &number.to_ne_bytes());
    Ok(pid)
}

/// Waits until ids are mapped; then leaves the session, becomes untraceable, and dies with its parent from now on.
#[expect(unsafe_code, reason = "prctl")]
fn await_start(go: &OwnedFd) -> Option<i32> {
    // SAFETY: numbers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut number = [0; 4];
    let length = loop {
        match rustix::io::read(go, &mut number) {
            Err(Errno::INTR) => {}
            read => break read.ok()?,
        }
    };
    if length != number.len() {
        return None;
    }
    setsid().ok()?;
    // SAFETY: numbers only. Comes after the maps were written: files in /proc of an untraceable process are root's.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    Some(i32::from_ne_bytes(number))
}

/// Waits for the first process to end, which is told what to do through the same pipe; kills it if it takes longer than `patience` after the order to end came.
pub(crate) fn outlive(first: Pid, control: BorrowedFd<'_>, signals: BorrowedFd<'_>, patience: Duration) {
    let mut ordered: Option<Instant> = None;
    loop {
        let mut seen = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(signals, &mut seen).is_ok() {}
        match waitpid(Some(first), WaitOptions::NOHANG) {
            Ok(None) | Err(Errno::INTR) => {}
            _ => return,
        }
        let left = ordered.map(|since| patience.saturating_sub(since.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            _ = kill_process(first, Signal::KILL);
        }
        let limit = left
            .map(|left| left.max(Duration::from_millis(10)))
            .and_then(|left| Timespec::try_from(left).ok());
        let mut waits = [PollFd::new(&signals, PollFlags::IN), PollFd::new(&control, PollFlags::empty())];
        let watched = if ordered.is_some() { &mut waits[..1] } else { &mut waits[..] };
        _ = poll(watched, limit.as_ref());
        if ordered.is_none() && !waits[1].revents().is_empty() {
            ordered = Some(Instant::now());
        }
    }
}
