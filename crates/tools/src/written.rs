//! The last step of every tool that changes a file: write it, tell the model, record what it now knows.

use std::path::PathBuf;

use serde_json::{Value, json};

use tiller_protocol::ask::FileChange;
use tiller_protocol::effect::Lines;

use crate::change::{DETAIL_BYTES, excerpt, patch, whole_patch};
use crate::cx::{ToolCx, View};
use crate::encoding::LineEnding;
use crate::seen;
use crate::tool::{Done, ToolError};
use crate::workspace::{self, Before};

/// What is said where a tag stands in a file that the model has seen, and written, with a mark.
pub(crate) const TAGS_AS_IN_FILE: &str = "Reminder tags are shown to you with a backslash behind the bracket; they were \
     written without it, as the file has them.";
/// What is said where it cannot be known whether the mark is meant.
pub(crate) const TAGS_AS_WRITTEN: &str = "The content has reminder tags with a backslash behind the bracket, as they are \
     shown to you, and was stored with it. If the backslash is not meant, remove it with a command.";

/// A change ready to be written.
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) before: Before,
    pub(crate) old_text: String,
    pub(crate) new_text: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) headline: String,
    pub(crate) remarks: Vec<String>,
    pub(crate) echo: Echo,
    pub(crate) knowledge: Knowledge,
}

/// What the model knows of the file once it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// All of it.
    Whole,
    /// These lines, the changed ones included: the rest was never shown and must not be overwritten unseen.
    Part(Lines),
    /// Only what it knew before: others have changed the file, and their changes must not be overwritten unseen.
    Outdated,
}

/// What of the new content the model is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    Nothing,
    /// The changed lines with their numbers; nothing for a new file.
    Excerpt,
}

impl Written {
    /// What writing would do.
    pub(crate) fn preview(&self, view: &View) -> FileChange {
        self.preview_of(&self.old_text, &self.new_text, view)
    }

    /// The same, shown as a change of other texts than that of the file. Of line endings that stay as they are, nothing
    /// is shown.
    pub(crate) fn preview_of(&self, old: &str, new: &str, view: &View) -> FileChange {
        let shown = |text: &str| {
            let text = view.secrets.mask_file(text, &self.path).into_owned();
            match LineEnding::of(old) {
                LineEnding::CrLf => text.replace("\r\n", "\n"),
                _ => text,
            }
        };
        let patch = whole_patch(&shown(old), &shown(new));
        FileChange { is_new: self.before == Before::Absent, patch: patch.map(|patch| json!(patch)) }
    }

    /// Writes the file and makes the result, which shows of it what reading would show.
    pub(crate) fn write(mut self, cx: &ToolCx) -> Result<Done, ToolError> {
        if cx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let replaced = workspace::replace(cx, &self.path, &self.bytes, &self.before)
            .map_err(|error| ToolError::Model(error.explain(&self.path, &cx.view)))?;
        let lines = match &self.knowledge {
            Knowledge::Part(lines) => Some(lines.clone()),
            Knowledge::Whole | Knowledge::Outdated => None,
        };
        let effect = seen::written(&self.path, &self.bytes, &replaced, lines);
        self.remarks.extend(replaced.remarks);
        for text in [&mut self.old_text, &mut self.new_text] {
            *text = cx.view.secrets.mask_file(text, &self.path).into_owned();
        }
        let done = Done::text(&self.report()).with_detail(self.detail());
        Ok(match self.knowledge {
            Knowledge::Whole | Knowledge::Part(_) => done.with_effect(effect),
            Knowledge::Outdated => done,
        })
    }

    fn report(&self) -> String {
        let mut lines = vec![self.headline.clone()];
        lines.extend(self.remarks.iter().cloned());
        if self.echo == Echo::Excerpt && self.before != Before::Absent {
            lines.push(excerpt(&self.old_text, &self.new_text));
        }
        lines.retain(|line| !line.is_empty());
        lines.join("\n")
    }

    fn detail(&self) -> Value {
        let bounded = |text: &str| (text.len() <= DETAIL_BYTES).then(|| text.to_owned());
        let (kind, original) = match self.before {
            Before::Absent => ("create", None),
            Before::Content(_) => ("update", bounded(&self.old_text)),
        };
        let patch = if kind == "create" { Some(Vec::new()) } else { patch(&self.old_text, &self.new_text) };
        json!({
            "type": kind,
            "filePath": self.path.to_string_lossy(),
            "content": bounded(&self.new_text),
            "originalFile": original,
            "structuredPatch": patch,
        })
    }
}
