//! A hermetic place to run the binary in.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tiller_testkit::ModelServer;

/// Nothing a test waits for takes longer than this, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A scripted model, an empty home and a project.
pub(crate) struct World {
    pub(crate) server: ModelServer,
    home: TempDir,
    project: TempDir,
    vars: Vec<(String, String)>,
}

/// What a finished run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: ExitStatus,
}

/// A run that is going on.
pub(crate) struct Live {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(ModelServer::start())
    }

    pub(crate) fn with(server: ModelServer) -> Self {
        let temp = || TempDir::new().unwrap();
        Self { server, home: temp(), project: temp(), vars: Vec::new() }
    }

    /// Sets a variable for all runs.
    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.push((name.to_owned(), value.to_owned()));
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_tiller"));
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
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
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

    /// Runs `-p` with stream-json output and everything allowed; gives the frames.
    pub(crate) fn stream(&self, prompt: &str) -> Vec<Value> {
        self.run(&stream_args(prompt)).frames()
    }

    /// Starts a run and leaves it going.
    pub(crate) fn start(&self, args: &[&str]) -> Live {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Live { child, stdin, lines }
    }
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

impl Live {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of output as JSON.
    #[track_caller]
    pub(crate) fn frame(&mut self) -> Value {
        let line = self.lines.recv_timeout(DEADLINE).expect("the run printed nothing more");
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for a frame; gives all up to it.
    #[track_caller]
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.frame());
            if frames.last().is_some_and(&wanted) {
                return frames;
            }
        }
    }

    pub(crate) fn send(&mut self, frame: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{frame}").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Closes standard input and waits for the end; gives the remaining frames and the exit code.
    pub(crate) fn finish(mut self) -> (Vec<Value>, i32) {
        self.close_stdin();
        let mut frames = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            frames.push(serde_json::from_str(&line).unwrap());
        }
        let status = self.child.wait().unwrap();
        (frames, status.code().unwrap_or(-1))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The entries of a log.
pub(crate) fn entries(log: &Path) -> Vec<Value> {
    let text = fs_err::read_to_string(log).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let result = blocks.filter(|block| block["tool_use_id"] == call).next_back();
    let result = result.unwrap_or_else(|| panic!("no result of {call} in {request:#}"));
    match &result["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
