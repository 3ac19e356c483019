//! One step: ask the model, and run what it calls while it is still writing.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::json;
use tiller_model::name::{StepChoice, exceeds_200k, wire_id};
use tiller_model::{Abandon, ModelError, ModelEvent, Request, cost};
use tiller_protocol::block::{RawBlock, ToolUse};
use tiller_protocol::command::Event;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{AssistantBlock, Body, CallResult, Cause, Level, Outcome, Repair, Response};
use tiller_protocol::id::{CallId, EntryId, MessageId};
use tiller_protocol::ingredients::Asked;
use tiller_protocol::usage::{FAILED, StopReason, Usage};

use super::cut_call::is_without_input;
use super::turn::End;
use super::{Aside, Task};
use crate::budget::Reservation;
use crate::executor::{Executor, Order, Siblings, Stop};
use crate::next::{Abort, Form};
use crate::partial::PartialText;
use crate::replay::OVERLOADED;
use crate::store::StoreError;
use crate::telemetry::{Telemetry, is_overly_agreeable};
use crate::unfinished::Unfinished;

/// The notice that the provider was told to drop reasoning that no longer fits. A resumed session looks for it.
pub(super) const THINKING_DROPPED: &str = "thinking_dropped";

/// How a step came out.
pub(super) enum Sampled {
    /// The model answered, and its calls have results.
    Answered { stop: StopReason, refusal: Option<String>, blocks: usize, calls: usize },
    /// The user stopped it while the model was answering.
    Aborted(Abort),
    /// The request failed for good.
    Failed(Outcome),
    /// A limit was reached before the model could be asked.
    Limited(End),
}

/// What can be done about a failed request.
pub(super) enum Recovery {
    /// Another request, to this model.
    Again(String),
    /// Nothing more: the step is over.
    Over(Sampled),
    /// Nothing.
    Impossible,
}

/// One answer of the model while it arrives.
pub(super) struct Attempt {
    pub(super) model: String,
    pub(super) executor: Executor,
    pub(super) message_id: Option<MessageId>,
    request_id: Option<String>,
    pub(super) usage: Usage,
    pub(super) partial: PartialText,
    unfinished: Unfinished,
    /// Entries of this answer: its blocks and the results of its calls.
    pub(super) entries: Vec<EntryId>,
    pub(super) blocks: usize,
    /// Results, where somebody else than the model wants them.
    pub(super) kept: Option<Vec<CallResult>>,
    /// Calls that wait for the end of the answer, when calls are not run while it streams.
    pub(super) waiting: Vec<Order>,
    /// The last call so far, if it looks cut off: whether it is turns out when something follows it.
    pub(super) held: Option<Order>,
    pub(super) finished: Option<(StopReason, Option<String>)>,
    /// What came is void, but whether this model or another one answers instead is not known yet.
    pub(super) is_given_up: bool,
    /// It flatters instead of judging.
    pub(super) is_overly_agreeable: bool,
    /// What had become of the form of the result before.
    pub(super) form_before: Form,
    /// What was asked.
    asked: Option<Asked>,
}

/// What woke the step up.
enum Wake {
    Model(Option<Result<ModelEvent, ModelError>>),
    Call(Option<(CallId, crate::executor::News)>),
    Command(Option<tiller_protocol::command::Command>),
    Aside(Aside),
    Cancelled,
}

impl Task {
    pub(super) async fn step(&mut self) -> Result<Sampled, StoreError> {
        self.begin_recorded_step()?;
        self.turn.steps += 1;
        let (chain, depth, model) = (self.turn.chain, self.turn.depth(), self.model_for_step());
        self.journal.tell(Event::StepStarted { chain, depth, model });
        let made_room = self.make_room().await?;
        if let Some(end) = self.stopped_by_hook() {
            return Ok(Sampled::Limited(end));
        }
        if made_room && let Some(end) = self.set_aside_for_step().await? {
            return Ok(Sampled::Limited(end));
        }
        let mut model = self.model_for_step();
        loop {
            self.measure(&Telemetry::QuerySetupStart);
            self.show_lead();
            self.leave_foreign_thinking(&model)?;
            let mut attempt = self.new_attempt(&model);
            match self.sample(&mut attempt).await? {
                Ok(()) => return self.after_answer(attempt).await,
                Err(Stopped::Aborted(abort)) => return self.after_abort(attempt, abort).await,
                Err(Stopped::Failed(error)) if self.could_make_room(&error) => {
                    self.void(&mut attempt, Cause::ApiError).await?;
                    let made_room = self.force_room(Some(&error)).await?;
                    if let Some(end) = self.stopped_by_hook() {
                        return Ok(Sampled::Limited(end));
                    }
                    if !made_room {
                        return self.after_failure(attempt, &error).await;
                    }
                    if let Some(end) = self.set_aside_for_step().await? {
                        return Ok(Sampled::Limited(end));
                    }
                    model = self.model_for_step();
                }
                Err(Stopped::Failed(error)) => match self.recover(&mut attempt, &error).await? {
                    Recovery::Again(next) => model = next,
                    Recovery::Over(sampled) => return Ok(sampled),
                    Recovery::Impossible => return self.after_failure(attempt, &error).await,
                },
            }
        }
    }

    /// Lets calls of the coming answer know where the conversation stands.
    fn show_lead(&self) {
        let state = &self.journal.state;
        self.lead.send_modify(|lead| {
            lead.step = (self.turn.chain, self.turn.depth());
            lead.seq = state.seq;
            lead.abandoned.clone_from(&state.abandoned);
            lead.folded = state.folded;
            lead.files = Arc::clone(&state.files);
        });
    }

    /// The model is chosen afresh for each step, from the mode at this moment.
    pub(super) fn model_for_step(&self) -> String {
        if let Some(model) = &self.turn.model {
            return model.clone();
        }
        let (mode, lead) = (self.services.policy.now().mode, self.lead.borrow());
        self.fixed.names.for_step(StepChoice {
            setting: lead.setting.as_deref(),
            mode,
            main_model: &lead.main_model,
            exceeds_200k: exceeds_200k(mode, self.journal.state.last_usage.as_ref()),
        })
    }

    pub(super) fn new_attempt(&self, model: &str) -> Attempt {
        Attempt {
            model: model.to_owned(),
            executor: self.new_executor(),
            message_id: None,
            request_id: None,
            usage: Usage::default(),
            partial: PartialText::default(),
            unfinished: Unfinished::default(),
            entries: Vec::new(),
            blocks: 0,
            kept: None,
            waiting: Vec::new(),
            held: None,
            finished: None,
            is_given_up: false,
            is_overly_agreeable: false,
            form_before: self.turn.form,
            asked: None,
        }
    }

    pub(super) fn new_executor(&self) -> Executor {
        let siblings = if self.fixed.streaming_tools { Siblings::Cancel } else { Siblings::Keep };
        Executor::new(self.fixed.limits.concurrency, siblings, &self.turn.token)
    }

    fn request(&mut self, model: &str) -> Request {
        let (system, tools) = self.head();
        let granted = self.turn.reservation.as_ref().and_then(Reservation::max_tokens);
        Request {
            model: model.to_owned(),
            system,
            tools,
            messages: self.journal.conversation.messages(),
            max_tokens: self.output_limit(granted.or(self.turn.raised), model),
            thinking: self.fixed.thinking,
            effort: self.fixed.effort,
            betas: self.fixed.betas.clone(),
            output_format: None,
            fallback_allowed: self.fallback_for(model).is_some(),
            drop_mismatched_thinking: self.drop_thinking,
            cache: true,
        }
    }

    /// How long the answer may be, where that is not for the model's table to say.
    fn output_limit(&self, wish: Option<u32>, model: &str) -> Option<u32> {
        match self.most_output() {
            Some(most) => {
                let wish = wish.unwrap_or_else(|| self.services.model.info(model).agent_output());
                Some(wish.min(most))
            }
            None => wish,
        }
    }

    fn fallback_for(&self, model: &str) -> Option<String> {
        let fallback = self.fixed.names.resolve(self.fixed.fallback_model.as_deref()?);
        (fallback != model).then_some(fallback)
    }

    async fn sample(&mut self, attempt: &mut Attempt) -> Result<Result<(), Stopped>, StoreError> {
        let request = self.request(&attempt.model);
        let behind = Some(self.journal.state.seq);
        attempt.asked = Some(Asked { behind, ..self.journal.conversation.asked() });
        self.compare_request();
        self.measure(&Telemetry::QuerySetupEnd);
        let mut stream = self.services.model.stream(request);
        let token = self.turn.token.clone();
        loop {
            let wake = tokio::select! {
                biased;
                () = token.cancelled() => Wake::Cancelled,
                command = self.inbox.recv(), if self.inbox_open => Wake::Command(command),
                Some(aside) = self.asides.recv() => Wake::Aside(aside),
                news = attempt.executor.next_news() => Wake::Call(news),
                event = stream.next() => Wake::Model(event),
            };
            match wake {
                Wake::Cancelled => {
                    return Ok(Err(Stopped::Aborted(self.turn.abort.unwrap_or(Abort::Interrupted))));
                }
                Wake::Command(command) => self.on_command(command)?,
                Wake::Aside(aside) => self.on_aside(aside)?,
                Wake::Call(Some((call, news))) => self.on_news(attempt, &call, news).await?,
                Wake::Call(None) => {}
                Wake::Model(Some(Ok(event))) => self.on_model_event(attempt, event).await?,
                Wake::Model(Some(Err(error))) => return Ok(Err(Stopped::Failed(error))),
                Wake::Model(None) => return Ok(ended(attempt)),
            }
            self.advance(attempt).await?;
        }
    }

    async fn on_model_event(&mut self, attempt: &mut Attempt, event: ModelEvent) -> Result<(), StoreError> {
        if !matches!(event, ModelEvent::Retrying { .. }) {
            self.void_if_given_up(attempt).await?;
        }
        match event {
            ModelEvent::Started { message_id, usage, request_id, .. } => {
                self.journal.tell(Event::Answering { message: message_id.clone(), usage });
                attempt.message_id = Some(message_id);
                attempt.usage = usage;
                attempt.request_id = request_id;
            }
            ModelEvent::Raw(json) => {
                attempt.partial.feed(&json);
                if self.fixed.stream_events {
                    attempt.unfinished.feed(&json);
                    self.journal.tell(Event::Stream(json));
                }
            }
            ModelEvent::Block { block, invalid_input, .. } => self.on_block(attempt, block, invalid_input)?,
            ModelEvent::Finished { usage, stop_reason, stop_details, duration } => {
                let refusal = stop_details.as_ref().and_then(|details| details["explanation"].as_str());
                attempt.finished = Some((stop_reason.clone(), refusal.map(str::to_owned)));
                attempt.usage = usage;
                let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
                let response = self.response(attempt, stop_reason, duration_ms);
                self.append(Body::Response(Response { stop_details, ..response }))?;
            }
            ModelEvent::Retrying { attempt, max, delay, status, error } => {
                self.journal.tell(Event::Retrying { attempt, max, delay, status, error });
            }
            ModelEvent::Abandoned { why: Abandon::StreamBroken { detail } } => {
                tracing::warn!("the stream was abandoned: {detail}");
                self.void(attempt, Cause::StreamingFallback).await?;
            }
            ModelEvent::Abandoned { why: Abandon::Overloaded } => {
                tracing::warn!("the stream was abandoned: overloaded");
                self.give_up(attempt).await?;
            }
        }
        Ok(())
    }

    fn on_block(
        &mut self,
        attempt: &mut Attempt,
        block: RawBlock,
        invalid_input: Option<String>,
    ) -> Result<(), StoreError> {
        attempt.partial.clear();
        attempt.blocks += 1;
        self.release_held(attempt);
        attempt.is_overly_agreeable |= block.as_text().is_some_and(|text| is_overly_agreeable(&text));
        if attempt.blocks == 1 {
            self.turn.last_words.clear();
        }
        if let Some(text) = block.as_text() {
            self.turn.last_words.push_str(&text);
        }
        let (block, call) = self.unique_call(block)?;
        let looks_cut = invalid_input.is_some() || call.as_ref().is_some_and(is_without_input);
        let order = call.map(|call| Order::new(&self.services, call, invalid_input.as_deref()));
        let entry = self.append(Body::Assistant(AssistantBlock {
            message_id: attempt.message_id(),
            model: wire_id(&attempt.model),
            block,
            invalid_input,
            api_error: None,
            aborted: false,
        }))?;
        attempt.entries.push(entry.id);
        match order {
            Some(order) if looks_cut => attempt.held = Some(order),
            Some(order) => self.line_up(attempt, order),
            None => {}
        }
        Ok(())
    }

    /// A provider may give two calls one id; then the later one gets another, in the block and everywhere else.
    fn unique_call(&mut self, block: RawBlock) -> Result<(RawBlock, Option<ToolUse>), StoreError> {
        let Some(mut call) = block.as_tool_use() else { return Ok((block, None)) };
        if !self.journal.state.call_ids.contains(&call.id.digest()) {
            return Ok((block, Some(call)));
        }
        let id = CallId(format!("call_{}", self.fixed.env.fresh().simple()));
        let what = format!("the provider used the call id {} twice; the later call is now {id}", call.id);
        self.append(Body::Repaired(Repair { what, ..Repair::default() }))?;
        let mut value = block.to_value();
        value["id"] = json!(id);
        call.id = id;
        Ok((RawBlock::from_value(&value), Some(call)))
    }

    pub(super) fn response(&self, attempt: &Attempt, stop_reason: StopReason, duration_ms: u64) -> Response {
        Response {
            message_id: attempt.message_id(),
            model: wire_id(&attempt.model),
            usage: attempt.usage,
            stop_reason,
            stop_details: None,
            cost_usd: cost(&self.services.model.info(&attempt.model), &attempt.usage),
            duration_ms,
            request_id: attempt.request_id.clone(),
            side: false,
            agent: None,
            asked: attempt.asked.clone(),
        }
    }

    /// A failure that another request may mend.
    async fn recover(&mut self, attempt: &mut Attempt, error: &ModelError) -> Result<Recovery, StoreError> {
        match error {
            ModelError::Overloaded => {
                let Some(fallback) = self.fallback_for(&attempt.model) else {
                    return Ok(Recovery::Impossible);
                };
                self.void(attempt, Cause::ModelFallback).await?;
                // Its tokens have another price.
                if let Some(end) = self.set_aside(&fallback).await? {
                    return Ok(Recovery::Over(Sampled::Limited(end)));
                }
                let extent = match &mut self.turn.model {
                    // What has failed is the model of a recipe; the one of the session may be well.
                    Some(model) => {
                        model.clone_from(&fallback);
                        " for this turn"
                    }
                    None => {
                        self.append(Body::Effect(Effect::SetModel { model: fallback.clone() }))?;
                        ""
                    }
                };
                self.measure(&Telemetry::ModelFallback {
                    original: &attempt.model,
                    fallback: &fallback,
                    entry_point: "main",
                });
                let text = format!("{}{OVERLOADED}{fallback} has taken over{extent}.", attempt.model);
                self.notice("model_fallback", Level::Info, text)?;
                Ok(Recovery::Again(fallback))
            }
            ModelError::PrefixMismatch { .. } => self.leave_out_reasoning(attempt).await,
            ModelError::Api { status: 400, message, .. } => self.leave_out_refused(attempt, message).await,
            _ => Ok(Recovery::Impossible),
        }
    }

    async fn after_answer(&mut self, mut attempt: Attempt) -> Result<Sampled, StoreError> {
        self.after_sampling(&attempt)?;
        let (stop, refusal) = attempt.finished.clone().unwrap_or((StopReason::EndTurn, None));
        self.settle_held(&mut attempt, &stop);
        self.turn.reservation = None;
        self.turn.forced_room = false;
        if stop == StopReason::Refusal {
            self.void(&mut attempt, Cause::Refusal).await?;
            return Ok(Sampled::Answered { stop, refusal, blocks: 0, calls: 0 });
        }
        for order in std::mem::take(&mut attempt.waiting) {
            attempt.executor.add(order);
        }
        let calls = attempt.executor.len();
        if calls > 0 {
            let used = self.fixed.streaming_tools;
            let telemetry = if used {
                Telemetry::StreamingToolsUsed { tool_count: calls }
            } else {
                Telemetry::StreamingToolsNotUsed { tool_count: calls }
            };
            self.measure(&telemetry);
            self.drain(&mut attempt).await?;
            self.turn.hook_stop = attempt.executor.hook_stop().map(str::to_owned);
            self.turn.handed_over = attempt.executor.handed_over();
        }
        Ok(Sampled::Answered { stop, refusal, blocks: attempt.blocks, calls })
    }

    /// The user stopped the model: what was written is kept and marked, calls are stopped, finished results stay.
    async fn after_abort(&mut self, mut attempt: Attempt, abort: Abort) -> Result<Sampled, StoreError> {
        for event in attempt.unfinished.close(&attempt.usage) {
            self.journal.tell(Event::Stream(event.into()));
        }
        self.void_if_given_up(&mut attempt).await?;
        if let Some(text) = attempt.partial.take() {
            let block = AssistantBlock {
                message_id: attempt.message_id(),
                model: wire_id(&attempt.model),
                block: RawBlock::text(&text),
                invalid_input: None,
                api_error: None,
                aborted: true,
            };
            self.append(Body::Assistant(block))?;
        }
        self.count_unfinished(&attempt, "interrupted")?;
        self.settle_open_calls(&mut attempt, Stop::new(cause_of(abort))).await?;
        Ok(Sampled::Aborted(abort))
    }

    async fn after_failure(
        &mut self,
        mut attempt: Attempt,
        error: &ModelError,
    ) -> Result<Sampled, StoreError> {
        self.void_if_given_up(&mut attempt).await?;
        let message = error.to_string();
        tracing::error!(request_id = error.request_id(), "{message}");
        self.measure(&Telemetry::QueryError {
            assistant_count: attempt.blocks,
            tool_use_count: attempt.executor.len(),
        });
        self.settle_open_calls(&mut attempt, Stop { cause: Cause::ApiError, detail: message.clone() })
            .await?;
        self.count_unfinished(&attempt, FAILED)?;
        self.append(Body::Assistant(AssistantBlock {
            message_id: MessageId(format!("error_{}", self.fixed.env.fresh())),
            model: "<synthetic>".to_owned(),
            block: RawBlock::text(&message),
            invalid_input: None,
            api_error: Some(kind_of(error).to_owned()),
            aborted: false,
        }))?;
        Ok(Sampled::Failed(Outcome::Error { message, status: error.status() }))
    }

    async fn settle_open_calls(&mut self, attempt: &mut Attempt, stop: Stop) -> Result<(), StoreError> {
        self.release_held(attempt);
        for order in std::mem::take(&mut attempt.waiting) {
            attempt.executor.add(order);
        }
        attempt.executor.cancel(stop);
        self.drain(attempt).await
    }
}

/// Why sampling stopped before the answer was complete.
enum Stopped {
    Aborted(Abort),
    Failed(ModelError),
}

impl Attempt {
    fn message_id(&self) -> MessageId {
        self.message_id.clone().unwrap_or_else(|| MessageId("unknown".to_owned()))
    }
}

fn ended(attempt: &Attempt) -> Result<(), Stopped> {
    if attempt.finished.is_some() {
        return Ok(());
    }
    let detail = "the answer ended without saying why".to_owned();
    Err(Stopped::Failed(ModelError::Protocol { detail }))
}

pub(super) fn cause_of(abort: Abort) -> Cause {
    match abort {
        Abort::Interrupted => Cause::Interrupted,
        Abort::ToolRejection => Cause::ToolRejection,
    }
}

/// A failure in the words that hosts of the JSON stream know.
fn kind_of(error: &ModelError) -> &'static str {
    match error.status() {
        Some(401 | 403) => "authentication_failed",
        Some(402) => "billing_error",
        Some(429) => "rate_limit",
        Some(400..=499) => "invalid_request",
        Some(500..) => "server_error",
        _ => "unknown",
    }
}
