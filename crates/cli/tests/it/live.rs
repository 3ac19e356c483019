//! A run that is talked to while it goes on.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::harness::DEADLINE;

/// A run that is going on.
pub(crate) struct Live {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    stderr: Option<JoinHandle<String>>,
}

/// What a run that was going on left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    /// Frames that had not been looked at.
    pub(crate) frames: Vec<Value>,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}
impl Live {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut errors = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            errors.read_to_string(&mut text).unwrap();
            text
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, stderr: Some(stderr) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of output as JSON.
    #[track_caller]
    pub(crate) fn frame(&mut self) -> Value {
        let line = self.lines.recv_timeout(DEADLINE).expect("the run printed nothing more");
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for the end of the turn; gives all frames up to the result.
    #[track_caller]
    pub(crate) fn turn(&mut self) -> Vec<Value> {
        self.until(|frame| frame["type"] == "result")
    }

    /// Sends a control request and waits for its answer.
    #[track_caller]
    pub(crate) fn request(&mut self, request: &Value) -> Value {
        self.send(&json!({"type": "control_request", "request_id": "r", "request": request}));
        let mut frames = self.until(|frame| frame["type"] == "control_response");
        let response = frames.pop().unwrap()["response"].take();
        assert_eq!(response["request_id"], "r");
        response
    }

    /// Waits for a permission question; gives it.
    #[track_caller]
    pub(crate) fn question(&mut self) -> Value {
        let mut frames = self.until(|frame| frame["request"]["subtype"] == "can_use_tool");
        frames.pop().unwrap()
    }

    /// Answers a question.
    pub(crate) fn answer(&mut self, question: &Value, answer: &Value) {
        let response =
            json!({"subtype": "success", "request_id": question["request_id"], "response": answer});
        self.send(&json!({"type": "control_response", "response": response}));
    }

    /// Sends a user message.
    pub(crate) fn say(&mut self, text: &str) {
        self.send(&user(text));
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

    /// Closes standard input and waits for the end.
    pub(crate) fn finish(mut self) -> Finished {
        self.close_stdin();
        self.wait()
    }

    /// Waits for the end, with standard input left as it is.
    pub(crate) fn wait(mut self) -> Finished {
        let mut frames = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(DEADLINE) {
            frames.push(serde_json::from_str(&line).unwrap());
        }
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let stderr = self.stderr.take().unwrap().join().unwrap();
        Finished { frames, stderr, code }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Finished {
    /// The last frame, which has to be a result, and the exit code.
    #[track_caller]
    pub(crate) fn result(&self) -> (&Value, i32) {
        let last = self.frames.last().unwrap_or_else(|| panic!("no frames: {self:#?}"));
        assert_eq!(last["type"], "result", "{self:#?}");
        (last, self.code)
    }
}

/// A user message.
pub(crate) fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": null, "session_id": ""})
}
