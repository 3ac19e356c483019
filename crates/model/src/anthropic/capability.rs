//! What the models endpoint says of a model, laid over what the catalogue knows.

use serde::Deserialize;
use serde_json::Value;

use crate::catalog::{Family, ModelInfo, ThinkingForm, ThinkingOff};
use crate::request::Effort;

#[derive(Deserialize)]
struct Listed {
    max_input_tokens: Option<u64>,
    max_tokens: Option<u32>,
    line: Option<String>,
    #[serde(default)]
    capabilities: Value,
}

/// Refines what is known. What the answer does not mention stays.
///
/// # Errors
/// When the answer is not a model.
pub(crate) fn refine(info: ModelInfo, answer: &[u8]) -> Result<ModelInfo, serde_json::Error> {
    let listed: Listed = serde_json::from_slice(answer)?;
    let mut info = ModelInfo { known: true, settled: true, ..info };
    if let Some(window) = listed.max_input_tokens {
        info.context_window = window;
    }
    if let Some(output) = listed.max_tokens {
        info.max_output = output;
    }
    if let Some(family) = listed.line.and_then(|line| serde_json::from_value::<Family>(line.into()).ok()) {
        info.family = family;
    }
    refine_thinking(&mut info, &listed.capabilities["thinking"]["types"]);
    refine_effort(&mut info, &listed.capabilities["effort"]);
    Ok(info)
}

fn refine_thinking(info: &mut ModelInfo, types: &Value) {
    for (form, key) in [(ThinkingForm::Adaptive, "adaptive"), (ThinkingForm::Budget, "enabled")] {
        if let Some(supported) = supported(&types[key]) {
            info.thinking_forms.retain(|known| *known != form);
            info.thinking_forms.extend(supported.then_some(form));
        }
    }
    info.thinking_off = match (supported(&types["disabled"]), supported(&types["between_tools"])) {
        (Some(true), _) if info.thinking_off == ThinkingOff::BelowXHigh => ThinkingOff::BelowXHigh,
        (Some(true), _) => ThinkingOff::Accepted,
        (Some(false), Some(true)) => ThinkingOff::BetweenTools,
        (Some(false), _) => ThinkingOff::Refused,
        (None, _) => info.thinking_off,
    };
}

fn refine_effort(info: &mut ModelInfo, effort: &Value) {
    if supported(effort) == Some(false) {
        info.efforts.clear();
        info.default_effort = None;
    }
    for level in [Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max] {
        if let Some(supported) = supported(&effort[level.as_str()]) {
            info.efforts.retain(|known| *known != level);
            info.efforts.extend(supported.then_some(level));
        }
    }
}

/// A capability is a truth value or an object that has one.
fn supported(capability: &Value) -> Option<bool> {
    capability.as_bool().or_else(|| capability["supported"].as_bool())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::Catalog;

    fn refined(id: &str, answer: &Value) -> ModelInfo {
        refine(Catalog::shipped().unwrap().info(id), answer.to_string().as_bytes()).unwrap()
    }

    // MODEL-03
    #[test]
    fn the_endpoint_wins_over_the_table() {
        let info = refined(
            "claude-haiku-5-5",
            &json!({
                "id": "claude-haiku-5-5", "max_input_tokens": 500_000, "max_tokens": 9_000,
                "capabilities": {
                    "thinking": {"supported": true, "types": {
                        "adaptive": {"supported": true}, "enabled": {"supported": false}, "disabled": {"supported": true}
                    }},
                    "effort": {"supported": true, "max": {"supported": false}, "low": {"supported": true}}
                }
            }),
        );
        assert_eq!((info.context_window, info.max_output), (500_000, 9_000));
        assert_eq!(info.thinking_off, ThinkingOff::Accepted);
        assert_eq!(info.thinking_forms, [ThinkingForm::Adaptive]);
        assert_eq!(info.effort(Effort::Max), Some(Effort::XHigh));
        assert!(info.price(0).is_some(), "prices are not in the answer and stay");
    }

    #[test]
    fn a_new_model_becomes_known() {
        let info =
            refined("claude-sonnet-9", &json!({"id": "claude-sonnet-9", "line": "sonnet", "max_tokens": 7}));
        assert!(info.known && info.prices.is_empty());
        assert_eq!((info.family, info.max_output), (Family::Sonnet, 7));
        assert!(refine(ModelInfo::default(), b"[]").is_err());
    }
}
