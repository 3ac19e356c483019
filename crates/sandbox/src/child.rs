//! A running command.

use std::convert::Infallible;
use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};

use crate::capture::{Capture, Captured};
use crate::confine::plan::Held;
use crate::confinement::Level;
use crate::error::SandboxError;
use crate::launch::{Launched, Order, StdinPipe};
use crate::relay::hand_on;
use crate::report::{Report, SIZE};
use crate::{Spawn, ready, stray};

/// How long a supervisor has to end everything before Tiller does it. Longer than its own limits together.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// The same as long as there is no more.
const SMALL_CHUNK: usize = 4 * 1024;

/// A command in custody. Dropping it ends everything the command started.
#[derive(Debug)]
pub struct Child {
    supervisor: Supervisor,
    stdin: Option<StdinPipe>,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    dir: OwnedFd,
    output: Output,
    level: Level,
    held: Held,
    successor: Option<Arc<Order>>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// What the shell said.
    pub status: Status,
    /// The directory the shell ended in, if it could tell.
    pub dir: Option<PathBuf>,
    /// Processes that could not be ended, e.g. because they belong to another user.
    pub survivors: u32,
    /// Whether it has tried to reach what a private network does not reach. The kernel says so, not the command.
    pub unreached: bool,
}

/// What the shell said at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// The shell could not be run; the system's error number.
    NotRun(i32),
    /// Nobody knows: the command killed or stopped its supervisor.
    Lost,
}

impl Child {
    pub(crate) fn new(
        launched: Launched,
        mark: String,
        spec: &Spawn<'_>,
        (level, held): (Level, Held),
        successor: Option<Arc<Order>>,
    ) -> Result<Self, SandboxError> {
        let Launched { supervisor, shell, control, status, stdin, stdout, stderr, dir } = launched;
        let supervisor = Supervisor { pid: supervisor, shell, mark, control: Some(control), status };
        Ok(Self {
            supervisor,
            stdin: stdin.map(StdinPipe::from_owned_fd).transpose()?,
            stdout: pipe::Receiver::from_owned_fd(stdout)?,
            stderr: pipe::Receiver::from_owned_fd(stderr)?,
            dir,
            output: Output::new(spec),
            level,
            held,
            successor,
        })
    }

    /// The means by which the command is confined.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The shell's process id, which is also that of its group; in namespaces, that of their first process.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.supervisor.shell.as_raw_nonzero().get()
    }

    /// The output, readable while the command runs.
    #[must_use]
    pub fn output(&self) -> Output {
        self.output.clone()
    }

    /// The writing end of standard input, once, if it was asked for.
    pub fn take_stdin(&mut self) -> Option<StdinPipe> {
        self.stdin.take()
    }

    /// Drains the output until the command and everything it started has ended; `stop` ends it early, and its value
    /// is given back if it came first. Dropping the future ends the command as well.
    pub async fn finish<T>(self, stop: impl Future<Output = T>) -> (Exit, Option<T>) {
        let Self { mut supervisor, stdin, mut stdout, mut stderr, dir, output, level: _, held, successor } =
            self;
        drop(stdin);
        let (mut exit, stopped) = tokio::select! {
            ended = supervisor.watch(stop) => ended,
            never = output.drain(&mut stdout, &mut stderr) => match never {},
        };
        let aside = supervisor.hand_over(held, successor).await;
        output.drain_rest(&stdout, &stderr);
        output.tell(&aside);
        exit.dir = last_dir(&dir);
        (exit, stopped)
    }

    /// Hands the output on as it comes instead of keeping it; in all else like [`Child::finish`]. What is left when the
    /// command was stopped is not handed on, because whoever reads may not be there any more.
    pub async fn relay<T>(
        self,
        stdout: impl AsyncWrite + Unpin,
        stderr: impl AsyncWrite + Unpin,
        stop: impl Future<Output = T>,
    ) -> (Exit, Option<T>) {
        let Self { mut supervisor, stdin, stdout: from, stderr: from_stderr, dir, held, .. } = self;
        drop(stdin);
        let (over, ended) = watch::channel(false);
        let both =
            async { tokio::join!(hand_on(from, stdout, ended.clone()), hand_on(from_stderr, stderr, ended)) };
        let mut both = pin!(both);
        let mut handed_on = false;
        let (mut exit, stopped) = {
            let mut end = pin!(supervisor.watch(stop));
            loop {
                tokio::select! {
                    end = &mut end => break end,
                    _ = &mut both, if !handed_on => handed_on = true,
                }
            }
        };
        supervisor.hand_over(held, None).await;
        over.send_replace(true);
        if stopped.is_none() && !handed_on {
            both.await;
        }
        exit.dir = last_dir(&dir);
        (exit, stopped)
    }
}

#[derive(Debug)]
struct Supervisor {
    pid: Pid,
    shell: Pid,
    mark: String,
    control: Option<OwnedFd>,
    status: pipe::Receiver,
}

impl Supervisor {
    /// How it ends, apart from the directory.
    async fn watch<T>(&mut self, stop: impl Future<Output = T>) -> (Exit, Option<T>) {
        let mut stop = pin!(stop);
        let mut stopped = None;
        let mut status = Status::Lost;
        let mut settled = None;
        let mut unreached = false;
        let mut patience = pin!(tokio::time::sleep(Duration::MAX));
        let mut ending = false;
        loop {
            let news = tokio::select! {
                report = next_report(&mut self.status) => News::Report(report),
                reason = &mut stop, if stopped.is_none() => News::Stop(reason),
                () = &mut patience, if ending => News::Stuck,
            };
            match news {
                News::Report(Some(Report::Exited(code))) => status = Status::Code(code),
                News::Report(Some(Report::Signalled(signal))) => status = Status::Signal(signal),
                News::Report(Some(Report::Settled(left))) => {
                    // Everything has ended; the supervisor's own end is not worth waiting for.
                    settled = u32::try_from(left).ok();
                    break;
                }
                News::Report(Some(Report::Failed(errno))) => status = Status::NotRun(errno),
                News::Report(Some(Report::Unreached(times))) => unreached = times > 0,
                News::Report(Some(
                    Report::Supervised(_)
                    | Report::Started(_)
                    | Report::Going(_)
                    | Report::Stale(_)
                    | Report::AtStep(_),
                )) => {}
                News::Report(None) => break,
                News::Stuck => {
                    _ = kill_process(self.pid, Signal::KILL);
                    break;
                }
                News::Stop(reason) => {
                    stopped = Some(reason);
                    self.control = None;
                }
            }
            if !ending {
                ending = true;
                patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
            }
        }
        let survivors = match (settled, status) {
            (Some(left), _) => left,
            (None, Status::NotRun(_)) => 0,
            (None, _) => self.replace().await,
        };
        (Exit { status, dir: None, survivors, unreached }, stopped)
    }

    /// Settles what was held while the command ran, and has its successor started. Layers are given back only when
    /// nothing is left that has them mounted.
    /// Says what was set aside.
    async fn hand_over(self, mut held: Held, successor: Option<Arc<Order>>) -> Vec<(PathBuf, PathBuf)> {
        let lease = held.layers.take();
        let aside = held.settle();
        let Self { mut status, control, .. } = self;
        drop(control);
        match successor.filter(|order| ready::is_wanted(order, lease.as_ref())) {
            Some(order) => match (lease, status.into_nonblocking_fd()) {
                (None, _) => ready::renew(order, None, None),
                (Some(lease), Ok(former)) => ready::renew(order, Some(lease), Some(former)),
                (Some(lease), Err(_)) => lease.abandon(),
            },
            None => {
                let Some(lease) = lease else { return aside };
                let gone = async { while next_report(&mut status).await.is_some() {} };
                if tokio::time::timeout(PATIENCE, gone).await.is_err() {
                    lease.abandon();
                }
            }
        }
        aside
    }

    /// Does the work of a supervisor that was killed by the command, or because the command had stopped it.
    async fn replace(&self) -> u32 {
        tracing::warn!(
            call = self.mark,
            "a command's supervisor is gone; ending its processes by their mark"
        );
        stray::hunt(self.pid, &self.mark).await
    }
}

enum News<T> {
    Report(Option<Report>),
    Stop(T),
    Stuck,
}

/// Cancel-safe: a message is read as a whole or not at all.
pub(crate) async fn next_report(status: &mut pipe::Receiver) -> Option<Report> {
    let mut bytes = [0; SIZE];
    match status.read(&mut bytes).await {
        Ok(SIZE) => Report::from_bytes(bytes),
        _ => None,
    }
}

fn last_dir(dir: &OwnedFd) -> Option<PathBuf> {
    let mut bytes = vec![0; 4096];
    let length = rustix::io::pread(dir, &mut bytes, 0).ok()?;
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    let path = PathBuf::from(OsString::from_vec(bytes));
    path.is_absolute().then_some(path)
}

/// What a command prints. Cheap to clone; bounded in memory.
#[derive(Clone)]
pub struct Output(Arc<Streams>);

struct Streams {
    stdout: Mutex<Capture>,
    stderr: Mutex<Capture>,
    grown: Notify,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("total", &self.total()).finish()
    }
}

impl Output {
    fn new(spec: &Spawn<'_>) -> Self {
        let name: String =
            spec.call.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let capture = |stream: &str| {
            let path = spec.spool.dir.join(format!("{name}.{stream}.txt"));
            Mutex::new(Capture::new(path, spec.spool.start))
        };
        Self(Arc::new(Streams { stdout: capture("stdout"), stderr: capture("stderr"), grown: Notify::new() }))
    }

    /// What came on both streams since this was last called.
    #[must_use]
    pub fn take(&self) -> (Captured, Captured) {
        (lock(&self.0.stdout).take(), lock(&self.0.stderr).take())
    }

    /// The first bytes of standard output since [`Output::take`], at most `count`.
    #[must_use]
    pub fn first(&self, count: usize) -> Vec<u8> {
        lock(&self.0.stdout).first(count)
    }

    /// The last bytes of standard output, or of standard error while there is no other output.
    #[must_use]
    pub fn last(&self, count: usize) -> Vec<u8> {
        let stdout = lock(&self.0.stdout).last(count);
        if stdout.is_empty() { lock(&self.0.stderr).last(count) } else { stdout }
    }

    /// Stores everything in files from now on, as [`crate::SpoolStart::AtOnce`] does: it will be read in pieces.
    pub fn store_all(&self) {
        lock(&self.0.stdout).store_all();
        lock(&self.0.stderr).store_all();
    }

    /// The file with all of standard output, or with standard error while there is no other output.
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        lock(&self.0.stdout).file().or_else(|| lock(&self.0.stderr).file())
    }

    /// Bytes that came on both streams since [`Output::take`].
    #[must_use]
    pub fn total(&self) -> u64 {
        lock(&self.0.stdout).total() + lock(&self.0.stderr).total()
    }

    /// Waits for more output. For one waiter only.
    pub async fn grown(&self) {
        self.0.grown.notified().await;
    }

    /// Reads both streams to their end and then waits for ever: the end of a pipe says nothing about the command.
    async fn drain(&self, stdout: &mut pipe::Receiver, stderr: &mut pipe::Receiver) -> Infallible {
        tokio::join!(self.pump(stdout, &self.0.stdout), self.pump(stderr, &self.0.stderr));
        std::future::pending().await
    }

    async fn pump(&self, from: &mut pipe::Receiver, to: &Mutex<Capture>) {
        let mut chunk = Chunk::default();
        while from.readable().await.is_ok() {
            match from.try_read(chunk.room()) {
                Ok(length @ 1..) => {
                    lock(to).append(chunk.filled(length));
                    self.0.grown.notify_one();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                _ => break,
            }
        }
    }

    /// Says behind all that the command has said what it must not make and where that is now.
    fn tell(&self, aside: &[(PathBuf, PathBuf)]) {
        for (path, now) in aside {
            let name = now.file_name().unwrap_or_default().to_string_lossy();
            let said = format!(
                "[a command must not make {}: what was made there was renamed to {name}]\n",
                path.display()
            );
            lock(&self.0.stderr).append(said.as_bytes());
        }
    }

    /// Reads what is in the pipes after the command has ended, without waiting for more.
    fn drain_rest(&self, stdout: &pipe::Receiver, stderr: &pipe::Receiver) {
        for (from, to) in [(stdout.as_fd(), &self.0.stdout), (stderr.as_fd(), &self.0.stderr)] {
            let mut chunk = Chunk::default();
            while let Ok(length @ 1..) = rustix::io::read(from, &mut *chunk.room()) {
                lock(to).append(chunk.filled(length));
            }
        }
    }
}

/// Where output is read to. Most commands print little, and what is large takes time to make.
#[derive(Default)]
struct Chunk(Vec<u8>);

impl Chunk {
    fn room(&mut self) -> &mut [u8] {
        if self.0.is_empty() {
            self.0.resize(SMALL_CHUNK, 0);
        }
        &mut self.0
    }

    /// What was read. Where it took all of the room, there is more of that from now on.
    fn filled(&mut self, length: usize) -> &[u8] {
        if length == self.0.len() {
            self.0.resize(CHUNK.max(length), 0);
        }
        &self.0[..length]
    }
}

fn lock(capture: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}
