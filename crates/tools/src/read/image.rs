//! Images as the model sees them: decoded to be sure that the provider can, and scaled to what it takes.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader};
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;

use super::Source;
use crate::tool::{Done, ToolError};

/// The longest edge that every model sees in full.
const LONGEST_EDGE: u32 = 1568;
/// Bytes that stay below 5 MB in base64.
const LARGEST: usize = 5 * 1024 * 1024 / 4 * 3;
const JPEG_QUALITY: u8 = 85;

/// An image fit for the provider.
pub(super) struct Fitted {
    media_type: &'static str,
    data: Vec<u8>,
    original: (u32, u32),
    shown: (u32, u32),
}

/// The image format, if it is one that models see.
pub(super) fn format(bytes: &[u8]) -> Option<ImageFormat> {
    let format = image::guess_format(bytes).ok()?;
    media_type(format).map(|_| format)
}

fn media_type(format: ImageFormat) -> Option<&'static str> {
    match format {
        ImageFormat::Png => Some("image/png"),
        ImageFormat::Jpeg => Some("image/jpeg"),
        ImageFormat::Gif => Some("image/gif"),
        ImageFormat::WebP => Some("image/webp"),
        _ => None,
    }
}

/// An image as the model sees it; nothing if it is none that models see.
#[must_use]
pub fn image_block(bytes: &[u8]) -> Option<RawBlock> {
    let fitted = fit(bytes, format(bytes)?).ok()?;
    Some(fitted.block())
}

/// A block from outside as it may be sent: an image with its data is made to fit, and one that models cannot see becomes
/// a text that says so. Whatever else it is stays as it is.
#[must_use]
pub fn sendable_block(block: RawBlock) -> RawBlock {
    if block.kind() != "image" {
        return block;
    }
    let value = block.to_value();
    let Some(data) = value["source"]["data"].as_str().filter(|_| value["source"]["type"] == "base64") else {
        return block;
    };
    let fitted = STANDARD.decode(data.trim()).ok().and_then(|bytes| image_block(&bytes));
    fitted.unwrap_or_else(|| {
        let media_type = value["source"]["media_type"].as_str().unwrap_or("of unknown kind");
        RawBlock::text(&format!(
            "[An image ({media_type}) was left out: its data is damaged or of no kind that models see.]"
        ))
    })
}

pub(super) fn show(source: &Source<'_>, bytes: &[u8], format: ImageFormat) -> Result<Done, ToolError> {
    let fitted = fit(bytes, format).map_err(|error| {
        ToolError::model(format!(
            "{} looks like an image but cannot be decoded: {error}.",
            source.path.display()
        ))
    })?;
    let ((width, height), (shown_width, shown_height)) = (fitted.original, fitted.shown);
    let mut content = vec![fitted.block()];
    if fitted.original != fitted.shown {
        content.push(RawBlock::text(&format!(
            "[Image of {width}x{height} pixels, shown at {shown_width}x{shown_height}.]"
        )));
    }
    let detail = json!({
        "type": "image",
        "file": {
            "filePath": source.path.to_string_lossy(),
            "type": fitted.media_type,
            "originalSize": source.size,
            "dimensions": {
                "originalWidth": width, "originalHeight": height,
                "displayWidth": shown_width, "displayHeight": shown_height,
            },
        },
    });
    Ok(Done { content, detail, effects: Vec::new() })
}

impl Fitted {
    /// The content block.
    pub(super) fn block(&self) -> RawBlock {
        let source: Value =
            json!({"type": "base64", "media_type": self.media_type, "data": STANDARD.encode(&self.data)});
        RawBlock::from_value(&json!({"type": "image", "source": source}))
    }
}

/// Decodes an image and makes it small enough.
pub(super) fn fit(bytes: &[u8], format: ImageFormat) -> image::ImageResult<Fitted> {
    let mut decoder = ImageReader::with_format(Cursor::new(bytes), format).into_decoder()?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    let original = (image.width(), image.height());
    let fits = original.0.max(original.1) <= LONGEST_EDGE && bytes.len() <= LARGEST;
    // A GIF may be animated, which providers refuse; its first frame is sent as a still image.
    if let (true, Some(media_type), true) = (fits, media_type(format), format != ImageFormat::Gif) {
        return Ok(Fitted { media_type, data: bytes.to_vec(), original, shown: original });
    }
    let mut edge = LONGEST_EDGE.min(original.0.max(original.1));
    loop {
        if image.width().max(image.height()) > edge {
            image = image.resize(edge, edge, FilterType::CatmullRom);
        }
        let (media_type, data) = encode(&image, format)?;
        if data.len() <= LARGEST || edge <= 64 {
            let shown = (image.width(), image.height());
            return Ok(Fitted { media_type, data, original, shown });
        }
        edge = edge / 4 * 3;
    }
}

/// Photographs as JPEG; drawings and whatever has transparency as PNG, unless that is too large.
fn encode(image: &DynamicImage, format: ImageFormat) -> image::ImageResult<(&'static str, Vec<u8>)> {
    let mut data = Vec::new();
    if format != ImageFormat::Jpeg {
        image.write_to(&mut Cursor::new(&mut data), ImageFormat::Png)?;
        if data.len() <= LARGEST {
            return Ok(("image/png", data));
        }
        data.clear();
    }
    image.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut data, JPEG_QUALITY))?;
    Ok(("image/jpeg", data))
}
