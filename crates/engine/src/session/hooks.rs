//! Hooks around the session, its prompts and the end of its turns.

use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use tiller_config::HookEvent;
use tiller_protocol::ask::{Answer, Ask};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Attachment, Body, Dequeued, Level, Notice, Response};
use tiller_protocol::id::{AskId, CallId, ChainId, EntryId};
use tiller_protocol::permission::Update;
use tokio::sync::oneshot;

use super::{Role, Task};
use crate::beside::Bill;
use crate::hook::{AsyncResponse, Moment, Occasion, Outcome};
use crate::store::StoreError;

/// Times Stop hooks may hold a turn open.
const MAX_REFUSED_ENDS: u32 = 10;
/// What hooks of a session that is told to end at once may take.
const HURRIED: Duration = Duration::from_secs(2);

/// What is said to the session beside commands and calls.
pub(crate) enum Aside {
    /// Somebody outside is asked, on behalf of a hook.
    Ask(Ask, oneshot::Sender<Answer>),
    /// Hooks that nobody waited for are done.
    Hooks(Box<Outcome>),
    /// A sub-agent has made a model request.
    Spent(Response),
    /// A model request was made for a hook, or for a server.
    Billed(Bill),
    /// A message was proposed after the turn with this chain.
    Suggested { bill: Bill, text: Option<String>, chain: ChainId },
    /// The user should know something.
    Notice(Notice),
    /// Something changes what is permitted, on behalf of a sub-agent.
    Permit(Vec<Update>),
    /// Questions of a sub-agent may need no answer any more.
    Withdraw,
    /// A sub-agent in the background has ended.
    TaskEnded,
    /// A change of permissions that is to last could not be written to its settings file.
    Unsaved {
        /// All that was to be changed.
        updates: Vec<Update>,
        /// Why not.
        problem: String,
    },
}

/// A prompt that hooks have seen.
pub(super) enum Admission {
    /// It may go to the model, with what hooks add behind it.
    Admitted(Vec<RawBlock>, Vec<Attachment>),
    /// It may not.
    Refused {
        /// What the hook says.
        reason: String,
        /// Whether the hook wants the turn to end as well.
        ends_turn: bool,
    },
}

impl Task {
    /// Runs the hooks of an occasion while commands are still heard, and records what they did.
    pub(super) async fn run_hooks(&mut self, occasion: Occasion<'_>) -> Result<Outcome, StoreError> {
        if let Some(outcome) = self.recorded_hooks(&occasion)? {
            return Ok(outcome);
        }
        let (hooks, moment, token) = (self.services.hooks.clone(), self.moment(), self.turn.token.clone());
        let mut run = pin!(hooks.run(occasion, &moment, &token));
        let outcome = loop {
            tokio::select! {
                biased;
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                outcome = &mut run => break outcome,
            }
        };
        self.record_hooks(&outcome, None)?;
        Ok(outcome)
    }

    fn moment(&self) -> Moment {
        let (mode, agent) = (self.services.policy.now().mode, self.services.agent.clone());
        Moment { cwd: self.journal.state.cwd.clone(), mode, agent }
    }

    /// Puts on record which hooks ran, and tells the user what they want to be told.
    pub(super) fn record_hooks(
        &mut self,
        outcome: &Outcome,
        call: Option<&CallId>,
    ) -> Result<(), StoreError> {
        for run in &outcome.runs {
            if let Some(record) = run.record(call) {
                self.append_as(run.id, Body::Hook(record))?;
            }
        }
        for (level, text) in &outcome.notices {
            self.notice("hook", *level, text.clone())?;
        }
        Ok(())
    }

    pub(super) fn on_aside(&mut self, aside: Aside) -> Result<(), StoreError> {
        match aside {
            Aside::Ask(ask, answer) => {
                self.put(ask, answer);
                Ok(())
            }
            Aside::Hooks(outcome) => self.record_hooks(&outcome, None),
            Aside::Spent(response) => {
                if let (Some(agents), Some(agent)) = (&self.services.agents, &response.agent) {
                    agents.book.answered(agent);
                }
                self.append(Body::Response(response)).map(drop)
            }
            Aside::Billed(bill) => self.count(bill),
            Aside::Suggested { bill, text, chain } => self.suggested(bill, text, chain),
            Aside::Notice(notice) => self.append(Body::Notice(notice)).map(drop),
            Aside::Unsaved { updates, problem } => self.unsaved(updates, &problem),
            Aside::Permit(updates) => self.permit_for_hook(updates),
            Aside::Withdraw => {
                self.withdraw_asks(oneshot::Sender::is_closed);
                Ok(())
            }
            Aside::TaskEnded => Ok(()),
        }
    }

    /// Puts a question to whoever is outside.
    pub(super) fn put(&mut self, ask: Ask, answer: oneshot::Sender<Answer>) {
        if let Role::Sub = self.role {
            // The session may be over; then nobody answers, which is what the call finds out.
            let _ = self.services.asides.send(Aside::Ask(ask, answer));
            return;
        }
        match &ask {
            Ask::Permission(ask) => {
                self.notify("permission_prompt", format!("Tiller needs your permission to use {}", ask.tool));
            }
            Ask::Question(_) => self.notify("question", "Tiller has a question for you".to_owned()),
            Ask::Plan(_) => self.notify("plan_approval", "Tiller has a plan for you to approve".to_owned()),
            Ask::Elicitation(ask) => {
                let message = format!("The MCP server {} has a question for you", ask.server);
                self.notify("elicitation_dialog", message);
            }
            Ask::Sampling(ask) => {
                self.notify("sampling", format!("The MCP server {} wants to ask the model", ask.server));
            }
            Ask::Hook(_) | Ask::Server(_) => {}
        }
        let id = AskId(self.fixed.env.fresh());
        self.asks.insert(id, answer);
        self.journal.tell(Event::Asked(id, ask));
    }

    /// Lets Notification hooks know that the user is waited for. Nobody waits for these hooks.
    fn notify(&self, kind: &'static str, message: String) {
        if !self.services.hooks.has(HookEvent::Notification) {
            return;
        }
        let (hooks, moment, ended) =
            (self.services.hooks.clone(), self.moment(), self.services.ended.clone());
        let asides = self.services.asides.clone();
        self.services.tasks.spawn(async move {
            let occasion = Occasion::Notification { message: &message, kind };
            let outcome = hooks.run(occasion, &moment, &ended).await;
            // The session may be over; then nobody wants to know.
            let _ = asides.send(Aside::Hooks(Box::new(outcome)));
        });
    }

    /// The first turn of a run is the start of the session for hooks: hosts have registered theirs by then.
    /// Returns why one of them wants the turn to end, if one does.
    pub(super) async fn session_start_hooks(&mut self) -> Result<Option<String>, StoreError> {
        if matches!(self.role, Role::Sub) || std::mem::replace(&mut self.hooks_have_begun, true) {
            return Ok(None);
        }
        let (source, model) = (self.start_source, self.lead.borrow().main_model.clone());
        let outcome = self.run_hooks(Occasion::SessionStart { source, model: &model }).await?;
        self.attach(outcome.attachments)?;
        Ok(outcome.stopped)
    }

    /// A prompt that a hook keeps from the model is discarded, and the user is told.
    pub(super) fn turn_away(&mut self, id: EntryId, reason: &str) -> Result<(), StoreError> {
        self.append(Body::Dequeued(Dequeued { ids: vec![id] }))?;
        let text = format!("A hook did not let the prompt through: {reason}");
        self.notice("prompt_blocked", Level::Warning, text)
    }

    /// Lets hooks see a prompt before anything else does.
    pub(super) async fn admit(
        &mut self,
        id: EntryId,
        content: Vec<RawBlock>,
    ) -> Result<Admission, StoreError> {
        if let Some(agent) = self.services.agent.clone() {
            let outcome = self.run_hooks(Occasion::SubagentStart { agent: &agent }).await?;
            return Ok(match outcome.stopped {
                Some(reason) => Admission::Refused { reason, ends_turn: true },
                None => Admission::Admitted(content, outcome.attachments),
            });
        }
        let prompt = content.iter().filter_map(RawBlock::as_text).collect::<Vec<_>>().join("\n");
        let outcome = self.run_hooks(Occasion::UserPromptSubmit { prompt: &prompt }).await?;
        let ends_turn = outcome.stopped.is_some();
        if let Some(reason) = outcome.stopped.or(outcome.blocked) {
            self.turn_away(id, &reason)?;
            return Ok(Admission::Refused { reason, ends_turn });
        }
        let content = match outcome.updated_prompt {
            Some(text) => reworded(content, &text),
            None => content,
        };
        Ok(Admission::Admitted(content, outcome.attachments))
    }

    /// Whether Stop hooks want the agent to go on instead of ending the turn.
    pub(super) async fn stop_hooks_object(&mut self) -> Result<bool, StoreError> {
        let stop_hook_active = self.turn.stop_hook_active;
        let (agent, transcript) = (self.services.agent.clone(), self.paths.log.clone());
        let occasion = match &agent {
            Some(agent) => Occasion::SubagentStop { agent, transcript: &transcript, stop_hook_active },
            None => Occasion::Stop { stop_hook_active },
        };
        let outcome = self.run_hooks(occasion).await?;
        let objects = outcome.blocked.is_some() && outcome.stopped.is_none() && self.turn.abort.is_none();
        if objects && self.turn.refused_ends == MAX_REFUSED_ENDS {
            let text =
                format!("Stop hooks refused the end of the turn {MAX_REFUSED_ENDS} times; it ends now.");
            self.notice("stop_hooks", Level::Warning, text)?;
            return Ok(false);
        }
        self.attach(outcome.attachments)?;
        if objects {
            self.turn.refused_ends += 1;
            self.turn.stop_hook_active = true;
        }
        Ok(objects)
    }

    /// Hears the hooks for the end of the session, if they heard of its start.
    pub(super) async fn session_end_hooks(&mut self) -> Result<(), StoreError> {
        if !self.hooks_have_begun {
            return Ok(());
        }
        let (hurried, reason) = (self.shut_down, self.ending);
        self.turn = super::Turn::default();
        let token = self.turn.token.clone();
        let deadline = async move {
            if hurried {
                tokio::time::sleep(HURRIED).await;
                token.cancel();
            }
            pending::<Infallible>().await
        };
        tokio::select! {
            outcome = self.run_hooks(Occasion::SessionEnd { reason }) => outcome.map(drop),
            never = deadline => match never {},
        }
    }

    /// What asynchronous hooks have found out since, for the model; the user is told here.
    pub(super) fn take_hook_responses(&mut self) -> Result<Vec<Attachment>, StoreError> {
        let mut attachments = Vec::new();
        for AsyncResponse { run, call, attachment, notice } in self.services.hooks.take_async_responses() {
            if let Some(record) = run.record(call.as_ref()) {
                self.append_as(run.id, Body::Hook(record))?;
            }
            if let Some((level, text)) = notice {
                self.notice("hook", level, text)?;
            }
            attachments.extend(attachment);
        }
        Ok(attachments)
    }

    pub(super) fn attach(&mut self, attachments: Vec<Attachment>) -> Result<(), StoreError> {
        for attachment in attachments {
            if !self.pipeline.mutes(attachment.kind()) {
                self.append(Body::Attachment(attachment))?;
            }
        }
        Ok(())
    }
}

/// The prompt with another text; what is not text stays.
fn reworded(content: Vec<RawBlock>, text: &str) -> Vec<RawBlock> {
    let rest = content.into_iter().filter(|block| block.as_text().is_none());
    std::iter::once(RawBlock::text(text)).chain(rest).collect()
}
