//! Changes of a file as rows: with line numbers, and with the words that differ.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::text::{clean, wrap};
use crate::theme::Theme;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Lines that have less in common than this are shown as two different lines.
const ALIKE: f32 = 0.4;
/// Longer lines are not compared word by word.
const LONGEST_LINE: usize = 1_000;

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    Removed,
    Added,
}

/// A stretch of changed lines with what is around it.
#[derive(Clone, Debug)]
pub struct Hunk {
    old_start: u64,
    new_start: u64,
    lines: Vec<(Fate, String)>,
}

impl Hunk {
    /// Lines that were added, and lines that were removed.
    #[must_use]
    pub fn counts(hunks: &[Self]) -> (usize, usize) {
        let of = |fate| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|(own, _)| *own == fate).count();
        (of(Fate::Added), of(Fate::Removed))
    }

    /// The same with other text in its lines.
    #[must_use]
    pub(crate) fn mapped(mut self, text: impl Fn(&str) -> String) -> Self {
        self.lines.iter_mut().for_each(|(_, line)| *line = text(line));
        self
    }
}

/// The patch in the details of a result.
#[must_use]
pub fn of_patch(patch: &Value) -> Vec<Hunk> {
    let hunks = patch.as_array().into_iter().flatten();
    hunks.map(hunk_of).collect()
}

fn hunk_of(hunk: &Value) -> Hunk {
    let number = |name: &str| hunk[name].as_u64().unwrap_or(1);
    let lines = hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let line = |line: &str| match line.split_at_checked(1) {
        Some(("-", rest)) => (Fate::Removed, rest.to_owned()),
        Some(("+", rest)) => (Fate::Added, rest.to_owned()),
        Some((_, rest)) => (Fate::Kept, rest.to_owned()),
        None => (Fate::Kept, String::new()),
    };
    Hunk { old_start: number("oldStart"), new_start: number("newStart"), lines: lines.map(line).collect() }
}

/// What leads from one text to another.
#[must_use]
pub fn between(old: &str, new: &str) -> Vec<Hunk> {
    let diff = TextDiff::from_lines(old, new);
    let groups = diff.grouped_ops(CONTEXT);
    let hunks = groups.iter().filter_map(|ops| {
        let first = ops.first()?;
        let lines = ops.iter().flat_map(|op| diff.iter_changes(op)).map(|change| {
            let fate = match change.tag() {
                ChangeTag::Equal => Fate::Kept,
                ChangeTag::Delete => Fate::Removed,
                ChangeTag::Insert => Fate::Added,
            };
            (fate, change.value().trim_end_matches(['\n', '\r']).to_owned())
        });
        let start = |at: usize| u64::try_from(at + 1).unwrap_or(1);
        Some(Hunk {
            old_start: start(first.old_range().start),
            new_start: start(first.new_range().start),
            lines: lines.collect(),
        })
    });
    hunks.collect()
}

/// The rows of a change; no more than `most`, and then a row that says how many are left out.
#[must_use]
pub fn rows(hunks: &[Hunk], columns: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    let last = hunks.iter().map(|hunk| hunk.new_start.max(hunk.old_start) + hunk.lines.len() as u64).max();
    let digits = last.unwrap_or(1).to_string().len().max(3);
    let mut rows = Vec::new();
    for (at, hunk) in hunks.iter().enumerate() {
        if at > 0 {
            rows.push(Line::styled(format!("{:>digits$}", "⋮"), theme.dim));
        }
        hunk_rows(hunk, digits, columns, theme, &mut rows);
    }
    if rows.len() > most {
        let left_out = rows.len() - most;
        rows.truncate(most);
        rows.push(Line::styled(format!("… {left_out} more lines"), theme.dim));
    }
    rows
}

fn hunk_rows(hunk: &Hunk, digits: usize, columns: u16, theme: &Theme, rows: &mut Vec<Line<'static>>) {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let mut at = 0;
    while at < hunk.lines.len() {
        let run =
            |from: usize, fate: Fate| hunk.lines[from..].iter().take_while(|(own, _)| *own == fate).count();
        let removed = run(at, Fate::Removed);
        let added = run(at + removed, Fate::Added);
        if removed + added == 0 {
            put(
                rows,
                new,
                Fate::Kept,
                vec![Span::raw(clean(&hunk.lines[at].1).into_owned())],
                digits,
                columns,
                theme,
            );
            (old, new, at) = (old + 1, new + 1, at + 1);
            continue;
        }
        let (gone, come) = hunk.lines[at..at + removed + added].split_at(removed);
        for (index, (_, line)) in gone.iter().enumerate() {
            let spans = words(line, come.get(index).map(|(_, other)| other.as_str()), Fate::Removed, theme);
            put(rows, old, Fate::Removed, spans, digits, columns, theme);
            old += 1;
        }
        for (index, (_, line)) in come.iter().enumerate() {
            let spans = words(line, gone.get(index).map(|(_, other)| other.as_str()), Fate::Added, theme);
            put(rows, new, Fate::Added, spans, digits, columns, theme);
            new += 1;
        }
        at += removed + added;
    }
}

fn put(
    rows: &mut Vec<Line<'static>>,
    number: u64,
    fate: Fate,
    content: Vec<Span<'static>>,
    digits: usize,
    columns: u16,
    theme: &Theme,
) {
    let (sign, style) = match fate {
        Fate::Kept => (' ', theme.dim),
        Fate::Removed => ('-', theme.removed),
        Fate::Added => ('+', theme.added),
    };
    let mut spans =
        vec![Span::styled(format!("{number:>digits$} "), theme.dim), Span::styled(format!("{sign} "), style)];
    spans.extend(content);
    let hang = u16::try_from(digits + 3).unwrap_or(6);
    rows.extend(wrap(&Line::from(spans), columns, hang));
}

/// A line with the words marked that the other line does not have.
fn words(line: &str, other: Option<&str>, fate: Fate, theme: &Theme) -> Vec<Span<'static>> {
    let (style, marked) = match fate {
        Fate::Removed => (theme.removed, theme.removed_word),
        _ => (theme.added, theme.added_word),
    };
    let own = clean(line);
    let plain = || vec![Span::styled(own.to_string(), style)];
    let Some(other) = other.filter(|other| other.len().max(line.len()) <= LONGEST_LINE) else {
        return plain();
    };
    let other = clean(other);
    let diff = TextDiff::from_words(other.as_ref(), own.as_ref());
    if diff.ratio() < ALIKE {
        return plain();
    }
    let mut spans: Vec<Span<'static>> = Vec::new();
    for change in diff.iter_all_changes() {
        let style: Style = match change.tag() {
            ChangeTag::Equal => style,
            ChangeTag::Insert => marked,
            ChangeTag::Delete => continue,
        };
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(change.value()),
            _ => spans.push(Span::styled(change.value().to_owned(), style)),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Palette;

    fn shown(rows: &[Line<'_>]) -> String {
        rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_have_numbers_and_signs() {
        let old: String = (1..=12).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 6\n", "line six\nline 6.5\n");
        let hunks = between(&old, &new);
        assert_eq!(Hunk::counts(&hunks), (2, 1));
        insta::assert_snapshot!(shown(&rows(&hunks, 40, 50, &Theme::new(Palette::Plain))), @r"
          3   line 3
          4   line 4
          5   line 5
          6 - line 6
          6 + line six
          7 + line 6.5
          8   line 7
          9   line 8
         10   line 9
        ");
        let patch = serde_json::json!([{"oldStart": 7, "newStart": 7, "lines": [" a", "-b", "+c", "+d"]}]);
        assert_eq!(
            shown(&rows(&of_patch(&patch), 40, 2, &Theme::new(Palette::Plain))),
            "  7   a\n  8 - b\n… 2 more lines"
        );
    }

    #[test]
    fn the_words_that_differ_are_marked() {
        let theme = Theme::new(Palette::Dark);
        let rows = rows(&between("let x = old(1);\n", "let x = new(1);\n"), 60, 50, &theme);
        let marked = |row: &Line<'_>, style| {
            row.spans
                .iter()
                .filter(|span| span.style == style)
                .map(|span| span.content.to_string())
                .collect::<String>()
        };
        assert_eq!(marked(&rows[0], theme.removed_word), "old(1);");
        assert_eq!(marked(&rows[1], theme.added_word), "new(1);");
    }
}
