//! What runs beside the conversation: background commands and agents.

use std::sync::Arc;

use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{BackgroundTask, Event, TaskKind, TaskState};
use tiller_protocol::entry::{Attachment, Level, Origin};
use tiller_protocol::id::{CallId, EntryId};
use tiller_sandbox::Status;
use tiller_steering::source::Task as TaskFact;
use tiller_tools::{ShellInfo, ShellState, Shells};
use tokio::time::Instant;

use super::{Aside, Held, Task};
use crate::agent::Known;
use crate::guarded::notice;
use crate::hook::Ending;
use crate::services::Services;
use crate::store::StoreError;

/// The kind of attachment that tells of an end.
const STATUS: &str = "task_status";
/// How much of what a command has printed is told to the front end.
const SHOWN_BYTES: usize = 64 * 1024;
/// The kind of task that an agent is.
const AGENT: &str = "agent";
/// Turns in a row that nobody has asked for: what is started in one of them may end in the next, for ever.
const MOST_WOKEN: u32 = 10;
/// What a turn begins with that nobody has asked for.
const TASK_ENDED: &str = "[Not written by the user: work in the background has ended while you were waiting for a \
    message; what has become of it follows. Go on with what depends on it. If nothing does, say in a sentence how it \
    ended.]";

impl Task {
    /// Lets a running call wait no longer for its command or its agent, which goes on.
    pub(super) fn move_to_background(&mut self, call: &CallId) {
        let agents = self.services.agents.as_ref();
        let is_agents = || agents.is_some_and(|agents| agents.book.move_to_background(call));
        if !self.services.shells.move_to_background(call) && !is_agents() {
            let problem = format!("{call} cannot go on in the background: it waits for nothing that could");
            self.journal.tell(Event::Rejected(problem));
        }
    }

    /// Stops a background task; that it has ended is told when it has.
    pub(super) fn stop_task(&mut self, id: String) {
        if self.services.agents.as_ref().is_some_and(|agents| agents.book.stop(&id)) {
            return;
        }
        let shells = Arc::clone(&self.services.shells);
        if shells.list().iter().all(|shell| shell.id != id) {
            self.journal.tell(Event::Rejected(format!("there is no background task {id}")));
            return;
        }
        self.services.tasks.spawn(async move { shells.kill(&id).await });
    }

    /// Tells the end of what a background command has printed; of others there is nothing to tell.
    pub(super) fn show_task(&mut self, id: String) {
        let last = self.services.shells.last(&id, SHOWN_BYTES).unwrap_or_default();
        let text = self.services.secrets.mask(&String::from_utf8_lossy(&last)).into_owned();
        self.journal.tell(Event::TaskOutput { id, text });
    }

    /// What sources are told of background tasks.
    pub(super) fn task_facts(&self) -> Vec<TaskFact> {
        let shells = &self.services.shells;
        let commands = shells.list().into_iter().map(|shell| command_fact(shell, shells));
        let agents = self.services.agents.iter().flat_map(|agents| agents.book.in_background());
        commands.chain(agents.map(|known| agent_fact(&known))).collect()
    }

    /// What an idle session begins by itself: a turn about tasks that have ended and that the model knows nothing of. One
    /// that somebody has stopped is told with the next message, and so is everything after an interrupt.
    pub(super) fn wake(&mut self) -> Option<(EntryId, Vec<RawBlock>, Origin)> {
        let tells = self.pipeline.is_enabled() && !self.pipeline.mutes(STATUS);
        let is_held = self.queue_held != Held::No;
        // When nobody is there any more, what became of the last turn is what became of the run.
        let is_over = self.closing && !self.has_succeeded;
        if self.woken >= MOST_WOKEN || is_held || is_over || !self.inbox_open || !tells {
            return None;
        }
        let past = Arc::clone(&self.journal.past);
        let mut ended = self.task_facts();
        ended.retain(|task| matches!(task.status.as_str(), "completed" | "failed"));
        // When nobody is there any more, only agents are waited for.
        ended.retain(|task| !self.closing || task.kind == AGENT);
        // Even if it could not be told for some reason, an end is no reason to begin again and again.
        self.woken_by.retain(|id| ended.iter().any(|task| task.id == *id));
        let is_news =
            |task: &TaskFact| !past.knows_end(&task.id, &task.status) && !self.woken_by.contains(&task.id);
        let news: Vec<String> = ended.into_iter().filter(is_news).map(|task| task.id).collect();
        if news.is_empty() {
            return None;
        }
        self.woken_by.extend(news);
        self.woken += 1;
        Some((EntryId(self.fixed.env.fresh()), vec![RawBlock::text(TASK_ENDED)], Origin::Harness))
    }

    /// Waits for agents in the background when nobody is there any more; false when there is nothing to wait for, or no
    /// time left. Those that are left then are stopped, and that is told.
    pub(super) async fn outwait_agents(&mut self) -> Result<bool, StoreError> {
        let agents = self.services.agents.iter().flat_map(|agents| agents.book.in_background());
        let at_work: Vec<String> = agents
            .filter(|known| known.state == TaskState::Running)
            .map(|known| known.info.description)
            .collect();
        if at_work.is_empty() || !self.inbox_open || matches!(self.ending, Ending::Clear) {
            return Ok(false);
        }
        let ceiling = self.fixed.limits.agents_ceiling;
        let until = *self.outwaits_until.get_or_insert_with(|| ceiling.map(|wait| Instant::now() + wait));
        tokio::select! {
            biased;
            command = self.inbox.recv() => self.on_command(command)?,
            Some(aside) = self.asides.recv() => self.on_aside(aside)?,
            () = moment(until) => {
                let text = format!("The run ended before these agents were done; they were stopped: {}.", at_work.join("; "));
                self.notice("agents_stopped", Level::Warning, text)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Notes what the model was told of background tasks.
    pub(super) fn follow_attachment(&self, attachment: &Attachment) {
        if attachment.kind() == "task_progress"
            && let Some(id) = attachment.attachment["taskId"].as_str()
        {
            self.services.shells.unread_is_known(id);
            if let Some(agents) = &self.services.agents {
                agents.book.progress_is_known(id);
            }
        }
    }
}

/// Lets the front end hear of every command that starts or ends in the background, and the session of ends.
pub(super) fn announce_commands(services: &Services) {
    let (events, asides) = (services.events.clone(), services.asides.clone());
    let (guarded, tasks) = (Arc::clone(&services.guarded), services.tasks.clone());
    services.shells.listen(move |shell| {
        let state = state(shell.state);
        let task = BackgroundTask {
            id: shell.id.clone(),
            kind: TaskKind::Command,
            description: shell.command.clone(),
            state,
            call: shell.call.clone(),
            output: shell.stored.clone(),
        };
        let told = events.send(Event::TaskChanged(task)).is_ok();
        if state != TaskState::Running {
            if let Some(watch) = guarded.has_ended(&shell.call) {
                let (asides, command) = (asides.clone(), shell.command.clone());
                tasks.spawn_blocking(move || {
                    if let Some(notice) = notice(&watch.end(), &command) {
                        let _ = asides.send(Aside::Notice(notice));
                    }
                });
            }
            // The session may be over; then nobody waits for it.
            let _ = asides.send(Aside::TaskEnded);
        }
        told
    });
}

async fn moment(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

fn state(state: ShellState) -> TaskState {
    match state {
        ShellState::Running => TaskState::Running,
        ShellState::Ended(Status::Code(0)) => TaskState::Completed,
        ShellState::Ended(_) => TaskState::Failed,
        ShellState::Killed => TaskState::Stopped,
    }
}

fn command_fact(shell: ShellInfo, shells: &Shells) -> TaskFact {
    let unread = shells.unread(&shell.id).filter(|_| shell.state == ShellState::Running);
    TaskFact {
        progress: unread.map(|bytes| format!("It has printed {bytes} bytes that you have not read.")),
        how_to_read: format!("Its output: BashOutput with bash_id {}.", shell.id),
        id: shell.id,
        kind: "bash".to_owned(),
        status: word(state(shell.state)).to_owned(),
        description: shell.command,
    }
}

fn agent_fact(known: &Known) -> TaskFact {
    let agent = known.shown();
    let has_news = agent.running && known.answers > known.told_answers;
    TaskFact {
        progress: has_news
            .then(|| format!("It is at work; its model has answered {} times so far.", known.answers)),
        how_to_read: format!("Its answer: TaskOutput with task_id {}.", agent.id),
        id: agent.id,
        kind: AGENT.to_owned(),
        status: agent.status.to_owned(),
        description: agent.description,
    }
}

fn word(state: TaskState) -> &'static str {
    match state {
        TaskState::Running => "running",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Stopped => "killed",
    }
}
