//! What runs between Tiller and a command, alive until the last process of the command is gone.
//!
//! Invariant: this code runs in the fork of a process with many threads. It neither allocates nor panics nor takes a
//! lock; it only makes system calls. [`exec`] is the only place that runs between fork and exec of the shell.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, RawFd};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, getpid, set_child_subreaper, setsid, umask};

use crate::confine::apply::{Failure, RULESET_FD};
use crate::confine::footing::Footing;
use crate::confine::{namespace, unreached};
use crate::custody::{Custody, GRACE, KILL_LIMIT, Remains};
use crate::image::{Image, Start};
use crate::priority;
use crate::program::{DIR_FD, GATE_FD, OPEN, SCRIPT_FD};
use crate::report::Report;

/// The supervisor listens here. A byte means that the script may run, the end that everything has to end.
const CONTROL: RawFd = 3;
/// The supervisor reports here.
const STATUS: RawFd = 4;
/// Whoever writes here lets the shell read its script.
const GATE_END: RawFd = 5;
/// A number above all that are used here.
const HIGH: RawFd = DIR_FD + 1;

/// How many descriptors are handed over: standard input, output and error, control, status, directory, script, image.
pub(crate) const FDS: usize = 8;

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
    if let Some(remains) = settled {
        conclude(&remains);
    }
    // SAFETY: _exit does nothing but end this process.
    unsafe { libc::_exit(0) }
}

/// Runs the command in this process's namespaces. Gives what is left of it, or nothing if it could not be started.
fn attend(image: &Image, signals: BorrowedFd<'static>, known_as: Option<i32>) -> Option<Remains> {
    let users = umask(Mode::empty());
    let prepared = image.before.run(None);
    umask(users);
    if let Err(failure) = prepared {
        return fail_at(failure);
    }
    let footing = Footing::of(image);
    match start(image, known_as) {
        Ok(shell) => {
            let remains = Custody::new(image, shell, footing, signals).keep();
            if image.has_own_network() {
                report(Report::Unreached(unreached::times()));
            }
            Some(remains)
        }
        Err(errno) => fail(errno),
    }
}

/// Runs the command in namespaces of its own. When their first process is gone, so is everything in them.
fn supervise_namespaces(image: &Image, signals: BorrowedFd<'static>) -> Option<Remains> {
    let first = namespace::enter(image, |known_as| match attend(image, signals, Some(known_as)) {
        // When it has no children left, nobody is left in there, and nobody need wait until the namespaces are gone.
        Some(remains) if remains.left == 0 => conclude(&remains),
        // Those that are left end with the namespaces.
        Some(Remains { end: Some(end), .. }) => report(end),
        _ => {}
    });
    match first {
        Ok(first) => {
            let_go();
            close(GATE_END);
            namespace::outlive(first, control(), signals, GRACE + KILL_LIMIT);
            Some(Remains { end: None, left: 0 })
        }
        Err(failure) => fail_at(failure),
    }
}

fn fail_at(failure: Failure) -> Option<Remains> {
    report(Report::AtStep(failure.step));
    fail(failure.errno)
}

fn fail(errno: Errno) -> Option<Remains> {
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
    let wanted = [0, 1, 2, CONTROL, STATUS, DIR_FD, SCRIPT_FD];
    let mut moved = [0; FDS - 1];
    for (fd, high) in fds.iter().zip(&mut moved) {
        // SAFETY: plain system calls on numbers; this process has a descriptor table of its own.
        *high = checked(unsafe { libc::fcntl(*fd, libc::F_DUPFD_CLOEXEC, HIGH) })?;
    }
    for (high, fd) in moved.iter().zip(wanted) {
        let keep_private = if fd == CONTROL || fd == STATUS { libc::O_CLOEXEC } else { 0 };
        // SAFETY: as above.
        checked(unsafe { libc::dup3(*high, fd, keep_private) })?;
    }
    let mut gate = [0; 2];
    // SAFETY: as above; the kernel fills in both numbers.
    unsafe {
        checked(libc::pipe2(gate.as_mut_ptr(), libc::O_CLOEXEC))?;
        checked(libc::dup3(gate[0], GATE_FD, 0))?;
        if gate[1] != GATE_END {
            checked(libc::dup3(gate[1], GATE_END, libc::O_CLOEXEC))?;
        }
    }
    close_range(GATE_END + 1, SCRIPT_FD - 1);
    close_range(HIGH, RawFd::MAX);
    Ok(())
}

/// Lets the shell read its script.
#[expect(unsafe_code, reason = "the descriptor is known by number")]
pub(crate) fn open_gate() {
    // SAFETY: `arrange` opened it, and this is called once.
    let gate = unsafe { BorrowedFd::borrow_raw(GATE_END) };
    _ = rustix::io::write(gate, OPEN);
    close(GATE_END);
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
fn let_go() {
    [0, 1, 2, RULESET_FD, DIR_FD, SCRIPT_FD, GATE_FD].into_iter().for_each(close);
}

#[expect(unsafe_code, reason = "descriptors are closed by number")]
fn close(fd: RawFd) {
    // SAFETY: nothing in this process uses it any more.
    unsafe { libc::close(fd) };
}

/// Becomes the shell that waits for its script: in a group of its own, with default signals, confined, and dead when the supervisor dies. It
/// reports its start itself: the first thing it does afterwards might be to stop the supervisor.
#[expect(unsafe_code, reason = "the steps between clone and execve")]
extern "C" fn exec(start: *mut c_void) -> c_int {
    let start = start.cast::<Start>();
    // SAFETY: `start` is valid, see [`start`]; everything called is async-signal-safe, and the strings are terminated.
    unsafe {
        let image = (*start).image;
        priority::step_forward();
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

#[expect(unsafe_code, reason = "the descriptor is known by number")]
pub(crate) fn control() -> BorrowedFd<'static> {
    // SAFETY: `arrange` opened it, and it is never closed.
    unsafe { BorrowedFd::borrow_raw(CONTROL) }
}

pub(crate) fn report(report: Report) {
    say(&report.to_bytes());
}

/// The last report, and before it how the shell has ended if nobody was told.
fn conclude(remains: &Remains) {
    let settled = Report::Settled(remains.left).to_bytes();
    match remains.end {
        Some(end) => say([end.to_bytes(), settled].as_flattened()),
        None => say(&settled),
    }
}

#[expect(unsafe_code, reason = "the descriptor is known by number")]
fn say(bytes: &[u8]) {
    // SAFETY: `arrange` opened it, and it is never closed.
    let status = unsafe { BorrowedFd::borrow_raw(STATUS) };
    _ = rustix::io::write(status.as_fd(), bytes);
}

fn checked(result: c_int) -> Result<c_int, Errno> {
    if result >= 0 {
        return Ok(result);
    }
    let errno = std::io::Error::last_os_error().raw_os_error();
    Err(errno.map_or(Errno::IO, Errno::from_raw_os_error))
}
