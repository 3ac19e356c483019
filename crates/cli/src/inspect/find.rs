//! Which session is meant.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use tiller_engine::store;
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;

/// Sessions that are named when several are meant.
const NAMED: usize = 5;

/// A session's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) id: SessionId,
    pub(crate) path: PathBuf,
}

/// Finds a session by its id, by the beginning of its id, or the latest of this directory. Those of this directory come
/// first; then those of all others are looked at.
pub(crate) fn find(wanted: &str, env: &Env) -> anyhow::Result<Log> {
    if wanted.trim().is_empty() {
        bail!("a session is named by its id, the beginning of its id, or `latest`");
    }
    let config_dir = tiller_config::config_dir(env);
    let project = fs_err::canonicalize(&env.cwd)?;
    if wanted == "latest" {
        let found = store::latest(&config_dir, &project)
            .with_context(|| format!("there is no session in {} yet", project.display()))?;
        return Ok(Log { id: found.id, path: store::unpacked(&found.paths.log)? });
    }
    let projects = config_dir.join("projects");
    let here = logs(&store::project_dir(&config_dir, &project), wanted);
    let found = if here.is_empty() { everywhere(&projects, wanted) } else { here };
    match found.as_slice() {
        [only] => Ok(Log { id: only.id, path: store::unpacked(&only.path)? }),
        [] => bail!(
            "no session begins with \"{wanted}\"; `tiller sessions list` names those of this directory, and \
             `tiller inspect latest` shows the latest one"
        ),
        many => {
            let names: Vec<String> = many.iter().take(NAMED).map(|log| log.id.to_string()).collect();
            let more = if many.len() > NAMED { ", ..." } else { "" };
            bail!("several sessions begin with \"{wanted}\": {}{more}; give more of the id", names.join(", "))
        }
    }
}

fn everywhere(projects: &Path, wanted: &str) -> Vec<Log> {
    let Ok(entries) = fs_err::read_dir(projects) else { return Vec::new() };
    entries.filter_map(Result::ok).flat_map(|entry| logs(&entry.path(), wanted)).collect()
}

/// The logs in a directory whose id begins like this.
fn logs(dir: &Path, wanted: &str) -> Vec<Log> {
    let Ok(entries) = fs_err::read_dir(dir) else { return Vec::new() };
    let wanted = wanted.to_lowercase();
    let log = |entry: fs_err::DirEntry| {
        let path = entry.path();
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".jsonl")?;
        let id = name.parse().ok().filter(|_| name.starts_with(&wanted))?;
        Some(Log { id, path })
    };
    let mut found: Vec<Log> = entries.filter_map(Result::ok).filter_map(log).collect();
    found.sort_by(|one, other| (one.id, &one.path).cmp(&(other.id, &other.path)));
    found.dedup_by_key(|log| log.id);
    found
}
