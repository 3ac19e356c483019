//! How sources look at files and resources. Whoever runs a session implements this with the session's permissions, so
//! that what may not be read cannot be attached either.

use std::path::{Path, PathBuf};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::{FileSeen, LineRange};

use crate::attachment::{Chat, Memory};
use crate::user_context::instructions::InstructionFile;

/// Files and resources as a session may see them.
pub trait Sight: Send + Sync {
    /// A file, or lines of it, as the tool `Read` shows it. A relative path starts where the session was started.
    fn show<'a>(&'a self, path: &'a Path, lines: Option<LineRange>) -> BoxFuture<'a, Result<Shown, Unseen>>;

    /// Whether the model could look at a file or directory without a question to the user.
    fn is_free(&self, _path: &Path) -> Result<(), Unseen> {
        Ok(())
    }

    /// The same for a resource of a server.
    fn is_free_resource(&self, _server: &str, _uri: &str) -> Result<(), Unseen> {
        Ok(())
    }

    /// The names in a directory, sorted, with a slash behind those of directories; this many at most.
    fn list<'a>(&'a self, path: &'a Path, at_most: usize) -> BoxFuture<'a, Result<Listing, Unseen>>;

    /// When a file was last changed, in milliseconds since the epoch.
    fn modified<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<i64, Unseen>>;

    /// The instruction files that stand in a directory, and what they import.
    fn instructions<'a>(&'a self, dir: &'a Path) -> BoxFuture<'a, Vec<InstructionFile>>;

    /// Summaries of earlier sessions of the project, newest first, this many at most.
    fn memories(&self, _at_most: usize) -> BoxFuture<'_, Vec<Memory>> {
        ready(Vec::new()).boxed()
    }

    /// Notes of others that are new to the session, or came after the one that is named.
    fn unread<'a>(&'a self, _after: Option<&'a str>) -> BoxFuture<'a, Unread> {
        ready(Unread::default()).boxed()
    }

    /// A resource of a connected server.
    fn resource<'a>(&'a self, _server: &'a str, _uri: &'a str) -> BoxFuture<'a, Result<Resource, Unseen>> {
        ready(Err(Unseen::Missing)).boxed()
    }
}

/// A file as reading shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The absolute path, links resolved.
    pub path: PathBuf,
    /// What the model sees.
    pub content: Vec<RawBlock>,
    /// The lines without numbers, if it is text.
    pub text: Option<String>,
    /// Whether lines are missing at the end.
    pub truncated: bool,
    /// What the model knows of the file once it sees this; nothing of images and documents, which cannot be edited.
    pub seen: Option<FileSeen>,
}

/// What is in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The absolute path.
    pub path: PathBuf,
    /// Names.
    pub names: Vec<String>,
    /// How many more there are.
    pub left_out: usize,
}

/// Notes of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// By sender.
    pub chats: Vec<Chat>,
    /// How they can be read.
    pub how_to_read: String,
    /// The name of the newest one.
    pub newest: String,
}

/// A resource of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Its title.
    pub name: String,
    /// What it holds.
    pub content: Vec<RawBlock>,
}

/// Why something cannot be seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// It does not exist.
    #[error("it does not exist")]
    Missing,
    /// It is a directory.
    #[error("it is a directory")]
    Directory,
    /// It may not be read.
    #[error("reading it is not allowed: {0}")]
    Denied(String),
    /// It may be read only if the user says so, and it is not the user who names it.
    #[error(
        "it is named by the command's file, not by you, and reading it would need your permission: {0}; name it yourself to attach it"
    )]
    Unasked(String),
    /// It is too large to be shown at once.
    #[error("it is too large")]
    TooLarge(PathBuf),
    /// It cannot be shown.
    #[error("{0}")]
    Unreadable(String),
}
