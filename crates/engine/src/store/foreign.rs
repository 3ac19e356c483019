//! Conversations that another program has written down: lines with the same names for the same things, but without our
//! numbers. What was said is taken over, and what the model has seen of files that are still the same.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::{Effect, FileSeen};
use tiller_protocol::entry::{AssistantBlock, Body, CallResult, Cause, Entry, Opened, Origin, UserMessage};
use tiller_protocol::id::{CallId, EntryId, MessageId};
use tiller_steering::file_state::{FileState, SeenFile, rebuild};
use tiller_tools::{Vault, fingerprint};
use uuid::Uuid;

use crate::journal::VERSION;

/// Larger files are read anew when they are needed.
const COMPARED: u64 = 1 << 20;

/// The lines, if they are a conversation of another program's.
pub(super) fn conversation(lines: Vec<Value>) -> Option<Vec<Value>> {
    let is_ours = lines.iter().any(|line| !line["seq"].is_null());
    let folded = lines.iter().rposition(|line| line["subtype"] == "compact_boundary");
    let said: Vec<Value> = lines.into_iter().skip(folded.map_or(0, |at| at + 1)).filter(is_said).collect();
    (!is_ours && !said.is_empty()).then_some(said)
}

fn is_said(line: &Value) -> bool {
    let is_message = matches!(line["type"].as_str(), Some("user" | "assistant"));
    is_message
        && line["isSidechain"] != true
        && line["isApiErrorMessage"] != true
        && line["message"].is_object()
}

/// The same as entries of ours. Credentials are masked as they are wherever results enter.
pub(super) fn entries(lines: &[Value], project: &Path, vault: &Vault) -> Vec<Entry> {
    let first = lines.iter().find_map(time).unwrap_or_default();
    let mut taking = Taking { entries: Vec::new(), ids: HashSet::new(), tools: HashMap::new(), vault };
    let opened = Opened {
        source: "startup".to_owned(),
        cwd: project.to_owned(),
        version: VERSION.to_owned(),
        additional_dirs: Vec::new(),
        forked_from: None,
        agent: None,
    };
    taking.push(first, None, Body::Opened(opened));
    lines.iter().for_each(|line| taking.line(line));
    let last = lines.iter().rev().find_map(time).unwrap_or(first);
    for seen in still_the_same(&seen_files(lines, project)) {
        taking.push(last, None, Body::Effect(Effect::FileSeen(seen)));
    }
    taking.entries
}

/// What was seen of files. Programs write a conversation down once more when it is continued, so that what was seen long
/// ago may stand behind what was seen last: the time decides.
fn seen_files(lines: &[Value], project: &Path) -> FileState {
    let goes_on =
        |before: &Value, line: &Value| time(before).zip(time(line)).is_none_or(|(before, at)| before <= at);
    let stretches = lines.chunk_by(goes_on).map(|lines| rebuild(lines, project, FileState::USUAL));
    let latest = stretches.reduce(|before, stretch| stretch.merge(&before));
    latest.unwrap_or_else(|| FileState::new(FileState::USUAL))
}

fn time(line: &Value) -> Option<Timestamp> {
    line["timestamp"].as_str()?.parse().ok()
}

/// Files that hold what the model has seen of them. White space at the ends is not known any more.
fn still_the_same(state: &FileState) -> Vec<FileSeen> {
    let same = |(path, seen): (&Path, &SeenFile)| {
        let path = fs_err::canonicalize(path).ok()?;
        let metadata = fs_err::metadata(&path).ok().filter(|metadata| metadata.is_file())?;
        let bytes = fs_err::read(&path).ok().filter(|_| metadata.len() <= COMPARED)?;
        let is_same = std::str::from_utf8(&bytes).is_ok_and(|text| text.trim() == seen.content.trim());
        let modified = Timestamp::try_from(metadata.modified().ok()?).ok()?;
        let seen = FileSeen {
            path,
            fingerprint: fingerprint(&bytes),
            mtime_ms: modified.as_millisecond(),
            lines: None,
        };
        is_same.then_some(seen)
    };
    state.iter().filter_map(same).collect()
}

/// Entries that are being made of lines.
struct Taking<'a> {
    entries: Vec<Entry>,
    ids: HashSet<EntryId>,
    tools: HashMap<String, String>,
    vault: &'a Vault,
}

impl Taking<'_> {
    fn push(&mut self, at: Timestamp, id: Option<EntryId>, body: Body) {
        let seq = self.entries.len() as u64 + 1;
        let parent = self.entries.iter().rev().find(|entry| entry.body.is_message()).map(|entry| entry.id);
        let parent = parent.filter(|_| body.is_message());
        // Several entries may come of one line, and each needs an id of its own that is always the same.
        let id = id.filter(|id| self.ids.insert(*id)).unwrap_or(EntryId(Uuid::from_u128(u128::from(seq))));
        self.entries.push(Entry { seq, id, parent, at, agent: None, body });
    }

    fn line(&mut self, line: &Value) {
        let Some(at) = time(line) else { return };
        let id = line["uuid"].as_str().and_then(|id| id.parse().ok());
        let content = match &line["message"]["content"] {
            Value::String(text) => vec![RawBlock::text(text)],
            Value::Array(blocks) => blocks.iter().map(RawBlock::from_value).collect(),
            _ => return,
        };
        match line["type"].as_str() {
            Some("assistant") => self.answer(line, at, id, content),
            _ => self.input(line, at, id, content),
        }
    }

    fn answer(&mut self, line: &Value, at: Timestamp, id: Option<EntryId>, content: Vec<RawBlock>) {
        let field = |name: &str| line["message"][name].as_str().or(line["uuid"].as_str()).unwrap_or_default();
        for block in content {
            if let Some(call) = block.as_tool_use() {
                self.tools.insert(call.id.to_string(), call.name);
            }
            let block = AssistantBlock {
                message_id: MessageId::from(field("id")),
                model: field("model").to_owned(),
                block,
                invalid_input: None,
                api_error: None,
                aborted: false,
            };
            self.push(at, id, Body::Assistant(block));
        }
    }

    fn input(&mut self, line: &Value, at: Timestamp, id: Option<EntryId>, content: Vec<RawBlock>) {
        let (results, rest): (Vec<RawBlock>, Vec<RawBlock>) =
            content.into_iter().partition(|block| block.kind() == "tool_result");
        for result in results {
            let result = self.result(&result.to_value());
            self.push(at, id, Body::Result(result));
        }
        if !rest.is_empty() {
            let origin = if line["isMeta"] == true || line["isCompactSummary"] == true {
                Origin::Harness
            } else {
                Origin::Typed
            };
            self.push(at, id, Body::User(UserMessage::new(rest, origin)));
        }
    }

    fn result(&self, block: &Value) -> CallResult {
        let masked = |text: &str| RawBlock::text(&self.vault.mask(text));
        let content = match &block["content"] {
            Value::String(text) => vec![masked(text)],
            Value::Array(blocks) => blocks
                .iter()
                .map(|block| block["text"].as_str().map_or_else(|| RawBlock::from_value(block), masked))
                .collect(),
            _ => Vec::new(),
        };
        let call = block["tool_use_id"].as_str().unwrap_or_default();
        CallResult {
            call: CallId::from(call),
            tool: self.tools.get(call).cloned().unwrap_or_default(),
            content,
            is_error: block["is_error"] == true,
            cause: Cause::Call,
            detail: Value::Null,
            effects: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A file is read.
    fn read(id: &str, at: &str, text: &str) -> [Value; 2] {
        let timestamp = format!("2026-03-07T{at}Z");
        let call = json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": "f"}});
        let result = json!({"type": "tool_result", "tool_use_id": id, "content": format!("     1→{text}")});
        [
            json!({"type": "assistant", "timestamp": timestamp, "message": {"role": "assistant", "content": [call]}}),
            json!({"type": "user", "timestamp": timestamp, "message": {"role": "user", "content": [result]}}),
        ]
    }

    // STEER-60
    #[test]
    fn what_was_seen_last_counts_wherever_it_stands() {
        let (early, late) = (read("a", "10:00:00", "early"), read("b", "10:05:00", "late"));
        let written_again = read("c", "10:00:00", "early");
        for lines in [
            [early.clone(), late.clone(), written_again.clone()],
            [early, written_again.clone(), late.clone()],
            [late, written_again.clone(), written_again],
        ] {
            let state = seen_files(&lines.concat(), Path::new("/p"));
            assert_eq!(state.get(Path::new("/p/f")).map(|seen| seen.content.as_str()), Some("late"));
        }
        assert_eq!(seen_files(&[], Path::new("/p")).iter().count(), 0);
    }
}
