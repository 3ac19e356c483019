//! `Write`: creates a file or replaces all of its content.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_policy::Access;
use tiller_protocol::ask::FileChange;
use tiller_protocol::forgery::{has_neutralised, meant};

use crate::blocking::blocking;
use crate::cx::{ToolCx, View};
use crate::encoding::{Decoded, Encoding, LineEnding, NotText, decode};
use crate::kind;
use crate::seen::{self, Standing};
use crate::tool::{Description, Done, Tool, ToolError};
use crate::workspace::{self, Before, FileError, Loaded};
use crate::written::{Echo, Knowledge, TAGS_AS_IN_FILE, TAGS_AS_WRITTEN, Written};

/// Writes a whole file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Write;

/// What `Write` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    /// The file.
    file_path: String,
    /// All of its content.
    content: String,
}

impl Tool for Write {
    const NAME: &'static str = "Write";
    const READS_FILES: bool = true;
    type Input = WriteInput;

    fn describe(&self) -> Description {
        Description::new("Creates or replaces a file", include_str!("prompt.md"))
    }

    fn validate(&self, input: &WriteInput, view: &View) -> Result<(), String> {
        plan(input, view).map(drop)
    }

    fn preview(&self, input: &WriteInput, view: &View) -> Option<FileChange> {
        plan(input, view).ok().map(|written| written.preview(view))
    }

    fn access(&self, input: &WriteInput, view: &View) -> Vec<Access> {
        vec![Access::Write(workspace::place(view, &input.file_path))]
    }

    async fn run(&self, input: WriteInput, cx: ToolCx) -> Result<Done, ToolError> {
        blocking(cx, move |cx| plan(&input, &cx.view).map_err(ToolError::Model)?.write(cx)).await
    }
}

/// Works out the write; the error is for the model.
fn plan(input: &WriteInput, view: &View) -> Result<Written, String> {
    let path = workspace::resolve(view, &input.file_path);
    let opened = match workspace::open(&path) {
        Ok(opened) => opened,
        Err(FileError::Missing) => return create(path, input, view, Before::Absent),
        Err(error) => return Err(error.explain(&path, view)),
    };
    if opened.size == 0 {
        let loaded = workspace::load(opened).map_err(|error| error.explain(&path, view))?;
        return create(path, input, view, Before::Content(loaded.fingerprint));
    }
    let seen = seen::required(&view.files, &path)?;
    if let Some(lines) = &seen.lines {
        return Err(format!(
            "Only part of {} was read ({lines}). Read it completely before replacing it, or use Edit.",
            path.display(),
        ));
    }
    let loaded = workspace::load(opened).map_err(|error| error.explain(&path, view))?;
    if seen::standing(seen, &loaded.fingerprint) == Standing::Changed {
        return Err(seen::changed(&path));
    }
    replace(path, input, view, loaded)
}

fn create(path: PathBuf, input: &WriteInput, view: &View, before: Before) -> Result<Written, String> {
    let content = view.secrets.restore(&input.content, &path, "")?.into_owned();
    Ok(Written {
        echo: Echo::Excerpt,
        knowledge: Knowledge::Whole,
        headline: format!("Wrote {} ({} lines).", path.display(), content.lines().count()),
        path,
        before,
        old_text: String::new(),
        new_text: content.clone(),
        remarks: has_neutralised(&content).then(|| TAGS_AS_WRITTEN.to_owned()).into_iter().collect(),
        bytes: content.into_bytes(),
    })
}

/// A replacement keeps the encoding and the line endings, neither of which the model sees.
fn replace(path: PathBuf, input: &WriteInput, view: &View, loaded: Loaded) -> Result<Written, String> {
    let refuse = |why: String| format!("{} was not written: {why}.", path.display());
    let Decoded { text: old_text, encoding } = match decode(&loaded.bytes) {
        Ok(decoded) => decoded,
        Err(NotText::Binary) => return Err(refuse(format!("it is {}, not text", kind::of(&loaded.bytes)))),
        // All of the content goes, the invalid bytes with it.
        Err(NotText::BrokenUtf8 { .. }) => {
            Decoded { text: String::from_utf8_lossy(&loaded.bytes).into_owned(), encoding: Encoding::Utf8 }
        }
    };
    let content = view.secrets.restore(&input.content, &path, &old_text)?;
    let armed = meant(&content, &old_text);
    let content = armed.as_deref().unwrap_or(&content);
    let ending = LineEnding::of(&old_text);
    let new_text = ending.adapt(encoding.without_mark(content));
    let bytes = encoding.encode(&new_text).map_err(|error| refuse(error.to_string()))?;
    let mut remarks = Vec::new();
    if armed.is_some() {
        remarks.push(TAGS_AS_IN_FILE.to_owned());
    }
    if ending == LineEnding::CrLf {
        remarks.push("Lines end in CRLF, as before.".to_owned());
    }
    if encoding != Encoding::Utf8 {
        remarks.push(format!("Stored as {}, as before.", encoding.name()));
    }
    let headline = format!("Replaced {} ({} lines).", path.display(), new_text.lines().count());
    Ok(Written {
        path,
        before: Before::Content(loaded.fingerprint),
        old_text,
        new_text,
        bytes,
        headline,
        remarks,
        echo: Echo::Excerpt,
        knowledge: Knowledge::Whole,
    })
}

#[cfg(test)]
mod tests;
