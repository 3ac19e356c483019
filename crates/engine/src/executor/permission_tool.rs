//! A tool of an MCP server that answers questions about permission where nobody else can.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tiller_policy::Reason;
use tiller_protocol::ask::Then;
use tiller_tools::PreparedCall;
use tokio_util::sync::CancellationToken;

use super::call::Verdict;
use super::permission::{Open, Permission, Permitted};

/// Characters of a refusal that the model is told.
const LONGEST_MESSAGE: usize = 10_000;

/// What it says, as JSON in the text of its result.
#[derive(Debug, Deserialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
enum Said {
    Allow {
        /// What the call shall run with instead.
        #[serde(default, rename = "updatedInput")]
        updated_input: Option<Value>,
    },
    Deny {
        #[serde(default)]
        message: String,
        /// Whether the turn ends with it.
        #[serde(default)]
        interrupt: bool,
    },
}

impl Permission<'_> {
    /// Asks the tool. It decides as the user would: what forbids the call still holds. One that fails has allowed
    /// nothing.
    pub(super) async fn ask_tool(
        &self,
        prepared: Box<dyn PreparedCall>,
        open: Open,
        cancel: &CancellationToken,
    ) -> Result<Permitted, Verdict> {
        self.services.asked.note(&open.request);
        let said = self.answer_of_tool(cancel).await;
        if cancel.is_cancelled() {
            return Err(Verdict::Cancelled);
        }
        match said {
            Ok(Said::Allow { updated_input }) => {
                self.allowed_by(Reason::User, prepared, updated_input, &open, cancel).await
            }
            Ok(Said::Deny { message, interrupt }) => {
                let message: String = message.trim().chars().take(LONGEST_MESSAGE).collect();
                let message = self.services.secrets.mask(&message).into_owned();
                let feedback = Some(message).filter(|message| !message.is_empty());
                Err(self.refused(feedback, if interrupt { Then::EndTurn } else { Then::GoOn }))
            }
            Err(why) => Err(self.undecided(&open, &why)),
        }
    }

    async fn answer_of_tool(&self, cancel: &CancellationToken) -> Result<Said, String> {
        let tool = self.services.permission_tool.as_deref().unwrap_or_default();
        let Some(servers) = &self.services.mcp else {
            return Err(format!("{tool} cannot be asked: there is no MCP server"));
        };
        let question = Map::from_iter([
            ("tool_name".to_owned(), json!(self.call.name)),
            ("input".to_owned(), self.call.input.clone()),
            ("tool_use_id".to_owned(), json!(self.call.id)),
        ]);
        let answered = tokio::select! {
            () = cancel.cancelled() => return Err("the call was stopped".to_owned()),
            answered = servers.call(tool, question, cancel) => answered,
        };
        let text =
            answered.map_err(|why| format!("{tool} could not be asked: {}", why.trim_end_matches('.')))?;
        serde_json::from_str(text.trim()).map_err(|error| {
            format!("the answer of {tool} is not {{\"behavior\": \"allow\"}} or {{\"behavior\": \"deny\"}}: {error}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_allows() {
        let said = |text: &str| serde_json::from_str::<Said>(text);
        assert!(matches!(said(r#"{"behavior": "allow"}"#), Ok(Said::Allow { updated_input: None })));
        let changed = said(r#"{"behavior": "allow", "updatedInput": {"a": 1}, "more": 2}"#);
        assert!(matches!(changed, Ok(Said::Allow { updated_input: Some(_) })));
        let refused = said(r#"{"behavior": "deny", "message": "no"}"#);
        assert!(matches!(refused, Ok(Said::Deny { message, interrupt: false }) if message == "no"));
        for nonsense in ["", "yes", "true", "{}", r#"{"behavior": "ask"}"#, r#"{"behavior": true}"#, "[]"] {
            assert!(said(nonsense).is_err(), "{nonsense}");
        }
    }
}
