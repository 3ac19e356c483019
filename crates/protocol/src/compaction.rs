//! Making room in a conversation: what a log says about it. Nothing is ever taken out of the log; requests carry less of
//! it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::block::RawBlock;
use crate::id::{CallId, EntryId};

/// What a prompt that begins with `/compact` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Fold the conversation.
    Fold {
        /// What the user wants of the summary.
        instructions: Option<String>,
    },
    /// Take the last compaction back.
    Undo,
}

impl Wish {
    /// What a message asks for, if it is such a prompt and nothing else.
    #[must_use]
    pub fn of(content: &[RawBlock]) -> Option<Self> {
        let [only] = content else { return None };
        let text = only.as_text()?;
        let wish = text.trim_end().strip_prefix("/compact")?;
        if wish.starts_with(|letter: char| !letter.is_whitespace()) {
            return None;
        }
        Some(match wish.trim() {
            "undo" => Self::Undo,
            "" => Self::Fold { instructions: None },
            wish => Self::Fold { instructions: Some(wish.to_owned()) },
        })
    }
}

/// Who wanted a conversation to be folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// The user.
    Manual,
    /// Tiller, because the window was filling up.
    #[default]
    Auto,
}

impl Trigger {
    /// The word for it in logs and for hooks.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Auto => "auto",
        }
    }
}

/// The conversation was folded: nothing before this entry is sent any more, except for what was kept. What takes its
/// place follows, up to the next epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Compacted {
    /// Who wanted it.
    pub trigger: Trigger,
    /// An estimate of the tokens of a request before.
    pub pre_tokens: u64,
    /// The same afterwards.
    pub post_tokens: u64,
    /// The last message before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<EntryId>,
    /// Messages that are no longer sent.
    pub folded_messages: u64,
    /// What the model made of them.
    pub summary: String,
    /// What the user and hooks wanted of the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// What the summary took.
    pub usage: SummaryUsage,
    /// Messages of the user that are carried over word for word.
    pub carried: u64,
    /// Those among them that were too long, and have lost their middle.
    pub shortened: u64,
    /// Messages of the user that found no room.
    pub left_out: u64,
    /// What was brought back, e.g. `file /project/src/main.rs` or `todo`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<String>,
    /// The end of the conversation that is sent as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// What its words depended on beside the log; absent in logs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_of: Option<FoldIngredients>,
}

/// What the words of a fold depend on beside the log, so that they can be found once more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FoldIngredients {
    /// Tokens that a request could have.
    pub window: u64,
    /// Whether the model could look up what was folded.
    pub recall: bool,
    /// Tokens that a part of the conversation could have in a request for its summary.
    pub part: u64,
    /// What was asked, part by part.
    pub asked: Vec<SummaryAsked>,
}

/// A request for a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummaryAsked {
    /// A digest of it.
    pub digest: String,
    /// The answer, if another part was to follow; the last one is the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether a short one was asked for, because a longer one was cut off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
}

/// What a summary took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummaryUsage {
    /// Requests to the model: more than one if the conversation was folded in parts.
    pub requests: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// The end of a conversation that is not folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Its first entry.
    pub first: EntryId,
    /// The number of that entry.
    pub from: u64,
    /// How many messages there are.
    pub messages: u64,
    /// An estimate of their tokens.
    pub tokens: u64,
}

/// Old results were cleared: a short note is sent in place of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cleared {
    /// The calls whose results went.
    pub calls: Vec<CallId>,
    /// An estimate of the tokens that this frees.
    pub tokens: u64,
    /// Files that the model saw in them, and no longer sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_sight: Vec<PathBuf>,
}

/// Where the conversation was last folded, as state knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Folded {
    /// The entry that says so.
    pub id: EntryId,
    /// Its number.
    pub seq: u64,
    /// The number of the entry with which it was complete; absent if the work was cut off.
    pub until: Option<u64>,
    /// The number of the first entry that is still sent as it is.
    pub kept_from: Option<u64>,
    /// The user has said something since, so that it cannot be undone any more.
    pub spoken_since: bool,
    /// What takes the place of the folded part is not there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untold: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_command_itself_counts() {
        let read = |text: &str| Wish::of(&[RawBlock::text(text)]);
        assert_eq!(read("/compact\n"), Some(Wish::Fold { instructions: None }));
        assert_eq!(read(" /compact"), None, "a blank makes it plain text");
        let ports = Some("keep the ports".to_owned());
        assert_eq!(read("/compact keep the ports"), Some(Wish::Fold { instructions: ports }));
        assert_eq!(read("/compact undo"), Some(Wish::Undo));
        assert!(read("/compactly").is_none() && read("please /compact").is_none());
        assert!(Wish::of(&[RawBlock::text("/compact"), RawBlock::text("x")]).is_none());
    }
}
