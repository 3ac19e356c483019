//! What the model has seen of files, told from the messages of a conversation alone. For conversations that come from
//! outside: Tiller's own logs say it themselves.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use jiff::Timestamp;
use serde_json::Value;

const OPENING: &str = "<system-reminder>";
const CLOSING: &str = "</system-reminder>";

/// A file as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// The text, without white space at both ends.
    pub content: String,
    /// When it was seen, in milliseconds since the epoch.
    pub timestamp: i64,
}

/// Files by absolute path, least recently seen first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    files: IndexMap<PathBuf, SeenFile>,
    most: usize,
}

impl FileState {
    /// Files remembered by [`rebuild`] unless told otherwise.
    pub const USUAL: usize = 10;

    /// Room for this many files.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { files: IndexMap::new(), most }
    }

    /// A file.
    #[must_use]
    pub fn get(&self, path: &Path) -> Option<&SeenFile> {
        self.files.get(path)
    }

    /// The files, least recently seen first.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, &SeenFile)> {
        self.files.iter().map(|(path, seen)| (path.as_path(), seen))
    }

    fn see(&mut self, path: &Path, seen: SeenFile) {
        self.files.shift_remove(path);
        self.files.insert(path.to_owned(), seen);
        if self.files.len() > self.most {
            self.files.shift_remove_index(0);
        }
    }

    /// This state with what an earlier one knows better: files that are missing here, and those it saw later.
    #[must_use]
    pub fn merge(&self, previous: &Self) -> Self {
        let mut merged = self.clone();
        for (path, seen) in &previous.files {
            if self.get(path).is_none_or(|known| seen.timestamp > known.timestamp) {
                merged.see(path, seen.clone());
            }
        }
        merged
    }
}

/// A call whose result shows a whole file.
enum Call {
    Read(PathBuf),
    Write(PathBuf, String),
}

/// Works out what was seen of files from the lines of a transcript: complete reads, and writes that succeeded.
#[must_use]
pub fn rebuild(messages: &[Value], cwd: &Path, most: usize) -> FileState {
    let mut calls = HashMap::new();
    for block in messages.iter().filter(|message| message["type"] == "assistant").flat_map(blocks) {
        if let (Some(id), Some(call)) = (block["id"].as_str(), whole_file_call(block, cwd)) {
            calls.insert(id.to_owned(), call);
        }
    }
    let mut state = FileState::new(most);
    for message in messages.iter().filter(|message| message["type"] == "user") {
        let at = message["timestamp"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        let Some(timestamp) = at.map(Timestamp::as_millisecond) else { continue };
        for result in blocks(message).filter(|block| block["type"] == "tool_result") {
            let call = result["tool_use_id"].as_str().and_then(|id| calls.get(id));
            let failed = result["is_error"].as_bool().unwrap_or_default();
            match (call, result["content"].as_str()) {
                (Some(Call::Read(path)), Some(text)) if !failed => {
                    state.see(path, SeenFile { content: clean(text), timestamp });
                }
                (Some(Call::Write(path, content)), _) if !failed => {
                    state.see(path, SeenFile { content: content.clone(), timestamp });
                }
                _ => {}
            }
        }
    }
    state
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["message"]["content"].as_array().into_iter().flatten()
}

fn whole_file_call(block: &Value, cwd: &Path) -> Option<Call> {
    let input = &block["input"];
    let path = cwd.join(input["file_path"].as_str()?);
    match (block["type"].as_str()?, block["name"].as_str()?) {
        ("tool_use", "Read") if input["offset"].is_null() && input["limit"].is_null() => {
            Some(Call::Read(path))
        }
        ("tool_use", "Write") => {
            let content = input["content"].as_str().filter(|content| !content.is_empty())?;
            Some(Call::Write(path, content.to_owned()))
        }
        _ => None,
    }
}

/// The text of a file in the result of reading it: without reminders, line numbers and white space around.
#[must_use]
pub fn clean(result: &str) -> String {
    let text = without_reminders(result);
    text.split('\n').map(without_number).collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn without_reminders(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(OPENING) {
        let Some((_, after)) = inside.split_once(CLOSING) else { break };
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    kept
}

fn without_number(line: &str) -> &str {
    let digits = line.trim_start();
    let numbered = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    match numbered.strip_prefix('→') {
        Some(content) if numbered.len() < digits.len() => content,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: &str = "2026-03-07T10:00:00Z";

    fn call(id: &str, name: &str, input: &Value) -> Value {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        json!({"type": "assistant", "message": {"role": "assistant", "content": [block]}})
    }

    fn result(id: &str, content: &Value) -> Value {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": content});
        json!({"type": "user", "timestamp": AT, "message": {"role": "user", "content": [block]}})
    }

    fn read(id: &str, path: &str) -> Value {
        call(id, "Read", &json!({"file_path": path}))
    }

    fn rebuilt(messages: &[Value]) -> Vec<(String, String)> {
        let state = rebuild(messages, Path::new("/p"), FileState::USUAL);
        state.iter().map(|(path, seen)| (path.display().to_string(), seen.content.clone())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
    }

    // STEER-56 STEER-66
    #[test]
    fn complete_reads_and_writes_with_content_count() {
        let messages = [
            read("a", "/p/a"),
            read("b", "sub/b"),
            call("c", "Read", &json!({"file_path": "/p/c", "offset": 3})),
            call("d", "Read", &json!({"file_path": "/p/d", "limit": 3})),
            call("e", "Write", &json!({"file_path": "e", "content": "written "})),
            call("f", "Write", &json!({"file_path": "/p/f", "content": ""})),
            call("g", "Edit", &json!({"file_path": "/p/g", "new_string": "x"})),
            json!({"type": "assistant", "message": {"role": "assistant", "content": "only text"}}),
        ];
        let results = ["a", "b", "c", "d", "e", "f", "g", "unknown"].map(|id| result(id, &json!("     1→x")));
        let all: Vec<Value> = messages.into_iter().chain(results).collect();
        assert_eq!(rebuilt(&all), pairs(&[("/p/a", "x"), ("/p/sub/b", "x"), ("/p/e", "written ")]));
    }

    // STEER-57
    #[test]
    fn results_count_as_plain_text_with_a_time_stamp() {
        let mut without_time = result("a", &json!("     1→x"));
        without_time.as_object_mut().unwrap().remove("timestamp");
        let blocks = result("b", &json!([{"type": "text", "text": "     1→x"}]));
        let all = [read("a", "/p/a"), read("b", "/p/b"), without_time, blocks];
        assert_eq!(rebuilt(&all), pairs(&[]));
        let state = rebuild(&[read("a", "/a"), result("a", &json!("1→x"))], Path::new("/p"), 10);
        assert_eq!(state.get(Path::new("/a")).unwrap().timestamp, 1_772_877_600_000);
    }

    // STEER-58
    #[test]
    fn cleaning_leaves_the_text_of_the_file() {
        let text = "     1→fn main() {\n     2→\n    10→    x → y\nno number\n\n<system-reminder>\nnote\n</system-reminder>\n";
        assert_eq!(clean(text), "fn main() {\n\n    x → y\nno number");
        let twice = "a<system-reminder>1</system-reminder>b<system-reminder>\n2\n</system-reminder>c";
        assert_eq!(clean(twice), "abc");
        assert_eq!(clean("<system-reminder>never closed"), "<system-reminder>never closed");
        assert_eq!(clean("→ 1→"), "→ 1→");
    }

    // STEER-59
    #[test]
    fn the_files_seen_last_are_kept() {
        let mut all = Vec::new();
        for n in (0..12).chain([2]) {
            let id = format!("{n}-{}", all.len());
            all.push(read(&id, &format!("/{n}")));
            all.push(result(&id, &json!(n.to_string())));
        }
        let kept: Vec<String> = rebuilt(&all).into_iter().map(|(path, _)| path).collect();
        assert_eq!(kept, ["/3", "/4", "/5", "/6", "/7", "/8", "/9", "/10", "/11", "/2"]);
    }

    // STEER-61
    #[test]
    fn a_write_that_failed_did_not_happen() {
        let write = call("a", "Write", &json!({"file_path": "/a", "content": "x"}));
        let mut failed = result("a", &json!("no"));
        failed["message"]["content"][0]["is_error"] = true.into();
        assert_eq!(rebuilt(&[write, failed]), pairs(&[]));
    }

    // STEER-60
    #[test]
    fn merging_takes_what_is_missing_and_what_is_newer() {
        let state = |files: &[(&str, &str, i64)]| {
            let mut state = FileState::new(10);
            for (path, content, timestamp) in files {
                let seen = SeenFile { content: (*content).to_owned(), timestamp: *timestamp };
                state.see(Path::new(path), seen);
            }
            state
        };
        let new = state(&[("/same", "new", 5), ("/older", "new", 5), ("/newer", "new", 5)]);
        let previous =
            state(&[("/same", "old", 5), ("/older", "old", 4), ("/newer", "old", 6), ("/missing", "old", 1)]);
        let merged = new.merge(&previous);
        let content = |path: &str| merged.get(Path::new(path)).unwrap().content.as_str();
        assert_eq!((content("/same"), content("/older")), ("new", "new"));
        assert_eq!((content("/newer"), content("/missing")), ("old", "old"));
    }
}
