//! `Bash`: runs a command to its end, or starts it in the background.

pub(crate) mod clean;
pub(crate) mod report;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tiller_policy::{Access, Script, is_read_only_command};
use tiller_protocol::effect::Effect;
use tiller_sandbox::{
    Child, Confinement, Exit, Output, Profile, SandboxError, Spawn, Spool, SpoolStart, Status, Stdin, spawn,
    spawn_confined,
};

use self::clean::clean;
use self::report::Shown;
use crate::cx::{ToolCx, View};
use crate::lenient::Integer;
use crate::tool::{Description, Done, Tool, ToolError};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
/// The shortest time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Settings under which looking at a repository runs no program of its choice.
const HARMLESS_GIT: [(&str, &str); 3] =
    [("core.fsmonitor", "false"), ("safe.bareRepository", "explicit"), ("core.pager", "cat")];
/// Bytes of output that a report of progress shows.
const PROGRESS_BYTES: usize = 2_000;

/// Runs a command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

/// What `Bash` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashInput {
    /// The command.
    command: String,
    /// What it does, in five to ten words.
    #[serde(default)]
    #[expect(dead_code, reason = "for the user, who sees the input")]
    description: Option<String>,
    /// Time limit in milliseconds, at most 600000.
    #[serde(default)]
    timeout: Option<Integer>,
    /// Return at once and let it run on.
    #[serde(default)]
    run_in_background: bool,
}

impl BashInput {
    fn limit(&self) -> Duration {
        let asked = self.timeout.and_then(|Integer(ms)| u64::try_from(ms).ok()).filter(|ms| *ms > 0);
        Duration::from_millis(asked.unwrap_or(DEFAULT_TIMEOUT_MS).min(MAX_TIMEOUT_MS))
    }
}

impl Tool for Bash {
    const NAME: &'static str = "Bash";
    const RESULT_LIMIT: usize = report::LIMIT;
    type Input = BashInput;

    fn describe(&self) -> Description {
        Description::new("Runs a shell command", include_str!("prompt.md"))
    }

    fn read_only(&self, input: &BashInput) -> bool {
        !input.run_in_background && is_read_only_command(&input.command)
    }

    fn validate(&self, input: &BashInput, view: &View) -> Result<(), String> {
        if input.command.trim().is_empty() {
            return Err("The command is empty. Give a command to run.".to_owned());
        }
        if let Some(mask) = view.secrets.mentioned(&input.command) {
            return Err(format!(
                "{mask} stands for a secret, and commands do not get the real value. Let the command take it from \
                 where it is (a file, a variable), or use Edit or Write to change the file that holds it."
            ));
        }
        Ok(())
    }

    fn access(&self, input: &BashInput, view: &View) -> Vec<Access> {
        vec![Access::Exec(Script { command: input.command.clone(), cwd: view.cwd.clone() })]
    }

    async fn run(&self, input: BashInput, cx: ToolCx) -> Result<Done, ToolError> {
        if cx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        if input.run_in_background && cx.permit.profile() == Profile::ReadOnly {
            return Err(ToolError::model(
                "While planning, commands run to their end: leave run_in_background out, or wait until the plan is approved.",
            ));
        }
        if input.run_in_background { start(&cx) } else { run(&input, &cx).await }
    }
}

impl From<SandboxError> for ToolError {
    fn from(error: SandboxError) -> Self {
        Self::Model(error.to_string())
    }
}

fn start(cx: &ToolCx) -> Result<Done, ToolError> {
    let shell = cx.shells.start(&cx.permit, &cx.call, &cx.view.spill_dir)?;
    let text = format!(
        "Running in the background as {id}. BashOutput with bash_id {id} shows what it prints, KillShell ends it.",
        id = shell.id
    );
    Ok(Done::text(&text)
        .with_detail(json!({"stdout": "", "stderr": "", "interrupted": false, "backgroundTaskId": shell.id})))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Interrupted,
    TimedOut(Duration),
}

async fn run(input: &BashInput, cx: &ToolCx) -> Result<Done, ToolError> {
    let spool = Spool { dir: cx.view.spill_dir.clone(), start: SpoolStart::WhenFull };
    let vars = variables(cx)?;
    let spec = Spawn { call: &cx.call, vars: &vars, stdin: Stdin::Closed, spool };
    let started = Instant::now();
    let child = launch(cx, &spec)?;
    let output = child.output();
    let limit = input.limit();
    let stop = async {
        tokio::select! {
            () = cx.cancel.cancelled() => Stop::Interrupted,
            () = tokio::time::sleep(limit) => Stop::TimedOut(limit),
        }
    };
    let (exit, stop) = tokio::select! {
        ended = child.finish(stop) => ended,
        never = report_progress(&output, cx, started) => match never {},
    };
    Outcome { exit, stop, output, took: started.elapsed() }.told(cx).await
}

/// Starts the command as it was permitted: in the kernel's read-only confinement, or freely.
fn launch(cx: &ToolCx, spec: &Spawn<'_>) -> Result<Child, SandboxError> {
    if cx.permit.profile() != Profile::ReadOnly {
        return spawn(&cx.permit, spec);
    }
    spawn_confined(&cx.permit, spec, &Confinement::new(Profile::ReadOnly, cx.view.roots.clone()))
}

/// The command's variables. A command that runs unasked because it only looks must not run what the configuration of a
/// repository names.
fn variables(cx: &ToolCx) -> Result<Cow<'_, BTreeMap<String, String>>, ToolError> {
    if !is_read_only_command(&cx.permit.script()?.command) {
        return Ok(Cow::Borrowed(&cx.env.vars));
    }
    let mut vars = BTreeMap::clone(&cx.env.vars);
    vars.insert("GIT_CONFIG_COUNT".to_owned(), HARMLESS_GIT.len().to_string());
    for (at, (key, value)) in HARMLESS_GIT.iter().enumerate() {
        vars.insert(format!("GIT_CONFIG_KEY_{at}"), (*key).to_owned());
        vars.insert(format!("GIT_CONFIG_VALUE_{at}"), (*value).to_owned());
    }
    vars.insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
    Ok(Cow::Owned(vars))
}

/// Tells the front end what a running command prints: at once, then at most every so often.
async fn report_progress(output: &Output, cx: &ToolCx, started: Instant) -> Infallible {
    loop {
        output.grown().await;
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let shown = clean(&output.last(PROGRESS_BYTES));
        let data = json!({"type": "bash_progress", "output": shown, "totalBytes": output.total(), "elapsedMs": elapsed});
        cx.host.progress(data);
        tokio::time::sleep(PROGRESS_EVERY).await;
    }
}

/// How a command went.
struct Outcome {
    exit: Exit,
    stop: Option<Stop>,
    output: Output,
    took: Duration,
}

impl Outcome {
    async fn told(self, cx: &ToolCx) -> Result<Done, ToolError> {
        let (stdout, stderr) = self.output.take();
        let shown = Shown::new(&stdout, &stderr, &cx.view, &cx.call);
        let moved = self.new_dir(cx).await;
        let mut lines = vec![shown.text()];
        lines.extend(self.remarks());
        lines.extend(moved.as_ref().map(|dir| format!("[the working directory is now {}]", dir.display())));
        lines.retain(|line| !line.is_empty());
        let text = if lines.is_empty() { "(no output)".to_owned() } else { lines.join("\n") };
        let mut done = Done::text(&text).with_detail(self.detail(&shown));
        done.effects.extend(moved.map(|path| Effect::ChangeDir { path }));
        let succeeded = self.stop.is_none() && self.exit.status == Status::Code(0);
        if succeeded { Ok(done) } else { Err(ToolError::Failed(done)) }
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
