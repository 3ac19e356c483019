//! What runs between Tiller and a command, alive until the last process of the command is gone.
//!
//! Invariant: this code runs in the fork of a process with many threads. It neither allocates nor panics nor takes a
//! lock; it only makes system calls. [`exec`] is the only place that runs between fork and exec of the shell.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgid, getpid, kill_process, kill_process_group,
    set_child_subreaper, setsid, umask, wait,
};
use rustix::time::Timespec;

use crate::confine::apply::{Failure, RULESET_FD};
use crate::confine::{namespace, unreached};
use crate::image::{Image, Start};
use crate::program::DIR_FD;
use crate::report::Report;
use crate::stray::each_child;

/// How long processes have between TERM and KILL.
const GRACE: Duration = Duration::from_millis(500);
/// How long is spent on processes that cannot be killed, such as those of another user.
const KILL_LIMIT: Duration = Duration::from_secs(2);
/// How often those that remain are killed again.
const KILL_EVERY: Duration = Duration::from_millis(10);

/// The supervisor listens here; the end of it means: end everything.
const CONTROL: RawFd = 3;
/// The supervisor reports here.
const STATUS: RawFd = 4;
/// A number above all that are used here.
const HIGH: RawFd = DIR_FD + 1;

/// How many descriptors are handed over: standard input, output and error, control, status, directory, image.
pub(crate) const FDS: usize = 7;

/// Runs the command to its end and everything it started with it. All signals are blocked on entry.
#[expect(unsafe_code, reason = "the process must end without running Tiller's exit handlers")]
pub(crate) fn supervise(fds: [RawFd; FDS]) -> ! {
    let ready = prepare(fds);
    report(Report::Supervised(getpid().as_raw_nonzero().get()));
    let settled = match ready {
        Ok((image, signals)) if image.namespaces != 0 => supervise_namespaces(&image, signals),
        Ok((image, signals)) => attend(&image, signals, None),
        Err(errno) => fail(errno),
    };
    if let Some(left) = settled {
        report(Report::Settled(left));
    }
    // SAFETY: _exit does nothing but end this process.
    unsafe { libc::_exit(0) }
}

/// Runs the command in this process's namespaces. Gives the number of processes that could not be ended, or nothing if
/// the command could not be started.
fn attend(image: &Image, signals: BorrowedFd<'static>, known_as: Option<i32>) -> Option<i32> {
    let users = umask(Mode::empty());
    let prepared = image.before.run(None);
    umask(users);
    if let Err(failure) = prepared {
        return fail_at(failure);
    }
    match start(image, known_as) {
        Ok(shell) => {
            let left = Custody { shell, ended: false, signals }.keep();
            if image.has_own_network() {
                report(Report::Unreached(unreached::times()));
            }
            Some(left)
        }
        Err(errno) => fail(errno),
    }
}

/// Runs the command in namespaces of its own. When their first process is gone, so is everything in them.
fn supervise_namespaces(image: &Image, signals: BorrowedFd<'static>) -> Option<i32> {
    let first = namespace::enter(image, |known_as| {
        _ = attend(image, signals, Some(known_as));
    });
    match first {
        Ok(first) => {
            let_go();
            namespace::outlive(first, control(), signals, GRACE + KILL_LIMIT);
            Some(0)
        }
        Err(failure) => fail_at(failure),
    }
}

fn fail_at(failure: Failure) -> Option<i32> {
    report(Report::AtStep(failure.step));
    fail(failure.errno)
}

fn fail(errno: Errno) -> Option<i32> {
    report(Report::Failed(errno.raw_os_error()));
    None
}

/// Makes a forked process fit to supervise: in a session of its own, adopting all orphans to come. The name differs
/// from Tiller's, so that `pkill tiller` leaves someone to clean up.
pub(crate) fn detach() -> Result<(), Errno> {
    setsid()?;
    set_child_subreaper(Some(getpid()))?;
    rustix::thread::set_name(c"custody")
}

/// Puts the descriptors in place and closes all others.
fn prepare(fds: [RawFd; FDS]) -> Result<(Image, BorrowedFd<'static>), Errno> {
    let image = map_image(fds[FDS - 1]);
    arrange(fds)?;
    Ok((image?, child_signals()?))
}

#[expect(unsafe_code, reason = "descriptors are known by number")]
fn map_image(file: RawFd) -> Result<Image, Errno> {
    // SAFETY: the descriptor was handed over and is open.
    let length = rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(file) })?.st_size;
    Image::map(file, usize::try_from(length).map_err(|_| Errno::INVAL)?)
}

#[expect(unsafe_code, reason = "descriptors are moved by number")]
fn arrange(fds: [RawFd; FDS]) -> Result<(), Errno> {
    let wanted = [0, 1, 2, CONTROL, STATUS, DIR_FD];
    let mut moved = [0; 6];
    for (fd, high) in fds.iter().zip(&mut moved) {
        // SAFETY: plain system calls on numbers; this process has a descriptor table of its own.
        *high = checked(unsafe { libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, HIGH) })?;
    }
    for (high, fd) in moved.iter().zip(wanted) {
        let keep_private = if fd == CONTROL || fd == STATUS { libc::O_CLOEXEC } else { 0 };
        // SAFETY: as above.
        checked(unsafe { libc::dup3(*high, fd, keep_private) })?;
    }
    close_range(STATUS + 1, DIR_FD - 1);
    close_range(HIGH, RawFd::MAX);
    Ok(())
}

#[expect(unsafe_code, reason = "descriptors are closed by number")]
pub(crate) fn close_range(first: RawFd, last: RawFd) {
    // SAFETY: nothing in this process relies on the descriptors that are closed.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if closed == 0 {
        return;
    }
    for fd in first..=last.min(65_536) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// A descriptor that becomes readable when a child ends.
#[expect(unsafe_code, reason = "signal sets and signalfd have no safe wrapper")]
fn child_signals() -> Result<BorrowedFd<'static>, Errno> {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before it is read, and the descriptor is never closed.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        let fd = checked(libc::signalfd(-1, set.as_ptr(), libc::SFD_NONBLOCK | libc::SFD_CLOEXEC))?;
        Ok(BorrowedFd::borrow_raw(fd))
    }
}

/// Starts the shell. It borrows this process's memory until it has become the shell, so nothing is copied.
#[expect(unsafe_code, reason = "clone, because fork would copy all of Tiller's page tables once more")]
fn start(image: &Image, known_as: Option<i32>) -> Result<Pid, Errno> {
    let mut stack = MaybeUninit::<[u128; 2048]>::uninit();
    let mut start = Start { image: *image, known_as, errno: 0 };
    // SAFETY: with CLONE_VFORK this process sleeps until the child has called execve or _exit, so `stack` and `start`
    // outlive the child's use of them. The stack grows down from its aligned end.
    let pid = checked(unsafe {
        let top = stack.as_mut_ptr().add(1).cast::<c_void>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(exec, top, flags, start.as_argument())
    })?;
    let_go();
    // SAFETY: the child wrote through a pointer the compiler cannot see.
    let errno = unsafe { (&raw const start.errno).read_volatile() };
    match (errno, Pid::from_raw(pid)) {
        (0, Some(pid)) => Ok(pid),
        _ => Err(Errno::from_raw_os_error(errno)),
    }
}

/// Closes what belongs to the shell from now on; held open here it would keep the pipes alive.
#[expect(unsafe_code, reason = "descriptors are closed by number")]
fn let_go() {
    for fd in [0, 1, 2, RULESET_FD, DIR_FD] {
        // SAFETY: nothing in this process uses them any more.
        unsafe { libc::close(fd) };
    }
}

/// Becomes the shell: in a group of its own, with default signals, confined, and dead when the supervisor dies. It
/// reports its start itself: the first thing it does afterwards might be to stop the supervisor.
#[expect(unsafe_code, reason = "the steps between clone and execve")]
extern "C" fn exec(start: *mut c_void) -> c_int {
    let start = start.cast::<Start>();
    // SAFETY: `start` is valid, see [`start`]; everything called is async-signal-safe, and the strings are terminated.
    unsafe {
        let image = (*start).image;
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
        if let Err(failure) = image.sealing.run(None) {
            report(Report::AtStep(failure.step));
            (&raw mut (*start).errno).write_volatile(failure.errno.raw_os_error());
            libc::_exit(127);
        }
        if libc::chdir(image.cwd) == 0 {
            report(Report::Started((*start).known_as.unwrap_or(libc::getpid())));
            libc::execve(image.path, image.argv, image.envp);
        }
        (&raw mut (*start).errno).write_volatile(*libc::__errno_location());
        libc::_exit(127)
    }
}

/// The processes of one command.
struct Custody {
    shell: Pid,
    ended: bool,
    signals: BorrowedFd<'static>,
}

impl Custody {
    /// Waits for the shell or the order to end, then ends everything. Gives the number of processes that could not be
    /// ended.
    fn keep(mut self) -> i32 {
        let control = control();
        while !self.settle(Duration::ZERO) && !self.ended {
            let mut waits = [PollFd::new(&control, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            let woken = poll(&mut waits, None);
            if woken.is_ok() && !waits[0].revents().is_empty() {
                break;
            }
        }
        self.end_all()
    }

    fn end_all(&mut self) -> i32 {
        if self.settle(Duration::ZERO) {
            return 0;
        }
        self.terminate();
        if self.settle(GRACE) {
            return 0;
        }
        let started = Instant::now();
        while started.elapsed() < KILL_LIMIT {
            self.kill();
            if self.settle(KILL_EVERY) {
                return 0;
            }
        }
        let mut left = 0;
        each_child(getpid(), |_| left += 1);
        left
    }

    /// Asks all to end. The group's number stays taken as long as the group has members, so the signal cannot reach
    /// strangers even though the shell itself may be gone.
    fn terminate(&self) {
        _ = kill_process_group(self.shell, Signal::TERM);
        _ = kill_process_group(self.shell, Signal::CONT);
        each_child(getpid(), |child| {
            if getpgid(Some(child)) != Ok(self.shell) {
                _ = kill_process(child, Signal::TERM);
            }
        });
    }

    /// Kills all direct children. Their children become ours and are next.
    fn kill(&self) {
        if !self.ended {
            _ = kill_process_group(self.shell, Signal::KILL);
        }
        each_child(getpid(), |child| _ = kill_process(child, Signal::KILL));
    }

    /// Collects ended children until none are left, which is true, or until the time is over.
    fn settle(&mut self, limit: Duration) -> bool {
        let started = Instant::now();
        loop {
            self.clear_signals();
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => self.collect(pid, status),
                Ok(None) => {
                    let left = limit.saturating_sub(started.elapsed());
                    if left.is_zero() {
                        return false;
                    }
                    self.await_signal(left);
                }
                Err(Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }

    fn collect(&mut self, pid: Pid, status: WaitStatus) {
        if pid != self.shell {
            return;
        }
        self.ended = true;
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => report(Report::Exited(code)),
            (_, Some(signal)) => report(Report::Signalled(signal)),
            _ => {}
        }
    }

    fn await_signal(&self, limit: Duration) {
        let mut waits = [PollFd::new(&self.signals, PollFlags::IN)];
        _ = poll(&mut waits, Timespec::try_from(limit).ok().as_ref());
    }

    /// Must come before looking for ended children: whoever ends after the look is then announced anew.
    fn clear_signals(&self) {
        let mut seen = [0_u8; size_of::<libc::signalfd_siginfo>()];
        while rustix::io::read(self.signals, &mut seen).is_ok() {}
    }
}

#[expect(unsafe_code, reason = "the descriptor is known by number")]
fn control() -> BorrowedFd<'static> {
    // SAFETY: `arrange` opened it, and it is never closed.
    unsafe { BorrowedFd::borrow_raw(CONTROL) }
}

#[expect(unsafe_code, reason = "the descriptor is known by number")]
fn report(report: Report) {
    // SAFETY: `arrange` opened it, and it is never closed.
    let status = unsafe { BorrowedFd::borrow_raw(STATUS) };
    _ = rustix::io::write(status.as_fd(), &report.to_bytes());
}

fn checked(result: c_int) -> Result<c_int, Errno> {
    if result >= 0 {
        return Ok(result);
    }
    let errno = std::io::Error::last_os_error().raw_os_error();
    Err(errno.map_or(Errno::IO, Errno::from_raw_os_error))
}
