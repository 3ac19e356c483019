//! `Recall`: finds what was folded away.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;

use crate::cx::{RecallRequest, Recalled, ToolCx, View};
use crate::lenient::Integer;
use crate::tool::{Description, Done, Tool, ToolError};

/// Searches what was folded away in this session.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recall;

/// What `Recall` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecallInput {
    /// Words to look for.
    #[serde(default)]
    query: Option<String>,
    /// The number of a passage to read as a whole, in place of a search.
    #[serde(default)]
    entry: Option<Integer>,
    /// The character of that passage to begin with.
    #[serde(default)]
    offset: Option<Integer>,
}

impl RecallInput {
    fn order(&self) -> Result<RecallRequest, String> {
        let number = |wanted: Option<Integer>| wanted.and_then(|Integer(number)| u64::try_from(number).ok());
        let query = self.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
        match (number(self.entry), query) {
            (Some(entry), _) => {
                let offset = usize::try_from(number(self.offset).unwrap_or_default()).unwrap_or(usize::MAX);
                Ok(RecallRequest::Entry { entry, offset })
            }
            (None, Some(query)) => Ok(RecallRequest::Search { query: query.to_owned() }),
            (None, None) => Err("Say what to look for: a query, or the entry of a passage.".to_owned()),
        }
    }
}

impl Tool for Recall {
    const NAME: &'static str = "Recall";
    type Input = RecallInput;

    fn describe(&self) -> Description {
        Description::new("Looks up what was folded away", include_str!("prompt.md"))
    }

    fn parallel(&self, _input: &RecallInput) -> bool {
        true
    }

    fn read_only(&self, _input: &RecallInput) -> bool {
        true
    }

    fn validate(&self, input: &RecallInput, _view: &View) -> Result<(), String> {
        input.order().map(drop)
    }

    fn access(&self, _input: &RecallInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: RecallInput, cx: ToolCx) -> Result<Done, ToolError> {
        let order = input.order().map_err(ToolError::Model)?;
        let recalled = tokio::select! {
            recalled = cx.host.recall(order) => recalled.map_err(ToolError::Model)?,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let entries: Vec<u64> = recalled.passages.iter().map(|passage| passage.entry).collect();
        Ok(Done::text(&told(&recalled))
            .with_detail(json!({"entries": entries, "leftOut": recalled.left_out})))
    }
}

fn told(recalled: &Recalled) -> String {
    if recalled.passages.is_empty() {
        return "No match in the compacted part of the session. Try other words.".to_owned();
    }
    let passage = |passage: &crate::cx::Passage| {
        format!("[entry {}, {}, {}]\n{}", passage.entry, passage.at, passage.whose, passage.text)
    };
    let mut texts: Vec<String> = recalled.passages.iter().map(passage).collect();
    if recalled.left_out > 0 {
        texts.push(format!("({} more passages; use more words to find them.)", recalled.left_out));
    }
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(value: serde_json::Value) -> RecallInput {
        serde_json::from_value(value).unwrap()
    }

    // RECALL-02
    #[test]
    fn a_search_needs_words_and_reading_a_number() {
        let search = input(json!({"query": " port "})).order();
        assert!(matches!(search, Ok(RecallRequest::Search { query }) if query == "port"));
        let entry = input(json!({"entry": "7", "offset": 100})).order();
        assert!(matches!(entry, Ok(RecallRequest::Entry { entry: 7, offset: 100 })));
        assert!(input(json!({"query": ""})).order().is_err() && input(json!({"entry": -1})).order().is_err());
    }

    #[test]
    fn its_prompt_stays_small() {
        assert!(Recall.describe().prompt.len().div_ceil(4) <= 190);
    }
}
