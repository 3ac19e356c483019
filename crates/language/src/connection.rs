//! A running server: its process in custody, and what goes in and out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tiller_policy::{Permit, Script};
use tiller_protocol::id::CallId;
use tiller_sandbox::{
    Child, Confinement, Exit, LastWords, Spawn, Spool, SpoolStart, Stdin, StdinPipe, Successor,
    spawn_confined,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Surroundings;
use crate::framing::{Decoder, Unreadable, frame};
use crate::message::Message;
use crate::server::Server;

/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes that may wait for a server that does not read.
const BACKLOG: usize = 64 * 1024 * 1024;
/// How long a server whose output has ended may take to end itself.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A running server. Dropping it ends everything the server has started.
pub(crate) struct Connection {
    incoming: DuplexStream,
    chunk: Vec<u8>,
    decoder: Decoder,
    outgoing: Option<StdinPipe>,
    backlog: VecDeque<u8>,
    /// Dropping it ends the server.
    stop: oneshot::Sender<Infallible>,
    work: BoxFuture<'static, Exit>,
    /// Everything the server has started is gone.
    is_over: bool,
    last_words: LastWords,
}

impl Connection {
    /// Starts a server.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) async fn start(server: &Server, surroundings: &Arc<Surroundings>) -> Result<Self, String> {
        let mut child = launch(server, surroundings).await?;
        let outgoing = child.take_stdin();
        let (ours, theirs) = duplex(CHUNK);
        let (stop, stopped) = oneshot::channel::<Infallible>();
        let last_words = LastWords::of(server.command.first().map_or("", String::as_str));
        let heard = last_words.clone();
        let work = async move { child.relay(theirs, heard, stopped).await.0 }.boxed();
        Ok(Self {
            incoming: ours,
            chunk: vec![0; CHUNK],
            decoder: Decoder::default(),
            outgoing,
            backlog: VecDeque::new(),
            stop,
            work,
            is_over: false,
            last_words,
        })
    }

    /// Puts messages behind those that wait to be written.
    ///
    /// # Errors
    /// When the server does not read.
    pub(crate) fn send(&mut self, messages: Vec<String>) -> Result<(), String> {
        for message in messages {
            self.backlog.extend(frame(&message));
        }
        match self.backlog.len() > BACKLOG {
            true => Err("does not read what it is sent".to_owned()),
            false => Ok(()),
        }
    }

    /// Waits until something happens: messages have come, or the server has ended. Writes meanwhile. Cancel-safe.
    ///
    /// # Errors
    /// Why nothing more can come.
    pub(crate) async fn next(&mut self) -> Result<Vec<Message>, String> {
        loop {
            tokio::select! {
                exit = &mut self.work => return Err(self.over(&exit)),
                read = self.incoming.read(&mut self.chunk) => match read {
                    Ok(length @ 1..) => {
                        self.decoder.push(&self.chunk[..length]);
                        return self.messages().map_err(|error| error.to_string());
                    }
                    // Its supervisor is about to say why, unless it lives on without a voice.
                    Ok(_) | Err(_) => return Err(match timeout(LAST_WORDS, &mut self.work).await {
                        Ok(exit) => self.over(&exit),
                        Err(_) => "closed its output".to_owned(),
                    }),
                },
                () = write(&mut self.outgoing, &mut self.backlog) => {}
            }
        }
    }

    fn over(&mut self, exit: &Exit) -> String {
        self.is_over = true;
        self.last_words.behind(exit.status, str::to_owned)
    }

    fn messages(&mut self) -> Result<Vec<Message>, Unreadable> {
        let mut messages = Vec::new();
        while let Some(body) = self.decoder.next_body()? {
            match Message::parse(&body) {
                Some(message) => messages.push(message),
                None => {
                    tracing::debug!(
                        bytes = body.len(),
                        "a language server said something that is no message"
                    );
                }
            }
        }
        Ok(messages)
    }

    /// Gives a server that was told to end some time for it, and ends it if that is not enough.
    pub(crate) async fn end(self, patience: Duration) {
        let Self { mut work, stop, mut outgoing, mut backlog, incoming, is_over, .. } = self;
        if is_over {
            return;
        }
        // Nobody listens any more; a server that still talks must not be held up by that.
        drop(incoming);
        let farewell = async {
            while !backlog.is_empty() && outgoing.is_some() {
                write(&mut outgoing, &mut backlog).await;
            }
            drop(outgoing);
            std::future::pending::<Infallible>().await
        };
        let over = tokio::select! {
            _ = &mut work => true,
            never = farewell => match never {},
            () = tokio::time::sleep(patience) => false,
        };
        if !over {
            drop(stop);
            work.await;
        }
    }
}

async fn launch(server: &Server, surroundings: &Arc<Surroundings>) -> Result<Child, String> {
    let script = Script { command: server.script(), cwd: surroundings.root().to_owned() };
    let permit = Permit::for_users_own_command(script);
    let (permit, confinement) = match server.confined {
        true => {
            let surroundings = Arc::clone(surroundings);
            // It looks for files that rules speak of.
            let held = tokio::task::spawn_blocking(move || (surroundings.hold)(permit)).await;
            held.map_err(|error| error.to_string())??
        }
        false => (permit, Confinement::full()),
    };
    let spec = Spawn {
        call: &CallId::from("language-server"),
        vars: &surroundings.vars,
        stdin: Stdin::Pipe,
        spool: Spool { dir: PathBuf::new(), start: SpoolStart::Never },
        extra: &[],
        successor: Successor::Unknown,
    };
    let started = spawn_confined(&permit, &spec, &confinement).await;
    started.map_err(|error| format!("could not be started: {error}"))
}

/// Writes some of what waits; waits for ever if there is nothing. Cancel-safe: what is written is taken out at once.
async fn write(outgoing: &mut Option<StdinPipe>, backlog: &mut VecDeque<u8>) {
    let Some(pipe) = outgoing.as_mut().filter(|_| !backlog.is_empty()) else {
        return std::future::pending().await;
    };
    match pipe.write(backlog.as_slices().0).await {
        Ok(length) => drop(backlog.drain(..length)),
        // It does not listen any more; that it ends is told elsewhere.
        Err(_) => *outgoing = None,
    }
}
