//! How a program that serves us ended: with what it said last, which mostly tells more than a number.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use crate::child::Status;

/// Bytes that are kept.
const KEPT: usize = 4_000;
/// Characters of the last line that are told.
const LINE: usize = 300;

/// Takes the standard error of a program. All of it goes to the debug log, and its end is remembered.
#[derive(Clone)]
pub struct LastWords {
    program: Arc<str>,
    kept: Arc<Mutex<VecDeque<u8>>>,
}

impl LastWords {
    /// Those of a program of this name.
    #[must_use]
    pub fn of(program: &str) -> Self {
        Self { program: program.into(), kept: Arc::default() }
    }

    /// How it ended, and what it said about it, masked before anything is cut: half a credential is not recognised. The
    /// subject is missing.
    #[must_use]
    pub fn behind(&self, status: Status, mask: impl FnOnce(&str) -> String) -> String {
        let ended = match status {
            Status::Code(127) => "was not found".to_owned(),
            Status::Code(code) => format!("ended with exit code {code}"),
            Status::Signal(signal) => format!("was ended by signal {signal}"),
            Status::NotRun(errno) => format!("could not be run (system error {errno})"),
            Status::Lost => "was not seen to end".to_owned(),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = mask(&String::from_utf8_lossy(kept.make_contiguous()));
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!("{ended}: {}", line.chars().take(LINE).collect::<String>()),
            None => ended,
        }
    }
}

impl AsyncWrite for LastWords {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        tracing::debug!(server = &*self.program, "{}", String::from_utf8_lossy(bytes).trim_end());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn the_last_line_is_told_however_much_was_said_before() {
        let mut words = LastWords::of("x");
        assert_eq!(words.behind(Status::Code(127), str::to_owned), "was not found");
        words.write_all("noise\n".repeat(2_000).as_bytes()).await.unwrap();
        words.write_all(b"cannot find my configuration\n\n").await.unwrap();
        let masked = |text: &str| text.replace("configuration", "***");
        assert_eq!(words.behind(Status::Code(4), masked), "ended with exit code 4: cannot find my ***");
        assert!(words.kept.lock().unwrap().len() <= KEPT);
    }
}
