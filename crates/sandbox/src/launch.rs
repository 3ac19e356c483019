//! The start of a command, as Tiller sees it.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::time::Timespec;

use crate::Stdin;
use crate::confine::step::Steps;
use crate::error::SandboxError;
use crate::keeper;
use crate::program::Program;
use crate::report::{Report, SIZE};

/// How long a start may take.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// The writing end of a command's standard input.
pub type StdinPipe = tokio::net::unix::pipe::Sender;

/// A running command and the ends of its pipes that Tiller keeps.
pub(crate) struct Launched {
    pub(crate) supervisor: Pid,
    pub(crate) shell: Pid,
    /// Closing it ends everything.
    pub(crate) control: OwnedFd,
    pub(crate) status: OwnedFd,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Holds the directory the shell ended in.
    pub(crate) dir: OwnedFd,
}

pub(crate) fn launch(program: &Program, steps: &Steps, stdin: Stdin) -> Result<Launched, SandboxError> {
    match attempt(program, steps, stdin)? {
        Some(launched) => Ok(launched),
        // A command of before has killed or stopped the keeper, and the supervisor that should have taken this one.
        None => attempt(program, steps, stdin)?.ok_or_else(|| Errno::SRCH.into()),
    }
}

/// Starts the program; nothing if there was no supervisor to take it, in which case nothing of it has run.
fn attempt(program: &Program, steps: &Steps, stdin: Stdin) -> Result<Option<Launched>, SandboxError> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC);
    let (control_end, control) = pipe()?;
    let (status, status_end) = pipe()?;
    let (stdout, stdout_end) = pipe()?;
    let (stderr, stderr_end) = pipe()?;
    let (stdin_end, stdin) = match stdin {
        Stdin::Closed => (open(c"/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?, None),
        Stdin::Pipe => pipe().map(|(end, stdin)| (end, Some(stdin)))?,
    };
    let dir = memfd_create(c"tiller-dir", MemfdFlags::CLOEXEC)?;
    let image = program.to_file(steps)?;
    let handed = [&stdin_end, &stdout_end, &stderr_end, &control_end, &status_end, &dir, &image];
    let keeper = keeper::order(handed.map(AsFd::as_fd))?;
    drop((stdin_end, stdout_end, stderr_end, control_end, status_end));
    let supervisor = match next_report(&status) {
        Ok(Report::Supervised(pid)) => Pid::from_raw(pid).ok_or(Errno::SRCH)?,
        Ok(_) => return Err(Errno::PROTO.into()),
        Err(Errno::SRCH | Errno::TIMEDOUT) => {
            keeper::dismiss(keeper);
            return Ok(None);
        }
        Err(errno) => return Err(errno.into()),
    };
    let shell = match next_report(&status).inspect_err(|_| keeper::dismiss(keeper))? {
        Report::Started(pid) => Pid::from_raw(pid).ok_or(Errno::SRCH)?,
        Report::Failed(errno) => return Err(Errno::from_raw_os_error(errno).into()),
        Report::AtStep(step) => return Err(unconfined(steps, step, &status)),
        _ => return Err(Errno::PROTO.into()),
    };
    Ok(Some(Launched { supervisor, shell, control, status, stdin, stdout, stderr, dir }))
}

fn unconfined(steps: &Steps, step: i32, status: &OwnedFd) -> SandboxError {
    let errno = match next_report(status) {
        Ok(Report::Failed(errno)) => Errno::from_raw_os_error(errno),
        Ok(_) => Errno::PROTO,
        Err(errno) => errno,
    };
    SandboxError::Unconfined { step: steps.describe(step), source: errno.into() }
}

/// Waits as long as any spawn takes. Nothing of the command runs before the second report, so only the work of another
/// one that stopped the keeper can hold it up.
fn next_report(status: &OwnedFd) -> Result<Report, Errno> {
    let mut waits = [PollFd::new(status, PollFlags::IN)];
    let mut bytes = [0; SIZE];
    loop {
        match poll(&mut waits, Some(&PATIENCE)) {
            Ok(0) => return Err(Errno::TIMEDOUT),
            Err(Errno::INTR) => continue,
            _ => {}
        }
        return match rustix::io::read(status, &mut bytes)? {
            SIZE => Report::from_bytes(bytes).ok_or(Errno::PROTO),
            _ => Err(Errno::SRCH),
        };
    }
}
