//! The table of settings for the documentation.

use crate::key::{Key, NeedsTrust, keys};

/// All settings as a Markdown table.
#[must_use]
pub fn reference() -> String {
    let rows = keys().iter().filter(|key| !key.name.starts_with('$')).map(row);
    let head = "| key | fits | default | meaning |\n|---|---|---|---|\n".to_owned();
    rows.fold(head, |table, row| table + &row)
}

fn row(key: &Key) -> String {
    let default = match &key.default {
        None => "–".to_owned(),
        Some(serde_json::Value::String(text)) => format!("`{text}`"),
        Some(other) => format!("`{other}`"),
    };
    let mark = if key.needs_trust == NeedsTrust::Never { "" } else { " ⚠" };
    format!(
        "| `{}`{mark} | {} | {default} | {} |\n",
        key.name,
        key.fits.replace('|', "\\|"),
        key.meaning.replace('|', "\\|")
    )
}
