//! Settings, directories and switches, resolved once.
//!
//! What a user may have said in several places (environment, settings files, defaults) becomes one value here; nobody
//! else looks.

mod dirs;
mod settings;

pub use dirs::config_dir;
pub use settings::{Settings, SettingsError};

use tiller_protocol::env::{Env, is_yes};

/// Calls that run at once unless the environment says otherwise.
const DEFAULT_CONCURRENCY: usize = 10;

/// How many calls may run at once: a positive whole number from the environment, or ten.
#[must_use]
pub fn tool_concurrency(env: &Env) -> usize {
    let value = env.var_or_alias("TILLER_MAX_TOOL_USE_CONCURRENCY", "CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY");
    value.and_then(|text| text.parse().ok()).filter(|&limit| limit > 0).unwrap_or(DEFAULT_CONCURRENCY)
}

/// Whether calls start while the model is still writing. The environment wins over the setting.
#[must_use]
pub fn streaming_tools(env: &Env, settings: &Settings) -> bool {
    match env.var("TILLER_STREAMING_TOOL_EXECUTION") {
        Some(value) => is_yes(value),
        None => settings.streaming_tool_execution.unwrap_or(true),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use tiller_protocol::env::{Clock, Ids};

    use super::*;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::UNIX_EPOCH
        }
    }

    impl Ids for Still {
        fn next(&self) -> uuid::Uuid {
            uuid::Uuid::nil()
        }

        fn random(&self) -> f64 {
            0.0
        }
    }

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars: BTreeMap<_, _> = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Env {
            clock: Arc::new(Still),
            ids: Arc::new(Still),
            vars: Arc::new(vars),
            home: "/home/u".into(),
            cwd: "/w".into(),
        }
    }

    // EXEC-09
    #[test]
    fn concurrency_is_a_positive_number_or_ten() {
        for (value, limit) in [("3", 3), ("0", 10), ("-1", 10), ("many", 10), ("", 10)] {
            assert_eq!(
                tool_concurrency(&env(&[("TILLER_MAX_TOOL_USE_CONCURRENCY", value)])),
                limit,
                "{value}"
            );
        }
        assert_eq!(tool_concurrency(&env(&[("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "4")])), 4);
        let both = [("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY", "4"), ("TILLER_MAX_TOOL_USE_CONCURRENCY", "5")];
        assert_eq!(tool_concurrency(&env(&both)), 5);
    }

    // LOOP-09
    #[test]
    fn streaming_execution_is_on_unless_switched_off() {
        let off = Settings { streaming_tool_execution: Some(false), ..Settings::default() };
        assert!(streaming_tools(&env(&[]), &Settings::default()));
        assert!(!streaming_tools(&env(&[]), &off));
        assert!(!streaming_tools(&env(&[("TILLER_STREAMING_TOOL_EXECUTION", "0")]), &Settings::default()));
        assert!(streaming_tools(&env(&[("TILLER_STREAMING_TOOL_EXECUTION", "on")]), &off));
    }

    #[test]
    fn the_configuration_directory_can_be_moved() {
        assert_eq!(config_dir(&env(&[])), std::path::Path::new("/home/u/.tiller"));
        assert_eq!(config_dir(&env(&[("CLAUDE_CONFIG_DIR", "/c")])), std::path::Path::new("/c"));
        let both = [("CLAUDE_CONFIG_DIR", "/c"), ("TILLER_CONFIG_DIR", "rel")];
        assert_eq!(config_dir(&env(&both)), std::path::Path::new("/w/rel"));
    }
}
