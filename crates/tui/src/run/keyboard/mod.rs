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
use decode::ESCAPE;
pub(super) use decode::{Answer, Word};
use decode::{Begun, Decoder};
use listen::Listener;

/// How long bytes that belong together may be apart.
const TOGETHER: Duration = Duration::from_millis(20);
/// The same where an answer is awaited: what looks like Esc may be its beginning.
const TOGETHER_IN_ANSWER: Duration = Duration::from_millis(100);
/// How long the rest of a sequence is waited for. Slow lines deliver in pieces; what is lost does not come at all.
const REST_COMES: Duration = Duration::from_secs(3);

/// The keyboard of the terminal that the program runs in. Only one can be open.
pub(super) struct Keyboard {
    listener: Listener,
    burst: Burst,
    decoder: Decoder,
    words: VecDeque<Word>,
    /// When what has begun is what it is.
    settles_at: Option<Instant>,
    /// Whether the terminal was asked something.
    awaits_answer: bool,
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
            awaits_answer: false,
        })
    }

    /// Says whether an answer of the terminal is on its way.
    pub(super) fn expect_answer(&mut self, awaits: bool) {
        self.awaits_answer = awaits;
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

    fn take(&mut self, mut bytes: &[u8]) {
        // What has begun goes on; only its end can tell what it is.
        if !self.decoder.is_idle() {
            return self.understand([Came::Typed(bytes.to_vec())]);
        }
        while !bytes.is_empty() {
            // Answers may come together with text, and do not end it.
            if let Some((length, answer)) = decode::answer(bytes) {
                self.words.extend(answer.map(Word::Answer));
                bytes = &bytes[length..];
                continue;
            }
            let next = bytes.iter().skip(1).position(|byte| *byte == ESCAPE);
            let is_text = bytes[0] != ESCAPE;
            let run = next.filter(|_| is_text).map_or(bytes.len(), |at| at + 1);
            let came = self.burst.take(&bytes[..run]);
            self.understand(came);
            bytes = &bytes[run..];
        }
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
        self.settles_at = self.patience().map(|time| Instant::now() + time);
    }

    /// How long to wait before what has begun is taken as it is.
    fn patience(&self) -> Option<Duration> {
        match self.decoder.begun() {
            Begun::Nothing => self.burst.holds().then_some(TOGETHER),
            Begun::Key if self.awaits_answer => Some(TOGETHER_IN_ANSWER),
            Begun::Key => Some(TOGETHER),
            Begun::Sequence => Some(REST_COMES),
            Begun::Paste => None,
        }
    }
}

#[cfg(test)]
mod tests;
