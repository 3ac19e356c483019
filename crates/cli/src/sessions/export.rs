//! `tiller sessions export`.

use std::path::PathBuf;

use tiller_engine::store;
use tiller_engine::undo::Outline;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::env::Env;
use tiller_protocol::rewind::Stretch;

use super::moment;
use crate::exit::Exit;
use crate::inspect::{find, write};
use crate::text::print;

/// Bytes of a result that are written down.
const RESULT_BYTES: usize = 4_000;

#[derive(Debug, clap::Args)]
pub(super) struct Export {
    /// The session
    session: String,

    /// Write to a file that only you can read
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print the log as JSON lines, without damaged ones
    #[arg(long)]
    json: bool,
}

impl Export {
    pub(super) fn run(&self, env: &Env) -> anyhow::Result<Exit> {
        let log = find::find(&self.session, env)?;
        let mut text = String::new();
        if self.json {
            store::sound_lines(&log.path, log.id, |line| {
                text.push_str(line);
                text.push('\n');
            })?;
            text.truncate(text.trim_end().len());
        } else {
            let outline = Outline::read(&log.path)?;
            text = format!("# Session {}\n", log.id);
            store::load(&log.path, |entry| text.push_str(&section(&entry, &outline.abandoned)))?;
            text.truncate(text.trim_end().len());
        }
        match &self.output {
            Some(file) => {
                write(&env.cwd.join(file), &format!("{text}\n"))?;
                print(&format!("{} is written", file.display()))?;
            }
            None => print(&text)?,
        }
        Ok(Exit::Success)
    }
}

/// An entry as a part of a document in Markdown.
fn section(entry: &Entry, abandoned: &[Stretch]) -> String {
    if abandoned.iter().any(|stretch| stretch.holds(entry.seq)) {
        return String::new();
    }
    match &entry.body {
        Body::User(message) if !message.is_hidden() => {
            format!("\n## {}\n\n{}\n", moment(entry.at), readable(&message.content).join("\n\n"))
        }
        Body::Assistant(block) => match (block.block.as_text(), block.block.as_tool_use()) {
            (Some(text), _) => format!("\n{text}\n"),
            (None, Some(call)) => format!("\n**{}**\n\n{}\n", call.name, fenced(&call.input.to_string())),
            (None, None) => String::new(),
        },
        Body::Result(result) => format!("\n{}\n", fenced(&readable(&result.content).join("\n"))),
        _ => String::new(),
    }
}

/// What blocks say; of one that says nothing in words, what it is.
fn readable(blocks: &[RawBlock]) -> Vec<String> {
    blocks.iter().map(|block| block.as_text().unwrap_or_else(|| format!("({})", block.kind()))).collect()
}

/// A text that is shown as it is, whatever is in it.
fn fenced(text: &str) -> String {
    let kept = &text[..text.floor_char_boundary(RESULT_BYTES)];
    let cut = if kept.len() < text.len() { "\n…" } else { "" };
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{kept}{cut}\n{fence}")
}
