//! Where one visible sign ends and the next begins, and how wide it is.
//!
//! A text may hold *marks*: private characters that stand for something longer, like a folded paste. A mark never
//! melts with its neighbours.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};
use unicode_width::UnicodeWidthStr;

/// The private characters that are marks: no font and no icon set uses this plane.
const MARKS: std::ops::RangeInclusive<char> = '\u{100000}'..='\u{10FFFD}';

/// The mark with this number; none if there are that many already.
pub(crate) fn mark(number: usize) -> Option<char> {
    let code = u32::try_from(number).ok()?.checked_add(u32::from(*MARKS.start()))?;
    char::from_u32(code).filter(|letter| MARKS.contains(letter))
}

/// The number of a mark.
pub(crate) fn mark_number(letter: char) -> Option<usize> {
    MARKS.contains(&letter).then(|| (u32::from(letter) - u32::from(*MARKS.start())) as usize)
}

/// The number of the mark that a sign is.
pub(crate) fn as_mark(cluster: &str) -> Option<usize> {
    cluster.chars().next().and_then(mark_number)
}

/// The text without what a terminal would take as a command, and without marks: what may come from outside.
pub(crate) fn cleaned(text: &str) -> String {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let visible = |letter: &char| matches!(letter, '\n' | '\t') || !letter.is_control();
    unified.chars().filter(|letter| visible(letter) && mark_number(*letter).is_none()).collect()
}

/// Whether a sign surely begins and ends here.
fn stands_alone(letter: char) -> bool {
    letter == '\n' || mark_number(letter).is_some()
}

/// The stretch around a byte offset in which signs may consist of several characters.
fn stretch(text: &str, at: usize) -> (usize, &str) {
    let start = text[..at].char_indices().rev().find(|(_, letter)| stands_alone(*letter));
    let start = start.map_or(0, |(offset, letter)| offset + letter.len_utf8());
    let end = text[at..].find(stands_alone).map_or(text.len(), |offset| at + offset);
    (start, &text[start..end])
}

/// The end of the sign at a byte offset.
pub(crate) fn next(text: &str, at: usize) -> usize {
    let Some(letter) = text[at..].chars().next() else { return text.len() };
    if stands_alone(letter) {
        return at + letter.len_utf8();
    }
    let (start, stretch) = stretch(text, at);
    let mut cursor = GraphemeCursor::new(at - start, stretch.len(), true);
    cursor.next_boundary(stretch, 0).ok().flatten().map_or(text.len(), |offset| start + offset)
}

/// The beginning of the sign before a byte offset.
pub(crate) fn previous(text: &str, at: usize) -> usize {
    let Some(letter) = text[..at].chars().next_back() else { return 0 };
    if stands_alone(letter) {
        return at - letter.len_utf8();
    }
    let (start, stretch) = stretch(text, at);
    let mut cursor = GraphemeCursor::new(at - start, stretch.len(), true);
    cursor.prev_boundary(stretch, 0).ok().flatten().map_or(0, |offset| start + offset)
}

/// The first place at or behind a byte offset where a sign begins, or the end.
pub(crate) fn snap(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    if is_boundary(text, at) { at } else { next(text, at) }
}

/// Whether a sign begins or the text ends here.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    if !text.is_char_boundary(at) {
        return false;
    }
    let (start, stretch) = stretch(text, at);
    GraphemeCursor::new(at - start, stretch.len(), true).is_boundary(stretch, 0).unwrap_or(true)
}

/// The signs of a text with their byte offsets.
pub(crate) fn clusters(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive(stands_alone).flat_map(move |part| {
        let offset = part.as_ptr().addr() - text.as_ptr().addr();
        let alone = part.chars().next_back().filter(|letter| stands_alone(*letter));
        let (joined, last) = part.split_at(part.len() - alone.map_or(0, char::len_utf8));
        let last = (!last.is_empty()).then_some((joined.len(), last));
        joined.grapheme_indices(true).chain(last).map(move |(at, cluster)| (offset + at, cluster))
    })
}

/// The columns that a sign takes.
pub(crate) fn width(cluster: &str) -> usize {
    // Not even a terminal knows better how wide a control character is; none is ever shown.
    if cluster.chars().all(char::is_control) { 0 } else { cluster.width() }
}

/// The columns that a text takes, sign by sign, as it is drawn.
pub(crate) fn text_width(text: &str) -> usize {
    text.graphemes(true).map(width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str = "👨‍👩‍👧";

    fn split(text: &str) -> Vec<&str> {
        clusters(text).map(|(_, cluster)| cluster).collect()
    }

    #[test]
    fn signs_of_several_characters_stay_together() {
        assert_eq!(split(&format!("e\u{301}漢{FAMILY}🇩🇪\nx")), ["e\u{301}", "漢", FAMILY, "🇩🇪", "\n", "x"]);
        let text = format!("a{FAMILY}b");
        assert_eq!(next(&text, 1), 1 + FAMILY.len());
        assert_eq!(previous(&text, 1 + FAMILY.len()), 1);
        assert_eq!(snap(&text, 3), 1 + FAMILY.len());
    }

    #[test]
    fn marks_do_not_melt_with_their_neighbours() {
        let mark = mark(7).unwrap();
        let text = format!("a{mark}\u{301}{mark}");
        assert_eq!(split(&text), ["a", mark.to_string().as_str(), "\u{301}", mark.to_string().as_str()]);
        assert_eq!(next(&text, 1), 5);
        assert_eq!(previous(&text, 5), 1);
        assert_eq!(as_mark(&mark.to_string()), Some(7));
        assert_eq!(super::mark(70_000), None);
    }

    #[test]
    fn widths_are_those_of_terminals() {
        for (text, columns) in [("a", 1), ("漢", 2), ("e\u{301}", 1), (FAMILY, 2), ("🇩🇪", 2), ("\u{7}", 0)]
        {
            assert_eq!(text_width(text), columns, "{text:?}");
        }
    }

    #[test]
    fn what_comes_from_outside_cannot_command_the_terminal() {
        assert_eq!(cleaned("a\r\nb\rc\u{1b}[31m\u{100001}\td"), "a\nb\nc[31m\td");
    }
}
