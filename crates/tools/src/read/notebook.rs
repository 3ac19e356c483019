//! Notebooks as cells with their ids and outputs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::LineRange;

use super::{Source, TEXT_BUDGET, image};
use crate::encoding::decode;
use crate::notebook::{Cell, Notebook, Text};
use crate::tool::{Done, ToolError};

/// Characters shown of one output.
const OUTPUT_CHARS: usize = 4_000;
/// Images shown of one notebook.
const MOST_IMAGES: usize = 8;

#[derive(Deserialize)]
#[serde(tag = "output_type", rename_all = "snake_case")]
enum Output {
    Stream {
        text: Text,
    },
    ExecuteResult {
        data: Map<String, Value>,
    },
    DisplayData {
        data: Map<String, Value>,
    },
    Error {
        #[serde(default)]
        ename: String,
        #[serde(default)]
        evalue: String,
        #[serde(default)]
        traceback: Vec<String>,
    },
    #[serde(other)]
    Unknown,
}

/// What has been put together so far.
#[derive(Default)]
struct Page {
    text: String,
    images: Vec<RawBlock>,
    images_left_out: usize,
    cells: usize,
}

/// The notebook, or nothing if it is not one: then its text is shown.
pub(super) fn show(source: &Source<'_>, bytes: &[u8]) -> Result<Option<Done>, ToolError> {
    let Ok(decoded) = decode(bytes) else { return Ok(None) };
    let Ok(notebook) = Notebook::parse(&decoded.text) else { return Ok(None) };
    let total = notebook.cells.len();
    let first = first_cell(source.part.offset.unwrap_or(1), total);
    let limit = source.part.limit.unwrap_or(usize::MAX);
    let mut page = Page::default();
    for cell in notebook.cells.iter().skip(first - 1).take(limit) {
        if page.text.len() >= TEXT_BUDGET {
            break;
        }
        page.add(cell, &notebook.language, TEXT_BUDGET - page.text.len());
    }
    page.text = source.cx.view.secrets.mask_file(&page.text, source.path).into_owned();
    Ok(Some(finish(source, page, first, total)))
}

fn first_cell(offset: i64, total: usize) -> usize {
    let distance = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    if offset < 0 { total.saturating_sub(distance) + 1 } else { distance.max(1) }
}

fn finish(source: &Source<'_>, mut page: Page, first: usize, total: usize) -> Done {
    let last = first + page.cells - 1;
    let whole = first == 1 && last == total;
    if page.cells == 0 {
        page.text = format!("[The notebook has {total} cells; none from cell {first} on.]");
    } else if last < total {
        page.text
            .push_str(&format!("[Cells {first} to {last} of {total}. To go on: offset {}.]\n", last + 1));
    }
    if page.images_left_out > 0 {
        page.text
            .push_str(&format!("[{} more images were left out; read fewer cells.]\n", page.images_left_out));
    }
    let detail = json!({"type": "notebook", "file": {"filePath": source.path.to_string_lossy(), "startCell": first, "numCells": page.cells, "totalCells": total}});
    let range = LineRange { first: first as u64, last: last as u64 };
    let mut done = Done::text(page.text.trim_end()).with_detail(detail);
    done.content.extend(page.images);
    if page.cells > 0 || total == 0 { done.with_effect(source.seen((!whole).then_some(range))) } else { done }
}

impl Page {
    fn add(&mut self, cell: &Cell<'_>, language: &str, room: usize) {
        let Cell { id, kind, .. } = cell;
        let language = if kind == "code" { format!(" language=\"{language}\"") } else { String::new() };
        let source = cell.source_text().unwrap_or_default();
        let source = bounded(&source, room);
        self.text.push_str(&format!("<cell id=\"{id}\" type=\"{kind}\"{language}>\n{source}\n</cell>\n"));
        let outputs = cell.outputs.map(|outputs| serde_json::from_str::<Vec<Output>>(outputs.get()));
        for output in outputs.into_iter().flatten().flatten() {
            let text = self.output(output);
            if !text.trim().is_empty() {
                let text = bounded(text.trim_end(), OUTPUT_CHARS);
                self.text.push_str(&format!("<output cell=\"{id}\">\n{text}\n</output>\n"));
            }
        }
        self.cells += 1;
    }

    fn output(&mut self, output: Output) -> String {
        match output {
            Output::Stream { text } => without_escapes(&text.join()),
            Output::ExecuteResult { data } | Output::DisplayData { data } => self.data(data),
            Output::Error { ename, evalue, traceback } => {
                without_escapes(&format!("{ename}: {evalue}\n{}", traceback.join("\n")))
            }
            Output::Unknown => "[an output of an unknown kind]".to_owned(),
        }
    }

    fn data(&mut self, mut data: Map<String, Value>) -> String {
        let mut text =
            |kind: &str| data.remove(kind).and_then(|value| serde_json::from_value::<Text>(value).ok());
        for kind in ["image/png", "image/jpeg"] {
            if let Some(encoded) = text(kind) {
                return self.image(&encoded.join());
            }
        }
        let plain = text("text/plain").or_else(|| text("text/markdown")).or_else(|| text("text/html"));
        plain.map(Text::join).unwrap_or_else(|| {
            let kinds: Vec<&str> = data.keys().map(String::as_str).collect();
            format!("[an output of kind {}]", kinds.join(", "))
        })
    }

    fn image(&mut self, encoded: &str) -> String {
        if self.images.len() == MOST_IMAGES {
            self.images_left_out += 1;
            return String::new();
        }
        let compact: String = encoded.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(compact).unwrap_or_default();
        match image::format(&bytes).and_then(|format| image::fit(&bytes, format).ok()) {
            Some(fitted) => {
                self.images.push(fitted.block());
                format!("[image {} below]", self.images.len())
            }
            None => "[an image that cannot be decoded]".to_owned(),
        }
    }
}

fn bounded(text: &str, room: usize) -> String {
    match text.char_indices().nth(room) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}\n[cut: {} of {} characters shown]", &text[..end], room, text.chars().count())
        }
    }
}

/// Text without the colours of terminals.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1B}[") {
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest);
    }
    plain + rest
}
