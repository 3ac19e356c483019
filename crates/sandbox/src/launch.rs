//! The start of a command, as Tiller sees it: a shell is ordered, and told to read its script. It may have been ordered
//! long before.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use rustix::time::Timespec;
use tokio::net::unix::pipe;

use crate::Stdin;
use crate::child::next_report;
use crate::confine::step::Steps;
use crate::custody::Go;
use crate::error::SandboxError;
use crate::keeper;
use crate::program::{Program, in_memory};
use crate::report::{Report, SIZE};
use crate::supervisor::FDS;

/// How long a start may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The writing end of a command's standard input.
pub type StdinPipe = pipe::Sender;

/// Everything that a shell is made of, apart from its mark.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) program: Program,
    pub(crate) steps: Steps,
    /// Directories over which kept layers are laid.
    pub(crate) layered: Vec<PathBuf>,
    /// The mounts that the steps reckon with.
    pub(crate) mounts: Vec<u8>,
}

impl Order {
    /// Two orders with the same signature lead to shells that cannot be told apart, as long as the paths that they name
    /// lead to the same files.
    pub(crate) fn signature(&self) -> Result<Vec<u8>, SandboxError> {
        let mut signature = self.program.image("", None, &self.steps)?;
        signature.extend_from_slice(&self.mounts);
        Ok(signature)
    }
}

/// A shell that waits for its script, or is about to, and the ends of its pipes that Tiller keeps. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Waiting {
    keeper: Pid,
    control: OwnedFd,
    /// The other end of it, by which what was said can be taken back.
    control_end: OwnedFd,
    status: OwnedFd,
    stdin: Option<OwnedFd>,
    stdout: OwnedFd,
    stderr: OwnedFd,
    dir: OwnedFd,
    script: std::fs::File,
}

/// What has become of a shell that was to read its script.
pub(crate) enum Started {
    /// It runs the script.
    Runs(Launched),
    /// It has not read and never will read any of it, and nothing of it is left.
    Gone,
    /// The same, but something of it may still be there.
    Stuck,
}

/// A running command and the ends of its pipes that Tiller keeps.
pub(crate) struct Launched {
    pub(crate) supervisor: Pid,
    pub(crate) shell: Pid,
    /// Closing it ends everything.
    pub(crate) control: OwnedFd,
    pub(crate) status: pipe::Receiver,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Holds the directory the shell ended in.
    pub(crate) dir: OwnedFd,
}

impl Waiting {
    /// Orders a shell whose processes carry this mark, for a command that is known or not. Does not wait for it.
    pub(crate) fn order(
        order: &Order,
        mark: &str,
        command: Option<&str>,
        stdin: Stdin,
    ) -> Result<Self, SandboxError> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC);
        // Neither end waits: whoever comes second to read what was said finds nothing.
        let (control_end, control) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let (status, status_end) = pipe()?;
        let (stdout, stdout_end) = pipe()?;
        let (stderr, stderr_end) = pipe()?;
        let (stdin_end, stdin) = match stdin {
            Stdin::Closed => (open(c"/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?, None),
            Stdin::Pipe => pipe().map(|(end, stdin)| (end, Some(stdin)))?,
        };
        let dir = memfd_create(c"tiller-dir", MemfdFlags::CLOEXEC)?;
        let script: std::fs::File = memfd_create(c"tiller-script", MemfdFlags::CLOEXEC)?.into();
        let image = in_memory(c"tiller-image", &order.program.image(mark, command, &order.steps)?)?;
        let handed: [&dyn AsFd; FDS] =
            [&stdin_end, &stdout_end, &stderr_end, &control_end, &status_end, &dir, &script, &image];
        let keeper = keeper::order(handed.map(AsFd::as_fd))?;
        Ok(Self { keeper, control, control_end, status, stdin, stdout, stderr, dir, script })
    }

    /// Lets the shell read its script by one of the orders to do so.
    pub(crate) async fn start(
        self,
        order: Go,
        script: &[u8],
        steps: &Steps,
    ) -> Result<Started, SandboxError> {
        self.say(order, script)?;
        let mut status = pipe::Receiver::from_owned_fd(self.status.try_clone()?)?;
        let mut heard = Heard::after(order);
        loop {
            let word = match tokio::time::timeout(PATIENCE, next_report(&mut status)).await {
                Ok(Some(report)) => Word::Report(report),
                Ok(None) => Word::Gone,
                Err(_) => Word::Silence,
            };
            let is_silent = word == Word::Silence;
            match heard.weigh(word, steps, &self)? {
                Verdict::Wait => {}
                Verdict::Refused => {
                    // Whoever does not answer does not end, either.
                    let is_gone = !is_silent && self.end().await;
                    return Ok(if is_gone { Started::Gone } else { Started::Stuck });
                }
                Verdict::Runs { supervisor, shell } => {
                    let Self { control, stdin, stdout, stderr, dir, .. } = self;
                    let launched =
                        Launched { supervisor, shell, control, status, stdin, stdout, stderr, dir };
                    return Ok(Started::Runs(launched));
                }
            }
        }
    }

    /// The same for a thread that may be held up, and for a script of which only its start is of interest.
    pub(crate) fn try_out(self, script: &[u8], steps: &Steps) -> Result<Option<()>, SandboxError> {
        let order = Go { if_unchanged: false, looking: false };
        self.say(order, script)?;
        let mut heard = Heard::after(order);
        loop {
            match heard.weigh(self.next_word(), steps, &self)? {
                Verdict::Wait => {}
                Verdict::Refused => return Ok(None),
                Verdict::Runs { .. } => return Ok(Some(())),
            }
        }
    }

    /// Ends it and waits until nothing of it is left. False if that takes too long.
    pub(crate) async fn end(self) -> bool {
        let Ok(mut status) = pipe::Receiver::from_owned_fd(self.leave()) else { return false };
        let gone = async { while next_report(&mut status).await.is_some() {} };
        tokio::time::timeout(PATIENCE, gone).await.is_ok()
    }

    /// Ends it without waiting. The pipe ends when nothing of it is left.
    pub(crate) fn leave(self) -> OwnedFd {
        let Self { control, status, .. } = self;
        drop(control);
        status
    }

    fn say(&self, order: Go, script: &[u8]) -> Result<(), SandboxError> {
        self.script.write_all_at(script, 0)?;
        rustix::io::write(&self.control, &[order.to_byte()])?;
        Ok(())
    }

    /// Takes back what was said. False if the supervisor has heard it: then the script may have run.
    fn take_back(&self) -> bool {
        matches!(rustix::io::read(&self.control_end, &mut [0]), Ok(1))
    }

    fn next_word(&self) -> Word {
        let mut waits = [PollFd::new(&self.status, PollFlags::IN)];
        let limit = Timespec::try_from(PATIENCE).ok();
        let mut bytes = [0; SIZE];
        loop {
            match poll(&mut waits, limit.as_ref()) {
                Ok(0) => return Word::Silence,
                Err(Errno::INTR) => continue,
                _ => {}
            }
            let report = match rustix::io::read(&self.status, &mut bytes) {
                Ok(SIZE) => Report::from_bytes(bytes),
                _ => None,
            };
            return report.map_or(Word::Gone, Word::Report);
        }
    }
}

/// What there is to hear of a start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Report(Report),
    /// Nobody is there any more who could say anything.
    Gone,
    /// Nothing, for too long: a command of before may have stopped the keeper or the supervisor.
    Silence,
}

/// What follows from it.
enum Verdict {
    Wait,
    /// The script has not been read and will not be.
    Refused,
    Runs {
        supervisor: Pid,
        shell: Pid,
    },
}

/// What was heard of a start so far.
struct Heard {
    order: Go,
    supervisor: Option<Pid>,
    shell: Option<Pid>,
    failed_step: Option<i32>,
    silences: usize,
}

impl Heard {
    /// Nothing yet after this order.
    fn after(order: Go) -> Self {
        Self { order, supervisor: None, shell: None, failed_step: None, silences: 0 }
    }

    fn weigh(&mut self, word: Word, steps: &Steps, of: &Waiting) -> Result<Verdict, SandboxError> {
        match word {
            Word::Report(Report::Supervised(pid)) => self.supervisor = Pid::from_raw(pid),
            Word::Report(Report::Started(pid)) => self.shell = Pid::from_raw(pid),
            Word::Report(Report::AtStep(step)) => self.failed_step = Some(step),
            // What was in the way of a shell that was to wait may be gone by now.
            Word::Report(Report::Failed(_)) if self.order.if_unchanged => {
                return Ok(Verdict::Refused);
            }
            Word::Report(Report::Failed(errno)) => return Err(self.failure(errno, steps)),
            Word::Report(Report::Going(_)) => {
                let (supervisor, shell) = self.supervisor.zip(self.shell).ok_or(Errno::PROTO)?;
                return Ok(Verdict::Runs { supervisor, shell });
            }
            Word::Report(Report::Stale(_)) => return Ok(Verdict::Refused),
            Word::Report(_) => {}
            Word::Gone | Word::Silence => {
                if self.shell.is_none() || word == Word::Silence {
                    keeper::dismiss(of.keeper);
                }
                self.silences += 1;
                let may_come = word == Word::Silence && self.silences == 1;
                return match of.take_back() {
                    true => Ok(Verdict::Refused),
                    // Somebody has heard it and should say so.
                    false if may_come => Ok(Verdict::Wait),
                    false => Err(Errno::SRCH.into()),
                };
            }
        }
        Ok(Verdict::Wait)
    }

    fn failure(&self, errno: i32, steps: &Steps) -> SandboxError {
        let errno = Errno::from_raw_os_error(errno);
        match self.failed_step {
            Some(step) => SandboxError::Unconfined { step: steps.describe(step), source: errno.into() },
            None => errno.into(),
        }
    }
}

/// Orders a shell and lets it run the script at once. Once more if a command of before has killed or stopped the keeper
/// and the supervisor that should have taken the order: what was not taken is taken back first, so that nothing runs
/// twice. `looking`: whether the script may only look.
pub(crate) async fn launch(
    order: &Order,
    mark: &str,
    (command, script): (&str, &[u8]),
    stdin: Stdin,
    looking: bool,
) -> Result<Launched, SandboxError> {
    let go = Go { if_unchanged: false, looking };
    for _ in 0..2 {
        let waiting = Waiting::order(order, mark, Some(command), stdin)?;
        if let Started::Runs(launched) = waiting.start(go, script, &order.steps).await? {
            return Ok(launched);
        }
    }
    Err(Errno::SRCH.into())
}
