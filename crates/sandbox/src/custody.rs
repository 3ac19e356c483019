//! The processes of one command, from the shell that waits for its script to the end of the last one.
//!
//! Invariant: see [`crate::supervisor`], of which this is a part.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgid, getpid, kill_process, kill_process_group, wait,
};
use rustix::time::Timespec;

use crate::confine::footing::Footing;
use crate::image::Image;
use crate::report::Report;
use crate::stray::each_child;
use crate::supervisor::{control, open_gate, report};

/// How long processes have between TERM and KILL.
pub(crate) const GRACE: Duration = Duration::from_millis(500);
/// How long is spent on processes that cannot be killed, such as those of another user.
pub(crate) const KILL_LIMIT: Duration = Duration::from_secs(2);
/// How often those that remain are killed again.
const KILL_EVERY: Duration = Duration::from_millis(10);
/// How long a shell waits for a script: its mounts keep file systems busy that the user may want to remove.
const WAIT_LIMIT: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// The order to let the shell read its script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Go {
    /// Unless the surroundings of the shell have changed while it waited.
    pub(crate) if_unchanged: bool,
    /// When what a command that looks must not change has been closed.
    pub(crate) looking: bool,
}

impl Go {
    const RUN: u8 = 1;
    const IF_UNCHANGED: u8 = 2;
    const LOOKING: u8 = 4;

    /// As it is handed over.
    pub(crate) fn to_byte(self) -> u8 {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        Self::RUN | flag(self.if_unchanged, Self::IF_UNCHANGED) | flag(self.looking, Self::LOOKING)
    }

    fn from_byte(byte: u8) -> Option<Self> {
        let has = |flag: u8| byte & flag != 0;
        let order = Self { if_unchanged: has(Self::IF_UNCHANGED), looking: has(Self::LOOKING) };
        (order.to_byte() == byte).then_some(order)
    }
}

/// The processes of one command.
pub(crate) struct Custody<'a> {
    image: &'a Image,
    shell: Pid,
    footing: Footing,
    signals: BorrowedFd<'static>,
    /// Whether the shell may read its script.
    going: bool,
    /// How the shell has ended.
    end: Option<Report>,
    /// Whether that was reported.
    told: bool,
}

/// What is left of a command.
pub(crate) struct Remains {
    /// How the shell has ended, unless that was reported.
    pub(crate) end: Option<Report>,
    /// Processes that could not be ended.
    pub(crate) left: i32,
}

impl<'a> Custody<'a> {
    /// Of a shell that waits for its script, as long as the footing holds.
    pub(crate) fn new(image: &'a Image, shell: Pid, footing: Footing, signals: BorrowedFd<'static>) -> Self {
        Self { image, shell, footing, signals, going: false, end: None, told: false }
    }

    /// Waits for the shell or the order to end, then ends everything.
    pub(crate) fn keep(mut self) -> Remains {
        let control = control();
        while !self.settle(Duration::ZERO) && self.end.is_none() {
            let mut waits = [PollFd::new(&control, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
            let limit = (!self.going).then_some(&WAIT_LIMIT);
            match poll(&mut waits, limit) {
                Ok(0) => break,
                Ok(_) if !waits[0].revents().is_empty() && !self.obey() => break,
                _ => {}
            }
        }
        let left = self.end_all();
        Remains { end: self.end.filter(|_| !self.told), left }
    }

    /// Does what Tiller says; false if that is to end. Only who gets to read the order carries it out: Tiller takes it
    /// back by reading it first.
    fn obey(&mut self) -> bool {
        let mut order = [0];
        match rustix::io::read(control(), &mut order) {
            Ok(1..) if !self.going => Go::from_byte(order[0]).is_some_and(|order| self.go(order)),
            Err(Errno::AGAIN | Errno::INTR) => true,
            _ => false,
        }
    }

    fn go(&mut self, order: Go) -> bool {
        if order.if_unchanged && !self.footing.holds(self.image) {
            report(Report::Stale(self.shell.as_raw_nonzero().get()));
            return false;
        }
        if order.looking
            && let Err(failure) = self.image.closing.run(None)
        {
            report(Report::AtStep(failure.step));
            report(Report::Failed(failure.errno.raw_os_error()));
            return false;
        }
        report(Report::Going(self.shell.as_raw_nonzero().get()));
        open_gate();
        self.going = true;
        true
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
        if self.end.is_none() {
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
                    self.tell_end();
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
        self.end = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Some(Report::Exited(code)),
            (_, signal) => signal.map(Report::Signalled),
        };
    }

    /// Reports the end of the shell while others of the command are still there. Where none are, it goes with the last
    /// report, so that Tiller is woken once.
    fn tell_end(&mut self) {
        if let Some(end) = self.end.filter(|_| !self.told) {
            report(end);
            self.told = true;
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
