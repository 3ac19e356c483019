//! Images, and what images and documents together may take.

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{ImageFormat, ImageReader};
use serde_json::Value;

use super::{
    Request,
    documents::check_document,
    fields::{object, only, required},
};
use crate::{
    error::{ApiError, Check},
    prompt::items,
};

const MAX_BASE64: usize = 10 << 20;
const MAX_EDGE: u32 = 8000;
const MANY_IMAGES: usize = 20;
const MAX_EDGE_OF_MANY: u32 = 2000;
const LARGE_WINDOW: u64 = 1_000_000;
const MAX_IMAGE_TOKENS: u64 = 4784;

pub(super) fn check(request: &Request<'_>, window: u64) -> Check {
    let mut media = Media { images: Vec::new(), pages: 0, most: most(window) };
    for (index, message) in items(&request.body["messages"]).iter().enumerate() {
        for (position, block) in items(&message["content"]).iter().enumerate() {
            let path = format!("messages.{index}.content.{position}");
            visit(request, &path, block, &mut media)?;
            for (inner, nested) in items(&block["content"]).iter().enumerate() {
                visit(request, &format!("{path}.tool_result.content.{inner}"), nested, &mut media)?;
            }
        }
    }
    check_count(&media)
}

/// Images, and pages of documents, that a request may have.
fn most(window: u64) -> usize {
    if window >= LARGE_WINDOW { 600 } else { 100 }
}

/// What counts against the limits of a request.
struct Media {
    images: Vec<Seen>,
    pages: usize,
    most: usize,
}

/// An image whose size is known; remote ones are not fetched.
struct Seen {
    path: String,
    size: Option<(u32, u32)>,
}

fn visit(request: &Request<'_>, path: &str, block: &Value, media: &mut Media) -> Check {
    match block["type"].as_str() {
        Some("image") => {
            let size = check_image(request, path, block)?;
            media.images.push(Seen { path: path.to_owned(), size });
            Ok(())
        }
        Some("document") => {
            media.pages += check_document(path, &block["source"])?;
            let most = media.most;
            let rule = format!("A maximum of {most} PDF pages may be provided.");
            let is_too_long = media.pages > most;
            if is_too_long { Err(ApiError::at(format!("{path}.document.source"), rule)) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

fn check_count(Media { images, most, .. }: &Media) -> Check {
    if images.len() > *most {
        let found = images.len();
        return Err(ApiError::at("messages", format!("too many images: {found} > {most} maximum")));
    }
    let too_large = |seen: &&Seen| seen.size.is_some_and(|(w, h)| w.max(h) > MAX_EDGE_OF_MANY);
    match images.iter().find(too_large) {
        Some(seen) if images.len() > MANY_IMAGES => Err(ApiError::at(
            format!("{}.image.source.base64.data", seen.path),
            format!(
                "At least one of the image dimensions exceed max allowed size for many-image requests: \
                 {MAX_EDGE_OF_MANY} pixels"
            ),
        )),
        _ => Ok(()),
    }
}

fn check_image(request: &Request<'_>, path: &str, block: &Value) -> Check<Option<(u32, u32)>> {
    let path = format!("{path}.image.source");
    let source = &block["source"];
    check_source(
        &path,
        source,
        &[("base64", &["media_type", "data"]), ("url", &["url"]), ("file", &["file_id"])],
    )?;
    if source["type"] != "base64" {
        return Ok(None);
    }
    let path = format!("{path}.base64");
    let media = source["media_type"].as_str().unwrap_or_default();
    let Some(declared) = format_of(media) else {
        let known = "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'";
        return Err(ApiError::at(format!("{path}.media_type"), known));
    };
    let encoded = source["data"].as_str().unwrap_or_default();
    if encoded.len() > MAX_BASE64 {
        let found = encoded.len();
        let rule = format!("image exceeds 10 MB maximum: {found} bytes > {MAX_BASE64} bytes");
        return Err(ApiError::at(path, rule));
    }
    let data = decode(&path, encoded)?;
    let actual = image::guess_format(&data).map_err(|_| ApiError::at(&path, "Could not process image"))?;
    if actual != declared {
        let actual = actual.to_mime_type();
        let rule = format!(
            "The image was specified using the {media} media type, but the image appears to be a {actual} image"
        );
        return Err(ApiError::at(format!("{path}.media_type"), rule));
    }
    let size = size_of(&data, declared).ok_or_else(|| ApiError::at(&path, "Could not process image"))?;
    check_size(request, &path, block, size)?;
    Ok(Some(size))
}

fn check_size(request: &Request<'_>, path: &str, block: &Value, (width, height): (u32, u32)) -> Check {
    let edge = width.max(height);
    if edge > MAX_EDGE {
        let rule = format!("At least one of the image dimensions exceed max allowed size: {MAX_EDGE} pixels");
        return Err(ApiError::at(format!("{path}.data"), rule));
    }
    let fits = request.model.image_edge;
    if block["transformations"]["oversized_image"] == "error" && edge > fits {
        let rule =
            format!("image is {width}x{height} pixels; the largest that fits has edges of {fits} pixels");
        return Err(ApiError::at(format!("{path}.data"), rule));
    }
    Ok(())
}

pub(super) fn check_source(path: &str, source: &Value, kinds: &[(&str, &[&str])]) -> Check {
    let given = object(path, source)?;
    let kind = source["type"].as_str().unwrap_or_default();
    let Some((_, fields)) = kinds.iter().find(|(known, _)| *known == kind) else {
        let rule = format!("Input tag '{kind}' found using 'type' does not match any of the expected tags");
        return Err(ApiError::at(path, rule));
    };
    let path = format!("{path}.{kind}");
    only(&path, given, &[&["type"], fields])?;
    required(&path, given, fields)
}

pub(super) fn decode(path: &str, encoded: &str) -> Check<Vec<u8>> {
    STANDARD.decode(encoded).map_err(|_| ApiError::at(format!("{path}.data"), "Invalid base64 data"))
}

fn format_of(media_type: &str) -> Option<ImageFormat> {
    match media_type {
        "image/jpeg" => Some(ImageFormat::Jpeg),
        "image/png" => Some(ImageFormat::Png),
        "image/gif" => Some(ImageFormat::Gif),
        "image/webp" => Some(ImageFormat::WebP),
        _ => None,
    }
}

fn size_of(data: &[u8], format: ImageFormat) -> Option<(u32, u32)> {
    ImageReader::with_format(Cursor::new(data), format).into_dimensions().ok()
}

/// What an inline image costs; none for other blocks.
pub(crate) fn tokens(block: &Value) -> Option<u64> {
    let source = (block["type"] == "image").then_some(&block["source"])?;
    let format = format_of(source["media_type"].as_str()?)?;
    let data = STANDARD.decode(source["data"].as_str()?).ok()?;
    let (width, height) = size_of(&data, format)?;
    let patches = u64::from(width.div_ceil(28)) * u64::from(height.div_ceil(28));
    Some(patches.min(MAX_IMAGE_TOKENS))
}
