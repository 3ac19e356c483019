//! A hermetic place to run the binary in.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tiller_testkit::ModelServer;

use crate::live::Live;
use crate::replayed::replay_all;
pub(crate) use tiller_testenv::{eventually, processes_with, write_program};

/// Nothing a test waits for takes longer than this, even on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A scripted model, an empty home and a project.
pub(crate) struct World {
    pub(crate) server: ModelServer,
    home: TempDir,
    project: TempDir,
    vars: Vec<(String, String)>,
    kernel: Kernel,
}

/// What the kernel lets the binary use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// All that this one has.
    AsItIs,
    /// Neither namespaces nor Landlock, as on old kernels and in narrow containers.
    ConfinesNothing,
}

/// Refuses what confinement is made of, then becomes the program that it is given.
const CONFINES_NOTHING: &str = include_str!("confines_nothing.py");

/// What a finished run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

/// Whatever a test is about: what it recorded can be replayed.
impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            replay_all(&self.config_dir());
        }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(ModelServer::start())
    }

    pub(crate) fn with(server: ModelServer) -> Self {
        let temp = || TempDir::new().unwrap();
        Self { server, home: temp(), project: temp(), vars: Vec::new(), kernel: Kernel::AsItIs }
    }

    /// Sets a variable for all runs.
    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs everything on such a kernel.
    pub(crate) fn on(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Writes a file of the project.
    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        self.write(name, content);
        self
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    /// Writes a program of the project.
    pub(crate) fn program(self, name: &str, content: &str) -> Self {
        self.write(name, "");
        write_program(&self.path(name), content);
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs_err::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// The project, links resolved.
    pub(crate) fn dir(&self) -> PathBuf {
        fs_err::canonicalize(self.project.path()).unwrap()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn config_dir(&self) -> PathBuf {
        self.home.path().join(".tiller")
    }

    /// The logs of the project's sessions, oldest first.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let mut logs = Vec::new();
        collect_logs(&self.config_dir().join("projects"), &mut logs);
        logs.sort();
        logs
    }

    /// The entries of the only session.
    pub(crate) fn log(&self) -> Vec<Value> {
        let logs = self.logs();
        assert_eq!(logs.len(), 1, "{logs:?}");
        entries(&logs[0])
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program_to_run();
        command
            .args(args)
            .current_dir(self.dir())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("ANTHROPIC_BASE_URL", self.server.url())
            .env("ANTHROPIC_API_KEY", self.server.key())
            .env("TILLER_RETRY_BASE_MS", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // Language servers that happen to be installed are none of a test's business.
            .env("TILLER_DIAGNOSTICS", "0")
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn program_to_run(&self) -> Command {
        const BINARY: &str = env!("CARGO_BIN_EXE_tiller");
        match self.kernel {
            Kernel::AsItIs => Command::new(BINARY),
            Kernel::ConfinesNothing => {
                let mut command = Command::new(tiller_testenv::python());
                command.args(["-I", "-S", "-c", CONFINES_NOTHING, BINARY]);
                command
            }
        }
    }

    /// Runs to the end.
    pub(crate) fn run(&self, args: &[&str]) -> Run {
        let output = self.command(args).output().unwrap();
        Run {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            status: output.status,
        }
    }

    /// Runs to the end with text on standard input.
    pub(crate) fn run_with_stdin(&self, args: &[&str], input: &str) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            // A run that answers as it reads waits until its answers are read.
            let writing = scope.spawn(move || stdin.write_all(input.as_bytes()));
            let output = child.wait_with_output().unwrap();
            writing.join().unwrap().unwrap();
            output
        });
        Run {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            status: output.status,
        }
    }

    /// Runs `-p` with stream-json output and everything allowed; gives the frames.
    pub(crate) fn stream(&self, prompt: &str) -> Vec<Value> {
        self.run(&stream_args(prompt)).frames()
    }

    /// Starts a session that is talked to in JSON lines.
    pub(crate) fn talk(&self, extra: &[&str]) -> Live {
        let mut args = vec!["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
        args.extend(extra);
        self.start_with(&args, Stdio::piped())
    }

    /// Starts a run with nothing on standard input and leaves it going.
    pub(crate) fn start(&self, args: &[&str]) -> Live {
        self.start_with(args, Stdio::null())
    }

    pub(crate) fn start_with(&self, args: &[&str], stdin: Stdio) -> Live {
        Live::start(self.command(args).stdin(stdin))
    }
}

/// A directory that no workspace holds: temporary directories belong to every one, and the repository may lie in one.
pub(crate) fn outside_of_workspaces() -> TempDir {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let is_temporary = ["/tmp", "/var/tmp"].iter().any(|dir| target.starts_with(dir));
    let base = if is_temporary { std::env::home_dir().unwrap() } else { target.to_owned() };
    tempfile::tempdir_in(base).unwrap()
}

/// The arguments of a run whose every message is printed.
pub(crate) fn stream_args(prompt: &str) -> [&str; 6] {
    ["-p", prompt, "--output-format", "stream-json", "--permission-mode", "bypassPermissions"]
}

impl Run {
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// Standard output as JSON lines: every line has to be one.
    pub(crate) fn frames(&self) -> Vec<Value> {
        let frame = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        self.stdout.lines().map(frame).collect()
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert!(self.status.success(), "{self:#?}");
        self
    }
}

/// A number of seconds that no other process sleeps for, so that a command can be recognised by it.
pub(crate) fn marker() -> String {
    static GIVEN: AtomicU32 = AtomicU32::new(100_000);
    // As many digits for every process: no marker is the beginning of another one.
    format!("{}.{:010}", GIVEN.fetch_add(1, Ordering::Relaxed), std::process::id())
}

/// The texts of all blocks of a kind in the messages of a request.
pub(crate) fn blocks_of(request: &Value, kind: &str) -> Vec<Value> {
    let messages = request["messages"].as_array().unwrap().iter();
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == kind).cloned().collect()
}

/// The entries of a log; one that is just being written is left out.
pub(crate) fn entries(log: &Path) -> Vec<Value> {
    let text = fs_err::read_to_string(log).unwrap();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn collect_logs(dir: &Path, logs: &mut Vec<PathBuf>) {
    let Ok(entries) = fs_err::read_dir(dir) else { return };
    for entry in entries.map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            collect_logs(&path, logs);
        } else if path.extension().is_some_and(|ext| ext == "jsonl") {
            logs.push(path);
        }
    }
}

/// Whether a frame carries the result of a call.
pub(crate) fn is_result_of(frame: &Value, call: &str) -> bool {
    frame["message"]["content"][0]["tool_use_id"] == call
}

/// The text of the result of a call, from the request that carries it.
pub(crate) fn result_text(request: &Value, call: &str) -> String {
    let messages = request["messages"].as_array().unwrap();
    let mut blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let result = blocks.rfind(|block| block["tool_use_id"] == call);
    let result = result.unwrap_or_else(|| panic!("no result of {call} in {request:#}"));
    match &result["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Whether commands are held by namespaces here. Where they are not, tests of what only these can do are left out: that
/// is said past the capture of output, which would hide it, and is a failure if `TILLER_REQUIRE_NAMESPACES` is set.
pub(crate) fn held_by_namespaces() -> bool {
    let support = tiller_sandbox::probe();
    let held = support.level == tiller_sandbox::Level::Namespaces;
    if !held {
        let reasons = support.reasons.join("; ");
        let required = std::env::var_os("TILLER_REQUIRE_NAMESPACES").is_some();
        assert!(!required, "namespaces are required, and there are none: {reasons}");
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        _ = writeln!(std::io::stderr(), "{test} skipped: namespaces cannot hold commands here: {reasons}");
    }
    held
}
