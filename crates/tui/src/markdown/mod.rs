//! Markdown as rows of a terminal.

mod block;
mod highlight;
mod inline;
mod outline;
mod stream;
mod table;

use std::borrow::Cow;

use pulldown_cmark::{Event, Options, Parser};
use ratatui::text::Line;

use crate::theme::Theme;
use block::Writer;
pub(crate) use highlight::Highlighter;
use outline::Lead;
pub(crate) use stream::Stream;

/// Columns between two tab stops, as Markdown has it.
const TAB_STOP: usize = 4;

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A whole text.
#[must_use]
pub fn render(text: &str, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    render_part(&cleaned(text), None, None, columns, theme)
}

/// A text without what could command the terminal. Tabs become as many blanks as they mean to Markdown, so that code
/// stays code and items keep what belongs to them.
fn cleaned(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return crate::text::clean(text);
    }
    let mut expanded = String::with_capacity(text.len() * 2);
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' => {
                let blanks = TAB_STOP - column % TAB_STOP;
                expanded.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
                continue;
            }
            '\n' => column = 0,
            _ => column += 1,
        }
        expanded.push(c);
    }
    Cow::Owned(crate::text::clean(&expanded).into_owned())
}

/// A part of a clean text. What has to be read before it gives no rows; the number is that of its first item.
fn render_part(
    source: &str,
    lead: Option<&Lead>,
    number: Option<u64>,
    columns: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut writer = Writer::reading(source, lead, number, columns, theme);
    Parser::new_ext(source, options())
        .into_offset_iter()
        .for_each(|(event, range)| writer.event(event, &range));
    writer.finish()
}

/// Whether a text has entities that stand for characters which are left out when it is rendered.
pub(crate) fn has_hidden_entities(text: &str) -> bool {
    let hides = |event: Event<'_>| matches!(&event, Event::Text(text) if text.split('\n').any(crate::text::hides_something));
    Parser::new_ext(text, options()).any(hides)
}

#[cfg(test)]
mod tests;
