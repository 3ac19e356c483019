//! Which model a name means, and which model a step or a sub-agent uses.

use std::collections::BTreeMap;

use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;
use tiller_protocol::usage::Usage;

use crate::catalog::Family;

/// Where the models are hosted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// The maker's own API.
    #[default]
    FirstParty,
    /// Microsoft Foundry.
    Foundry,
    /// Amazon Bedrock.
    Bedrock,
    /// Google Vertex.
    Vertex,
}

/// The setting that plans with Opus and works with Sonnet.
const OPUSPLAN: &str = "opusplan";
/// The name of no model in particular.
const DEFAULT: &str = "default";
const LONG_CONTEXT: &str = "[1m]";
/// Above this many tokens plan mode does not switch to the strong model.
const PLAN_SWITCH_LIMIT: u64 = 200_000;

/// The ids behind the short names, settled once at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The default Haiku.
    pub haiku: String,
    /// The default Sonnet.
    pub sonnet: String,
    /// The default Opus.
    pub opus: String,
    /// The default Fable.
    pub fable: String,
    /// The model for hooks, classification, digests and other background work.
    pub small_fast: String,
    /// What all sub-agents use, if the user said so.
    pub subagent: Option<String>,
}

impl Names {
    /// Shipped defaults for a provider, with the overrides of the environment.
    #[must_use]
    pub fn new(provider: Provider, env: &Env) -> Self {
        Self::from_vars(provider, &env.vars)
    }

    fn from_vars(provider: Provider, vars: &BTreeMap<String, String>) -> Self {
        let var = |name: &str| vars.get(name).filter(|value| !value.is_empty()).cloned();
        let default = |name: &str, shipped: &str| var(name).unwrap_or_else(|| shipped.to_owned());
        let haiku = match provider {
            Provider::FirstParty | Provider::Foundry => "claude-haiku-5-5",
            Provider::Bedrock | Provider::Vertex => "claude-haiku-4-5-20251001",
        };
        let opus = match provider {
            Provider::FirstParty => "claude-opus-5-5",
            Provider::Foundry | Provider::Bedrock | Provider::Vertex => "claude-opus-5",
        };
        let haiku = default("ANTHROPIC_DEFAULT_HAIKU_MODEL", haiku);
        Self {
            small_fast: var("ANTHROPIC_SMALL_FAST_MODEL").unwrap_or_else(|| haiku.clone()),
            haiku,
            sonnet: default("ANTHROPIC_DEFAULT_SONNET_MODEL", "claude-sonnet-5-5"),
            opus: default("ANTHROPIC_DEFAULT_OPUS_MODEL", opus),
            fable: default("ANTHROPIC_DEFAULT_FABLE_MODEL", "claude-fable-5-2"),
            subagent: var("TILLER_SUBAGENT_MODEL").or_else(|| var("CLAUDE_CODE_SUBAGENT_MODEL")),
        }
    }

    /// The id that a setting means: an alias or a full id, in any case. `[1m]` stays where it has a meaning.
    #[must_use]
    pub fn resolve(&self, setting: &str) -> String {
        let normal = normalise(setting);
        let (alias, suffix) = match normal.strip_suffix(LONG_CONTEXT) {
            Some(alias) => (alias.trim_end(), LONG_CONTEXT),
            None => (normal.as_str(), ""),
        };
        match alias {
            // Whoever names none, or the usual one, has chosen nothing.
            "" | DEFAULT => format!("{}{suffix}", self.sonnet),
            "sonnet" | OPUSPLAN => format!("{}{suffix}", self.sonnet),
            "haiku" => format!("{}{suffix}", self.haiku),
            "opus" => self.opus.clone(),
            "fable" => self.fable.clone(),
            _ => normal,
        }
    }

    /// The main model for a setting; without one, Sonnet.
    #[must_use]
    pub fn main_model(&self, setting: Option<&str>) -> String {
        self.resolve(setting.unwrap_or("sonnet"))
    }

    /// The model for one step.
    #[must_use]
    pub fn for_step(&self, step: StepChoice<'_>) -> String {
        let planning = step.mode == Mode::Plan;
        match step.setting.map(normalise).as_deref() {
            Some(OPUSPLAN) if planning && !step.exceeds_200k => self.opus.clone(),
            Some("haiku") if planning => self.sonnet.clone(),
            _ => step.main_model.to_owned(),
        }
    }

    /// The model for a sub-agent. `call` is what the call asks for, `definition` what the agent's definition says.
    #[must_use]
    pub fn for_subagent(
        &self,
        call: Option<&str>,
        definition: Option<&str>,
        parent: StepChoice<'_>,
    ) -> String {
        match (self.subagent.as_deref(), call, definition) {
            (Some(name), _, _) | (None, Some(name), _) => self.resolve(name),
            (None, None, None) => self.resolve("sonnet"),
            (None, None, Some(name)) if normalise(name) == "inherit" => {
                self.for_step(StepChoice { exceeds_200k: false, ..parent })
            }
            (None, None, Some(name)) => self.resolve(name),
        }
    }
}

/// What the model of a step depends on.
#[derive(Clone, Copy, Debug)]
pub struct StepChoice<'a> {
    /// What the user chose, as written; nothing if nothing was chosen.
    pub setting: Option<&'a str>,
    /// The permission mode at this moment.
    pub mode: Mode,
    /// The resolved id of the main agent, or the fallback that took its place.
    pub main_model: &'a str,
    /// See [`exceeds_200k`].
    pub exceeds_200k: bool,
}

/// Whether the context is too long for the switch to the strong model in plan mode. `last` is the usage of the
/// last assistant message, if it has any; outside plan mode nothing is looked at.
#[must_use]
pub fn exceeds_200k(mode: Mode, last: Option<&Usage>) -> bool {
    mode == Mode::Plan && last.is_some_and(|usage| usage.total() > PLAN_SWITCH_LIMIT)
}

/// The id as it is sent: without `[1m]`, which only means something to people.
#[must_use]
pub fn wire_id(id: &str) -> String {
    let id = id.trim();
    let plain = id.len().checked_sub(LONG_CONTEXT.len()).and_then(|at| id.split_at_checked(at));
    let plain = plain.filter(|(_, suffix)| suffix.eq_ignore_ascii_case(LONG_CONTEXT));
    plain.map_or(id, |(plain, _)| plain.trim_end()).to_owned()
}

/// A setting, unless it is blank or says that the usual model is meant.
#[must_use]
pub fn chosen(setting: &str) -> Option<&str> {
    Some(setting).filter(|setting| !matches!(normalise(setting).as_str(), "" | DEFAULT))
}

/// Whether a name asks for the long context.
#[must_use]
pub fn asks_for_long_context(id: &str) -> bool {
    normalise(id).ends_with(LONG_CONTEXT)
}

/// The maker's name of a model that a cloud provider spells in its own way.
pub(crate) fn plain_id(id: &str) -> &str {
    let id = id.rsplit('/').next().unwrap_or(id);
    let id = id.split_once("anthropic.").map_or(id, |(_, rest)| rest);
    let id = id.split_once('@').map_or(id, |(name, _)| name);
    let id = id.split_once(':').map_or(id, |(name, _)| name);
    let id = id.strip_suffix("-v1").unwrap_or(id);
    match id.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => id,
    }
}

/// The line a model belongs to, by its name.
pub(crate) fn family(id: &str) -> Family {
    let lines = [
        ("haiku", Family::Haiku),
        ("sonnet", Family::Sonnet),
        ("opus", Family::Opus),
        ("fable", Family::Fable),
        ("mythos", Family::Mythos),
    ];
    lines.into_iter().find(|(word, _)| id.contains(word)).map_or(Family::Other, |(_, line)| line)
}

fn normalise(name: &str) -> String {
    name.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(provider: Provider, vars: &[(&str, &str)]) -> Names {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Names::from_vars(provider, &vars)
    }

    fn first_party() -> Names {
        names(Provider::FirstParty, &[])
    }

    fn step<'a>(setting: &'a str, mode: Mode, exceeds_200k: bool) -> StepChoice<'a> {
        StepChoice { setting: Some(setting), mode, main_model: "main", exceeds_200k }
    }

    // MODEL-01, MODEL-03
    #[test]
    fn defaults_depend_on_the_provider() {
        for (provider, haiku, opus) in [
            (Provider::FirstParty, "claude-haiku-5-5", "claude-opus-5-5"),
            (Provider::Foundry, "claude-haiku-5-5", "claude-opus-5"),
            (Provider::Bedrock, "claude-haiku-4-5-20251001", "claude-opus-5"),
            (Provider::Vertex, "claude-haiku-4-5-20251001", "claude-opus-5"),
        ] {
            let names = names(provider, &[]);
            assert_eq!((names.haiku.as_str(), names.opus.as_str()), (haiku, opus), "{provider:?}");
            assert_eq!(
                (names.sonnet.as_str(), names.fable.as_str()),
                ("claude-sonnet-5-5", "claude-fable-5-2")
            );
        }
    }

    // MODEL-01
    #[test]
    fn overrides_are_used_verbatim_unless_empty() {
        let names = names(
            Provider::Bedrock,
            &[
                ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "My-Haiku"),
                ("ANTHROPIC_DEFAULT_SONNET_MODEL", ""),
                ("ANTHROPIC_DEFAULT_OPUS_MODEL", " odd "),
                ("ANTHROPIC_DEFAULT_FABLE_MODEL", "F"),
            ],
        );
        assert_eq!(names.resolve("haiku"), "My-Haiku");
        assert_eq!(names.resolve("sonnet"), "claude-sonnet-5-5");
        assert_eq!(names.resolve("opus"), " odd ");
        assert_eq!(names.resolve("fable"), "F");
    }

    // MODEL-02
    #[test]
    fn small_fast_model_is_its_variable_or_the_default_haiku() {
        assert_eq!(first_party().small_fast, "claude-haiku-5-5");
        let overridden = names(Provider::Vertex, &[("ANTHROPIC_DEFAULT_HAIKU_MODEL", "h")]);
        assert_eq!(overridden.small_fast, "h");
        let own = [("ANTHROPIC_DEFAULT_HAIKU_MODEL", "h"), ("ANTHROPIC_SMALL_FAST_MODEL", "tiny")];
        assert_eq!(names(Provider::Vertex, &own).small_fast, "tiny");
    }

    // MODEL-04, MODEL-05, MODEL-06
    #[test]
    fn names_resolve_as_listed() {
        for (setting, id) in [
            ("sonnet", "claude-sonnet-5-5"),
            ("  SonNet ", "claude-sonnet-5-5"),
            ("sonnet[1m]", "claude-sonnet-5-5[1m]"),
            ("", "claude-sonnet-5-5"),
            (" Default ", "claude-sonnet-5-5"),
            ("Sonnet [1M]", "claude-sonnet-5-5[1m]"),
            ("opusplan", "claude-sonnet-5-5"),
            ("opusplan[1m]", "claude-sonnet-5-5[1m]"),
            ("haiku", "claude-haiku-5-5"),
            ("haiku[1m]", "claude-haiku-5-5[1m]"),
            ("opus", "claude-opus-5-5"),
            ("opus[1m]", "claude-opus-5-5"),
            ("fable", "claude-fable-5-2"),
            ("fable[1m]", "claude-fable-5-2"),
            (" Claude-Opus-5 ", "claude-opus-5"),
            ("claude-opus-5[1M]", "claude-opus-5[1m]"),
            ("house-model", "house-model"),
        ] {
            assert_eq!(first_party().resolve(setting), id, "{setting:?}");
        }
        assert_eq!(first_party().main_model(None), "claude-sonnet-5-5");
        assert_eq!(first_party().main_model(Some("opus")), "claude-opus-5-5");
    }

    // MODEL-07
    #[test]
    fn the_suffix_is_not_sent() {
        assert_eq!(wire_id("claude-opus-5[1m]"), "claude-opus-5");
        assert_eq!(wire_id("claude-opus-5 [1M]"), "claude-opus-5");
        assert_eq!(wire_id("claude-opus-5"), "claude-opus-5");
        assert_eq!(wire_id("Team-Sonnet[1m]"), "Team-Sonnet", "an override is sent as it was written");
        assert!(asks_for_long_context("x[1M] ") && !asks_for_long_context("x"));
    }

    // MODEL-08, MODEL-09, MODEL-10, MODEL-11
    #[test]
    fn model_of_a_step() {
        for (setting, mode, exceeds, id) in [
            ("opusplan", Mode::Plan, false, "claude-opus-5-5"),
            (" OpusPlan", Mode::Plan, false, "claude-opus-5-5"),
            ("opusplan", Mode::Plan, true, "main"),
            ("opusplan", Mode::Default, false, "main"),
            ("haiku", Mode::Plan, false, "claude-sonnet-5-5"),
            ("haiku", Mode::Plan, true, "claude-sonnet-5-5"),
            ("haiku", Mode::AcceptEdits, false, "main"),
            ("sonnet", Mode::Plan, false, "main"),
            ("opus", Mode::Plan, true, "main"),
        ] {
            assert_eq!(
                first_party().for_step(step(setting, mode, exceeds)),
                id,
                "{setting} {mode} {exceeds}"
            );
        }
        let unset =
            StepChoice { setting: None, mode: Mode::Plan, main_model: "fallback", exceeds_200k: false };
        assert_eq!(first_party().for_step(unset), "fallback");
    }

    // LOOP-11, MODEL-12
    #[test]
    fn the_200k_flag_is_strict_and_only_for_plan_mode() {
        let usage = |output_tokens| Usage {
            input_tokens: 50_000,
            cache_creation_input_tokens: 50_000,
            cache_read_input_tokens: 50_000,
            output_tokens,
            ..Usage::default()
        };
        assert!(!exceeds_200k(Mode::Plan, Some(&usage(50_000))));
        assert!(exceeds_200k(Mode::Plan, Some(&usage(50_001))));
        assert!(!exceeds_200k(Mode::Default, Some(&usage(50_001))));
        assert!(!exceeds_200k(Mode::Plan, None));
    }

    // MODEL-13, MODEL-14, MODEL-15, MODEL-16, MODEL-17
    #[test]
    fn model_of_a_sub_agent() {
        let forced = names(Provider::FirstParty, &[("TILLER_SUBAGENT_MODEL", "opus")]);
        let alias = names(Provider::FirstParty, &[("CLAUDE_CODE_SUBAGENT_MODEL", "opus")]);
        let free = first_party();
        let idle = step("sonnet", Mode::Default, false);
        let planning = step("opusplan", Mode::Plan, true);
        for (names, call, definition, parent, id) in [
            (&forced, Some("haiku"), Some("sonnet"), idle, "claude-opus-5-5"),
            (&alias, Some("haiku"), Some("sonnet"), idle, "claude-opus-5-5"),
            (&free, Some("Haiku"), Some("opus"), idle, "claude-haiku-5-5"),
            (&free, None, None, idle, "claude-sonnet-5-5"),
            (&free, None, Some("inherit"), idle, "main"),
            (&free, None, Some("inherit"), planning, "claude-opus-5-5"),
            (&free, None, Some("inherit"), step("haiku", Mode::Plan, false), "claude-sonnet-5-5"),
            (&free, None, Some("haiku"), idle, "claude-haiku-5-5"),
            (&free, None, Some("House-Model"), idle, "house-model"),
        ] {
            assert_eq!(names.for_subagent(call, definition, parent), id, "{call:?} {definition:?}");
        }
    }
}
