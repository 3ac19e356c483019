//! A git worktree for one agent: it sees the last commit and changes nothing but its own copy.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tiller_protocol::id::AgentId;
use tokio::process::Command;

/// A worktree that was made for an agent.
#[derive(Clone, Debug)]
pub(crate) struct Worktree {
    /// Where it is, links resolved.
    pub(crate) path: PathBuf,
    repository: PathBuf,
}

impl Worktree {
    /// Checks the last commit out for an agent, or finds what was checked out for it before.
    ///
    /// # Errors
    /// A text for the model.
    pub(crate) async fn make(repository: &Path, below: &Path, agent: &AgentId) -> Result<Self, String> {
        let path = below.join(agent.as_str());
        if !path.is_dir() {
            fs_err::create_dir_all(below).map_err(|error| error.to_string())?;
            let target = path.to_string_lossy();
            // The hooks of the repository are none of the user's making here.
            let add = ["-c", "core.hooksPath=/dev/null", "worktree", "add", "--detach", &target, "HEAD"];
            git(repository, &add).await.map_err(|said| {
                format!("This agent works in a git worktree of its own, and git could not make one: {said}")
            })?;
        }
        let path = fs_err::canonicalize(&path).map_err(|error| error.to_string())?;
        Ok(Self { path, repository: repository.to_owned() })
    }

    /// Removes it if nothing was changed in it; otherwise says what is there.
    pub(crate) async fn leave(self) -> Option<String> {
        let status = git(&self.path, &["status", "--short"]).await.ok()?;
        let head = git(&self.path, &["rev-parse", "HEAD"]).await;
        let unmoved = head == git(&self.repository, &["rev-parse", "HEAD"]).await;
        if status.trim().is_empty() && unmoved {
            let path = self.path.to_string_lossy();
            if let Err(said) = git(&self.repository, &["worktree", "remove", &path]).await {
                tracing::warn!("{path} was not removed: {said}");
            }
            return None;
        }
        Some(format!("The agent's changes are in the worktree {}:\n{}", self.path.display(), status.trim_end()))
    }
}

async fn git(dir: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    command
        .args(["--no-pager", "-c", "core.fsmonitor=false"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = command.output().await.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
