//! One call from input to result. Whatever happens, exactly one verdict comes out.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use serde_json::{Value, json};
use tiller_mcp::unwrapped;
use tiller_policy::{Context, Decision, Permit, Reason, Request, approve};
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::block::{RawBlock, ToolUse};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Attachment, DecisionRecord, Level, Notice};
use tiller_protocol::id::CallId;
use tiller_protocol::mcp::PREFIX;
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::Update;
use tiller_tools::{
    Done, Host, Input, InputError, PreparedCall, ShellInfo, ShellState, ToolCx, ToolError, View, bound,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::changed::Changed;
use super::consult::{HandedOver, PlanAnswer};
use super::foresight::foresee;
use super::hooked::{Before, Hooked};
use super::permission::{Permission, Permitted};
use crate::beside::Bill;
use crate::hook::Outcome;
use crate::host::CallHost;
use crate::services::Services;
use crate::undo::{Keeper, Kept};

/// What hooks are told of a call that was stopped.
const STOPPED: &str = "The call was stopped before it was finished.";

/// What a running call tells the session.
pub(crate) enum News {
    /// Something to show while it runs.
    Progress(Value),
    /// Policy or the user has decided.
    Decided(DecisionRecord),
    /// The user has to be asked.
    Ask(Ask, oneshot::Sender<Answer>),
    /// A hook, or the call itself, changes what is permitted; somebody may wait until that holds.
    Permit(Vec<Update>, Option<oneshot::Sender<()>>),
    /// The user has spoken about a plan; the call waits until what follows from it holds.
    Plan(Box<PlanAnswer>, oneshot::Sender<()>),
    /// Hooks of the call have run.
    Hooks(Box<Outcome>),
    /// The call is about to change something, and this tells whether what that may be is kept. The call waits until all
    /// that announces it is on disk.
    Ready(Option<Effect>, oneshot::Sender<()>),
    /// The user should know something.
    Notice(Notice),
    /// The user has refused something while the call runs, and wants the turn to end.
    EndTurn,
    /// A model request was made on the call's behalf.
    Spent(Bill),
    /// It is over.
    Finished(Ended),
}

/// A call that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) verdict: Verdict,
    pub(crate) aftermath: Aftermath,
}

/// What hooks of a call leave behind its result.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    /// What the model is told after the result.
    pub(crate) attachments: Vec<Attachment>,
    /// Why the turn has to end once all results are in.
    pub(crate) stop: Option<String>,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// With a result of its own.
    Settled(Box<Settled>),
    /// The user refused it and ended the turn.
    Rejected(String),
    /// A plan was handed over that nobody can approve: the turn ends with it.
    HandedOver(Box<HandedOver>),
    /// It was told to stop before it had a result.
    Cancelled,
}

/// A call's own result.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) content: Vec<RawBlock>,
    pub(crate) is_error: bool,
    pub(crate) detail: Value,
    pub(crate) effects: Vec<Effect>,
}

impl Verdict {
    pub(crate) fn error(text: &str) -> Self {
        Self::Settled(Box::new(Settled::error(text)))
    }
}

impl Settled {
    pub(crate) fn text(text: &str) -> Self {
        Self { is_error: false, ..Self::error(text) }
    }

    pub(crate) fn error(text: &str) -> Self {
        Self { content: vec![RawBlock::text(text)], is_error: true, detail: json!(text), effects: Vec::new() }
    }
}

/// A call that was parsed, or failed to be.
pub(crate) struct Order {
    pub(crate) call: ToolUse,
    pub(crate) prepared: Result<Box<dyn PreparedCall>, InputError>,
    /// Whether the call is on disk already.
    pub(crate) is_announced: bool,
}

impl Order {
    pub(crate) fn new(services: &Services, call: ToolUse, invalid_input: Option<&str>) -> Self {
        let call = unwrapped(call);
        let input = match invalid_input {
            Some(text) => Input::Invalid(text),
            None => Input::Json(&call.input),
        };
        let prepared = services.registry.prepare(&call.name, input);
        Self { call, prepared, is_announced: false }
    }

    /// Whether what it may change will be kept first: then it is announced together with that.
    pub(crate) fn is_kept_for(&self, services: &Services, view: &View) -> bool {
        self.prepared
            .as_ref()
            .is_ok_and(|prepared| is_kept_for(&self.call, prepared.as_ref(), services, view))
    }

    /// Whether it may run beside others; what does not parse may not.
    pub(crate) fn is_safe(&self) -> bool {
        self.prepared.as_ref().is_ok_and(|prepared| prepared.parallel())
    }

    /// Whether it leaves everything unchanged; what does not parse does not count as such.
    pub(crate) fn is_read_only(&self) -> bool {
        self.prepared.as_ref().is_ok_and(|prepared| prepared.read_only())
    }
}

/// While planning nothing changes but the plan, whose versions are in the log, unless a server does not keep to it.
fn is_kept_for(call: &ToolUse, prepared: &dyn PreparedCall, services: &Services, view: &View) -> bool {
    let planning = services.policy.now().mode == Mode::Plan && !call.name.starts_with(PREFIX);
    services.keeper.is_some() && !planning && Keeper::concerns(&call.name, prepared, view)
}

/// The line from a running call back to its session.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) call: CallId,
    pub(crate) news: mpsc::UnboundedSender<(CallId, News)>,
}

impl Line {
    pub(crate) fn tell(&self, news: News) {
        // The receiver is gone when the executor was discarded; then nobody wants to know.
        let _ = self.news.send((self.call.clone(), news));
    }
}

/// Runs a call to its verdict and reports it.
pub(crate) async fn run(order: Order, view: View, services: Services, line: Line, cancel: CancellationToken) {
    let mut aftermath = Aftermath::default();
    let is_announced = order.is_announced;
    let run = Run { view, services, line: &line, cancel: &cancel, is_announced };
    let steps = AssertUnwindSafe(run.steps(order, &mut aftermath)).catch_unwind();
    let verdict = steps.await.unwrap_or_else(|panic| run.panicked(&panic));
    line.tell(News::Finished(Ended { verdict, aftermath }));
}

/// One call on its way.
struct Run<'a> {
    view: View,
    services: Services,
    line: &'a Line,
    cancel: &'a CancellationToken,
    is_announced: bool,
}

impl Run<'_> {
    /// Hooks, permission, the tool itself, hooks again: whatever comes of a call that the first hooks have heard of, the
    /// last ones are told, once.
    async fn steps(&self, order: Order, aftermath: &mut Aftermath) -> Verdict {
        let Order { mut call, prepared, .. } = order;
        if self.cancel.is_cancelled() {
            return Verdict::Cancelled;
        }
        let prepared = match self.valid(prepared).await {
            Ok(prepared) => prepared,
            Err(verdict) => return verdict,
        };
        let hooked = Hooked { view: &self.view, services: &self.services, line: self.line };
        let before = hooked.before(&call, self.cancel, aftermath).await;
        let mut has_kept = false;
        let carried_out = self.carry_out(&mut call, prepared, before, &mut has_kept);
        let carried_out = AssertUnwindSafe(carried_out).catch_unwind().await;
        let mut verdict = match carried_out {
            Ok(Ok(settled)) => Verdict::Settled(Box::new(settled)),
            Ok(Err(verdict)) => verdict,
            Err(panic) => self.panicked(&panic),
        };
        self.conclude(&hooked, &call, &mut verdict, aftermath).await;
        if has_kept {
            self.keep_ahead();
        }
        verdict
    }

    /// Keeps what a call and its hooks have changed while the model thinks. What still runs would only be kept half done.
    fn keep_ahead(&self) {
        let goes_on = |shell: &ShellInfo| shell.state == ShellState::Running;
        let Some(keeper) = &self.services.keeper else { return };
        if !self.services.shells.list().iter().any(goes_on) {
            self.services.tasks.spawn(Arc::clone(keeper).keep_ahead(self.view.roots.clone()));
        }
    }

    /// Tells hooks how a call ended.
    async fn conclude(
        &self,
        hooked: &Hooked<'_>,
        call: &ToolUse,
        verdict: &mut Verdict,
        aftermath: &mut Aftermath,
    ) {
        // Hooks of a call that was stopped outlive it; it is answered without them if they take long.
        let ended = &self.services.ended;
        match verdict {
            Verdict::Settled(settled) if !self.cancel.is_cancelled() => {
                hooked.after(call, settled, self.cancel, aftermath).await;
            }
            Verdict::HandedOver(plan) => {
                hooked.after(call, &mut Settled::text(plan.text()), ended, aftermath).await;
            }
            Verdict::Rejected(text) => hooked.failed(call, text, true, ended, aftermath).await,
            // A tool may have an answer of its own to being stopped.
            Verdict::Settled(_) | Verdict::Cancelled => {
                hooked.failed(call, STOPPED, true, ended, aftermath).await;
            }
        }
    }

    /// Seeks permission and runs the tool.
    async fn carry_out(
        &self,
        call: &mut ToolUse,
        prepared: Box<dyn PreparedCall>,
        before: Before,
        has_kept: &mut bool,
    ) -> Result<Settled, Verdict> {
        let judged_by = self.services.policy.now();
        let (prepared, permit) = self.permitted(call, prepared, before).await?;
        let kept = self.keep(call, prepared.as_ref()).await;
        *has_kept = matches!(kept, Some(Effect::Snapshot { .. }));
        if kept.is_some() || !(self.is_announced || prepared.read_only()) {
            self.announce(kept).await?;
        }
        self.still_permitted(&judged_by, call, prepared.as_ref())?;
        self.execute(call, prepared, permit).await
    }

    /// The call as it may run, with the input that hooks and the user have left it.
    async fn permitted(
        &self,
        call: &mut ToolUse,
        mut prepared: Box<dyn PreparedCall>,
        before: Before,
    ) -> Result<(Box<dyn PreparedCall>, Permit), Verdict> {
        if self.cancel.is_cancelled() {
            return Err(Verdict::Cancelled);
        }
        if let Some(reason) = before.stopped {
            return Err(Verdict::error(&format!("Not run: a hook ended the work here: {reason}")));
        }
        let by_hook = before.updated_input.as_ref().is_some_and(|input| *input != call.input);
        if let Some(input) = before.updated_input {
            let hook = before.updated_by.unwrap_or_default();
            let of_hook = |error: InputError| InputError::OfHook { hook, problem: error.to_string() };
            let anew = self.services.registry.prepare(&call.name, Input::Json(&input)).map_err(of_hook);
            prepared = self.valid(anew).await?;
            call.input = input;
        }
        let (view, services, line) = (&self.view, &self.services, self.line);
        let permission = Permission { call, view, services, line, hook: before.decision };
        let Permitted { mut prepared, permit, changed } = permission.seek(prepared, self.cancel).await?;
        if let Some(input) = changed {
            call.input = input;
        } else if by_hook {
            let reason = Reason::Hook { name: String::new(), reason: String::new() };
            prepared = Box::new(Changed::new(prepared, &call.input, &reason));
        }
        Ok((prepared, permit))
    }

    /// Mode and rules may have become stricter since the call was permitted; what is forbidden by now does not start.
    fn still_permitted(
        &self,
        judged_by: &Arc<Context>,
        call: &ToolUse,
        prepared: &dyn PreparedCall,
    ) -> Result<(), Verdict> {
        let now = self.services.policy.now();
        if Arc::ptr_eq(judged_by, &now) {
            return Ok(());
        }
        let (tool, access) = (call.name.clone(), prepared.access(&self.view));
        let request = Request { tool, access, read_only: prepared.read_only() };
        match approve(&request, &now) {
            Decision::Deny(reason) => {
                let text = format!("{} was not run: {} by now.", call.name, reason.explain());
                Err(Verdict::error(&text))
            }
            Decision::Allow(..) | Decision::Ask(_) => Ok(()),
        }
    }

    /// Waits until the call and what it may change are on disk.
    async fn announce(&self, kept: Option<Effect>) -> Result<(), Verdict> {
        let (done, recorded) = oneshot::channel();
        self.line.tell(News::Ready(kept, done));
        tokio::select! {
            () = self.cancel.cancelled() => Err(Verdict::Cancelled),
            // Nobody answers if the answer that the call belongs to became void.
            recorded = recorded => recorded.map_err(|_| Verdict::Cancelled),
        }
    }

    /// Before a call changes files, what they are is kept. That this was not possible is on record as well: otherwise
    /// nobody could tell it from a call that changes nothing.
    async fn keep(&self, call: &ToolUse, prepared: &dyn PreparedCall) -> Option<Effect> {
        let keeper = self.services.keeper.as_ref()?;
        if !is_kept_for(call, prepared, &self.services, &self.view) {
            return None;
        }
        let id = call.id.clone();
        let needed = Keeper::needed(prepared, &self.view);
        Some(match keeper.keep_for(self.view.roots.clone(), needed).await {
            Kept::Snapshot(snapshot) => Effect::Snapshot { snapshot, call: Some(id) },
            Kept::Impossible(why) => {
                let subtype = "snapshots".to_owned();
                self.line.tell(News::Notice(Notice { subtype, level: Level::Warning, content: why }));
                Effect::NotKept { call: id }
            }
            Kept::Nothing => Effect::NotKept { call: id },
        })
    }

    async fn valid(
        &self,
        prepared: Result<Box<dyn PreparedCall>, InputError>,
    ) -> Result<Box<dyn PreparedCall>, Verdict> {
        let prepared = prepared.map_err(|error| Verdict::error(&error.to_string()))?;
        let (prepared, valid) =
            foresee(prepared, &self.view, self.cancel, |call, view| call.validate(view)).await?;
        valid.map_err(|problem| Verdict::error(&problem))?;
        Ok(prepared)
    }

    async fn execute(
        &self,
        call: &ToolUse,
        prepared: Box<dyn PreparedCall>,
        permit: Permit,
    ) -> Result<Settled, Verdict> {
        let limit = prepared.result_limit();
        let host = CallHost::new(call.clone(), self.line.clone(), self.services.clone());
        let watched = host.watched();
        // What a tool of a server does is not declared, and that it changes nothing is only what its server says.
        if call.name.starts_with(PREFIX) {
            watched.begin(&call.name).await;
        }
        let cx = ToolCx {
            call: call.id.clone(),
            view: self.view.clone(),
            permit,
            cancel: self.cancel.clone(),
            host: Arc::new(host) as Arc<dyn Host>,
            env: self.services.env.clone(),
            shells: Arc::clone(&self.services.shells),
        };
        let writing = watched.writing(&prepared.access(&self.view)).await;
        let ran = prepared.run(cx).await;
        if let Some(before) = writing {
            watched.has_written(before).await;
        }
        watched.end().await;
        let (done, is_error) = match ran {
            Ok(done) => (done, false),
            Err(ToolError::Failed(done)) => (done, true),
            Err(ToolError::Model(text)) => return Ok(Settled::error(&text)),
            Err(ToolError::Cancelled) => return Err(Verdict::Cancelled),
        };
        let Done { content, detail, effects } = bound(done, limit, &self.view.spill_dir, &call.id);
        Ok(Settled { content, is_error, detail, effects })
    }

    fn panicked(&self, panic: &Box<dyn std::any::Any + Send>) -> Verdict {
        let text = format!("The tool failed unexpectedly: {}. This is a bug in the tool.", panic_text(panic));
        let text = self.view.secrets.mask(&text);
        tracing::error!(call = %self.line.call, "{text}");
        Verdict::error(&text)
    }
}

fn panic_text(panic: &Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".to_owned())
}
