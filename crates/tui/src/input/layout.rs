//! A text in rows of a given width: where each sign stands, and which sign stands where.

use super::fold::Folds;
use crate::input::grapheme::{as_mark, clusters, text_width, width};

/// What a tab looks like.
const TAB: &str = "    ";
/// What stands in place of a sign that is wider than the row.
const TOO_WIDE: &str = "…";

/// A sign, or a part of the label that stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where in the text the sign begins.
    pub(super) source: usize,
    /// Where the next one does.
    end: usize,
    pub(super) shown: String,
    pub(super) width: usize,
    /// Whether it belongs to a label.
    pub(super) label: bool,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// The first offset at which the cursor stands in this row.
    start: usize,
    /// The offset behind its last sign.
    end: usize,
    /// Whether the line goes on in the next row.
    continued: bool,
    pub(super) pieces: Vec<Piece>,
}

impl Row {
    fn width(&self) -> usize {
        self.pieces.iter().map(|piece| piece.width).sum()
    }
}

/// A text in rows.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) rows: Vec<Row>,
}

impl Layout {
    /// One column is kept free, so that the cursor has a place behind the last sign.
    pub(super) fn new(text: &str, folds: &Folds, columns: usize) -> Self {
        let columns = columns.saturating_sub(1).max(1);
        let mut rows = Vec::new();
        let mut start = 0;
        for line in text.split('\n') {
            rows.extend(wrap(pieces(line, start, folds, columns), start, columns));
            start += line.len() + 1;
        }
        Self { rows }
    }

    /// Row and column of an offset.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= offset).saturating_sub(1);
        let before = |piece: &&Piece| piece.source < offset;
        let column = self
            .rows
            .get(row)
            .map_or(0, |row| row.pieces.iter().take_while(before).map(|piece| piece.width).sum());
        (row, column)
    }

    /// The offset at a row and column, or the nearest one in that row.
    pub(super) fn offset(&self, row: usize, column: usize) -> usize {
        let Some(row) = self.rows.get(row) else { return self.rows.last().map_or(0, |row| row.end) };
        let mut used = 0;
        for piece in &row.pieces {
            used += piece.width;
            if used > column {
                return piece.source.max(row.start);
            }
        }
        // Behind the last sign of a row that goes on is the beginning of the next row.
        let last = row.pieces.last().filter(|_| row.continued).map(|piece| piece.source);
        last.unwrap_or(row.end).max(row.start)
    }
}

fn pieces(line: &str, start: usize, folds: &Folds, columns: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (offset, cluster) in clusters(line) {
        let source = start + offset;
        let end = source + cluster.len();
        let (shown, label) = match as_mark(cluster) {
            Some(index) => (folds.label(index), true),
            None if cluster == "\t" => (TAB.to_owned(), false),
            None => (cluster.to_owned(), false),
        };
        let split = label || cluster == "\t";
        let parts: Vec<&str> =
            if split { clusters(&shown).map(|(_, part)| part).collect() } else { vec![&shown] };
        for part in parts {
            let shown = if width(part) > columns { TOO_WIDE } else { part };
            pieces.push(Piece { source, end, shown: shown.to_owned(), width: text_width(shown), label });
        }
    }
    pieces
}

/// Where to break a row that has no room for a piece: behind a blank or beside a wide sign, otherwise at its end.
fn break_before(row: &[Piece], piece: &Piece) -> usize {
    let is_blank = |piece: &Piece| piece.shown == " " && !piece.label;
    let may_break = |at: &usize| {
        let (left, right) = (&row[*at - 1], row.get(*at).unwrap_or(piece));
        is_blank(left) || left.width > 1 || right.width > 1
    };
    (1..=row.len()).rev().find(may_break).unwrap_or(row.len())
}

fn wrap(pieces: Vec<Piece>, start: usize, columns: usize) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut row = Row { start, end: start, ..Row::default() };
    let mut used = 0;
    for piece in pieces {
        if used + piece.width > columns && used > 0 {
            let at = break_before(&row.pieces, &piece);
            let moved = row.pieces.split_off(at);
            let source = moved.first().unwrap_or(&piece).source;
            let inside = row.pieces.last().is_some_and(|last| last.source == source);
            let next = if inside { piece.end } else { source };
            row.end = source;
            row.continued = true;
            rows.push(std::mem::replace(
                &mut row,
                Row { start: next, end: source, continued: false, pieces: moved },
            ));
            used = row.width();
        }
        used += piece.width;
        row.end = piece.end;
        row.pieces.push(piece);
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(layout: &Layout) -> Vec<String> {
        layout.rows.iter().map(|row| row.pieces.iter().map(|piece| piece.shown.as_str()).collect()).collect()
    }

    fn laid(text: &str, columns: usize) -> Layout {
        Layout::new(text, &Folds::default(), columns)
    }

    #[test]
    fn rows_break_behind_blanks_or_where_they_must() {
        assert_eq!(shown(&laid("one two three", 9)), ["one two ", "three"]);
        assert_eq!(shown(&laid("abcdefg\n\nh", 4)), ["abc", "def", "g", "", "h"]);
        assert_eq!(shown(&laid("漢字漢字", 6)), ["漢字", "漢字"]);
        assert_eq!(shown(&laid("漢a", 2)), ["…", "a"]);
    }

    #[test]
    fn the_cursor_stands_at_its_sign() {
        let layout = laid("ab 漢字\n", 6);
        assert_eq!(shown(&layout), ["ab 漢", "字", ""]);
        let positions: Vec<_> = [0, 2, 3, 6, 9, 10].map(|offset| layout.position(offset)).into();
        assert_eq!(positions, [(0, 0), (0, 2), (0, 3), (1, 0), (1, 2), (2, 0)]);
        assert_eq!(layout.offset(0, 4), 3, "in the middle of a wide sign");
        assert_eq!(layout.offset(0, 9), 3, "behind the end of a row that goes on");
        assert_eq!(layout.offset(1, 9), 9);
        assert_eq!(layout.offset(7, 0), 10);
    }

    #[test]
    fn a_label_may_be_longer_than_a_row_and_is_still_one_sign() {
        let mut folds = Folds::default();
        let text = format!("a{}b", folds.paste(&"x\n".repeat(50)));
        let layout = Layout::new(&text, &folds, 11);
        assert_eq!(shown(&layout), ["a[pasted 5", "0 lines #1", "]b"]);
        assert_eq!(layout.position(1), (0, 1));
        assert_eq!(layout.position(5), (2, 1));
        let down = layout.offset(1, 3);
        assert_eq!(down, 5, "the cursor leaves the label on the other side");
    }
}
