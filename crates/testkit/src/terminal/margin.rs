//! What the parser does not know of terminals. At the right margin, if they were told not to wrap, what does not fit is
//! left out; and a screen that is erased as a whole goes to the scrollback.

use unicode_width::UnicodeWidthChar;

const OFF: &[u8] = b"\x1b[?7l";
const ON: &[u8] = b"\x1b[?7h";
const UPDATE_BEGINS: &[u8] = b"\x1b[?2026h";
const UPDATE_ENDS: &[u8] = b"\x1b[?2026l";

/// Passes bytes on to a parser that knows nothing of this.
#[derive(Debug, Default)]
pub(super) struct Margin {
    is_off: bool,
    /// Whether what is written belongs together, and its end has not come yet.
    is_updating: bool,
    /// The beginning of a character or sequence.
    begun: Vec<u8>,
}

impl Margin {
    pub(super) fn is_updating(&self) -> bool {
        self.is_updating
    }

    /// Passes bytes on, without what is beyond the margin.
    pub(super) fn pass<C: vt100::Callbacks>(&mut self, bytes: &[u8], parser: &mut vt100::Parser<C>) {
        for byte in bytes {
            self.begun.push(*byte);
            if !is_whole(&self.begun) {
                continue;
            }
            let piece = std::mem::take(&mut self.begun);
            match piece.as_slice() {
                UPDATE_BEGINS => self.is_updating = true,
                UPDATE_ENDS => self.is_updating = false,
                _ => {}
            }
            match piece.as_slice() {
                OFF => self.is_off = true,
                ON => self.is_off = false,
                piece if erases_all(piece, parser.screen()) => push_away(parser),
                piece if self.is_off && !fits(piece, parser.screen()) => {}
                piece => parser.process(piece),
            }
        }
    }
}

/// Whether all of the screen is erased.
fn erases_all(piece: &[u8], screen: &vt100::Screen) -> bool {
    match piece {
        b"\x1b[2J" => true,
        b"\x1b[J" | b"\x1b[0J" => screen.cursor_position() == (0, 0),
        _ => false,
    }
}

/// Empties the screen as tmux does: what stood there goes to the scrollback.
fn push_away<C: vt100::Callbacks>(parser: &mut vt100::Parser<C>) {
    let screen = parser.screen();
    let (height, columns) = screen.size();
    let (row, column) = screen.cursor_position();
    let used = screen.rows(0, columns).collect::<Vec<_>>();
    let used = used.iter().rposition(|row| !row.trim_end().is_empty()).map_or(0, |last| last + 1);
    let scroll = format!("\x1b[{height};1H{}\x1b[{};{}H", "\n".repeat(used), row + 1, column + 1);
    parser.process(scroll.as_bytes());
}

/// Whether a text would still be before the margin.
fn fits(piece: &[u8], screen: &vt100::Screen) -> bool {
    let width = |c: char| c.width().unwrap_or(0);
    let wide: usize = std::str::from_utf8(piece).unwrap_or_default().chars().map(width).sum();
    let is_text = piece.first().is_some_and(|byte| !byte.is_ascii_control());
    !is_text || usize::from(screen.cursor_position().1) + wide <= usize::from(screen.size().1)
}

/// Whether these bytes are a character, a control character or a sequence from its beginning to its end.
fn is_whole(bytes: &[u8]) -> bool {
    match bytes {
        [0x1b] => false,
        [0x1b, b'['] => false,
        [0x1b, b'[', .., last] => (0x40..0x7f).contains(last),
        [0x1b, b']' | b'P' | b'_', .., last] => *last == 7 || bytes.ends_with(b"\x1b\\"),
        [first, ..] if *first >= 0x80 => std::str::from_utf8(bytes).is_ok() || bytes.len() >= 4,
        _ => true,
    }
}
