//! Commands in the background. They belong to the session and end with it.

mod foreground;
mod typing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tiller_policy::{Permit, Script};
use tiller_protocol::env::Env;
use tiller_protocol::id::CallId;
use tiller_sandbox::{
    Captured, Confinement, Level, Output, SandboxError, Spawn, Spool, SpoolStart, Status, Stdin, StdinPipe,
    Successor, spawn_confined,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bash::refusal::{Witness, refusal};
use crate::harmless_git;
pub(crate) use foreground::Attended;
use foreground::Foreground;
pub use typing::ShellError;

/// Ended commands that are remembered.
const ENDED_REMEMBERED: usize = 32;

/// The background commands of a session.
pub struct Shells {
    env: Env,
    book: Arc<Mutex<Book>>,
    foreground: Foreground,
    end: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Default)]
struct Book {
    started: u32,
    shells: BTreeMap<u32, Arc<Shell>>,
    listeners: Vec<Listener>,
}

/// Hears of every start and every end, until it has enough.
type Listener = Box<dyn Fn(&ShellInfo) -> bool + Send>;

struct Shell {
    info: Mutex<ShellInfo>,
    held: Held,
    output: Output,
    stdin: tokio::sync::Mutex<Option<StdinPipe>>,
    typed: Mutex<String>,
    /// Bytes of output of which the model knows that it has not read them.
    known_unread: Mutex<u64>,
    stop: CancellationToken,
    ended: CancellationToken,
}

/// How a command is held.
pub(crate) struct Held {
    pub(crate) permit: Permit,
    pub(crate) confinement: Confinement,
    pub(crate) level: Level,
    /// Where it started.
    pub(crate) cwd: PathBuf,
}

/// A command that runs, about to be entered in the book.
pub(crate) struct Running {
    pub(crate) call: CallId,
    pub(crate) command: String,
    pub(crate) started: Timestamp,
    pub(crate) held: Held,
    pub(crate) output: Output,
    pub(crate) stdin: Option<StdinPipe>,
    /// Ends it.
    pub(crate) stop: CancellationToken,
    /// Waits for its end.
    pub(crate) end: BoxFuture<'static, ShellState>,
}

/// What is known about a background command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellInfo {
    /// Its name, e.g. `bash_1`.
    pub id: String,
    /// The call that started it.
    pub call: CallId,
    /// The command.
    pub command: String,
    /// When it was started.
    pub started: Timestamp,
    /// Where it stands.
    pub state: ShellState,
    /// The file with its output, once it has ended and if it has printed anything.
    pub stored: Option<PathBuf>,
}

/// Where a background command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellState {
    /// It runs.
    Running,
    /// It ended by itself.
    Ended(Status),
    /// It was ended on request.
    Killed,
}

impl std::fmt::Display for ShellState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Running => f.write_str("running"),
            Self::Ended(Status::Code(code)) => write!(f, "exited with code {code}"),
            Self::Ended(Status::Signal(signal)) => write!(f, "ended by signal {signal}"),
            Self::Ended(Status::NotRun(_)) => f.write_str("the shell could not be run"),
            Self::Ended(Status::Lost) => f.write_str("ended for an unknown reason"),
            Self::Killed => f.write_str("killed"),
        }
    }
}

impl std::fmt::Debug for Shells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

impl Shells {
    /// No commands yet.
    #[must_use]
    pub fn new(env: Env) -> Self {
        let (end, tasks) = (CancellationToken::new(), TaskTracker::new());
        Self { env, book: Arc::default(), foreground: Foreground::default(), end, tasks }
    }

    /// Keeps names for commands of an earlier run of the session: the next one gets a later name.
    pub fn number_after(&self, number: u32) {
        let mut book = lock(&self.book);
        book.started = book.started.max(number);
    }

    /// Starts the permitted command, held like this until its end. All its output is stored below `spill_dir`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub async fn start(
        &self,
        permit: &Permit,
        confinement: &Confinement,
        call: &CallId,
        spill_dir: &Path,
    ) -> Result<ShellInfo, SandboxError> {
        let Script { command, cwd } = permit.script()?.clone();
        let spool = Spool { dir: spill_dir.to_owned(), start: SpoolStart::AtOnce };
        let extra = harmless_git::variables(permit);
        let spec = Spawn {
            call,
            vars: &self.env.vars,
            stdin: Stdin::Pipe,
            spool,
            extra: &extra,
            successor: Successor::Unknown,
        };
        let mut child = spawn_confined(permit, &spec, confinement).await?;
        let stop = self.end.child_token();
        let stopped = stop.clone().cancelled_owned();
        Ok(self.enter(Running {
            call: call.clone(),
            command,
            started: self.env.now(),
            held: Held {
                permit: permit.clone(),
                confinement: confinement.clone(),
                level: child.level(),
                cwd,
            },
            output: child.output(),
            stdin: child.take_stdin(),
            stop,
            end: async move {
                let (exit, stopped) = child.finish(stopped).await;
                if stopped.is_some() { ShellState::Killed } else { ShellState::Ended(exit.status) }
            }
            .boxed(),
        }))
    }

    /// Enters a command that runs in the book, and looks after it until its end.
    pub(crate) fn enter(&self, running: Running) -> ShellInfo {
        let Running { call, command, started, held, output, stdin, stop, end } = running;
        let mut book = lock(&self.book);
        book.started += 1;
        let number = book.started;
        let state = ShellState::Running;
        let info = ShellInfo { id: format!("bash_{number}"), call, command, started, state, stored: None };
        let shell = Arc::new(Shell {
            info: Mutex::new(info.clone()),
            held,
            // What a command printed before it was moved, whoever hears of that can read.
            known_unread: Mutex::new(output.total()),
            output,
            stdin: tokio::sync::Mutex::new(stdin),
            typed: Mutex::default(),
            stop,
            ended: CancellationToken::new(),
        });
        book.forget_old();
        book.shells.insert(number, Arc::clone(&shell));
        book.announce(&info);
        drop(book);
        let book = Arc::clone(&self.book);
        self.tasks.spawn(async move {
            let info = shell.close(end.await);
            lock(&book).announce(&info);
        });
        info
    }

    /// All commands that are remembered, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<ShellInfo> {
        lock(&self.book).shells.values().map(|shell| lock(&shell.info).clone()).collect()
    }

    /// A command and what it printed since it was last read.
    #[must_use]
    pub fn read(&self, id: &str) -> Option<(ShellInfo, Captured, Captured)> {
        let shell = self.find(id)?;
        // The state comes first: if it says that the command has ended, the output is complete.
        let info = lock(&shell.info).clone();
        let (stdout, stderr) = shell.output.take();
        *lock(&shell.known_unread) = 0;
        Some((info, stdout, stderr))
    }

    /// The end of what was not read yet, at most this many bytes; it stays unread.
    #[must_use]
    pub fn last(&self, id: &str, count: usize) -> Option<Vec<u8>> {
        self.find(id).map(|shell| shell.output.last(count))
    }

    /// Bytes of output that were not read yet, if there are more of them than the model knows of.
    #[must_use]
    pub fn unread(&self, id: &str) -> Option<u64> {
        let shell = self.find(id)?;
        let unread = shell.output.total();
        (unread > *lock(&shell.known_unread)).then_some(unread)
    }

    /// Notes that the model was told how much output it has not read.
    pub fn unread_is_known(&self, id: &str) {
        if let Some(shell) = self.find(id) {
            *lock(&shell.known_unread) = shell.output.total();
        }
    }

    /// What is to be said about the confinement of a command that failed with this output.
    pub(crate) fn remark(&self, info: &ShellInfo, output: &str) -> Option<String> {
        let failed = matches!(info.state, ShellState::Ended(Status::Code(code)) if code != 0);
        let shell = self.find(&info.id).filter(|_| failed)?;
        let Held { permit, confinement, level, cwd } = &shell.held;
        // Nobody is asked about it, so the command's own word will do.
        let witness = Witness { confinement, level: *level, unreached: true, vars: &self.env.vars, cwd };
        let refusal = refusal(output, &witness)?;
        Some(refusal.remark(refusal.kind.remedy(permit, confinement, *level)))
    }

    /// Ends a command and everything it started. Gives what is known about it from before.
    pub async fn kill(&self, id: &str) -> Option<ShellInfo> {
        let shell = self.find(id)?;
        let before = lock(&shell.info).clone();
        shell.stop.cancel();
        shell.ended.cancelled().await;
        Some(before)
    }

    /// Every start and every end from now on.
    #[must_use]
    pub fn changes(&self) -> UnboundedReceiver<ShellInfo> {
        let (sender, receiver) = unbounded_channel();
        self.listen(move |info| sender.send(info.clone()).is_ok());
        receiver
    }

    /// Lets somebody hear of every start and every end, as long as they say yes. They must not look here meanwhile.
    pub fn listen(&self, listener: impl Fn(&ShellInfo) -> bool + Send + 'static) {
        lock(&self.book).listeners.push(Box::new(listener));
    }

    /// Ends all commands, for good.
    pub async fn end_all(&self) {
        self.end.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn find(&self, id: &str) -> Option<Arc<Shell>> {
        let number: u32 = id.strip_prefix("bash_")?.parse().ok()?;
        lock(&self.book).shells.get(&number).cloned()
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

impl Shell {
    fn close(&self, state: ShellState) -> ShellInfo {
        let mut info = lock(&self.info);
        info.state = state;
        info.stored = self.output.file();
        self.ended.cancel();
        info.clone()
    }
}

impl Book {
    fn announce(&mut self, info: &ShellInfo) {
        self.listeners.retain(|listener| listener(info));
    }

    fn forget_old(&mut self) {
        let ended: Vec<u32> = self
            .shells
            .iter()
            .filter(|(_, shell)| shell.ended.is_cancelled())
            .map(|(number, _)| *number)
            .collect();
        for number in ended.iter().take(ended.len().saturating_sub(ENDED_REMEMBERED - 1)) {
            self.shells.remove(number);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
