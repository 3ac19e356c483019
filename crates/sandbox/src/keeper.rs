//! The process that all supervisors are forked from. It is forked from Tiller once, early, while Tiller is small: the
//! cost of a fork grows with the memory of the process that forks, and Tiller's grows. It always has one supervisor
//! waiting, so that neither the fork nor the move to a new session, after which a busy machine makes a process wait,
//! is in the way of a command.
//!
//! Invariant: like the supervisor, the keeper makes system calls only. It ends when Tiller ends or closes the socket;
//! commands do not depend on it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, setsid, waitpid};
use rustix::time::Timespec;

use crate::priority;
use crate::supervisor::{FDS, close_range, detach, supervise};

/// The keeper, once there is one.
static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);
/// Where the keeper and a waiting supervisor listen.
const LISTEN: RawFd = 3;

struct Keeper {
    pid: Pid,
    socket: OwnedFd,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        _ = kill_process(self.pid, Signal::KILL);
        while let Err(Errno::INTR) = waitpid(Some(self.pid), WaitOptions::empty()) {}
    }
}

/// Starts the keeper if there is none. Worth calling first thing in a program; otherwise the first command does it.
///
/// # Errors
/// When no process can be made.
pub fn prepare() -> io::Result<()> {
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if keeper.is_none() {
        *keeper = Some(fork_keeper()?);
    }
    Ok(())
}

/// Gives these descriptors to a supervisor. Returns the keeper that took them.
pub(crate) fn order(fds: [BorrowedFd<'_>; FDS]) -> io::Result<Pid> {
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(keeper) = keeper.as_ref()
        && send(keeper.socket.as_fd(), &fds).is_ok()
    {
        return Ok(keeper.pid);
    }
    // There is none yet, or someone killed it.
    let keeper = keeper.insert(fork_keeper()?);
    send(keeper.socket.as_fd(), &fds)?;
    Ok(keeper.pid)
}

/// Gets rid of a keeper that does not do its work, unless another thread already has; the next command makes a new one.
pub(crate) fn dismiss(pid: Pid) {
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if keeper.as_ref().is_some_and(|keeper| keeper.pid == pid) {
        *keeper = None;
    }
}

fn send(keeper: BorrowedFd<'_>, fds: &[BorrowedFd<'_>; FDS]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(fds));
    loop {
        match sendmsg(keeper, &[IoSlice::new(b"s")], &mut control, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => return sent.map(drop),
        }
    }
}

/// Forks with all signals blocked, so that none of Tiller's handlers ever runs in the keeper or in a supervisor.
#[expect(unsafe_code, reason = "fork and signal masks have no safe wrapper")]
fn fork_keeper() -> io::Result<Keeper> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the sets are initialised by the calls that first get them. The forked process makes async-signal-safe
    // calls only and never returns.
    let (pid, error) = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let pid = libc::fork();
        if pid == 0 {
            keep(theirs.into_raw_fd());
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        (pid, error)
    };
    let pid = Pid::from_raw(pid.max(0)).ok_or(error)?;
    Ok(Keeper { pid, socket: ours })
}

/// Forks one supervisor after the other until the socket closes. Nobody waits for their end: they report through pipes
/// of their own.
#[expect(unsafe_code, reason = "descriptors by number, exit")]
fn keep(socket: RawFd) -> ! {
    // SAFETY: plain system calls; this process has a descriptor table of its own.
    let socket = unsafe {
        libc::dup2(socket, LISTEN);
        close_range(0, LISTEN - 1);
        close_range(LISTEN + 1, RawFd::MAX);
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        BorrowedFd::borrow_raw(LISTEN)
    };
    _ = setsid();
    _ = rustix::thread::set_name(c"keeper");
    priority::step_back();
    while fork_supervisor(socket) {}
    // SAFETY: _exit does nothing but end this process.
    unsafe { libc::_exit(0) }
}

/// Forks a supervisor and waits until it has something to do. False when nobody is left who could order anything.
#[expect(unsafe_code, reason = "fork")]
fn fork_supervisor(socket: BorrowedFd<'_>) -> bool {
    let Ok((taken, taken_end)) = pipe_with(PipeFlags::CLOEXEC) else { return false };
    // SAFETY: only this thread exists, and the child never returns.
    match unsafe { libc::fork() } {
        0 => {
            drop(taken);
            serve(socket, taken_end)
        }
        1.. => drop(taken_end),
        _ => return false,
    }
    let mut byte = [0];
    loop {
        match rustix::io::read(&taken, &mut byte) {
            Err(Errno::INTR) => {}
            Ok(1) => return true,
            _ => return !is_closed(socket),
        }
    }
}

fn is_closed(socket: BorrowedFd<'_>) -> bool {
    let mut waits = [PollFd::new(&socket, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut waits, Some(&now)).is_err() || !waits[0].revents().is_empty()
}

/// Waits for an order and carries it out.
#[expect(unsafe_code, reason = "exit")]
fn serve(socket: BorrowedFd<'_>, taken: OwnedFd) -> ! {
    if detach().is_ok()
        && let Some(fds) = receive(socket)
    {
        _ = rustix::io::write(&taken, b"t");
        drop(taken);
        supervise(fds.each_ref().map(AsRawFd::as_raw_fd));
    }
    // SAFETY: _exit does nothing but end this process.
    unsafe { libc::_exit(0) }
}

fn receive(socket: BorrowedFd<'_>) -> Option<[OwnedFd; FDS]> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received.ok()?,
        }
    };
    let mut fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    let mut fds = fds.next().filter(|_| received.bytes > 0)?;
    let all: [Option<OwnedFd>; FDS] = std::array::from_fn(|_| fds.next());
    let [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f), Some(g), Some(h)] = all else { return None };
    Some([a, b, c, d, e, f, g, h])
}
