//! `mcp_resource`: a resource of a connected server.

use serde::Serialize;
use tiller_protocol::block::RawBlock;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("mcp_resource.md");
const EMPTY: &str = include_str!("mcp_resource_empty.md");

/// A resource that the user mentioned.
#[derive(Clone, Debug, Serialize)]
pub struct McpResource {
    /// The server.
    pub server: String,
    /// The address at the server.
    pub uri: String,
    /// Its title.
    pub name: String,
    /// What it holds: text, and blocks that are sent as they are.
    pub content: Vec<RawBlock>,
}

impl Kind for McpResource {
    const NAME: &'static str = "mcp_resource";

    fn render(&self) -> Rendered {
        let names =
            [("server", self.server.as_str()), ("uri", self.uri.as_str()), ("name", self.name.as_str())];
        let (texts, others): (Vec<_>, Vec<_>) =
            self.content.iter().partition(|block| block.as_text().is_some());
        let texts: Vec<String> = texts.into_iter().filter_map(RawBlock::as_text).collect();
        let text = texts.join("\n");
        let said = if text.trim().is_empty() && others.is_empty() {
            fill(EMPTY, &names)
        } else {
            fill(TEXT, &[names[0], names[1], names[2], ("content", &text)])
        };
        others.into_iter().fold(Rendered::reminder(&said), |rendered, block| rendered.with(block))
    }
}
