//! `mcp_tools`: what has changed about servers since the conversation began.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("mcp_tools.md");
/// Names of one server that are told.
const NAMES: usize = 60;

/// What has changed about servers.
#[derive(Clone, Debug, Serialize)]
pub struct McpTools {
    /// By server.
    pub servers: Vec<ServerNews>,
}

/// What has changed about one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerNews {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub state: String,
    /// Tools that can be called now.
    pub added: Vec<String>,
    /// Tools that cannot be called any more.
    pub removed: Vec<String>,
    /// How it wants to be used, if that was not told yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
}

impl Kind for McpTools {
    const NAME: &'static str = "mcp_tools";

    fn render(&self) -> Rendered {
        let servers: Vec<String> = self.servers.iter().map(ServerNews::line).collect();
        Rendered::reminder(&fill(TEXT, &[("servers", &servers.join("\n"))]))
    }
}

impl ServerNews {
    fn line(&self) -> String {
        let names = |tools: &[String]| {
            let more = tools.len().saturating_sub(NAMES);
            let named = tools.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
            if more > 0 { format!("{named} and {more} more") } else { named }
        };
        let mut line = format!("- {} is {}", self.name, self.state);
        if !self.added.is_empty() {
            line.push_str(&format!("; can be called now: {}", names(&self.added)));
        }
        if !self.removed.is_empty() {
            line.push_str(&format!("; gone: {}", names(&self.removed)));
        }
        if let Some(words) = &self.instructions {
            let words: String = words.chars().take(1_000).collect();
            line.push_str(&format!("; it says of itself: {words}"));
        }
        line
    }
}
