//! Going back: the conversation goes on from an earlier prompt, files are what they were then, or both.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::compaction::Folded;
use crate::effect::{FileSeen, SkillUse, Todo};
use crate::id::{EntryId, SnapshotId};
use crate::state::State;

/// One step back. Nothing of the log is taken away: what is left behind stays there, and the step can be undone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rewound {
    /// The prompt before which everything stands again; absent when a step back is undone or a branch is gone on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<EntryId>,
    /// The number of the step back whose left conversation is gone on from, if it was that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<u64>,
    /// What has become of the conversation, if it went back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationBack>,
    /// What has become of the files, if they went back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesBack>,
    /// The compaction that was undone, if it was that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfolded: Option<EntryId>,
}

/// The conversation as it goes on: a view of the log, and the state that belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationBack {
    /// All stretches of the log that are no part of the conversation from now on.
    pub abandoned: Vec<Stretch>,
    /// The conversation entry to go on from.
    pub leaf: Option<EntryId>,
    /// Where commands start.
    pub cwd: PathBuf,
    /// The todo list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub todos: Vec<Todo>,
    /// Skills that were used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillUse>,
    /// What the model has seen of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<FileSeen>,
    /// Files that were seen in results that were cleared since.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_sight: Vec<PathBuf>,
    /// Where it was last folded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<Folded>,
}

impl ConversationBack {
    /// The conversation without these stretches, of which `state` is the fold.
    #[must_use]
    pub fn new(abandoned: Vec<Stretch>, state: &State) -> Self {
        Self {
            abandoned,
            leaf: state.leaf,
            cwd: state.cwd.clone(),
            todos: state.todos.clone(),
            skills: state.skills.clone(),
            seen: state.files.iter().cloned().collect(),
            out_of_sight: state.files.out_of_sight().cloned().collect(),
            folded: state.folded,
        }
    }

    /// Whether an entry with this number is part of the conversation.
    #[must_use]
    pub fn holds(&self, seq: u64) -> bool {
        !self.abandoned.iter().any(|stretch| stretch.holds(seq))
    }
}

/// Entries by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The first of them.
    pub from: u64,
    /// The one behind the last of them.
    pub until: u64,
}

impl Stretch {
    /// Whether the entry with this number is one of them.
    #[must_use]
    pub fn holds(&self, seq: u64) -> bool {
        (self.from..self.until).contains(&seq)
    }
}

/// Files that were brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesBack {
    /// What they are now.
    pub to: SnapshotId,
    /// What they were, so that it can be undone.
    pub undo: SnapshotId,
    /// Whether this was written before they went back. Then another entry tells that they have; without it, the work was
    /// cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub announced: bool,
}

/// Something that stood in the way of what was brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// Where it was.
    pub path: PathBuf,
    /// Where it is.
    pub to: PathBuf,
}

/// What a front end wants of a session: to go back, or to know what that would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewindOrder {
    /// Where to.
    pub to: RewindTarget,
    /// What goes back.
    pub part: RewindPart,
    /// Whether it is done or only told.
    pub act: RewindAct,
}

/// Where to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindTarget {
    /// To before a prompt.
    Prompt(EntryId),
    /// To where things stood before the last step back.
    Undo,
    /// On from the conversation that the step back with this number has left behind.
    Branch(u64),
}

/// What goes back. Undoing a step takes back what the step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindPart {
    /// The conversation.
    Conversation,
    /// The files.
    Files,
    /// Both.
    Both,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindAct {
    /// Only tell what would change.
    Preview,
    /// Do it.
    Carry,
}

/// The answer to a [`RewindOrder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindReport {
    /// What was asked for.
    pub order: RewindOrder,
    /// The prompt, so that it can be changed and given again.
    pub prompt: Option<String>,
    /// Files that differ.
    pub files: Vec<FileDifference>,
    /// Files that get another name, because they are not kept and something else comes back in their place, with the
    /// reason.
    pub aside: Vec<(PathBuf, String)>,
    /// Files that are left as they are, with the reason.
    pub left: Vec<(PathBuf, String)>,
    /// Why files go back only a part of the way: what was changed before was not kept.
    pub missing: Option<String>,
}

/// A file that goes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// Which.
    pub path: PathBuf,
    /// What happens to it: `added`, `removed`, `modified`, `mode`.
    pub change: &'static str,
    /// What it holds now and what it will hold, if both are text that is not too long. Only previews have it.
    pub texts: Option<(String, String)>,
}
