//! Commands of hooks: started in custody, fed with their input, waited for.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tiller_policy::{Permit, Script};
use tiller_protocol::id::CallId;
use tiller_sandbox::{
    Captured, Exit, Output, Spawn, Spool, SpoolStart, Status, Stdin, StdinPipe, Successor, spawn,
};
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::document::Announcement;
use super::not_started;
use super::output::{Ended, Printed};

/// Bytes in which an announcement has to fit.
const ANNOUNCEMENT_LIMIT: usize = 4096;
/// Exit codes by which a shell says that there is no such command, or that it cannot be run.
const NOT_RUN: [i32; 2] = [126, 127];
/// The exit code of an objection.
const OBJECTION: i32 = 2;

/// What a command needs.
#[derive(Clone)]
pub(super) struct Launch {
    pub(super) command: String,
    pub(super) cwd: PathBuf,
    pub(super) vars: Arc<BTreeMap<String, String>>,
    pub(super) input: Arc<str>,
}

/// A command that has been started. Dropping it ends everything it has started.
pub(super) struct Running {
    launch: Launch,
    work: BoxFuture<'static, Exit>,
    /// Dropping it ends the command.
    stop: oneshot::Sender<Infallible>,
    output: Output,
}

/// What came of waiting for a command.
pub(super) enum Waited {
    Ended(Command),
    /// Nobody shall wait for it any longer.
    Announced(Running, Announcement),
}

/// A command that has ended.
pub(super) struct Command {
    pub(super) ended: Ended,
    pub(super) exit_code: Option<i32>,
    pub(super) stdout: Printed,
    pub(super) stderr: Printed,
}

impl Command {
    /// One of which there is nothing to show.
    pub(super) fn without_output(ended: Ended) -> Self {
        Self { ended, exit_code: None, stdout: Printed::default(), stderr: Printed::default() }
    }
}

impl Launch {
    /// Starts the command. On failure, what it ended with.
    pub(super) async fn start(self) -> Result<Running, Command> {
        let failed = |why: String| Command::without_output(Ended::Failed(why));
        let script = Script { command: self.command.clone(), cwd: self.cwd.clone() };
        let spec = Spawn {
            call: &CallId::from("hook"),
            vars: &self.vars,
            stdin: Stdin::Pipe,
            spool: Spool { dir: PathBuf::new(), start: SpoolStart::Never },
            extra: &[],
            successor: Successor::Unknown,
        };
        let started = spawn(&Permit::for_users_own_command(script), &spec).await;
        let mut child = started.map_err(|error| failed(error.to_string()))?;
        let output = child.output();
        let stdin = child.take_stdin();
        let input = Arc::clone(&self.input);
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let work = async move {
            tokio::select! {
                (exit, _) = child.finish(stopped) => exit,
                never = feed(stdin, &input) => match never {},
            }
        };
        Ok(Running { launch: self, work: work.boxed(), stop, output })
    }
}

/// Gives a command its input. One that does not read it has its reasons.
async fn feed(stdin: Option<StdinPipe>, input: &str) -> Infallible {
    if let Some(mut stdin) = stdin {
        _ = stdin.write_all(input.as_bytes()).await;
        _ = stdin.write_all(b"\n").await;
    }
    std::future::pending().await
}

impl Running {
    /// Waits until the command has ended, in whatever way, or announces that it goes on by itself.
    pub(super) async fn wait(mut self, limit: Duration, cancel: &CancellationToken) -> Waited {
        let mut limit = pin!(tokio::time::sleep(limit));
        let mut listening = true;
        let ended = loop {
            tokio::select! {
                exit = &mut self.work => return Waited::Ended(self.exited(&exit).await),
                () = &mut limit => break Ended::TimedOut,
                () = cancel.cancelled() => break Ended::Cancelled,
                () = self.output.grown(), if listening => {
                    let beginning = self.output.first(ANNOUNCEMENT_LIMIT);
                    if let Some(announcement) = Announcement::read(&beginning) {
                        return Waited::Announced(self, announcement);
                    }
                    listening = !beginning.trim_ascii_start().contains(&b'\n')
                        && beginning.len() < ANNOUNCEMENT_LIMIT;
                }
            }
        };
        Waited::Ended(self.end(ended).await)
    }

    /// Waits for a command that goes on by itself.
    pub(super) async fn wait_for_response(mut self, limit: Duration, cancel: &CancellationToken) -> Command {
        let ended = tokio::select! {
            exit = &mut self.work => return self.exited(&exit).await,
            () = tokio::time::sleep(limit) => Ended::TimedOut,
            () = cancel.cancelled() => Ended::Cancelled,
        };
        self.end(ended).await
    }

    async fn end(self, ended: Ended) -> Command {
        drop(self.stop);
        self.work.await;
        let (stdout, stderr) = self.output.take();
        Command { ended, exit_code: None, stdout: text(&stdout), stderr: text(&stderr) }
    }

    async fn exited(self, exit: &Exit) -> Command {
        let (stdout, stderr) = self.output.take();
        let (stdout, stderr) = (text(&stdout), text(&stderr));
        let exit_code = match exit.status {
            Status::Code(code) => Some(code),
            Status::Signal(_) | Status::NotRun(_) | Status::Lost => None,
        };
        let complaint = stderr.text.trim();
        let because = |what: &str| match complaint {
            "" => what.to_owned(),
            complaint => format!("{what}: {complaint}"),
        };
        let ended = match exit.status {
            Status::Code(0) => Ended::Printed(stdout.clone()),
            Status::Code(OBJECTION) => match not_started::reason(&self.launch, complaint).await {
                Some(why) => Ended::Failed(because(&why)),
                None => Ended::Objected(stderr.text.clone()),
            },
            Status::Code(code) if NOT_RUN.contains(&code) => {
                Ended::Failed(because("the command cannot be run"))
            }
            Status::Code(code) => Ended::Failed(because(&format!("exit code {code}"))),
            Status::Signal(signal) => Ended::Failed(because(&format!("it was ended by signal {signal}"))),
            Status::NotRun(_) | Status::Lost => Ended::Failed(because("it was not seen to end")),
        };
        Command { ended, exit_code, stdout, stderr }
    }
}

/// Output as text; what does not fit is left out, and said to be.
fn text(captured: &Captured) -> Printed {
    let (head, tail) = (String::from_utf8_lossy(&captured.head), String::from_utf8_lossy(&captured.tail));
    match captured.left_out() {
        // A character may lie across the seam.
        0 => {
            let whole = [captured.head.as_slice(), &captured.tail].concat();
            Printed { text: String::from_utf8_lossy(&whole).into_owned(), is_cut: false }
        }
        left_out => {
            Printed { text: format!("{head}\n[{left_out} bytes are left out here]\n{tail}"), is_cut: true }
        }
    }
}
