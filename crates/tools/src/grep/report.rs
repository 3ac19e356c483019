//! Results in words.

use std::path::Path;

use serde_json::json;

use super::found::Found;
use super::sink::{Hits, Line, LineKind};
use super::{GrepInput, OutputMode, Settings};
use crate::cx::View;
use crate::search::LeftOut;
use crate::tool::Done;
use crate::workspace;

/// Characters a result may have; below the limit at which results are cut and stored elsewhere.
const BUDGET: usize = 95_000;

/// The part of the results that is shown.
struct Page {
    entries: Vec<String>,
    more: bool,
}

pub(super) fn report(
    input: &GrepInput,
    settings: Settings,
    view: &View,
    root: &Path,
    found: &Found,
    left_out: &LeftOut,
) -> Done {
    let page = Page::of(settings, view, found);
    let content = page.entries.join("\n");
    let mut text = headline(input, settings, root, found, &page, left_out);
    text.push_str(&content);
    for note in notes(settings, found, left_out, &page) {
        text.push_str(&format!("\n[{note}]"));
    }
    let detail = json!({
        "mode": settings.mode.name(),
        "numFiles": found.total_files,
        "numMatches": found.total_matches,
        "filenames": found.files.keys().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
        "content": (settings.mode != OutputMode::FilesWithMatches).then_some(content),
        "incomplete": left_out.stopped || page.more,
    });
    Done::text(text.trim_start_matches('\n')).with_detail(detail)
}

impl Page {
    fn of(settings: Settings, view: &View, found: &Found) -> Self {
        let all = found
            .files
            .iter()
            .flat_map(|(path, hits)| entries(settings, &workspace::shown(view, path), hits));
        let mut page = Self { entries: Vec::new(), more: found.files.len() < found.total_files };
        let mut room = BUDGET;
        for entry in all.skip(settings.offset) {
            match room.checked_sub(entry.chars().count() + 1) {
                Some(left) if page.entries.len() < settings.limit => room = left,
                _ => {
                    page.more = true;
                    break;
                }
            }
            page.entries.push(entry);
        }
        page.more |= settings.mode == OutputMode::Content
            && found.files.values().any(|hits| hits.lines.len() >= settings.kept());
        page
    }
}

/// What stands before the entries. "No matches" is said only after a complete search.
fn headline(
    input: &GrepInput,
    settings: Settings,
    root: &Path,
    found: &Found,
    page: &Page,
    left_out: &LeftOut,
) -> String {
    let (files, matches) = (found.total_files, found.total_matches);
    match (files, page.entries.is_empty(), settings.mode) {
        (0, ..) if left_out.stopped => String::new(),
        (0, ..) => {
            format!(
                "No matches for {} in {} ({} files searched).",
                input.pattern,
                root.display(),
                found.searched
            )
        }
        (_, true, _) => {
            format!("Nothing from offset {} on; there are matches in {files} files.", settings.offset)
        }
        (_, _, OutputMode::FilesWithMatches) => format!("Files with matches: {files}\n"),
        (_, _, OutputMode::Count) => format!("{matches} matches in {files} files\n"),
        (_, _, OutputMode::Content) => String::new(),
    }
}

fn notes(settings: Settings, found: &Found, left_out: &LeftOut, page: &Page) -> Vec<String> {
    let mut notes = Vec::new();
    if page.more && !page.entries.is_empty() {
        let (shown, next) = (page.entries.len(), settings.offset + page.entries.len());
        let all = match settings.mode {
            OutputMode::FilesWithMatches => format!("{} files with matches", found.total_files),
            _ => format!("{} matches in {} files", found.total_matches, found.total_files),
        };
        notes.push(format!("{shown} entries shown; in all {all}. To go on: offset {next}."));
    }
    let cut: usize = found.files.values().map(|hits| hits.cut).sum();
    let counted = [
        (cut, "long lines were cut; Read shows more of them"),
        (found.binary, "binary files were skipped; `grep -a` in Bash searches them"),
        (found.too_large, "files were skipped because a line (with multiline: the file) is over 64 MB"),
        (found.links, "links to files were not followed; to search one, give its path"),
        (found.unreadable, "files could not be read"),
    ];
    notes.extend(
        counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}.")),
    );
    notes.extend(left_out.notes());
    notes
}

impl OutputMode {
    fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::FilesWithMatches => "files_with_matches",
            Self::Count => "count",
        }
    }
}

fn entries(settings: Settings, path: &str, hits: &Hits) -> Vec<String> {
    match settings.mode {
        OutputMode::FilesWithMatches => vec![path.to_owned()],
        OutputMode::Count => vec![format!("{path}:{}", hits.matches)],
        OutputMode::Content => hits.lines.iter().map(|line| line_entry(settings, path, line)).collect(),
    }
}

fn line_entry(settings: Settings, path: &str, line: &Line) -> String {
    let separator = match line.kind {
        LineKind::Match => ':',
        LineKind::Context => '-',
        LineKind::Gap => return "--".to_owned(),
    };
    match settings.line_numbers {
        true => format!("{path}{separator}{}{separator}{}", line.number, line.text),
        false => format!("{path}{separator}{}", line.text),
    }
}
