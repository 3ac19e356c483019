//! When the user last used what: kept so that tips can tell of what is not known yet.

use std::path::Path;

use crate::error::SettingsError;
use crate::write::update;

const FILE: &str = "state.json";

/// Something whose use is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// The mode `plan`.
    PlanMode,
    /// The mode `acceptEdits`.
    AcceptEdits,
}

impl Feature {
    fn key(self) -> &'static str {
        match self {
            Self::PlanMode => "lastPlanModeUse",
            Self::AcceptEdits => "lastAcceptEditsUse",
        }
    }
}

/// Remembers that the user has used something, and when: in milliseconds since 1970.
///
/// # Errors
/// When the file in the configuration directory cannot be changed.
pub fn note_use(config_dir: &Path, feature: Feature, at: i64) -> Result<(), SettingsError> {
    update(&config_dir.join(FILE), |file| file.set(&[feature.key()], &at.into()))
}
