//! A server that is a program: in custody, with a bound on what it may send.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tiller_policy::{Permit, Script};
use tiller_protocol::id::CallId;
use tiller_sandbox::{
    Child, Confinement, LastWords, Spawn, Spool, SpoolStart, Stdin, StdinPipe, Successor, is_credential,
    spawn_confined,
};
use tiller_tools::Vault;
use tokio::io::{AsyncWrite, DuplexStream, duplex};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Bytes that may wait between a server and whoever reads it.
const BUFFER: usize = 64 * 1024;
/// Lines that a server may send in one [`WINDOW`].
const FLOOD: u32 = 20_000;
/// How long lines are counted together.
const WINDOW: Duration = Duration::from_secs(2);
/// Bytes that one line may have.
const LONGEST_LINE: usize = 32 * 1024 * 1024;

/// What a server is started with.
pub(crate) struct Program<'a> {
    pub(crate) server: &'a str,
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: &'a Path,
    pub(crate) vars: &'a BTreeMap<String, String>,
    /// Masks credentials in what it complains about.
    pub(crate) secrets: &'a Arc<Vault>,
}

/// A running server.
pub(crate) struct Process {
    pub(crate) output: DuplexStream,
    pub(crate) input: StdinPipe,
    pub(crate) custody: Custody,
}

/// Holds a server.
pub(crate) struct Custody {
    stop: oneshot::Sender<()>,
    end: BoxFuture<'static, String>,
}

impl Custody {
    /// What ends everything the server has started when it is dropped, and what says how it ended once all of that is
    /// gone. The latter has to be waited for, or the server is not heard.
    pub(crate) fn into_parts(self) -> (oneshot::Sender<()>, BoxFuture<'static, String>) {
        (self.stop, self.end)
    }
}

impl Process {
    /// Starts a server.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) async fn start(program: Program<'_>) -> Result<Self, String> {
        let script = Script { command: script(program.command, program.args), cwd: program.cwd.to_owned() };
        let vars = environment(program.vars, program.env);
        let mut child = launch(script, &vars).await?;
        let input = child.take_stdin().ok_or("it has no standard input")?;
        let (output, theirs) = duplex(BUFFER);
        let (stop, stopped) = oneshot::channel();
        let (last_words, secrets) = (LastWords::of(program.server), Arc::clone(program.secrets));
        let flood = Arc::new(Mutex::new(false));
        let gate =
            Gate { to: theirs, line: 0, lines: 0, since: Instant::now(), is_flood: Arc::clone(&flood) };
        let heard = last_words.clone();
        let end = async move {
            let (exit, _) = child.relay(gate, heard, stopped).await;
            let flooded = *flood.lock().unwrap_or_else(PoisonError::into_inner);
            match flooded {
                true => "it sent more than it may".to_owned(),
                false => {
                    format!("it {}", last_words.behind(exit.status, |text| secrets.mask(text).into_owned()))
                }
            }
        };
        Ok(Self { output, input, custody: Custody { stop, end: end.boxed() } })
    }
}

/// The environment of a server: without what looks like a credential, unless the configuration names it.
fn environment(vars: &BTreeMap<String, String>, own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let inherited = vars.iter().filter(|(name, _)| !is_credential(name));
    inherited.chain(own).map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn launch(script: Script, vars: &BTreeMap<String, String>) -> Result<Child, String> {
    let permit = Permit::for_users_own_command(script);
    let call = CallId::from("mcp-server");
    let spool = Spool { dir: PathBuf::new(), start: SpoolStart::Never };
    let spec =
        Spawn { call: &call, vars, stdin: Stdin::Pipe, spool, extra: &[], successor: Successor::Unknown };
    let started = spawn_confined(&permit, &spec, &Confinement::full()).await;
    started.map_err(|error| format!("it could not be started: {error}"))
}

/// The command for a shell, every word as it is.
fn script(command: &str, args: &[String]) -> String {
    let words = std::iter::once(command).chain(args.iter().map(String::as_str));
    let quoted = words.map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    format!("exec {}", quoted.collect::<Vec<_>>().join(" "))
}

/// Lets lines through as long as they are not too many, and none is too long.
struct Gate {
    to: DuplexStream,
    /// Bytes since the last end of a line.
    line: usize,
    lines: u32,
    since: Instant,
    is_flood: Arc<Mutex<bool>>,
}

impl AsyncWrite for Gate {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = std::task::ready!(Pin::new(&mut self.to).poll_write(cx, bytes))?;
        if self.since.elapsed() > WINDOW {
            (self.since, self.lines) = (Instant::now(), 0);
        }
        let passed = &bytes[..written];
        let lines = passed.iter().filter(|byte| **byte == b'\n').count();
        self.lines = self.lines.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.line = match passed.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => written - at - 1,
            None => self.line + written,
        };
        if self.lines > FLOOD || self.line > LONGEST_LINE {
            *self.is_flood.lock().unwrap_or_else(PoisonError::into_inner) = true;
            // Whoever reads sees the end, and lets go of the server.
            return Poll::Ready(Err(io::ErrorKind::QuotaExceeded.into()));
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.to).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.to).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SECR-01
    #[test]
    fn servers_get_no_credentials_that_nobody_gave_them() {
        let map = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let inherited = map(&[("PATH", "/bin"), ("GITHUB_TOKEN", "t"), ("ANTHROPIC_API_KEY", "k")]);
        let env = environment(&inherited, &map(&[("NPM_TOKEN", "given")]));
        assert_eq!(env, map(&[("PATH", "/bin"), ("NPM_TOKEN", "given")]));
    }

    #[test]
    fn words_stay_as_they_are() {
        assert_eq!(script("/a b", &["it's".to_owned(), "$X".to_owned()]), r"exec '/a b' 'it'\''s' '$X'");
    }
}
