//! Going back while the session is open.

use std::path::PathBuf;

use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, Epoch};
use tiller_protocol::id::SnapshotId;
use tiller_protocol::rewind::{
    FilesBack, RewindAct, RewindOrder, RewindPart, RewindReport, RewindTarget, Rewound, Stretch,
};
use tiller_snapshot::{Diff, Kind, SnapshotError};
use tiller_tools::todo_file;

use super::Task;
use crate::store::StoreError;
use crate::undo::{Keeper, Outline, conversation, refold};

/// What an order means for this log.
struct Way {
    /// The prompt that is gone back to.
    prompt: Option<crate::undo::Prompt>,
    /// What is no part of the conversation then, if that goes back.
    abandoned: Option<Vec<Stretch>>,
    /// What the files are then, if they go back and anything changed since.
    files: Option<SnapshotId>,
}

impl Task {
    /// Goes back, or tells what that would change. A running turn is not pulled from under its own feet.
    pub(super) fn rewind(&mut self, order: RewindOrder) -> Result<(), StoreError> {
        let Some(keeper) = self.services.keeper.clone() else {
            return self.refuse_rewind("a session that is not kept cannot go back");
        };
        if self.journal.state.turn_open {
            return self.refuse_rewind("stop the running turn first, then go back");
        }
        let outline = Outline::read(&self.paths.log)?;
        let Some(way) = way(&outline, order) else {
            return self.refuse_rewind("there is nothing to go back to");
        };
        let told = match order.act {
            RewindAct::Preview => preview(&keeper, &way),
            RewindAct::Carry => self.carry(&keeper, &way)?,
        };
        match told {
            Ok((files, left)) => {
                let prompt = way.prompt.map(|prompt| prompt.text);
                self.journal.tell(Event::Rewind(Box::new(RewindReport { order, prompt, files, left })));
                Ok(())
            }
            Err(error) => self.refuse_rewind(&error.to_string()),
        }
    }

    fn refuse_rewind(&mut self, why: &str) -> Result<(), StoreError> {
        self.journal.tell(Event::Rejected(why.to_owned()));
        Ok(())
    }

    fn carry(&mut self, keeper: &Keeper, way: &Way) -> Result<Result<Told, SnapshotError>, StoreError> {
        let restored = match way.files.as_ref().map(|files| keeper.restore(files)).transpose() {
            Ok(restored) => restored.flatten(),
            Err(error) => return Ok(Err(error)),
        };
        let back = match &way.abandoned {
            Some(abandoned) => Some(conversation(&self.paths.log, abandoned.clone())?),
            None => None,
        };
        let files = restored.as_ref().zip(way.files.clone());
        let entry = self.append(Body::Rewound(Rewound {
            to: way.prompt.as_ref().map(|prompt| prompt.id),
            conversation: back.clone(),
            files: files.map(|(restored, to)| FilesBack { to, undo: restored.undo.clone() }),
        }))?;
        if let Some(back) = back {
            (self.journal.conversation, self.journal.past) = refold(&self.paths.log, &back, entry.seq)?;
            if let Some(path) = &self.fixed.todo_file
                && let Err(error) = todo_file::save(path, &back.todos)
            {
                tracing::warn!("the todo list was not saved: {error}");
            }
            // What the model thought was bound to the conversation as it was.
            if let Some(epoch) = self.epoch.clone() {
                self.append(Body::Epoch(Epoch { reason: "rewind".to_owned(), ..Epoch::clone(&epoch) }))?;
            }
        }
        Ok(Ok(restored.map_or_else(Told::default, |restored| {
            let diff = Diff { changes: restored.changes, unknown: Vec::new() };
            (named(&diff), restored.left.into_iter().map(|left| (left.path, left.why)).collect())
        })))
    }
}

/// Files that differ, and files that are left as they are.
type Told = (Vec<(PathBuf, &'static str)>, Vec<(PathBuf, String)>);

fn preview(keeper: &Keeper, way: &Way) -> Result<Told, SnapshotError> {
    let Some(files) = &way.files else { return Ok(Told::default()) };
    let diff = keeper.preview(files)?;
    let left = diff.unknown.iter().map(|(path, why)| (path.clone(), why.as_str().to_owned())).collect();
    Ok((named(&diff), left))
}

fn named(diff: &Diff) -> Vec<(PathBuf, &'static str)> {
    let mut names = Vec::new();
    for change in diff.summary() {
        let kind = match change.kind {
            Kind::Added => "added",
            Kind::Removed => "removed",
            Kind::Modified => "modified",
            Kind::Mode => "mode",
            Kind::Renamed { from } => {
                names.push((from, "removed"));
                "added"
            }
        };
        names.push((change.path, kind));
    }
    names
}

fn way(outline: &Outline, order: RewindOrder) -> Option<Way> {
    match order.to {
        RewindTarget::Prompt(id) => {
            let prompt = outline.current().find(|prompt| prompt.id == id)?;
            let talks = order.part != RewindPart::Files;
            let touches = order.part != RewindPart::Conversation;
            Some(Way {
                abandoned: talks.then(|| outline.abandoning(prompt)),
                files: outline.files_at(prompt).filter(|_| touches).cloned(),
                prompt: Some(prompt.clone()),
            })
        }
        RewindTarget::Undo => {
            let step = outline.steps.last()?;
            Some(Way {
                prompt: None,
                abandoned: step.rewound.conversation.as_ref().map(|_| outline.returning(step)),
                files: step.rewound.files.as_ref().map(|files| files.undo.clone()),
            })
        }
    }
}
