//! A real terminal: taken over, written to, given back.

use std::io::{Stdout, Write};

use crossterm::{cursor, terminal};

use crate::app::App;
use crate::screen::{Screen, Size, Wrapping};
use crate::text::clean;
use crate::view::View;

/// Bracketed paste, keys that can be told apart, the title remembered.
const ENTER: &str = "\x1b[?2004h\x1b[>1u\x1b[22;2t";
const LEAVE: &str = "\x1b[<1u\x1b[?2004l\x1b[23;2t\x1b[?25h";

/// The terminal that the program runs in.
pub(super) struct Terminal {
    out: Stdout,
    screen: Screen,
    wrapping: Wrapping,
    /// Whether it says where the cursor is when it is asked.
    answers: bool,
    is_ours: bool,
}

impl Terminal {
    /// Takes the terminal over.
    pub(super) fn open(wrapping: Wrapping) -> std::io::Result<Self> {
        let mut terminal = Self {
            out: std::io::stdout(),
            screen: Screen::new(size()?, None),
            wrapping,
            answers: true,
            is_ours: false,
        };
        terminal.take_over()?;
        Ok(terminal)
    }

    pub(super) fn size(&self) -> Size {
        self.screen.size()
    }

    fn take_over(&mut self) -> std::io::Result<()> {
        terminal::enable_raw_mode()?;
        self.is_ours = true;
        let place = self.cursor();
        let row = match place {
            // What somebody left unfinished keeps its row.
            Some((column, row)) if column > 0 => {
                self.write("\r\n")?;
                Some((row + 1).min(size()?.height.saturating_sub(1)))
            }
            place => place.map(|(_, row)| row),
        };
        self.screen.begin_anew(size()?, row);
        self.write(ENTER)
    }

    /// Where the cursor is. A terminal that does not answer is not asked again.
    fn cursor(&mut self) -> Option<(u16, u16)> {
        let place = self.answers.then(|| cursor::position().ok()).flatten();
        self.answers = place.is_some();
        place
    }

    /// Whether the terminal has another size than what was drawn.
    pub(super) fn has_changed(&self) -> std::io::Result<bool> {
        Ok(size()? != self.screen.size())
    }

    /// Adapts to another size. Nobody else may listen to the terminal.
    pub(super) fn follow(&mut self, app: &mut App) -> std::io::Result<()> {
        self.adapt()?;
        app.resize(self.size());
        Ok(())
    }

    /// Takes the live area away where it is now.
    pub(super) fn adapt(&mut self) -> std::io::Result<()> {
        let size = size()?;
        let row = self.cursor().map(|(_, row)| row);
        let bytes = self.screen.resize(size, row, self.wrapping);
        self.write(&bytes)
    }

    /// Shows a view and nothing else.
    pub(super) fn show(&mut self, view: &View) -> std::io::Result<()> {
        let bytes = self.screen.draw(&[], view);
        self.write(&bytes)
    }

    /// Takes the live area away and gives the terminal back.
    pub(super) fn end(&mut self) -> std::io::Result<()> {
        let bytes = self.screen.leave();
        self.write(&bytes)?;
        self.give_back()
    }

    pub(super) fn draw(&mut self, app: &mut App) -> std::io::Result<()> {
        let finished = app.take_finished();
        let bytes = self.screen.draw(&finished, &app.view());
        self.write(&bytes)
    }

    pub(super) fn redraw(&mut self, app: &mut App) -> std::io::Result<()> {
        let bytes = self.screen.leave();
        self.write(&bytes)?;
        self.draw(app)
    }

    /// Rings, and asks the desktop to show why.
    pub(super) fn signal(&mut self, why: &str) -> std::io::Result<()> {
        let why = clean(why).replace('\n', " ");
        self.write(&format!("\x1b]9;{why}\x07\x07"))
    }

    pub(super) fn title(&mut self, title: &str) -> std::io::Result<()> {
        let title = clean(title).replace('\n', " ");
        self.write(&format!("\x1b]2;{title}\x07"))
    }

    /// Gives the terminal to somebody else for a while.
    pub(super) fn suspend(&mut self) -> std::io::Result<()> {
        self.end()
    }

    /// Takes it over again.
    pub(super) fn resume(&mut self, app: &mut App) -> std::io::Result<()> {
        self.take_over()?;
        app.resize(self.screen.size());
        Ok(())
    }

    /// Writes what is finished and gives the terminal back.
    pub(super) fn close(&mut self, app: &mut App) -> std::io::Result<()> {
        loop {
            let finished = app.take_finished();
            let bytes = self.screen.draw(&finished, &View::default());
            self.write(&bytes)?;
            if !app.has_finished() {
                return self.end();
            }
        }
    }

    fn give_back(&mut self) -> std::io::Result<()> {
        self.is_ours = false;
        self.write(LEAVE)?;
        terminal::disable_raw_mode()
    }

    fn write(&mut self, bytes: &str) -> std::io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }
}

impl Drop for Terminal {
    /// Also when something has gone wrong the shell gets back what it had.
    fn drop(&mut self) {
        if self.is_ours {
            let bytes = self.screen.leave();
            let _ = self.write(&bytes);
            let _ = self.give_back();
        }
    }
}

fn size() -> std::io::Result<Size> {
    let (width, height) = terminal::size()?;
    // A terminal that does not know its size says 0.
    let (width, height) = if width == 0 || height == 0 { (80, 24) } else { (width, height) };
    Ok(Size { width, height })
}
