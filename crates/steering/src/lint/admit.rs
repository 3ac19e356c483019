//! Blocks that came from outside in the user's role.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::pdf;

/// Why a part of a message cannot be sent.
type Problem = String;

/// A block with only what the provider accepts in the user's role. What it would refuse becomes a text that says so.
pub(crate) fn admit(block: &RawBlock) -> (RawBlock, Option<String>) {
    let value = block.to_value();
    match admitted(&value) {
        Ok(admitted) if admitted == value => (block.clone(), None),
        Ok(admitted) => (RawBlock::from_value(&admitted), None),
        Err(problem) => {
            let text = format!("[A part of this message was left out: it {problem}.]");
            (RawBlock::text(&text), Some(format!("left out a part of a message that {problem}")))
        }
    }
}

fn admitted(block: &Value) -> Result<Value, Problem> {
    match block["type"].as_str() {
        Some("text") if block["text"].is_string() => Ok(json!({"type": "text", "text": block["text"]})),
        Some("image") => Ok(json!({"type": "image", "source": image(&block["source"])?})),
        Some("document") => {
            let mut admitted = json!({"type": "document", "source": document(&block["source"])?});
            for name in ["title", "context"] {
                if let Some(text) = block[name].as_str().filter(|text| !text.trim().is_empty()) {
                    admitted[name] = text.into();
                }
            }
            Ok(admitted)
        }
        _ => Err("is not of a kind that a message can have".to_owned()),
    }
}

fn image(source: &Value) -> Result<Value, Problem> {
    if source["type"] != "base64" {
        return elsewhere(source);
    }
    let data = source["data"].as_str().unwrap_or_default();
    let kind = media_type(data).ok_or("is not a PNG, JPEG, GIF or WebP image")?;
    decoded(data)?;
    Ok(json!({"type": "base64", "media_type": kind, "data": data}))
}

fn document(source: &Value) -> Result<Value, Problem> {
    match source["type"].as_str() {
        Some("base64") => {
            let data = source["data"].as_str().unwrap_or_default();
            pdf::check(&decoded(data)?).map_err(|problem| problem.to_string())?;
            Ok(json!({"type": "base64", "media_type": "application/pdf", "data": data}))
        }
        Some("text") => {
            let text = source["data"].as_str().filter(|text| !text.trim().is_empty());
            let text = text.ok_or("is a document without text")?;
            Ok(json!({"type": "text", "media_type": "text/plain", "data": text}))
        }
        Some("content") => Ok(json!({"type": "content", "content": parts(&source["content"])?})),
        _ => elsewhere(source),
    }
}

/// What a document consists of: text, or texts and images.
fn parts(content: &Value) -> Result<Value, Problem> {
    let empty = || "is a document without content".to_owned();
    match content {
        Value::String(text) if !text.trim().is_empty() => Ok(content.clone()),
        Value::Array(blocks) if !blocks.is_empty() => {
            let is_part = |block: &Value| block["type"] == "text" || block["type"] == "image";
            if !blocks.iter().all(is_part) {
                return Err("is a document of parts other than text and images".to_owned());
            }
            blocks.iter().map(admitted).collect()
        }
        _ => Err(empty()),
    }
}

/// What the provider fetches itself, or has been given before.
fn elsewhere(source: &Value) -> Result<Value, Problem> {
    let text = |name: &str| source[name].as_str().filter(|text| !text.trim().is_empty());
    match source["type"].as_str() {
        Some("url") => {
            let is_address = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
            let url = text("url").filter(is_address).ok_or("has an address that is none")?;
            Ok(json!({"type": "url", "url": url}))
        }
        Some("file") => {
            let file = text("file_id").ok_or("names no file")?;
            Ok(json!({"type": "file", "file_id": file}))
        }
        _ => Err("has a source of an unknown kind".to_owned()),
    }
}

fn decoded(data: &str) -> Result<Vec<u8>, Problem> {
    STANDARD.decode(data).map_err(|_| "is not valid base64".to_owned())
}

/// What an image really is, by the beginning of its base64 text.
fn media_type(base64: &str) -> Option<&'static str> {
    let known = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
    ];
    known.iter().find(|(magic, _)| base64.starts_with(magic)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(value: &Value) -> Value {
        admit(&RawBlock::from_value(value)).0.to_value()
    }

    #[track_caller]
    fn refuse(value: &Value, why: &str) {
        let (block, what) = admit(&RawBlock::from_value(value));
        let told = block.as_text().unwrap();
        assert!(told.contains("left out") && told.contains(why) && what.is_some(), "{value}: {told}");
    }

    fn document(source: &Value) -> Value {
        json!({"type": "document", "source": source})
    }

    fn pdf(bytes: &[u8]) -> Value {
        let data = STANDARD.encode(bytes);
        document(&json!({"type": "base64", "media_type": "application/pdf", "data": data}))
    }

    // LOG-05
    #[test]
    fn messages_hold_only_what_the_provider_takes() {
        let marked = json!({"type":"text","text":"hi","cache_control":{"type":"ephemeral"},"x":1});
        assert_eq!(sent(&marked), json!({"type":"text","text":"hi"}));
        for foreign in [
            json!({"type":"tool_result","tool_use_id":"t"}),
            json!({"type":"hologram"}),
            json!({"type":"text"}),
            json!(3),
        ] {
            refuse(&foreign, "not of a kind");
        }
    }

    // LOG-05
    #[test]
    fn images_are_what_they_say_and_have_a_source() {
        let image = |kind: &str, data: &str| json!({"type":"image","source":{"type":"base64","media_type":kind,"data":data}});
        assert_eq!(sent(&image("image/png", "/9j/4AAQ"))["source"]["media_type"], "image/jpeg");
        refuse(&image("image/png", "bm90IGFuIGltYWdl"), "not a PNG");
        refuse(&image("image/png", "/9j/4AAQ%"), "base64");
        let named = |source: Value| json!({"type": "image", "source": source});
        let extra = json!({"type": "url", "url": "https://example.org/a.png", "media_type": "image/png"});
        assert_eq!(sent(&named(extra))["source"], json!({"type": "url", "url": "https://example.org/a.png"}));
        let file = json!({"type": "file", "file_id": "file_1", "name": "a.png"});
        assert_eq!(sent(&named(file))["source"], json!({"type": "file", "file_id": "file_1"}));
        refuse(&named(json!({"type": "url", "url": "a.png"})), "address");
        refuse(&named(json!({"type": "url"})), "address");
        refuse(&named(json!({"type": "file", "file_id": 3})), "no file");
        refuse(&named(json!({"type": "text", "data": "x"})), "unknown kind");
        refuse(&named(json!("a.png")), "unknown kind");
    }

    // LOG-05
    #[test]
    fn documents_are_ones_that_the_provider_can_read() {
        let fine = pdf(b"%PDF-1.4\n2 0 obj <</Type /Pages /Count 3>> endobj\n%%EOF");
        assert_eq!(sent(&fine), fine);
        refuse(&pdf(b"not a pdf"), "not a PDF");
        refuse(&pdf(b"%PDF-1.4\n2 0 obj"), "end is missing");
        refuse(&pdf(b"%PDF-1.4\ntrailer <</Encrypt 5 0 R>>\n%%EOF"), "password");
        refuse(&pdf(b"%PDF-1.4\n2 0 obj <</Type /Pages /Count 300>> endobj\n%%EOF"), "300 pages");
        refuse(&document(&json!({"type": "base64", "data": "JVBERi0%"})), "base64");
        refuse(&document(&json!({"type": "text", "data": " "})), "without text");
        refuse(&document(&json!({"type": "content", "content": []})), "without content");
        let nested = json!({"type": "content", "content": [{"type": "document"}]});
        refuse(&document(&nested), "other than text and images");
        let mut noted = document(&json!({"type": "text", "media_type": "text/html", "data": "hi", "x": 1}));
        noted["title"] = "T".into();
        noted["context"] = json!({});
        noted["citations"] = json!({"enabled": true});
        let admitted = json!({
            "type": "document", "title": "T",
            "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
        });
        assert_eq!(sent(&noted), admitted);
    }
}
