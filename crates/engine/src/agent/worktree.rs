//! A git worktree for one agent: it sees the last commit and changes nothing but its own copy.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use tiller_protocol::id::AgentId;
use tokio::process::Command;

use crate::store::make_private;

/// Programs that content is sent through: looking at files would run them.
const FILTERS: [&str; 4] = ["config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"];
/// What is there beside the last commit. What a repository inside of this one names is not asked.
const STATUS: [&str; 4] = ["status", "--short", "--ignored", "--ignore-submodules=all"];

/// The file in a session's directory by whose lock others see that agents work there.
const LOCK: &str = "lock";

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
    /// Held as long as an agent works there.
    _lock: Arc<fs_err::File>,
}

impl Worktree {
    /// Checks the last commit out for an agent, or finds what was checked out for it before.
    ///
    /// # Errors
    /// A text for the model.
    pub(crate) async fn make(repository: &Path, below: &Path, agent: &AgentId) -> Result<Self, String> {
        let path = below.join(agent.as_str());
        make_private(below).map_err(|error| error.to_string())?;
        let lock = lock(below, FlockOperation::LockShared).map_err(|error| error.to_string())?;
        if !path.is_dir() {
            let target = path.to_string_lossy();
            let add = ["worktree", "add", "--detach", &target, "HEAD"];
            git(repository, None, &add).await.map_err(|said| {
                format!("This agent works in a git worktree of its own, and git could not make one: {said}")
            })?;
        }
        let path = fs_err::canonicalize(&path).map_err(|error| error.to_string())?;
        let git_dir = git_dir(repository, &path).await?;
        let commit = git(repository, Some((&git_dir, &path)), &["rev-parse", "HEAD"]).await?;
        Ok(Self { path, repository: repository.to_owned(), git_dir, commit, _lock: Arc::new(lock) })
    }

    /// Removes it if nothing was changed in it; otherwise says what is there.
    pub(crate) async fn leave(self) -> Option<String> {
        let status = self.status().await;
        let unmoved = self.ask(&["rev-parse", "HEAD"]).await.is_ok_and(|head| head == self.commit);
        if unmoved && status.as_deref() == Some("") {
            self.remove().await;
            return None;
        }
        let status = status.unwrap_or_default();
        Some(format!("The agent worked in the worktree {}:\n{status}", self.path.display()))
    }

    /// What is there beside the last commit, if that can be told.
    async fn status(&self) -> Option<String> {
        match self.ask(&FILTERS).await {
            // Their content can only be seen through programs that the repository names.
            Ok(filters) if !filters.trim().is_empty() => None,
            _ => self.ask(&STATUS).await.ok().map(|status| status.trim_end().to_owned()),
        }
    }

    /// Whether nothing would be lost with it: no change, and no commit that is on no branch.
    async fn is_worthless(&self) -> bool {
        let kept = self.ask(&["for-each-ref", "--count=1", "--contains", &self.commit]).await;
        kept.is_ok_and(|refs| !refs.trim().is_empty()) && self.status().await.as_deref() == Some("")
    }

    async fn remove(&self) {
        let path = self.path.to_string_lossy();
        if let Err(said) = git(&self.repository, None, &["worktree", "remove", &path]).await {
            tracing::warn!("{path} was not removed: {said}");
        }
    }

    async fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        git(&self.repository, Some((&self.git_dir, &self.path)), arguments).await
    }
}

/// Removes worktrees of this repository that sessions have left which did not come to their end, as far as nothing is lost
/// with them. `all` holds a directory for each session; `own` is that of this one.
pub(crate) async fn sweep(repository: &Path, all: &Path, own: &Path) {
    for session in entries(all).into_iter().filter(|dir| dir != own) {
        // Whoever works there holds it.
        let Ok(lock) = lock(&session, FlockOperation::NonBlockingLockExclusive) else { continue };
        let lock = Arc::new(lock);
        for path in entries(&session).into_iter().filter(|path| path.is_dir()) {
            if let Some(left) = found(repository, &path, &lock).await
                && left.is_worthless().await
            {
                left.remove().await;
            }
        }
        if entries(&session).iter().all(|left| left.ends_with(LOCK)) {
            _ = fs_err::remove_dir_all(&session);
        }
    }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs_err::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

async fn found(repository: &Path, path: &Path, lock: &Arc<fs_err::File>) -> Option<Worktree> {
    let path = fs_err::canonicalize(path).ok()?;
    let git_dir = git_dir(repository, &path).await.ok()?;
    let commit = git(repository, Some((&git_dir, &path)), &["rev-parse", "HEAD"]).await.ok()?;
    let commit = commit.trim().to_owned();
    Some(Worktree { path, repository: repository.to_owned(), git_dir, commit, _lock: Arc::clone(lock) })
}

fn lock(dir: &Path, operation: FlockOperation) -> std::io::Result<fs_err::File> {
    let file = fs_err::OpenOptions::new().create(true).append(true).open(dir.join(LOCK))?;
    flock(&file, operation)?;
    Ok(file)
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
