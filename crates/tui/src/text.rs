//! Styled text as rows of a terminal: cleaned, measured, wrapped.

mod visible;

use std::borrow::Cow;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

pub use visible::{hides_something, reveal, visible, visible_line, with_whole_signs};

/// Columns a tab takes.
const TAB: &str = "    ";

/// Columns a text takes.
#[must_use]
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// Columns a line takes.
#[must_use]
pub fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| width(&span.content)).sum()
}

/// Text that cannot command the terminal: without escape sequences, control characters and marks that reorder what
/// is read. A carriage return ends a line. For text that is decided about, see [`visible()`].
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_unsafe(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(without_return);
    Cow::Owned(lines.flat_map(|line| line.split('\r').map(clean_line)).collect::<Vec<_>>().join("\n"))
}

/// The same for what a command printed: of a line that overwrote itself, its last state remains.
#[must_use]
pub fn clean_output(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return clean(text);
    }
    let lines = text.split('\n').map(without_return);
    Cow::Owned(
        lines.map(|line| clean_line(line.rsplit('\r').next().unwrap_or(line))).collect::<Vec<_>>().join("\n"),
    )
}

/// A line without what other systems end it with.
fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

fn clean_line(line: &str) -> String {
    let mut cleaned = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\t' => cleaned.push_str(TAB),
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_parameters(&mut chars),
            c if is_unsafe(c) => {}
            c => cleaned.push(c),
        }
    }
    cleaned
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => skip_parameters(chars),
        // Strings for the terminal end with BEL or ESC \.
        Some(']' | 'P' | '_' | '^' | 'X') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\u{9c}' {
                    return;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    return;
                }
            }
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_parameters(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    for c in chars.by_ref() {
        if ('\u{40}'..='\u{7e}').contains(&c) {
            return;
        }
    }
}

/// The beginning of a text that fits, with an ellipsis if something was left out.
#[must_use]
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut taken = 0;
    for grapheme in text.graphemes(true) {
        let wide = width(grapheme);
        if taken + wide + 1 > columns {
            break;
        }
        taken += wide;
        fitted.push_str(grapheme);
    }
    if columns > 0 {
        fitted.push('…');
    }
    fitted
}

/// The beginning of a line that fits, with an ellipsis if something was left out.
#[must_use]
pub fn fit_line(line: Line<'static>, columns: usize) -> Line<'static> {
    if line_width(&line) <= columns {
        return line;
    }
    let mut room = columns;
    let mut spans = Vec::new();
    for span in line.spans {
        let wide = width(&span.content);
        if wide < room {
            room -= wide;
            spans.push(span);
            continue;
        }
        // What follows does not fit, so this has to give way to the ellipsis.
        let cut = fit(&format!("{}……", span.content), room);
        spans.push(Span::styled(cut, span.style));
        break;
    }
    Line::from(spans).style(line.style)
}

/// One character as a person sees it.
struct Glyph<'a> {
    text: &'a str,
    style: Style,
    width: usize,
}

impl Glyph<'_> {
    fn is_space(&self) -> bool {
        self.text.chars().all(|c| c == ' ')
    }
}

/// The characters of a text as people see them. Most text needs no tables for that.
fn graphemes(text: &str) -> Box<dyn Iterator<Item = &str> + '_> {
    if text.is_ascii() && !text.contains('\r') {
        return Box::new((0..text.len()).map(move |at| &text[at..=at]));
    }
    Box::new(text.graphemes(true))
}

/// Cuts a line into rows no wider than `columns`, at spaces where it can. Rows after the first begin with `hang` spaces.
#[must_use]
pub fn wrap(line: &Line<'_>, columns: u16, hang: u16) -> Vec<Line<'static>> {
    let glyphs: Vec<Glyph<'_>> = line
        .spans
        .iter()
        .flat_map(|span| {
            let style = line.style.patch(span.style);
            graphemes(&span.content).map(move |text| Glyph { text, style, width: width(text) })
        })
        .collect();
    let columns = usize::from(columns.max(1));
    let hang = if usize::from(hang) * 2 < columns { usize::from(hang) } else { 0 };
    let mut rows = Vec::new();
    let mut start = 0;
    loop {
        let indent = if rows.is_empty() { 0 } else { hang };
        let end = row_end(&glyphs, start, columns - indent);
        let is_last = end == glyphs.len();
        let blank = glyphs[start..end].iter().rev().take_while(|glyph| !is_last && glyph.is_space()).count();
        rows.push(row(&glyphs[start..end - blank], indent));
        start = end;
        // The space at which a line was cut belongs to neither row.
        while start < glyphs.len() && glyphs[start].is_space() {
            start += 1;
        }
        if start >= glyphs.len() {
            return rows;
        }
    }
}

/// Where the row that begins at `start` ends.
fn row_end(glyphs: &[Glyph<'_>], start: usize, columns: usize) -> usize {
    let mut taken = 0;
    let mut last_break = None;
    for (at, glyph) in glyphs.iter().enumerate().skip(start) {
        // Scripts of wide characters may be cut between any two of them.
        let may_part = |glyph: &Glyph<'_>| glyph.is_space() || glyph.width > 1;
        if at > start && (may_part(glyph) || may_part(&glyphs[at - 1])) {
            last_break = Some(at);
        }
        taken += glyph.width;
        if taken > columns {
            let nothing_but_space = |end: usize| glyphs[start..end].iter().all(Glyph::is_space);
            return last_break.filter(|end| !nothing_but_space(*end)).unwrap_or_else(|| at.max(start + 1));
        }
    }
    glyphs.len()
}

fn row(glyphs: &[Glyph<'_>], indent: usize) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if indent > 0 {
        spans.push(Span::raw(" ".repeat(indent)));
    }
    for glyph in glyphs {
        match spans.last_mut() {
            Some(last) if last.style == glyph.style => last.content.to_mut().push_str(glyph.text),
            _ => spans.push(Span::styled(glyph.text.to_owned(), glyph.style)),
        }
    }
    Line::from(spans)
}

/// Cuts a line into rows, but no more than these; the last one says that there is more.
#[must_use]
pub fn wrap_some(line: &Line<'_>, columns: u16, hang: u16, most: usize) -> Vec<Line<'static>> {
    let mut rows = wrap(line, columns, hang);
    if rows.len() > most {
        rows.truncate(most);
        if let Some(last) = rows.pop() {
            let more = Line::from([last.spans, vec![Span::raw(" …")]].concat());
            rows.push(fit_line(more, columns.into()));
        }
    }
    rows
}

/// Cuts those lines into rows that do not fit.
#[must_use]
pub fn wrap_all(lines: Vec<Line<'static>>, columns: u16, hang: u16) -> Vec<Line<'static>> {
    let rows = |line: Line<'static>| match line_width(&line) <= usize::from(columns) {
        true => vec![line],
        false => wrap(&line, columns, hang),
    };
    lines.into_iter().flat_map(rows).collect()
}

/// Puts the same beginning before every row: one for the first, another for the rest.
#[must_use]
pub fn prefixed(rows: Vec<Line<'static>>, first: &Span<'static>, rest: &Span<'static>) -> Vec<Line<'static>> {
    let with_prefix = |(at, row): (usize, Line<'static>)| {
        let prefix = if at == 0 { first.clone() } else { rest.clone() };
        let style = row.style;
        Line::from(std::iter::once(prefix).chain(row.spans).collect::<Vec<_>>()).style(style)
    };
    rows.into_iter().enumerate().map(with_prefix).collect()
}

/// Wraps each line of a text in one style.
#[must_use]
pub fn paragraphs(text: &str, columns: u16, style: Style) -> Vec<Line<'static>> {
    wrapped_lines(&clean(text), columns, style)
}

/// The same for what a command printed.
#[must_use]
pub fn output_rows(text: &str, columns: u16, style: Style) -> Vec<Line<'static>> {
    wrapped_lines(&clean_output(text), columns, style)
}

fn wrapped_lines(text: &str, columns: u16, style: Style) -> Vec<Line<'static>> {
    let lines = text.lines().map(|line| Line::styled(line.to_owned(), style));
    lines.flat_map(|line| wrap(&line, columns, 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(rows: &[Line<'_>]) -> Vec<String> {
        rows.iter().map(ToString::to_string).collect()
    }

    fn wrapped(text: &str, columns: u16, hang: u16) -> Vec<String> {
        texts(&wrap(&Line::raw(text.to_owned()), columns, hang))
    }

    #[test]
    fn lines_are_cut_at_spaces_or_where_they_must() {
        assert_eq!(wrapped("the quick brown fox", 10, 0), ["the quick", "brown fox"]);
        assert_eq!(wrapped("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrapped("    indented text", 12, 0), ["    indented", "text"]);
        assert_eq!(wrapped("", 10, 0), [""]);
        assert_eq!(wrapped("x", 1, 5), ["x"]);
    }

    // TERM-02
    #[test]
    fn wide_and_combining_characters_are_measured_as_they_are_seen() {
        assert_eq!(wrapped("日本語のテキスト", 7, 0), ["日本語", "のテキ", "スト"]);
        assert_eq!(wrapped("e\u{301}e\u{301}e\u{301}", 2, 0), ["e\u{301}e\u{301}", "e\u{301}"]);
        assert_eq!(fit("日本語", 5), "日本…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 0), "");
    }

    #[test]
    fn text_of_others_cannot_command_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mred\u{1b}[0m b"), "ared b");
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\y"), "xy");
        assert_eq!(clean_output("10%\r50%\rdone\r\nne\u{1b}[1mxt"), "done\nnext");
        assert_eq!(clean("first\rsecond\r\nthird\r"), "first\nsecond\nthird");
        assert_eq!(clean("a\tb\u{0}\u{8}\u{202e}c"), "a    bc");
        assert_eq!(clean("\u{9b}2Jx"), "x");
        assert!(matches!(clean("plain\ntext"), Cow::Borrowed(_)));
    }

    #[test]
    fn rows_that_are_left_out_are_told() {
        let some = |most| texts(&wrap_some(&Line::raw("one two three four"), 9, 2, most));
        assert_eq!(some(3), ["one two", "  three", "  four"]);
        assert_eq!(some(2), ["one two", "  three …"]);
        assert_eq!(texts(&wrap_some(&Line::raw("abcdefgh"), 4, 0, 1)), ["abc…"]);
    }

    #[test]
    fn a_line_that_does_not_fit_says_so() {
        let line = Line::from(vec![Span::raw("abc"), Span::raw("defg")]);
        assert_eq!(fit_line(line.clone(), 7).to_string(), "abcdefg");
        assert_eq!(fit_line(line.clone(), 5).to_string(), "abcd…");
        assert_eq!(fit_line(line, 3).to_string(), "ab…");
    }

    proptest! {
        #[test]
        fn wrapping_keeps_all_but_spaces_and_fits(text in "\\PC{0,60}", columns in 2_u16..30, hang in 0_u16..6) {
            let rows = wrapped(&text, columns, hang);
            let solid = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(solid(&rows.concat()), solid(&text));
            for row in rows {
                let cannot_be_cut = row.trim_start().graphemes(true).count() == 1;
                prop_assert!(width(&row) <= usize::from(columns) || cannot_be_cut, "{row:?}");
            }
        }

        #[test]
        fn clean_text_has_no_control_characters(text in ".{0,80}") {
            prop_assert!(clean(&text).chars().all(|c| c == '\n' || !is_unsafe(c)));
        }
    }
}
