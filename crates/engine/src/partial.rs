//! The text of a block that is still being written, kept in case the user stops the model in the middle of it.

use std::borrow::Cow;

use serde::Deserialize;

/// Text that arrived since the last finished block.
#[derive(Debug, Default)]
pub(crate) struct PartialText(String);

#[derive(Deserialize)]
struct DeltaEvent<'a> {
    #[serde(borrow)]
    delta: TextDelta<'a>,
}

#[derive(Deserialize)]
struct TextDelta<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

impl PartialText {
    /// Takes in a raw streaming event; all but text is passed over.
    pub(crate) fn feed(&mut self, json: &str) {
        if !json.contains("text_delta") {
            return;
        }
        if let Ok(event) = serde_json::from_str::<DeltaEvent<'_>>(json) {
            self.0.push_str(&event.delta.text);
        }
    }

    /// A block is finished, or void.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The text, if there is more than white space.
    pub(crate) fn take(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.0)).filter(|text| !text.trim().is_empty())
    }
}
