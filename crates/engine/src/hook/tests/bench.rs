//! A place to run hooks in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_config::{HookEvent, HookGroup, Layer, Origin, Sourced};
use tiller_protocol::env::Env;
use tiller_protocol::id::{AgentId, CallId, SessionId};
use tiller_protocol::mode::Mode;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::hook::occasion::Agent;
use crate::hook::{Ending, Hooks, Judge, Moment, Occasion, Outcome, Parts, StartSource};
use crate::still;
use tiller_protocol::compaction::Trigger;

/// The file that the hooks of a bench are said to stand in.
pub(super) const SOURCE: &str = "/p/.tiller/settings.json";

pub(super) struct Bench {
    dir: TempDir,
}

/// A model that always says the same.
struct Parrot(Result<String, String>);

impl Judge for Parrot {
    fn ask(&self, _: String) -> BoxFuture<'static, Result<String, String>> {
        let answer = self.0.clone();
        async move { answer }.boxed()
    }
}

impl Bench {
    pub(super) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self) -> PathBuf {
        fs_err::canonicalize(self.dir.path()).unwrap()
    }

    pub(super) fn read(&self, file: &str) -> String {
        fs_err::read_to_string(self.path().join(file)).unwrap()
    }

    /// A text that only processes of this bench have on their command line.
    pub(super) fn tag(&self) -> String {
        self.path().file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub(super) fn moment(&self) -> Moment {
        Moment { cwd: self.path(), mode: Mode::AcceptEdits, agent: None }
    }

    /// The hooks of these settings.
    pub(super) fn hooks(&self, settings: Value) -> Hooks {
        self.hooks_judged(settings, Err("nobody is there".to_owned()))
    }

    pub(super) fn hooks_judged(&self, settings: Value, answer: Result<String, String>) -> Hooks {
        self.hooks_with(settings, Arc::new(Parrot(answer)))
    }

    pub(super) fn hooks_with(&self, settings: Value, judge: Arc<dyn Judge>) -> Hooks {
        self.hooks_of_project(settings, judge, "/the/project".into())
    }

    /// The hooks of a session that was started where the bench is.
    pub(super) fn hooks_here(&self, settings: Value) -> Hooks {
        self.hooks_of_project(settings, Arc::new(Parrot(Err("nobody is there".to_owned()))), self.path())
    }

    fn hooks_of_project(&self, settings: Value, judge: Arc<dyn Judge>, project_dir: PathBuf) -> Hooks {
        let settings: BTreeMap<HookEvent, Vec<HookGroup>> = serde_json::from_value(settings).unwrap();
        let sourced = |group| Sourced {
            value: group,
            origin: Origin { layer: Layer::Project, file: Some(SOURCE.into()) },
        };
        let settings = settings
            .into_iter()
            .map(|(event, groups)| (event, groups.into_iter().map(sourced).collect()))
            .collect();
        Hooks::new(
            &settings,
            Parts {
                env: self.env(),
                project_dir,
                session: SessionId(Uuid::from_u128(7)),
                transcript: "/logs/session.jsonl".into(),
                judge,
                started: Arc::new(|_| {}),
            },
        )
    }

    fn env(&self) -> Env {
        let mut vars: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        vars.insert("ANTHROPIC_API_KEY".to_owned(), "secret".to_owned());
        vars.insert("GITHUB_TOKEN".to_owned(), "of the user".to_owned());
        still::env(vars, &self.path())
    }

    /// Runs one command at an event.
    pub(super) async fn run(&self, event: HookEvent, command: &str) -> Outcome {
        self.run_hook(event, json!({"type": "command", "command": command})).await
    }

    /// Runs one hook at an event.
    pub(super) async fn run_hook(&self, event: HookEvent, hook: Value) -> Outcome {
        self.run_at(&self.hooks(one(event, &hook)), event).await
    }

    /// Runs hooks at an example of an event.
    pub(super) async fn run_at(&self, hooks: &Hooks, event: HookEvent) -> Outcome {
        let input = json!({"command": "ls"});
        let response = json!({"stdout": "a"});
        let call = CallId::from("toolu_1");
        let agent = Agent { id: AgentId::from("a1"), kind: "Explore".to_owned(), description: String::new() };
        let occasion = occasion(event, &input, &response, &call, &agent);
        hooks.run(occasion, &self.moment(), &CancellationToken::new()).await
    }
}

/// Settings with one hook.
pub(super) fn one(event: HookEvent, hook: &Value) -> Value {
    json!({event.name(): [{"hooks": [hook]}]})
}

/// A command that prints JSON.
pub(super) fn says(value: &Value) -> String {
    format!("cat <<'END'\n{value}\nEND")
}

pub(super) fn occasion<'a>(
    event: HookEvent,
    input: &'a Value,
    response: &'a Value,
    call: &'a CallId,
    agent: &'a Agent,
) -> Occasion<'a> {
    let tool = "Bash";
    match event {
        HookEvent::PreToolUse => Occasion::PreToolUse { tool, input, call },
        HookEvent::PostToolUse => Occasion::PostToolUse { tool, input, call, response, is_mcp: true },
        HookEvent::PostToolUseFailure => {
            Occasion::PostToolUseFailure { tool, input, call, error: "broken", is_interrupt: true }
        }
        HookEvent::UserPromptSubmit => Occasion::UserPromptSubmit { prompt: "do it" },
        HookEvent::SessionStart => Occasion::SessionStart { source: StartSource::Compact, model: "m" },
        HookEvent::SessionEnd => Occasion::SessionEnd { reason: Ending::PromptInputExit },
        HookEvent::SubagentStart => Occasion::SubagentStart { agent },
        HookEvent::SubagentStop => Occasion::SubagentStop {
            agent,
            transcript: std::path::Path::new("/logs/a1.jsonl"),
            stop_hook_active: true,
        },
        HookEvent::Stop => Occasion::Stop { stop_hook_active: true },
        HookEvent::PreCompact => {
            Occasion::PreCompact { trigger: Trigger::Auto, custom_instructions: "short" }
        }
        HookEvent::Notification => Occasion::Notification { message: "look", kind: "idle_prompt" },
        HookEvent::PermissionRequest => Occasion::PermissionRequest { tool, input, suggestions: response },
    }
}

/// The text of the only notice.
#[track_caller]
pub(super) fn notice(outcome: &Outcome) -> &str {
    let [(_, text)] = outcome.notices.as_slice() else { panic!("{outcome:#?}") };
    text
}
