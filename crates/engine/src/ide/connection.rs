//! The conversation with editors: a line in, a line out.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Editors;
use super::board::Speaker;
use super::message::understand;
use super::place::Place;

/// Editors that are heard at once.
const MAX_EDITORS: usize = 8;
/// Bytes of a line.
const MAX_LINE: u64 = 256 * 1024;
/// A pause, when there are no file descriptors left.
const BREATH: Duration = Duration::from_secs(1);

/// Listens until it is dropped; the files of the socket go with it.
pub(super) async fn serve(listener: UnixListener, place: Place, editors: Editors) {
    place.tidy_up().await;
    let seats = Arc::new(Semaphore::new(MAX_EDITORS));
    let mut connections = JoinSet::new();
    let mut number = 0;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("an editor could not connect: {error}");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        while connections.try_join_next().is_some() {}
        // Whoever finds no seat is hung up on.
        let Ok(seat) = Arc::clone(&seats).try_acquire_owned() else { continue };
        number += 1;
        let presence = Presence { editors: editors.clone(), speaker: Speaker(number) };
        connections.spawn(async move {
            if let Err(error) = converse(stream, &presence).await {
                tracing::debug!("a connection of an editor broke: {error}");
            }
            drop((presence, seat));
        });
    }
}

/// An editor that is connected. What it said is forgotten when it leaves.
struct Presence {
    editors: Editors,
    speaker: Speaker,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.editors.board().leave(self.speaker);
    }
}

async fn converse(stream: UnixStream, presence: &Presence) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut reader = BufReader::new(read);
    loop {
        let line = match next_line(&mut reader).await? {
            Heard::Line(line) => line,
            Heard::TooMuch => {
                let refusal = refusal(&format!("a line may have {MAX_LINE} bytes"));
                return write.write_all(&answer(&refusal)).await;
            }
            Heard::End => return Ok(()),
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        // A path may lead to a disk that is slow.
        let understood = tokio::task::spawn_blocking(move || understand(&line)).await?;
        let taken = understood.and_then(|said| presence.editors.board().take(presence.speaker, said));
        let reply = match taken {
            Ok(()) => json!({"type": "ok"}),
            Err(problem) => refusal(&problem),
        };
        write.write_all(&answer(&reply)).await?;
    }
}

fn refusal(problem: &str) -> Value {
    json!({"type": "error", "message": problem})
}

fn answer(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

enum Heard {
    Line(Vec<u8>),
    TooMuch,
    End,
}

async fn next_line(reader: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Heard> {
    let mut line = Vec::new();
    reader.take(MAX_LINE).read_until(b'\n', &mut line).await?;
    Ok(match line.last() {
        Some(b'\n') => Heard::Line(line),
        // The end of input ends the last line, too.
        Some(_) if (line.len() as u64) < MAX_LINE => Heard::Line(line),
        Some(_) => Heard::TooMuch,
        None => Heard::End,
    })
}
