//! What the system tells the process.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Somebody wants the process to end.
    End,
    /// The terminal has another size.
    Size,
}

/// The signals that are understood.
pub(super) struct Signals {
    interrupt: Signal,
    quit: Signal,
    terminate: Signal,
    hang_up: Signal,
    size: Signal,
}

impl Signals {
    /// Begins to listen. From now on none of them ends the process by itself.
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            size: signal(SignalKind::window_change())?,
        })
    }

    /// Another program had the terminal, and what was pressed there was meant for it.
    pub(super) fn forget_keys(&mut self) -> std::io::Result<()> {
        self.interrupt = signal(SignalKind::interrupt())?;
        self.quit = signal(SignalKind::quit())?;
        Ok(())
    }

    /// What is told next.
    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::End,
            _ = self.quit.recv() => Told::End,
            _ = self.terminate.recv() => Told::End,
            _ = self.hang_up.recv() => Told::End,
            _ = self.size.recv() => Told::Size,
        }
    }
}
