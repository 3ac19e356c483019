//! The first lines of a session.

use ratatui::text::{Line, Span};

use super::Paper;
use crate::text::{clean, wrap};

/// The column in which facts begin.
const VALUES_BEGIN: u16 = 11;
/// In narrower terminals they go on below their name.
const NARROW: u16 = 30;

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
        let hang = if paper.columns < NARROW { 4 } else { VALUES_BEGIN };
        wrap(&Line::from(spans), paper.columns, hang)
    };
    let mut rows = vec![Line::from(vec![
        Span::styled("⎈ Tiller", theme.accent.patch(theme.strong)),
        Span::styled(format!(" {}", facts.version), theme.dim),
    ])];
    rows.extend(row("model", facts.model));
    rows.extend(row("in", facts.cwd));
    rows.extend(row("commands", facts.confinement));
    for line in advice {
        rows.push(Line::default());
        rows.extend(crate::text::paragraphs(line, paper.columns, theme.warning));
    }
    rows
}
