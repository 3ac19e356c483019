//! Fingerprints of a prompt, piece by piece.
//!
//! Every content block is walked and hashed once. The chains folded from those digests serve both the check
//! that thinking blocks still belong to their conversation and the prompt cache.

use serde_json::{Map, Value};

/// A fingerprint.
pub(crate) type Digest = [u8; 32];

/// The fingerprint of one block and its size in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fingerprint {
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

/// Hashes a block as the model sees it: without cache marks, whatever the order of its fields.
pub(crate) fn fingerprint(block: &Value) -> Fingerprint {
    let mut walker = Walker { hasher: blake3::Hasher::new(), bytes: 0 };
    match thinking_identity(block) {
        Some(identity) => {
            walker.text(identity);
            walker.bytes += block["thinking"].as_str().map_or(0, |text| text.len() as u64);
        }
        None => walker.value(block, Strip::Marks),
    }
    Fingerprint { digest: *walker.hasher.finalize().as_bytes(), bytes: walker.bytes }
}

/// A text block as written in the short form.
pub(crate) fn fingerprint_text(text: &str) -> Fingerprint {
    fingerprint(&serde_json::json!({ "type": "text", "text": text }))
}

/// The visible text of a thinking block is decoration: its signature is what counts.
fn thinking_identity(block: &Value) -> Option<&str> {
    match block["type"].as_str()? {
        "thinking" => block["signature"].as_str(),
        "redacted_thinking" => block["data"].as_str(),
        _ => None,
    }
}

/// Fingerprints folded in order.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    state: Digest,
    role: &'static str,
}

impl Chain {
    pub(crate) fn new(seed: &str) -> Self {
        Self { state: *blake3::hash(seed.as_bytes()).as_bytes(), role: "" }
    }

    pub(crate) fn push(&mut self, digest: &Digest) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.state);
        hasher.update(digest);
        self.state = *hasher.finalize().as_bytes();
    }

    pub(crate) fn note(&mut self, text: &str) {
        self.push(blake3::hash(text.as_bytes()).as_bytes());
    }

    /// Starts a turn; neighbouring messages of one role are one turn.
    pub(crate) fn turn(&mut self, role: &str) {
        let role = match role {
            "user" => "user",
            "assistant" => "assistant",
            _ => "system",
        };
        if self.role != role {
            self.role = role;
            self.note(role);
        }
    }

    pub(crate) fn value(&self) -> Digest {
        self.state
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Strip {
    Marks,
    Nothing,
}

struct Walker {
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Walker {
    fn value(&mut self, value: &Value, strip: Strip) {
        match value {
            Value::Object(fields) => self.object(fields, strip),
            Value::Array(items) => {
                self.mark(b"[");
                for item in items {
                    self.value(item, strip);
                }
                self.mark(b"]");
            }
            Value::String(text) => self.text(text),
            Value::Number(number) => self.text(&number.to_string()),
            Value::Bool(true) => self.mark(b"t"),
            Value::Bool(false) => self.mark(b"f"),
            Value::Null => self.mark(b"n"),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, strip: Strip) {
        let marks = strip == Strip::Marks;
        let hidden = |key: &str, value: &Value| marks && (key == "cache_control" || value.is_null());
        let mut sorted: Vec<_> = fields.iter().filter(|(key, value)| !hidden(key, value)).collect();
        sorted.sort_unstable_by_key(|(key, _)| key.as_str());
        self.mark(b"{");
        for (key, value) in sorted {
            self.text(key);
            // Inside tool data every field counts, whatever it is called.
            let data = matches!(key.as_str(), "input" | "input_schema" | "input_examples");
            self.value(value, if data { Strip::Nothing } else { strip });
        }
        self.mark(b"}");
    }

    fn text(&mut self, text: &str) {
        self.hasher.update(&(text.len() as u64).to_le_bytes());
        self.hasher.update(text.as_bytes());
        self.bytes += text.len() as u64 + 3;
    }

    fn mark(&mut self, mark: &[u8; 1]) {
        self.hasher.update(mark);
        self.bytes += 1;
    }
}
