//! Working out an edit without making it. Done before permission is sought and again before writing.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tiller_protocol::effect::{FileSeen, LineRange, Lines};
use tiller_protocol::forgery::meant;

use super::EditInput;
use super::hint::closest;
use super::locate::{Candidates, LISTED, Located, Missed, Wanted, line_breaks, line_numbers, locate};
use super::splice::splice;
use crate::cx::View;
use crate::encoding::{Decoded, Encoding, decode};
use crate::notebook;
use crate::seen::{self, Standing};
use crate::workspace::{self, Before, FileError, Loaded};
use crate::written::{Knowledge, TAGS_AS_IN_FILE};

/// An edit that can be made.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) path: PathBuf,
    pub(super) before: Before,
    pub(super) old_text: String,
    pub(super) new_text: String,
    pub(super) bytes: Vec<u8>,
    pub(super) places: usize,
    /// What the model should know about how it was done.
    pub(super) remarks: Vec<String>,
    pub(super) knowledge: Knowledge,
}

/// Works out the edit; the error is for the model.
pub(super) fn plan(input: &EditInput, view: &View) -> Result<Plan, String> {
    let path = workspace::resolve(view, &input.file_path);
    if input.old_string == input.new_string {
        return Err("old_string and new_string are the same; there is nothing to change.".to_owned());
    }
    let opened = match workspace::open(&path) {
        Ok(opened) => opened,
        Err(FileError::Missing) if input.old_string.is_empty() => {
            return create(path, input, view, Before::Absent);
        }
        Err(error) => return Err(error.explain(&path, view)),
    };
    if opened.size > 0 {
        // Before anything of the content can show in a message.
        seen::required(&view.files, &path)?;
    }
    let loaded = workspace::load(opened).map_err(|error| error.explain(&path, view))?;
    if input.old_string.is_empty() {
        return match loaded.bytes.is_empty() {
            true => create(path, input, view, Before::Content(loaded.fingerprint)),
            false => Err(format!(
                "{} is not empty: an empty old_string only creates files. Give the text to replace.",
                path.display()
            )),
        };
    }
    change(path, input, view, loaded)
}

fn create(path: PathBuf, input: &EditInput, view: &View, before: Before) -> Result<Plan, String> {
    let new_text = view.secrets.restore(&input.new_string, &path, "")?.into_owned();
    let bytes = new_text.clone().into_bytes();
    Ok(Plan {
        path,
        before,
        old_text: String::new(),
        new_text,
        bytes,
        places: 1,
        remarks: Vec::new(),
        knowledge: Knowledge::Whole,
    })
}

fn change(path: PathBuf, input: &EditInput, view: &View, loaded: Loaded) -> Result<Plan, String> {
    let refuse = |why: String| format!("{} was not changed: {why}.", path.display());
    let Decoded { text, encoding } = decode(&loaded.bytes).map_err(|error| refuse(error.to_string()))?;
    if notebook::has_extension(&path) && notebook::Notebook::parse(&text).is_ok() {
        return Err(refuse("it is a notebook; use NotebookEdit".to_owned()));
    }
    let seen = seen::required(&view.files, &path)?;
    let standing = seen::standing(seen, &loaded.fingerprint);
    let input = &with_secrets(input, view, &path, &text)?;
    let armed = with_tags(input, &text);
    let input = armed.as_ref().unwrap_or(input);
    let located = find(&path, &text, input, view, seen, standing)?;
    let new_text = splice(&text, &located, &input.old_string, &input.new_string);
    if new_text == text {
        return Err(refuse("the file already has it that way".to_owned()));
    }
    let bytes = encoding.encode(&new_text).map_err(|error| refuse(error.to_string()))?;
    let mut remarks = remarks(&located, standing, encoding);
    if armed.is_some() {
        remarks.push(TAGS_AS_IN_FILE.to_owned());
    }
    let places = places(&located);
    let knowledge = match (standing, &seen.lines) {
        (Standing::Changed, _) => Knowledge::Outdated,
        (Standing::Unchanged, None) => Knowledge::Whole,
        (Standing::Unchanged, Some(lines)) => {
            let changes = changes(&text, &places, &input.new_string);
            moved(lines, &changes).map_or(Knowledge::Outdated, Knowledge::Part)
        }
    };
    Ok(Plan {
        before: Before::Content(loaded.fingerprint),
        path,
        old_text: text,
        new_text,
        bytes,
        places: places.len(),
        remarks,
        knowledge,
    })
}

/// What the model means where it wrote the mask of a credential.
fn with_secrets(input: &EditInput, view: &View, path: &Path, text: &str) -> Result<EditInput, String> {
    let restore = |written: &str| view.secrets.restore(written, path, text).map(Cow::into_owned);
    let (old_string, new_string) = (restore(&input.old_string)?, restore(&input.new_string)?);
    Ok(EditInput { old_string, new_string, ..input.clone() })
}

/// What the model means where it wrote a reminder tag as it is shown: with a mark that the file does not have.
fn with_tags(input: &EditInput, text: &str) -> Option<EditInput> {
    let (old, new) = (meant(&input.old_string, text), meant(&input.new_string, text));
    // What stands in the file as it was written is meant so.
    if text.contains(&input.old_string) && old.is_some() || old.is_none() && new.is_none() {
        return None;
    }
    let (old_string, new_string) =
        (old.unwrap_or_else(|| input.old_string.clone()), new.unwrap_or_else(|| input.new_string.clone()));
    Some(EditInput { old_string, new_string, ..input.clone() })
}

/// The places to replace, if what the model has seen of the file allows it.
fn find(
    path: &Path,
    text: &str,
    input: &EditInput,
    view: &View,
    seen: &FileSeen,
    standing: Standing,
) -> Result<Located, String> {
    let wanted = match (standing, input.replace_all) {
        (Standing::Unchanged, true) => Wanted::All,
        (Standing::Unchanged, false) => Wanted::Only,
        // Only the exact text at its only place is surely what the model means in a file it has not seen as it is.
        (Standing::Changed, false) if seen.lines.is_none() => Wanted::OnlyExactly,
        (Standing::Changed, _) => return Err(seen::changed(path)),
    };
    let located = match locate(text, &input.old_string, wanted) {
        Ok(located) => located,
        Err(_) if standing == Standing::Changed => return Err(seen::changed(path)),
        Err(missed) => {
            // The model is shown of the file what it is always shown.
            let (text, old) = (view.secrets.mask(text), view.secrets.mask(&input.old_string));
            return Err(explain(path, &text, &old, &missed));
        }
    };
    if let Some(lines) = &seen.lines {
        let shown: Vec<Range<usize>> = lines.ranges().iter().map(|range| line_span(text, *range)).collect();
        let inside = |place: &Range<usize>| {
            shown.iter().any(|shown| place.start >= shown.start && place.end <= shown.end)
        };
        if !places(&located).iter().any(inside) {
            return Err(format!(
                "Only lines {lines} of {} were read, and old_string is not among them. Read that part first.",
                path.display(),
            ));
        }
    }
    Ok(located)
}

/// What a change at one place does to the lines.
struct Change {
    first: u64,
    last: u64,
    /// Lines that the file is longer for it.
    longer: i64,
}

fn changes(text: &str, places: &[Range<usize>], new: &str) -> Vec<Change> {
    let breaks_in_new = line_breaks(new) as i64;
    let first_lines = line_numbers(text, places.iter().map(|place| place.start));
    let change = |(place, first): (&Range<usize>, usize)| {
        let (old, first) = (&text[place.clone()], first as u64);
        // What ends with the end of a line does not reach into the next one.
        let inner = line_breaks(old.strip_suffix('\n').unwrap_or(old)) as u64;
        Change { first, last: first + inner, longer: breaks_in_new - line_breaks(old) as i64 }
    };
    places.iter().zip(first_lines).map(change).collect()
}

/// The lines that were shown, after changes have made the file longer or shorter; nothing if none of them is left.
fn moved(lines: &Lines, changes: &[Change]) -> Option<Lines> {
    let longer = |is_meant: &dyn Fn(&&Change) -> bool| -> i64 {
        changes.iter().filter(is_meant).map(|change| change.longer).sum()
    };
    let moved = |range: &LineRange| {
        let first = range.first.saturating_add_signed(longer(&|change| change.last < range.first));
        let last = range.last.saturating_add_signed(longer(&|change| change.first <= range.last));
        (first <= last).then_some(LineRange { first, last })
    };
    let left: Lines = lines.ranges().iter().filter_map(moved).collect();
    (!left.ranges().is_empty()).then_some(left)
}

fn places(located: &Located) -> Vec<Range<usize>> {
    match located {
        Located::Exact(places) => places.clone(),
        Located::Lenient { places, .. } => {
            let cover = |place: &Vec<super::tokens::Token>| {
                place.first().zip(place.last()).map(|(first, last)| first.span().start..last.span().end)
            };
            places.iter().filter_map(cover).collect()
        }
    }
}

fn explain(path: &Path, text: &str, old: &str, missed: &Missed) -> String {
    match missed {
        Missed::Nowhere => format!("old_string was not found in {}. {}", path.display(), closest(text, old)),
        Missed::Ambiguous(Candidates { places, lines }) => {
            let listed: Vec<String> = lines.iter().take(LISTED).map(usize::to_string).collect();
            let more = if lines.len() > LISTED { ", …" } else { "" };
            let word = if lines.len() == 1 { "line" } else { "lines" };
            format!(
                "old_string occurs {places} times in {} ({word} {}{more}). Add lines around it to make it unique, or set replace_all.",
                path.display(),
                listed.join(", "),
            )
        }
    }
}

fn remarks(located: &Located, standing: Standing, encoding: Encoding) -> Vec<String> {
    let mut remarks = Vec::new();
    if standing == Standing::Changed {
        remarks.push(
            "The file had changed on disk since you read it; the edit was applied to its present content."
                .to_owned(),
        );
    }
    if let Located::Lenient { leniency, .. } = located {
        remarks.push(format!(
            "old_string did not match exactly; the only place that is the same apart from {} was replaced.",
            leniency.describe(),
        ));
    }
    if !matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom) {
        remarks.push(format!("Stored as {}, as before.", encoding.name()));
    }
    remarks
}

/// The bytes of a range of lines.
fn line_span(text: &str, range: LineRange) -> Range<usize> {
    let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    let start: usize =
        text.split_inclusive('\n').take(index(range.first).saturating_sub(1)).map(str::len).sum();
    let end: usize = text.split_inclusive('\n').take(index(range.last)).map(str::len).sum();
    start..end
}

impl Plan {
    /// The line on which the change begins.
    pub(super) fn first_line(&self) -> usize {
        let same = self.old_text.bytes().zip(self.new_text.bytes()).take_while(|(a, b)| a == b).count();
        1 + self.new_text.as_bytes()[..same].iter().filter(|byte| **byte == b'\n').count()
    }
}
