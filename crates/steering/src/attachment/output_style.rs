//! `output_style`: how the user wants answers to be.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const FULL: &str = include_str!("output_style.md");
const AGAIN: &str = include_str!("output_style_again.md");

/// The style in force.
#[derive(Clone, Debug, Serialize)]
pub struct OutputStyle {
    /// Its name.
    pub style: String,
    /// What it asks for; absent when that was told before.
    #[serde(skip)]
    pub guidelines: Option<String>,
}

impl Kind for OutputStyle {
    const NAME: &'static str = "output_style";

    fn render(&self) -> Rendered {
        let style = ("style", self.style.as_str());
        Rendered::reminder(&match &self.guidelines {
            Some(guidelines) => fill(FULL, &[style, ("guidelines", guidelines)]),
            None => fill(AGAIN, &[style]),
        })
    }
}
