//! What can go wrong before a command runs.

use std::io;
use std::path::PathBuf;

use tiller_policy::{NotPermitted, Profile};

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The call was not permitted to run anything.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
    /// The directory to start in is gone.
    #[error(
        "The working directory {} does not exist any more. Change to an existing one first, for example with \
         cd / as the whole command.",
        path.display()
    )]
    NoDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A text for the operating system contains a zero byte.
    #[error("The command contains a NUL character, which no command line can hold. Remove it and try again.")]
    NulByte,
    /// Neither bash nor sh was found.
    #[error("There is no shell to run the command with: neither bash nor sh was found in PATH or /bin.")]
    NoShell,
    /// The command line is longer than the system accepts.
    #[error(
        "The command is too long for the system. Write it to a script file with the Write tool and run the file."
    )]
    TooLong,
    /// The permit is for a command that is held more closely.
    #[error("This command was permitted only under the profile {profile}, and was not run.")]
    MustBeConfined {
        /// How much it may change at most.
        profile: Profile,
    },
    /// The permit is for a command that changes nothing.
    #[error(
        "This command was permitted only because it changes nothing, and would not be kept from changes. It was not run."
    )]
    MayOnlyLook,
    /// This machine cannot confine commands.
    #[error("Commands cannot be confined here, so this one was not run: {reasons}.")]
    NoConfinement {
        /// Why not.
        reasons: String,
    },
    /// A step of the confinement failed, so nothing was run.
    #[error("The command was not run, because it could not be confined: {step} failed: {source}")]
    Unconfined {
        /// What failed.
        step: String,
        /// Why.
        source: io::Error,
    },
    /// The operating system refused.
    #[error("The command could not be started: {0}")]
    Start(#[source] io::Error),
}

impl From<io::Error> for SandboxError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::E2BIG) => Self::TooLong,
            _ => Self::Start(error),
        }
    }
}

impl From<rustix::io::Errno> for SandboxError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::from(io::Error::from(errno))
    }
}
