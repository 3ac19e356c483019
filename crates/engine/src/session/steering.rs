//! The boundary before a model request: what the user sent meanwhile is delivered, and sources say what the model should
//! know now.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;

use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Attachment, Body, Delivery, Level, Origin};
use tiller_protocol::env::{Env, is_yes};
use tiller_protocol::id::{EntryId, SessionId};
use tiller_protocol::mcp::McpState;
use tiller_protocol::mode::Mode;
use tiller_steering::pipeline::{Pipeline, Sampled};
use tiller_steering::source::{
    Author, Facts, Prompt, Providers, Queued, Spending, Style, Surroundings, Tokens, sources,
};
use tiller_tools::View;

use super::hooks::Admission;
use super::{Role, Task};
use crate::ide::Editors;
use crate::language::LanguageChoice;
use crate::policy::resolved;
use crate::services::Services;
use crate::sight::FileSight;
use crate::store::StoreError;
use crate::telemetry::Telemetry;

/// What language servers report.
const DIAGNOSTICS: &str = "diagnostics";

/// What the model is told beside the prompt, as the user has chosen.
#[derive(Clone, Default)]
pub struct SteeringChoice {
    /// Kinds of attachments to leave out.
    pub mute: BTreeSet<&'static str>,
    /// The output style, if it is not the usual one.
    pub style: Option<Style>,
    /// A file whose text is repeated every few answers.
    pub ultra_memory: Option<PathBuf>,
    /// Whether earlier sessions of the project are told.
    pub session_memory: bool,
    /// Whether the next message is proposed to the user.
    pub suggestions: bool,
    /// A text that is repeated with every request.
    pub critical_reminder: Option<String>,
    /// Who knows problems in files.
    pub providers: Providers,
    /// Language servers.
    pub languages: LanguageChoice,
    /// Whether editors are listened to.
    pub editors: bool,
}

impl SteeringChoice {
    pub(super) fn pipeline(&self, env: &Env) -> Pipeline {
        let off = env.var_or_alias("TILLER_DISABLE_ATTACHMENTS", "CLAUDE_CODE_DISABLE_ATTACHMENTS");
        Pipeline::new(sources(&self.providers), Arc::clone(&env.ids))
            .muted(self.mute.clone())
            .enabled(!off.is_some_and(is_yes))
    }

    /// Listens to editors, if anything that they say can be told. A session does without them if it has to.
    pub(super) fn listen(
        &self,
        config_dir: &Path,
        session: SessionId,
        services: &Services,
    ) -> Option<Editors> {
        let pipeline = self.pipeline(&services.env);
        let is_wanted = self.editors && pipeline.is_enabled();
        if !is_wanted || FROM_EDITORS.iter().all(|kind| pipeline.mutes(kind)) {
            return None;
        }
        match Editors::listen(config_dir, session, &resolved(&services.env.cwd), services) {
            Ok(editors) => Some(editors),
            Err(error) => {
                tracing::warn!("editors cannot connect: {error}");
                None
            }
        }
    }
}

/// What of an editor the model can be told.
const FROM_EDITORS: [&str; 3] = ["selected_lines_in_ide", "opened_file_in_ide", DIAGNOSTICS];

/// What hooks add to each message that they let through.
type Contexts = HashMap<EntryId, Vec<Attachment>>;

impl Task {
    /// Whether the user has said something that the running turn should hear.
    pub(super) fn steering_waits(&self) -> bool {
        self.pipeline.is_enabled() && !self.waiting_steering().is_empty()
    }

    /// What the user has said to the running turn and is not delivered yet.
    pub(super) fn waiting_steering(&self) -> Vec<EntryId> {
        let queue = self.journal.state.queue.iter();
        queue.filter(|queued| queued.delivery == Delivery::Steer).map(|queued| queued.id).collect()
    }

    /// Attaches what belongs to a prompt of the user, or to what else a turn begins with.
    pub(super) async fn attach_to_prompt(
        &mut self,
        text: String,
        author: Author,
        origin: Origin,
    ) -> Result<(), StoreError> {
        self.tell_of_servers()?;
        if matches!(self.role, Role::Sub) || origin == Origin::Harness {
            let sampled = self.sample_sources(None, Vec::new()).await?;
            return self.take_in(sampled, Contexts::new());
        }
        let editors = self.services.editors.as_ref();
        let editor =
            editors.and_then(|editors| editors.looks(&self.services.policy.now(), &self.services.secrets));
        let text = if origin == Origin::Composed { String::new() } else { text };
        let prompt = Prompt { text, author, editor };
        let (queue, contexts) = self.admit_waiting(|delivery| delivery == Delivery::WithNext).await?;
        let sampled = self.sample_sources(Some(prompt), queue).await?;
        self.take_in(sampled, contexts)
    }

    /// Puts waiting steering input before the model, as far as hooks let it through, and what sources have to say; says
    /// how much input it was. What arrives meanwhile, or is meant for later, stays queued; so does everything when a hook
    /// ends the turn, for then nobody would answer it.
    pub(super) async fn deliver_steering(&mut self) -> Result<usize, StoreError> {
        self.tell_of_servers()?;
        let (queue, contexts) = self.admit_waiting(|delivery| delivery != Delivery::Queue).await?;
        if self.turn.hook_stop.is_some() {
            return Ok(0);
        }
        self.measure_before_attachments();
        let sampled = self.sample_sources(None, queue).await?;
        let count = |kind: &str| sampled.attachments.iter().filter(|one| one.kind() == kind).count();
        let (total, changed_files) = (sampled.attachments.len(), count("edited_text_file"));
        let delivered = count("queued_command");
        self.take_in(sampled, contexts)?;
        self.measure(&Telemetry::QueryAfterAttachments { total, changed_files });
        self.turn.pending_steering = delivered;
        Ok(delivered)
    }

    /// Lets hooks see what waits, in order, until one ends the turn.
    async fn admit_waiting(
        &mut self,
        is_due: impl Fn(Delivery) -> bool,
    ) -> Result<(Vec<Queued>, Contexts), StoreError> {
        let (mut admitted, mut contexts) = (Vec::new(), Contexts::new());
        if !self.pipeline.is_enabled() {
            return Ok((admitted, contexts));
        }
        let waiting = self.journal.state.queue.iter().filter(|queued| is_due(queued.delivery));
        let snapshot: Vec<_> = waiting.map(|queued| (queued.id, queued.content.clone())).collect();
        for (id, content) in snapshot {
            match self.admit(id, content).await? {
                Admission::Admitted(content, context) => {
                    contexts.insert(id, context);
                    admitted.push(Queued { id, content });
                }
                Admission::Refused { ends_turn: false, .. } => {}
                Admission::Refused { reason, ends_turn: true } => {
                    self.turn.hook_stop = Some(reason);
                    break;
                }
            }
        }
        Ok((admitted, contexts))
    }

    /// Asks the sources while commands are still heard.
    async fn sample_sources(
        &mut self,
        prompt: Option<Prompt>,
        queue: Vec<Queued>,
    ) -> Result<Sampled, StoreError> {
        self.note_shaping()?;
        let facts = self.facts(prompt, queue)?;
        if let Some(sampled) = self.recorded_sources(&facts).await {
            return Ok(sampled);
        }
        let (pipeline, sight, token) = (Arc::clone(&self.pipeline), self.sight(), self.turn.token.clone());
        let reports = self.awaited_reports(facts.mode);
        let mut sampling = pin!(async {
            reports.await;
            pipeline.sample(&facts, &sight).await
        });
        loop {
            tokio::select! {
                biased;
                command = self.inbox.recv(), if self.inbox_open => self.on_command(command)?,
                Some(aside) = self.asides.recv() => self.on_aside(aside)?,
                // What hooks said is not asked for again; the rest can wait for another time.
                () = token.cancelled() => {
                    return Ok(Sampled { attachments: facts.hook_responses.clone(), ..Sampled::default() });
                }
                sampled = &mut sampling => return Ok(sampled),
            }
        }
    }

    /// What language servers will say of the last edits: the sources are asked when it is there, or when it takes too
    /// long.
    fn awaited_reports(&self, mode: Mode) -> impl Future<Output = ()> + use<> {
        // Servers that are told something may build something, which is not for planning. Sub-agents are not told.
        let is_wanted = mode != Mode::Plan && matches!(self.role, Role::Main { .. });
        let languages = self.services.languages.clone().filter(|_| is_wanted);
        let waits = self.fixed.steering.languages.waits();
        async move {
            if let Some(languages) = languages {
                languages.settle(waits).await;
            }
        }
    }

    /// Appends what was sampled. What a hook says about a message stands behind it.
    fn take_in(&mut self, sampled: Sampled, mut contexts: Contexts) -> Result<(), StoreError> {
        for measurement in &sampled.measurements {
            self.measure(&Telemetry::AttachmentCompute(measurement));
        }
        for text in sampled.notices {
            self.notice("mention", Level::Warning, text)?;
        }
        for effect in sampled.effects {
            self.append(Body::Effect(effect))?;
        }
        for attachment in sampled.attachments {
            let context = attachment.queued_id().and_then(|id| contexts.remove(&id));
            self.append(Body::Attachment(attachment))?;
            self.attach(context.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Lets language servers know which files a call has written.
    pub(super) fn tell_servers(&self, effects: &[Effect]) {
        let Some(languages) = &self.services.languages else { return };
        if !self.pipeline.is_enabled() || self.pipeline.mutes(DIAGNOSTICS) {
            return;
        }
        for effect in effects {
            if let Effect::FileSeen(seen) = effect {
                languages.touched(&seen.path);
            }
        }
    }

    pub(super) fn sight(&self) -> FileSight {
        FileSight {
            services: self.services.clone(),
            view: View { cwd: self.fixed.env.cwd.clone(), ..self.view() },
            config_dir: self.fixed.config_dir.clone(),
            session: self.journal.session,
            inbox: self.fixed.inbox.clone(),
        }
    }

    fn facts(&mut self, prompt: Option<Prompt>, queue: Vec<Queued>) -> Result<Facts, StoreError> {
        // What hooks in the background have to say is for the main agent.
        let hook_responses = match self.role {
            Role::Main { .. } => self.take_hook_responses()?,
            Role::Sub => Vec::new(),
        };
        let (state, choice) = (&self.journal.state, &self.fixed.steering);
        let tools = self.tool_names();
        let spent = self.services.budget.spent();
        Ok(Facts {
            prompt,
            queue,
            hook_responses,
            past: Arc::clone(&self.journal.past),
            files: Arc::clone(&state.files),
            start_dir: resolved(&self.fixed.env.cwd),
            mode: self.services.policy.now().mode,
            agent: self.services.agent.as_ref().map(|agent| agent.id.clone()),
            agents: self.services.agents.as_ref().map(|agents| agents.names()).unwrap_or_default(),
            servers: self.ready_servers(),
            plan_flags: state.plan,
            plan: self.plan_fact(),
            delegate: self.delegate_fact(),
            tools,
            todos: state.todos.clone(),
            tasks: self.task_facts(),
            critical_reminder: choice.critical_reminder.clone(),
            style: choice.style.clone(),
            ultra_memory: choice.ultra_memory.clone(),
            session_memory: choice.session_memory,
            tokens: self.tokens(),
            spending: self.fixed.limits.max_budget_usd.map(|limit| Spending { spent, limit }),
            surroundings: Some(self.surroundings()),
            surroundings_in_prompt: self.surroundings_in_prompt(),
        })
    }

    /// What the prompt of the epoch says; a prompt of somebody else's says nothing of it.
    fn surroundings_in_prompt(&self) -> Option<Surroundings> {
        let made_of = self.epoch.as_ref()?.made_of.as_ref().filter(|made_of| made_of.replace.is_none())?;
        Some(Surroundings { date: made_of.date, model: made_of.model.clone() })
    }

    fn ready_servers(&self) -> Vec<String> {
        let seen = self.services.mcp.as_ref().map(|servers| servers.seen()).unwrap_or_default();
        seen.into_iter().filter(|seen| seen.state == McpState::Ready).map(|seen| seen.name).collect()
    }

    fn tokens(&self) -> Option<Tokens> {
        if !self.fixed.env.flag("TILLER_TOKEN_USAGE_ATTACHMENT") {
            return None;
        }
        let used = self.journal.state.last_usage.map(|usage| usage.total()).unwrap_or_default();
        Some(Tokens { used, window: self.services.model.info(&self.lead.borrow().main_model).context_window })
    }
}
