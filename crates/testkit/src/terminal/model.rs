//! A terminal that keeps its scrollback when its size changes, as real ones do.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::margin::Margin;

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
    margin: Margin,
    long_rows: LongRows,
}

/// What the terminal says to the program.
#[derive(Default)]
struct Answers {
    bytes: Vec<u8>,
    bells: usize,
    title: String,
    notifications: Vec<String>,
    /// What is behind the text, as terminals tell it.
    background: Option<String>,
}

impl vt100::Callbacks for Answers {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.bells += 1;
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        self.title = String::from_utf8_lossy(title).into_owned();
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        match (params, &self.background) {
            ([b"9", text], _) => self.notifications.push(String::from_utf8_lossy(text).into_owned()),
            ([b"11", b"?"], Some(color)) => self.bytes.extend(format!("\x1b]11;{color}\x1b\\").bytes()),
            _ => {}
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
            (None, 't', Some(18)) => {
                let (rows, columns) = screen.size();
                format!("\x1b[8;{rows};{columns}t")
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
        Self { parser, margin: Margin::default(), long_rows }
    }

    /// A terminal that tells its background when it is asked, e.g. `rgb:ffff/ffff/ffff`.
    pub fn set_background(&mut self, color: &str) {
        self.parser.callbacks_mut().background = Some(color.to_owned());
    }

    /// Takes what a program wrote; gives what the terminal answers.
    pub fn write(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.margin.pass(bytes, &mut self.parser);
        std::mem::take(&mut self.parser.callbacks_mut().bytes)
    }

    /// Whether a part of a synchronized update has come, and its end has not.
    #[must_use]
    pub fn is_updating(&self) -> bool {
        self.margin.is_updating()
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

    /// All lines as they were written, however often the terminal had to wrap them.
    pub fn whole_lines(&mut self) -> Vec<String> {
        joined(self.rows(), self.long_rows).into_iter().map(|line| line.text.trim_end().to_owned()).collect()
    }

    /// Changes the size: what was written stays, and the cursor stays with it.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        // The alternate screen is lost; whoever shows something there draws it again.
        let is_aside = self.screen().alternate_screen();
        if is_aside {
            self.parser.process(b"\x1b[?1049l");
        }
        self.resize_main(columns, rows);
        if is_aside {
            self.parser.process(b"\x1b[?1049h");
        }
    }

    fn resize_main(&mut self, columns: u16, rows: u16) {
        let (cursor_row, cursor_column) = self.screen().cursor_position();
        let (height, _) = self.screen().size();
        let hidden = self.screen().hide_cursor();
        let all = self.rows();
        let cursor_at = all.len() - usize::from(height) + usize::from(cursor_row);
        let lines = joined(all, self.long_rows);
        let own = lines.iter().rposition(|line| line.first_row <= cursor_at).unwrap_or(0);
        let before =
            lines.get(own).map_or(0, |line| line.columns_before(cursor_at)) + usize::from(cursor_column);
        let used = lines.iter().rposition(|line| !line.text.trim_end().is_empty()).map_or(0, |at| at + 1);
        let mut shown: Vec<String> = Vec::new();
        let mut cursor = (0, 0);
        for (at, line) in lines.iter().enumerate().take(used.max(own + 1)) {
            let pieces = cut(line.text.trim_end(), usize::from(columns), self.long_rows);
            if at == own {
                let (piece, column) = match self.long_rows {
                    LongRows::Wrap => (before / usize::from(columns), before % usize::from(columns)),
                    LongRows::Cut => (0, before.min(usize::from(columns) - 1)),
                };
                cursor = (shown.len() + piece, column);
            }
            shown.extend(pieces);
        }
        while shown.len() <= cursor.0 {
            shown.push(String::new());
        }
        // The cursor stays in sight, whatever is below it.
        shown.truncate(cursor.0 + usize::from(rows));
        self.begin_anew(columns, rows, &shown);
        let above = shown.len().saturating_sub(usize::from(rows));
        let place = format!("\x1b[{};{}H", cursor.0.saturating_sub(above) + 1, cursor.1 + 1);
        self.parser.process(place.as_bytes());
        if hidden {
            self.parser.process(b"\x1b[?25l");
        }
    }

    /// Fills an empty screen with rows; a row that goes on in the next one is full.
    fn begin_anew(&mut self, columns: u16, rows: u16, shown: &[String]) {
        let answers = std::mem::take(self.parser.callbacks_mut());
        self.parser = vt100::Parser::new_with_callbacks(rows, columns, SCROLLBACK, answers);
        for (at, row) in shown.iter().enumerate() {
            let goes_on = shown.get(at + 1).is_some_and(|next| next.starts_with(GOES_ON));
            self.parser.process(row.trim_start_matches(GOES_ON).as_bytes());
            if !goes_on && at + 1 < shown.len() {
                self.parser.process(b"\r\n");
            }
        }
    }
}

/// Marks a row that the one before it goes on in.
const GOES_ON: char = '\u{1}';

/// A line that may take several rows.
struct WholeLine {
    text: String,
    first_row: usize,
    /// Columns of each of its rows.
    widths: Vec<usize>,
}

impl WholeLine {
    /// Columns of the rows before this one.
    fn columns_before(&self, row: usize) -> usize {
        self.widths.iter().take(row - self.first_row).sum()
    }
}

fn joined(rows: Vec<Row>, long_rows: LongRows) -> Vec<WholeLine> {
    let mut lines: Vec<WholeLine> = Vec::new();
    let mut goes_on = false;
    for (at, row) in rows.into_iter().enumerate() {
        let width = row.text.width();
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => {
                line.text.push_str(&row.text);
                line.widths.push(width);
            }
            None => lines.push(WholeLine { text: row.text, first_row: at, widths: vec![width] }),
        }
        goes_on = row.wrapped && long_rows == LongRows::Wrap;
    }
    lines
}

fn first_rows(screen: &vt100::Screen, count: usize, columns: u16) -> Vec<Row> {
    let texts = screen.rows(0, columns).take(count).enumerate();
    let row = |(at, text): (usize, String)| Row {
        text,
        wrapped: screen.row_wrapped(u16::try_from(at).unwrap_or(u16::MAX)),
    };
    texts.map(row).collect()
}

/// A line as the rows it takes now.
fn cut(text: &str, columns: usize, long_rows: LongRows) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut taken = 0;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if taken + wide > columns {
            pieces.push(GOES_ON.to_string());
            taken = 0;
        }
        taken += wide;
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    if long_rows == LongRows::Cut {
        pieces.truncate(1);
    }
    pieces
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

        terminal.resize(10, 3);
        assert_eq!(terminal.lines(), ["1", "2", "abcdefgh", "> x"], "what was wrapped is joined");

        let mut terminal = Terminal::new(10, 3, LongRows::Cut);
        terminal.write(b"abcdefgh\r\n> x");
        terminal.resize(4, 3);
        assert_eq!(terminal.lines(), ["abcd", "> x", ""]);
    }

    #[test]
    fn a_screen_that_is_erased_as_a_whole_goes_to_the_scrollback() {
        let mut terminal = Terminal::new(10, 3, LongRows::Wrap);
        terminal.write(b"a\r\nb\x1b[A\r\x1b[Jc");
        assert_eq!(terminal.lines(), ["a", "b", "c", "", ""]);
        terminal.write(b"\r\x1b[2K\x1b[C\x1b[J\rd");
        assert_eq!(terminal.lines(), ["a", "b", "d", "", ""], "from the second cell on, nothing is kept");
    }

    #[test]
    fn rows_are_cut_at_the_margin_when_they_shall_not_be_wrapped() {
        let mut terminal = Terminal::new(5, 3, LongRows::Wrap);
        terminal.write("\x1b[?7labcdefg\r\n日本語\x1b[?7h\r\nxyz".as_bytes());
        assert_eq!(terminal.lines(), ["abcde", "日本", "xyz"]);
        assert_eq!(terminal.write(b"\x1b[18t"), b"\x1b[8;3;5t");
    }
}
