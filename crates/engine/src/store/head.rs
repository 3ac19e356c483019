//! What a session is about, from the beginning and the end of its log.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::name::given_name;
use super::packed;

/// Bytes of a log that are looked at for its title at most. The first prompt ends the search, but it may hold images or
/// a file that was piped in, and the definitions of all tools stand before it.
const BEGINNING: u64 = 64 * 1024 * 1024;
/// Characters of a title.
const TITLE_CHARS: usize = 80;
/// The title of a session in which something was said while no prompt can be read.
const DAMAGED: &str = "(first prompt is damaged)";

/// What is known of a session without reading all of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The name the user has given it, or the first prompt, cut; empty when there is neither.
    pub title: String,
    /// When it was begun.
    pub started: Option<Timestamp>,
    /// Where.
    pub cwd: Option<PathBuf>,
    /// The branch that was checked out at the first prompt.
    pub branch: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    timestamp: Option<Timestamp>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    git_branch: Option<String>,
    #[serde(default)]
    is_meta: bool,
    #[serde(default)]
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    /// Kept as text: an image in it is long and says nothing here.
    #[serde(default)]
    content: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: String,
}

impl Line {
    /// The text of a prompt, or what it consists of instead; results of calls and what Tiller added are none.
    fn prompt(&self) -> Option<String> {
        if self.kind != "user" || self.is_meta {
            return None;
        }
        let content = self.message.as_ref()?.content.as_ref()?.get();
        if let Ok(text) = serde_json::from_str::<String>(content) {
            return Some(cut(&text)).filter(|text| !text.is_empty());
        }
        let blocks: Vec<Block> = serde_json::from_str(content).ok()?;
        let text = blocks.iter().map(|block| cut(&block.text)).find(|text| !text.is_empty());
        text.or_else(|| {
            let shown = blocks.iter().find(|block| matches!(block.kind.as_str(), "image" | "document"))?;
            Some(format!("({})", shown.kind))
        })
    }
}

fn cut(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE_CHARS).collect()
}

/// The title of a session; nothing if nothing was said in it.
pub(super) fn title(log: &Path) -> Option<String> {
    Some(begun(log).title).filter(|title| !title.is_empty())
}

/// Where a session was begun, as far as its log tells.
pub(super) fn begun_in(log: &Path) -> Option<PathBuf> {
    lines(log)?.find_map(|line| match line {
        Seen::Line(line) => line.cwd,
        Seen::Said => None,
    })
}

pub(super) fn head(log: &Path) -> Head {
    let mut head = begun(log);
    if let Some(name) = given_name(log) {
        head.title = cut(&name);
    }
    head
}

/// What the beginning of a log tells.
fn begun(log: &Path) -> Head {
    let mut head = Head::default();
    let mut said = false;
    for line in lines(log).into_iter().flatten() {
        let Seen::Line(line) = line else {
            said = true;
            continue;
        };
        head.started = head.started.or(line.timestamp);
        head.cwd = head.cwd.or_else(|| line.cwd.clone());
        if let Some(title) = line.prompt() {
            head.branch = line.git_branch;
            head.title = title;
            return head;
        }
    }
    if said {
        head.title = DAMAGED.to_owned();
    }
    head
}

/// A line of the beginning.
enum Seen {
    Line(Line),
    /// An answer, or a line that is damaged: something was said.
    Said,
}

/// Lines of the beginning that may matter. Long ones that are known not to are passed over unread.
fn lines(log: &Path) -> Option<impl Iterator<Item = Seen>> {
    let file = packed::open(log).ok()?;
    let mut reader = BufReader::with_capacity(32 * 1024, file.take(BEGINNING));
    let mut buffer = Vec::new();
    Some(std::iter::from_fn(move || {
        loop {
            buffer.clear();
            if reader.read_until(b'\n', &mut buffer).ok()? == 0 {
                return None;
            }
            let is_ours = buffer.starts_with(b"{\"type\":\"");
            let may_matter = ["{\"type\":\"user\"", "{\"type\":\"session\""]
                .iter()
                .any(|start| buffer.starts_with(start.as_bytes()));
            if may_matter || !is_ours {
                match serde_json::from_slice(&buffer) {
                    Ok(line) => return Some(Seen::Line(line)),
                    // One without its end was never finished.
                    Err(_) if buffer.ends_with(b"\n") => return Some(Seen::Said),
                    Err(_) => {}
                }
            } else if buffer.starts_with(b"{\"type\":\"assistant\"") {
                return Some(Seen::Said);
            }
        }
    }))
}
