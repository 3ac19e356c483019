//! Signatures of thinking blocks: who made the block, its text, and the conversation before it.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::digest::{Chain, Digest};

/// The same for all servers, so that a conversation recorded with one can go on with another.
const KEY: &Digest = b"scripted model server signatures";

/// What a signature says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) model: String,
    /// Nothing was shown, so the text does not count.
    pub(crate) omitted: bool,
    text: Digest,
    prefix: Digest,
}

impl Seal {
    pub(crate) fn new(model: &str, text: &str, omitted: bool, prefix: &Chain) -> Self {
        let text = *blake3::hash(text.as_bytes()).as_bytes();
        Self { model: model.to_owned(), omitted, text, prefix: prefix.value() }
    }

    pub(crate) fn covers_text(&self, text: &str) -> bool {
        self.omitted || self.text == *blake3::hash(text.as_bytes()).as_bytes()
    }

    pub(crate) fn covers_prefix(&self, prefix: &Chain) -> bool {
        self.prefix == prefix.value()
    }

    pub(crate) fn encode(&self) -> String {
        let mut bytes = self.payload();
        bytes.extend_from_slice(blake3::keyed_hash(KEY, &bytes).as_bytes());
        STANDARD.encode(bytes)
    }

    /// None when this server family did not make it.
    pub(crate) fn decode(encoded: &str) -> Option<Self> {
        let bytes = STANDARD.decode(encoded).ok()?;
        let (payload, mac) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
        if blake3::keyed_hash(KEY, payload).as_bytes() != mac {
            return None;
        }
        let (omitted, rest) = payload.split_first()?;
        let (text, rest) = rest.split_first_chunk::<32>()?;
        let (prefix, model) = rest.split_first_chunk::<32>()?;
        let model = String::from_utf8(model.to_vec()).ok()?;
        Some(Self { model, omitted: *omitted == 1, text: *text, prefix: *prefix })
    }

    fn payload(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.omitted)];
        bytes.extend_from_slice(&self.text);
        bytes.extend_from_slice(&self.prefix);
        bytes.extend_from_slice(self.model.as_bytes());
        bytes
    }
}
