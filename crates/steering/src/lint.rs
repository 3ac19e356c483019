//! Makes single blocks acceptable to the provider before they enter the conversation. One bad block must not poison a
//! session: whatever was refused once would be refused in every later request.

mod admit;

use std::borrow::Cow;

use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::id::CallId;

pub(crate) use self::admit::admit;

/// Images a request may carry; the provider refuses more than this on models with a small window.
const MAX_IMAGES: usize = 100;
/// Characters of base64 an image may have.
const MAX_IMAGE_CHARS: usize = 5 * 1024 * 1024;
/// Characters of base64 a document may have: a request may have 32 MB, and the conversation needs room.
const MAX_DOCUMENT_CHARS: usize = 28 * 1024 * 1024;
/// Characters an id may have.
const MAX_ID_CHARS: usize = 64;
/// What stands in the result of a failed call that says nothing.
const SILENT_FAILURE: &str = "The call failed without saying why.";

/// What a conversation holds so far that further blocks count against.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) images: usize,
}

/// A block that may be sent, and what had to be changed for it.
pub(crate) fn mend(block: &RawBlock, totals: &mut Totals) -> (RawBlock, Option<String>) {
    let (block, surrogates) = match mend_surrogates(block.json()) {
        Cow::Borrowed(_) => (block.clone(), None),
        Cow::Owned(json) => match RawBlock::parse(json) {
            Ok(mended) => (mended, Some("replaced half characters that are not valid text".to_owned())),
            Err(_) => (block.clone(), None),
        },
    };
    let is_result = block.kind() == "tool_result";
    let is_media = || ["\"image\"", "\"document\""].iter().any(|kind| block.json().contains(kind));
    if !is_result && !is_media() {
        return (block, surrogates);
    }
    let mut value = block.to_value();
    let mut mended = if is_result { mend_result(&mut value) } else { Vec::new() };
    mended.extend(limit_media(&mut value, totals));
    if mended.is_empty() {
        return (block, surrogates);
    }
    mended.extend(surrogates);
    (RawBlock::from_value(&value), Some(mended.join("; ")))
}

/// An id the provider accepts: the given one, or a stand-in that is the same for the call and its result.
pub(crate) fn safe_id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= MAX_ID_CHARS && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(format!("call_{:016x}", CallId::from(id).digest()))
}

/// Replaces `\uD800`-style escapes that are not part of a pair: valid JSON syntax, but not valid text.
fn mend_surrogates(json: &str) -> Cow<'_, str> {
    if !json.contains("\\u") {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut mended = false;
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match (unit(rest), rest.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => rest = take(&mut out, rest, 12),
            (Some(0xD800..=0xDFFF), _) => {
                out.push_str("\\ufffd");
                mended = true;
                rest = &rest[6..];
            }
            (Some(_), _) => rest = take(&mut out, rest, 6),
            (None, _) => rest = take(&mut out, rest, 2),
        }
    }
    out.push_str(rest);
    if mended { Cow::Owned(out) } else { Cow::Borrowed(json) }
}

/// The code unit of a leading `\uXXXX`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

fn take<'a>(out: &mut String, text: &'a str, len: usize) -> &'a str {
    let end = (len..=text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len());
    out.push_str(&text[..end]);
    &text[end..]
}

/// Leaves in a result only what the provider takes there: no blank text, and in that of a failed call text alone.
fn mend_result(result: &mut Value) -> Vec<String> {
    let failed = result["is_error"] == true;
    let mut mended = Vec::new();
    if let Some(Value::Array(blocks)) = result.get_mut("content") {
        let all = blocks.len();
        blocks.retain(|block| !block["text"].as_str().is_some_and(is_blank));
        if blocks.len() < all {
            mended.push("left blank text out of a result".to_owned());
        }
        for block in blocks.iter_mut().filter(|block| failed && block["type"] != "text") {
            let kind = block["type"].as_str().unwrap_or("part").to_owned();
            mended.push(format!("left {kind} out of the result of a failed call, which can only be text"));
            let text = format!("[Here was {kind}, which cannot be part of the result of a failed call.]");
            *block = json!({"type": "text", "text": text});
        }
    }
    let is_empty = match result.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => is_blank(text),
        Some(content) => content.as_array().is_some_and(Vec::is_empty),
    };
    if failed && is_empty {
        result["content"] = SILENT_FAILURE.into();
        mended.push("put words into the result of a failed call that said nothing".to_owned());
    }
    mended
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn limit_media(value: &mut Value, totals: &mut Totals) -> Vec<String> {
    let inner = value.get_mut("content").and_then(Value::as_array_mut).map(|blocks| blocks.iter_mut());
    if let Some(blocks) = inner {
        return blocks.filter_map(|block| limit(block, totals)).collect();
    }
    limit(value, totals).into_iter().collect()
}

/// Puts a note in the place of an image or a document that is over a limit; says so.
fn limit(block: &mut Value, totals: &mut Totals) -> Option<String> {
    let chars = block["source"]["data"].as_str().map_or(0, str::len);
    let too_long = |what: &str, most: usize| {
        (chars > most).then(|| format!("{what} of {chars} characters is over the provider's limit of {most}"))
    };
    let (what, problem) = match block["type"].as_str() {
        Some("image") => {
            let many = || format!("the conversation already holds {MAX_IMAGES} images");
            let problem =
                too_long("an image", MAX_IMAGE_CHARS).or_else(|| (totals.images >= MAX_IMAGES).then(many));
            totals.images += usize::from(problem.is_none());
            ("image", problem?)
        }
        Some("document") => ("document", too_long("a document", MAX_DOCUMENT_CHARS)?),
        _ => return None,
    };
    let article = if what == "image" { "An" } else { "A" };
    *block = json!({"type": "text", "text": format!("[{article} {what} was left out: {problem}.]")});
    Some(format!("left out {} {what}: {problem}", article.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(json: &str) -> String {
        mend(&RawBlock::parse(json.to_owned()).unwrap(), &mut Totals::default()).0.json().to_owned()
    }

    // LOG-05
    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let lone = r#"{"type":"text","text":"a\ud800b"}"#;
        assert_eq!(mended(lone), r#"{"type":"text","text":"a\ufffdb"}"#);
        for fine in
            [r#"{"type":"text","text":"\ud83d\ude00 \\ud800 \u00e9"}"#, r#"{"type":"text","text":"\\"}"#]
        {
            assert_eq!(mended(fine), fine);
        }
    }

    // LOG-05
    #[test]
    fn images_beyond_the_limits_are_named_instead_of_sent() {
        let image = |data: &str| {
            RawBlock::from_value(&json!({"type":"tool_result","tool_use_id":"t","content":[
                {"type":"image","source":{"type":"base64","media_type":"image/png","data":data}}]}))
        };
        let mut totals = Totals { images: MAX_IMAGES };
        let (block, what) = mend(&image("aaaa"), &mut totals);
        assert!(block.json().contains("left out") && what.is_some());
        let (block, what) = mend(&image(&"a".repeat(MAX_IMAGE_CHARS + 1)), &mut Totals::default());
        assert!(block.json().len() < 1000 && what.is_some());
        assert!(mend(&image("aaaa"), &mut Totals::default()).1.is_none());
    }

    // LOG-05 LOOP-38
    #[test]
    fn results_hold_only_what_the_provider_takes() {
        let image =
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}});
        let blank = json!({"type": "text", "text": " \n"});
        let said = json!({"type": "text", "text": "no"});
        let result = |content: Value, is_error: bool| {
            let value =
                json!({"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": is_error});
            let (block, what) = mend(&RawBlock::from_value(&value), &mut Totals::default());
            (block.to_value()["content"].clone(), what)
        };
        let (content, what) = result(json!([blank, image, said]), false);
        assert_eq!((content, what.is_some()), (json!([image, said]), true));
        let (content, what) = result(json!([blank, image, said]), true);
        let parts = content.as_array().unwrap();
        assert!(parts.iter().all(|part| part["type"] == "text") && parts.len() == 2, "{content}");
        assert!(content.to_string().contains("Here was image") && parts[1] == said, "{content}");
        assert!(what.unwrap().contains("left image out"));
        for nothing in [json!([blank]), json!([]), json!(""), json!(" "), Value::Null] {
            let (content, what) = result(nothing.clone(), true);
            assert_eq!((content, what.is_some()), (json!(SILENT_FAILURE), true), "{nothing}");
        }
        for fine in [json!("words"), json!([said])] {
            assert_eq!(result(fine.clone(), true), (fine, None));
        }
    }

    // LOG-05
    #[test]
    fn ids_the_provider_would_refuse_get_a_stand_in() {
        assert_eq!(safe_id("toolu_01"), "toolu_01");
        let long = "x".repeat(500);
        assert_eq!(safe_id(&long), safe_id(&long));
        assert!(safe_id(&long).len() <= MAX_ID_CHARS);
        assert_ne!(safe_id("a b"), safe_id("a c"));
    }
}
