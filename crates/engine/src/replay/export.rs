//! A session as a directory that can be replayed anywhere.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tiller_protocol::env::Env;

use super::Replay;
use super::mask::Masks;
use crate::journal::VERSION;
use crate::store::{LogWriter, StoreError, open};

/// The log in an exported directory.
const LOG: &str = "session.jsonl";
/// What else a replay has to know.
const MANIFEST: &str = "replay.json";

/// What stands beside the logs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    /// The version that exported it.
    version: String,
    /// Where settings and sessions were kept.
    config_dir: PathBuf,
}

/// What was exported.
#[derive(Debug, Default)]
pub struct Exported {
    /// Logs: that of the session and those of its agents.
    pub logs: usize,
    /// Lines in which credentials were masked.
    pub masked: usize,
}

impl Replay {
    /// A directory that [`Replay::export`] has made, if it is one.
    #[must_use]
    pub fn exported(dir: &Path, env: &Env) -> Option<Self> {
        let manifest = fs_err::read_to_string(dir.join(MANIFEST)).ok()?;
        let manifest: Manifest = serde_json::from_str(&manifest).ok()?;
        let replay = Self::of(&dir.join(LOG), env);
        Some(Self { config_dir: manifest.config_dir, ..replay })
    }

    /// Writes everything that a replay needs to a directory that does not exist or is empty. What is recognised as a
    /// credential, and the values of variables that hold one, are masked; `settings_vars` are those that settings add.
    ///
    /// # Errors
    /// When the directory is not empty or cannot be written, or a log cannot be read.
    pub fn export(
        &self,
        dir: &Path,
        settings_vars: &BTreeMap<String, String>,
    ) -> Result<Exported, StoreError> {
        if fs_err::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
            let text = format!("{} is not empty; name a directory that does not exist yet", dir.display());
            return Err(std::io::Error::other(text).into());
        }
        let mut masks = Masks::new(&self.env, settings_vars);
        let log = dir.join(LOG);
        masks.copy(&self.log, &log)?;
        let agents = log.with_extension("").join("subagents");
        for agent in &self.agent_logs {
            masks.copy(agent, &agents.join(agent.file_name().unwrap_or_default()))?;
        }
        let manifest = Manifest { version: VERSION.to_owned(), config_dir: self.config_dir.clone() };
        let manifest = serde_json::to_string_pretty(&manifest).map_err(std::io::Error::from)?;
        fs_err::write(dir.join(MANIFEST), manifest + "\n")?;
        Ok(Exported { logs: 1 + self.agent_logs.len(), masked: masks.lines })
    }
}

impl Masks {
    fn copy(&mut self, from: &Path, to: &Path) -> Result<(), StoreError> {
        let mut writer = LogWriter::open(to, "the exported log")?;
        let mut has_masked = false;
        for line in BufReader::new(open(from)?).lines() {
            let Some(line) = without_hash(&line?) else { continue };
            let masked = self.mask(&line);
            let changed = masked != line;
            self.lines += usize::from(changed);
            has_masked |= changed;
            // What requests were is recognised by a digest, which fits what was there and not what stands there now.
            writer.append(&if has_masked { without_digest(masked) } else { masked })?;
        }
        Ok(())
    }
}

/// A line as it was before its hash was added; damaged ones are left out.
fn without_hash(line: &str) -> Option<String> {
    let mut value: Value = serde_json::from_str(line).ok()?;
    let fields = value.as_object_mut()?;
    if !fields.contains_key("seq") {
        return None;
    }
    match line.rfind(",\"hash\":\"") {
        Some(at) if fields.contains_key("hash") => Some(format!("{}}}", &line[..at])),
        _ => Some(line.to_owned()),
    }
}

fn without_digest(line: String) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(&line) else { return line };
    let noted = match value["type"].as_str() {
        Some("response") => value.as_object_mut().and_then(|fields| fields.shift_remove("asked")),
        Some("system") => {
            let fold = value["compactMetadata"].as_object_mut();
            fold.and_then(|fields| fields.shift_remove("madeOf"))
        }
        _ => None,
    };
    if noted.is_some() { value.to_string() } else { line }
}
