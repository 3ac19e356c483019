//! Blocks: paragraphs, headings, lists, quotes, code, tables.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Highlighter;
use super::inline::Inline;
use super::outline::{Lead, is_after_blank};
use super::table::Table;
use crate::text::{line_width, wrap};
use crate::theme::Theme;

/// What stands before the rows of a list item or a quote.
struct Margin {
    /// Before the next row only.
    first: Option<Span<'static>>,
    /// Before all others.
    rest: Span<'static>,
    /// Nothing was written behind it yet.
    is_fresh: bool,
}

impl Margin {
    fn before_row(&mut self) -> Span<'static> {
        self.is_fresh = false;
        self.first.take().unwrap_or_else(|| self.rest.clone())
    }
}

/// Code as it comes in.
struct Code {
    highlighter: Highlighter,
    text: String,
}

/// Writes the events of a parser as rows.
pub(super) struct Writer<'a> {
    columns: u16,
    theme: &'a Theme,
    source: &'a str,
    /// What is read first, for its meaning only.
    lead: Option<&'a Lead>,
    /// What is written now was written before.
    is_muted: bool,
    /// Whether the first row goes on with something, and whether a gap is due then.
    goes_on: Option<bool>,
    /// The number of the first item, if the list began before.
    number: Option<u64>,
    rows: Vec<Line<'static>>,
    margins: Vec<Margin>,
    /// The next number of each list around, or none for lists with bullets.
    lists: Vec<Option<u64>>,
    /// How many lists have begun so far.
    begun_lists: usize,
    inline: Inline,
    heading: Option<HeadingLevel>,
    code: Option<Code>,
    table: Option<Table>,
    /// A blank row is due before the next block.
    gap_due: bool,
    /// The first item of a list is next.
    begins_list: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(columns: u16, theme: &'a Theme) -> Self {
        Self::reading("", None, None, columns, theme)
    }

    /// A writer of a source. What leads it in is only read.
    pub(super) fn reading(
        source: &'a str,
        lead: Option<&'a Lead>,
        number: Option<u64>,
        columns: u16,
        theme: &'a Theme,
    ) -> Self {
        Self {
            columns,
            theme,
            source,
            lead,
            is_muted: false,
            goes_on: lead.map(|lead| lead.gap),
            number,
            rows: Vec::new(),
            margins: Vec::new(),
            lists: Vec::new(),
            begun_lists: 0,
            inline: Inline::default(),
            heading: None,
            code: None,
            table: None,
            gap_due: false,
            begins_list: false,
        }
    }

    pub(super) fn event(&mut self, event: Event<'_>, range: &Range<usize>) {
        let read_again = self.lead.map_or(0, |lead| lead.source.len());
        self.is_muted = match event {
            Event::Start(_) => range.start < read_again,
            _ => range.end <= read_again,
        };
        self.keep_gap(&event, range.start);
        if let (Some(code), Event::Text(text)) = (&mut self.code, &event) {
            code.text.push_str(text);
            return;
        }
        if self.inline.event(&event, self.theme) {
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag, range.start),
            Event::End(tag) => self.end(tag),
            Event::Rule => self.rule(),
            Event::Html(html) => {
                self.block(&[Line::styled(html.trim_end().to_owned(), self.theme.dim)], 0);
                self.gap_due = false;
            }
            _ => {}
        }
    }

    /// What belongs to an item is as far apart as it was written: whether a list is loose is known at its end only.
    fn keep_gap(&mut self, event: &Event<'_>, start: usize) {
        // The gap before a list is that before its first item.
        let begins_list =
            std::mem::replace(&mut self.begins_list, matches!(event, Event::Start(Tag::List(_))));
        let is_inside = begins_list || self.code.is_some() || self.table.is_some() || !self.inline.is_empty();
        if !self.lists.is_empty() && !is_inside && !matches!(event, Event::End(_)) {
            self.gap_due = is_after_blank(self.source, start);
        }
    }

    pub(super) fn finish(mut self) -> Vec<Line<'static>> {
        self.flush();
        self.rows
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        // Text of an item needs no paragraph around it.
        if !matches!(tag, Tag::TableHead | Tag::TableRow | Tag::TableCell) {
            self.flush();
        }
        match tag {
            Tag::Heading { level, .. } => self.heading = Some(level),
            Tag::CodeBlock(kind) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => language.as_ref(),
                    CodeBlockKind::Indented => "",
                };
                let highlighter = Highlighter::of_language(language, self.theme);
                self.code = Some(Code { highlighter, text: String::new() });
            }
            Tag::List(first) => self.list(first, at),
            Tag::Item => self.item(),
            Tag::BlockQuote(_) => {
                let bar = Span::styled("│ ", self.theme.dim);
                self.space();
                self.margins.push(Margin { first: None, rest: bar, is_fresh: true });
            }
            Tag::Table(alignments) => self.table = Some(Table::new(alignments)),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.flush();
                self.gap_due = true;
            }
            TagEnd::Heading(_) => {
                self.flush();
                self.heading = None;
                self.gap_due = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::HtmlBlock => self.gap_due = true,
            TagEnd::Item => {
                self.flush();
                self.end_item();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap_due = self.lists.is_empty();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.margins.pop();
                self.gap_due = true;
            }
            TagEnd::TableCell => {
                let cell = self.inline.take();
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::TableRow | TagEnd::TableHead => {
                let is_muted = self.is_muted;
                if let Some(table) = &mut self.table {
                    table.end_row();
                    table.hide_head(is_muted);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let rows = table.rows(self.room(), self.theme);
                    self.block(&rows, 2);
                }
            }
            _ => {}
        }
    }

    /// A list begins, or goes on where it was cut.
    fn list(&mut self, first: Option<u64>, at: usize) {
        let cut = self.lead.and_then(|lead| lead.number(self.source, at, self.begun_lists));
        self.begun_lists += 1;
        self.lists.push(first.map(|first| self.number.take().or(cut).unwrap_or(first)));
    }

    fn item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let rest = Span::raw(" ".repeat(crate::text::width(&mark)));
        let first = Some(Span::styled(mark, self.theme.dim));
        self.space();
        self.margins.push(Margin { first, rest, is_fresh: true });
    }

    fn end_item(&mut self) {
        let is_empty = self.margins.last().is_some_and(|margin| margin.first.is_some());
        if is_empty {
            self.put(&Line::default(), 0);
        }
        self.margins.pop();
        self.gap_due = false;
    }

    fn end_code(&mut self) {
        let Some(mut code) = self.code.take() else { return };
        let lines: Vec<_> = code.text.lines().map(|line| code.highlighter.line(line, self.theme)).collect();
        self.code_rows(&lines);
    }

    pub(super) fn code_rows(&mut self, lines: &[Line<'static>]) {
        self.margins.push(Margin { first: None, rest: Span::raw("  "), is_fresh: false });
        let hang = 2;
        self.block(lines, hang);
        self.margins.pop();
    }

    fn rule(&mut self) {
        let rule = "─".repeat(usize::from(self.room().min(40)));
        self.block(&[Line::styled(rule, self.theme.dim)], 0);
    }

    /// Columns between the margins and the edge.
    fn room(&self) -> u16 {
        let margins: usize = self.margins.iter().map(|margin| crate::text::width(&margin.rest.content)).sum();
        self.columns.saturating_sub(u16::try_from(margins).unwrap_or(u16::MAX)).max(8)
    }

    /// Writes the text that has come in as a block.
    fn flush(&mut self) {
        let lines = self.inline.take();
        if lines.is_empty() {
            return;
        }
        let style = match self.heading {
            Some(HeadingLevel::H1) => self.theme.strong.patch(self.theme.accent),
            Some(_) => self.theme.strong,
            None => Style::new(),
        };
        self.space();
        for line in lines {
            let styled = Line::from(line.spans).style(style);
            self.put(&styled, 0);
        }
    }

    /// A block of lines that is followed by a gap.
    fn block(&mut self, lines: &[Line<'static>], hang: u16) {
        self.flush();
        if !lines.is_empty() {
            self.space();
        }
        lines.iter().for_each(|line| self.put(line, hang));
        self.gap_due = true;
    }

    fn space(&mut self) {
        let is_due = std::mem::take(&mut self.gap_due);
        if self.is_muted {
            return;
        }
        let is_due = match self.goes_on.take() {
            Some(is_due) => is_due,
            None => is_due && !self.rows.is_empty() && !self.margins.iter().any(|margin| margin.is_fresh),
        };
        if is_due {
            let margin = self.margins.iter().map(|margin| margin.rest.clone());
            let row = Line::from(margin.collect::<Vec<_>>());
            let is_blank = row.to_string().trim().is_empty();
            self.rows.push(if is_blank { Line::default() } else { row });
        }
    }

    fn put(&mut self, line: &Line<'_>, hang: u16) {
        for row in wrap(line, self.room(), hang) {
            let mut spans: Vec<Span<'static>> = self.margins.iter_mut().map(Margin::before_row).collect();
            debug_assert!(line_width(&row) <= usize::from(self.room()).max(2));
            spans.extend(row.spans);
            if !self.is_muted {
                self.rows.push(Line::from(spans));
            }
        }
    }
}
