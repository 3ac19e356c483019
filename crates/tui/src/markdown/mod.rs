//! Markdown as rows of a terminal.

mod block;
mod highlight;
mod inline;
mod stream;
mod table;

use pulldown_cmark::{Event, Options, Parser};
use ratatui::text::Line;

use crate::theme::Theme;
use block::Writer;
pub(crate) use highlight::Highlighter;
pub(crate) use stream::Stream;

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A whole text.
#[must_use]
pub fn render(text: &str, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let text = crate::text::clean(text);
    let mut writer = Writer::new(columns, theme);
    Parser::new_ext(&text, options()).for_each(|event| writer.event(event));
    writer.finish()
}

/// Whether a text has entities that stand for characters which are left out when it is rendered.
pub(crate) fn has_hidden_entities(text: &str) -> bool {
    let hides = |event: Event<'_>| matches!(&event, Event::Text(text) if text.split('\n').any(crate::text::hides_something));
    Parser::new_ext(text, options()).any(hides)
}

#[cfg(test)]
mod tests;
