//! Where a session's files are. The layout is an interface: agent SDKs look for logs by these names.

use std::path::{Path, PathBuf};

use tiller_protocol::id::{AgentId, SessionId};

/// Longest readable part of a project's directory name.
const MAX_KEY: usize = 200;

/// The files of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPaths {
    /// The log.
    pub log: PathBuf,
    /// What belongs to the session but not into its log, e.g. stored tool output.
    pub dir: PathBuf,
}

impl SessionPaths {
    /// The files of a session in a project.
    #[must_use]
    pub fn new(config_dir: &Path, project: &Path, session: SessionId) -> Self {
        let dir = project_dir(config_dir, project);
        Self { log: dir.join(format!("{session}.jsonl")), dir: dir.join(session.to_string()) }
    }

    /// The log of a sub-agent.
    #[must_use]
    pub fn agent_log(&self, agent: &AgentId) -> PathBuf {
        self.dir.join("subagents").join(format!("agent-{agent}.jsonl"))
    }

    /// Where tool output too long for the conversation is stored.
    #[must_use]
    pub fn spill_dir(&self) -> PathBuf {
        self.dir.join("tool-results")
    }
}

/// The directory of a project's sessions.
#[must_use]
pub fn project_dir(config_dir: &Path, project: &Path) -> PathBuf {
    config_dir.join("projects").join(project_key(project))
}

/// A project's directory name: its path with every character but ASCII letters and digits replaced.
#[must_use]
pub fn project_key(project: &Path) -> String {
    let text = project.to_string_lossy();
    let key: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if key.len() <= MAX_KEY {
        return key;
    }
    let digest = blake3::hash(text.as_bytes()).to_hex();
    format!("{}-{}", &key[..MAX_KEY], &digest[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_readable_and_bounded() {
        assert_eq!(project_key(Path::new("/w/my.app_1")), "-w-my-app-1");
        let long = format!("/{}", "x".repeat(400));
        assert_eq!(project_key(Path::new(&long)).len(), MAX_KEY + 13);
        assert_ne!(project_key(Path::new(&long)), project_key(Path::new(&format!("{long}y"))));
    }
}
