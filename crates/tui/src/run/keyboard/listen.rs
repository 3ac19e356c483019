//! Bytes from the terminal as they come.
//!
//! The terminal is shared with other programs, so it is left as it is: a thread waits for it. It can be stopped at any
//! time, so that an editor gets every key.

use std::io::{PipeReader, PipeWriter};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes that are read at once.
const AT_ONCE: usize = 16 * 1024;

/// Whoever listens to the terminal.
pub(super) struct Listener {
    bytes: UnboundedReceiver<Vec<u8>>,
    /// When it is closed, the thread ends.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Begins to listen.
    pub(super) fn begin() -> std::io::Result<Self> {
        let (stopped, stop) = std::io::pipe()?;
        let (sender, bytes) = unbounded_channel();
        let thread = std::thread::Builder::new().name("keyboard".to_owned());
        let thread = thread.spawn(move || listen(&stopped, &sender))?;
        Ok(Self { bytes, stop: Some(stop), thread: Some(thread) })
    }

    /// What came, or nothing if the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.bytes.recv().await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It cannot fail, and if it did, the terminal is not read any more either.
            let _ = thread.join();
        }
    }
}

/// Reads until it is stopped or the terminal is gone.
fn listen(stopped: &PipeReader, sender: &UnboundedSender<Vec<u8>>) {
    let terminal = rustix::stdio::stdin();
    loop {
        let mut awaited = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut awaited, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => return,
        }
        if !awaited[1].revents().is_empty() {
            return;
        }
        let mut bytes = vec![0; AT_ONCE];
        match rustix::io::read(terminal, &mut bytes) {
            Ok(0) => return,
            Ok(count) => bytes.truncate(count),
            Err(Errno::INTR | Errno::AGAIN) => continue,
            // A terminal that is gone has no other way to say so.
            Err(_) => return,
        }
        if sender.send(bytes).is_err() {
            return;
        }
    }
}
