//! The help on keys, made from the table.

use ratatui::text::{Line, Span};

use super::{Context, Keymap, TABLE};
use crate::text::{prefixed, width, wrap};
use crate::theme::Theme;

/// Columns for keys before their help goes below them.
const WIDEST: usize = 34;

/// Every action that has a key, by the place where it has it, with its name in settings.
pub(crate) fn help_lines(keys: &Keymap, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
    let spelled = |action| {
        let chords: Vec<String> = keys.keys(action).iter().map(ToString::to_string).collect();
        chords.join(", ")
    };
    let rows: Vec<(Context, String, String)> = TABLE
        .iter()
        .map(|row| (row.context, spelled(row.action), format!("{} [{}]", row.help, row.name)))
        .filter(|(_, keys, _)| !keys.is_empty())
        .collect();
    let widest =
        rows.iter().map(|(_, keys, _)| width(keys)).filter(|wide| *wide <= WIDEST).max().unwrap_or(0);
    let mut lines = Vec::new();
    for context in Context::ALL {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(context.title(), theme.strong));
        for (_, keys, help) in rows.iter().filter(|(place, _, _)| *place == context) {
            lines.extend(entry(keys, help, widest, columns, theme));
        }
    }
    lines.into_iter().flat_map(|line| wrap(&line, columns, 0)).collect()
}

/// A name and what it means: beside each other, or below each other where there is no room.
pub(crate) fn entry(
    name: &str,
    help: &str,
    widest: usize,
    columns: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let indent = u16::try_from(widest + 4).unwrap_or(u16::MAX);
    let beside = width(name) <= widest && columns >= indent.saturating_mul(2);
    let indent = if beside { indent } else { 4.min(columns / 2) };
    let help = Line::styled(help.to_owned(), theme.dim);
    let rows = wrap(&help, columns.saturating_sub(indent), 0);
    let below = Span::raw(" ".repeat(indent.into()));
    let name = format!("  {name}");
    if beside {
        let gap = usize::from(indent).saturating_sub(width(&name));
        let lead = Span::styled(format!("{name}{}", " ".repeat(gap)), theme.accent);
        return prefixed(rows, &lead, &below);
    }
    let mut lines = wrap(&Line::styled(name, theme.accent), columns, 2);
    lines.extend(prefixed(rows, &below, &below));
    lines
}
