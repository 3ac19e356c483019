//! Command lines that the user runs themselves with `!`: nothing holds them, but they can be stopped, and what they print
//! is bounded.

use std::io::PipeReader;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tiller_protocol::env::Env;
use tiller_tui::host::Reply;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// Bytes of the output that are kept.
const MOST: usize = 30_000;
/// Bytes that are read at once.
const AT_ONCE: usize = 16 * 1024;
/// How long output is waited for after the end: what goes on in the background may keep the pipe open.
const AFTERWARDS: Duration = Duration::from_millis(50);
/// What shells give for a command that they could not start.
const NOT_STARTED: i32 = 127;

/// Runs a command line until its end, or until it is stopped.
pub(super) async fn run(command: &str, env: &Env, stop: &CancellationToken) -> Reply {
    let mut printed = Printed::new();
    let ended = match start(command, env) {
        Ok((child, output)) => watch(child, output, stop, &mut printed).await,
        Err(error) => Err(error),
    };
    let (output, code) = match ended {
        Ok(status) => (printed.text(), status.code()),
        Err(error) => (format!("it could not be run: {error}"), Some(NOT_STARTED)),
    };
    Reply::Ran { command: command.to_owned(), output, code }
}

/// Both outputs go through one pipe, so that they stay in order.
fn start(command: &str, env: &Env) -> std::io::Result<(Child, PipeReader)> {
    let (output, input) = std::io::pipe()?;
    let mut process = Command::new("bash");
    process.args(["-c", command]).current_dir(&env.cwd).stdin(Stdio::null());
    process.stdout(input.try_clone()?).stderr(input).process_group(0).kill_on_drop(true);
    Ok((process.spawn()?, output))
}

async fn watch(
    mut child: Child,
    output: PipeReader,
    stop: &CancellationToken,
    printed: &mut Printed,
) -> std::io::Result<ExitStatus> {
    let mut output = Receiver::from_owned_fd(output.into())?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            is_open = printed.read(&mut output) => if !is_open? {
                break child.wait().await?;
            },
            () = stop.cancelled() => {
                // It may have ended just now.
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                break child.wait().await?;
            }
        }
    };
    while let Ok(Ok(true)) = tokio::time::timeout(AFTERWARDS, printed.read(&mut output)).await {
        if printed.is_full() {
            break;
        }
    }
    Ok(status)
}

/// The beginning of what was printed.
struct Printed {
    buffer: Vec<u8>,
    kept: Vec<u8>,
    left_out: u64,
}

impl Printed {
    fn new() -> Self {
        Self { buffer: vec![0; AT_ONCE], kept: Vec::new(), left_out: 0 }
    }

    /// Reads some; whether there can be more.
    async fn read(&mut self, output: &mut Receiver) -> std::io::Result<bool> {
        let count = output.read(&mut self.buffer).await?;
        let room = MOST.saturating_sub(self.kept.len()).min(count);
        self.kept.extend_from_slice(&self.buffer[..room]);
        self.left_out += (count - room) as u64;
        Ok(count > 0)
    }

    fn is_full(&self) -> bool {
        self.kept.len() >= MOST
    }

    fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        match self.left_out {
            0 => text.into_owned(),
            more => format!("{}\n(and {more} bytes more)", text.trim_end()),
        }
    }
}
