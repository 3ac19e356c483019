//! A git worktree for one agent: it sees the last commit and changes nothing but its own copy.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tiller_protocol::id::AgentId;
use tokio::process::Command;

/// Programs that content is sent through: looking at files would run them.
const FILTERS: [&str; 4] = ["config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"];
/// What is there beside the last commit. What a repository inside of this one names is not asked.
const STATUS: [&str; 4] = ["status", "--short", "--ignored", "--ignore-submodules=all"];

/// A worktree that was made for an agent.
#[derive(Clone, Debug)]
pub(crate) struct Worktree {
    /// Where it is, links resolved.
    pub(crate) path: PathBuf,
    repository: PathBuf,
    /// What git keeps of it, in the repository, where the agent cannot change it.
    git_dir: PathBuf,
    /// The commit it was made from.
    commit: String,
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
            let add = ["worktree", "add", "--detach", &target, "HEAD"];
            git(repository, None, &add).await.map_err(|said| {
                format!("This agent works in a git worktree of its own, and git could not make one: {said}")
            })?;
        }
        let path = fs_err::canonicalize(&path).map_err(|error| error.to_string())?;
        let git_dir = git_dir(repository, &path).await?;
        let commit = git(repository, Some((&git_dir, &path)), &["rev-parse", "HEAD"]).await?;
        Ok(Self { path, repository: repository.to_owned(), git_dir, commit })
    }

    /// Removes it if nothing was changed in it; otherwise says what is there.
    pub(crate) async fn leave(self) -> Option<String> {
        let status = match self.ask(&FILTERS).await {
            // Their content can only be seen through programs that the repository names.
            Ok(filters) if !filters.trim().is_empty() => None,
            _ => self.ask(&STATUS).await.ok(),
        };
        let unmoved = self.ask(&["rev-parse", "HEAD"]).await.is_ok_and(|head| head == self.commit);
        if unmoved && status.as_deref().is_some_and(|status| status.trim().is_empty()) {
            let path = self.path.to_string_lossy();
            if let Err(said) = git(&self.repository, None, &["worktree", "remove", &path]).await {
                tracing::warn!("{path} was not removed: {said}");
            }
            return None;
        }
        let status = status.unwrap_or_default();
        Some(format!("The agent worked in the worktree {}:\n{}", self.path.display(), status.trim_end()))
    }

    async fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        git(&self.repository, Some((&self.git_dir, &self.path)), arguments).await
    }
}

/// What git keeps of a worktree. The file in the worktree that names it may be the agent's by now.
async fn git_dir(repository: &Path, worktree: &Path) -> Result<PathBuf, String> {
    let common = git(repository, None, &["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?;
    let all =
        fs_err::read_dir(Path::new(common.trim()).join("worktrees")).map_err(|error| error.to_string())?;
    let named = worktree.join(".git");
    let mut dirs = all.filter_map(|entry| Some(entry.ok()?.path()));
    let found = dirs.find(|dir| {
        fs_err::read_to_string(dir.join("gitdir")).is_ok_and(|text| {
            let path = Path::new(text.trim());
            path == named
                || path.parent().and_then(|dir| fs_err::canonicalize(dir).ok()).as_deref() == Some(worktree)
        })
    });
    found.ok_or_else(|| format!("{} is no worktree of this repository any more.", worktree.display()))
}

async fn git(dir: &Path, tree: Option<(&Path, &Path)>, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("git");
    // Neither hooks nor the file system monitor of the repository are run: they are programs that it names.
    command.args(["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    if let Some((git_dir, work_tree)) = tree {
        command.arg("--git-dir").arg(git_dir).arg("--work-tree").arg(work_tree);
    }
    command
        .args(arguments)
        .current_dir(tree.map_or(dir, |(_, work_tree)| work_tree))
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
