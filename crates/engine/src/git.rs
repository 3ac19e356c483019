//! Asks git about the state of a repository.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tiller_steering::user_context::git::{Snapshot, root};
use tokio::process::Command;

/// Nobody waits longer for git than this; what is not there by then is left out.
const DEADLINE: Duration = Duration::from_secs(2);

/// The short status, whatever the user's settings make of it, with paths as seen from the working directory.
/// Repositories inside of this one are not looked into: they may name programs to be run, too.
const SHORT_STATUS: [&str; 8] = [
    "-c",
    "color.status=false",
    "-c",
    "status.relativePaths=true",
    "status",
    "--short",
    "--no-branch",
    "--ignore-submodules=dirty",
];

/// Programs that content is sent through, and whose settings name them.
const FILTERS: [&str; 5] =
    ["config", "--show-scope", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"];

/// What may be the main branch, in one question: every program that is started delays the first request.
const MAIN_BRANCHES: [&str; 5] = [
    "for-each-ref",
    "--format=%(refname) %(symref)",
    "refs/heads/main",
    "refs/heads/master",
    "refs/remotes/origin/HEAD",
];

/// The state of the repository a directory lies in; none outside of repositories, or if git cannot work with it.
pub async fn snapshot(dir: &Path) -> Option<Snapshot> {
    Git { program: Path::new("git"), dir, deadline: DEADLINE }.snapshot().await
}

struct Git<'a> {
    program: &'a Path,
    dir: &'a Path,
    deadline: Duration,
}

/// Git did not answer.
#[derive(Debug, PartialEq)]
enum Silence {
    /// It could not be run, or refused.
    Failed,
    /// It took too long.
    Late,
    /// It was not asked: it would have run programs that the repository names.
    NotAsked,
}

impl Git<'_> {
    async fn snapshot(&self) -> Option<Snapshot> {
        root(self.dir)?;
        let (branch, main_branches, status, commits) = tokio::join!(
            self.ask(&["branch", "--show-current"]),
            self.ask(&MAIN_BRANCHES),
            self.status(),
            self.ask(&["log", "-5", "--format=%h %s", "--no-decorate", "--no-show-signature"]),
        );
        Answers { branch, main_branches, status, commits }.into_snapshot()
    }

    /// Looking at the files runs the filters that are configured for them: the user's, but not the repository's.
    async fn status(&self) -> Answer {
        let own = |scope: &str| scope.starts_with("local") || scope.starts_with("worktree");
        match self.ask(&FILTERS).await {
            Ok(filters) if filters.lines().any(own) => Err(Silence::NotAsked),
            Err(Silence::Late) => Err(Silence::Late),
            _ => self.ask(&SHORT_STATUS).await,
        }
    }

    async fn ask(&self, arguments: &[&str]) -> Answer {
        let mut command = Command::new(self.program);
        command
            // The file system monitor is a program that a repository's own settings may name.
            .args(["--no-pager", "-c", "core.fsmonitor=false"])
            .args(arguments)
            .current_dir(self.dir)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        match tokio::time::timeout(self.deadline, command.output()).await {
            Ok(Ok(output)) if output.status.success() => {
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            }
            Ok(_) => Err(Silence::Failed),
            Err(_) => Err(Silence::Late),
        }
    }
}

type Answer = Result<String, Silence>;

struct Answers {
    branch: Answer,
    /// See [`MAIN_BRANCHES`].
    main_branches: Answer,
    status: Answer,
    commits: Answer,
}

impl Answers {
    fn into_snapshot(self) -> Option<Snapshot> {
        Some(Snapshot {
            branch: self.branch.ok()?.lines().next().map(str::to_owned),
            main_branch: self.main_branches.ok().as_deref().and_then(main_branch),
            status: match self.status {
                Ok(status) => Some(status),
                Err(Silence::Late | Silence::NotAsked) => None,
                Err(Silence::Failed) => return None,
            },
            commits: self.commits.unwrap_or_default().lines().map(str::to_owned).collect(),
        })
    }
}

/// The branch that the remote considers its main one, else one with a usual name.
fn main_branch(refs: &str) -> Option<String> {
    let remote = refs.lines().find_map(|line| line.split_once(' ')?.1.strip_prefix("refs/remotes/origin/"));
    let usual = || refs.lines().find_map(|line| line.split(' ').next()?.strip_prefix("refs/heads/"));
    remote.or_else(usual).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[tokio::test]
    async fn a_filter_of_the_repository_is_not_run() {
        let dir = TempDir::new().unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        fs_err::write(dir.path().join("f"), "one").unwrap();
        git(dir.path(), &["add", "f"]);
        git(dir.path(), &["commit", "-qm", "one"]);
        let ran = dir.path().join("ran");
        git(dir.path(), &["config", "filter.x.clean", &format!("touch {}; cat", ran.display())]);
        fs_err::write(dir.path().join(".gitattributes"), "* filter=x").unwrap();
        fs_err::write(dir.path().join("f"), "two").unwrap();
        let snapshot = told(dir.path()).await.unwrap();
        assert_eq!((snapshot.branch.as_deref(), snapshot.status), (Some("main"), None));
        assert!(!ran.exists());
    }

    /// What git says, however busy this machine is.
    async fn told(dir: &Path) -> Option<Snapshot> {
        Git { program: Path::new("git"), dir, deadline: Duration::from_secs(120) }.snapshot().await
    }

    fn git(dir: &Path, arguments: &[&str]) {
        let output = std::process::Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn repository() -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "--quiet", "--initial-branch=main"]);
        dir
    }

    fn commit(dir: &Path, subject: &str) {
        git(dir, &["commit", "--quiet", "--allow-empty", "-m", subject]);
    }

    fn subjects(snapshot: &Snapshot) -> Vec<&str> {
        snapshot.commits.iter().filter_map(|line| line.split_once(' ')).map(|(_, subject)| subject).collect()
    }

    // STEER-11
    #[tokio::test]
    async fn branch_status_and_the_last_five_commits_are_told() {
        let dir = repository();
        for number in 1..=6 {
            commit(dir.path(), &format!("Step {number}"));
        }
        git(dir.path(), &["checkout", "--quiet", "-b", "topic"]);
        fs_err::create_dir(dir.path().join("sub")).unwrap();
        fs_err::write(dir.path().join("sub/new.txt"), "x").unwrap();
        let snapshot = told(&dir.path().join("sub")).await.unwrap();
        assert_eq!(snapshot.branch.as_deref(), Some("topic"));
        assert_eq!(snapshot.main_branch.as_deref(), Some("main"));
        assert_eq!(snapshot.status.as_deref(), Some("?? ./\n"));
        assert_eq!(subjects(&snapshot), ["Step 6", "Step 5", "Step 4", "Step 3", "Step 2"]);
    }

    #[tokio::test]
    async fn the_remote_names_the_main_branch() {
        let dir = repository();
        commit(dir.path(), "First");
        git(dir.path(), &["update-ref", "refs/remotes/origin/trunk", "HEAD"]);
        git(dir.path(), &["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
        assert_eq!(told(dir.path()).await.unwrap().main_branch.as_deref(), Some("trunk"));
    }

    #[tokio::test]
    async fn a_repository_without_commits_and_a_detached_head_are_told_too() {
        let dir = repository();
        let empty = told(dir.path()).await.unwrap();
        assert_eq!((empty.branch.as_deref(), empty.status.as_deref()), (Some("main"), Some("")));
        assert_eq!((empty.main_branch, empty.commits), (None, Vec::new()));
        commit(dir.path(), "First");
        git(dir.path(), &["checkout", "--quiet", "--detach"]);
        assert_eq!(told(dir.path()).await.unwrap().branch, None);
    }

    // STEER-11
    #[tokio::test]
    async fn outside_of_repositories_there_is_nothing_to_tell() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(told(dir.path()).await, None);
        fs_err::create_dir(dir.path().join(".git")).unwrap();
        assert_eq!(told(dir.path()).await, None);
    }

    fn program(dir: &TempDir, script: &str) -> std::path::PathBuf {
        let path = dir.path().join("git");
        tiller_testenv::write_program(&path, &format!("#!/bin/sh\n{script}"));
        path
    }

    #[tokio::test]
    async fn without_a_repository_git_is_not_even_started() {
        let dir = tempfile::tempdir().unwrap();
        let program = program(&dir, "touch started\n");
        let git = Git { program: &program, dir: dir.path(), deadline: DEADLINE };
        assert_eq!(git.snapshot().await, None);
        assert!(!dir.path().join("started").exists());
    }

    #[tokio::test]
    async fn git_is_not_waited_for_beyond_the_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let program = program(&dir, "exec tail -f /dev/null\n");
        let git = Git { program: &program, dir: dir.path(), deadline: Duration::from_millis(20) };
        assert_eq!(git.ask(&["status"]).await, Err(Silence::Late));
    }

    #[test]
    fn a_late_status_is_unknown_and_the_rest_is_told() {
        let answers = Answers {
            branch: Ok("topic\n".to_owned()),
            main_branches: Ok("refs/heads/main \nrefs/heads/master \nrefs/remotes/origin/HEAD \n".to_owned()),
            status: Err(Silence::Late),
            commits: Ok("1a2b3c4 First\n".to_owned()),
        };
        let expected = Snapshot {
            branch: Some("topic".to_owned()),
            main_branch: Some("main".to_owned()),
            status: None,
            commits: vec!["1a2b3c4 First".to_owned()],
        };
        assert_eq!(answers.into_snapshot(), Some(expected));
    }

    #[tokio::test]
    async fn programs_that_a_repository_names_are_not_run() {
        let dir = repository();
        commit(dir.path(), "First");
        let tools = tempfile::tempdir().unwrap();
        let monitor = program(&tools, "touch \"$0.ran\"\n");
        git(dir.path(), &["config", "core.fsmonitor", &monitor.display().to_string()]);
        git(dir.path(), &["config", "core.pager", &monitor.display().to_string()]);
        git(dir.path(), &["config", "gpg.program", &monitor.display().to_string()]);
        git(dir.path(), &["config", "log.showSignature", "true"]);
        assert!(told(dir.path()).await.is_some());
        assert!(!monitor.with_extension("ran").exists());
        git(dir.path(), &["status"]);
        assert!(monitor.with_extension("ran").exists(), "the repository's settings have no effect at all");
    }
}
