//! State changes that a tool or the user asks for, as data: printable, stored in the log, replayed on resume.

mod lines;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{CallId, SnapshotId};
use crate::ingredients::Shaping;
use crate::mode::Mode;
use crate::permission::Update;
use crate::rewind::SetAside;

pub use lines::{LineRange, Lines};

/// One change of session state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum Effect {
    /// The permission mode is now this.
    SetMode {
        /// The new mode.
        mode: Mode,
    },
    /// What is permitted was changed; all at once, in this order.
    Permissions {
        /// The changes.
        updates: Vec<Update>,
    },
    /// The main model is now this.
    SetModel {
        /// The resolved model id.
        model: String,
    },
    /// The todo list is replaced.
    SetTodos {
        /// The new list.
        todos: Vec<Todo>,
    },
    /// The model has seen a file, or wrote it.
    FileSeen(FileSeen),
    /// What the model has seen of a file no longer counts: the file is gone, or something else.
    FileForgotten {
        /// The absolute path, links resolved.
        path: PathBuf,
    },
    /// A sub-agent knows what the one that it works for has seen of files. It has not seen their content itself.
    FilesTakenOver {
        /// The files, least recently seen first.
        files: Vec<FileSeen>,
    },
    /// What the working directories looked like was kept: before a call, or after the last one of a turn.
    Snapshot {
        /// What was kept.
        snapshot: SnapshotId,
        /// The call that may change something next.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// A call may change something of which nothing could be kept.
    NotKept {
        /// The call.
        call: CallId,
    },
    /// Files have gone back, as the step before has announced.
    WentBack {
        /// What they were before.
        undo: SnapshotId,
        /// What got another name, because it stood in the way.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        aside: Vec<SetAside>,
    },
    /// Commands start here from now on.
    ChangeDir {
        /// The new working directory.
        path: PathBuf,
    },
    /// The plan files of the session have this name.
    SetPlan {
        /// The name without its ending, e.g. `amber-weaving-harbor`.
        slug: String,
    },
    /// What the plan file held at a moment that matters.
    PlanKept(PlanVersion),
    /// The user has approved the plan: the work is to be held against it.
    PlanApproved {
        /// The plan file.
        path: PathBuf,
    },
    /// A skill is followed from now on. What it permits holds until the end of the turn.
    SkillUsed(SkillUse),
    /// The user has called for a skill or a command: what the model is told of it follows.
    RecipeCalled(RecipeCall),
    /// What reminders depend on is now this.
    Shaped(Shaping),
}

/// A skill or command that the user has called for, as far as the model is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecipeCall {
    /// Its name.
    pub name: String,
    /// Where the files of a skill are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// What stood behind its name, credentials masked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
}

/// A skill that is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillUse {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// What the model was told of it.
    pub content: String,
    /// Rules for what needs no question while it is followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Rules for what is refused while it is followed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

/// What the plan file held at a moment that matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanVersion {
    /// The file.
    pub path: PathBuf,
    /// What happened.
    pub moment: PlanMoment,
    /// All of the plan, credentials masked.
    pub content: String,
}

/// When a version of a plan was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanMoment {
    /// The model has written or changed it.
    Written,
    /// It was handed over where nobody could approve it.
    HandedOver,
    /// The user has approved it.
    Approved,
    /// The user has refused it.
    Refused,
}

impl PlanMoment {
    /// The moment in a word or two.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::HandedOver => "handed over",
            Self::Approved => "approved",
            Self::Refused => "refused",
        }
    }
}

impl Effect {
    /// The mode that holds after it, if it sets one.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::SetMode { mode } => Some(*mode),
            Self::Permissions { updates } => updates.iter().rev().find_map(|update| match update {
                Update::SetMode { mode, .. } => Some(*mode),
                _ => None,
            }),
            _ => None,
        }
    }
}

/// What the model has seen of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// The absolute path, links resolved.
    pub path: PathBuf,
    /// The whole file's content at that moment, as a fingerprint.
    pub fingerprint: Fingerprint,
    /// Modification time in milliseconds since the epoch.
    pub mtime_ms: i64,
    /// The lines that were shown; absent when it was the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
}

/// Identifies content: a hash, or for huge files size and time stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

/// One item of the todo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Todo {
    /// What to do, in the imperative ("Run the tests").
    #[schemars(length(min = 1))]
    pub content: String,
    /// Where it stands.
    pub status: TodoStatus,
    /// The same in the continuous form ("Running the tests"), shown while in progress.
    #[schemars(length(min = 1))]
    pub active_form: String,
}

/// Where a todo item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done and working.
    Completed,
}
