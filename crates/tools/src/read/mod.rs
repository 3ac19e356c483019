//! `Read`: text with line numbers, images, PDFs and notebooks.

mod image;
mod lines;
mod notebook;
mod pdf;
mod text;

pub use image::{image_block, sendable_block};
use pdf::Pages;

use std::io::{Read as _, Seek};
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_policy::Access;
use tiller_protocol::effect::{Effect, FileSeen, Fingerprint, LineRange, Lines};
use tiller_protocol::pdf::is_pdf;

use crate::blocking::blocking;
use crate::cx::{ToolCx, View};
use crate::fingerprint::{HASHED_UP_TO, of_stamp};
use crate::lenient::Integer;
use crate::tool::{Description, Done, Tool, ToolError};
use crate::workspace::{self, Loaded, Opened};

/// Bytes looked at to find out what a file is.
const HEAD: u64 = 64 * 1024;
/// Characters a result may have; below the limit at which results are cut and stored elsewhere.
const TEXT_BUDGET: usize = 95_000;

/// Reads a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read;

/// What `Read` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ReadInput {
    /// The file.
    file_path: String,
    /// First line, counted from 1; negative counts from the end.
    offset: Option<Integer>,
    /// Number of lines.
    limit: Option<Integer>,
    /// Pages of a PDF, such as `3` or `2-5`.
    pages: Option<String>,
}

/// The part of a file that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    offset: Option<i64>,
    limit: Option<usize>,
    pages: Option<Pages>,
}

/// A file about to be shown.
struct Source<'a> {
    cx: &'a ToolCx,
    path: &'a Path,
    size: u64,
    mtime_ms: i64,
    fingerprint: Fingerprint,
    part: Part,
}

impl Tool for Read {
    const NAME: &'static str = "Read";
    type Input = ReadInput;

    fn describe(&self) -> Description {
        Description::new("Reads a file", include_str!("prompt.md"))
    }

    fn parallel(&self, _: &ReadInput) -> bool {
        true
    }

    fn read_only(&self, _: &ReadInput) -> bool {
        true
    }

    fn access(&self, input: &ReadInput, view: &View) -> Vec<Access> {
        vec![Access::Read(workspace::place(view, &input.file_path))]
    }

    async fn run(&self, input: ReadInput, cx: ToolCx) -> Result<Done, ToolError> {
        blocking(cx, move |cx| read(&input, cx)).await
    }
}

fn read(input: &ReadInput, cx: &ToolCx) -> Result<Done, ToolError> {
    let path = workspace::resolve(&cx.view, &input.file_path);
    let explained = |error: workspace::FileError| ToolError::Model(error.explain(&path, &cx.view));
    let limit =
        input.limit.map(|limit| usize::try_from(limit.0).ok().filter(|limit| *limit > 0).ok_or(limit.0));
    let limit = limit
        .transpose()
        .map_err(|limit| ToolError::model(format!("limit has to be at least 1, not {limit}.")))?;
    let pages = input.pages.as_deref().map(Pages::parse).transpose().map_err(ToolError::model)?;
    let part = Part { offset: input.offset.map(|offset| offset.0), limit, pages };
    let opened = workspace::open_permitted(cx, &path).map_err(explained)?;
    let (size, mtime_ms) = (opened.size, opened.mtime_ms());
    let source = |fingerprint| Source { cx, path: &path, size, mtime_ms, fingerprint, part };
    if size > HASHED_UP_TO {
        let source = source(of_stamp(size, opened.mtime_ns));
        return huge(&source, opened);
    }
    let Loaded { bytes, fingerprint } = workspace::load(opened).map_err(explained)?;
    whole(&source(fingerprint), &bytes)
}

/// Shows a file that is in memory.
fn whole(source: &Source<'_>, bytes: &[u8]) -> Result<Done, ToolError> {
    only_pdfs_have_pages(source, bytes)?;
    if let Some(format) = image::format(bytes) {
        return image::show(source, bytes, format);
    }
    if is_pdf(bytes) {
        return pdf::show(source, bytes, source.part.pages.as_ref());
    }
    if crate::notebook::has_extension(source.path)
        && let Some(done) = notebook::show(source, bytes)?
    {
        return Ok(done);
    }
    text::show(source, text::Content::Memory(bytes))
}

fn only_pdfs_have_pages(source: &Source<'_>, head: &[u8]) -> Result<(), ToolError> {
    if source.part.pages.is_some() && !is_pdf(head) {
        let path = source.path.display();
        return Err(ToolError::model(format!("{path} is no PDF and has no pages. Use offset and limit.")));
    }
    Ok(())
}

/// Shows a part of a file that does not fit into memory.
fn huge(source: &Source<'_>, mut opened: Opened) -> Result<Done, ToolError> {
    let mut head = Vec::new();
    let failed = |error: std::io::Error| ToolError::model(format!("{}: {error}.", source.path.display()));
    (&mut opened.file).take(HEAD).read_to_end(&mut head).map_err(failed)?;
    opened.file.rewind().map_err(failed)?;
    only_pdfs_have_pages(source, &head)?;
    if image::format(&head).is_some() || is_pdf(&head) {
        return Err(ToolError::model(format!(
            "{} has {}, too much for an image or PDF. Make a smaller copy, or extract its text, with a command.",
            source.path.display(),
            amount(source.size),
        )));
    }
    text::show(source, text::Content::File { head: &head, file: opened.file })
}

impl Source<'_> {
    /// Records what was shown; what had been shown of the same content before still counts.
    fn seen(&self, lines: Option<LineRange>) -> Effect {
        let known = self.cx.view.files.in_sight(self.path);
        let earlier = known.filter(|seen| seen.fingerprint == self.fingerprint);
        let now = lines.map(Lines::from);
        let lines = match earlier {
            None => now,
            Some(earlier) => earlier.lines.as_ref().zip(now).map(|(before, now)| before.with(&now)),
        };
        Effect::FileSeen(FileSeen {
            path: self.path.to_owned(),
            fingerprint: self.fingerprint.clone(),
            mtime_ms: self.mtime_ms,
            lines,
        })
    }
}

/// A size for people.
fn amount(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let scaled = |unit: u64| bytes as f64 / unit as f64;
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KB", scaled(1024)),
        _ => format!("{:.1} MB", scaled(1_048_576)),
    }
}

#[cfg(test)]
mod tests;
