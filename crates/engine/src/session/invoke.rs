//! Slash commands and skills that the user calls for.

use serde_json::json;
use tiller_config::{Meaning, Recipe, find_recipe};
use tiller_policy::{end_grants, grant};
use tiller_protocol::block::{RawBlock, ToolUse};
use tiller_protocol::command::Event;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, CallResult, Dequeued, EndMarker, EndReason, Level, Outcome, UserMessage};
use tiller_protocol::id::{CallId, EntryId};
use tiller_protocol::ledger::Source;
use tiller_protocol::mcp::PREFIX;
use tiller_steering::source::Author;
use tiller_tools::{Bash, Skill, SkillLine, Tool};
use tokio::time::Instant;

use super::sample::cause_of;
use super::turn::{End, Granted};
use super::{Role, Task};
use crate::executor::{Order, STOP_GRACE, Stop};
use crate::next::{Abort, aborted};
use crate::recipe::{Invocation, Piece, call, expand, given, introduced, skill_lines, used};
use crate::store::StoreError;

/// Why what a prompt calls for is told.
pub(super) const CALLED_FOR: &str = "the user has called for it";

/// What a prompt calls for.
pub(super) enum Called {
    /// Nothing: it is what it says.
    Nothing,
    /// This, with what follows its name.
    Recipe(Box<Recipe>, String),
    /// A prompt of an MCP server, with what follows its name.
    Prompt(String, String),
    /// What a server says in the place of its prompt.
    Words { name: String, content: Vec<RawBlock> },
    /// Something that does not exist, or is one of several.
    Unknown(String),
}

/// A recipe with everything in its place.
struct Filled {
    text: String,
    /// The same without what commands have said: what they print mentions nothing.
    own_words: String,
}

impl Task {
    /// What a prompt of the user calls for.
    pub(super) fn called(&self, content: &[RawBlock]) -> Called {
        let text = content.iter().find_map(RawBlock::as_text).unwrap_or_default();
        let Some(call) = Invocation::parse(&text).filter(|_| matches!(self.role, Role::Main { .. })) else {
            return Called::Nothing;
        };
        let name = call.name;
        match find_recipe(&self.services.recipes, name) {
            Meaning::Recipe(recipe) => Called::Recipe(Box::new(recipe.clone()), call.arguments.to_owned()),
            Meaning::Ambiguous(one, other) => {
                Called::Unknown(format!("/{name} may be /{} or /{}; say which", one.name, other.name))
            }
            Meaning::Nothing(_) if self.services.mcp.is_some() && name.starts_with(PREFIX) => {
                Called::Prompt(name.to_owned(), call.arguments.to_owned())
            }
            Meaning::Nothing(_) if call.names_a_path() => Called::Nothing,
            Meaning::Nothing(Some(close)) => {
                Called::Unknown(format!("there is no command /{name}; did you mean /{close}?"))
            }
            Meaning::Nothing(None) => Called::Unknown(format!(
                "there is no command /{name}; `tiller commands list` says which there are, and a blank before the slash \
                 makes it plain text"
            )),
        }
    }

    /// Ends a turn that was to begin with something unknown. The model never hears of it.
    pub(super) fn refuse_unknown(&mut self, id: EntryId, problem: String) -> Result<End, StoreError> {
        self.append(Body::Dequeued(Dequeued { ids: vec![id] }))?;
        if let Some(abort) = self.turn.abort {
            return Ok(aborted(abort, false));
        }
        self.notice("unknown_command", Level::Warning, problem.clone())?;
        let marker = EndMarker { tool_use: false, reason: EndReason::Error };
        Ok((Outcome::Error { message: problem, status: None }, Some(marker)))
    }

    /// Puts a recipe before the model; returns the text in which mentions are looked for and whose it is, or the end of the
    /// turn.
    pub(super) async fn follow_recipe(
        &mut self,
        recipe: &Recipe,
        arguments: &str,
    ) -> Result<Result<(String, Author), End>, StoreError> {
        self.grant(Granted {
            by: None,
            allow: recipe.allowed_tools.clone(),
            deny: recipe.disallowed_tools.clone(),
        });
        self.turn.model = recipe.model.as_deref().map(|model| self.fixed.names.resolve(model));
        let filled = self.fill(recipe, arguments).await?;
        if let Some(abort) = self.turn.abort {
            return Ok(Err(aborted(abort, abort == Abort::ToolRejection)));
        }
        let mask = |text: &str| self.services.secrets.mask(text).into_owned();
        let call = call(recipe, mask(arguments));
        let told = introduced(&call) + &mask(&filled.text);
        self.append(Body::Effect(Effect::RecipeCalled(call)))?;
        let source = Source::Command { name: recipe.name.clone() };
        let message = UserMessage::hidden(vec![RawBlock::text(&told)], source, CALLED_FOR);
        self.append(Body::User(message))?;
        if recipe.is_skill() {
            self.append(Body::Effect(Effect::SkillUsed(used(recipe, told))))?;
        }
        let author = match recipe.is_of_user() {
            true => Author::User,
            false => Author::File { given: given(arguments) },
        };
        Ok(Ok((filled.own_words, author)))
    }

    async fn fill(&mut self, recipe: &Recipe, arguments: &str) -> Result<Filled, StoreError> {
        let mut filled = Filled { text: String::new(), own_words: String::new() };
        for piece in expand(recipe, arguments) {
            match piece {
                Piece::Text(text) => {
                    filled.text.push_str(&text);
                    filled.own_words.push_str(&text);
                }
                Piece::Command(_) if self.turn.abort.is_some() => {}
                Piece::Command(command) => {
                    let result = self.run_for_recipe(&command).await?;
                    if result.is_error && self.turn.abort.is_none() {
                        let text =
                            format!("/{}: `{command}` did not succeed: {}", recipe.name, result.text());
                        self.notice("recipe_command", Level::Warning, text)?;
                    }
                    filled.text.push_str(&result.text());
                }
            }
        }
        Ok(filled)
    }

    /// Runs a command of a recipe as if the model had called for it: hooks, rules, questions and confinement are the same.
    /// It is no part of the conversation; what it says is.
    async fn run_for_recipe(&mut self, command: &str) -> Result<CallResult, StoreError> {
        let id = CallId(format!("recipe_{}", self.fixed.env.fresh().simple()));
        let call = ToolUse { id, name: Bash::NAME.to_owned(), input: json!({"command": command}) };
        let order = Order::new(&self.services, call, None);
        let mut attempt = self.new_attempt(&self.model_for_step());
        attempt.executor.add(order);
        let (token, mut deadline) = (self.turn.token.clone(), None);
        loop {
            if let Some(report) = attempt.executor.take_reports().pop() {
                return Ok(report.result);
            }
            for order in attempt.executor.ready() {
                let order = self.announced(&attempt, order).await?;
                attempt.executor.spawn(order, self.view(), &self.services);
            }
            if attempt.executor.is_cancelled() {
                deadline.get_or_insert_with(|| Instant::now() + STOP_GRACE);
            }
            tokio::select! {
                biased;
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                news = attempt.executor.next_news() => {
                    if let Some((call, news)) = news {
                        self.on_news(&mut attempt, &call, news).await?;
                    }
                }
                () = token.cancelled(), if !attempt.executor.is_cancelled() => {
                    attempt.executor.cancel(Stop::new(cause_of(self.turn.abort.unwrap_or(Abort::Interrupted))));
                }
                () = super::settle::sleep_until(deadline), if deadline.is_some() => attempt.executor.give_up(),
            }
        }
    }

    /// Offers the skills that rules allow to be opened now. While an epoch lasts, what is offered stays; whoever calls for
    /// a skill that is denied meanwhile is told so.
    pub(super) fn offer_skills(&mut self) {
        if self.services.tape.is_some() || !self.services.registry.names().contains(&Skill::NAME) {
            return;
        }
        let rules = &self.services.policy.now().rules;
        let mut lines = skill_lines(&self.services.recipes);
        lines.retain(|skill| !rules.denies_named(Skill::NAME, &skill.name));
        self.put_on_offer(lines);
    }

    fn put_on_offer(&mut self, skills: Vec<SkillLine>) {
        let registry = std::mem::take(&mut self.services.registry);
        self.services.registry = match skills.is_empty() {
            true => registry.filtered(|tool| tool != Skill::NAME),
            false => registry.replacing(Skill::new(skills)),
        };
    }

    /// Lets the model open some skills only, before it was told which there are.
    pub(super) fn limit_skills(&mut self, names: &[String]) {
        if self.epoch_checked {
            let problem = "skills can be chosen only before the first message";
            self.journal.tell(Event::Rejected(problem.to_owned()));
            return;
        }
        let mut recipes = self.services.recipes.to_vec();
        recipes.iter_mut().for_each(|recipe| recipe.for_model &= names.contains(&recipe.name));
        self.put_on_offer(skill_lines(&recipes));
        self.services.recipes = recipes.into();
    }

    /// Lets rules of a recipe hold until the end of the turn. A sub-agent is granted nothing: nobody has called for the
    /// recipe but itself.
    pub(super) fn grant(&mut self, granted: Granted) {
        self.follow_grant(&granted);
        self.turn.grants.push(granted);
    }

    /// Entries are void: what recipes permit and forbid because of them ends with them.
    pub(super) fn end_void_grants(&mut self, void: &[EntryId]) {
        let is_void = |granted: &Granted| granted.by.is_some_and(|entry| void.contains(&entry));
        if !self.turn.grants.iter().any(is_void) {
            return;
        }
        let mut left = std::mem::take(&mut self.turn.grants);
        left.retain(|granted| !is_void(granted));
        self.end_grants();
        left.iter().for_each(|granted| self.follow_grant(granted));
        self.turn.grants = left;
    }

    fn follow_grant(&mut self, Granted { allow, deny, .. }: &Granted) {
        if let Role::Sub = self.role {
            if let Err(problem) = self.services.policy.refuse(deny) {
                tracing::error!("what a recipe refuses was not followed: {problem}");
            }
            return;
        }
        let granted = grant(&self.services.policy.now(), allow, deny);
        match granted {
            Ok(granted) => self.decide_by(granted),
            // Whoever has read the recipe has left out what is not understood.
            Err(problem) => tracing::error!("what a recipe permits was not followed: {problem}"),
        }
    }

    /// What recipes permit and forbid is over.
    pub(super) fn end_grants(&mut self) {
        if let Some(left) = end_grants(&self.services.policy.now()) {
            self.decide_by(left);
        }
    }
}
