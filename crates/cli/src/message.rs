//! `tiller message`: notes that sessions and people leave each other, per project.

use std::io::{IsTerminal, Read};

use anyhow::Context;
use clap::{Parser, Subcommand};
use tiller_engine::mailbox::{MAX_NAME, MAX_TEXT, Mailbox, Note, SESSION_VARIABLE};
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;

use crate::exit::Exit;
use crate::text::{hanging, print};
use crate::{args, complain};

const AFTER_HELP: &str = "\
Every session that runs in this directory is told, once, that there are notes and from whom; the \
model decides whether to read them. A note is kept for a week.";

/// Leave notes for the sessions of this project, and read them.
#[derive(Debug, Parser)]
#[command(
    name = "tiller message",
    bin_name = "tiller message",
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
struct Message {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Leave a note: the arguments, or standard input
    Send {
        /// The text of the note
        words: Vec<String>,
        /// The sender [default: the session that runs the command, or you]
        #[arg(long, value_name = "NAME")]
        from: Option<String>,
    },
    /// Print unread notes and mark them as read
    Read {
        /// Also print notes that were read before
        #[arg(long)]
        all: bool,
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
}

/// Runs `tiller message`.
pub(crate) fn main(words: &[String], env: &Env) -> anyhow::Result<Exit> {
    let message = match Message::try_parse_from(words) {
        Ok(message) => message,
        Err(error) => {
            error.print()?;
            return Ok(args::exit_for(&error));
        }
    };
    let project = fs_err::canonicalize(&env.cwd)?;
    let mailbox = Mailbox::of(&tiller_config::config_dir(env), &project);
    match message.action {
        Action::Send { words, from } => send(&mailbox, env, &words, from),
        Action::Read { all, json } => read(&mailbox, all, json),
    }
}

fn send(mailbox: &Mailbox, env: &Env, words: &[String], from: Option<String>) -> anyhow::Result<Exit> {
    let session: Option<SessionId> = env.var(SESSION_VARIABLE).and_then(|id| id.parse().ok());
    let text = match words {
        [] => piped()?,
        words => words.join(" "),
    };
    let note = Note {
        id: env.fresh(),
        from: from.unwrap_or_else(|| sender(env, session)),
        session,
        at: env.now(),
        text: text.trim_end().to_owned(),
    };
    mailbox.send(&note)?;
    Ok(Exit::Success)
}

/// A note on standard input. At a terminal nobody waits for one.
fn piped() -> anyhow::Result<String> {
    let mut text = String::new();
    if !std::io::stdin().is_terminal() {
        // One byte more than a note may have is enough to see that it is too long.
        let read = std::io::stdin().take(MAX_TEXT as u64 + 1).read_to_string(&mut text);
        read.context("standard input could not be read as text")?;
    }
    Ok(text)
}

/// Whoever sends a note and does not say.
fn sender(env: &Env, session: Option<SessionId>) -> String {
    let name = match session {
        // The beginning of an id says when the session began, the end tells sessions apart.
        Some(session) => {
            format!("session {}", session.to_string().split('-').next_back().unwrap_or_default())
        }
        None => env.var("USER").unwrap_or("somebody").to_owned(),
    };
    name.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

fn read(mailbox: &Mailbox, all: bool, json: bool) -> anyhow::Result<Exit> {
    let after = if all { None } else { mailbox.read_mark() };
    let notes = mailbox.notes(after)?;
    for note in &notes {
        match json {
            true => print(&serde_json::to_string(note)?)?,
            false => print(&shown(note))?,
        }
    }
    if notes.is_empty() && !json {
        print(if all { "there are no notes" } else { "there are no new notes" })?;
    }
    if let Some(newest) = notes.last()
        && let Err(error) = mailbox.mark_read(newest.id)
    {
        complain(&format!("warning: the notes could not be marked as read: {error}"));
    }
    Ok(Exit::Success)
}

/// A note for people. Whoever wrote it does not get to move their cursor.
fn shown(note: &Note) -> String {
    let harmless = |c: char| if c.is_control() && c != '\n' { '\u{fffd}' } else { c };
    let text: String = note.text.chars().map(harmless).collect();
    format!("{}, {}\n{}\n", note.from, note.at.strftime("%Y-%m-%d %H:%M UTC"), hanging("  ", &text))
}
