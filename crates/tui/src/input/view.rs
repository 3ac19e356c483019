//! What the input looks like.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::editor::Editor;
use super::layout::Piece;
use super::{Input, Purpose};
use crate::text::{fit, fit_line, width};
use crate::theme::Theme;
use crate::view::View;

/// Columns of the sign before the text.
const MARGIN: u16 = 2;
/// A terminal narrower than this gets no sign.
const NARROW: u16 = 8;

fn margin(columns: u16) -> u16 {
    if columns < NARROW { 0 } else { MARGIN }
}

/// The columns that are left for the text.
pub(super) fn text_columns(columns: u16) -> u16 {
    columns.saturating_sub(margin(columns)).max(1)
}

/// A text field: its rows around the cursor, and where the cursor is.
pub(crate) fn draw(editor: &Editor, columns: u16, height: u16, style: Style, theme: &Theme) -> View {
    let layout = editor.layout(columns);
    let (row, column) = layout.position(editor.buffer.cursor());
    let height = usize::from(height.max(1));
    let first = (row + 1).saturating_sub(height);
    let shown = layout.rows.iter().skip(first).take(height);
    let lines = shown.map(|row| line(&row.pieces, style, theme)).collect();
    let at = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
    // Wide signs in a very narrow field.
    let column = at(column).min(columns.saturating_sub(1));
    View { lines, cursor: Some((column, at(row - first))) }
}

fn line(pieces: &[Piece], style: Style, theme: &Theme) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for piece in pieces {
        let style = if piece.label { theme.accent } else { style };
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(&piece.shown),
            _ => spans.push(Span::styled(piece.shown.clone(), style)),
        }
    }
    Line::from(spans)
}

impl Input {
    /// The rows around the cursor. `hint` is shown as long as nothing is written.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, hint: &str, theme: &Theme) -> View {
        if let Some(search) = &self.search {
            return searching(search.query(), columns, theme);
        }
        let (sign, sign_style, style) = match self.purpose {
            Purpose::Prompt => ("› ", theme.accent, theme.text),
            Purpose::Shell => ("! ", theme.warning, theme.code),
            Purpose::Note => ("# ", theme.user, theme.user),
        };
        let mut view = draw(&self.editor, text_columns(columns), height, style, theme);
        if self.is_empty()
            && let Some(line) = view.lines.first_mut()
        {
            let room = usize::from(text_columns(columns)).saturating_sub(1);
            *line = Line::styled(fit(hint, room), theme.dim);
        }
        indent(&mut view, margin(columns), sign, sign_style);
        view
    }
}

/// Puts a sign before the first row and moves the others below it.
fn indent(view: &mut View, margin: u16, sign: &'static str, style: Style) {
    if margin == 0 {
        return;
    }
    for (number, line) in view.lines.iter_mut().enumerate() {
        let lead = if number == 0 { Span::styled(sign, style) } else { Span::raw("  ") };
        // The style of the whole line must not reach the sign.
        let own = std::mem::take(&mut line.style);
        line.spans.iter_mut().for_each(|span| span.style = own.patch(span.style));
        line.spans.insert(0, lead);
    }
    view.cursor = view.cursor.map(|(column, row)| (column + margin, row));
}

fn searching(query: &str, columns: u16, theme: &Theme) -> View {
    let lead = "search: ";
    let room = usize::from(columns).saturating_sub(width(lead) + 1);
    // The end of a long query is where one types.
    let mut shown = query;
    while width(shown) > room {
        let mut letters = shown.chars();
        letters.next();
        shown = letters.as_str();
    }
    let line = Line::from(vec![Span::styled(lead, theme.accent), Span::styled(shown.to_owned(), theme.text)]);
    let column = (width(lead) + width(shown)).min(usize::from(columns).saturating_sub(1));
    let lines = vec![fit_line(line, columns.into())];
    View { lines, cursor: Some((u16::try_from(column).unwrap_or(u16::MAX), 0)) }
}
