//! Sessions on disk: where they are, how a log is appended to, how it is read back.

mod foreign;
mod head;
mod kinds;
mod list;
mod load;
mod name;
mod packed;
mod paths;
mod proof;
mod recall;
mod record;
mod remove;
mod search;
mod sound;
mod writer;

#[cfg(test)]
mod fault_tests;

pub use head::Head;
pub(crate) use kinds::{Kinds, kinds};
pub use list::{Found, LogFile, SessionSummary, all, everywhere, find, here, latest, list};
pub use load::{Damage, Loaded, load, load_bare};
pub(crate) use load::{Mark, load_after, load_from, load_sparing};
pub(crate) use name::CarriedName;
pub use packed::unpacked;
pub(crate) use packed::{adopt, open, take_over, told_id, unpacked_in};
pub use paths::{SessionPaths, project_dir, project_key};
pub(crate) use recall::recall;
pub use remove::remove;
pub use search::{Hit, search};
pub use sound::sound_lines;
pub(crate) use writer::{LogWriter, make_private};

/// What can go wrong with the session store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("the session log could not be used: {0}; fix that, or run with --no-session-persistence")]
    Io(#[from] std::io::Error),
    /// Another process has the session open.
    #[error(
        "session {0} is in use by another tiller process; wait until it has ended, or work in a copy: `tiller --resume {0} --fork-session`"
    )]
    Busy(String),
    /// There is no such session here.
    #[error(
        "no session {id} was found for {project}; `tiller --resume` without an id continues the latest one"
    )]
    NotFound {
        /// What was asked for.
        id: String,
        /// The project it was looked for in.
        project: String,
    },
    /// A new session was given the id of an existing one.
    #[error("session {0} exists already; use --resume {0} to continue it, or choose another --session-id")]
    Exists(String),
    /// A file that should be a log is none.
    #[error("{} holds no session: no line of it names one", .0.display())]
    NoLog(std::path::PathBuf),
    /// An entry could not be written as JSON.
    #[error(transparent)]
    Line(#[from] tiller_protocol::line::LineError),
}
