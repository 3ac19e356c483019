//! Which projects the user trusts: what their settings would run or loosen was shown and confirmed.

use std::path::Path;

use serde_json::Value;

use crate::error::SettingsError;
use crate::key::keys;
use crate::resolve::Resolved;
use crate::row::Row;
use crate::write::{self, update};

const FILE: &str = "trust.json";

/// What the project's files would run or loosen, in the order of the settings.
#[must_use]
pub fn untrusted(resolved: &Resolved) -> Vec<Row> {
    let of_project = resolved.rows().into_iter().filter(|row| row.origin.is_of_project());
    of_project.filter(needs_trust).collect()
}

fn needs_trust(row: &Row) -> bool {
    let is_meant =
        |name: &str| row.key == name || row.key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    keys().iter().any(|key| is_meant(&key.name) && key.needs_trust.covers(&row.value))
}

/// Whether the user has confirmed exactly this for the directory. Nothing needs no trust.
///
/// # Errors
/// When the file of trusted directories cannot be read.
pub fn is_trusted(config_dir: &Path, project: &Path, concerns: &[Row]) -> Result<bool, SettingsError> {
    if concerns.is_empty() {
        return Ok(true);
    }
    let known = write::read(&config_dir.join(FILE))?;
    let directory = directory(project);
    Ok(known["directories"].get(&directory).and_then(Value::as_str) == Some(&fingerprint(concerns)))
}

/// Remembers that the user has confirmed this for the directory.
///
/// # Errors
/// When the file of trusted directories cannot be written.
pub fn trust(config_dir: &Path, project: &Path, concerns: &[Row]) -> Result<(), SettingsError> {
    let (directory, fingerprint) = (directory(project), fingerprint(concerns));
    update(&config_dir.join(FILE), |file| {
        file.set(&["directories", &directory], &fingerprint.as_str().into())
    })
}

fn directory(project: &Path) -> String {
    let resolved = fs_err::canonicalize(project).unwrap_or_else(|_| project.to_owned());
    resolved.to_string_lossy().into_owned()
}

/// The same for the same settings in the same files, wherever the project lies.
fn fingerprint(concerns: &[Row]) -> String {
    let mut hasher = blake3::Hasher::new();
    for row in concerns {
        let file = row.origin.file.as_deref().and_then(Path::file_name).unwrap_or_default();
        let text = serde_json::json!([row.key, row.value, row.origin.layer, file.to_string_lossy()]);
        hasher.update(text.to_string().as_bytes());
        hasher.update(b"\n");
    }
    hasher.finalize().to_hex().to_string()
}
