//! Text within a block: emphasis, code, links.

use pulldown_cmark::{Event, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::text::clean;
use crate::theme::Theme;

/// The text of a block as it comes in.
#[derive(Debug, Default)]
pub(super) struct Inline {
    lines: Vec<Line<'static>>,
    styles: Vec<Style>,
    links: Vec<(String, usize)>,
}

/// Models break lines in tables this way, because there is no other.
fn is_break(html: &str) -> bool {
    matches!(html.to_ascii_lowercase().replace([' ', '/'], "").as_str(), "<br>")
}

impl Inline {
    /// Takes an event if it belongs to text.
    pub(super) fn event(&mut self, event: &Event<'_>, theme: &Theme) -> bool {
        match event {
            Event::Text(text) => self.push(text, self.style()),
            Event::Code(code) => self.push(code, theme.code),
            Event::InlineHtml(html) if is_break(html) => self.lines.push(Line::default()),
            Event::InlineHtml(html) => self.push(html, self.style()),
            Event::InlineMath(math) | Event::DisplayMath(math) => self.push(math, theme.code),
            Event::SoftBreak => self.push(" ", self.style()),
            Event::HardBreak => self.lines.push(Line::default()),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]"), theme.dim),
            Event::TaskListMarker(done) => self.push(if *done { "☑ " } else { "☐ " }, self.style()),
            Event::Start(tag) => return self.start(tag, theme),
            Event::End(tag) => return self.end(*tag, theme),
            _ => return false,
        }
        true
    }

    fn start(&mut self, tag: &Tag<'_>, theme: &Theme) -> bool {
        let style = match tag {
            Tag::Emphasis => self.style().add_modifier(Modifier::ITALIC),
            Tag::Strong => self.style().add_modifier(Modifier::BOLD),
            Tag::Strikethrough => self.style().add_modifier(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.length()));
                theme.link
            }
            Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.length()));
                self.push("image: ", theme.dim);
                theme.link
            }
            _ => return false,
        };
        self.styles.push(style);
        true
    }

    fn end(&mut self, tag: TagEnd, theme: &Theme) -> bool {
        match tag {
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {}
            TagEnd::Link | TagEnd::Image => self.name_target(theme),
            _ => return false,
        }
        self.styles.pop();
        true
    }

    /// Where a link leads is written behind it, unless that is its text.
    fn name_target(&mut self, theme: &Theme) {
        let Some((target, begun)) = self.links.pop() else { return };
        let text: String = self.lines.iter().map(ToString::to_string).collect();
        let own = text.get(begun..).unwrap_or_default();
        let is_text = own == target || target.strip_prefix("mailto:") == Some(own);
        if !is_text && !target.is_empty() {
            self.push(&format!(" ({target})"), theme.dim);
        }
    }

    fn length(&self) -> usize {
        self.lines.iter().flat_map(|line| &line.spans).map(|span| span.content.len()).sum()
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn push(&mut self, text: &str, style: Style) {
        if self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        if let Some(line) = self.lines.last_mut() {
            // The source was cleaned, but entities stand for any character.
            line.spans.push(Span::styled(clean(text).replace('\n', " "), style));
        }
    }

    /// Whether nothing came in.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// What came in, if anything did.
    pub(super) fn take(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.lines)
    }
}
