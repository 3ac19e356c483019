//! A session in miniature.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Value, json};
use tiller_policy::{Context, Decision, Permit, Request, decide};
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::Effect;
use tiller_protocol::env::{Clock, Env, Ids};
use tiller_protocol::id::CallId;
use tiller_protocol::mode::Mode;
use tiller_sandbox::Confinement;
use tiller_tools::{
    Done, Host, Input, Leave, Refused, Registry, Shells, TodoWrite, ToolCx, ToolError, Vault, View,
    WebSearchRequest, bound, shell_tools, web_tools,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(crate) struct Bench {
    dir: tempfile::TempDir,
    pub(crate) view: View,
    pub(crate) cancel: CancellationToken,
    pub(crate) shells: Arc<Shells>,
    pub(crate) progress: UnboundedReceiver<Value>,
    pub(crate) mode: Mode,
    host: Arc<TestHost>,
    env: Env,
    calls: u32,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) text: String,
    pub(crate) failed: bool,
    pub(crate) detail: Value,
    pub(crate) effects: Vec<Effect>,
}

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

#[derive(Default)]
struct Counter(AtomicU64);

impl Ids for Counter {
    fn next(&self) -> Uuid {
        Uuid::from_u128(self.0.fetch_add(1, Ordering::Relaxed).into())
    }

    fn random(&self) -> f64 {
        0.5
    }
}

struct TestHost {
    progress: UnboundedSender<Value>,
    asked: Mutex<Vec<String>>,
    roots: Vec<PathBuf>,
}

impl Host for TestHost {
    fn progress(&self, data: Value) {
        _ = self.progress.send(data);
    }

    fn digest(&self, prompt: String) -> BoxFuture<'static, Result<String, String>> {
        self.asked.lock().unwrap().push(prompt);
        Box::pin(async { Ok("the digest".to_owned()) })
    }

    fn web_search(&self, search: WebSearchRequest) -> BoxFuture<'static, Result<Value, String>> {
        Box::pin(async move {
            let hit = json!({"title": search.query, "url": search.allowed_domains.join(" ")});
            Ok(json!({"results": [hit], "errors": [], "summary": "found"}))
        })
    }

    fn confinement(&self, permit: &Permit) -> BoxFuture<'static, Result<Confinement, String>> {
        let (profile, roots) = (permit.profile(), self.roots.clone());
        Box::pin(async move { Ok(Confinement::new(profile, roots)) })
    }

    fn leave(&self, _: &Permit, _: Refused, _: String) -> BoxFuture<'static, Leave> {
        Box::pin(async { Leave::NotAsked })
    }
}

pub(crate) fn registry() -> Registry {
    web_tools(shell_tools(Registry::default())).with(TodoWrite)
}

impl Bench {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let vars = std::env::vars_os();
        let vars: BTreeMap<_, _> = vars
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let env = Env {
            clock: Arc::new(Frozen),
            ids: Arc::new(Counter::default()),
            vars: Arc::new(vars),
            home: cwd.clone(),
            cwd: cwd.clone(),
        };
        let (sender, progress) = unbounded_channel();
        let view = View {
            cwd: cwd.clone(),
            home: cwd.clone(),
            roots: vec![cwd.clone()],
            files: Arc::default(),
            todos: Vec::new(),
            mode: Mode::BypassPermissions,
            plan_file: None,
            sub_agent: false,
            spill_dir: cwd.join("spill"),
            typed: BTreeMap::new(),
            secrets: Arc::new(Vault::new(&env)),
        };
        Self {
            dir,
            view,
            cancel: CancellationToken::new(),
            shells: Arc::new(Shells::new(env.clone())),
            progress,
            mode: Mode::BypassPermissions,
            host: Arc::new(TestHost { progress: sender, asked: Mutex::default(), roots: vec![cwd] }),
            env,
            calls: 0,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// A text that only processes of this test have on their command line.
    pub(crate) fn tag(&self) -> String {
        self.path().file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// What the small model was asked.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.host.asked.lock().unwrap().clone()
    }

    /// A call up to the point where it is refused for its input or by policy.
    pub(crate) fn start(
        &mut self,
        tool: &str,
        input: &Value,
    ) -> Result<BoxFuture<'static, Result<Done, ToolError>>, String> {
        self.calls += 1;
        let call = registry().prepare(tool, Input::Json(input)).map_err(|error| error.to_string())?;
        self.view.typed = self.shells.typed();
        call.validate(&self.view)?;
        let access = call.access(&self.view);
        let request = Request { tool: tool.to_owned(), access, read_only: call.read_only() };
        let context = Context { mode: self.mode, roots: self.view.roots.clone(), ..Context::default() };
        let permit = match decide(&request, &context) {
            Decision::Allow(permit, _) => permit,
            Decision::Ask(reason) | Decision::Deny(reason) => return Err(reason.explain()),
        };
        let cx = ToolCx {
            call: CallId(format!("call_{}", self.calls)),
            view: self.view.clone(),
            permit,
            cancel: self.cancel.clone(),
            host: Arc::clone(&self.host) as Arc<dyn Host>,
            env: self.env.clone(),
            shells: Arc::clone(&self.shells),
        };
        let (limit, spill, id) = (call.result_limit(), self.view.spill_dir.clone(), cx.call.clone());
        Ok(Box::pin(async move { call.run(cx).await.map(|done| bound(done, limit, &spill, &id)) }))
    }

    /// Makes a call as the engine would and applies its effects.
    pub(crate) async fn call(&mut self, tool: &str, input: Value) -> Ended {
        match self.start(tool, &input) {
            Ok(running) => {
                let ended = ended(running.await);
                self.apply(&ended.effects);
                ended
            }
            Err(text) => Ended { text, failed: true, detail: Value::Null, effects: Vec::new() },
        }
    }

    pub(crate) async fn bash(&mut self, command: &str) -> Ended {
        self.call("Bash", json!({"command": command})).await
    }

    fn apply(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::ChangeDir { path } => self.view.cwd.clone_from(path),
                Effect::SetTodos { todos } => self.view.todos.clone_from(todos),
                other => panic!("{other:?}"),
            }
        }
    }
}

pub(crate) fn ended(result: Result<Done, ToolError>) -> Ended {
    let (done, failed) = match result {
        Ok(done) => (done, false),
        Err(ToolError::Failed(done)) => (done, true),
        Err(other) => (Done::text(&other.to_string()), true),
    };
    let text = done.content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n");
    Ended { text, failed, detail: done.detail, effects: done.effects }
}
