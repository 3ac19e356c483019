//! What the model says.

use std::collections::VecDeque;

use ratatui::text::{Line, Span};

use super::Paper;
use crate::markdown::Stream;
use crate::text::prefixed;

/// Bytes that are made into rows at once.
const SLICE: usize = 4 * 1024;
/// Bytes of a row, about.
const ROW: usize = 40;
/// Bytes of a row, at most, as far as most texts go.
const LONGEST_ROW: usize = 200;
/// What code begins and ends with.
const FENCE: &str = "```";

/// An answer as it is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// Apart, because an answer is moved about with smaller things.
    stream: Box<Stream>,
    /// What was written and not looked at yet, in pieces of no more than [`SLICE`].
    waiting: VecDeque<String>,
    /// Nothing is added any more.
    is_whole: bool,
    /// All of it was given out.
    is_over: bool,
    /// Rows of it were given out.
    is_marked: bool,
}

impl Answer {
    /// A whole answer.
    pub(crate) fn whole(text: &str) -> Self {
        let mut answer = Self { is_over: text.trim().is_empty(), ..Self::default() };
        answer.push(text);
        answer.end();
        answer
    }

    /// Adds what was written.
    pub(crate) fn push(&mut self, mut text: &str) {
        while !text.is_empty() {
            let room = match self.waiting.back() {
                Some(last) => SLICE.saturating_sub(last.len()),
                None => 0,
            };
            let end = text.floor_char_boundary(room);
            match self.waiting.back_mut() {
                Some(last) if end > 0 => last.push_str(&text[..end]),
                _ => self.waiting.push_back(String::new()),
            }
            text = &text[end..];
        }
    }

    /// Takes the whole text, which may be more than what was streamed. Gives up what it cannot follow.
    pub(crate) fn complete_with<'a>(&mut self, whole: &'a str) {
        let streamed = self.stream.rest_of(whole);
        let without = |rest: &'a str, piece: &String| rest.strip_prefix(piece.as_str());
        let rest = streamed.and_then(|rest| self.waiting.iter().try_fold(rest, without));
        if let Some(rest) = rest {
            self.push(rest);
        } else if !self.has_begun() {
            *self = Self::default();
            self.push(whole);
        }
    }

    /// Nothing more will be added.
    pub(crate) fn end(&mut self) {
        self.is_whole = true;
    }

    /// Drops what is far from the end, so far that no more than the rows that are wanted need be made. Says whether
    /// something was dropped.
    pub(crate) fn skip_to_end(&mut self, rows: usize) -> bool {
        let kept = (rows * LONGEST_ROW).div_ceil(SLICE);
        let Some(dropped) = self.waiting.len().checked_sub(kept).filter(|dropped| *dropped > 0) else {
            return false;
        };
        let dropped: String = self.waiting.drain(..dropped).collect();
        let fences = dropped.lines().filter(|line| line.starts_with(FENCE)).count();
        if fences % 2 == 1 {
            self.waiting.push_front(format!("{FENCE}\n"));
        }
        true
    }

    /// Whether a part of it was given out.
    pub(crate) fn has_begun(&self) -> bool {
        self.stream.has_begun()
    }

    /// Whether everything was given out.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// About how many rows can be given out.
    pub(crate) fn rows_about(&self) -> usize {
        self.waiting.iter().map(String::len).sum::<usize>() / ROW + usize::from(self.has_more())
    }

    /// Whether there is something that was not looked at yet.
    pub(crate) fn has_more(&self) -> bool {
        !self.waiting.is_empty() || (self.is_whole && !self.is_over)
    }

    /// Rows that are complete and were not given out yet: all of them, or a few more than `most`.
    pub(crate) fn complete(&mut self, most: usize, paper: &Paper<'_>) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        while rows.len() < most
            && let Some(text) = self.waiting.pop_front()
        {
            self.stream.push(&text);
            rows.extend(self.stream.complete(inner(paper), paper.theme));
        }
        if self.is_whole && self.waiting.is_empty() {
            rows.extend(self.stream.finish(inner(paper), paper.theme));
            self.is_over = true;
        }
        let begins = !self.is_marked;
        self.is_marked |= !rows.is_empty();
        marked(rows, begins, paper)
    }

    /// Rows of what is not complete.
    pub(crate) fn pending(&self, paper: &Paper<'_>) -> Vec<Line<'static>> {
        marked(self.stream.pending_below(inner(paper), paper.theme), !self.is_marked, paper)
    }
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
