//! Server-sent events as text.

use bytes::Bytes;
use serde_json::{Value, json};

/// One named event; the payload repeats the name in `type`.
pub(crate) fn event(name: &str, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

pub(crate) fn ping() -> Bytes {
    event("ping", &json!({ "type": "ping" }))
}

/// Cuts text into pieces of about `size` bytes, never inside a character.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::with_capacity(text.len() / size + 1);
    while !rest.is_empty() {
        let mut end = size.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, tail) = rest.split_at(end);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// JSON with every non-ASCII character written as `\u` escapes.
pub(crate) fn escape_non_ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}
