//! What the context of a session is made of, for hosts.

use serde_json::{Value, json};
use tiller_engine::store;
use tiller_model::Catalog;
use tiller_protocol::ledger::{Ledger, Sent, tokens};

use super::control::Answered;
use super::tally::Tally;

/// What a context is measured by.
pub(crate) struct ContextTerms {
    pub(crate) catalog: Catalog,
    /// The model of a session that has not chosen another one.
    pub(crate) model: String,
    /// Whether a conversation is folded before it fills the window.
    pub(crate) folds: bool,
}

/// The answer to `get_context_usage`. The parts are estimates; the sum is what the provider has counted, if it has.
pub(super) fn usage(terms: &ContextTerms, tally: &Tally) -> Answered {
    let mut ledger = Ledger::default();
    if tally.log.exists() {
        let read = store::load(&tally.log, |entry| _ = ledger.apply(&entry));
        read.map_err(|error| error.to_string())?;
    }
    let model = tally.state.model.as_deref().unwrap_or(&terms.model);
    let window = terms.catalog.info(model).context_window;
    let parts = parts(ledger.sent());
    let estimated: u64 = parts.iter().map(|(_, _, tokens)| tokens).sum();
    let counted = tally.state.last_usage.map(|usage| usage.total());
    let total = counted.unwrap_or(estimated);
    let part =
        |(name, color, tokens): &(&str, &str, u64)| json!({"name": name, "tokens": tokens, "color": color});
    let mut categories: Vec<Value> = parts.iter().map(part).collect();
    categories
        .push(json!({"name": "Free space", "tokens": window.saturating_sub(total), "color": "inactive"}));
    let answer = json!({
        "categories": categories, "totalTokens": total, "maxTokens": window, "rawMaxTokens": window,
        "percentage": total * 100 / window.max(1), "model": model, "isAutoCompactEnabled": terms.folds,
        "memoryFiles": [], "mcpTools": [], "agents": [], "gridRows": [],
    });
    Ok((answer, Vec::new()))
}

fn parts(sent: &Sent) -> [(&'static str, &'static str, u64); 5] {
    [
        ("System prompt", "promptBorder", tokens(sent.system)),
        ("Tools", "inactive", tokens(sent.tools)),
        ("Instructions", "claude", tokens(sent.user_context)),
        ("Messages", "purple", tokens(sent.conversation.saturating_sub(sent.added))),
        ("Steering", "warning", tokens(sent.added)),
    ]
}
