//! What the front end needs from outside the protocol. The program implements it.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use tiller_protocol::block::RawBlock;
use tiller_protocol::command::OutputStyle;
use tiller_protocol::entry::Level;
use tokio::sync::mpsc::UnboundedSender;

use crate::input::{Image, Past};
use crate::menu::Candidate;
use crate::panel::SessionRow;

/// Something that ends later.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The world beside the session.
pub trait Host: Send + Sync {
    /// Takes a request without waiting. What comes of it is sent to `replies`, perhaps nothing.
    fn ask(&self, request: Request, replies: UnboundedSender<Reply>);

    /// Opens a text in the user's editor. The terminal is free meanwhile.
    fn edit(&self, text: String) -> Later<Result<String, String>>;

    /// Opens a file in the user's editor and gives what it holds then. The terminal is free meanwhile.
    fn edit_file(&self, path: PathBuf) -> Later<Result<String, String>>;

    /// Puts the process to sleep until somebody wakes it. The terminal is free meanwhile.
    fn sleep(&self);
}

/// What is asked of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// The files and directories of the project.
    Files,
    /// Keep an input for the history.
    Remember(Past),
    /// The sessions of this project; only those in which this was said, if it is not empty.
    Sessions(String),
    /// The output styles there are.
    Styles,
    /// The output style of this name.
    Style(String),
    /// The files with instructions for the agent.
    Memory,
    /// Run a command line of the user's own.
    Shell(String),
    /// Stop the command lines of the user's own that run.
    StopShell,
    /// Add a note to the instructions for the agent.
    Note(String),
    /// Read an image.
    LoadImage(Image),
    /// Look for an image in the clipboard.
    ReadClipboard,
    /// What another command of the program prints.
    Report {
        /// What it is called.
        title: &'static str,
        /// The command.
        words: Vec<String>,
    },
    /// Let another command of the program do something.
    Run {
        /// The command.
        words: Vec<String>,
        /// What to say when it is done.
        done: String,
    },
    /// Write a setting of the user's.
    Keep {
        /// The key.
        key: String,
        /// The value, as it would be typed.
        value: String,
    },
    /// Show a page in the user's browser.
    Visit(String),
    /// Run the command that makes the status line, with the facts it gets as JSON.
    StatusLine(String),
}

/// What the host answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The files of the project.
    Files(Vec<Candidate>),
    /// The sessions of this project, newest first.
    Sessions(Vec<SessionRow>),
    /// The output styles there are.
    Styles(Vec<StyleRow>),
    /// The style that was asked for.
    Style(OutputStyle),
    /// The files with instructions for the agent, those that could be written too.
    Memory(Vec<InstructionRow>),
    /// A command line of the user's has ended.
    Ran {
        /// The command line.
        command: String,
        /// What it printed, bounded.
        output: String,
        /// Its exit code, if it had one.
        code: Option<i32>,
    },
    /// An image was read, or why not.
    Image {
        /// Its number in the input.
        number: usize,
        /// The block to send.
        block: Result<RawBlock, String>,
    },
    /// The clipboard holds an image, and it is in this file now.
    Clipboard(PathBuf),
    /// What another command of the program printed.
    Report {
        /// What it is called.
        title: &'static str,
        /// What was printed.
        text: String,
    },
    /// A note was added to the instructions for the agent.
    Noted {
        /// The file.
        file: String,
        /// The note.
        text: String,
    },
    /// Something to tell.
    Told(Level, String),
    /// What the status line shall say.
    StatusLine(String),
}

/// An output style in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StyleRow {
    /// Its name.
    pub name: String,
    /// Where it comes from, in a few words.
    pub source: String,
    /// Whether it is the one that holds.
    pub is_current: bool,
}

/// A file with instructions for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionRow {
    /// Where it stands.
    pub path: PathBuf,
    /// What there is to say about it, in a few words.
    pub detail: String,
}
