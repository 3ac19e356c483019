//! Tiller's side of the fork.

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::Stdin;
use crate::error::SandboxError;
use crate::program::Program;
use crate::report::{Report, SIZE};
use crate::supervisor::{Fds, Image, supervise};

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

pub(crate) fn launch(program: &Program, stdin: Stdin) -> Result<Launched, SandboxError> {
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
    let fds = Fds {
        stdin: stdin_end.as_raw_fd(),
        stdout: stdout_end.as_raw_fd(),
        stderr: stderr_end.as_raw_fd(),
        control: control_end.as_raw_fd(),
        status: status_end.as_raw_fd(),
        dir: dir.as_raw_fd(),
    };
    let argv = pointers(&program.argv);
    let envp = pointers(&program.envp);
    let image = Image {
        path: program.path.as_ptr(),
        argv: argv.as_ptr(),
        envp: envp.as_ptr(),
        cwd: program.cwd.as_ptr(),
    };
    let supervisor = fork_supervisor(&image, fds)?;
    drop((stdin_end, stdout_end, stderr_end, control_end, status_end));
    let shell = match first_report(&status) {
        Some(Report::Started(pid)) => Pid::from_raw(pid).ok_or(Errno::SRCH),
        Some(Report::Failed(errno)) => Err(Errno::from_raw_os_error(errno)),
        _ => Err(Errno::SRCH),
    };
    match shell {
        Ok(shell) => Ok(Launched { supervisor, shell, control, status, stdin, stdout, stderr, dir }),
        Err(errno) => {
            collect(supervisor);
            Err(errno.into())
        }
    }
}

/// Waits for the supervisor's end.
pub(crate) fn collect(supervisor: Pid) {
    while let Err(Errno::INTR) = waitpid(Some(supervisor), WaitOptions::empty()) {}
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| CStr::as_ptr(string)).chain([std::ptr::null()]).collect()
}

/// Waits until the shell runs: as long as any spawn takes.
fn first_report(status: &OwnedFd) -> Option<Report> {
    let mut bytes = [0; SIZE];
    loop {
        match rustix::io::read(status, &mut bytes) {
            Ok(SIZE) => return Report::from_bytes(bytes),
            Err(Errno::INTR) => {}
            _ => return None,
        }
    }
}

/// Forks with all signals blocked, so that none of Tiller's handlers ever runs in the supervisor.
#[expect(unsafe_code, reason = "fork and signal masks have no safe wrapper")]
fn fork_supervisor(image: &Image, fds: Fds) -> io::Result<Pid> {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the sets are initialised by the calls that first get them. The forked process makes async-signal-safe
    // calls only, see `supervisor`, and never returns. `image` points into memory that the fork copies.
    let (pid, error) = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let pid = libc::fork();
        if pid == 0 {
            supervise(image, fds);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        (pid, error)
    };
    Pid::from_raw(pid.max(0)).ok_or(error)
}
