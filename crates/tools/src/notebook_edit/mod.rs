//! `NotebookEdit`: changes one cell and leaves every other byte of the notebook alone.

mod splice;

use std::borrow::Cow;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_policy::Access;
use tiller_protocol::ask::FileChange;
use tiller_protocol::effect::FileSeen;

use crate::blocking::blocking;
use crate::cx::{ToolCx, View};
use crate::encoding::{Decoded, decode};
use crate::notebook::{Notebook, has_extension};
use crate::seen::{self, Standing};
use crate::tool::{Description, Done, Tool, ToolError};
use crate::workspace::{self, Before};
use crate::written::{Echo, Knowledge, Written};

/// Changes a cell of a notebook.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotebookEdit;

/// What `NotebookEdit` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotebookEditInput {
    /// The notebook.
    notebook_path: String,
    /// The cell, by its id.
    cell_id: Option<String>,
    /// The cell's new source.
    new_source: Option<String>,
    /// The kind of the cell.
    cell_type: Option<CellType>,
    /// What to do.
    #[serde(default)]
    edit_mode: EditMode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CellType {
    Code,
    Markdown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

impl CellType {
    fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
        }
    }
}

impl Tool for NotebookEdit {
    const NAME: &'static str = "NotebookEdit";
    const READS_FILES: bool = true;
    type Input = NotebookEditInput;

    fn describe(&self) -> Description {
        Description::new("Changes a cell of a notebook", include_str!("prompt.md"))
    }

    fn validate(&self, input: &NotebookEditInput, view: &View) -> Result<(), String> {
        plan(input, view, NO_ID).map(drop)
    }

    /// As a change of the cell: how it is wrapped in JSON says nothing to whoever decides.
    fn preview(&self, input: &NotebookEditInput, view: &View) -> Option<FileChange> {
        let Plan { written, cell } = plan(input, view, NO_ID).ok()?;
        Some(written.preview_of(&cell.before, &cell.after, view))
    }

    fn access(&self, input: &NotebookEditInput, view: &View) -> Vec<Access> {
        vec![Access::Write(workspace::place(view, &input.notebook_path))]
    }

    async fn run(&self, input: NotebookEditInput, cx: ToolCx) -> Result<Done, ToolError> {
        blocking(cx, move |cx| {
            // The end of an id is its random part.
            let fresh = cx.env.fresh().simple().to_string().split_off(24);
            plan(&input, &cx.view, &fresh).map_err(ToolError::Model)?.written.write(cx)
        })
        .await
    }
}

/// The id of a cell that is not written.
const NO_ID: &str = "00000000";

/// An edit that was worked out.
struct Plan {
    written: Written,
    cell: CellChange,
}

/// What becomes of the source of a cell.
struct CellChange {
    before: String,
    after: String,
}

/// A notebook with the cell changed.
struct Changed {
    text: String,
    headline: String,
    cell: CellChange,
}

/// Works out the edit; the error is for the model.
fn plan(input: &NotebookEditInput, view: &View, fresh_id: &str) -> Result<Plan, String> {
    let path = workspace::resolve(view, &input.notebook_path);
    if !has_extension(&path) {
        return Err(format!("{} is not a notebook (.ipynb); use Edit.", path.display()));
    }
    let explained = |error: workspace::FileError| error.explain(&path, view);
    let opened = workspace::open(&path).map_err(explained)?;
    let seen = seen::required(&view.files, &path)?;
    let loaded = workspace::load(opened).map_err(explained)?;
    if seen::standing(seen, &loaded.fingerprint) == Standing::Changed {
        return Err(seen::changed(&path));
    }
    let refuse = |why: String| format!("{} was not changed: {why}.", path.display());
    let Decoded { text, encoding } = decode(&loaded.bytes).map_err(|error| refuse(error.to_string()))?;
    let notebook =
        Notebook::parse(&text).map_err(|error| refuse(format!("it is not a valid notebook ({error})")))?;
    let restored =
        input.new_source.as_deref().map(|source| view.secrets.restore(source, &path, &text)).transpose()?;
    let input = &NotebookEditInput { new_source: restored.map(Cow::into_owned), ..input.clone() };
    let Changed { text: new_text, headline, cell } = change(input, &notebook, seen, &path, fresh_id)?;
    let bytes = encoding.encode(&new_text).map_err(|error| refuse(error.to_string()))?;
    let before = Before::Content(loaded.fingerprint);
    let written = Written {
        path,
        before,
        old_text: text,
        new_text,
        bytes,
        headline,
        remarks: Vec::new(),
        echo: Echo::Nothing,
        knowledge: Knowledge::Whole,
    };
    Ok(Plan { written, cell })
}

fn change(
    input: &NotebookEditInput,
    notebook: &Notebook<'_>,
    seen: &FileSeen,
    path: &Path,
    fresh_id: &str,
) -> Result<Changed, String> {
    let position = input.cell_id.as_deref().map(|id| find(notebook, seen, id)).transpose()?;
    let missing = |what: &str| format!("{what} is required to {} a cell.", input.edit_mode.verb());
    let source = || input.new_source.as_deref().ok_or_else(|| missing("new_source"));
    let old_source = |at: usize| notebook.cells[at].source_text().unwrap_or_default();
    let shown = path.display();
    match input.edit_mode {
        EditMode::Replace => {
            let position = position.ok_or_else(|| missing("cell_id"))?;
            let text = splice::replace(notebook, position, source()?, input.cell_type)?;
            let headline = format!("Replaced cell {} of {shown}.", notebook.cells[position].id);
            let cell = CellChange { before: old_source(position), after: source()?.to_owned() };
            Ok(Changed { text, headline, cell })
        }
        EditMode::Delete => {
            let position = position.ok_or_else(|| missing("cell_id"))?;
            let text = splice::delete(notebook, position);
            let headline = format!("Deleted cell {} of {shown}.", notebook.cells[position].id);
            let cell = CellChange { before: old_source(position), after: String::new() };
            Ok(Changed { text, headline, cell })
        }
        EditMode::Insert => {
            let kind = input.cell_type.ok_or_else(|| missing("cell_type"))?;
            let at = position.map_or(0, |position| position + 1);
            let text = splice::insert(notebook, at, source()?, kind, fresh_id);
            let id = if notebook.wants_ids { fresh_id.to_owned() } else { format!("cell-{at}") };
            let headline = format!("Inserted cell {id} into {shown}.");
            let cell = CellChange { before: String::new(), after: source()?.to_owned() };
            Ok(Changed { text, headline, cell })
        }
    }
}

impl EditMode {
    fn verb(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Insert => "insert",
            Self::Delete => "delete",
        }
    }
}

/// The position of a cell that the model has seen.
fn find(notebook: &Notebook<'_>, seen: &FileSeen, id: &str) -> Result<usize, String> {
    let Some(position) = notebook.position(id) else {
        let ids: Vec<&str> = notebook.cells.iter().map(|cell| cell.id.as_str()).collect();
        return Err(format!("There is no cell {id}. The cells are: {}.", ids.join(", ")));
    };
    let number = position as u64 + 1;
    match &seen.lines {
        Some(cells) if !cells.contains(number) => {
            Err(format!("Only cells {cells} were read, and {id} is not among them. Read it first."))
        }
        _ => Ok(position),
    }
}

#[cfg(test)]
mod tests;
