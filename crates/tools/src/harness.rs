//! A session in miniature for the tools' tests: a directory, what was seen so far, and calls with real permits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;
use tiller_policy::{Context, Decision, Permit, Request, approve};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::env::{Clock, Env, Ids};
use tiller_protocol::id::EntryId;
use tiller_protocol::mode::Mode;
use tiller_protocol::state::State;
use tiller_sandbox::Confinement;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    Done, Host, Input, Leave, PreparedCall, Refused, Registry, ToolCx, ToolError, Vault, View,
    WebSearchRequest, file_tools, plan_tools,
};

/// A directory with a session in it.
pub(crate) struct Bench {
    dir: TempDir,
    state: State,
    pub(crate) cancel: CancellationToken,
    pub(crate) clock: Arc<StepClock>,
    registry: Registry,
    secrets: Arc<Vault>,
}

/// A clock that moves on by a fixed step each time it is asked.
#[derive(Default)]
pub(crate) struct StepClock {
    seconds: AtomicI64,
    pub(crate) step: AtomicI64,
}

impl Clock for StepClock {
    fn now(&self) -> Timestamp {
        let step = self.step.load(Ordering::Relaxed);
        Timestamp::from_second(1_700_000_000 + self.seconds.fetch_add(step, Ordering::Relaxed)).unwrap()
    }
}

#[derive(Default)]
struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn next(&self) -> Uuid {
        Uuid::from_u128(self.0.fetch_add(1, Ordering::Relaxed).into())
    }

    fn random(&self) -> f64 {
        0.5
    }
}

struct NoHost;

impl Host for NoHost {
    fn progress(&self, _: Value) {}

    fn digest(&self, _: String) -> BoxFuture<'static, Result<String, String>> {
        Box::pin(async { Err("no model here".to_owned()) })
    }

    fn web_search(&self, _: WebSearchRequest) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(async { Err("no web here".to_owned()) })
    }

    fn confinement(&self, permit: &Permit) -> BoxFuture<'static, Result<Confinement, String>> {
        let profile = permit.profile();
        Box::pin(async move { Ok(Confinement::new(profile, Vec::new())) })
    }

    fn leave(&self, _: &Permit, _: Refused, _: String) -> BoxFuture<'static, Leave> {
        Box::pin(async { Leave::NotAsked })
    }
}

/// A call that was judged and may run.
pub(crate) struct Permitted {
    call: Box<dyn PreparedCall>,
    cx: ToolCx,
}

impl Permitted {
    pub(crate) async fn run(self) -> Result<Done, ToolError> {
        self.call.run(self.cx).await
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let mut bench = Self::unmasked();
        bench.secrets = Arc::new(Vault::new(&bench.env()));
        bench
    }

    /// A session in which nothing is masked.
    pub(crate) fn unmasked() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            state: State::default(),
            cancel: CancellationToken::new(),
            clock: Arc::default(),
            registry: plan_tools(file_tools(Registry::default())),
            secrets: Arc::new(Vault::off()),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, content).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs_err::read(self.path(name)).unwrap()
    }

    pub(crate) fn content(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn view(&self) -> View {
        let cwd = self.path("");
        View {
            cwd: cwd.clone(),
            home: cwd.join("home"),
            roots: vec![cwd.clone()],
            files: Arc::clone(&self.state.files),
            todos: Vec::new(),
            mode: Mode::BypassPermissions,
            plan_file: None,
            sub_agent: false,
            spill_dir: cwd.join("spill"),
            typed: BTreeMap::new(),
            secrets: Arc::clone(&self.secrets),
        }
    }

    pub(crate) fn prepare(&self, tool: &str, input: &Value) -> Box<dyn PreparedCall> {
        self.registry.prepare(tool, Input::Json(input)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A context with a permit for what the call declares.
    pub(crate) fn cx(&self, tool: &str, call: &dyn PreparedCall) -> ToolCx {
        let view = self.view();
        ToolCx {
            call: "call".into(),
            permit: permit(tool, call, &view),
            view,
            cancel: self.cancel.clone(),
            host: Arc::new(NoHost),
            env: self.env(),
            shells: Arc::new(crate::Shells::new(self.env())),
        }
    }

    fn env(&self) -> Env {
        Env {
            clock: self.clock.clone(),
            ids: Arc::new(CountingIds::default()),
            vars: Arc::new(BTreeMap::new()),
            home: self.path("home"),
            cwd: self.path(""),
        }
    }

    /// Validates and judges a call without running it.
    pub(crate) fn permitted(&self, tool: &str, input: &Value) -> Result<Permitted, String> {
        let call = self.prepare(tool, input);
        call.validate(&self.view())?;
        let cx = self.cx(tool, call.as_ref());
        Ok(Permitted { call, cx })
    }

    /// Makes a call as the engine would and applies its effects.
    pub(crate) async fn call(&mut self, tool: &str, input: Value) -> Result<Done, String> {
        let done = self.permitted(tool, &input)?.run().await.map_err(|error| error.to_string())?;
        done.effects.iter().for_each(|effect| self.apply(effect.clone()));
        Ok(done)
    }

    /// The text of a call that succeeds.
    pub(crate) async fn text(&mut self, tool: &str, input: Value) -> String {
        text(&self.call(tool, input).await.unwrap_or_else(|error| panic!("{error}")))
    }

    /// The error of a call that fails.
    pub(crate) async fn error(&mut self, tool: &str, input: Value) -> String {
        match self.call(tool, input).await {
            Ok(done) => panic!("succeeded: {}", text(&done)),
            Err(error) => error,
        }
    }

    fn apply(&mut self, effect: Effect) {
        self.state.apply(&Entry {
            seq: 0,
            id: EntryId(Uuid::nil()),
            parent: None,
            at: Timestamp::UNIX_EPOCH,
            agent: None,
            body: Body::Effect(effect),
        });
    }
}

fn permit(tool: &str, call: &dyn PreparedCall, view: &View) -> Permit {
    let request = Request { tool: tool.to_owned(), access: call.access(view), read_only: call.read_only() };
    let context = Context { mode: Mode::BypassPermissions, roots: view.roots.clone(), ..Context::default() };
    // Some calls are questions to the user, who has said yes here.
    match approve(&request, &context) {
        Decision::Allow(permit, _) => permit,
        decision => panic!("not allowed: {decision:?}"),
    }
}

/// The text blocks of a result, joined.
pub(crate) fn text(done: &Done) -> String {
    done.content.iter().filter_map(tiller_protocol::block::RawBlock::as_text).collect::<Vec<_>>().join("\n")
}

/// The names in a directory, sorted.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs_err::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
