//! Changes of a notebook's text. What is not part of the change stays byte for byte.

use std::ops::Range;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::CellType;
use crate::notebook::{Cell, Layout, Notebook, line_before};

/// Gives a cell a new source, and a new kind if one is named.
pub(super) fn replace(
    notebook: &Notebook<'_>,
    position: usize,
    source: &str,
    kind: Option<CellType>,
) -> Result<String, String> {
    let cell = &notebook.cells[position];
    let layout = Layout::of(notebook.text);
    if let Some(kind) = kind.filter(|kind| kind.name() != cell.kind) {
        let value = converted(cell, kind, source)
            .map_err(|error| format!("Cell {} is damaged: {error}.", cell.id))?;
        let span = notebook.span(cell.raw);
        let new = layout.write(&value, line_before(notebook.text, span.start));
        return Ok(put(notebook.text, vec![(span, new)]));
    }
    let part = |old: &RawValue, value: &Value| {
        let span = notebook.span(old);
        let new = layout.write(value, line_before(notebook.text, span.start));
        (span, new)
    };
    let mut changes = vec![part(cell.source, &stored(source, cell))];
    if cell.kind == CellType::Code.name() {
        changes.extend(cell.outputs.map(|outputs| part(outputs, &json!([]))));
        changes.extend(cell.execution_count.map(|count| part(count, &Value::Null)));
    }
    Ok(put(notebook.text, changes))
}

/// Takes a cell out.
pub(super) fn delete(notebook: &Notebook<'_>, position: usize) -> String {
    let span = |at: usize| notebook.cells.get(at).map(|cell| notebook.span(cell.raw));
    let before = position.checked_sub(1).and_then(span);
    let gone = match (before, span(position), span(position + 1)) {
        (_, Some(cell), Some(next)) => cell.start..next.start,
        (Some(before), Some(cell), None) => before.end..cell.end,
        (None, Some(_), None) | (_, None, _) => {
            return put(notebook.text, vec![(notebook.list.clone(), "[]".to_owned())]);
        }
    };
    put(notebook.text, vec![(gone, String::new())])
}

/// Puts a new cell at a position.
pub(super) fn insert(notebook: &Notebook<'_>, at: usize, source: &str, kind: CellType, id: &str) -> String {
    let layout = Layout::of(notebook.text);
    let cell = new_cell(kind, source, notebook.wants_ids.then_some(id));
    let text = notebook.text;
    let neighbour = at.checked_sub(1).or((!notebook.cells.is_empty()).then_some(0));
    let Some(span) = neighbour.map(|neighbour| notebook.span(notebook.cells[neighbour].raw)) else {
        let line = line_before(text, notebook.list.start);
        let list = layout.write(&json!([cell]), line);
        return put(text, vec![(notebook.list.clone(), list)]);
    };
    let line = line_before(text, span.start);
    let (cell, separator) = (layout.write(&cell, line), layout.separator(line));
    match at {
        0 => put(text, vec![(span.start..span.start, cell + &separator)]),
        _ => put(text, vec![(span.end..span.end, separator + &cell)]),
    }
}

fn new_cell(kind: CellType, source: &str, id: Option<&str>) -> Value {
    let mut cell = Map::new();
    cell.insert("cell_type".to_owned(), json!(kind.name()));
    if kind == CellType::Code {
        cell.insert("execution_count".to_owned(), Value::Null);
    }
    if let Some(id) = id {
        cell.insert("id".to_owned(), json!(id));
    }
    cell.insert("metadata".to_owned(), json!({}));
    if kind == CellType::Code {
        cell.insert("outputs".to_owned(), json!([]));
    }
    cell.insert("source".to_owned(), lines(source));
    Value::Object(cell)
}

fn converted(cell: &Cell<'_>, kind: CellType, source: &str) -> Result<Value, serde_json::Error> {
    let mut fields: Map<String, Value> = serde_json::from_str(cell.raw.get())?;
    fields.insert("cell_type".to_owned(), json!(kind.name()));
    fields.insert("source".to_owned(), stored(source, cell));
    match kind {
        CellType::Code => {
            fields.insert("execution_count".to_owned(), Value::Null);
            fields.insert("outputs".to_owned(), json!([]));
        }
        CellType::Markdown => {
            fields.shift_remove("execution_count");
            fields.shift_remove("outputs");
        }
    }
    Ok(Value::Object(fields))
}

/// The source in the form the cell has it.
fn stored(source: &str, cell: &Cell<'_>) -> Value {
    if cell.source.get().starts_with('"') { json!(source) } else { lines(source) }
}

fn lines(source: &str) -> Value {
    source.split_inclusive('\n').map(Value::from).collect()
}

fn put(text: &str, mut changes: Vec<(Range<usize>, String)>) -> String {
    changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut text = text.to_owned();
    for (span, new) in changes {
        text.replace_range(span, &new);
    }
    text
}
