//! Signals that end a run from outside.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whoever started the process has it ignore some signals: `nohup` does, and shells do for what they put into the
/// background. Listening would undo that.
const STATUS: &str = "/proc/self/status";

/// All signals that want the process to end in order.
pub(super) struct Endings {
    terminate: Signal,
    hang_up: Option<Signal>,
    quit: Option<Signal>,
}

impl Endings {
    pub(super) fn new() -> std::io::Result<Self> {
        let ignored = fs_err::read_to_string(STATUS).ok().and_then(|status| ignored(&status)).unwrap_or(0);
        let unless_ignored = |kind: SignalKind| {
            let is_ignored = ignored >> (kind.as_raw_value() - 1) & 1 == 1;
            (!is_ignored).then(|| signal(kind)).transpose()
        };
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: unless_ignored(SignalKind::hangup())?,
            quit: unless_ignored(SignalKind::quit())?,
        })
    }

    /// Waits for one of them.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            () = heard(self.hang_up.as_mut()) => {}
            () = heard(self.quit.as_mut()) => {}
        }
    }
}

/// The signals that a process ignores, one bit for each.
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}

async fn heard(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => _ = signal.recv().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_mask() {
        assert_eq!(ignored("Name:\ttiller\nSigIgn:\t0000000000001001\nSigCgt:\t0\n"), Some(0x1001));
        assert_eq!(ignored("Name:\ttiller\n"), None);
    }
}
