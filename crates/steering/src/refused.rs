//! Images and documents that the provider has refused. A note stands in their place from then on: what was refused once
//! would be refused in every later request.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::Refusal;

use crate::reminder::neutralise;

/// Characters of a complaint that are told.
const TOLD: usize = 300;
/// Characters of a digest.
const DIGEST: usize = 32;

/// What a provider complains about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accused {
    /// The parts, and what is said in their place.
    pub refusals: Vec<Refusal>,
    /// Whether one of them was sent in an earlier request already.
    pub is_old: bool,
}

/// Notes by the digest of what they stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused(BTreeMap<String, String>);

impl Refused {
    pub(crate) fn add(&mut self, refusals: &[Refusal]) {
        self.0.extend(refusals.iter().map(|refusal| (refusal.digest.clone(), refusal.note.clone())));
    }

    /// A block with notes in the place of what was refused; none if there is nothing of it in the block.
    pub(crate) fn leave_out(&self, block: &RawBlock) -> Option<RawBlock> {
        if self.0.is_empty() || !block.json().contains("\"source\"") {
            return None;
        }
        let mut value = block.to_value();
        let mut is_changed = self.replace(&mut value);
        for part in value.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
            is_changed |= self.replace(part);
        }
        is_changed.then(|| RawBlock::from_value(&value))
    }

    fn replace(&self, part: &mut Value) -> bool {
        let note = kind(part).and_then(|_| self.0.get(&digest(part)));
        let Some(note) = note else { return false };
        *part = RawBlock::text(note).to_value();
        true
    }
}

/// What a complaint is about, among these messages. It names a place, as in `messages.3.content.0.image.source: …`, or a
/// kind; then whatever is of that kind and was never accepted, which is all behind the last answer.
pub(crate) fn accused(messages: &[Bytes], complaint: &str) -> Option<Accused> {
    let accepted = messages.iter().rposition(is_answer).map_or(0, |last| last + 1);
    let (first, found) = match Place::read(complaint) {
        Some(place) => (place.message, place.parts(messages)),
        None => (accepted, of_kind(&messages[accepted..], named_kind(complaint)?)),
    };
    let why =
        complaint.split_once(": ").filter(|(path, _)| !path.contains(' ')).map_or(complaint, |(_, why)| why);
    let refusals: Vec<Refusal> = found
        .iter()
        .filter_map(|part| Some(Refusal { digest: digest(part), note: note(kind(part)?, why) }))
        .collect();
    (!refusals.is_empty()).then_some(Accused { refusals, is_old: first < accepted })
}

/// Where a block stands.
struct Place {
    message: usize,
    block: usize,
    /// Its place in a result.
    inner: Option<usize>,
}

impl Place {
    fn read(complaint: &str) -> Option<Self> {
        let (path, _) = complaint.split_once(':')?;
        let mut names = path.split('.');
        let mut number = |expected: &str| {
            names.next().filter(|name| *name == expected)?;
            names.next()?.parse().ok()
        };
        let (message, block) = (number("messages")?, number("content")?);
        let inner = names.next().filter(|name| *name == "tool_result").and_then(|_| {
            names.next().filter(|name| *name == "content")?;
            names.next()?.parse().ok()
        });
        Some(Self { message, block, inner })
    }

    fn parts(&self, messages: &[Bytes]) -> Vec<Value> {
        let Some(message) = messages.get(self.message) else { return Vec::new() };
        let block = content(message).into_iter().nth(self.block).unwrap_or_default();
        match self.inner {
            Some(inner) => media(block["content"][inner].clone()),
            None => media(block),
        }
    }
}

fn of_kind(messages: &[Bytes], wanted: &str) -> Vec<Value> {
    let parts = messages.iter().flat_map(content).flat_map(media);
    parts.filter(|part| kind(part) == Some(wanted)).collect()
}

/// The kind of part that is spoken of.
fn named_kind(complaint: &str) -> Option<&'static str> {
    let words = complaint.to_lowercase();
    words.split(|c: char| !c.is_alphanumeric()).find_map(|word| match word {
        "image" | "images" => Some("image"),
        "pdf" | "pdfs" | "document" | "documents" => Some("document"),
        _ => None,
    })
}

fn is_answer(message: &Bytes) -> bool {
    parsed(message)["role"] == "assistant"
}

fn parsed(message: &Bytes) -> Value {
    serde_json::from_slice(message).unwrap_or_default()
}

fn content(message: &Bytes) -> Vec<Value> {
    parsed(message)["content"].as_array().cloned().unwrap_or_default()
}

/// The images and documents that a block is or has.
fn media(block: Value) -> Vec<Value> {
    if kind(&block).is_some() {
        return vec![block];
    }
    let inner = block["content"].as_array().into_iter().flatten();
    inner.filter(|part| kind(part).is_some()).cloned().collect()
}

fn kind(part: &Value) -> Option<&'static str> {
    match part["type"].as_str() {
        Some("image") => Some("image"),
        Some("document") => Some("document"),
        _ => None,
    }
}

/// By what a part is known again: where it comes from, whatever stands around it.
fn digest(part: &Value) -> String {
    blake3::hash(part["source"].to_string().as_bytes()).to_hex()[..DIGEST].to_owned()
}

fn note(kind: &str, why: &str) -> String {
    let why: String = why.trim().trim_end_matches('.').chars().take(TOLD).collect();
    let why = neutralise(&why).text;
    match kind {
        "image" => format!("[Here was an image. The provider refused it: {why}.]"),
        _ => format!(
            "[Here was a document. The provider refused it: {why}. If it is a file, a command may extract its text.]"
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn image(data: &str) -> Value {
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
    }

    fn pdf() -> Value {
        json!({"type": "document", "source": {"type": "base64", "data": "JVBERi0="}})
    }

    fn messages() -> Vec<Bytes> {
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "x"}, image("b")]});
        let said =
            |role: &str, content: Value| Bytes::from(json!({"role": role, "content": content}).to_string());
        vec![
            said("user", json!([{"type": "text", "text": "look"}, image("a"), pdf()])),
            said("assistant", json!([{"type": "tool_use", "id": "t", "name": "Read", "input": {}}])),
            said("user", json!([result, image("c")])),
        ]
    }

    fn found(complaint: &str) -> Option<(Vec<String>, bool)> {
        let accused = accused(&messages(), complaint)?;
        Some((accused.refusals.into_iter().map(|refusal| refusal.digest).collect(), accused.is_old))
    }

    // LOG-05
    #[test]
    fn a_complaint_leads_to_the_part_that_it_is_about() {
        let one = |part: &Value, is_old| Some((vec![digest(part)], is_old));
        assert_eq!(
            found("messages.0.content.1.image.source.base64: Could not process image"),
            one(&image("a"), true)
        );
        assert_eq!(found("messages.0.content.2.document.source.base64.data: no"), one(&pdf(), true));
        let inner = "messages.2.content.0.tool_result.content.1.image.source.base64.data: too large";
        assert_eq!(found(inner), one(&image("b"), false));
        assert_eq!(found("messages.2.content.0: no"), one(&image("b"), false));
        // Without a place it is what was never accepted.
        let both = Some((vec![digest(&image("b")), digest(&image("c"))], false));
        assert_eq!(found("Could not process image"), both);
        assert_eq!(found("The PDF specified was not valid."), None);
        for other in [
            "messages.0.content.0.text: no image",
            "messages.1.content.0.tool_use.id: String should match",
            "messages.9.content.0.image: no",
            "see the documentation",
            "max_tokens: too large",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    // LOG-05
    #[test]
    fn a_note_stands_in_the_place_of_what_was_refused() {
        let complaint =
            "messages.2.content.0.tool_result.content.1.image.source: <system-reminder> too large.";
        let refusals = accused(&messages(), complaint).unwrap().refusals;
        assert_eq!(
            refusals[0].note,
            "[Here was an image. The provider refused it: <\\system-reminder> too large.]"
        );
        let mut refused = Refused::default();
        let result =
            RawBlock::from_value(&json!({"type": "tool_result", "content": [image("b"), image("c")]}));
        assert!(refused.leave_out(&result).is_none());
        refused.add(&refusals);
        let mended = refused.leave_out(&result).unwrap().to_value();
        assert_eq!((&mended["content"][0]["type"], &mended["content"][1]), (&json!("text"), &image("c")));
        assert!(refused.leave_out(&RawBlock::from_value(&image("c"))).is_none());
        let again = refused.leave_out(&RawBlock::from_value(&image("b"))).unwrap();
        assert_eq!(again.as_text().as_deref(), Some(refusals[0].note.as_str()));
    }
}
