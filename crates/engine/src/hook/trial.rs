//! Hooks tried out without a session: what would run at an event, what it would do, and what that would mean.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tiller_config::{HookEvent, OnFailure};
use tiller_model::Model;
use tiller_protocol::compaction::Trigger;
use tiller_protocol::env::Env;
use tiller_protocol::hook::HookEnd;
use tiller_protocol::id::{AgentId, CallId, SessionId};
use tiller_protocol::mode::Mode;
use tokio_util::sync::CancellationToken;

use super::case::{Case, subject_field};
use super::combine::{Finished, meaning};
use super::matcher::Matcher;
use super::occasion::{Agent, Ending, Moment, Occasion, StartSource};
use super::outcome::{AsyncResponse, Conclusion, HookRun, Outcome};
use super::registered::{Registered, Runnable, Work, select};
use super::{HookSettings, Hooks, Judge, Parts};
use crate::beside::small_question;

/// What is to be tried out.
pub struct HookTrial<'a> {
    /// The hooks.
    pub settings: &'a HookSettings,
    /// The event.
    pub event: HookEvent,
    /// What matchers are compared with; without it, that of a made-up example.
    pub subject: Option<String>,
    /// Fields that replace those of the made-up input.
    pub input: Map<String, Value>,
    /// Variables, ids and the directory to be in.
    pub env: &'a Env,
    /// The model that answers prompt hooks, with its name.
    pub model: Option<(Arc<dyn Model>, String)>,
}

/// A hook as it stands in the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedHook {
    /// When it runs.
    pub event: HookEvent,
    /// For which cases.
    pub matcher: String,
    /// What is wrong with the matcher; then the hook never runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// `command` or `prompt`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The command or the question.
    pub hook: String,
    /// The file it stands in.
    pub source: String,
    /// The longest time it may take, in seconds.
    pub timeout: u64,
    /// Whether nobody waits for it.
    #[serde(rename = "async")]
    pub detached: bool,
    /// What it means when it fails.
    pub on_failure: OnFailure,
}

/// A hook that was tried out.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriedHook {
    /// The hook.
    #[serde(flatten)]
    pub hook: ListedHook,
    /// Whether it is for this case.
    pub matched: bool,
    /// What it did. Of identical hooks only the first runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<TriedRun>,
}

/// What a hook did when it was tried out.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriedRun {
    /// How it ended.
    pub end: &'static str,
    /// Whether it did what a hook may do.
    pub behaved: bool,
    /// The command's exit code.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
    /// What it printed, bounded.
    pub stdout: String,
    /// What it complained of, bounded.
    pub stderr: String,
    /// What it would mean in a session.
    pub meaning: Vec<String>,
}

/// A finished trial.
#[derive(Clone, Debug, Serialize)]
pub struct TrialReport {
    /// The event.
    pub event: HookEvent,
    /// What the hooks were told.
    pub input: Value,
    /// All hooks of the event, in their order.
    pub hooks: Vec<TriedHook>,
}

/// All hooks, in the order in which they count.
#[must_use]
pub fn list_hooks(settings: &HookSettings) -> Vec<ListedHook> {
    Registered::of_settings(settings).iter().map(listed).collect()
}

fn listed(entry: &Registered) -> ListedHook {
    let hook = &entry.hook;
    ListedHook {
        event: entry.event,
        matcher: entry.matcher_text.clone(),
        problem: match entry.matcher.as_ref() {
            Matcher::Invalid(invalid) => Some(invalid.why.clone()),
            _ => None,
        },
        kind: hook.kind(),
        hook: hook.name().to_owned(),
        source: hook.source.clone(),
        timeout: hook.limit().as_secs(),
        detached: matches!(hook.work, Work::Command { detached: true, .. }),
        on_failure: hook.on_failure,
    }
}

impl HookTrial<'_> {
    /// Runs what matches, really, and says what came of it.
    pub async fn run(self) -> TrialReport {
        let cwd = self.env.cwd.clone();
        let hooks = self.hooks();
        let case = self.case();
        let entries = &hooks.0.settings;
        let selected = select(entries.iter(), &case);
        let surroundings = hooks.surroundings(case.clone(), cwd, &CancellationToken::new());
        let finished = join_all(selected.iter().map(|hook| surroundings.run(hook).boxed())).await;
        hooks.0.background.wait().await;
        let mut later = hooks.take_async_responses();
        let mut runs: Vec<(Arc<Runnable>, TriedRun)> = Vec::new();
        for (hook, finished) in selected.into_iter().zip(finished) {
            let run = tried(&case, finished, &mut later);
            runs.push((hook, run));
        }
        let tried = |entry: &Registered| {
            let of_this = |(hook, _): &(Arc<Runnable>, TriedRun)| hook.is_the_same_as(&entry.hook);
            let matched = entry.matcher.matches(case.subject());
            let run = runs.iter().position(of_this).filter(|_| matched).map(|at| runs.remove(at).1);
            TriedHook { hook: listed(entry), matched, run }
        };
        let hooks = entries.iter().filter(|entry| entry.event == case.event).map(tried).collect();
        TrialReport { event: case.event, input: case.value(), hooks }
    }

    fn hooks(&self) -> Hooks {
        let judge = SmallModel(self.model.clone());
        Hooks::new(
            self.settings,
            Parts {
                env: self.env.clone(),
                project_dir: self.env.cwd.clone(),
                session: SessionId(self.env.fresh()),
                transcript: PathBuf::new(),
                judge: Arc::new(judge),
                started: Arc::new(|_| {}),
            },
        )
    }

    fn case(&self) -> Case {
        let moment = Moment { cwd: self.env.cwd.clone(), mode: Mode::Default, agent: None };
        let (id, kind) = (AgentId::from("agent_example"), "general-purpose".to_owned());
        let agent = Agent { id, kind, description: "an example".to_owned() };
        let (tool_input, response) = (json!({"command": "echo example"}), json!({"stdout": "example"}));
        let call = CallId::from("toolu_example");
        let occasion = example(self.event, &tool_input, &response, &call, &agent);
        let mut case = Case::new(occasion, &moment, (self.env.fresh().to_string(), ""));
        if let (Some(field), Some(subject)) = (subject_field(self.event), &self.subject) {
            case.input.insert(field.to_owned(), json!(subject));
        }
        case.input.extend(self.input.clone());
        case.is_mcp = case.subject().is_some_and(|tool| tool.starts_with("mcp__"));
        case
    }
}

/// A made-up case of an event.
fn example<'a>(
    event: HookEvent,
    input: &'a Value,
    response: &'a Value,
    call: &'a CallId,
    agent: &'a Agent,
) -> Occasion<'a> {
    let tool = "Bash";
    match event {
        HookEvent::PreToolUse => Occasion::PreToolUse { tool, input, call },
        HookEvent::PostToolUse => Occasion::PostToolUse { tool, input, call, response, is_mcp: false },
        HookEvent::PostToolUseFailure => {
            Occasion::PostToolUseFailure { tool, input, call, error: "exit code 1", is_interrupt: false }
        }
        HookEvent::UserPromptSubmit => Occasion::UserPromptSubmit { prompt: "example" },
        HookEvent::SessionStart => Occasion::SessionStart { source: StartSource::Startup, model: "example" },
        HookEvent::SessionEnd => Occasion::SessionEnd { reason: Ending::Other },
        HookEvent::SubagentStart => Occasion::SubagentStart { agent },
        HookEvent::SubagentStop => {
            Occasion::SubagentStop { agent, transcript: Path::new(""), stop_hook_active: false }
        }
        HookEvent::Stop => Occasion::Stop { stop_hook_active: false },
        HookEvent::PreCompact => Occasion::PreCompact { trigger: Trigger::Manual, custom_instructions: "" },
        HookEvent::Notification => Occasion::Notification { message: "example", kind: "permission_prompt" },
        HookEvent::PermissionRequest => {
            Occasion::PermissionRequest { tool, input, suggestions: &Value::Null }
        }
    }
}

fn tried(case: &Case, finished: Finished, later: &mut Vec<AsyncResponse>) -> TriedRun {
    let mut outcome = Outcome::default();
    let run = outcome.take(case, finished);
    let response = later.iter().position(|response| response.run.hook_name == run.hook_name);
    let Some(AsyncResponse { run: last, attachment, notice, .. }) =
        response.filter(|_| run.conclusion == Conclusion::RunsOn).map(|at| later.remove(at))
    else {
        return TriedRun::new(&run, meaning(&outcome));
    };
    outcome.attachments.extend(attachment);
    outcome.notices.extend(notice);
    let mut says = vec!["runs in the background and decides nothing".to_owned()];
    says.extend(meaning(&outcome));
    TriedRun::new(&last, says)
}

impl TriedRun {
    fn new(run: &HookRun, mut meaning: Vec<String>) -> Self {
        if meaning.is_empty() && run.conclusion == Conclusion::Success {
            meaning.push("has no objection".to_owned());
        }
        let end = run.record(None).map_or(HookEnd::Detached, |record| record.end);
        Self {
            end: end.name(),
            behaved: !matches!(run.conclusion, Conclusion::Failed(_) | Conclusion::TimedOut),
            exit_code: run.exit_code,
            duration_ms: u64::try_from(run.duration.as_millis()).unwrap_or(u64::MAX),
            stdout: run.stdout.clone(),
            stderr: run.stderr.clone(),
            meaning,
        }
    }
}

/// The model that prompt hooks ask when they are tried out.
struct SmallModel(Option<(Arc<dyn Model>, String)>);

impl Judge for SmallModel {
    fn ask(&self, prompt: String) -> BoxFuture<'static, Result<String, String>> {
        let model = self.0.clone();
        async move {
            let (model, name) = model.ok_or("there is no model to ask")?;
            let answer = model.complete(small_question(&name, &prompt)).await;
            answer.map(|answer| answer.text()).map_err(|error| error.to_string())
        }
        .boxed()
    }
}
