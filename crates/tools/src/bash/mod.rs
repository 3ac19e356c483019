//! `Bash`: runs a command to its end, or starts it in the background.

mod attempt;
pub(crate) mod clean;
mod outcome;
pub(crate) mod refusal;
mod refused;
pub(crate) mod report;

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::{Access, Permit, Release, Script, is_read_only_command};
use tiller_sandbox::{Confinement, Profile, SandboxError};

use self::attempt::{Attempt, attempt};
use self::refusal::Refusal;
pub use self::refused::Refused;
use crate::cx::{Leave, ToolCx, View};
use crate::lenient::Integer;
use crate::shells::ShellInfo;
use crate::tool::{Description, Done, Tool, ToolError};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;

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
        masked_secret(&input.command, view)
    }

    fn access(&self, input: &BashInput, view: &View) -> Vec<Access> {
        vec![Access::Exec(Script { command: input.command.clone(), cwd: view.cwd.clone() })]
    }

    async fn run(&self, input: BashInput, cx: ToolCx) -> Result<Done, ToolError> {
        if cx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        if input.run_in_background { start(&cx).await } else { run(&input, &cx).await }
    }
}

/// Refuses text for a command that names a masked secret.
pub(crate) fn masked_secret(text: &str, view: &View) -> Result<(), String> {
    let Some(mask) = view.secrets.mentioned(text) else { return Ok(()) };
    Err(format!(
        "{mask} stands for a secret, and commands do not get the real value. Let the command take it from where it is \
         (a file, a variable), or use Edit or Write to change the file that holds it."
    ))
}

impl From<SandboxError> for ToolError {
    fn from(error: SandboxError) -> Self {
        Self::Model(error.to_string())
    }
}

/// How a command is held if it starts now.
async fn confinement(permit: &Permit, cx: &ToolCx) -> Result<Confinement, ToolError> {
    let confinement = cx.host.confinement(permit).await.map_err(ToolError::Model)?;
    if cx.cancel.is_cancelled() { Err(ToolError::Cancelled) } else { Ok(confinement) }
}

async fn start(cx: &ToolCx) -> Result<Done, ToolError> {
    let confinement = confinement(&cx.permit, cx).await?;
    if confinement.profile == Profile::ReadOnly {
        return Err(ToolError::model(
            "While planning, commands run to their end: leave run_in_background out, or wait until the plan is approved.",
        ));
    }
    let shell = cx.shells.start(&cx.permit, &confinement, &cx.call, &cx.view.spill_dir).await?;
    let text = format!(
        "Running in the background as {id}. BashOutput with bash_id {id} shows what it prints, ShellInput types into it, KillShell ends it.",
        id = shell.id
    );
    Ok(Done::text(&text)
        .with_detail(json!({"stdout": "", "stderr": "", "interrupted": false, "backgroundTaskId": shell.id})))
}

/// What the model is told of a command that the user did not want to wait for.
fn moved(shell: &ShellInfo) -> Done {
    let text = format!(
        "The user has moved this command to the background while it was running. It goes on as {id}, without a time \
         limit; you will be told when it has ended. BashOutput with bash_id {id} shows what it has printed, KillShell \
         ends it.",
        id = shell.id
    );
    Done::text(&text).with_detail(json!({"stdout": "", "stderr": "", "interrupted": false,
        "backgroundTaskId": shell.id, "backgroundedByUser": true}))
}

/// Runs the command; if its confinement keeps it from its work, the user may let it run again without.
async fn run(input: &BashInput, cx: &ToolCx) -> Result<Done, ToolError> {
    let held = confinement(&cx.permit, cx).await?;
    let outcome = match attempt(input, &cx.permit, &held, cx).await? {
        Attempt::Ended(outcome) => outcome,
        Attempt::Moved(shell) => return Ok(moved(&shell)),
    };
    let Some(refusal) = outcome.refused(&held, cx) else { return outcome.told(cx, None).await };
    let level = outcome.level;
    let answer = match may_be_left(&refusal, &cx.permit) {
        true => tokio::select! {
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            answer = cx.host.leave(&cx.permit, refusal.kind, refusal.line.clone()) => answer,
        },
        false => Leave::NotAsked,
    };
    match answer {
        Leave::Permitted(permit) => {
            let free = confinement(&permit, cx).await?;
            let again = match attempt(input, &permit, &free, cx).await? {
                Attempt::Ended(outcome) => outcome,
                Attempt::Moved(shell) => return Ok(moved(&shell)),
            };
            let remark = match permit.released() {
                Some(Release::Network) => {
                    "[run again with the network, as the user allowed; this is the output of that run]"
                }
                _ => {
                    "[run again outside of the sandbox, as the user allowed; this is the output of that run]"
                }
            };
            again.told(cx, Some(remark.to_owned())).await
        }
        Leave::Refused(feedback) => {
            let said = feedback.map(|text| format!(" and said: {text}")).unwrap_or_default();
            let no = format!("the user was asked to let it run outside, and refused{said}");
            outcome.told(cx, Some(refusal.remark(&no))).await
        }
        Leave::NotAsked => {
            outcome.told(cx, Some(refusal.remark(refusal.kind.remedy(&cx.permit, &held, level)))).await
        }
    }
}

/// What a rule forbids is forbidden outside, too; and whatever may run outside is held by rules alone.
fn may_be_left(refusal: &Refusal, permit: &Permit) -> bool {
    refusal.kind.release().is_some() && permit.profile() != Profile::Full
}
