//! Which agents there were in this run of the session.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use tiller_protocol::command::{AgentInfo, BackgroundTask, TaskKind, TaskState};
use tiller_protocol::id::{AgentId, CallId};
use tiller_tools::AgentState;
use tokio_util::sync::CancellationToken;

/// Ended agents whose last words are kept.
const ENDED_REMEMBERED: usize = 32;

/// What is known of one agent.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) info: AgentInfo,
    pub(crate) state: TaskState,
    /// Its last words, or what went wrong; empty while it works.
    pub(crate) words: String,
    /// Answers that its model has given.
    pub(crate) answers: u32,
    /// Those of them that its caller knows of.
    pub(crate) told_answers: u32,
    /// Stops it.
    pub(crate) stop: CancellationToken,
    /// Fires when its caller shall wait no longer.
    pub(crate) moved: CancellationToken,
    /// Fires when it has ended.
    pub(crate) ended: CancellationToken,
}

impl Known {
    /// As the model sees it.
    pub(crate) fn shown(&self) -> AgentState {
        AgentState {
            id: self.info.id.to_string(),
            description: self.info.description.clone(),
            status: match self.state {
                TaskState::Running => "running",
                TaskState::Completed => "completed",
                TaskState::Failed => "failed",
                TaskState::Stopped => "killed",
            },
            running: self.state == TaskState::Running,
            words: self.words.clone(),
        }
    }

    /// As a task in the background.
    pub(crate) fn task(&self) -> BackgroundTask {
        BackgroundTask {
            id: self.info.id.to_string(),
            kind: TaskKind::Agent,
            description: self.info.description.clone(),
            state: self.state,
            call: self.info.call.clone(),
            output: None,
        }
    }
}

/// All agents of this run.
#[derive(Default)]
pub(crate) struct Book {
    agents: Mutex<IndexMap<AgentId, Known>>,
}

impl Book {
    /// Notes an agent that begins, unless it is at work already.
    pub(crate) fn begin(&self, info: AgentInfo, stop: CancellationToken) -> Option<Known> {
        let mut agents = self.lock();
        if agents.get(&info.id).is_some_and(|known| known.state == TaskState::Running) {
            return None;
        }
        let (state, words) = (TaskState::Running, String::new());
        let (moved, ended) = (CancellationToken::new(), CancellationToken::new());
        agents.shift_remove(&info.id);
        let (answers, told_answers) = (0, 0);
        let known = Known { info, state, words, answers, told_answers, stop, moved, ended };
        agents.insert(known.info.id.clone(), known.clone());
        Some(known)
    }

    /// Lets the call that waits for an agent wait no longer. False if none waits.
    pub(crate) fn move_to_background(&self, call: &CallId) -> bool {
        let waits = |known: &&Known| known.info.call == *call && !known.info.background;
        self.lock().values().find(waits).inspect(|known| known.moved.cancel()).is_some()
    }

    /// Notes that an agent works in the background from now on. Nothing if it has ended.
    pub(crate) fn leave_alone(&self, id: &AgentId) -> Option<Known> {
        let mut agents = self.lock();
        let known = agents.get_mut(id).filter(|known| known.state == TaskState::Running)?;
        known.info.background = true;
        Some(known.clone())
    }

    /// Notes that the model of an agent has given one more answer.
    pub(crate) fn answered(&self, id: &AgentId) {
        if let Some(known) = self.lock().get_mut(id) {
            known.answers += 1;
        }
    }

    /// Notes that the caller of an agent knows how far it is.
    pub(crate) fn progress_is_known(&self, id: &str) {
        if let Some(known) = self.lock().get_mut(&AgentId::from(id)) {
            known.told_answers = known.answers;
        }
    }

    /// Notes that an agent has ended.
    pub(crate) fn end(&self, id: &AgentId, state: TaskState, words: String) -> Option<Known> {
        let mut agents = self.lock();
        let known = agents.get_mut(id)?;
        (known.state, known.words) = (state, words);
        known.ended.cancel();
        let known = known.clone();
        if !known.info.background {
            // Its caller has the answer; room is for those whose answer is still to be fetched.
            agents.shift_remove(id);
        }
        let ended = agents.values().filter(|known| known.state != TaskState::Running).count();
        if ended > ENDED_REMEMBERED {
            let oldest = agents.values().position(|known| known.state != TaskState::Running);
            oldest.and_then(|index| agents.shift_remove_index(index));
        }
        Some(known)
    }

    /// What is known of an agent.
    pub(crate) fn get(&self, id: &str) -> Option<Known> {
        self.lock().get(&AgentId::from(id)).cloned()
    }

    /// Stops one in the background. False if none of that name is at work there.
    pub(crate) fn stop(&self, id: &str) -> bool {
        let known = self.get(id).filter(|known| known.info.background && known.state == TaskState::Running);
        known.inspect(|known| known.stop.cancel()).is_some()
    }

    /// Those in the background, oldest first.
    pub(crate) fn in_background(&self) -> Vec<Known> {
        self.lock().values().filter(|known| known.info.background).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, IndexMap<AgentId, Known>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(id: &str, background: bool) -> AgentInfo {
        AgentInfo {
            id: id.into(),
            kind: "Explore".to_owned(),
            description: "look around".to_owned(),
            model: "m".to_owned(),
            parent: None,
            call: "toolu_1".into(),
            background,
        }
    }

    #[test]
    fn an_agent_at_work_cannot_begin_again() {
        let book = Book::default();
        assert!(book.begin(info("a1", true), CancellationToken::new()).is_some());
        assert!(book.begin(info("a1", true), CancellationToken::new()).is_none());
        let ended = book.end(&"a1".into(), TaskState::Completed, "found it".to_owned()).unwrap();
        assert!(ended.ended.is_cancelled());
        assert_eq!(book.get("a1").unwrap().words, "found it");
        assert!(book.begin(info("a1", false), CancellationToken::new()).is_some());
        assert!(book.in_background().is_empty());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let book = Book::default();
        book.begin(info("works", true), CancellationToken::new());
        for number in 0..100 {
            let id = format!("a{number}");
            book.begin(info(&id, true), CancellationToken::new());
            book.end(&id.as_str().into(), TaskState::Completed, String::new());
        }
        assert_eq!(book.in_background().len(), ENDED_REMEMBERED + 1);
        assert!(book.get("works").is_some() && book.get("a0").is_none() && book.get("a99").is_some());
    }
}
