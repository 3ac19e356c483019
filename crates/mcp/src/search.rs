//! Finds tools of servers, so that large sets need not be told to the model at once.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;
use tiller_protocol::mcp::McpState;
use tiller_tools::{Description, Done, Integer, Tool, ToolCx, ToolError, View};

use crate::offer::ToolOffer;
use crate::servers::{PolicyNow, Seen, Servers};

/// The tool that finds others.
pub const SEARCH_TOOL: &str = "SearchMcpTools";
/// Tools that are shown unless the model wants fewer or more.
const USUAL: usize = 5;
/// Tools that are shown at most.
const MOST: usize = 20;
/// Names that are listed without a query.
const NAMES: usize = 200;

/// Finds tools of servers by what they are called and what they do.
pub struct SearchMcpTools {
    /// Whose tools.
    pub servers: Arc<Servers>,
    /// What of them is not shown.
    pub policy: PolicyNow,
}

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    /// Words that describe what is needed, or whole names of tools; empty to list what there is
    pub query: String,
    /// Only tools of this server
    #[serde(default)]
    pub server: Option<String>,
    /// How many tools to show with their input, 5 if not given, 20 at most
    #[serde(default)]
    pub limit: Option<Integer>,
}

impl Tool for SearchMcpTools {
    const NAME: &'static str = SEARCH_TOOL;
    const RESULT_LIMIT: usize = 40_000;
    type Input = SearchInput;

    fn describe(&self) -> Description {
        Description::new("Find tools of MCP servers", include_str!("search.md"))
    }

    fn parallel(&self, _: &Self::Input) -> bool {
        true
    }

    fn read_only(&self, _: &Self::Input) -> bool {
        true
    }

    fn access(&self, _: &Self::Input, _: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: Self::Input, _: ToolCx) -> Result<Done, ToolError> {
        let seen = self.servers.seen_under(&(self.policy)().rules);
        let tools = tools(&seen, input.server.as_deref());
        if input.query.trim().is_empty() {
            return Ok(Done::text(&listed(&seen, &tools)));
        }
        let limit =
            input.limit.map_or(USUAL, |limit| usize::try_from(limit.0).unwrap_or(MOST)).clamp(1, MOST);
        let found = ranked(&tools, &input.query);
        if found.is_empty() {
            let text = format!("No tool fits \"{}\". {}", input.query.trim(), listed(&seen, &tools));
            return Ok(Done::text(&text));
        }
        let shown: Vec<String> = found.iter().take(limit).map(|tool| described(tool)).collect();
        let more = found.len().saturating_sub(limit);
        let more = if more > 0 { format!("\n\n{more} more fit less well.") } else { String::new() };
        let names: Vec<&str> = found.iter().take(limit).map(|tool| tool.name.as_str()).collect();
        Ok(Done::text(&format!("{}{more}", shown.join("\n\n"))).with_detail(json!({"tools": names})))
    }
}

fn tools<'a>(seen: &'a [Seen], server: Option<&str>) -> Vec<&'a ToolOffer> {
    let seen = seen.iter().filter(|seen| server.is_none_or(|server| server == seen.name));
    seen.flat_map(|seen| &seen.offer.tools).collect()
}

/// The names that there are, and the servers that have none to offer.
fn listed(seen: &[Seen], tools: &[&ToolOffer]) -> String {
    let names: Vec<&str> = tools.iter().take(NAMES).map(|tool| tool.name.as_str()).collect();
    let more = tools.len().saturating_sub(NAMES);
    let more = if more > 0 { format!("\n... and {more} more; search for them.") } else { String::new() };
    let absent = seen.iter().filter(|seen| seen.state != McpState::Ready);
    let absent: Vec<String> = absent
        .map(|seen| format!("\nThe server {} is not ready: {}.", seen.name, seen.state.describe()))
        .collect();
    match names.is_empty() {
        true => format!("There are no tools of MCP servers now.{}", absent.concat()),
        false => format!("The tools are:\n{}{more}{}", names.join("\n"), absent.concat()),
    }
}

fn described(tool: &ToolOffer) -> String {
    format!("{}\n{}\nInput: {}", tool.name, tool.description.trim(), tool.schema)
}

/// The tools that fit, best first.
fn ranked<'a>(tools: &[&'a ToolOffer], query: &str) -> Vec<&'a ToolOffer> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let scored = tools.iter().map(|tool| (score(tool, &words), *tool));
    let mut fitting: Vec<(usize, &'a ToolOffer)> = scored.filter(|(score, _)| *score > 0).collect();
    fitting
        .sort_by(|(one, first), (other, second)| other.cmp(one).then_with(|| first.name.cmp(&second.name)));
    fitting.into_iter().map(|(_, tool)| tool).collect()
}

/// How well a tool fits: a name counts more than a description, a whole word more than a part of one.
fn score(tool: &ToolOffer, words: &[&str]) -> usize {
    let (name, description) = (tool.name.to_lowercase(), tool.description.to_lowercase());
    let has_word = |text: &str, word: &str| text.split(|c: char| !c.is_alphanumeric()).any(|one| one == word);
    let one = |word: &&str| match *word {
        word if name == word => 100,
        word if has_word(&name, word) => 8,
        word if name.contains(word) => 5,
        word if has_word(&description, word) => 3,
        word if description.contains(word) => 1,
        _ => 0,
    };
    words.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> ToolOffer {
        ToolOffer {
            name: name.to_owned(),
            original: name.to_owned(),
            description: description.to_owned(),
            schema: json!({"type": "object"}),
            read_only: false,
            destructive: false,
        }
    }

    #[test]
    fn the_best_come_first() {
        let tools = [
            tool("mcp__mail__send", "Sends an electronic letter"),
            tool("mcp__post__send_parcel", "Sends a parcel"),
            tool("mcp__db__query", "Asks the database; can send results by mail"),
        ];
        let tools: Vec<&ToolOffer> = tools.iter().collect();
        let found =
            |query: &str| ranked(&tools, query).iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>();
        assert_eq!(found("send mail")[0], "mcp__mail__send");
        assert_eq!(found("parcel"), ["mcp__post__send_parcel"]);
        assert_eq!(found("mcp__db__query")[0], "mcp__db__query");
        assert!(found("weather").is_empty());
    }
}
