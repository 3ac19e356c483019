//! The head of requests, as an entry.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ingredients::Ingredients;

/// The fixed head of requests: as long as it holds, the conversation only grows on the wire.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Epoch {
    /// Why a new epoch began.
    pub reason: String,
    /// Identifies what the head was made of, apart from facts that change by themselves such as the date.
    pub key: String,
    /// The `system` array.
    pub system: Arc<RawValue>,
    /// The `tools` array.
    pub tools: Arc<RawValue>,
    /// The hidden message in front of the conversation, if there is context to give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_context: Option<String>,
    /// Instruction files that stand in it as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<ToldFile>,
    /// What all that was made of; absent in logs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_of: Option<Arc<Ingredients>>,
}

/// A file whose text stands in another text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldFile {
    /// The absolute path, links resolved.
    pub path: PathBuf,
    /// The first byte of its text.
    pub from: usize,
    /// The byte behind its text.
    pub until: usize,
}
