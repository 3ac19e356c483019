//! `WebSearch`: the provider searches, Tiller shows what was found.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tiller_policy::Access;

use crate::cx::{ToolCx, View, WebSearchRequest};
use crate::tool::{Description, Done, Tool, ToolError};

/// What permission is asked for: Tiller itself contacts nobody but the provider.
const PLACE: &str = "the provider's web search";

/// Searches the web.
#[derive(Clone, Copy, Debug, Default)]
pub struct WebSearch;

/// What `WebSearch` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebSearchInput {
    /// What to look for.
    query: String,
    /// Only results from these domains.
    #[serde(default)]
    allowed_domains: Vec<String>,
    /// No results from these domains.
    #[serde(default)]
    blocked_domains: Vec<String>,
}

impl Tool for WebSearch {
    const NAME: &'static str = "WebSearch";
    type Input = WebSearchInput;

    fn describe(&self) -> Description {
        Description::new("Searches the web", include_str!("prompt.md"))
    }

    fn parallel(&self, _input: &WebSearchInput) -> bool {
        true
    }

    fn read_only(&self, _input: &WebSearchInput) -> bool {
        true
    }

    fn validate(&self, input: &WebSearchInput, _view: &View) -> Result<(), String> {
        if input.query.trim().is_empty() {
            return Err("The query is empty. Say what to look for.".to_owned());
        }
        if !input.allowed_domains.is_empty() && !input.blocked_domains.is_empty() {
            return Err(
                "allowed_domains and blocked_domains exclude each other. Give one of them.".to_owned()
            );
        }
        Ok(())
    }

    fn access(&self, _input: &WebSearchInput, _view: &View) -> Vec<Access> {
        vec![Access::Net(PLACE.to_owned())]
    }

    async fn run(&self, input: WebSearchInput, cx: ToolCx) -> Result<Done, ToolError> {
        cx.permit.connect(PLACE)?;
        let WebSearchInput { query, allowed_domains, blocked_domains } = input;
        let search = WebSearchRequest { query: query.clone(), allowed_domains, blocked_domains };
        let found = tokio::select! {
            found = cx.host.web_search(search) => found.map_err(ToolError::Model)?,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        Ok(Done::text(&listed(&query, &found)).with_detail(found))
    }
}

/// The hits as a numbered list, then what the provider had to say.
fn listed(query: &str, found: &Value) -> String {
    let hits = found["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let headline = if hits.is_empty() {
        format!("Nothing was found for \"{query}\".")
    } else {
        format!("Found for \"{query}\":")
    };
    let mut lines = vec![headline];
    lines.extend(hits.iter().enumerate().map(|(at, hit)| entry(at + 1, hit)));
    for code in found["errors"].as_array().into_iter().flatten() {
        lines.push(format!("A search failed: {}", code.as_str().unwrap_or("unknown error")));
    }
    if let Some(summary) = found["summary"].as_str().filter(|summary| !summary.is_empty()) {
        lines.push(format!("\nSummary: {summary}"));
    }
    lines.join("\n")
}

fn entry(number: usize, hit: &Value) -> String {
    let field = |name: &str| hit[name].as_str().filter(|text| !text.is_empty());
    let mut entry = format!("{number}. {}", field("title").unwrap_or("(no title)"));
    entry.extend(field("url").map(|url| format!("\n   {url}")));
    entry.extend(field("pageAge").map(|age| format!(" ({age})")));
    entry.extend(field("snippet").map(|snippet| format!("\n   {snippet}")));
    entry
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hits_are_listed_with_all_that_is_known() {
        let found = json!({
            "results": [
                {"title": "One", "url": "https://a.example/1", "pageAge": "2 days ago", "snippet": "first"},
                {"title": null, "url": "https://b.example/2", "pageAge": null},
            ],
            "errors": ["max_uses_exceeded"],
            "summary": "Both say so.",
        });
        insta::assert_snapshot!(listed("q", &found), @r#"
        Found for "q":
        1. One
           https://a.example/1 (2 days ago)
           first
        2. (no title)
           https://b.example/2
        A search failed: max_uses_exceeded

        Summary: Both say so.
        "#);
        assert_eq!(listed("q", &json!({})), "Nothing was found for \"q\".");
    }
}
