//! What was entered before, in all sessions: a file of JSON lines.

use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use fs_err::os::unix::fs::OpenOptionsExt;
use serde::{Deserialize, Serialize};
use tiller_tui::input::{Past, Purpose};

/// Inputs that are offered.
const OFFERED: usize = 1_000;
/// Bytes of the file that are looked at.
const WINDOW: usize = 2 * 1024 * 1024;

const FILE: &str = "history.jsonl";

#[derive(Serialize, Deserialize)]
struct Line {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sign: Option<char>,
}

/// Earlier inputs, the oldest first. A history that cannot be read is an empty one.
pub(super) fn load(config_dir: &Path) -> Vec<Past> {
    let Ok(text) = fs_err::read(config_dir.join(FILE)) else { return Vec::new() };
    let window = text.len().saturating_sub(WINDOW);
    let text = String::from_utf8_lossy(&text[window..]);
    let mut entries: Vec<Past> = text.lines().filter_map(parsed).collect();
    entries.split_off(entries.len().saturating_sub(OFFERED))
}

fn parsed(line: &str) -> Option<Past> {
    let Line { text, sign } = serde_json::from_str(line).ok()?;
    let purpose = sign.and_then(Purpose::begun_by).unwrap_or_default();
    Some(Past { purpose, text })
}

/// Keeps an input.
pub(super) fn append(config_dir: &Path, past: &Past) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(config_dir)?;
    let line = Line { text: past.text.clone(), sign: past.purpose.sign() };
    let mut line = serde_json::to_string(&line)?;
    line.push('\n');
    let mut options = fs_err::OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let mut file = options.open(config_dir.join(FILE))?;
    file.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_offered_again() {
        let dir = tempfile::tempdir().unwrap();
        let inputs = [
            Past { purpose: Purpose::Prompt, text: "two\nlines".to_owned() },
            Past { purpose: Purpose::Shell, text: "ls".to_owned() },
        ];
        for past in &inputs {
            append(dir.path(), past).unwrap();
        }
        assert_eq!(load(dir.path()), inputs);
        assert_eq!(load(&dir.path().join("none")), []);
    }
}
