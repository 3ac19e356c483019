//! Text with line numbers. What is left out is said at the end, with the way to get it (SRCH-01).

use std::borrow::Cow;
use std::io::{Read, Seek};

use serde_json::json;
use tiller_protocol::effect::LineRange;

use super::lines::{LINE_CHARS, Lines};
use super::{Source, TEXT_BUDGET, amount};
use crate::change::numbered;
use crate::encoding::{Encoding, Extent, NotText, decode, detect};
use crate::kind;
use crate::tool::{Done, ToolError};

/// Lines shown when no limit is given.
const DEFAULT_LINES: usize = 2_000;
/// Files above this size are shown in parts only.
const WHOLE_UP_TO: u64 = 256 * 1024;
/// Characters of a line number and its arrow.
const PREFIX: usize = 7;

/// Where the text comes from.
pub(super) enum Content<'a> {
    Memory(&'a [u8]),
    File { head: &'a [u8], file: std::fs::File },
}

/// The lines that are shown.
#[derive(Default)]
struct Shown {
    /// Number of the first line.
    first: usize,
    lines: Vec<String>,
    /// Numbers of the lines that were cut.
    cut: Vec<usize>,
    more: bool,
    total: Option<usize>,
    lossy: bool,
}

pub(super) fn show(source: &Source<'_>, mut content: Content<'_>) -> Result<Done, ToolError> {
    let encoding = content.encoding(source)?;
    if source.size > WHOLE_UP_TO && source.part.offset.is_none() && source.part.limit.is_none() {
        return Err(too_large(source, &mut content, encoding));
    }
    let shown = match content.concealed(source) {
        Some(masked) => Content::Memory(masked.as_bytes()).shown(source, Encoding::Utf8)?,
        None => content.shown(source, encoding)?.concealed(source),
    };
    let Some(last) = (shown.first + shown.lines.len()).checked_sub(1).filter(|last| *last >= shown.first)
    else {
        return nothing(source, &shown);
    };
    let whole = shown.first == 1 && !shown.more;
    let range = LineRange { first: shown.first as u64, last: last as u64 };
    let mut text = numbered(&shown.lines, shown.first);
    for note in notes(source, &shown, last, encoding) {
        text.push_str(&format!("\n[{note}]"));
    }
    Ok(Done::text(&text)
        .with_detail(detail(source, &shown))
        .with_effect(source.seen((!whole).then_some(range))))
}

impl Content<'_> {
    /// The whole text with credentials masked, if it is in memory and has any. What is shown of it may be a part that
    /// does not tell by itself.
    fn concealed(&self, source: &Source<'_>) -> Option<String> {
        let Self::Memory(bytes) = self else { return None };
        let text = match decode(bytes) {
            Ok(decoded) => decoded.text,
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        };
        match source.cx.view.secrets.mask_file(&text, source.path) {
            Cow::Borrowed(_) => None,
            Cow::Owned(masked) => Some(masked),
        }
    }

    fn encoding(&self, source: &Source<'_>) -> Result<Encoding, ToolError> {
        let (bytes, extent) = match self {
            Self::Memory(bytes) => (*bytes, Extent::Whole),
            Self::File { head, .. } => (*head, Extent::Beginning),
        };
        match detect(bytes, extent) {
            Ok(encoding) => Ok(encoding),
            Err(NotText::BrokenUtf8 { .. }) => Ok(Encoding::Utf8),
            Err(NotText::Binary) => Err(ToolError::model(format!(
                "{} is not text: it seems to be {} ({}). Look at it with a command such as `file` or `xxd`.",
                source.path.display(),
                kind::of(bytes),
                amount(source.size),
            ))),
        }
    }

    fn with_lines<T>(
        &mut self,
        source: &Source<'_>,
        encoding: Encoding,
        work: impl FnOnce(&mut Lines<'_, &mut dyn Read>) -> Result<T, ToolError>,
    ) -> Result<T, ToolError> {
        let cancel = &source.cx.cancel;
        match self {
            Self::Memory(bytes) => work(&mut Lines::new(&mut &**bytes, encoding, cancel)),
            Self::File { file, .. } => {
                file.rewind()
                    .map_err(|error| ToolError::model(format!("{}: {error}.", source.path.display())))?;
                work(&mut Lines::new(file, encoding, cancel))
            }
        }
    }

    fn shown(&mut self, source: &Source<'_>, encoding: Encoding) -> Result<Shown, ToolError> {
        let limit = source.part.limit.unwrap_or(DEFAULT_LINES);
        let first = match source.part.offset.unwrap_or(1) {
            back @ ..0 => {
                let total = self.with_lines(source, encoding, |lines| lines.count())?;
                total.saturating_sub(usize::try_from(back.unsigned_abs()).unwrap_or(usize::MAX)) + 1
            }
            offset => usize::try_from(offset).unwrap_or(usize::MAX).max(1),
        };
        let count_all = matches!(self, Self::Memory(_));
        self.with_lines(source, encoding, |lines| collect(lines, first, limit, count_all))
    }
}

impl Shown {
    /// Masks credentials in lines of a file that is too large to be looked through.
    fn concealed(mut self, source: &Source<'_>) -> Self {
        let text = self.lines.join("\n");
        if let Cow::Owned(masked) = source.cx.view.secrets.mask_file(&text, source.path) {
            self.lines = masked.split('\n').map(str::to_owned).collect();
        }
        self
    }
}

fn collect<R: Read>(
    lines: &mut Lines<'_, R>,
    first: usize,
    limit: usize,
    count_all: bool,
) -> Result<Shown, ToolError> {
    let mut shown = Shown { first, ..Shown::default() };
    for passed in 0..first - 1 {
        if lines.next()?.is_none() {
            shown.total = Some(passed);
            return Ok(shown);
        }
    }
    let mut room = TEXT_BUDGET;
    while let Some(line) = lines.next()? {
        let cost = line.text.chars().count() + PREFIX + 1;
        if shown.lines.len() == limit || (cost > room && !shown.lines.is_empty()) {
            shown.more = true;
            break;
        }
        room = room.saturating_sub(cost);
        if line.cut {
            shown.cut.push(first + shown.lines.len());
        }
        shown.lines.push(line.text);
    }
    shown.lossy = lines.lossy;
    let so_far = first - 1 + shown.lines.len();
    shown.total = match (shown.more, count_all) {
        (false, _) => Some(so_far),
        (true, true) => Some(so_far + 1 + lines.count()?),
        (true, false) => None,
    };
    Ok(shown)
}

fn nothing(source: &Source<'_>, shown: &Shown) -> Result<Done, ToolError> {
    match shown.total {
        Some(0) => {
            let text = "[The file exists but is empty.]";
            Ok(Done::text(text).with_detail(detail(source, shown)).with_effect(source.seen(None)))
        }
        total => Err(ToolError::model(format!(
            "{} has {} lines; there is nothing from line {} on.",
            source.path.display(),
            total.unwrap_or_default(),
            shown.first,
        ))),
    }
}

fn notes(source: &Source<'_>, shown: &Shown, last: usize, encoding: Encoding) -> Vec<String> {
    let mut notes = Vec::new();
    if shown.more {
        let total = shown.total.map(|total| format!(" of {total}")).unwrap_or_default();
        notes.push(format!("Lines {} to {last}{total}. To go on: offset {}.", shown.first, last + 1));
    }
    if let Some(line) = shown.cut.first() {
        let path = source.path.display();
        notes.push(format!(
            "{} line(s) cut after {LINE_CHARS} characters, the first is {line}. The rest: `sed -n {line}p '{path}' | cut -c{}-`.",
            shown.cut.len(),
            LINE_CHARS + 1,
        ));
    }
    if shown.lossy || shown.lines.iter().any(|line| line.contains('\u{FFFD}')) {
        notes.push("Bytes that are not valid text are shown as \u{FFFD}.".to_owned());
    }
    if !matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom) {
        notes.push(format!("Stored as {}.", encoding.name()));
    }
    notes
}

fn too_large(source: &Source<'_>, content: &mut Content<'_>, encoding: Encoding) -> ToolError {
    let lines = match content {
        Content::Memory(_) => content.with_lines(source, encoding, |lines| lines.count()).ok(),
        Content::File { .. } => None,
    };
    let lines = lines.map(|lines| format!(" and {lines} lines")).unwrap_or_default();
    ToolError::model(format!(
        "{} has {}{lines}, more than the {} that are shown at once. Read a part with offset and limit (for example \
         offset 1, limit 500; a negative offset counts from the end), or search it with Grep.",
        source.path.display(),
        amount(source.size),
        amount(WHOLE_UP_TO),
    ))
}

fn detail(source: &Source<'_>, shown: &Shown) -> serde_json::Value {
    json!({
        "type": "text",
        "file": {
            "filePath": source.path.to_string_lossy(),
            "content": shown.lines.join("\n"),
            "numLines": shown.lines.len(),
            "startLine": shown.first,
            "totalLines": shown.total,
        },
    })
}
