//! Where models are hosted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where models are hosted: it decides which ids the short names mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ModelProvider {
    /// By their maker.
    #[default]
    FirstParty,
    /// In Microsoft Foundry.
    Foundry,
    /// In Amazon Bedrock.
    Bedrock,
    /// In Google Vertex.
    Vertex,
}
