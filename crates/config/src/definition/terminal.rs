//! What a person sees at a terminal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const DEFAULT_VIM: bool = false;

/// Tiller at a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, expecting = "an object")]
pub struct Terminal {
    /// The colours; without it, those that fit the terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<TerminalTheme>,
    /// Whether the input has Vim keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = DEFAULT_VIM))]
    pub vim: Option<bool>,
    /// What keys do, by key: `ctrl+s` for example does `queue`; `none` takes its meaning away.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-trust" = true))]
    pub keys: BTreeMap<String, String>,
    /// A command that prints the line at the bottom; it gets facts about the session as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-trust" = true))]
    pub status_line: Option<String>,
}

/// Colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TerminalTheme {
    /// For dark backgrounds.
    Dark,
    /// For light backgrounds.
    Light,
    /// None.
    NoColor,
    /// Those that fit the terminal, as without this setting.
    Auto,
}

impl TerminalTheme {
    /// Its name in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::NoColor => "no-color",
            Self::Auto => "auto",
        }
    }
}
