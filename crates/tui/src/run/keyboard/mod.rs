//! What is typed at a terminal, and what the terminal itself answers: one reader for both, because the answers come
//! the same way as the keys.

mod burst;
mod csi;
mod decode;
mod listen;

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use burst::{Burst, Came};
use decode::Decoder;
pub(super) use decode::{Answer, Word};
use listen::Listener;

/// How long bytes that belong together may be apart.
const TOGETHER: Duration = Duration::from_millis(20);

/// The keyboard of the terminal that the program runs in. Only one can be open.
pub(super) struct Keyboard {
    listener: Listener,
    burst: Burst,
    decoder: Decoder,
    words: VecDeque<Word>,
    /// When what has begun is what it is.
    settles_at: Option<Instant>,
}

impl Keyboard {
    /// Begins to listen.
    pub(super) fn open() -> std::io::Result<Self> {
        Ok(Self {
            listener: Listener::begin()?,
            burst: Burst::default(),
            decoder: Decoder::default(),
            words: VecDeque::new(),
            settles_at: None,
        })
    }

    /// The next word, or nothing if the terminal is gone. Nothing is lost if it is not waited for to the end.
    pub(super) async fn next(&mut self) -> Option<Word> {
        loop {
            if let Some(word) = self.words.pop_front() {
                return Some(word);
            }
            let bytes = match self.settles_at {
                None => self.listener.next().await,
                Some(at) => match timeout_at(at, self.listener.next()).await {
                    Ok(bytes) => bytes,
                    Err(_) => {
                        self.settle();
                        continue;
                    }
                },
            };
            self.take(&bytes?);
        }
    }

    /// Puts words back that somebody else is to get.
    pub(super) fn put_back(&mut self, words: Vec<Word>) {
        self.words.extend(words);
    }

    fn take(&mut self, bytes: &[u8]) {
        // What has begun goes on; only its end can tell what it is.
        let came =
            if self.decoder.is_idle() { self.burst.take(bytes) } else { vec![Came::Typed(bytes.to_vec())] };
        self.understand(came);
    }

    fn settle(&mut self) {
        let came = self.burst.settle();
        let was_held = came.is_some();
        self.understand(came);
        if !was_held {
            self.words.extend(self.decoder.settle());
            self.settles_at = None;
        }
    }

    fn understand(&mut self, came: impl IntoIterator<Item = Came>) {
        for came in came {
            match came {
                Came::Typed(bytes) => self.words.extend(self.decoder.feed(&bytes)),
                Came::Pasted(text) => self.words.push_back(Word::Paste(text)),
            }
        }
        let waits = self.burst.holds() || self.decoder.hesitates();
        self.settles_at = waits.then(|| Instant::now() + TOGETHER);
    }
}

#[cfg(test)]
mod tests;
