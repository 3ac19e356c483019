//! The scratch repository of the demo.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use tiller_protocol::env::Env;

/// The files of the project, with whether they can be run.
const FILES: [(&str, &str, bool); 3] = [
    ("version.sh", include_str!("project/version.sh"), false),
    ("test.sh", include_str!("project/test.sh"), true),
    ("AGENTS.md", include_str!("project/AGENTS.md"), false),
];

/// A repository with a failing test.
pub(crate) struct Scene {
    pub(crate) dir: PathBuf,
}

impl Scene {
    /// Makes the repository in a fresh temporary directory, which stays.
    pub(crate) fn build(env: &Env) -> anyhow::Result<Self> {
        let temp = env.var("TMPDIR").unwrap_or("/tmp");
        let dir = tempfile::Builder::new().prefix("tiller-demo-").tempdir_in(temp)?.keep();
        let dir = fs_err::canonicalize(dir)?;
        for (name, text, executable) in FILES {
            let path = dir.join(name);
            fs_err::write(&path, text)?;
            if executable {
                fs_err::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
            }
        }
        let scene = Self { dir };
        scene.git(&["init", "--quiet", "--initial-branch=main"])?;
        scene.git(&["add", "--all"])?;
        scene.git(&[
            "-c",
            "user.name=Tiller demo",
            "-c",
            "user.email=demo@localhost",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "--quiet",
            "--no-verify",
            "-m",
            "Compare version numbers",
        ])?;
        Ok(scene)
    }

    /// What has changed since the beginning.
    pub(crate) fn diff(&self) -> anyhow::Result<String> {
        self.git(&["--no-pager", "diff", "--no-ext-diff", "--no-color"])
    }

    fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output =
            git(&self.dir, arguments).context("the demo needs the program git; install it and try again")?;
        if !output.status.success() {
            bail!("git {} failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn git(dir: &Path, arguments: &[&str]) -> std::io::Result<std::process::Output> {
    Command::new("git")
        .args(arguments)
        .current_dir(dir)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .output()
}
