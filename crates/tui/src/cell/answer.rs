//! What the model says.

use ratatui::text::{Line, Span};

use super::Paper;
use crate::markdown::{self, Stream};
use crate::text::prefixed;

/// An answer as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    stream: Stream,
}

impl Answer {
    /// Adds what was written.
    pub(crate) fn push(&mut self, text: &str) {
        self.stream.push(text);
    }

    /// Takes the whole text, which may be more than what was streamed. Gives up what it cannot follow.
    pub(crate) fn complete_with(&mut self, whole: &str) {
        if let Some(rest) = self.stream.rest_of(whole) {
            self.stream.push(rest);
        } else if !self.stream.has_begun() {
            self.stream = Stream::default();
            self.stream.push(whole);
        }
    }

    /// Whether a part of it was given out.
    pub(crate) fn has_begun(&self) -> bool {
        self.stream.has_begun()
    }

    /// Rows that are complete and were not given out yet.
    pub(crate) fn complete(&mut self, paper: &Paper<'_>) -> Vec<Line<'static>> {
        let begins = !self.stream.has_begun();
        let rows = self.stream.complete(inner(paper), paper.theme);
        marked(rows, begins, paper)
    }

    /// Rows of what is not complete.
    pub(crate) fn pending(&self, paper: &Paper<'_>) -> Vec<Line<'static>> {
        marked(self.stream.pending_below(inner(paper), paper.theme), !self.stream.has_begun(), paper)
    }

    /// The rest.
    pub(crate) fn finish(&mut self, paper: &Paper<'_>) -> Vec<Line<'static>> {
        let begins = !self.stream.has_begun();
        marked(self.stream.finish(inner(paper), paper.theme), begins, paper)
    }
}

/// A whole answer.
pub(crate) fn answer(text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    marked(markdown::render(text, inner(paper), paper.theme), true, paper)
}

/// A failure of the provider, which stands in the answer's place.
pub(crate) fn failure(text: &str, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let line = Line::styled(crate::text::clean(text).replace('\n', " "), paper.theme.error);
    let mut rows = vec![Line::default()];
    rows.extend(paper.marked("✗ ", paper.theme.error, &line));
    rows
}

fn inner(paper: &Paper<'_>) -> u16 {
    paper.columns.saturating_sub(2).max(8)
}

fn marked(rows: Vec<Line<'static>>, begins: bool, paper: &Paper<'_>) -> Vec<Line<'static>> {
    if rows.is_empty() {
        return rows;
    }
    let rest = Span::raw("  ");
    if !begins {
        return prefixed(rows, &rest, &rest);
    }
    let mut shown = vec![Line::default()];
    shown.extend(prefixed(rows, &Span::styled("● ", paper.theme.accent), &rest));
    shown
}
