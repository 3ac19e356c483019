//! The head of requests: built when a conversation begins, stored in the log, and kept as long as it holds.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use tiller_model::name::wire_id;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Epoch, Repair};
use tiller_protocol::ingredients::Ingredients;
use tiller_steering::prompt::{Environment, PromptInputs, ServerLine, system_prompt};
use tiller_steering::source::{Shown, Sight};
use tiller_steering::user_context::UserContext;
use tiller_steering::user_context::instructions::{Places, find};
use tiller_steering::{disarm_definition, head};
use tiller_tools::Registry;

use super::Task;
use super::servers::KnownServers;
use crate::git;
use crate::sight::may_read;
use crate::store::StoreError;

/// What the user context of an epoch holds.
pub(super) struct Told {
    /// Instruction files that are there as a whole.
    pub(super) files: Vec<PathBuf>,
    /// Reminder tags that others had forged.
    forged: usize,
    /// MCP servers with their tools.
    servers: KnownServers,
}

impl Task {
    /// Makes sure that there is an epoch, and that it fits what this run offers.
    pub(super) async fn ensure_epoch(&mut self) -> Result<(), StoreError> {
        if self.epoch_checked {
            return Ok(());
        }
        self.epoch_checked = true;
        Box::pin(self.await_servers()).await?;
        self.offer_skills();
        let key = self.epoch_key();
        if self.epoch.as_ref().is_some_and(|epoch| epoch.key == key) {
            self.note_servers_of_before();
            return Ok(());
        }
        let reason = if self.epoch.is_none() { "start" } else { "prompt or tools changed" };
        let (epoch, told) = self.build_epoch(reason, key).await;
        self.start_epoch(epoch, told).await
    }

    /// Begins a new epoch, whatever the present one is.
    pub(super) async fn renew_epoch(&mut self, reason: &str) -> Result<(), StoreError> {
        self.offer_skills();
        let key = self.epoch_key();
        let (epoch, told) = self.build_epoch(reason, key).await;
        self.start_epoch(epoch, told).await
    }

    pub(super) async fn start_epoch(&mut self, epoch: Epoch, told: Told) -> Result<(), StoreError> {
        self.epoch_checked = true;
        self.append(Body::Epoch(epoch.clone()))?;
        self.take_epoch(epoch);
        self.known_servers.clone_from(&told.servers);
        self.note(told).await
    }

    /// Instruction files that were told completely are files that the model has seen: a change of one is told at the
    /// end of the conversation, whose beginning stays as it is.
    async fn note(&mut self, told: Told) -> Result<(), StoreError> {
        if told.forged > 0 {
            let what = "made reminder tags harmless that somebody had put into the user context or into the \
                        descriptions of tools, agents or skills";
            let what = what.to_owned();
            self.append(Body::Repaired(Repair { what, forged: told.forged, ..Repair::default() }))?;
        }
        let sight = self.sight();
        for file in told.files {
            if let Ok(Shown { seen: Some(seen), .. }) = sight.show(&file, None).await {
                self.append(Body::Effect(Effect::FileSeen(seen)))?;
            }
        }
        Ok(())
    }

    /// `system` and `tools` as they are sent.
    pub(super) fn head(&self) -> (Bytes, Bytes) {
        self.head.clone()
    }

    /// Before another model is asked: it cannot read the reasoning of the one before, so a new epoch begins without it.
    pub(super) fn leave_foreign_thinking(&mut self, model: &str) -> Result<(), StoreError> {
        if !self.journal.conversation.has_foreign_thinking(&wire_id(model)) {
            return Ok(());
        }
        self.begin_epoch_with_this_head("model switched")
    }

    /// Begins an epoch whose head is that of the present one, if there is one.
    pub(super) fn begin_epoch_with_this_head(&mut self, reason: &str) -> Result<(), StoreError> {
        if let Some(epoch) = self.epoch.clone() {
            self.append(Body::Epoch(Epoch { reason: reason.to_owned(), ..Epoch::clone(&epoch) }))?;
        }
        Ok(())
    }

    pub(super) fn take_epoch(&mut self, epoch: Epoch) {
        let bytes = |raw: &Arc<RawValue>| match raw.get() {
            "[]" => Bytes::new(),
            json => Bytes::copy_from_slice(json.as_bytes()),
        };
        self.head = (bytes(&epoch.system), bytes(&epoch.tools));
        self.epoch = Some(Arc::new(epoch));
    }

    pub(super) async fn build_epoch(&mut self, reason: &str, key: String) -> (Epoch, Told) {
        let cwd = self.fixed.env.cwd.clone();
        let snapshot = if self.fixed.user_context { git::snapshot(&cwd).await } else { None };
        self.journal.git_branch = snapshot.as_ref().and_then(|snapshot| snapshot.branch.clone());
        let registry = &self.services.registry;
        let mut definitions = own_definitions(registry);
        definitions.extend(registry.offered());
        let forged: usize = definitions.iter_mut().map(disarm_definition).sum();
        let policy = self.services.policy.now();
        let files = match self.fixed.user_context {
            true => find(Places {
                config_dir: &self.fixed.config_dir,
                home: &self.fixed.env.home,
                working_directory: &cwd,
                may_read: &|path| may_read(&policy, path),
            }),
            false => Vec::new(),
        };
        let context = UserContext::collect(&files, snapshot.as_ref());
        let user_context = context.render();
        let instructions = UserContext::told(user_context.as_deref().unwrap_or_default(), &files);
        let told = Told {
            forged: context.forged_tags() + forged,
            servers: self.servers_now(),
            files: instructions.iter().map(|file| file.path.clone()).collect(),
        };
        let ingredients = self.ingredients();
        let epoch = Epoch {
            reason: reason.to_owned(),
            key,
            system: self.system(&ingredients).into(),
            tools: head::tools(definitions).into(),
            user_context,
            instructions,
            made_of: Some(Arc::new(ingredients)),
        };
        (epoch, told)
    }

    fn prompt(&self, environment: Environment, servers: &[ServerLine]) -> Vec<String> {
        let names = self.tool_names();
        let tools: Vec<&str> = names.iter().map(String::as_str).collect();
        system_prompt(&PromptInputs {
            tools: &tools,
            interactive: self.services.interactive,
            servers,
            environment,
            replace: self.fixed.prompt.replace.as_deref(),
            append: self.fixed.prompt.append.as_deref(),
            persona: self.fixed.persona.as_ref(),
            system_context: &[],
        })
    }

    /// The `system` array for these.
    pub(super) fn system(&self, ingredients: &Ingredients) -> Box<RawValue> {
        head::system(&self.prompt(self.environment_of(ingredients), &ingredients.servers))
    }

    /// What the head depends on, apart from what changes by itself.
    pub(super) fn epoch_key(&self) -> String {
        let stable = Environment {
            date: jiff::civil::Date::default(),
            model: String::new(),
            os_version: String::new(),
            ..self.environment_of(&self.ingredients())
        };
        let mut hasher = blake3::Hasher::new();
        for part in self.prompt(stable, &self.stable_server_lines()) {
            hasher.update(part.as_bytes());
        }
        for mut definition in own_definitions(&self.services.registry) {
            disarm_definition(&mut definition);
            hasher.update(definition.to_string().as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

/// The definitions of Tiller's own tools. What they say of agents and skills comes from files of others.
pub(super) fn own_definitions(registry: &Registry) -> Vec<Value> {
    registry.specs().into_iter().map(|spec| spec.definition).collect()
}
