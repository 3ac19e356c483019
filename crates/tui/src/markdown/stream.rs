//! Markdown that is still being written: what is complete is given out once, the rest is shown as far as it goes.

use ratatui::text::Line;

use super::block::Writer;
use super::outline::{Block, Kind, Lead, cut, is_after_blank, top_level};
use super::{Highlighter, cleaned, render_part};
use crate::theme::Theme;

/// A block that is longer is given out although it may go on: it could not be drawn anew for each frame.
const LONGEST_PENDING: usize = 8 * 1024;
/// What was written is known again as far back as this.
const KNOWN: usize = 32 * 1024;

/// A text as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// Whole lines that were not given out, cleaned.
    text: String,
    /// The line that is being written.
    line: String,
    /// Bytes that were written.
    written: usize,
    /// The last of them.
    known: String,
    /// Something of the text was given out.
    has_given: bool,
    /// There were rows in it.
    has_rows: bool,
    /// What was given out last is the beginning of a block that goes on.
    lead: Option<Lead>,
    /// The code block in which what was given out ends.
    fence: Option<Fence>,
    /// What was given out last was an item of this list.
    list: Option<List>,
}

/// An open code block.
#[derive(Clone, Debug)]
struct Fence {
    highlighter: Highlighter,
    /// What ends it.
    mark: String,
    /// Blanks before the mark, which do not belong to the code.
    indent: usize,
    /// A blank row is due before the first line.
    gap_due: bool,
}

impl Fence {
    /// The fence that a line opens.
    fn opened_by(line: &str, language: &str, theme: &Theme) -> Self {
        let fence = line.trim_start();
        let mark = fence.chars().take_while(|c| fence.starts_with(*c)).collect();
        let highlighter = Highlighter::of_language(language, theme);
        Self { highlighter, mark, indent: line.len() - fence.len(), gap_due: true }
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let mark = line.trim();
        let is_indented = line.len() - line.trim_start().len() > 3;
        !is_indented && mark.len() >= self.mark.len() && self.has_only_marks(mark)
    }

    fn has_only_marks(&self, text: &str) -> bool {
        text.chars().all(|c| self.mark.starts_with(c))
    }

    /// A line without the blanks that the fence has as well.
    fn content<'a>(&self, line: &'a str) -> &'a str {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        &line[blanks.min(self.indent)..]
    }
}

/// A list of which items were given out.
#[derive(Clone, Debug)]
struct List {
    mark: char,
    next: Option<u64>,
    /// Whether a blank line follows the last item.
    is_loose: bool,
}

/// How wide, in which colours.
#[derive(Clone, Copy)]
struct Sheet<'a> {
    columns: u16,
    theme: &'a Theme,
}

impl Stream {
    /// Adds what was written.
    pub(crate) fn push(&mut self, text: &str) {
        self.written += text.len();
        self.known.push_str(text);
        if self.known.len() > 2 * KNOWN {
            let far = self.known.floor_char_boundary(self.known.len() - KNOWN);
            self.known.drain(..far);
        }
        self.line.push_str(text);
        if let Some(end) = self.line.rfind('\n') {
            let rest = self.line.split_off(end + 1);
            self.text.push_str(&cleaned(&self.line));
            self.line = rest;
        }
        if self.line.len() > LONGEST_PENDING {
            self.text.push_str(&cleaned(&self.line));
            self.line.clear();
        }
    }

    /// What a whole text has beyond what was written; nothing if it is another text.
    pub(crate) fn rest_of<'a>(&self, whole: &'a str) -> Option<&'a str> {
        let (same, rest) = whole.split_at_checked(self.written)?;
        same.ends_with(&self.known).then_some(rest)
    }

    /// Rows of blocks that are complete and were not given out yet.
    pub(crate) fn complete(&mut self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        self.give_out(false, Sheet { columns, theme }, &mut rows);
        rows
    }

    /// Rows of what is not complete.
    pub(crate) fn pending(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let rest = format!("{}{}", self.text, cleaned(&self.line));
        let Some(fence) = &self.fence else {
            let source = self.source_of(&rest);
            let number = top_level(&source).first().and_then(|block| self.number(block));
            return render_part(&source, self.lead.as_ref(), number, columns, theme);
        };
        let mut highlighter = fence.highlighter.clone();
        // What may become the end of the code is not shown as a part of it.
        let code_lines = rest.lines().filter(|line| line.is_empty() || !fence.has_only_marks(line.trim()));
        let lines: Vec<_> = code_lines.map(|line| highlighter.line(fence.content(line), theme)).collect();
        code(&lines, Sheet { columns, theme })
    }

    /// The same below what was given out, with the gap that belongs between.
    pub(crate) fn pending_below(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let pending = self.pending(columns, theme);
        let is_apart = match &self.fence {
            Some(fence) => fence.gap_due && self.has_rows,
            None => {
                let source = self.source_of(&format!("{}{}", self.text, cleaned(&self.line)));
                self.lead.is_none() && top_level(&source).first().is_some_and(|block| self.is_apart(block))
            }
        };
        let gap = (is_apart && !pending.is_empty()).then(Line::default);
        gap.into_iter().chain(pending).collect()
    }

    /// Nothing more will be written: the rest.
    pub(crate) fn finish(&mut self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        self.text.push_str(&cleaned(&std::mem::take(&mut self.line)));
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let mut rows = Vec::new();
        self.give_out(true, Sheet { columns, theme }, &mut rows);
        self.text.clear();
        self.fence = None;
        rows
    }

    /// Whether anything was given out.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_given
    }

    fn give_out(&mut self, is_last: bool, sheet: Sheet<'_>, rows: &mut Vec<Line<'static>>) {
        loop {
            let before = (self.text.len(), self.fence.is_some());
            match self.fence.take() {
                Some(fence) => self.code_lines(fence, sheet, rows),
                None => self.blocks(is_last, sheet, rows),
            }
            let is_stuck = before == (self.text.len(), self.fence.is_some());
            if is_stuck && !self.cut(sheet, rows) {
                return;
            }
        }
    }

    /// What was not given out as it is read: after what has to be read again.
    fn source_of(&self, rest: &str) -> String {
        format!("{}{rest}", self.lead.as_ref().map_or("", |lead| lead.source.as_str()))
    }

    fn blocks(&mut self, is_last: bool, sheet: Sheet<'_>, rows: &mut Vec<Line<'static>>) {
        // A line that is not complete may still turn out to belong to the block before.
        let lines = &self.text[..self.text.rfind('\n').map_or(0, |end| end + 1)];
        let source = self.source_of(lines);
        let read_again = source.len() - lines.len();
        let blocks = top_level(&source);
        let Some((last, before)) = blocks.split_last() else { return };
        let opened = opened(last, &source, sheet.theme);
        let is_closed = is_last || (matches!(last.kind, Kind::Plain) && source.ends_with("\n\n"));
        let complete = if is_closed && opened.is_none() { &blocks } else { before };
        let mut given = read_again;
        for (at, block) in complete.iter().enumerate() {
            let end = blocks.get(at + 1).map_or(source.len(), |next| next.start);
            let begin = if at == 0 { 0 } else { block.start };
            self.put(block, &source[begin..end], sheet, rows);
            self.lead = None;
            self.list = self.list_after(block, is_after_blank(&source, end));
            given = end;
        }
        if let Some((fence, begin)) = opened {
            self.lead = None;
            self.list = None;
            self.fence = Some(fence);
            given = begin;
        }
        self.take(given - read_again);
    }

    /// Gives out a block, or a part of it.
    fn put(&mut self, block: &Block, source: &str, sheet: Sheet<'_>, rows: &mut Vec<Line<'static>>) {
        let lead = self.lead.as_ref();
        let own = render_part(source, lead, self.number(block), sheet.columns, sheet.theme);
        if own.is_empty() {
            return;
        }
        rows.extend((lead.is_none() && self.is_apart(block)).then(Line::default));
        rows.extend(own);
        self.has_rows = true;
    }

    /// Gives out the beginning of a block that has become too long; says whether it was.
    fn cut(&mut self, sheet: Sheet<'_>, rows: &mut Vec<Line<'static>>) -> bool {
        if self.text.len() <= LONGEST_PENDING {
            return false;
        }
        if let Some(mut fence) = self.fence.take() {
            let beginning = &self.text[..self.text.floor_char_boundary(LONGEST_PENDING)];
            let end = beginning.rfind(' ').map_or(beginning.len(), |space| space + 1);
            let line = fence.highlighter.line(fence.content(self.text[..end].trim_end()), sheet.theme);
            self.put_code(&mut fence, &[line], sheet, rows);
            self.fence = Some(fence);
            self.take(end);
            return true;
        }
        let source = self.source_of(&self.text);
        let read_again = source.len() - self.text.len();
        let to = source.floor_char_boundary(read_again + LONGEST_PENDING);
        let cut = cut(&source, read_again, to, self.lead.as_ref());
        if let Some(block) = top_level(&source).first() {
            self.put(block, &source[..cut.at], sheet, rows);
        }
        self.lead = Some(cut.lead);
        self.take(cut.at - read_again);
        true
    }

    fn code_lines(&mut self, mut fence: Fence, sheet: Sheet<'_>, rows: &mut Vec<Line<'static>>) {
        let mut lines = Vec::new();
        let mut given = 0;
        let mut is_closed = false;
        for line in self.text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            given += line.len();
            let line = line.trim_end_matches('\n');
            is_closed = fence.is_closed_by(line);
            if is_closed {
                break;
            }
            lines.push(fence.highlighter.line(fence.content(line), sheet.theme));
        }
        self.put_code(&mut fence, &lines, sheet, rows);
        self.take(given);
        self.fence = (!is_closed).then_some(fence);
    }

    fn put_code(
        &mut self,
        fence: &mut Fence,
        lines: &[Line<'static>],
        sheet: Sheet<'_>,
        rows: &mut Vec<Line<'static>>,
    ) {
        if lines.is_empty() {
            return;
        }
        rows.extend((std::mem::take(&mut fence.gap_due) && self.has_rows).then(Line::default));
        rows.extend(code(lines, sheet));
        self.has_rows = true;
    }

    /// Lets go of what was given out.
    fn take(&mut self, bytes: usize) {
        self.text.drain(..bytes);
        self.has_given |= bytes > 0;
    }

    /// Whether a blank row belongs before a block: always, but for items of one list as it was written.
    fn is_apart(&self, block: &Block) -> bool {
        let is_apart = match (&block.kind, &self.list) {
            (Kind::Item { mark, .. }, Some(list)) if list.mark == *mark => list.is_loose,
            _ => true,
        };
        self.has_rows && is_apart
    }

    /// The number of an item. The list may have begun long before.
    fn number(&self, block: &Block) -> Option<u64> {
        match (&block.kind, &self.list) {
            (Kind::Item { mark, .. }, Some(list)) if list.mark == *mark => list.next,
            (Kind::Item { number, .. }, _) => *number,
            _ => None,
        }
    }

    fn list_after(&self, block: &Block, is_loose: bool) -> Option<List> {
        let Kind::Item { mark, .. } = block.kind else { return None };
        Some(List { mark, next: self.number(block).map(|number| number + 1), is_loose })
    }
}

/// The code block in which a text ends, and where its first line begins.
fn opened(last: &Block, source: &str, theme: &Theme) -> Option<(Fence, usize)> {
    let Kind::Code { language } = &last.kind else { return None };
    let (line, _) = source[last.start..].split_once('\n')?;
    Some((Fence::opened_by(line, language, theme), last.start + line.len() + 1))
}

fn code(lines: &[Line<'static>], sheet: Sheet<'_>) -> Vec<Line<'static>> {
    let mut writer = Writer::new(sheet.columns, sheet.theme);
    writer.code_rows(lines);
    writer.finish()
}
