//! The first lines of a session.

use ratatui::text::{Line, Span};

use super::Paper;
use crate::text::{clean, fit_line};

/// Facts for the welcome.
pub(crate) struct Facts<'a> {
    pub(crate) version: &'a str,
    pub(crate) model: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) confinement: &'a str,
}

/// Who is here, where, with which model, and how commands are held.
pub(crate) fn welcome(facts: &Facts<'_>, advice: &[String], paper: &Paper<'_>) -> Vec<Line<'static>> {
    let theme = paper.theme;
    let row = |name: &str, value: &str| {
        let spans =
            vec![Span::styled(format!("  {name:<9}"), theme.dim), Span::raw(clean(value).into_owned())];
        fit_line(Line::from(spans), usize::from(paper.columns))
    };
    let mut rows = vec![
        Line::from(vec![
            Span::styled("⎈ Tiller", theme.accent.patch(theme.strong)),
            Span::styled(format!(" {}", facts.version), theme.dim),
        ]),
        row("model", facts.model),
        row("in", facts.cwd),
        row("commands", facts.confinement),
    ];
    for line in advice {
        rows.push(Line::default());
        rows.extend(crate::text::paragraphs(line, paper.columns, theme.warning));
    }
    rows
}
