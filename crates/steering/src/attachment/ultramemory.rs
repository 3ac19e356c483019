//! `ultramemory`: a text the user wants repeated.

use serde::Serialize;

use super::text::Filled;
use super::{Kind, Rendered};

/// The text of the file that the user has set.
#[derive(Clone, Debug, Serialize)]
pub struct Ultramemory {
    /// Word for word.
    pub content: String,
}

impl Kind for Ultramemory {
    const NAME: &'static str = "ultramemory";

    fn render(&self) -> Rendered {
        Rendered::reminder(&Filled::outside(&self.content))
    }
}
