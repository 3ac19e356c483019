//! Changes of mode and of what is permitted, whoever asks for them.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_config::{Feature, note_use, write_updates};
use tiller_policy::{Context, Destination, Update, apply};
use tiller_protocol::ask::Answer;
use tiller_protocol::command::Event;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Level};
use tiller_protocol::id::AskId;
use tiller_protocol::mode::{Mode, Reachable};

use super::{Aside, Role, Task};
use crate::store::StoreError;
use crate::telemetry::Telemetry;

/// What notices about changes of permissions are called.
const NOTICE: &str = "permission_update";

impl Task {
    /// Passes an answer on. What it permits holds before the call goes on.
    pub(super) fn answer(&mut self, id: AskId, answer: Answer) -> Result<(), StoreError> {
        let Some(waiting) = self.asks.remove(&id) else { return Ok(()) };
        if let Answer::Allow { updates, .. } = &answer {
            self.permit(updates.clone())?;
        }
        // The call may have been stopped meanwhile; then nobody waits for the answer.
        let _ = waiting.send(answer);
        self.journal.tell(Event::Resolved(id));
        Ok(())
    }

    /// Changes what is permitted: all of it, in order and at once, or nothing. What is meant to last is also written to
    /// its settings file.
    pub(super) fn permit(&mut self, updates: Vec<Update>) -> Result<(), StoreError> {
        if updates.is_empty() {
            return Ok(());
        }
        if let Role::Sub = self.role {
            // The session may be over; then nothing is permitted any more.
            let _ = self.services.asides.send(Aside::Permit(updates));
            return Ok(());
        }
        let problem = apply(&self.services.policy.now(), &updates).err();
        if let Some(problem) = problem {
            return self.notice(NOTICE, Level::Warning, format!("Permissions stay as they are: {problem}."));
        }
        self.append(Body::Effect(Effect::Permissions { updates: updates.clone() }))?;
        if updates.iter().any(|update| update.destination() != Destination::Session) {
            self.save(updates);
        }
        Ok(())
    }

    /// Changes what is permitted because a hook says so. Only the user ends plan mode.
    pub(super) fn permit_for_hook(&mut self, updates: Vec<Update>) -> Result<(), StoreError> {
        let planning = self.services.policy.now().mode == Mode::Plan;
        let leaves = |update: &Update| matches!(update, Update::SetMode { mode, .. } if *mode != Mode::Plan);
        let (dropped, kept): (Vec<_>, Vec<_>) =
            updates.into_iter().partition(|update| planning && leaves(update));
        if !dropped.is_empty() {
            let text = "A hook wanted to leave plan mode, which only the user can do.";
            self.notice(NOTICE, Level::Warning, text.to_owned())?;
        }
        self.permit(kept)
    }

    /// Changes the mode for this session, as the user wants: by the key, by its name, or through a host.
    pub(super) fn set_mode(&mut self, mode: Mode) -> Result<(), StoreError> {
        let update = Update::SetMode { mode, destination: Destination::Session };
        let problem = apply(&self.services.policy.now(), &[update]).err();
        match problem {
            Some(problem) => self.journal.tell(Event::Rejected(problem.to_string())),
            None => {
                self.measure(&Telemetry::ModeCycled { to: mode.name() });
                self.append(Body::Effect(Effect::SetMode { mode }))?;
            }
        }
        Ok(())
    }

    /// What the mode key does.
    pub(super) fn cycle_mode(&mut self) -> Result<(), StoreError> {
        let now = self.services.policy.now();
        // There are no teams that would make it possible to hand work out to their members.
        let next = now.mode.next(Reachable { bypass: now.bypass_available, team: false });
        self.set_mode(next)
    }

    /// Lets decisions follow a mode that is in the log.
    pub(super) fn follow_mode(&mut self, mode: Mode) {
        let changed = Context { mode, ..Context::clone(&self.services.policy.now()) };
        self.decide_by(changed);
    }

    /// Lets decisions follow changes that are in the log.
    pub(super) fn follow_updates(&mut self, updates: &[Update]) {
        let changed = apply(&self.services.policy.now(), updates);
        match changed {
            Ok(changed) => self.decide_by(changed),
            Err(problem) => tracing::error!("a change of permissions was not followed: {problem}"),
        }
    }

    pub(super) fn decide_by(&mut self, changed: Context) {
        let (before, after) = (self.services.policy.now().mode, changed.mode);
        let Role::Main { policy } = &self.role else { return };
        let moved = changed.roots != self.services.policy.now().roots;
        policy.send_replace(Arc::new(changed));
        if let Some(servers) = self.services.mcp.as_ref().filter(|_| moved) {
            servers.roots_changed();
        }
        if before != after {
            self.note_use_of(after);
        }
    }

    /// Remembers in the user's own files that a mode was entered.
    fn note_use_of(&mut self, mode: Mode) {
        let feature = match mode {
            Mode::Plan => Feature::PlanMode,
            Mode::AcceptEdits => Feature::AcceptEdits,
            Mode::Default | Mode::BypassPermissions | Mode::DontAsk | Mode::Delegate => return,
        };
        let Some(dir) = self.fixed.notes_dir.clone() else { return };
        let now = self.fixed.env.now().as_millisecond();
        self.write_beside(move || {
            if let Err(error) = note_use(&dir, feature, now) {
                tracing::warn!("the use of {mode} was not noted: {error}");
            }
        });
    }

    fn save(&mut self, updates: Vec<Update>) {
        let (places, asides) = (self.fixed.places.clone(), self.services.asides.clone());
        let (env, guarded) = (self.fixed.env.clone(), Arc::clone(&self.services.guarded));
        self.write_beside(move || {
            let files: Vec<PathBuf> = places.all_files().into_iter().map(|(_, path)| path).collect();
            if let Err(error) = guarded.change(&files, || write_updates(&places, &env, &updates)) {
                tracing::warn!("a change of permissions was not saved: {error}");
                // The session may be over; then there is nobody to tell.
                let _ = asides.send(Aside::Unsaved { updates, problem: error.to_string() });
            }
        });
    }

    /// What could not be saved holds for the session at least, also when it is opened again.
    pub(super) fn unsaved(&mut self, updates: Vec<Update>, problem: &str) -> Result<(), StoreError> {
        let text =
            format!("A change of permissions could not be saved and holds for this session only: {problem}");
        self.notice(NOTICE, Level::Warning, text)?;
        let lasting = updates.into_iter().filter(|update| update.destination() != Destination::Session);
        let updates: Vec<Update> = lasting.filter_map(for_the_session).collect();
        if !updates.is_empty() {
            self.append(Body::Effect(Effect::Permissions { updates }))?;
        }
        Ok(())
    }

    /// Does something to files of the user beside the session, one thing after the other: another process may hold a
    /// lock.
    fn write_beside(&mut self, work: impl FnOnce() + Send + 'static) {
        let before = self.writing.take();
        self.writing = Some(self.services.tasks.spawn(async move {
            if let Some(before) = before {
                // Whatever became of the work before, this is the next.
                let _ = before.await;
            }
            if tokio::task::spawn_blocking(work).await.is_err() {
                tracing::error!("writing files of the user failed unexpectedly");
            }
        }));
    }
}

/// What adds something, as a change of the session alone. The mode is in force already, and what was taken away is gone.
fn for_the_session(update: Update) -> Option<Update> {
    match update {
        Update::AddRules { rules, behavior, .. } | Update::ReplaceRules { rules, behavior, .. } => {
            Some(Update::AddRules { rules, behavior, destination: Destination::Session })
        }
        Update::AddDirectories { directories, .. } => {
            Some(Update::AddDirectories { directories, destination: Destination::Session })
        }
        Update::SetMode { .. } | Update::RemoveRules { .. } | Update::RemoveDirectories { .. } => None,
    }
}
