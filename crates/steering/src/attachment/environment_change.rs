//! `environment_change`: what the prompt says of the environment, and is no longer so.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("environment_change.md");

/// What is so now, and what was told before of that which has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentChange {
    /// Today.
    pub date: String,
    /// The model that reads this.
    pub model: String,
    /// The date that was told, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date_before: Option<String>,
    /// The model that was told, if it is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_before: Option<String>,
}

impl Kind for EnvironmentChange {
    const NAME: &'static str = "environment_change";

    fn render(&self) -> Rendered {
        let changed = [("Date", &self.date, &self.date_before), ("Model", &self.model, &self.model_before)];
        let line = |(name, now, before): (&str, &String, &Option<String>)| {
            before.as_ref().map(|before| format!("{name}: {now} (it was {before})"))
        };
        let changes: Vec<String> = changed.into_iter().filter_map(line).collect();
        Rendered::reminder(&fill(TEXT, &[("changes", &changes.join("\n"))]))
    }
}
