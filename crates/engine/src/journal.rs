//! The one way anything happens in a session: an entry is numbered, written, folded into state and conversation, and
//! told to the front end. There is no other mutation, persistence or notification.

use std::sync::Arc;

use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::env::Env;
use tiller_protocol::id::{AgentId, EntryId, SessionId};
use tiller_protocol::line::{self, Envelope};
use tiller_protocol::state::State;
use tiller_steering::Conversation;
use tiller_steering::compaction::Room;
use tiller_steering::past::Past;
use tokio::sync::mpsc::UnboundedSender;

use crate::archive::Archive;
use crate::store::{CarriedName, LogWriter, StoreError};

/// Tiller's version, as logs and requests name it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a log was folded into.
pub(crate) type Folds = (State, Conversation, Arc<Past>, Room);

/// A session's log with everything derived from it.
pub(crate) struct Journal {
    pub(crate) session: SessionId,
    pub(crate) state: State,
    pub(crate) conversation: Conversation,
    /// What sources of attachments need to know; shared with those that are looking at it.
    pub(crate) past: Arc<Past>,
    /// How full the context is.
    pub(crate) room: Room,
    /// Everything that was appended.
    pub(crate) archive: Archive,
    pub(crate) git_branch: Option<String>,
    agent: Option<AgentId>,
    env: Env,
    writer: Option<LogWriter>,
    events: UnboundedSender<Event>,
}

impl Journal {
    /// A journal that continues after these; without a writer it is not kept.
    pub(crate) fn new(
        env: Env,
        session: SessionId,
        (state, conversation, past, room): Folds,
        (archive, writer): (Archive, Option<LogWriter>),
        events: UnboundedSender<Event>,
    ) -> Self {
        Self {
            session,
            state,
            conversation,
            past,
            room,
            archive,
            git_branch: None,
            agent: None,
            env,
            writer,
            events,
        }
    }

    /// The same for a sub-agent of the session.
    pub(crate) fn of_agent(self, agent: AgentId) -> Self {
        Self { agent: Some(agent), ..self }
    }

    /// Appends a fact.
    pub(crate) fn append(&mut self, body: Body) -> Result<Arc<Entry>, StoreError> {
        let id = EntryId(self.env.fresh());
        self.append_as(id, body)
    }

    /// Appends a fact under an id chosen elsewhere.
    pub(crate) fn append_as(&mut self, id: EntryId, body: Body) -> Result<Arc<Entry>, StoreError> {
        let entry = self.entry(id, body);
        self.write(&entry)?;
        self.take_in(entry)
    }

    fn entry(&self, id: EntryId, body: Body) -> Entry {
        let parent = self.state.leaf.filter(|_| body.is_message());
        Entry {
            seq: self.state.seq.saturating_add(1),
            id,
            parent,
            at: self.env.now(),
            agent: self.agent.clone(),
            body,
        }
    }

    fn take_in(&mut self, entry: Entry) -> Result<Arc<Entry>, StoreError> {
        self.state.apply(&entry);
        Arc::make_mut(&mut self.past).push(&entry);
        self.room.push(&entry);
        let repairs = self.conversation.push(&entry);
        let entry = Arc::new(entry);
        self.archive.keep(&entry);
        self.tell(Event::Appended(Arc::clone(&entry)));
        for repair in repairs {
            self.append(Body::Repaired(repair))?;
        }
        Ok(entry)
    }

    /// Appends a fact that is told only when it and all before it are on disk.
    pub(crate) async fn append_durably(&mut self, body: Body) -> Result<Arc<Entry>, StoreError> {
        let id = EntryId(self.env.fresh());
        let entry = self.entry(id, body);
        self.write(&entry)?;
        self.sync().await?;
        self.take_in(entry)
    }

    /// Tells the front end something that leaves no trace.
    pub(crate) fn tell(&self, event: Event) {
        let event = match &self.agent {
            Some(agent) => Event::Agent(agent.clone(), Box::new(event)),
            None => event,
        };
        // A front end that went away no longer needs to be told.
        let _ = self.events.send(event);
    }

    /// The name that the log has for lists, as long as there is one to write to.
    pub(crate) fn name(&self) -> Option<CarriedName> {
        let writer = self.writer.as_ref().filter(|_| self.agent.is_none())?;
        Some(CarriedName::of(writer.path()))
    }

    /// Waits until everything appended so far survives a crash.
    pub(crate) async fn sync(&mut self) -> Result<(), StoreError> {
        match &mut self.writer {
            Some(writer) => writer.sync().await,
            None => Ok(()),
        }
    }

    /// The same in a process that has nothing else to do meanwhile.
    pub(crate) fn sync_now(&mut self) -> Result<(), StoreError> {
        self.writer.as_mut().map_or(Ok(()), LogWriter::sync_now)
    }

    /// Lets go of the log: whoever hears that the session is closed may open it again.
    pub(crate) fn release(&mut self) {
        self.writer = None;
    }

    fn write(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let envelope = Envelope {
            session: self.session,
            cwd: &self.state.cwd,
            version: VERSION,
            git_branch: self.git_branch.as_deref(),
            slug: self.state.plan_slug.as_deref(),
        };
        writer.append(&line::write(entry, &envelope)?)
    }
}
