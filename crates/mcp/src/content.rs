//! What servers send, as blocks for the model.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, GetPromptResult, Resource, ResourceContents, Role};
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_tools::image_block;

/// Images of one result that the model sees.
const IMAGES: usize = 20;

/// A result: blocks for the model, and the details for displays and hooks.
pub(crate) fn of_result(result: CallToolResult) -> (Vec<RawBlock>, Value) {
    let CallToolResult { content, structured_content, .. } = result;
    let mut detail = json!({"content": content.iter().map(outline).collect::<Vec<_>>()});
    let has_text = content.iter().any(|block| matches!(block, ContentBlock::Text(_)));
    let mut blocks = bounded(content.into_iter().flat_map(block).collect());
    if let Some(structured) = structured_content {
        // Most servers repeat it as text, for those that do not understand it.
        if !has_text {
            blocks.push(RawBlock::text(&structured.to_string()));
        }
        detail["structuredContent"] = structured;
    }
    if blocks.is_empty() {
        blocks.push(RawBlock::text("(no output)"));
    }
    (blocks, detail)
}

/// What resources hold.
pub(crate) fn of_resources(contents: Vec<ResourceContents>) -> Vec<RawBlock> {
    bounded(contents.into_iter().map(resource).collect())
}

/// A prompt, as one message of the user.
pub(crate) fn of_prompt(prompt: GetPromptResult) -> Vec<RawBlock> {
    let mut blocks = Vec::new();
    for message in prompt.messages {
        let said = block(message.content);
        if message.role == Role::Assistant {
            blocks.push(RawBlock::text("[The following is meant as an answer of the assistant:]"));
        }
        blocks.extend(said);
    }
    bounded(blocks)
}

fn bounded(blocks: Vec<RawBlock>) -> Vec<RawBlock> {
    let images = blocks.iter().filter(|block| block.as_text().is_none()).count();
    if images <= IMAGES {
        return blocks;
    }
    let mut room = IMAGES;
    let mut kept: Vec<RawBlock> = Vec::new();
    for block in blocks {
        let is_image = block.as_text().is_none();
        if !is_image || room > 0 {
            room -= usize::from(is_image);
            kept.push(block);
        }
    }
    kept.push(RawBlock::text(&format!("[{} more images are left out]", images - IMAGES)));
    kept
}

fn block(block: ContentBlock) -> Option<RawBlock> {
    match block {
        ContentBlock::Text(text) if text.text.trim().is_empty() => None,
        ContentBlock::Text(text) => Some(RawBlock::text(&text.text)),
        ContentBlock::Image(image) => Some(binary(&image.data, Some(&image.mime_type), "an image")),
        ContentBlock::Audio(audio) => {
            Some(RawBlock::text(&format!("[sound, {}, which cannot be heard here]", audio.mime_type)))
        }
        ContentBlock::Resource(embedded) => Some(resource(embedded.resource)),
        ContentBlock::ResourceLink(link) => Some(RawBlock::text(&linked(&link))),
        _ => Some(RawBlock::text("[content of a kind that is not known here]")),
    }
}

fn linked(link: &Resource) -> String {
    let kind = link.mime_type.as_deref().map(|kind| format!(", {kind}")).unwrap_or_default();
    let about = link.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    format!("[resource {} ({}{kind}){about}]", link.name, link.uri)
}

fn resource(contents: ResourceContents) -> RawBlock {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            RawBlock::text(&format!("[resource {uri}]\n{text}"))
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            binary(&blob, mime_type.as_deref(), &format!("resource {uri}"))
        }
        _ => RawBlock::text("[a resource of a kind that is not known here]"),
    }
}

/// An image that models see, or words in its place. What it is called does not count, only what it is.
fn binary(data: &str, kind: Option<&str>, what: &str) -> RawBlock {
    let kind = kind.unwrap_or("of unknown kind");
    let Ok(bytes) = STANDARD.decode(data.trim()) else {
        return RawBlock::text(&format!("[{what}, {kind}: its data is damaged]"));
    };
    image_block(&bytes).unwrap_or_else(|| {
        RawBlock::text(&format!("[{what}, {kind}, {} bytes: nothing that can be shown here]", bytes.len()))
    })
}

/// A block without its bytes.
fn outline(block: &ContentBlock) -> Value {
    let mut value = serde_json::to_value(block).unwrap_or_default();
    for path in ["/data", "/resource/blob"] {
        if let Some(data) = value.pointer_mut(path) {
            *data = json!(format!("({} characters)", data.as_str().map_or(0, str::len)));
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(value: Value) -> (Vec<RawBlock>, Value) {
        of_result(serde_json::from_value(value).unwrap())
    }

    fn texts(blocks: &[RawBlock]) -> Vec<String> {
        blocks.iter().map(|block| block.as_text().unwrap_or_else(|| "IMAGE".to_owned())).collect()
    }

    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    #[test]
    fn every_kind_of_content_reaches_the_model() {
        let (blocks, detail) = result(json!({"content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "data": PIXEL, "mimeType": "image/jpeg"},
            {"type": "image", "data": "!!", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a:1", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "a:2", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "a:3", "name": "third", "mimeType": "text/plain"},
        ], "structuredContent": {"n": 1}}));
        assert_eq!(
            texts(&blocks),
            [
                "hello",
                "IMAGE",
                "[an image, image/png: its data is damaged]",
                "[sound, audio/wav, which cannot be heard here]",
                "[resource a:1]\ninside",
                "[resource a:2, of unknown kind, 3 bytes: nothing that can be shown here]",
                "[resource third (a:3, text/plain)]",
            ]
        );
        assert_eq!(detail["structuredContent"], json!({"n": 1}));
        assert!(!detail.to_string().contains(PIXEL));
    }

    #[test]
    fn structured_content_stands_in_for_missing_text() {
        assert_eq!(texts(&result(json!({"content": [], "structuredContent": {"n": 1}})).0), [r#"{"n":1}"#]);
        assert_eq!(texts(&result(json!({"content": []})).0), ["(no output)"]);
        let blank = json!({"content": [{"type": "text", "text": " \n"}]});
        assert_eq!(texts(&result(blank).0), ["(no output)"]);
    }

    #[test]
    fn a_flood_of_images_is_cut() {
        let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
        let (blocks, _) = result(json!({"content": vec![image; 30]}));
        assert_eq!(blocks.len(), IMAGES + 1);
        assert!(texts(&blocks)[IMAGES].contains("10 more images"));
    }
}
