//! The process that all supervisors are forked from. It is forked from Tiller once, early, while Tiller is small: the
//! cost of a fork grows with the memory of the process that forks, and Tiller's grows.
//!
//! Invariant: like the supervisor, the keeper makes system calls only. It ends when Tiller ends or closes the socket;
//! commands do not depend on it.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::supervisor::{FDS, close_range, supervise};

/// The way to the keeper, once there is one.
static SOCKET: Mutex<Option<OwnedFd>> = Mutex::new(None);
/// Where the keeper listens.
const LISTEN: RawFd = 3;

/// Starts the keeper if there is none. Worth calling first thing in a program; otherwise the first command does it.
///
/// # Errors
/// When no process can be made.
pub fn prepare() -> io::Result<()> {
    let mut socket = SOCKET.lock().unwrap_or_else(PoisonError::into_inner);
    if socket.is_none() {
        *socket = Some(fork_keeper()?);
    }
    Ok(())
}

/// Lets the keeper fork a supervisor that gets these descriptors.
pub(crate) fn supervised(fds: [BorrowedFd<'_>; FDS]) -> io::Result<()> {
    let mut socket = SOCKET.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(keeper) = socket.as_ref()
        && send(keeper.as_fd(), &fds).is_ok()
    {
        return Ok(());
    }
    // There is none yet, or someone killed it.
    let keeper = socket.insert(fork_keeper()?);
    send(keeper.as_fd(), &fds)?;
    Ok(())
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
fn fork_keeper() -> io::Result<OwnedFd> {
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
    if pid < 0 { Err(error) } else { Ok(ours) }
}

/// Forks a supervisor for each message until the socket closes. Nobody waits for the supervisors: they report through
/// pipes of their own.
#[expect(unsafe_code, reason = "descriptors by number, fork, exit")]
fn keep(socket: RawFd) -> ! {
    // SAFETY: plain system calls; this process has a descriptor table of its own.
    let socket = unsafe {
        libc::dup2(socket, LISTEN);
        close_range(0, LISTEN - 1);
        close_range(LISTEN + 1, RawFd::MAX);
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::setsid();
        BorrowedFd::borrow_raw(LISTEN)
    };
    _ = rustix::thread::set_name(c"keeper");
    loop {
        let Some(fds) = receive(socket) else { break };
        // SAFETY: only this thread exists, and the child never returns.
        if unsafe { libc::fork() } == 0 {
            supervise(fds.each_ref().map(AsRawFd::as_raw_fd));
        }
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
    let all = [fds.next(), fds.next(), fds.next(), fds.next(), fds.next(), fds.next(), fds.next()];
    let [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f), Some(g)] = all else { return None };
    Some([a, b, c, d, e, f, g])
}
