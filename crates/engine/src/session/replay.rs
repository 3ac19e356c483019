//! A session's task that is run again: where it meets the outside, the recording answers.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::Value;
use tiller_policy::Context;
use tiller_protocol::block::RawBlock;
use tiller_protocol::compaction::Compacted;
use tiller_protocol::effect::{Effect, LineRange, PlanVersion};
use tiller_protocol::entry::{Body, Entry, Epoch, Opened, Origin, Outcome};
use tiller_protocol::ingredients::Ingredients;
use tiller_protocol::mode::Mode;
use tiller_steering::compaction::Standing;
use tiller_steering::disarm_definition;
use tiller_steering::pipeline::Sampled;
use tiller_steering::source::{Facts, Listing, Shown, Sight, Unseen};
use tiller_steering::user_context::instructions::InstructionFile;
use tiller_tools::{Registry, SkillLine, StructuredOutput, Tool, plan_file};
use tokio::sync::mpsc;

use super::compaction::{Timing, compare_folds};
use super::epoch::own_definitions;
use super::history::{Audience, History};
use super::ingredients::definitions;
use super::turn::End;
use super::{Held, INBOX, Role, Setup, Task};
use crate::agent::agent_lines;
use crate::hook::{Agent, Occasion, Outcome as HookOutcome};
use crate::mcp::{McpChoice, with_servers};
use crate::next::Next;
use crate::plan::Plans;
use crate::recipe::introduced;
use crate::replay::{ForeignTools, Tape};
use crate::store::StoreError;

/// A log to be run again.
pub(crate) struct Reel<'a> {
    pub(crate) log: &'a Path,
    pub(crate) entries: &'a [Entry],
}

impl Reel<'_> {
    /// Runs turn after turn, each from where the log stood before it; says how many.
    pub(crate) async fn run(&self, setup: Setup, tape: Arc<Tape>) -> Result<usize, StoreError> {
        let (commands, inbox) = mpsc::channel(INBOX);
        // Nobody listens; what matters is compared where it is made.
        let (events, _) = mpsc::unbounded_channel();
        let scratch = setup.config_dir.clone();
        let (mut task, _) = Task::open(setup, inbox, events, Audience::Nobody)?;
        task.services.tape = Some(Arc::clone(&tape));
        task.fixed.plans = Plans::in_dir(&scratch);
        tape.attend(commands, self.agent(&mut task));
        let (mut history, mut turns, mut at) = (History::default(), 0, 0);
        while let Some(entry) = self.entries.get(at) {
            match &entry.body {
                // What a sub-agent was told of another conversation stands before its first epoch.
                Body::User(prompt) if history.epoch.is_some() && prompt.origin != Origin::Summary => {
                    let turn = &self.entries[at..self.end_of_turn(at)];
                    task.stand_at(&history);
                    tape.begin(turn, history.conversation.clone());
                    let outcome = task.turn(entry.id, prompt.content.clone(), prompt.origin).await?;
                    turns += 1;
                    if !tape.end(&outcome) {
                        break;
                    }
                    at += turn.len();
                    for entry in turn {
                        history.hear(self.log, entry)?;
                    }
                }
                body => {
                    if let Body::Epoch(epoch) = body {
                        task.journal.state = history.state.clone();
                        task.work_where_the_log_says();
                        task.compare_head(&tape, epoch);
                    }
                    if let Body::Compacted(_) = body {
                        let fold = &self.entries[at..self.entries.len().min(at + 2)];
                        let abandoned = &history.state.abandoned;
                        compare_folds(&tape, self.log, abandoned, fold, Timing::BetweenTurns)?;
                    }
                    history.hear(self.log, entry)?;
                    at += 1;
                }
            }
        }
        task.end().await;
        Ok(turns)
    }

    /// Where the turn of a prompt ends: behind its end, or where a process that was ended by force has left it.
    fn end_of_turn(&self, prompt: usize) -> usize {
        let behind = self.entries[prompt..].iter().enumerate().skip(1);
        let end = behind.into_iter().find_map(|(at, entry)| match entry.body {
            Body::TurnEnded(_) => Some(at + 1),
            Body::Opened(_) | Body::Rewound(_) => Some(at),
            _ => None,
        });
        end.map_or(self.entries.len(), |length| prompt + length)
    }

    /// Makes the task a sub-agent's, if the log is one.
    fn agent(&self, task: &mut Task) -> Option<String> {
        let first = self.entries.first()?;
        let (id, kind) = match (&first.agent, &first.body) {
            (Some(id), Body::Opened(Opened { agent: Some(agent), .. })) => (id.clone(), agent.kind.clone()),
            _ => return None,
        };
        // The mode belongs to the session; its agents are reminded of it.
        let plan = self.entries.iter().find_map(|entry| match &entry.body {
            Body::Attachment(one) if one.kind() == "plan_mode" => one.attachment["planFilePath"].as_str(),
            _ => None,
        });
        if let Some(plan) = plan.and_then(|plan| Path::new(plan).file_name()) {
            let plan_file = Some(task.fixed.plans.dir().join(plan));
            let now = Context::clone(&task.services.policy.now());
            task.decide_by(Context { mode: Mode::Plan, plan_file, ..now });
        }
        // What concerns the whole session is told to nobody here.
        (task.services.asides, _) = mpsc::unbounded_channel();
        task.role = Role::Sub;
        task.services.agent = Some(Agent { id: id.clone(), kind, description: String::new() });
        Some(id.to_string())
    }
}

impl Task {
    /// Stands where a log stood.
    fn stand_at(&mut self, history: &History) {
        self.journal.state = history.state.clone();
        self.journal.conversation = history.conversation.clone();
        self.journal.past = Arc::clone(&history.past);
        self.drop_thinking = history.drop_thinking;
        self.epoch_checked = true;
        self.hooks_have_begun = true;
        self.queue_held = Held::No;
        self.work_where_the_log_says();
        let Some(epoch) = &history.epoch else { return };
        if let Some(ingredients) = &epoch.made_of {
            self.take_up(ingredients);
            self.offer(ingredients, epoch);
        }
        if let Some(shaping) = &history.state.shaping {
            self.take_shape(shaping);
        }
        self.take_epoch(epoch.clone());
        if let Role::Main { .. } = self.role {
            let mode = history.state.mode;
            self.decide_by(Context { mode, plan_file: None, ..Context::clone(&self.services.policy.now()) });
            if let Some(slug) = &history.state.plan_slug {
                self.follow_plan(slug);
            }
        }
    }

    /// A session that was taken elsewhere has worked in several directories.
    fn work_where_the_log_says(&mut self) {
        let dir = &self.journal.state.start_dir;
        self.fixed.env.cwd.clone_from(dir);
        self.services.env.cwd.clone_from(dir);
    }

    /// Offers the tools that were on offer.
    fn offer(&mut self, ingredients: &Ingredients, epoch: &Epoch) {
        let mut tools = tools(ingredients, epoch);
        if let Some(tape) = self.services.tape.clone() {
            tape.offer(offered(epoch));
            tools = self.with_recorded_servers(tools, epoch, tape);
        }
        self.services.registry = tools;
    }

    /// Adds the tools that lead to servers as they are now, and those of servers as they are on record.
    fn with_recorded_servers(&self, tools: Registry, epoch: &Epoch, tape: Arc<Tape>) -> Registry {
        let nobody = McpChoice::nobody(&self.services, &self.fixed.config_dir);
        let (recorded, policy) = (on_offer(epoch), self.services.policy.clone());
        let is_recorded = |name: &str| recorded.iter().any(|tool| tool["name"] == name);
        let tools = with_servers(tools, &nobody, policy).filtered(is_recorded);
        let own = tools.names();
        let is_own = |tool: &Value| own.iter().any(|name| tool["name"] == *name);
        let definitions = recorded.iter().filter(|tool| !is_own(tool)).cloned().collect();
        tools.with_source(Arc::new(ForeignTools { definitions, tape }))
    }

    /// Compares what the head of requests would be now with what it was.
    fn compare_head(&mut self, tape: &Tape, epoch: &Epoch) {
        let Some(ingredients) = &epoch.made_of else {
            tape.pass_over("what an earlier version of Tiller made its prompts of is not on record");
            return;
        };
        self.take_up(ingredients);
        self.offer(ingredients, epoch);
        let recorded: Value = serde_json::from_str(epoch.system.get()).unwrap_or_default();
        let now: Value = serde_json::from_str(self.system(ingredients).get()).unwrap_or_default();
        let text = |system: &Value| system[0]["text"].as_str().unwrap_or_default().to_owned();
        tape.compare_part("system", &text(&recorded), &text(&now));
        let recorded = on_offer(epoch);
        for mut definition in own_definitions(&self.services.registry) {
            disarm_definition(&mut definition);
            let before = recorded.iter().find(|tool| tool["name"] == definition["name"]);
            let name = definition["name"].as_str().unwrap_or_default();
            let before = before.map(|tool| without_breakpoint(tool.clone())).unwrap_or_default();
            tape.compare_part(
                &format!("tools: {name}"),
                &before.to_string(),
                &without_breakpoint(definition.clone()).to_string(),
            );
        }
    }

    /// In a replay: appends what was noted meanwhile.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        let Some(tape) = self.services.tape.clone() else { return Ok(()) };
        for body in tape.given() {
            if let Body::Effect(Effect::PlanKept(PlanVersion { content, .. })) = &body {
                self.write_plan(Some(content));
            }
            self.append(body)?;
        }
        Ok(())
    }

    /// In a replay: what a prompt has called for, and what was noted meanwhile.
    pub(super) fn take_recorded_words(&mut self) -> Result<(), StoreError> {
        let Some(tape) = self.services.tape.clone() else { return Ok(()) };
        let mut called = None;
        for body in tape.words() {
            match &body {
                Body::Effect(Effect::RecipeCalled(call)) => called = Some(call.clone()),
                Body::User(message) => {
                    let told = message.content.iter().filter_map(RawBlock::as_text).collect::<String>();
                    if let Some(call) = called.take() {
                        tape.compare_beginning(&format!("/{}", call.name), &told, &introduced(&call));
                    }
                }
                _ => {}
            }
            self.append(body)?;
        }
        self.catch_up()
    }

    /// The names of the tools on offer. In a replay these are the recorded ones, some of which may not be there.
    pub(super) fn tool_names(&self) -> Vec<String> {
        let recorded = self.services.tape.as_ref().map(|tape| tape.offered());
        recorded.unwrap_or_else(|| self.services.registry.names().into_iter().map(str::to_owned).collect())
    }

    /// In a replay: folds the conversation as it was folded here; says whether it was. When that was due depends on what the
    /// provider said and the user set, and what took its place on a model and on files: all of it is on record. How it is
    /// worded is compared.
    pub(super) fn recorded_room(&mut self) -> Result<Option<bool>, StoreError> {
        let Some(tape) = self.services.tape.clone() else { return Ok(None) };
        let folded = tape.fold();
        let was_folded = !folded.is_empty();
        let abandoned = &self.journal.state.abandoned;
        compare_folds(&tape, tape.log(), abandoned, &folded, Timing::InTurn)?;
        for Entry { mut body, .. } in folded {
            if let Body::Compacted(compacted) = &mut body {
                // What was said before this turn has its recorded name.
                let is_new = compacted.kept.as_ref().is_some_and(|kept| tape.is_of_this_turn(kept.first));
                if is_new {
                    self.keep_recorded_end(compacted)?;
                }
            }
            let epoch = match &body {
                Body::Epoch(epoch) => Some(epoch.clone()),
                _ => None,
            };
            self.append(body)?;
            if let Some(epoch) = epoch {
                self.compare_head(&tape, &epoch);
                self.take_epoch(epoch);
            }
        }
        Ok(Some(was_folded))
    }

    /// In a replay: the end of the conversation that is kept consists of as many messages, under names of their own.
    fn keep_recorded_end(&self, compacted: &mut Compacted) -> Result<(), StoreError> {
        let Some(kept) = &mut compacted.kept else { return Ok(()) };
        let mut standing = Standing::default();
        self.journal.archive.read(|entry| standing.push(entry))?;
        let messages = standing.into_messages();
        let first = messages.len().checked_sub(usize::try_from(kept.messages).unwrap_or(usize::MAX));
        if let Some(first) = first.and_then(|first| messages.get(first)) {
            (kept.first, kept.from) = (first.id, first.seq);
        }
        Ok(())
    }

    /// In a replay: the model is the one that answered.
    pub(super) fn begin_recorded_step(&mut self) -> Result<(), StoreError> {
        let Some(tape) = self.services.tape.clone() else { return Ok(()) };
        self.catch_up()?;
        let (model, fallback) = tape.begin_step();
        if let Some(model) = model {
            self.lead.send_modify(|lead| lead.main_model = model);
        }
        if let Some(of_recipe) = fallback.as_ref().and_then(|fallback| fallback.of_recipe.clone()) {
            self.turn.model.get_or_insert(of_recipe);
        }
        self.fixed.fallback_model = fallback.map(|fallback| fallback.model);
        Ok(())
    }

    /// In a replay: the limit that ended the turn here.
    pub(super) fn recorded_limit(&self) -> Option<End> {
        let outcome = self.services.tape.as_ref()?.limit()?;
        Some((outcome, None))
    }

    /// In a replay: how the user or a hook ended the turn after the answer that seemed to be the last.
    pub(super) fn recorded_stop(&self, next: &Next) -> Option<End> {
        let outcome = self.services.tape.as_ref()?.stop()?;
        matches!(next, Next::DeliverSteering | Next::End(Outcome::Success, _)).then_some((outcome, None))
    }

    /// In a replay: holds the request that is about to be made against the recorded one.
    pub(super) fn compare_request(&self) {
        if let Some(tape) = &self.services.tape {
            tape.compare(&self.journal.conversation);
        }
    }

    /// In a replay: what hooks said.
    pub(super) fn recorded_hooks(
        &mut self,
        occasion: &Occasion<'_>,
    ) -> Result<Option<HookOutcome>, StoreError> {
        let Some(tape) = self.services.tape.clone() else { return Ok(None) };
        let event = match occasion {
            Occasion::UserPromptSubmit { .. } => "UserPromptSubmit",
            Occasion::SubagentStart { .. } => "SubagentStart",
            Occasion::SubagentStop { .. } => "SubagentStop",
            Occasion::Stop { .. } => "Stop",
            // Others run outside of turns, or with calls.
            _ => return Ok(Some(HookOutcome::default())),
        };
        let outcome = tape.hooks(event);
        self.catch_up()?;
        Ok(Some(outcome))
    }

    /// In a replay: what sources say. They see nothing of the outside.
    pub(super) async fn recorded_sources(&self, facts: &Facts) -> Option<Sampled> {
        let tape = self.services.tape.clone()?;
        let mut facts = facts.clone();
        if let (Some(plan), Some(exists)) = (&mut facts.plan, tape.plan_exists()) {
            plan.exists = exists;
        }
        let made = self.pipeline.sample(&facts, &Blind).await;
        Some(tape.attachments(made))
    }

    fn write_plan(&self, content: Option<&str>) {
        let policy = self.services.policy.now();
        if let (Some(path), Some(content)) = (&policy.plan_file, content)
            && let Err(error) = plan_file::save(path, content)
        {
            tracing::warn!("the plan was not written for the replay: {error}");
        }
    }
}

impl History {
    /// Takes an entry in, wherever it leads.
    fn hear(&mut self, log: &Path, entry: &Entry) -> Result<(), StoreError> {
        self.take(entry);
        self.go_back(log, entry)
    }
}

/// The definitions of the tools that were on offer.
fn on_offer(epoch: &Epoch) -> Vec<Value> {
    serde_json::from_str(epoch.tools.get()).unwrap_or_default()
}

/// Their names.
fn offered(epoch: &Epoch) -> Vec<String> {
    on_offer(epoch).iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

/// The tools that were on offer, as far as there still are such tools.
fn tools(ingredients: &Ingredients, epoch: &Epoch) -> Registry {
    let offered = on_offer(epoch);
    let lines = agent_lines(&definitions(&ingredients.agents));
    let skills = ingredients.skills.iter().cloned();
    let skills = skills.map(|(name, description)| SkillLine { name, description });
    let all = tiller_tools::agent_tools(tiller_tools::built_in(), lines);
    let mut all = tiller_tools::skill_tools(all, skills.collect());
    // What form a result has to have is up to whoever asks for it.
    let form = offered.iter().find(|tool| tool["name"] == StructuredOutput::NAME);
    if let Some(Ok(form)) = form.map(|tool| StructuredOutput::new(tool["input_schema"].clone())) {
        all = all.with(form);
    }
    all.filtered(|name| offered.iter().any(|offered| offered["name"] == name))
}

fn without_breakpoint(mut tool: Value) -> Value {
    if let Value::Object(fields) = &mut tool {
        fields.remove("cache_control");
    }
    tool
}

/// Sees nothing: what was seen is in the recording.
struct Blind;

impl Sight for Blind {
    fn show<'a>(&'a self, _: &'a Path, _: Option<LineRange>) -> BoxFuture<'a, Result<Shown, Unseen>> {
        ready(Err(Unseen::Missing)).boxed()
    }

    fn list<'a>(&'a self, _: &'a Path, _: usize) -> BoxFuture<'a, Result<Listing, Unseen>> {
        ready(Err(Unseen::Missing)).boxed()
    }

    fn modified<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<i64, Unseen>> {
        ready(Err(Unseen::Missing)).boxed()
    }

    fn instructions<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Vec<InstructionFile>> {
        ready(Vec::new()).boxed()
    }
}
