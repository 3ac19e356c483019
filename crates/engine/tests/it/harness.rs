//! A session against the scripted server, with a tool that does what the test says.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_config::{HookEvent, HookGroup, Layer, Origin, Sourced};
use tiller_engine::{
    CompactionChoice, Limits, McpChoice, PromptChoice, SandboxChoice, Session, Setup, Start, SteeringChoice,
};
use tiller_model::name::{Names, Provider};
use tiller_model::{Catalog, Model, Thinking, anthropic};
use tiller_policy::{Access, Rules};
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, CallResult, Entry, Outcome};
use tiller_protocol::env::{Clock, Env, Ids};
use tiller_protocol::mode::Mode;
use tiller_sandbox::Level;
use tiller_testkit::ModelServer;
use tiller_tools::{Description, Done, Registry, Tool, ToolCx, ToolError, View};
use tokio::sync::Semaphore;

use crate::replayed::replay_all;

/// Nothing a test waits for takes longer than this, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// Where and how a test's sessions run.
pub(crate) struct Lab {
    pub(crate) server: ModelServer,
    pub(crate) gates: Gates,
    dir: TempDir,
    ids: Arc<Counter>,
}

/// Gates by name, for tools that wait.
#[derive(Clone, Default)]
pub(crate) struct Gates(Arc<Mutex<HashMap<String, Arc<Semaphore>>>>);

impl Gates {
    fn get(&self, name: &str) -> Arc<Semaphore> {
        let mut gates = self.0.lock().unwrap();
        Arc::clone(gates.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(0))))
    }

    /// Lets the probe of that name go on.
    pub(crate) fn open(&self, name: &str) {
        self.get(name).add_permits(1);
    }
}

#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Clock for Counter {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

impl Ids for Counter {
    fn next(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed)) + 1)
    }

    fn random(&self) -> f64 {
        0.5
    }
}

/// A tool whose behaviour is its input.
pub(crate) struct Probe(Gates);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ProbeInput {
    /// What it answers with.
    #[serde(default)]
    say: String,
    /// Waits for the gate of this name first.
    #[serde(default)]
    wait: Option<String>,
    #[serde(default)]
    fail: bool,
    #[serde(default)]
    panic: bool,
    #[serde(default)]
    invalid: bool,
    /// Whether it may run beside others.
    #[serde(default)]
    safe: bool,
    #[serde(default)]
    read_only: bool,
    /// A file it declares to write.
    #[serde(default)]
    writes: Option<PathBuf>,
    /// A directory it changes to.
    #[serde(default)]
    cd: Option<PathBuf>,
    /// Says where it is.
    #[serde(default)]
    pwd: bool,
    /// Answers with an error of its own when it is told to stop.
    #[serde(default)]
    fails_when_stopped: bool,
    /// Goes on when it is told to stop.
    #[serde(default)]
    stubborn: bool,
}

impl Tool for Probe {
    const NAME: &'static str = "Probe";
    type Input = ProbeInput;

    fn describe(&self) -> Description {
        Description::new("A test tool", "Does what the test says.")
    }

    fn parallel(&self, input: &ProbeInput) -> bool {
        input.safe
    }

    fn read_only(&self, input: &ProbeInput) -> bool {
        input.read_only
    }

    fn validate(&self, input: &ProbeInput, _view: &View) -> Result<(), String> {
        if input.invalid { Err("not like this".to_owned()) } else { Ok(()) }
    }

    fn access(&self, input: &ProbeInput, _view: &View) -> Vec<Access> {
        input.writes.iter().cloned().map(|path| Access::Write(path.into())).collect()
    }

    async fn run(&self, input: ProbeInput, cx: ToolCx) -> Result<Done, ToolError> {
        assert!(!input.panic, "the probe was told to panic");
        if let Some(gate) = &input.wait {
            let gate = self.0.get(gate);
            tokio::select! {
                permit = gate.acquire() => permit.unwrap().forget(),
                () = cx.cancel.cancelled(), if input.fails_when_stopped => return Err(ToolError::model("stopped")),
                () = cx.cancel.cancelled(), if !input.stubborn && !input.fails_when_stopped => return Err(ToolError::Cancelled),
            }
        }
        if input.fail {
            return Err(ToolError::model(input.say));
        }
        let say = if input.pwd { cx.view.cwd.display().to_string() } else { input.say };
        let done = Done::text(&say);
        Ok(match input.cd {
            Some(path) => done.with_effect(Effect::ChangeDir { path }),
            None => done,
        })
    }
}

/// Whatever a test is about: what it recorded can be replayed.
impl Drop for Lab {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            replay_all(&self.config_dir(), &self.env(BTreeMap::new()));
        }
    }
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self::with(ModelServer::start())
    }

    /// The same with a server that is otherwise than others.
    pub(crate) fn with(server: ModelServer) -> Self {
        Self { server, gates: Gates::default(), dir: TempDir::new().unwrap(), ids: Arc::default() }
    }

    pub(crate) fn project(&self) -> PathBuf {
        let dir = fs_err::canonicalize(self.dir.path()).unwrap().join("project");
        fs_err::create_dir_all(&dir).unwrap();
        dir
    }

    pub(crate) fn config_dir(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    pub(crate) fn env(&self, vars: BTreeMap<String, String>) -> Env {
        Env {
            clock: Arc::clone(&self.ids) as Arc<dyn Clock>,
            ids: Arc::clone(&self.ids) as Arc<dyn Ids>,
            vars: Arc::new(vars),
            home: self.dir.path().to_owned(),
            cwd: self.project(),
        }
    }

    /// A set-up that allows everything.
    pub(crate) fn setup(&self) -> Setup {
        let env = self.env(self.vars());
        let config = anthropic::Config::from_env(&env).unwrap();
        let model = anthropic::Anthropic::new(config, Catalog::shipped().unwrap(), env).unwrap();
        self.setup_with(Arc::new(model))
    }

    fn vars(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("ANTHROPIC_BASE_URL".to_owned(), self.server.url().to_owned()),
            ("ANTHROPIC_API_KEY".to_owned(), self.server.key().to_owned()),
            ("TILLER_RETRY_BASE_MS".to_owned(), "1".to_owned()),
        ])
    }

    /// The same with a certain model.
    pub(crate) fn setup_with(&self, model: Arc<dyn Model>) -> Setup {
        let env = self.env(self.vars());
        Setup {
            config_dir: self.config_dir(),
            start: Start::New(None),
            additional_dirs: Vec::new(),
            persist: true,
            model,
            names: Names::new(Provider::FirstParty, &env),
            model_setting: None,
            fallback_model: None,
            registry: Registry::default().with(Probe(self.gates.clone())),
            rules: Rules::default(),
            sandbox: SandboxChoice::default(),
            hooks: BTreeMap::default(),
            mode: Some(Mode::BypassPermissions),
            default_mode: Mode::Default,
            bypass_available: true,
            interactive: false,
            mask_secrets: true,
            offline: false,
            prompt: PromptChoice::default(),
            user_context: false,
            limits: Limits::default(),
            agents: Vec::new(),
            recipes: Vec::new(),
            readable: Vec::new(),
            streaming_tools: true,
            stream_events: true,
            thinking: Thinking::ModelDefault,
            effort: None,
            betas: Vec::new(),
            steering: SteeringChoice::default(),
            compaction: CompactionChoice::default(),
            mcp: McpChoice::default(),
            env,
        }
    }

    /// Starts a session and submits a prompt.
    pub(crate) async fn begin(&self, setup: Setup, prompt: &str) -> Watch {
        let session = Session::start(setup).unwrap();
        let watch = Watch { session, seen: Vec::new() };
        watch.send(Command::Submit(UserInput::text(prompt))).await;
        watch
    }

    /// Runs one prompt to the end of its turn.
    pub(crate) async fn turn(&self, setup: Setup, prompt: &str) -> Watch {
        let mut watch = self.begin(setup, prompt).await;
        watch.until_turn_ends().await;
        watch
    }
}

/// A session and everything it has told.
pub(crate) struct Watch {
    pub(crate) session: Session,
    pub(crate) seen: Vec<Event>,
}

impl Watch {
    pub(crate) async fn send(&self, command: Command) {
        self.session.commands.send(command).await.unwrap();
    }

    /// Waits for an event; everything before it is kept.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Event) -> bool) {
        loop {
            let event = tokio::time::timeout(DEADLINE, self.session.events.recv()).await;
            let event = event.unwrap_or_else(|_| panic!("nothing more came after {:#?}", self.sketch()));
            let event = event.expect("the session ended");
            let found = wanted(&event);
            self.seen.push(event);
            if found {
                return;
            }
        }
    }

    pub(crate) async fn until_turn_ends(&mut self) {
        self.until(
            |event| matches!(event, Event::Appended(entry) if matches!(entry.body, Body::TurnEnded(_))),
        )
        .await;
    }

    /// Waits until a call runs.
    pub(crate) async fn until_started(&mut self, call: &str) {
        self.until(|event| matches!(event, Event::CallStarted(id) if id.as_str() == call)).await;
    }

    /// Waits until the model's answer is complete, unless it is already.
    pub(crate) async fn until_answered(&mut self) {
        let answered = |event: &Event| matches!(event, Event::Appended(entry) if matches!(entry.body, Body::Response(_)));
        if !self.seen.iter().any(answered) {
            self.until(answered).await;
        }
    }

    /// Waits until a call runs, unless it did already.
    pub(crate) async fn until_or_seen_started(&mut self, call: &str) {
        let started = |event: &Event| matches!(event, Event::CallStarted(id) if id.as_str() == call);
        if !self.seen.iter().any(started) {
            self.until(started).await;
        }
    }

    /// Waits for the result of a call.
    pub(crate) async fn until_result(&mut self, call: &str) {
        self.until(|event| matches!(event, Event::Appended(entry) if is_result(entry, call))).await;
    }

    /// Ends the session and takes in what it still says.
    pub(crate) async fn close(&mut self) {
        self.send(Command::Close).await;
        self.until(|event| matches!(event, Event::Closed)).await;
    }

    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        let entry = |event: &Event| match event {
            Event::Appended(entry) => Some(Arc::clone(entry)),
            _ => None,
        };
        self.seen.iter().filter_map(entry).collect()
    }

    pub(crate) fn results(&self) -> Vec<CallResult> {
        let result = |entry: Arc<Entry>| match &entry.body {
            Body::Result(result) => Some(result.clone()),
            _ => None,
        };
        self.entries().into_iter().filter_map(result).collect()
    }

    pub(crate) fn result(&self, call: &str) -> CallResult {
        let mut found = self.results().into_iter().filter(|result| result.call.as_str() == call);
        let result = found.next().unwrap_or_else(|| panic!("no result of {call}"));
        assert!(found.next().is_none(), "{call} was answered twice");
        result
    }

    pub(crate) fn outcome(&self) -> Outcome {
        let outcome = |entry: Arc<Entry>| match &entry.body {
            Body::TurnEnded(end) => Some(end.outcome.clone()),
            _ => None,
        };
        self.entries().into_iter().rev().find_map(outcome).expect("the turn has not ended")
    }

    /// What happened, in short.
    pub(crate) fn sketch(&self) -> Vec<String> {
        self.seen.iter().map(sketch).collect()
    }
}

fn is_result(entry: &Entry, call: &str) -> bool {
    matches!(&entry.body, Body::Result(result) if result.call.as_str() == call)
}

fn sketch(event: &Event) -> String {
    match event {
        Event::Appended(entry) => match &entry.body {
            Body::Assistant(block) => match block.block.as_tool_use() {
                Some(call) => format!("call {}", call.id),
                None => format!("assistant {}", block.block.kind()),
            },
            Body::Result(result) => format!("result {} {:?}", result.call, result.cause),
            Body::Effect(effect) => format!("effect {effect:?}"),
            Body::Notice(notice) => format!("notice {}", notice.subtype),
            Body::TurnEnded(end) => format!("end {:?}", end.outcome),
            Body::Attachment(attachment) => format!("attachment {}", attachment.kind()),
            other => format!("{other:?}").split(['(', ' ']).next().unwrap_or_default().to_lowercase(),
        },
        Event::Stream(json) => format!("stream {}", json_type(json)),
        other => format!("{other:?}").split(['(', ' ', '{']).next().unwrap_or_default().to_owned(),
    }
}

fn json_type(json: &str) -> String {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    value["type"].as_str().unwrap_or_default().to_owned()
}

/// Input for a probe that only says something, beside others.
pub(crate) fn says(text: &str) -> Value {
    json!({"say": text, "safe": true, "read_only": true})
}

/// Hooks as settings have them.
pub(crate) fn hooks(settings: Value) -> BTreeMap<HookEvent, Vec<Sourced<HookGroup>>> {
    let groups: BTreeMap<HookEvent, Vec<HookGroup>> = serde_json::from_value(settings).unwrap();
    let origin = Origin { layer: Layer::User, file: Some("/home/user/.tiller/settings.json".into()) };
    let sourced = |value: HookGroup| Sourced { value, origin: origin.clone() };
    groups.into_iter().map(|(event, groups)| (event, groups.into_iter().map(sourced).collect())).collect()
}

/// The log of the only session below a configuration directory.
pub(crate) fn only_log(config_dir: &Path) -> PathBuf {
    let projects = fs_err::read_dir(config_dir.join("projects")).unwrap();
    let project = projects.map(Result::unwrap).next().unwrap().path();
    let mut logs = fs_err::read_dir(project).unwrap().map(|entry| entry.unwrap().path());
    logs.find(|path| path.extension().is_some_and(|ext| ext == "jsonl")).unwrap()
}

/// Whether commands are held by namespaces here, see [`can_hold`].
pub(crate) fn held_by_namespaces() -> bool {
    can_hold(Level::Namespaces)
}

/// Whether this machine can hold commands by these means. Where it cannot, tests of what only these can do are left out:
/// that is said past the capture of output, which would hide it, and for want of namespaces it is a failure if
/// `TILLER_REQUIRE_NAMESPACES` is set.
pub(crate) fn can_hold(level: Level) -> bool {
    let support = tiller_sandbox::probe();
    let can = match level {
        Level::Landlock => support.landlock.is_some(),
        level => support.level >= level,
    };
    if !can {
        let reasons = support.reasons.join("; ");
        let required = level == Level::Namespaces && std::env::var_os("TILLER_REQUIRE_NAMESPACES").is_some();
        assert!(!required, "namespaces are required, and there are none: {reasons}");
        let test = std::thread::current().name().unwrap_or_default().to_owned();
        _ = writeln!(std::io::stderr(), "{test} skipped: {level:?} cannot hold commands here: {reasons}");
    }
    can
}
