//! Runs the calls of one response: as soon as the model has written them, beside each other where they are safe.

mod asked;
mod call;
mod changed;
mod classifier;
mod consult;
mod foresight;
mod hooked;
mod permission;
mod permission_tool;
mod schedule;
mod watched;

use std::collections::HashMap;
use std::time::Duration;

use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Attachment, CallResult, Cause};
use tiller_protocol::id::CallId;
use tiller_tools::View;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use asked::Asked;
pub(crate) use call::{Aftermath, Ended, Line, News, Order, Settled, Verdict, run};
pub(crate) use classifier::Classifier;
pub(crate) use consult::{HandedOver, PlanAnswer};
use schedule::{Safety, Schedule};
pub(crate) use watched::Watched;

use crate::services::Services;

/// How long a call that was told to stop may take before it is dropped.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(5);

/// Whether the failure of one call stops the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Siblings {
    /// The streaming executor: a failed change cancels what runs beside and waits behind it.
    Cancel,
    /// Grouped execution: every call is run.
    Keep,
}

/// The calls of one response.
pub(crate) struct Executor {
    schedule: Schedule,
    siblings: Siblings,
    orders: HashMap<CallId, Order>,
    calls: HashMap<CallId, Running>,
    done: HashMap<CallId, Report>,
    /// The reason of the first hook that wants the turn to end.
    hook_stop: Option<String>,
    /// The plan that ends the turn.
    handed_over: Option<HandedOver>,
    held: Vec<(usize, Effect)>,
    errored: bool,
    stop: Option<Stop>,
    token: CancellationToken,
    tasks: TaskTracker,
    tell: mpsc::UnboundedSender<(CallId, News)>,
    news: mpsc::UnboundedReceiver<(CallId, News)>,
}

/// What is said about a call that is over: its result, and behind it what hooks added.
pub(crate) struct Report {
    pub(crate) result: CallResult,
    pub(crate) attachments: Vec<Attachment>,
}

/// Calls of a response that is void.
pub(crate) struct Discarded {
    /// Those that were running.
    pub(crate) running: Vec<CallId>,
    /// What has happened on their behalf.
    said: Vec<(CallId, News)>,
    tasks: TaskTracker,
    news: mpsc::UnboundedReceiver<(CallId, News)>,
}

impl Discarded {
    /// Waits for their end.
    pub(crate) async fn ended(&mut self) {
        loop {
            tokio::select! {
                biased;
                Some((call, news)) = self.news.recv() => self.hear(call, news),
                () = self.tasks.wait() => break,
            }
        }
    }

    /// What has happened so far and nobody has put on record.
    pub(crate) fn unheard(mut self) -> Vec<(CallId, News)> {
        while let Ok((call, news)) = self.news.try_recv() {
            self.hear(call, news);
        }
        self.said
    }

    /// Whoever asks for something gets no answer, at once.
    fn hear(&mut self, call: CallId, news: News) {
        if matches!(news, News::Hooks(_) | News::Spent(_) | News::Notice(_)) {
            self.said.push((call, news));
        }
    }
}

struct Running {
    tool: String,
    safe: bool,
    read_only: bool,
}

/// Why calls are stopped from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) cause: Cause,
    pub(crate) detail: String,
}

impl Stop {
    pub(crate) fn new(cause: Cause) -> Self {
        Self { cause, detail: String::new() }
    }
}

impl Executor {
    /// An executor whose calls stop when `turn` is cancelled.
    pub(crate) fn new(limit: usize, siblings: Siblings, turn: &CancellationToken) -> Self {
        let (tell, news) = mpsc::unbounded_channel();
        Self {
            schedule: Schedule::new(limit),
            siblings,
            orders: HashMap::new(),
            calls: HashMap::new(),
            done: HashMap::new(),
            held: Vec::new(),
            hook_stop: None,
            handed_over: None,
            errored: false,
            stop: None,
            token: turn.child_token(),
            tasks: TaskTracker::new(),
            tell,
            news,
        }
    }

    /// Takes a call in; it does not run yet.
    pub(crate) fn add(&mut self, order: Order) {
        let id = order.call.id.clone();
        let safe = order.is_safe();
        self.schedule.add(id.clone(), if safe { Safety::Safe } else { Safety::Unsafe });
        let running = Running { tool: order.call.name.clone(), safe, read_only: order.is_read_only() };
        self.calls.insert(id.clone(), running);
        self.orders.insert(id, order);
    }

    /// Picks the calls that may start now. Those that no longer should are answered at once.
    pub(crate) fn ready(&mut self) -> Vec<Order> {
        let mut ready = Vec::new();
        loop {
            let started = self.schedule.start_ready();
            if started.is_empty() {
                return ready;
            }
            for id in started {
                let Some(order) = self.orders.remove(&id) else { continue };
                match self.stopped_by() {
                    Some(stop) => self.answer(&id, &stop),
                    None => ready.push(order),
                }
            }
        }
    }

    /// Whether a call of this order may change something.
    pub(crate) fn changes_something(&self, id: &CallId) -> bool {
        self.calls.get(id).is_none_or(|call| !call.read_only)
    }

    /// Runs a call that [`Executor::ready`] gave out.
    pub(crate) fn spawn(&self, order: Order, view: View, services: &Services) {
        let line = Line { call: order.call.id.clone(), news: self.tell.clone() };
        let cancel = self.token.child_token();
        let Some(tape) = services.tape.clone() else {
            let task = call::run(order, view, services.clone(), line, cancel);
            services.tasks.spawn(self.tasks.track_future(task));
            return;
        };
        services.tasks.spawn(self.tasks.track_future(tape.answer(
            order,
            view,
            services.clone(),
            line,
            cancel,
        )));
    }

    /// The next thing a running call has to say.
    pub(crate) async fn next_news(&mut self) -> Option<(CallId, News)> {
        self.news.recv().await
    }

    /// Takes the end of a call in. Returns whether the user rejected the call.
    pub(crate) fn finish(&mut self, id: &CallId, ended: Ended) -> bool {
        let Ended { verdict, aftermath } = ended;
        let rejected = matches!(verdict, Verdict::Rejected(_));
        match verdict {
            Verdict::Settled(settled) => self.settle(id, *settled),
            Verdict::Rejected(text) => self.settle(id, Settled::error(&text)),
            Verdict::HandedOver(handed_over) => {
                self.settle(id, Settled::text(handed_over.text()));
                self.handed_over.get_or_insert(*handed_over);
            }
            Verdict::Cancelled => {
                let stop = self.stopped_by().unwrap_or_else(|| Stop::new(Cause::Interrupted));
                self.answer(id, &stop);
            }
        }
        if let Some(report) = self.done.get_mut(id) {
            report.attachments = aftermath.attachments;
        }
        self.hook_stop = self.hook_stop.take().or(aftermath.stop);
        rejected
    }

    /// Why a hook wants the turn to end once all results are in.
    pub(crate) fn hook_stop(&self) -> Option<&str> {
        self.hook_stop.as_deref()
    }

    /// The plan that the turn ends with.
    pub(crate) fn handed_over(&mut self) -> Option<HandedOver> {
        self.handed_over.take()
    }

    /// Results that may be reported now, in order.
    pub(crate) fn take_reports(&mut self) -> Vec<Report> {
        let ids = self.schedule.take_reportable();
        ids.iter().filter_map(|id| self.done.remove(id)).collect()
    }

    /// State changes of safe calls whose batch is over, in call order.
    pub(crate) fn take_batch_effects(&mut self) -> Vec<Effect> {
        if !self.schedule.batch_is_over() {
            return Vec::new();
        }
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(|(position, _)| *position);
        held.into_iter().map(|(_, effect)| effect).collect()
    }

    /// Answers everything that has not finished, and stops what runs: the end of waiting.
    pub(crate) fn give_up(&mut self) {
        let stop = self.stopped_by().unwrap_or_else(|| Stop::new(Cause::Interrupted));
        self.token.cancel();
        self.orders.clear();
        for id in self.schedule.executing().into_iter().chain(self.schedule.queued()) {
            self.answer(&id, &stop);
        }
    }

    /// Tells everything that runs to stop, and keeps the rest from starting. The first reason counts.
    pub(crate) fn cancel(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
        self.token.cancel();
    }

    /// Whether calls were told to stop from outside.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.is_some()
    }

    /// Stops everything and forgets it: the response it belonged to is void.
    pub(crate) fn discard(self) -> Discarded {
        self.token.cancel();
        self.tasks.close();
        let (running, said) = (self.schedule.executing(), Vec::new());
        Discarded { running, said, tasks: self.tasks, news: self.news }
    }

    /// Whether every call was reported.
    pub(crate) fn is_drained(&self) -> bool {
        self.schedule.is_drained()
    }

    /// Number of calls.
    pub(crate) fn len(&self) -> usize {
        self.schedule.len()
    }

    fn stopped_by(&self) -> Option<Stop> {
        if self.errored {
            return Some(Stop::new(Cause::SiblingError));
        }
        self.stop.clone()
    }

    fn settle(&mut self, id: &CallId, settled: Settled) {
        let Settled { content, is_error, detail, effects } = settled;
        let call = self.calls.get(id);
        let safe = call.is_some_and(|call| call.safe);
        let read_only = call.is_some_and(|call| call.read_only);
        let tool = call.map(|call| call.tool.clone()).unwrap_or_default();
        // A call that fails because it was told to stop is not what the others suffer from.
        let by_itself = !self.token.is_cancelled();
        if is_error && !read_only && by_itself && self.siblings == Siblings::Cancel {
            self.errored = true;
            self.token.cancel();
        }
        let (now, later) = if safe { (Vec::new(), effects) } else { (effects, Vec::new()) };
        let position = self.schedule.position(id);
        self.held.extend(later.into_iter().map(|effect| (position, effect)));
        let result = CallResult {
            call: id.clone(),
            tool,
            content,
            is_error,
            cause: Cause::Call,
            detail,
            effects: now,
        };
        self.done.insert(id.clone(), Report { result, attachments: Vec::new() });
        self.schedule.complete(id);
    }

    fn answer(&mut self, id: &CallId, stop: &Stop) {
        if self.done.contains_key(id) {
            return;
        }
        let tool = self.calls.get(id).map(|call| call.tool.clone()).unwrap_or_default();
        let result = synthetic(id, &tool, stop);
        self.done.insert(id.clone(), Report { result, attachments: Vec::new() });
        self.schedule.complete(id);
    }
}

/// A result for a call that has none of its own. The text names the cause.
pub(crate) fn synthetic(call: &CallId, tool: &str, stop: &Stop) -> CallResult {
    let text = match stop.cause {
        Cause::Call | Cause::Interrupted => "The user interrupted before this call was finished.".to_owned(),
        Cause::ToolRejection => "Not run: the user refused another call of this response.".to_owned(),
        Cause::SiblingError => {
            "Not finished: another call of the same response failed. Look at its error before repeating this one."
                .to_owned()
        }
        Cause::StreamingFallback => {
            "Void: the stream broke off and the request was repeated; this call belongs to the abandoned answer."
                .to_owned()
        }
        Cause::ModelFallback => "Void: another model has taken over; this call belongs to the abandoned answer.".to_owned(),
        Cause::ThinkingRefused => {
            "Void: the provider did not accept earlier reasoning and the request was repeated; this call belongs to the \
             abandoned answer."
                .to_owned()
        }
        Cause::Refusal => "Void: the provider declined to answer; this call belongs to the refused answer.".to_owned(),
        Cause::ApiError => format!("Not finished: the model request failed ({}).", stop.detail),
        Cause::Lost => {
            "Tiller ended before this call was answered. It may or may not have run: check before repeating it."
                .to_owned()
        }
    };
    CallResult {
        call: call.clone(),
        tool: tool.to_owned(),
        content: vec![RawBlock::text(&text)],
        is_error: true,
        cause: stop.cause,
        detail: text.into(),
        effects: Vec::new(),
    }
}
