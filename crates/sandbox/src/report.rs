//! What a supervisor tells Tiller, in messages so small that a pipe never splits them.

/// Bytes of one message.
pub(crate) const SIZE: usize = 8;

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The supervisor is there and has this process id. The first message.
    Supervised(i32),
    /// The shell has this process id and is about to run.
    Started(i32),
    /// The step of the confinement that failed. Failure itself is the next message.
    AtStep(i32),
    /// The shell could not be started; the error number.
    Failed(i32),
    /// The shell ended with this code.
    Exited(i32),
    /// The shell was ended by this signal.
    Signalled(i32),
    /// It has tried so many times to reach what its private network does not reach.
    Unreached(i32),
    /// The shell has been told to read its script.
    Going(i32),
    /// The surroundings are not those any more that the shell was prepared for; it has read nothing, and ends.
    Stale(i32),
    /// Everything was ended except for so many processes. The last message.
    Settled(i32),
}

impl Report {
    pub(crate) fn to_bytes(self) -> [u8; SIZE] {
        let (kind, value) = match self {
            Self::Started(pid) => (1, pid),
            Self::Failed(errno) => (2, errno),
            Self::Exited(code) => (3, code),
            Self::Signalled(signal) => (4, signal),
            Self::Settled(left) => (5, left),
            Self::Supervised(pid) => (6, pid),
            Self::AtStep(step) => (7, step),
            Self::Unreached(times) => (8, times),
            Self::Going(pid) => (9, pid),
            Self::Stale(pid) => (10, pid),
        };
        let value = i64::from(value) & 0xffff_ffff;
        ((kind << 32) | value).to_le_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; SIZE]) -> Option<Self> {
        let [a, b, c, d, kind, ..] = bytes;
        let value = i32::from_le_bytes([a, b, c, d]);
        match kind {
            1 => Some(Self::Started(value)),
            2 => Some(Self::Failed(value)),
            3 => Some(Self::Exited(value)),
            4 => Some(Self::Signalled(value)),
            5 => Some(Self::Settled(value)),
            6 => Some(Self::Supervised(value)),
            7 => Some(Self::AtStep(value)),
            8 => Some(Self::Unreached(value)),
            9 => Some(Self::Going(value)),
            10 => Some(Self::Stale(value)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_pipe() {
        for value in [0, 1, 255, -1, i32::MAX, i32::MIN] {
            for report in [
                Report::Supervised(value),
                Report::AtStep(value),
                Report::Started(value),
                Report::Failed(value),
                Report::Exited(value),
                Report::Signalled(value),
                Report::Settled(value),
                Report::Unreached(value),
                Report::Going(value),
                Report::Stale(value),
            ] {
                assert_eq!(Report::from_bytes(report.to_bytes()), Some(report));
            }
        }
        assert_eq!(Report::from_bytes([0; SIZE]), None);
    }
}
