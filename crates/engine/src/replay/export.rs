//! A session as a directory that can be replayed anywhere.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tiller_protocol::env::Env;

use super::Replay;
use super::mask::Masks;
use crate::journal::VERSION;
use crate::store::{Damage, LogWriter, StoreError, load, open};

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
    /// What of the logs could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lost: Vec<String>,
}

/// What was exported.
#[derive(Debug, Default)]
pub struct Exported {
    /// Logs: that of the session and those of its agents.
    pub logs: usize,
    /// Lines in which credentials were masked.
    pub masked: usize,
    /// What could not be read, and is not there.
    pub lost: Vec<String>,
}

impl Replay {
    /// A directory that [`Replay::export`] has made, if it is one.
    #[must_use]
    pub fn exported(dir: &Path, env: &Env) -> Option<Self> {
        let manifest = fs_err::read_to_string(dir.join(MANIFEST)).ok()?;
        let manifest: Manifest = serde_json::from_str(&manifest).ok()?;
        let replay = Self::of(&dir.join(LOG), env);
        Some(Self { config_dir: manifest.config_dir, lost: manifest.lost, ..replay })
    }

    /// Writes everything that a replay needs to a directory that does not exist or is empty. What is recognised as a
    /// credential, and the values of variables that hold one, are masked; `settings_vars` are those that settings add. What
    /// is damaged is left out, and told.
    ///
    /// # Errors
    /// When the directory is not empty or cannot be written, or nothing of a log can be read.
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
        let mut lost = masks.copy(&self.log, &log)?;
        let agents = log.with_extension("").join("subagents");
        for agent in &self.agent_logs {
            let name = agent.file_name().unwrap_or_default();
            let of_agent = masks.copy(agent, &agents.join(name))?;
            lost.extend(of_agent.into_iter().map(|what| format!("{}: {what}", name.display())));
        }
        let (version, config_dir) = (VERSION.to_owned(), self.config_dir.clone());
        let manifest = Manifest { version, config_dir, lost: lost.clone() };
        let manifest = serde_json::to_string_pretty(&manifest).map_err(std::io::Error::from)?;
        fs_err::write(dir.join(MANIFEST), manifest + "\n")?;
        Ok(Exported { logs: 1 + self.agent_logs.len(), masked: masks.lines, lost })
    }
}

impl Masks {
    /// Copies what of a log can be read, and says what could not.
    fn copy(&mut self, from: &Path, to: &Path) -> Result<Vec<String>, StoreError> {
        let loaded = load(from, |_| {})?;
        if loaded.entries == 0 && !loaded.damage.is_empty() {
            let text = format!("nothing of {} can be read", from.display());
            return Err(std::io::Error::other(text).into());
        }
        let damaged: HashSet<u64> = loaded.damage.iter().filter_map(skipped).collect();
        let mut writer = LogWriter::open(to, "the exported log")?;
        let mut has_masked = false;
        for (line, number) in Lines(BufReader::new(open(from)?)).zip(1..) {
            let line = line.ok().filter(|_| !damaged.contains(&number));
            let Some(line) = line.as_deref().and_then(without_hash) else { continue };
            let masked = self.mask(&line);
            let changed = masked != line;
            self.lines += usize::from(changed);
            has_masked |= changed;
            // What requests were is recognised by a digest, which fits what was there and not what stands there now.
            writer.append(&if has_masked { without_digest(masked) } else { masked })?;
        }
        Ok(loaded.damage.iter().map(ToString::to_string).collect())
    }
}

/// The line that was not taken because of some damage.
fn skipped(damage: &Damage) -> Option<u64> {
    match damage {
        Damage::Unreadable { line } | Damage::Altered { line } | Damage::Repeated { line } => Some(*line),
        // What is torn or cannot be unpacked is no line, and one that merely does not follow is there.
        Damage::TornTail { .. } | Damage::Undecodable { .. } | Damage::BrokenChain { .. } => None,
    }
}

/// The whole lines of a log up to where it cannot be read; those that are no text as errors.
struct Lines<R>(R);

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<String, std::string::FromUtf8Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).ok()?;
        (line.pop() == Some(b'\n')).then(|| String::from_utf8(line))
    }
}

/// A line as it was before its hash was added; those of other programs are left out.
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
