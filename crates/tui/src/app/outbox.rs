//! What is finished and on its way to the scrollback.
//!
//! It may be far more than a terminal can show at once. Texts stay texts until their rows are asked for: a row takes many
//! times the memory of its words, and to make all rows of a long answer at once would keep keys waiting.

use std::collections::VecDeque;

use ratatui::text::Line;

use crate::cell::{Answer, Paper};

enum Piece {
    Row(Line<'static>),
    Answer(Box<Answer>),
}

/// Rows, and texts that will be rows, in the order in which they are shown.
#[derive(Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Piece>,
}

impl Outbox {
    pub(super) fn push(&mut self, rows: impl IntoIterator<Item = Line<'static>>) {
        self.pieces.extend(rows.into_iter().map(Piece::Row));
    }

    /// Adds an answer to which nothing more is added.
    pub(super) fn push_answer(&mut self, answer: Answer) {
        if !answer.is_over() {
            self.pieces.push_back(Piece::Answer(Box::new(answer)));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// About how many rows wait.
    pub(super) fn len(&self) -> usize {
        let rows = |piece: &Piece| match piece {
            Piece::Row(_) => 1,
            Piece::Answer(answer) => answer.rows_about(),
        };
        self.pieces.iter().map(rows).sum()
    }

    /// The next rows.
    pub(super) fn take(&mut self, most: usize, paper: &Paper<'_>) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        while rows.len() < most {
            match self.pieces.pop_front() {
                Some(Piece::Row(row)) => rows.push(row),
                Some(Piece::Answer(mut answer)) => {
                    rows.extend(answer.complete(most - rows.len(), paper));
                    if !answer.is_over() {
                        self.pieces.push_front(Piece::Answer(answer));
                    }
                }
                None => break,
            }
        }
        self.give_back(&mut rows, most);
        rows
    }

    /// The last rows, and whether these are all. What is far from the end is not even made.
    pub(super) fn end(&mut self, most: usize, paper: &Paper<'_>) -> (Vec<Line<'static>>, bool) {
        let mut rows = VecDeque::new();
        let mut is_all = true;
        while rows.len() < most
            && let Some(piece) = self.pieces.pop_back()
        {
            match piece {
                Piece::Row(row) => rows.push_front(row),
                Piece::Answer(mut answer) => {
                    is_all &= !answer.skip_to_end(most - rows.len());
                    answer.complete(usize::MAX, paper).into_iter().rev().for_each(|row| rows.push_front(row));
                }
            }
        }
        let surplus = rows.len().saturating_sub(most);
        is_all &= surplus == 0 && self.pieces.is_empty();
        (rows.into_iter().skip(surplus).collect(), is_all)
    }

    /// Takes rows back that were too many.
    pub(super) fn give_back(&mut self, rows: &mut Vec<Line<'static>>, most: usize) {
        let surplus = rows.split_off(rows.len().min(most));
        surplus.into_iter().rev().for_each(|row| self.pieces.push_front(Piece::Row(row)));
    }
}
