//! What is known of each model: limits, prices, and the forms of thinking and effort it accepts.
//!
//! The shipped table is data (`data/models.json`); a text in the same format overrides or adds rows.

use serde::Deserialize;
use serde_json::{Map, Value};
use tiller_protocol::usage::Usage;

use crate::name;
use crate::request::Effort;

/// The output limit of an agent's request when it names none, if the model allows as much.
const AGENT_OUTPUT: u32 = 32_000;
const SHIPPED: &str = include_str!("../data/models.json");

/// A line of models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Small and fast.
    Haiku,
    /// The middle.
    Sonnet,
    /// Strong.
    Opus,
    /// Stronger.
    Fable,
    /// For verified organisations.
    Mythos,
    /// None of these.
    #[default]
    Other,
}

/// A way to ask for thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingForm {
    /// The model decides how much.
    Adaptive,
    /// The request names a number of tokens.
    Budget,
}

/// What a model makes of a request not to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingOff {
    /// It does not think.
    #[default]
    Accepted,
    /// It does not think, unless the effort is `xhigh` or `max`: then the request is refused.
    BelowXHigh,
    /// It can only be told to think no more than a note between tool calls.
    BetweenTools,
    /// The request is refused.
    Refused,
}

/// Whether thinking is shown when the request does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Display {
    /// As a summary.
    #[default]
    Summarized,
    /// Not at all: thinking blocks come back empty.
    Omitted,
}

/// Prices in US dollars per million tokens, for prompts from a certain size on.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Holds for requests with more input than this, all tokens included.
    #[serde(default)]
    pub over_prompt_tokens: u64,
    /// Uncached input.
    pub input: f64,
    /// Writing to the cache for five minutes.
    pub write5m: f64,
    /// Writing to the cache for an hour.
    pub write1h: f64,
    /// Reading from the cache.
    pub read: f64,
    /// Output.
    pub output: f64,
}

/// What is known of one model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ModelInfo {
    /// The id to send.
    #[serde(skip)]
    pub id: String,
    /// Other ids of the same model.
    pub aliases: Vec<String>,
    /// Its line.
    pub family: Family,
    /// Tokens of input and output that fit together.
    pub context_window: u64,
    /// The largest `max_tokens`.
    pub max_output: u32,
    /// Prices by size of the prompt, smallest first; empty when unknown.
    pub prices: Vec<Price>,
    /// Whether it thinks when the request says nothing.
    pub thinking_by_default: bool,
    /// The forms in which it may be asked to think.
    pub thinking_forms: Vec<ThinkingForm>,
    /// How it takes being asked not to think.
    pub thinking_off: ThinkingOff,
    /// Whether it shows its thinking by itself.
    pub display: Display,
    /// The effort levels it accepts; none if it has no such setting.
    pub efforts: Vec<Effort>,
    /// The effort it spends when not told.
    pub default_effort: Option<Effort>,
    /// Whether its thinking blocks are valid only after exactly the prefix they were made under.
    pub prefix_bound: bool,
    /// The shortest prefix that is cached, in tokens, where known.
    pub cache_minimum: Option<u32>,
    /// Whether it takes `system` messages in the middle of a conversation.
    pub mid_conversation_system: bool,
    /// Whether the catalogue has a row for it; otherwise all of this is a careful guess.
    #[serde(skip)]
    pub known: bool,
    /// Whether nothing better is to be learnt: the provider has reported it, or the user has said what to believe.
    #[serde(skip)]
    pub settled: bool,
}

/// A guess for a model that no row describes: small limits, no optional features, history left alone.
impl Default for ModelInfo {
    fn default() -> Self {
        Self {
            id: String::new(),
            aliases: Vec::new(),
            family: Family::Other,
            context_window: 200_000,
            max_output: AGENT_OUTPUT,
            prices: Vec::new(),
            thinking_by_default: false,
            thinking_forms: Vec::new(),
            thinking_off: ThinkingOff::Accepted,
            display: Display::Summarized,
            efforts: Vec::new(),
            default_effort: None,
            prefix_bound: true,
            cache_minimum: None,
            mid_conversation_system: false,
            known: false,
            settled: false,
        }
    }
}

impl ModelInfo {
    /// The output limit for an agent's request that names none.
    #[must_use]
    pub fn agent_output(&self) -> u32 {
        AGENT_OUTPUT.min(self.max_output)
    }

    /// Whether the model can be asked to think in this form.
    #[must_use]
    pub fn accepts(&self, form: ThinkingForm) -> bool {
        self.thinking_forms.contains(&form)
    }

    /// Whether the provider can be told to leave out thinking that no longer fits.
    #[must_use]
    pub fn drops_thinking(&self) -> bool {
        self.prefix_bound && self.thinking_by_default
    }

    /// The strongest effort the model accepts that is not above the wished one.
    #[must_use]
    pub fn effort(&self, wish: Effort) -> Option<Effort> {
        self.efforts.iter().copied().filter(|level| *level <= wish).max()
    }

    /// The prices for a prompt of that many tokens; `None` means unknown, which is not free.
    #[must_use]
    pub fn price(&self, prompt_tokens: u64) -> Option<&Price> {
        self.prices
            .iter()
            .rfind(|tier| prompt_tokens > tier.over_prompt_tokens || tier.over_prompt_tokens == 0)
    }

    fn is_called(&self, id: &str) -> bool {
        self.id == id || self.aliases.iter().any(|alias| alias == id)
    }
}

/// What a response cost in US dollars; `None` when the price is not known. Fees of the provider's own tools,
/// such as searches, come on top.
#[must_use]
pub fn cost(model: &ModelInfo, usage: &Usage) -> Option<f64> {
    let price = model.price(usage.total_input())?;
    let hour = usage.cache_creation.ephemeral_1h_input_tokens.min(usage.cache_creation_input_tokens);
    let minutes = usage.cache_creation_input_tokens - hour;
    let parts = [
        (usage.input_tokens, price.input),
        (minutes, price.write5m),
        (hour, price.write1h),
        (usage.cache_read_input_tokens, price.read),
        (usage.output_tokens, price.output),
    ];
    Some(parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6)
}

/// The table is not what it should be.
#[derive(Debug, thiserror::Error)]
#[error("the model table is not valid: {0}; expected {{\"models\": [{{\"id\": …, \"contextWindow\": …}}]}}")]
pub struct CatalogError(#[from] serde_json::Error);

#[derive(Deserialize)]
struct Table {
    models: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    #[serde(skip)]
    settled: bool,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl Row {
    fn is_called(&self, id: &str) -> bool {
        let aliases = self.fields.get("aliases").and_then(Value::as_array);
        self.id == id || aliases.is_some_and(|aliases| aliases.iter().any(|alias| alias == id))
    }
}

/// All models that are known.
#[derive(Clone, Debug)]
pub struct Catalog {
    models: Vec<ModelInfo>,
}

impl Catalog {
    /// The shipped table.
    ///
    /// # Errors
    /// Never, as long as the tests pass.
    pub fn shipped() -> Result<Self, CatalogError> {
        Self::with_overrides(r#"{"models":[]}"#)
    }

    /// The shipped table, changed and extended by a text in the same format. A row needs only the fields that
    /// differ from the shipped row of that id.
    ///
    /// # Errors
    /// When the text is not a table.
    pub fn with_overrides(json: &str) -> Result<Self, CatalogError> {
        let mut rows = serde_json::from_str::<Table>(SHIPPED)?.models;
        for change in serde_json::from_str::<Table>(json)?.models {
            match rows.iter_mut().find(|row| row.is_called(&change.id)) {
                Some(row) => {
                    row.fields.extend(change.fields);
                    row.settled = true;
                }
                None => rows.push(Row { settled: true, ..change }),
            }
        }
        let models = rows.into_iter().map(|row| {
            let info: ModelInfo = serde_json::from_value(Value::Object(row.fields))?;
            Ok(ModelInfo { id: row.id, known: true, settled: row.settled, ..info })
        });
        Ok(Self { models: models.collect::<Result<_, CatalogError>>()? })
    }

    /// What is known of a model. The id may carry `[1m]` or the spelling of a cloud provider.
    #[must_use]
    pub fn info(&self, id: &str) -> ModelInfo {
        let wire_id = name::wire_id(id);
        let key = wire_id.to_lowercase();
        let found = self.find(&key).or_else(|| self.find(name::plain_id(&key)));
        match found {
            Some(info) => ModelInfo { id: wire_id, ..info.clone() },
            None => ModelInfo { family: name::family(&key), id: wire_id, ..ModelInfo::default() },
        }
    }

    /// Every model with a row, newest first within the shipped ones.
    #[must_use]
    pub fn models(&self) -> &[ModelInfo] {
        &self.models
    }

    /// Replaces what is known of one model.
    pub fn learn(&mut self, info: ModelInfo) {
        match self.models.iter_mut().find(|row| row.is_called(&info.id)) {
            Some(row) => *row = ModelInfo { id: row.id.clone(), aliases: row.aliases.clone(), ..info },
            None => self.models.push(info),
        }
    }

    fn find(&self, id: &str) -> Option<&ModelInfo> {
        self.models.iter().find(|row| row.is_called(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiller_protocol::usage::CacheCreation;

    fn shipped() -> Catalog {
        Catalog::shipped().unwrap()
    }

    #[test]
    fn every_row_is_complete() {
        for model in shipped().models() {
            assert!(!model.prices.is_empty() && model.known, "{}", model.id);
            assert_ne!(model.family, Family::Other, "{}", model.id);
            assert!(model.max_output >= 64_000 && model.context_window >= 200_000, "{}", model.id);
            assert!(!model.thinking_forms.is_empty(), "{}", model.id);
            assert_eq!(model.efforts.is_empty(), model.default_effort.is_none(), "{}", model.id);
            assert!(model.prices.is_sorted_by_key(|tier| tier.over_prompt_tokens), "{}", model.id);
        }
    }

    #[test]
    fn spellings_of_one_model_find_its_row() {
        for id in [
            "claude-haiku-4-5-20251001",
            "claude-haiku-4-5",
            "claude-haiku-4-5@20251001",
            "us.anthropic.claude-haiku-4-5-20251001-v1:0",
            "Claude-Haiku-4-5[1m]",
        ] {
            let info = shipped().info(id);
            assert!(info.known, "{id}");
            assert_eq!(info.context_window, 200_000, "{id}");
        }
        assert!(shipped().info("global.anthropic.claude-opus-5-5").known);
    }

    // MODEL-07
    #[test]
    fn the_window_is_the_models_own() {
        assert_eq!(shipped().info("claude-sonnet-5-5[1m]").context_window, 1_000_000);
        assert_eq!(shipped().info("claude-sonnet-5-5[1m]").id, "claude-sonnet-5-5");
        assert_eq!(shipped().info("claude-haiku-4-5[1m]").context_window, 200_000);
    }

    // BUDG-03
    #[test]
    fn an_unknown_price_is_not_zero() {
        let info = shipped().info("house-model-7");
        assert!(!info.known);
        assert_eq!(cost(&info, &Usage { input_tokens: 1_000, ..Usage::default() }), None);
        assert_eq!(shipped().info("claude-opus-9").family, Family::Opus);
    }

    // BUDG-03, MODEL-03
    #[test]
    fn rows_are_overridden_field_by_field_and_added() {
        let catalog = Catalog::with_overrides(
            r#"{"models":[
                {"id":"claude-opus-5-5","contextWindow":300000},
                {"id":"house-model-7","prices":[{"input":1,"write5m":1,"write1h":1,"read":0,"output":2}]}
            ]}"#,
        )
        .unwrap();
        let opus = catalog.info("claude-opus-5-5");
        assert_eq!((opus.context_window, opus.max_output), (300_000, 128_000));
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 1_000_000, ..Usage::default() };
        assert_eq!(cost(&catalog.info("house-model-7"), &usage), Some(3.0));
    }

    #[test]
    fn a_table_with_mistakes_is_refused() {
        for (table, complaint) in [
            ("[]", "contextWindow"),
            (r#"{"models":[{"contextWindow":1}]}"#, "missing field `id`"),
            (r#"{"models":[{"id":"x","contextWindw":1}]}"#, "contextWindw"),
        ] {
            let error = Catalog::with_overrides(table).unwrap_err().to_string();
            assert!(error.contains(complaint), "{error}");
        }
    }

    #[test]
    fn cost_follows_the_kinds_of_tokens() {
        let usage = Usage {
            input_tokens: 1_000_000,
            cache_creation_input_tokens: 3_000_000,
            cache_read_input_tokens: 10_000_000,
            output_tokens: 500_000,
            cache_creation: CacheCreation {
                ephemeral_5m_input_tokens: 2_000_000,
                ephemeral_1h_input_tokens: 1_000_000,
            },
            ..Usage::default()
        };
        let total = cost(&shipped().info("claude-opus-5-5"), &usage).unwrap();
        assert!((total - (4.0 + 10.0 + 8.0 + 2.0 + 10.0)).abs() < 1e-9, "{total}");
    }

    #[test]
    fn large_prompts_may_cost_more_for_every_token() {
        let haiku = shipped().info("claude-haiku-5-5");
        assert_eq!(haiku.price(0).unwrap().input, 0.10);
        assert_eq!(haiku.price(100_000).unwrap().input, 0.10);
        assert_eq!(haiku.price(100_001).unwrap().input, 0.50);
    }

    #[test]
    fn effort_is_lowered_to_what_the_model_has() {
        assert_eq!(shipped().info("claude-opus-4-6").effort(Effort::XHigh), Some(Effort::High));
        assert_eq!(shipped().info("claude-opus-5-5").effort(Effort::Max), Some(Effort::Max));
        assert_eq!(shipped().info("claude-haiku-4-5").effort(Effort::High), None);
    }

    #[test]
    fn what_was_learned_wins() {
        let mut catalog = shipped();
        let mut info = catalog.info("claude-haiku-4-5");
        info.max_output = 1;
        catalog.learn(info);
        assert_eq!(catalog.info("claude-haiku-4-5-20251001").max_output, 1);
    }
}
