//! Notebooks (`.ipynb`): cells with their places in the file, so that an edit touches nothing else.

mod layout;

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use layout::{Layout, line_before};

/// A notebook's text, taken apart.
pub(crate) struct Notebook<'a> {
    pub(crate) text: &'a str,
    pub(crate) cells: Vec<Cell<'a>>,
    pub(crate) language: String,
    /// Whether the format wants cells to carry ids.
    pub(crate) wants_ids: bool,
    /// The bytes of the list of cells, brackets included.
    pub(crate) list: Range<usize>,
}

/// One cell.
pub(crate) struct Cell<'a> {
    /// The id in the file, or `cell-N` counted from 0.
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) source: &'a RawValue,
    pub(crate) outputs: Option<&'a RawValue>,
    pub(crate) execution_count: Option<&'a RawValue>,
    pub(crate) raw: &'a RawValue,
}

#[derive(Deserialize)]
struct RawNotebook<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(default)]
    metadata: Value,
    #[serde(default)]
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

#[derive(Deserialize)]
struct RawCell<'a> {
    id: Option<String>,
    #[serde(borrow)]
    cell_type: Cow<'a, str>,
    #[serde(borrow)]
    source: &'a RawValue,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    execution_count: Option<&'a RawValue>,
}

/// Text that notebooks store whole or as a list of lines.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Whole(String),
    Lines(Vec<String>),
}

impl Text {
    /// The text in one piece.
    pub(crate) fn join(self) -> String {
        match self {
            Self::Whole(text) => text,
            Self::Lines(lines) => lines.concat(),
        }
    }
}

/// Whether a path is named like a notebook.
pub(crate) fn has_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

impl<'a> Notebook<'a> {
    /// Takes a notebook apart.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let raw: RawNotebook<'a> = serde_json::from_str(text)?;
        let cells: Vec<&'a RawValue> = serde_json::from_str(raw.cells.get())?;
        let cells = cells
            .into_iter()
            .enumerate()
            .map(|(at, cell)| Cell::parse(at, cell))
            .collect::<Result<_, _>>()?;
        let named = |at: &str| raw.metadata.pointer(at).and_then(Value::as_str);
        let language =
            named("/language_info/name").or_else(|| named("/kernelspec/language")).unwrap_or("python");
        Ok(Self {
            text,
            cells,
            language: language.to_owned(),
            wants_ids: (raw.nbformat, raw.nbformat_minor) >= (4, 5),
            list: span(text, raw.cells),
        })
    }

    /// The position of the cell with an id.
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.cells.iter().position(|cell| cell.id == id)
    }

    /// Where a part stands in the text.
    pub(crate) fn span(&self, part: &RawValue) -> Range<usize> {
        span(self.text, part)
    }
}

/// Where a borrowed part stands in the text it was parsed from.
fn span(text: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.get().len()
}

impl<'a> Cell<'a> {
    fn parse(at: usize, raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        let cell: RawCell<'a> = serde_json::from_str(raw.get())?;
        Ok(Self {
            id: cell.id.unwrap_or_else(|| format!("cell-{at}")),
            kind: cell.cell_type.into_owned(),
            source: cell.source,
            outputs: cell.outputs,
            execution_count: cell.execution_count,
            raw,
        })
    }

    /// The cell's source text.
    pub(crate) fn source_text(&self) -> Result<String, serde_json::Error> {
        serde_json::from_str::<Text>(self.source.get()).map(Text::join)
    }
}
