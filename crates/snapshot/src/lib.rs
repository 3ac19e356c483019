//! What working directories looked like: kept by content, compared with each other, brought back.
//!
//! A snapshot is a tree of directories, each named by the hash of what it holds, so that two snapshots share everything
//! that did not change. Taking one costs a walk, and reading what is new since the last one; it works without git, sees
//! files that nobody tracks, and leaves `.git` alone.
//!
//! Invariant: what is not in a snapshot is unknown, not absent. [`Store::restore`] neither overwrites nor removes
//! anything whose present content it could not bring back; where such a thing stands in the way of something that was
//! kept, it gets another name.

mod aside;
mod cache;
mod collect;
mod diff;
mod digest;
mod draft;
mod earlier;
mod hold;
mod ignored;
mod join;
mod lay_out;
mod limits;
mod needed;
mod objects;
mod pack;
mod restore;
mod store;
mod tree;
mod watch;

pub use aside::Aside;
pub use diff::{Change, Diff, Kind, Summary, Unknown};
pub use digest::Digest;
pub use limits::Limits;
pub use restore::{Hindrance, Left, Ready, Restored};
pub use store::{Store, Taken};
pub use tree::{Node, Trace, Unkept};

/// What can go wrong with snapshots.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file system refused.
    #[error("snapshots could not be used: {0}")]
    Io(#[from] std::io::Error),
    /// There is no such snapshot, or a part of it is gone.
    #[error("the snapshot {0} no longer exists; it may be too old, or its files were removed")]
    Gone(String),
    /// There is too much to keep.
    #[error(
        "{what} in {root} exceed what a snapshot can hold; start in a smaller directory to be able to undo"
    )]
    TooLarge {
        /// What there is too much of.
        what: String,
        /// Where.
        root: String,
    },
    /// Somebody else uses the store.
    #[error("snapshots of this directory are in use by another tiller process; try again when it has ended")]
    Busy,
    /// A link stands where a working directory was.
    #[error(
        "{0} has become a symbolic link, which Tiller does not follow; put the directory back and try again"
    )]
    Linked(String),
}

impl SnapshotError {
    /// Whether it is of no use to try again.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        use std::io::ErrorKind;
        match self {
            Self::TooLarge { .. } => true,
            Self::Io(error) => matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotADirectory
            ),
            Self::Gone(_) | Self::Busy | Self::Linked(_) => false,
        }
    }
}
