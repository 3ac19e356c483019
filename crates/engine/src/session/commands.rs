//! What commands do, whether a turn is running or not.

use serde_json::Value;
use tiller_model::Thinking;
use tiller_protocol::command::{Command, Event, OutputStyle, UserInput};
use tiller_protocol::compaction::Wish;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Cause, Delivery, Dequeued, Entry, Queued, Reading, Response};
use tiller_protocol::id::EntryId;
use tiller_steering::source::Style;
use tiller_tools::{StructuredOutput, Tool, todo_file};

use super::invoke::Called;
use super::turn::Granted;
use super::{Aside, Held, PromptChoice, Task};
use crate::beside::Bill;
use crate::hook::Ending;
use crate::next::{Abort, Form};
use crate::store::StoreError;

impl Task {
    /// Carries out a command; `None` means that no more can come.
    pub(super) fn on_command(&mut self, command: Option<Command>) -> Result<(), StoreError> {
        match command {
            Some(Command::Submit(input)) => self.queue(input)?,
            Some(Command::Answer(id, answer)) => self.answer(id, answer)?,
            Some(Command::Interrupt) => {
                if self.queue_held != Held::UntilFirstWord {
                    self.queue_held = Held::UntilNextWord;
                }
                self.making_room.wanted = None;
                self.turn.stop(Abort::Interrupted);
            }
            Some(Command::Background(call)) => self.move_to_background(&call),
            Some(Command::StopTask(id)) => self.stop_task(id),
            Some(Command::ShowTask(id)) => self.show_task(id),
            Some(Command::Dequeue(id)) => self.dequeue(id)?,
            Some(Command::Redeliver(id, delivery)) => self.redeliver(id, delivery)?,
            Some(Command::SetMode(mode)) => self.set_mode(mode)?,
            Some(Command::CycleMode) => self.cycle_mode()?,
            Some(Command::SetModel(setting)) => {
                let model = self.fixed.names.resolve(&setting);
                self.lead.send_modify(|lead| lead.setting = Some(setting));
                self.append(Body::Effect(Effect::SetModel { model }))?;
            }
            Some(Command::SetThinking(tokens)) => {
                self.fixed.thinking = match tokens {
                    None => Thinking::ModelDefault,
                    Some(0) => Thinking::Off,
                    Some(tokens) => Thinking::Budget(tokens),
                };
            }
            Some(Command::SetOutputStyle(style)) => {
                let OutputStyle { name, guidelines } = style;
                self.fixed.steering.style = guidelines.map(|guidelines| Style { name, guidelines });
            }
            Some(Command::SetPrompt { .. }) if self.epoch_checked => {
                let problem = "the system prompt can be set only before the first message";
                self.journal.tell(Event::Rejected(problem.to_owned()));
            }
            Some(Command::SetPrompt { replace, append }) => {
                let PromptChoice { replace: before, append: at_end } = std::mem::take(&mut self.fixed.prompt);
                self.fixed.prompt = PromptChoice { replace: replace.or(before), append: append.or(at_end) };
            }
            Some(Command::AddAgents(given)) => self.add_agents(&given)?,
            Some(Command::AddServers(names)) => self.add_servers(&names),
            Some(Command::FromServer(said)) => self.hear_server(said),
            Some(Command::SetResultForm(schema)) => self.set_result_form(schema),
            Some(Command::LimitSkills(names)) => self.limit_skills(&names),
            Some(Command::Rewind(_)) => self.refuse_rewind("stop the running turn first, then go back"),
            Some(Command::Mcp { server, order }) => self.order_server(&server, order),
            Some(Command::Compact { instructions }) => self.making_room.wanted = Some(instructions),
            Some(Command::UndoCompaction) => {
                self.refuse_rewind("stop the running turn first, then undo the compaction");
            }
            Some(Command::AddHooks(hooks)) => self.add_host_hooks(hooks)?,
            Some(Command::Close) => self.close(),
            Some(Command::Clear) => {
                self.ending = Ending::Clear;
                self.closing = true;
                self.queue_held = Held::UntilNextWord;
                self.turn.stop(Abort::Interrupted);
            }
            Some(command @ (Command::Leave | Command::Shutdown)) => {
                if matches!(command, Command::Leave) {
                    self.ending = Ending::PromptInputExit;
                }
                self.shut_down = true;
                self.turn.stop(Abort::Interrupted);
            }
            None => self.inbox_open = false,
        }
        Ok(())
    }

    /// Nobody will say anything more, so what an interrupt has held back waits for nothing.
    fn close(&mut self) {
        self.closing = true;
        if self.queue_held == Held::UntilNextWord {
            self.queue_held = Held::No;
        }
    }

    pub(super) fn queue(&mut self, input: UserInput) -> Result<(), StoreError> {
        if input.delivery != Delivery::WithNext {
            self.queue_held = Held::No;
        }
        let id = input.id.unwrap_or_else(|| EntryId(self.fixed.env.fresh()));
        // What is called for begins a turn of its own.
        let called = match input.reading {
            Reading::Usual => self.called(&input.content),
            Reading::AsWritten => Called::Nothing,
        };
        let wish = Wish::of(&input.content).filter(|_| input.reading.is_usual());
        let delivery = match called {
            _ if wish.is_some() => Delivery::Queue,
            Called::Nothing => input.delivery,
            _ => Delivery::Queue,
        };
        let queued = Queued { id, delivery, content: input.content, reading: input.reading };
        self.append(Body::Queued(queued))?;
        Ok(())
    }

    /// Lays down which form results have, before the model was told anything.
    fn set_result_form(&mut self, schema: Value) {
        if self.epoch_checked {
            let problem = "the result schema can only be set before the first message";
            return self.journal.tell(Event::Rejected(problem.to_owned()));
        }
        match StructuredOutput::new(schema) {
            Ok(form) => {
                let tools = std::mem::take(&mut self.services.registry);
                self.services.registry = tools.filtered(|name| name != StructuredOutput::NAME).with(form);
            }
            Err(problem) => self.journal.tell(Event::Rejected(format!("it is no JSON schema: {problem}"))),
        }
    }

    /// Counts a request beside the conversation, and only then gives back what was set aside for it.
    pub(super) fn count(&mut self, bill: Bill) -> Result<(), StoreError> {
        let Bill { response, held } = bill;
        self.append(Body::Response(response))?;
        drop(held);
        Ok(())
    }

    /// Whoever made a request counts it; the session has all of them in its log.
    fn follow_spending(&self, response: &Response) {
        if response.agent.is_some() {
            return;
        }
        self.services.budget.count(response);
        if let Some(agent) = &self.services.agent {
            let response = Response { agent: Some(agent.id.clone()), side: true, ..response.clone() };
            // The session may be over; then nobody counts any more.
            let _ = self.services.asides.send(Aside::Spent(response));
        }
    }

    fn dequeue(&mut self, id: EntryId) -> Result<(), StoreError> {
        if self.journal.state.queue.iter().any(|queued| queued.id == id) {
            self.append(Body::Dequeued(Dequeued { ids: vec![id] }))?;
        }
        Ok(())
    }

    /// What was delivered meanwhile stays delivered.
    fn redeliver(&mut self, id: EntryId, delivery: Delivery) -> Result<(), StoreError> {
        let Some(queued) = self.journal.state.queue.iter().find(|queued| queued.id == id).cloned() else {
            return Ok(());
        };
        self.append(Body::Dequeued(Dequeued { ids: vec![id] }))?;
        self.append(Body::Queued(Queued { delivery, ..queued }))?;
        Ok(())
    }

    /// Lets policy, model and the todo file follow what an entry changed.
    pub(super) fn follow(&mut self, entry: &Entry) {
        if let Body::Response(response) = &entry.body {
            self.follow_spending(response);
        }
        if let Body::Attachment(attachment) = &entry.body {
            self.follow_attachment(attachment);
        }
        if let Body::Result(result) = &entry.body
            && (result.tool.as_str(), result.cause) == (StructuredOutput::NAME, Cause::Call)
        {
            self.turn.form = if result.is_error { self.turn.form.tried() } else { Form::Given };
        }
        let effects: &[Effect] = match &entry.body {
            Body::Effect(effect) => std::slice::from_ref(effect),
            Body::Result(result) => &result.effects,
            _ => return,
        };
        for effect in effects {
            match effect {
                Effect::SetMode { mode } => self.follow_mode(*mode),
                Effect::Permissions { updates } => self.follow_updates(updates),
                Effect::SetModel { model } => {
                    self.lead.send_modify(|lead| lead.main_model.clone_from(model));
                }
                Effect::SetTodos { todos } => {
                    if let Some(path) = &self.fixed.todo_file
                        && let Err(error) = todo_file::save(path, todos)
                    {
                        tracing::warn!("the todo list was not saved: {error}");
                    }
                }
                Effect::SetPlan { slug } => self.follow_plan(slug),
                Effect::FileSeen(_)
                | Effect::FileForgotten { .. }
                | Effect::FilesTakenOver { .. }
                | Effect::ChangeDir { .. }
                | Effect::Snapshot { .. }
                | Effect::NotKept { .. }
                | Effect::WentBack { .. }
                | Effect::PlanKept(_)
                | Effect::PlanApproved { .. }
                | Effect::RecipeCalled(_) => {}
                // It was noted because it holds already, unless it comes from a recording.
                Effect::Shaped(shaping) if self.services.tape.is_some() => self.take_shape(shaping),
                Effect::Shaped(_) => {}
                Effect::SkillUsed(used) => {
                    let (allow, deny) = (used.allow.clone(), used.deny.clone());
                    self.grant(Granted { by: Some(entry.id), allow, deny });
                }
            }
        }
    }
}
