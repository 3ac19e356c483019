//! Where both contestants run: the same server, the same kind of directory, the same bare environment.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use tempfile::TempDir;
use tiller_testkit::{Captured, ModelServer};

use xtask::program::{command, must_succeed};

/// The programs to compare, and directories to run them in.
pub(super) struct Arena {
    tiller: PathBuf,
    floor: PathBuf,
    home: TempDir,
    empty: TempDir,
    repository: TempDir,
}

/// Where a contestant is started.
#[derive(Clone, Copy, Debug)]
pub(super) enum Directory {
    /// A directory without anything.
    Empty,
    /// A small git repository.
    Repository,
}

/// What the programs are told on their command lines.
#[derive(Clone, Copy, Debug)]
pub(super) enum Contestant<'a> {
    Tiller(&'a [&'a str]),
    Floor(&'a [&'a str]),
}

impl Arena {
    pub(super) fn new(root: &Path) -> anyhow::Result<Self> {
        let arena = Self {
            tiller: root.join("target/release/tiller"),
            floor: std::env::current_exe()?,
            home: TempDir::new()?,
            empty: TempDir::new()?,
            repository: TempDir::new()?,
        };
        fill(arena.repository.path())?;
        Ok(arena)
    }

    /// A server that checks nothing and keeps no bodies, so that it costs both contestants the same.
    pub(super) fn server() -> ModelServer {
        ModelServer::builder().validate(false).keep_bodies(false).start()
    }

    /// The home directory of both.
    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(super) fn command(&self, who: Contestant<'_>, directory: Directory, server: &ModelServer) -> Command {
        let dir = match directory {
            Directory::Empty => self.empty.path(),
            Directory::Repository => self.repository.path(),
        };
        let mut command = match who {
            Contestant::Tiller(words) => {
                let mut tiller = Command::new(&self.tiller);
                tiller.args(words);
                tiller
            }
            Contestant::Floor(words) => {
                let mut floor = Command::new(&self.floor);
                floor.args(["bench", "floor"]).args(words);
                floor
            }
        };
        command
            .current_dir(dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("ANTHROPIC_BASE_URL", server.url())
            .env("ANTHROPIC_API_KEY", server.key())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }
}

/// A run that is going on, and when it was started.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) started: Instant,
}

impl Running {
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let started = Instant::now();
        let child =
            command.spawn().with_context(|| format!("{:?} could not be started", command.get_program()))?;
        Ok(Self { child, started })
    }

    /// Waits for success; gives the moment of the end.
    pub(super) fn finish(mut self) -> anyhow::Result<Instant> {
        let status = self.child.wait()?;
        let ended = Instant::now();
        if !status.success() {
            bail!("a benchmarked program failed ({status}); its complaint is above");
        }
        Ok(ended)
    }
}

/// The size of a request's body.
pub(super) fn body_size(request: &Captured) -> usize {
    request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or_default()
}

fn fill(repository: &Path) -> anyhow::Result<()> {
    for number in 1..=30 {
        fs_err::write(repository.join(format!("file_{number}.txt")), "A line.\n".repeat(50))?;
    }
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"];
        must_succeed(command(repository, "git", &[&who, words].concat()))
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "First"])?;
    Ok(fs_err::write(repository.join("file_1.txt"), "Changed.\n")?)
}
