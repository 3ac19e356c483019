//! Going back while the session is open.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_protocol::command::Event;
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Level};
use tiller_protocol::id::SnapshotId;
use tiller_protocol::rewind::{
    ConversationBack, FileDifference, FilesBack, RewindAct, RewindOrder, RewindPart, RewindReport,
    RewindTarget, Rewound, Stretch,
};
use tiller_snapshot::{Aside, Diff, Restored, Unknown};
use tiller_tools::todo_file;

use super::Task;
use crate::store::StoreError;
use crate::undo::{Keeper, Missing, Outline, Preview, Returning, RewindError, conversation, named, noted};
use crate::view::View;

/// What the user is told of a step back whose end is not on record.
const CUT_OFF: &str = "The last step back was cut off while files were going back: some may not be what they should \
     be. Undoing the step brings back what was there before; then it can be taken again.";

/// What an order means for this log.
struct Way {
    /// The prompt that is gone back to.
    prompt: Option<crate::undo::Prompt>,
    /// The step back whose left conversation is gone on from.
    branch: Option<u64>,
    /// What is no part of the conversation then, if that goes back.
    abandoned: Option<Vec<Stretch>>,
    /// Whether files shall go back.
    touches_files: bool,
    /// What the files are then, if they go back and anything changed since: the first snapshot of each directory.
    files: Vec<SnapshotId>,
    /// What gets its name again.
    returning: Option<Returning>,
    /// What does not go back, because it was not kept.
    missing: Option<Missing>,
}

impl Task {
    /// Goes back, or tells what that would change, while nothing else goes on in the session.
    pub(super) async fn rewind(&mut self, order: RewindOrder) -> Result<(), StoreError> {
        let Some(keeper) = self.services.keeper.clone() else {
            self.refuse_rewind("a session that is not kept cannot go back");
            return Ok(());
        };
        let outline = Outline::read(&self.paths.log)?;
        let way = match way(&outline, order) {
            Ok(Some(way)) => way,
            Ok(None) => {
                self.refuse_rewind("there is nothing to go back to");
                return Ok(());
            }
            Err(error) => {
                // Why nothing is kept says more, if it is still so.
                let error = keeper.check().err().unwrap_or(error);
                self.refuse_rewind(&error.to_string());
                return Ok(());
            }
        };
        if let Some(why) = self.obstacle(&keeper, &way, order.act) {
            self.refuse_rewind(&why);
            return Ok(());
        }
        let told = match order.act {
            RewindAct::Preview => preview(&keeper, &way).await,
            RewindAct::Carry => self.go_back(&keeper, &way).await?,
        };
        match told {
            Ok(Told { files, aside, left }) => {
                let prompt = way.prompt.map(|prompt| prompt.text);
                let missing = way.missing.map(Missing::explain);
                let report = RewindReport { order, prompt, files, aside, left, missing };
                self.journal.tell(Event::Rewind(Box::new(report)));
            }
            Err(error) => self.refuse_rewind(&error.to_string()),
        }
        Ok(())
    }

    /// Folds the log anew after the conversation has become another view of it.
    pub(super) fn see_anew(&mut self, back: &ConversationBack, until: u64) -> Result<(), StoreError> {
        let View { conversation, past, room } = View::after(&self.journal.archive, back, until)?;
        (self.journal.conversation, self.journal.past, self.journal.room) = (conversation, past, room);
        if self.offer_recall() {
            // The head of requests names the tools.
            self.epoch_checked = false;
        }
        Ok(())
    }

    /// Says why it is not possible to go back now.
    pub(super) fn refuse_rewind(&mut self, why: &str) {
        self.journal.tell(Event::Rejected(why.to_owned()));
    }

    /// Why files cannot go back now, if they shall.
    fn obstacle(&self, keeper: &Keeper, way: &Way, act: RewindAct) -> Option<String> {
        if !way.touches_files {
            return None;
        }
        if let Err(error) = keeper.check() {
            return Some(error.to_string());
        }
        let running = self.task_facts().into_iter().filter(|task| task.status == "running");
        let running: Vec<String> = running.map(|task| task.id).collect();
        (act == RewindAct::Carry && !running.is_empty()).then(|| {
            format!(
                "files cannot go back while something in the background may change them ({}): stop it first, or go \
                 back in the conversation alone; nothing was changed",
                running.join(", ")
            )
        })
    }

    /// Goes back. What is about to happen to files is on disk before it happens, with the way to undo it.
    async fn go_back(
        &mut self,
        keeper: &Arc<Keeper>,
        way: &Way,
    ) -> Result<Result<Told, RewindError>, StoreError> {
        let ready = match way.files.is_empty() {
            true => Ok(None),
            false => keeper.make_ready(way.files.clone(), way.returning.clone()).await,
        };
        let ready = match ready {
            Ok(Some(ready)) => ready,
            Ok(None) => {
                // A step that goes nowhere is none: it would stand in the way of undoing the one before.
                if way.abandoned.is_some() {
                    self.record(way, None)?;
                    self.journal.sync().await?;
                }
                return Ok(Ok(Told::default()));
            }
            Err(error) => return Ok(Err(error)),
        };
        let (to, undo) = (ready.to.clone(), ready.undo.clone());
        self.record(way, Some(FilesBack { to, undo: undo.clone(), announced: true }))?;
        self.journal.sync().await?;
        let restored = keeper.carry_out(ready).await;
        if let Ok(restored) = &restored {
            let aside = noted(&restored.aside);
            self.append(Body::Effect(Effect::WentBack { undo, aside }))?;
        }
        Ok(restored.map(told))
    }

    /// After a step back that was cut off: files may be neither what they were nor what they should be.
    pub(super) fn tell_of_files_halfway(&mut self) -> Result<(), StoreError> {
        let Some(FilesBack { undo, .. }) = self.journal.state.going_back.clone() else { return Ok(()) };
        self.notice("rewind_cut_off", Level::Warning, CUT_OFF.to_owned())?;
        // It is said once.
        self.append(Body::Effect(Effect::WentBack { undo, aside: Vec::new() }))?;
        Ok(())
    }

    /// Writes down what goes back, and what files are before, and lets the conversation follow.
    fn record(&mut self, way: &Way, files: Option<FilesBack>) -> Result<(), StoreError> {
        let back = match &way.abandoned {
            Some(abandoned) => Some(conversation(&self.journal.archive, abandoned.clone())?),
            None => None,
        };
        let entry = self.append(Body::Rewound(Rewound {
            to: way.prompt.as_ref().map(|prompt| prompt.id),
            conversation: back.clone(),
            files,
            branch: way.branch,
            unfolded: None,
        }))?;
        if let Some(back) = back {
            self.see_anew(&back, entry.seq)?;
            if let Some(path) = &self.fixed.todo_file
                && let Err(error) = todo_file::save(path, &back.todos)
            {
                tracing::warn!("the todo list was not saved: {error}");
            }
            // What the model thought was bound to the conversation as it was.
            self.begin_epoch_with_this_head("rewind")?;
        }
        Ok(())
    }
}

/// What the user is told: files that differ, files that get another name, and files that are left as they are.
#[derive(Default)]
struct Told {
    files: Vec<FileDifference>,
    aside: Vec<(PathBuf, String)>,
    left: Vec<(PathBuf, String)>,
}

async fn preview(keeper: &Arc<Keeper>, way: &Way) -> Result<Told, RewindError> {
    if way.files.is_empty() {
        return Ok(Told::default());
    }
    let Preview { files, aside, unknown } = keeper.preview(way.files.clone(), way.returning.clone()).await?;
    let rows = |unknown: Vec<Unknown>| {
        unknown.into_iter().map(|one| (one.path, one.why.as_str().to_owned())).collect()
    };
    Ok(Told { files, aside: rows(aside), left: rows(unknown) })
}

fn told(restored: Restored) -> Told {
    let changes = Diff { changes: restored.changes, unknown: Vec::new() }.summary();
    let files = changes.iter().flat_map(named).collect();
    let aside = restored.aside.into_iter().map(|Aside { path, to, why }| {
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (path, format!("{why}; what was there is now called {name}"))
    });
    let left = restored.left.into_iter().map(|left| (left.path, left.why));
    Told { files, aside: aside.collect(), left: left.collect() }
}

/// Nothing if there is no such prompt, step or branch.
fn way(outline: &Outline, order: RewindOrder) -> Result<Option<Way>, RewindError> {
    let talks = order.part != RewindPart::Files;
    let touches_files = order.part != RewindPart::Conversation;
    Ok(match order.to {
        RewindTarget::Prompt(id) => {
            let Some(prompt) = outline.current().find(|prompt| prompt.id == id) else { return Ok(None) };
            Some(Way {
                abandoned: talks.then(|| outline.abandoning(prompt)),
                touches_files,
                files: if touches_files { outline.files_at(prompt)? } else { Vec::new() },
                missing: outline.missing_from(prompt.seq).filter(|_| touches_files),
                prompt: Some(prompt.clone()),
                branch: None,
                returning: None,
            })
        }
        RewindTarget::Undo => outline.last_step().map(|step| {
            let files = step.rewound.files.as_ref();
            Way {
                prompt: None,
                branch: None,
                abandoned: step.rewound.conversation.as_ref().map(|_| outline.returning(step)),
                touches_files: files.is_some(),
                files: files.map(|files| files.undo.clone()).into_iter().collect(),
                returning: files.map(|files| (files.to.clone(), step.aside.clone())),
                missing: None,
            }
        }),
        RewindTarget::Branch(seq) => {
            let branches = outline.branches();
            let branch = branches.iter().find(|branch| branch.step.seq == seq);
            let Some(branch) = branch else { return Ok(None) };
            Some(Way {
                prompt: None,
                branch: Some(seq),
                abandoned: talks.then(|| outline.returning(branch.step)),
                touches_files,
                files: if touches_files { outline.files_of(branch)? } else { Vec::new() },
                missing: outline.missing_from(seq).filter(|_| touches_files),
                returning: None,
            })
        }
    })
}
