//! Markdown that is still being written: what is complete is given out once, the rest is shown as far as it goes.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use ratatui::text::Line;

use super::block::Writer;
use super::{Highlighter, options, render};
use crate::text::clean;
use crate::theme::Theme;

/// A block that is longer is given out although it may go on: it could not be drawn anew for each frame.
const LONGEST_PENDING: usize = 8 * 1024;
/// What was given out is forgotten when it has become this long.
const FORGOTTEN: usize = 32 * 1024;

/// A text as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// Its end; what is before it was given out.
    text: String,
    /// Bytes before that end.
    forgotten: usize,
    /// Bytes of the end that were given out.
    given: usize,
    /// What was given out last is the beginning of a block that goes on.
    in_block: bool,
    /// The code block in which what was given out ends.
    fence: Option<Fence>,
    /// What was given out last was a part of a list, and no gap is due before its next item.
    in_list: bool,
}

/// An open code block.
#[derive(Clone, Debug)]
struct Fence {
    highlighter: Highlighter,
    /// What ends it.
    mark: String,
}

/// A block at the top level, as far as it has come.
struct Block {
    start: usize,
    kind: Kind,
}

enum Kind {
    Code {
        language: String,
    },
    Item,
    /// Complete at the latest when a blank line follows.
    Plain,
    /// Complete when something else follows.
    Other,
}

impl Stream {
    /// Adds what was written.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// What a whole text has beyond what was written; nothing if it is another text.
    pub(crate) fn rest_of<'a>(&self, whole: &'a str) -> Option<&'a str> {
        whole.get(self.forgotten..)?.strip_prefix(self.text.as_str())
    }

    /// Lets go of what nobody asks for again.
    fn forget(&mut self) {
        if self.given > FORGOTTEN {
            self.text.drain(..self.given);
            self.forgotten += self.given;
            self.given = 0;
        }
    }

    /// Rows of blocks that are complete and were not given out yet.
    pub(crate) fn complete(&mut self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        loop {
            let before = (self.given, self.fence.is_some());
            match self.fence.take() {
                Some(fence) => self.code_lines(fence, columns, theme, &mut rows),
                None => self.blocks(columns, theme, &mut rows),
            }
            if before == (self.given, self.fence.is_some()) && !self.cut(columns, theme, &mut rows) {
                self.forget();
                return rows;
            }
        }
    }

    /// Rows of what is not complete.
    pub(crate) fn pending(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let rest = &self.text[self.given..];
        match &self.fence {
            Some(fence) => {
                let mut highlighter = fence.highlighter.clone();
                let lines: Vec<_> = rest.lines().map(|line| highlighter.line(line, theme)).collect();
                code(&lines, columns, theme)
            }
            None => render(rest, columns, theme),
        }
    }

    /// The same below what was given out, with the gap that belongs between.
    pub(crate) fn pending_below(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let pending = self.pending(columns, theme);
        let mut rows = Vec::new();
        if !pending.is_empty() {
            self.gap(&mut rows, !is_item(&self.text[self.given..]));
        }
        rows.extend(pending);
        rows
    }

    /// Nothing more will be written: the rest.
    pub(crate) fn finish(&mut self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        let mut rows = self.complete(columns, theme);
        let pending = self.pending(columns, theme);
        let rest = &self.text[self.given..];
        if !pending.is_empty() {
            self.gap(&mut rows, !is_item(rest));
        }
        rows.extend(pending);
        self.given = self.text.len();
        self.fence = None;
        rows
    }

    /// Whether anything was given out.
    pub(crate) fn has_begun(&self) -> bool {
        self.forgotten + self.given > 0
    }

    fn blocks(&mut self, columns: u16, theme: &Theme, rows: &mut Vec<Line<'static>>) {
        // A line that is not complete may still turn out to belong to the block before.
        let rest = &self.text[self.given..];
        let rest = &rest[..rest.rfind('\n').map_or(0, |end| end + 1)];
        let blocks = top_level(rest);
        let Some((last, before)) = blocks.split_last() else { return };
        let is_closed = matches!(last.kind, Kind::Plain) && rest.ends_with("\n\n");
        let complete = if is_closed { &blocks } else { before };
        let mut given = 0;
        for (at, block) in complete.iter().enumerate() {
            let end = blocks.get(at + 1).map_or(rest.len(), |next| next.start);
            let is_item = matches!(block.kind, Kind::Item);
            let source = &rest[block.start..end];
            self.gap_before(rows, is_item);
            self.in_block = false;
            rows.extend(render(source, columns, theme));
            // Loose items keep the gap that their source has.
            self.in_list = is_item && !source.ends_with("\n\n");
            given = end;
        }
        if let Kind::Code { language } = &last.kind
            && let Some((line, _)) = rest[last.start..].split_once('\n')
        {
            let fence = line.trim_start();
            let mark: String = fence.chars().take_while(|c| fence.starts_with(*c)).collect();
            let highlighter = Highlighter::of_language(language, theme);
            given = last.start + line.len() + 1;
            self.gap_before(rows, false);
            self.in_block = false;
            self.in_list = false;
            self.fence = Some(Fence { highlighter, mark });
        }
        self.given += given;
    }

    /// Gives out the beginning of a block that has become too long; says whether it was.
    fn cut(&mut self, columns: u16, theme: &Theme, rows: &mut Vec<Line<'static>>) -> bool {
        let rest = &self.text[self.given..];
        if rest.len() <= LONGEST_PENDING {
            return false;
        }
        let beginning = rest.floor_char_boundary(LONGEST_PENDING);
        let end = rest[..beginning].rfind(['\n', ' ']).map_or(beginning, |end| end + 1);
        match &mut self.fence {
            Some(fence) => {
                rows.extend(code(&[fence.highlighter.line(rest[..end].trim_end(), theme)], columns, theme));
            }
            None => {
                self.gap(rows, !is_item(rest));
                rows.extend(render(&rest[..end], columns, theme));
            }
        }
        self.given += end;
        self.in_block = true;
        true
    }

    fn code_lines(&mut self, mut fence: Fence, columns: u16, theme: &Theme, rows: &mut Vec<Line<'static>>) {
        let rest = &self.text[self.given..];
        let mut lines = Vec::new();
        let mut given = 0;
        let mut closed = false;
        for line in rest.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            given += line.len();
            if line.trim().starts_with(&fence.mark) && line.trim().trim_start_matches(&fence.mark).is_empty()
            {
                closed = true;
                break;
            }
            lines.push(fence.highlighter.line(line.trim_end_matches(['\n', '\r']), theme));
        }
        rows.extend(code(&lines, columns, theme));
        self.given += given;
        self.fence = (!closed).then_some(fence);
    }

    fn gap_before(&self, rows: &mut Vec<Line<'static>>, is_item: bool) {
        self.gap(rows, !is_item);
    }

    /// A blank row between blocks, unless an item follows an item.
    fn gap(&self, rows: &mut Vec<Line<'static>>, leaves_list: bool) {
        let begun = self.has_begun() || !rows.is_empty();
        if begun && !self.in_block && self.fence.is_none() && (leaves_list || !self.in_list) {
            rows.push(Line::default());
        }
    }
}

fn is_item(source: &str) -> bool {
    top_level(source).first().is_some_and(|block| matches!(block.kind, Kind::Item))
}

fn code(lines: &[Line<'static>], columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut writer = Writer::new(columns, theme);
    writer.code_rows(lines);
    writer.finish()
}

/// The blocks at the top level; each item of a list counts as one, and so does a list's last item.
fn top_level(source: &str) -> Vec<Block> {
    let text = clean(source);
    // Positions are only of use if cleaning has left them alone.
    if text.len() != source.len() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    let mut depth = 0_u32;
    let mut list_depth = None;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let is_top = depth == 0;
                let is_item = list_depth.is_some_and(|list| depth == list + 1);
                match tag {
                    Tag::List(_) if is_top => list_depth = Some(depth),
                    Tag::Item if is_item => blocks.push(Block { start: range.start, kind: Kind::Item }),
                    Tag::CodeBlock(CodeBlockKind::Fenced(language)) if is_top => {
                        let kind = Kind::Code { language: language.to_string() };
                        blocks.push(Block { start: range.start, kind });
                    }
                    Tag::Paragraph | Tag::Heading { .. } | Tag::Table(_) if is_top => {
                        blocks.push(Block { start: range.start, kind: Kind::Plain });
                    }
                    _ if is_top => blocks.push(Block { start: range.start, kind: Kind::Other }),
                    _ => {}
                }
                depth += 1;
            }
            Event::End(_) => {
                depth -= 1;
                if depth == 0 {
                    list_depth = None;
                }
            }
            Event::Rule if depth == 0 => blocks.push(Block { start: range.start, kind: Kind::Other }),
            _ => {}
        }
    }
    blocks
}
