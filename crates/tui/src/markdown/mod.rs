//! Markdown as rows of a terminal.

mod block;
mod highlight;
mod inline;
mod stream;
mod table;

use pulldown_cmark::{Options, Parser};
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

#[cfg(test)]
mod tests;
