//! How a command went, and what the model is told of it.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tiller_protocol::effect::Effect;
use tiller_sandbox::{Captured, Confinement, Exit, Level, Status};

use super::clean::clean;
use super::refusal::{Refusal, Witness, refusal};
use super::report::Shown;
use crate::cx::ToolCx;
use crate::tool::{Done, ToolError};

/// Why a command was ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Interrupted,
    TimedOut(Duration),
}

/// How a command went.
pub(super) struct Outcome {
    pub(super) exit: Exit,
    pub(super) stop: Option<Stop>,
    pub(super) stdout: Captured,
    pub(super) stderr: Captured,
    pub(super) took: Duration,
    /// By which means it was held.
    pub(super) level: Level,
}

impl Outcome {
    /// What its confinement refused, if it failed because of that.
    pub(super) fn refused(&self, confinement: &Confinement, cx: &ToolCx) -> Option<Refusal> {
        if self.succeeded() || self.stop.is_some() {
            return None;
        }
        let streams = [&self.stdout, &self.stderr];
        let output = streams.map(|stream| clean(&[stream.head.as_slice(), &stream.tail].concat()));
        let (level, unreached) = (self.level, self.exit.unreached);
        let witness = Witness { confinement, level, unreached, vars: &cx.env.vars, cwd: &cx.view.cwd };
        refusal(&output.join("\n"), &witness)
    }

    fn succeeded(&self) -> bool {
        self.stop.is_none() && self.exit.status == Status::Code(0)
    }

    /// The result, with a remark about the confinement if there is one.
    pub(super) async fn told(self, cx: &ToolCx, remark: Option<String>) -> Result<Done, ToolError> {
        let shown = Shown::new(&self.stdout, &self.stderr, &cx.view, &cx.call);
        let moved = self.new_dir(cx).await;
        let mut lines = vec![shown.text()];
        lines.extend(self.remarks());
        lines.extend(remark);
        lines.extend(moved.as_ref().map(|dir| format!("[the working directory is now {}]", dir.display())));
        lines.retain(|line| !line.is_empty());
        let text = if lines.is_empty() { "(no output)".to_owned() } else { lines.join("\n") };
        let mut done = Done::text(&text).with_detail(self.detail(&shown));
        done.effects.extend(moved.map(|path| Effect::ChangeDir { path }));
        if self.succeeded() { Ok(done) } else { Err(ToolError::Failed(done)) }
    }

    /// The directory the command changed to, if it exists and is another one.
    async fn new_dir(&self, cx: &ToolCx) -> Option<PathBuf> {
        let dir = self.exit.dir.as_ref().filter(|dir| **dir != cx.view.cwd)?;
        let dir = tokio::fs::canonicalize(dir).await.ok()?;
        let is_dir = tokio::fs::metadata(&dir).await.is_ok_and(|meta| meta.is_dir());
        (is_dir && dir != cx.view.cwd).then_some(dir)
    }

    fn remarks(&self) -> Vec<String> {
        let end = match self.stop {
            Some(Stop::Interrupted) => Some("[interrupted by the user before it was finished]".to_owned()),
            Some(Stop::TimedOut(limit)) => Some(format!(
                "[timed out after {} ms and was ended; give a longer timeout or use run_in_background]",
                limit.as_millis()
            )),
            None => status_remark(self.exit.status),
        };
        let survivors = (self.exit.survivors > 0)
            .then(|| format!("[{} of its processes could not be ended]", self.exit.survivors));
        end.into_iter().chain(survivors).collect()
    }

    fn detail(&self, shown: &Shown) -> Value {
        let mut detail = json!({
            "stdout": shown.stdout,
            "stderr": shown.stderr,
            "interrupted": self.stop.is_some(),
            "timedOut": matches!(self.stop, Some(Stop::TimedOut(_))),
            "durationMs": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        });
        match self.exit.status {
            Status::Code(code) => detail["exitCode"] = code.into(),
            Status::Signal(signal) => detail["signal"] = signal.into(),
            Status::NotRun(_) | Status::Lost => {}
        }
        if !shown.files.is_empty() {
            detail["files"] = json!(shown.files);
        }
        detail
    }
}

fn status_remark(status: Status) -> Option<String> {
    match status {
        Status::Code(0) => None,
        Status::Code(code) => Some(format!("[exit code {code}]")),
        Status::Signal(signal) => Some(format!("[ended by signal {signal}]")),
        Status::NotRun(errno) => {
            Some(format!("[the shell could not be run: {}]", std::io::Error::from_raw_os_error(errno)))
        }
        Status::Lost => Some(
            "[the command attacked the process that supervises it; everything it started was ended]"
                .to_owned(),
        ),
    }
}
