//! The outside world as values: time, randomness and variables are handed in, never fetched, so that a run
//! can be repeated exactly.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

/// The variables that let Tiller in at the model. Nothing that Tiller starts gets them by itself.
pub const MODEL_CREDENTIALS: [&str; 3] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS"];

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// Makes identifiers and random numbers.
pub trait Ids: Send + Sync {
    /// A fresh identifier; later ones sort after earlier ones.
    fn next(&self) -> Uuid;

    /// A number between 0 (included) and 1 (excluded).
    fn random(&self) -> f64;
}

/// What a run knows of its surroundings. Built once by the binary and passed down.
#[derive(Clone)]
pub struct Env {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The source of identifiers and randomness.
    pub ids: Arc<dyn Ids>,
    /// Environment variables as they were at start.
    pub vars: Arc<BTreeMap<String, String>>,
    /// The user's home directory.
    pub home: PathBuf,
    /// The directory Tiller was started in.
    pub cwd: PathBuf,
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").field("home", &self.home).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}

impl Env {
    /// A variable's value; an empty one counts as absent.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A variable under Tiller's name or, failing that, under the name other agents use.
    #[must_use]
    pub fn var_or_alias(&self, name: &str, alias: &str) -> Option<&str> {
        self.var(name).or_else(|| self.var(alias))
    }

    /// Whether a variable says yes: `1`, `true`, `yes` or `on`, in any case.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.var(name).is_some_and(is_yes)
    }

    /// A fresh identifier.
    #[must_use]
    pub fn fresh(&self) -> Uuid {
        self.ids.next()
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Whether text means yes, as environment variables say it.
#[must_use]
pub fn is_yes(text: &str) -> bool {
    ["1", "true", "yes", "on"].iter().any(|yes| text.eq_ignore_ascii_case(yes))
}
