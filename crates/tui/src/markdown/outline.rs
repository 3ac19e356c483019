//! Where the blocks of a text begin, and what has to be said again where one is cut.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use super::options;

/// A block at the top level, as far as it has come.
pub(super) struct Block {
    /// The beginning of its first line.
    pub(super) start: usize,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Code {
        language: String,
    },
    Item {
        /// What its number is followed by, or its bullet: items with another one belong to another list.
        mark: char,
        /// Absent for bullets.
        number: Option<u64>,
    },
    /// Complete at the latest when a blank line follows.
    Plain,
    /// Complete when something else follows.
    Other,
}

/// The blocks at the top level; each item of a list counts as one.
pub(super) fn top_level(source: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut depth = 0_u32;
    let mut next_number = None;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        let kind = match &event {
            Event::Start(Tag::List(first)) if depth == 0 => {
                next_number = *first;
                None
            }
            Event::Start(Tag::Item) if depth == 1 => {
                let number = next_number;
                next_number = number.map(|number| number + 1);
                Some(Kind::Item { mark: mark(&source[range.start..]), number })
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) if depth == 0 => {
                Some(Kind::Code { language: language.to_string() })
            }
            Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Table(_)) if depth == 0 => {
                Some(Kind::Plain)
            }
            Event::Start(_) | Event::Rule if depth == 0 => Some(Kind::Other),
            _ => None,
        };
        blocks.extend(kind.map(|kind| Block { start: line_start(source, range.start), kind }));
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    blocks
}

fn mark(item: &str) -> char {
    item.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).chars().next().unwrap_or('-')
}

fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Whether the line before the one at a place is blank, apart from what marks a quote.
pub(super) fn is_after_blank(source: &str, at: usize) -> bool {
    let before = &source[..line_start(source, at)];
    let Some(before) = before.strip_suffix('\n') else { return false };
    let line = before.rsplit('\n').next().unwrap_or(before);
    line.chars().all(|c| c == '>' || c.is_whitespace())
}

/// What has to be read again before the rest of a block that was cut, so that the rest means what it meant.
#[derive(Clone, Debug, Default)]
pub(super) struct Lead {
    pub(super) source: String,
    /// Whether a blank row is due before the rest.
    pub(super) gap: bool,
    /// The lists that go on, from the outermost.
    lists: Vec<OpenList>,
}

/// A list that goes on behind a cut.
#[derive(Clone, Debug)]
struct OpenList {
    mark: char,
    /// The number of its first item there; absent for bullets.
    number: Option<u64>,
}

impl Lead {
    /// With which number a list of the source that this leads in goes on: `nth` of all its lists, beginning at `start`.
    pub(super) fn number(&self, source: &str, start: usize, nth: usize) -> Option<u64> {
        let list = self.lists.get(nth)?;
        // With anything in between it is another list.
        let between = source.get(self.source.len()..start).unwrap_or_default();
        let goes_on = between.chars().all(|c| c == '>' || c.is_whitespace());
        list.number.filter(|_| goes_on && list.mark == mark(&source[start..]))
    }
}

/// Where a block that has become too long is cut.
pub(super) struct Cut {
    pub(super) at: usize,
    pub(super) lead: Lead,
}

/// A part of a block that has parts or lines of its own.
struct Part {
    kind: PartKind,
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Item,
    Quote,
    Fence,
    Table,
    /// Any other that has no parts.
    Leaf,
}

impl PartKind {
    fn is_container(self) -> bool {
        matches!(self, Self::Item | Self::Quote)
    }
}

/// Cuts a block between two places: before its last part or between two lines if that is possible. It may have been cut
/// before.
pub(super) fn cut(source: &str, from: usize, to: usize, before: Option<&Lead>) -> Cut {
    let parts = parts(source);
    let half = from + (to - from) / 2;
    let part_starts = parts.iter().filter(|part| !part.kind.is_container());
    let before_part = part_starts
        .map(|part| line_start(source, part.start))
        .filter(|start| (half..to).contains(start))
        .max();
    let line_end = source[from..to].rfind('\n').map(|end| from + end + 1);
    let in_line = || word_start(source, from, to).unwrap_or(to);
    let at = before_part.or(line_end).unwrap_or_else(in_line);
    let lists = open_lists(source, at, before);
    Cut { lead: Lead { lists, ..lead(source, at, &parts) }, at }
}

/// The last word before a place with which no block can begin.
fn word_start(source: &str, from: usize, to: usize) -> Option<usize> {
    let spaces = source[from..to].rmatch_indices(' ').map(|(space, _)| from + space + 1);
    let begins_word = |at: &usize| source[*at..].starts_with(char::is_alphabetic);
    spaces.clone().find(begins_word).or_else(|| spaces.clone().next())
}

fn parts(source: &str) -> Vec<Part> {
    let part = |(event, range): (Event<'_>, std::ops::Range<usize>)| {
        let kind = match event {
            Event::Start(Tag::Item) => PartKind::Item,
            Event::Start(Tag::BlockQuote(_)) => PartKind::Quote,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => PartKind::Fence,
            Event::Start(Tag::Table(_)) => PartKind::Table,
            Event::Start(
                Tag::Paragraph
                | Tag::Heading { .. }
                | Tag::HtmlBlock
                | Tag::CodeBlock(CodeBlockKind::Indented),
            ) => PartKind::Leaf,
            _ => return None,
        };
        Some(Part { kind, start: range.start, end: range.end })
    };
    Parser::new_ext(source, options()).into_offset_iter().filter_map(part).collect()
}

fn lead(source: &str, at: usize, parts: &[Part]) -> Lead {
    let mut lead = Lead { gap: is_after_blank(source, at), ..Lead::default() };
    let mut indent = String::new();
    for part in parts.iter().filter(|part| part.start < at && at < part.end) {
        let before = blanked(&source[line_start(source, part.start)..part.start]);
        match part.kind {
            PartKind::Item => {
                let mark = item_mark(&source[part.start..]);
                // Something has to stand there, or what follows a blank line would not belong to it.
                lead.source.push_str(&format!("{before}{mark}x\n{}\n", before.trim_end()));
                indent = format!("{before}{}", " ".repeat(mark.len()));
            }
            PartKind::Quote => indent = format!("{before}> "),
            PartKind::Fence | PartKind::Table => {
                let own = source[part.start..].split_inclusive('\n');
                let head: String = own.take(if part.kind == PartKind::Table { 2 } else { 1 }).collect();
                lead.source.push_str(&format!("{before}{head}"));
                lead.gap = false;
            }
            PartKind::Leaf => lead.gap = false,
        }
    }
    let is_in_line = !source[..at].ends_with('\n');
    if is_in_line {
        lead.source.push_str(&indent);
        lead.gap = false;
    }
    lead
}

/// The lists that a place is in. What their items are called in the source says little: all may be called `1.`.
fn open_lists(source: &str, at: usize, before: Option<&Lead>) -> Vec<OpenList> {
    let mut open: Vec<OpenList> = Vec::new();
    // Of each list around, whether it goes on.
    let mut around = Vec::new();
    let mut begun = 0;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::List(first)) => {
                let goes_on = range.start < at && at < range.end;
                if goes_on {
                    let known = before.and_then(|lead| lead.number(source, range.start, begun));
                    let number = first.map(|first| known.unwrap_or(first));
                    open.push(OpenList { mark: mark(&source[range.start..]), number });
                }
                around.push(goes_on);
                begun += 1;
            }
            Event::End(TagEnd::List(_)) => _ = around.pop(),
            Event::Start(Tag::Item) if range.end <= at && around.last() == Some(&true) => {
                if let Some(OpenList { number: Some(number), .. }) = open.last_mut() {
                    *number += 1;
                }
            }
            _ => {}
        }
    }
    open
}

/// What stands before a part in its line, without the marks of items that begin there: those are read before.
fn blanked(before: &str) -> String {
    before.chars().map(|c| if c == '>' { '>' } else { ' ' }).collect()
}

/// The mark of an item and the blanks between it and what it says.
fn item_mark(item: &str) -> String {
    let digits = item.len() - item.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = item.get(..=digits).unwrap_or("-");
    let blanks = item[mark.len()..].chars().take_while(|c| *c == ' ').count();
    let is_text = item[mark.len() + blanks..].starts_with(|c: char| c != '\n');
    let blanks = if is_text && (1..=4).contains(&blanks) { blanks } else { 1 };
    format!("{mark}{}", " ".repeat(blanks))
}
