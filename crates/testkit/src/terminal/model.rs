//! A terminal that keeps its scrollback when its size changes, as real ones do.

/// Rows of scrollback.
const SCROLLBACK: usize = 100_000;

/// What becomes of rows that are too long after a change of size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongRows {
    /// They are wrapped, as most terminals do.
    Wrap,
    /// They are cut off.
    Cut,
}

/// A terminal: bytes in, a screen and its scrollback out.
pub struct Terminal {
    parser: vt100::Parser<Answers>,
    long_rows: LongRows,
}

/// What the terminal says to the program.
#[derive(Default)]
struct Answers {
    bytes: Vec<u8>,
    bells: usize,
    title: String,
    notifications: Vec<String>,
}

impl vt100::Callbacks for Answers {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.bells += 1;
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.title = String::from_utf8_lossy(title).into_owned();
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        if let [b"9", text] = params {
            self.notifications.push(String::from_utf8_lossy(text).into_owned());
        }
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        kind: char,
    ) {
        let answer = match (first, kind, params.first().and_then(|param| param.first())) {
            (None, 'n', Some(6)) => {
                let (row, column) = screen.cursor_position();
                format!("\x1b[{};{}R", row + 1, column + 1)
            }
            (None, 'c', _) => "\x1b[?62;22c".to_owned(),
            _ => return,
        };
        self.bytes.extend(answer.bytes());
    }
}

/// A row of text, and whether it goes on in the next one.
struct Row {
    text: String,
    wrapped: bool,
}

impl Terminal {
    /// An empty terminal.
    #[must_use]
    pub fn new(columns: u16, rows: u16, long_rows: LongRows) -> Self {
        let parser = vt100::Parser::new_with_callbacks(rows, columns, SCROLLBACK, Answers::default());
        Self { parser, long_rows }
    }

    /// Takes what a program wrote; gives what the terminal answers.
    pub fn write(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.parser.process(bytes);
        std::mem::take(&mut self.parser.callbacks_mut().bytes)
    }

    /// The screen.
    #[must_use]
    pub fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// The text of the screen, without what is blank at the ends.
    #[must_use]
    pub fn text(&self) -> String {
        let columns = self.screen().size().1;
        let rows: Vec<String> = self.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// All rows: the scrollback, then the screen.
    pub fn lines(&mut self) -> Vec<String> {
        self.rows().into_iter().map(|row| row.text.trim_end().to_owned()).collect()
    }

    /// How often the bell rang.
    #[must_use]
    pub fn bells(&self) -> usize {
        self.parser.callbacks().bells
    }

    /// The window's title.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.parser.callbacks().title
    }

    /// Texts of desktop notifications.
    #[must_use]
    pub fn notifications(&self) -> &[String] {
        &self.parser.callbacks().notifications
    }

    fn rows(&mut self) -> Vec<Row> {
        let screen = self.parser.screen_mut();
        let (height, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let mut hidden = screen.scrollback();
        let mut rows = Vec::new();
        while hidden > 0 {
            screen.set_scrollback(hidden);
            let shown = hidden.min(usize::from(height));
            rows.extend(first_rows(screen, shown, columns));
            hidden -= shown;
        }
        screen.set_scrollback(0);
        rows.extend(first_rows(screen, usize::from(height), columns));
        rows
    }

    /// Changes the size: what was written stays, and the cursor stays with it.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let (cursor_row, cursor_column) = self.screen().cursor_position();
        let (height, _) = self.screen().size();
        let hidden = self.screen().hide_cursor();
        let all = self.rows();
        let cursor_at = all.len() - usize::from(height) + usize::from(cursor_row);
        let used = all.iter().rposition(|row| !row.text.trim_end().is_empty()).map_or(0, |at| at + 1);
        let mut shown: Vec<String> = Vec::new();
        let mut cursor = (0, 0);
        for (at, row) in all.iter().enumerate().take(used.max(cursor_at + 1)) {
            let pieces = cut(row.text.trim_end(), usize::from(columns), self.long_rows);
            if at == cursor_at {
                let (piece, column) = match self.long_rows {
                    LongRows::Wrap => (cursor_column / columns, cursor_column % columns),
                    LongRows::Cut => (0, cursor_column.min(columns - 1)),
                };
                cursor = (shown.len() + usize::from(piece), column);
            }
            debug_assert!(!row.wrapped || self.long_rows == LongRows::Wrap, "a row was left to be wrapped");
            shown.extend(pieces);
        }
        while shown.len() <= cursor.0 {
            shown.push(String::new());
        }
        let answers = std::mem::take(self.parser.callbacks_mut());
        self.parser = vt100::Parser::new_with_callbacks(rows, columns, SCROLLBACK, answers);
        self.parser.process(shown.join("\r\n").as_bytes());
        let above = shown.len().saturating_sub(usize::from(rows));
        let place = format!("\x1b[{};{}H", cursor.0.saturating_sub(above) + 1, cursor.1 + 1);
        self.parser.process(place.as_bytes());
        if hidden {
            self.parser.process(b"\x1b[?25l");
        }
    }
}

fn first_rows(screen: &vt100::Screen, count: usize, columns: u16) -> Vec<Row> {
    let texts = screen.rows(0, columns).take(count).enumerate();
    let row = |(at, text): (usize, String)| Row {
        text,
        wrapped: screen.row_wrapped(u16::try_from(at).unwrap_or(u16::MAX)),
    };
    texts.map(row).collect()
}

/// A row as the rows it takes now.
fn cut(text: &str, columns: usize, long_rows: LongRows) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    if chars.is_empty() {
        return vec![String::new()];
    }
    let pieces = chars.chunks(columns.max(1)).map(|piece| piece.iter().collect());
    match long_rows {
        LongRows::Wrap => pieces.collect(),
        LongRows::Cut => pieces.take(1).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_wrapped_or_cut_and_the_cursor_stays_with_its_text() {
        let mut terminal = Terminal::new(10, 3, LongRows::Wrap);
        terminal.write(b"1\r\n2\r\nabcdefgh\r\n> x");
        assert_eq!(terminal.lines(), ["1", "2", "abcdefgh", "> x"]);
        terminal.resize(4, 3);
        assert_eq!(terminal.lines(), ["1", "2", "abcd", "efgh", "> x"]);
        assert_eq!(terminal.screen().cursor_position(), (2, 3));
        terminal.resize(4, 10);
        assert_eq!(terminal.text(), "1\n2\nabcd\nefgh\n> x");
        assert_eq!(terminal.write(b"\x1b[6n"), b"\x1b[5;4R");

        let mut terminal = Terminal::new(10, 3, LongRows::Cut);
        terminal.write(b"abcdefgh\r\n> x");
        terminal.resize(4, 3);
        assert_eq!(terminal.lines(), ["abcd", "> x", ""]);
    }
}
