//! `critical_system_reminder`: a text that must not be forgotten.

use serde::Serialize;

use super::text::Filled;
use super::{Kind, Rendered};

/// The text of an agent's definition, or of whoever started the session.
#[derive(Clone, Debug, Serialize)]
pub struct CriticalSystemReminder {
    /// Word for word.
    pub content: String,
}

impl Kind for CriticalSystemReminder {
    const NAME: &'static str = "critical_system_reminder";

    fn render(&self) -> Rendered {
        Rendered::reminder(&Filled::outside(&self.content))
    }
}
