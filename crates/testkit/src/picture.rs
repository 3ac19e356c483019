//! Pictures of what a program has drawn.

use std::collections::HashMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::{ImageFormat, RgbImage};

/// Red, green, blue.
pub type Color = [u8; 3];

/// A picture, pixel by pixel.
pub struct Picture(RgbImage);

impl Picture {
    /// A PNG file, as browsers hand it out.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn from_base64_png(text: &str) -> Self {
        let bytes = STANDARD.decode(text).expect("the picture is base64");
        let picture = image::load_from_memory_with_format(&bytes, ImageFormat::Png);
        Self(picture.expect("the picture is a PNG").into_rgb8())
    }

    /// Width and height.
    #[must_use]
    pub fn size(&self) -> (u32, u32) {
        self.0.dimensions()
    }

    /// How many pixels have each colour.
    #[must_use]
    pub fn colors(&self) -> HashMap<Color, usize> {
        let mut colors = HashMap::new();
        for pixel in self.0.pixels() {
            *colors.entry(pixel.0).or_default() += 1;
        }
        colors
    }

    /// The colours from top to bottom at some distance from the left edge.
    pub fn column(&self, x: u32) -> impl Iterator<Item = Color> {
        (0..self.0.height()).map(move |y| self.0.get_pixel(x, y).0)
    }
}
