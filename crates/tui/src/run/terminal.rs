//! A real terminal: taken over, written to, listened to, given back.

use std::io::{Stdout, Write};
use std::time::Duration;

use crossterm::event::KeyEvent;
use crossterm::terminal;
use tokio::time::{Instant, timeout_at};

use super::keyboard::{Answer, Keyboard, Word};
use super::pace::Pace;
use super::rescue;
use crate::app::{App, Place};
use crate::screen::{Heard, Screen, Size, Wrapping};
use crate::text::clean;
use crate::theme::{Palette, Rgb};
use crate::view::View;

/// Bracketed paste, keys that can be told apart, the title remembered.
const ENTER: &str = "\x1b[?2004h\x1b[>1u\x1b[22;2t";
/// All of it undone; and rows are wrapped, the cursor is shown.
pub(super) const LEAVE: &str = "\x1b[<1u\x1b[?2004l\x1b[23;2t\x1b[?7h\x1b[?25h";
/// Asks for the colour behind the text.
const ASK_BACKGROUND: &str = "\x1b]11;?\x1b\\";

/// How long the start waits for the terminal's first answers. Later ones count as well.
const FIRST_ANSWER: Duration = Duration::from_millis(100);
/// How long a frame is waited for before the next one.
const FRAME_ARRIVES: Duration = Duration::from_millis(500);
/// A backlog of so many frames is a flood.
const FLOOD: usize = 4;
/// How long the live area is away in a flood, and how long it is there before it goes again.
const HIDDEN: Duration = Duration::from_millis(50);
const SHOWN: Duration = Duration::from_millis(30);
/// Rows that are written at once at the end.
const LAST_ROWS: usize = 2_048;
/// How long a change of size may take from the terminal's side to ours.
const SIZE_SETTLES: Duration = Duration::from_millis(600);
/// Between two questions for the size.
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// Whether the terminal is asked for its colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Background {
    Asked,
    Known,
}

/// What comes from a terminal.
#[derive(Debug)]
pub(super) enum Came {
    Key(KeyEvent),
    Paste(String),
    Background(Rgb),
    /// It has answered something that only the drawing needed.
    Answer,
    /// It is gone.
    End,
}

/// Whether a frame can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    Now,
    /// Something has to come first, but no later than this.
    Before(Instant),
}

/// Whether somebody waits to see something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    None,
    /// Something was typed.
    Typed,
}

/// How the terminal tells its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Telling {
    Rightly,
    /// Rows for columns, as some versions of tmux do.
    Swapped,
    /// Not at all, or something that cannot be used.
    Otherwise,
}

impl Telling {
    fn of(told: Option<Size>, real: Size) -> Self {
        match told {
            Some(told) if told == real => Self::Rightly,
            Some(told) if swapped(told) == real => Self::Swapped,
            _ => Self::Otherwise,
        }
    }

    fn understand(self, told: Size) -> Option<Size> {
        match self {
            Self::Rightly => Some(told),
            Self::Swapped => Some(swapped(told)),
            Self::Otherwise => None,
        }
    }
}

fn swapped(size: Size) -> Size {
    Size { width: size.height, height: size.width }
}

/// The terminal has another size, and it is not clear yet what it shows.
struct Settling {
    since: Instant,
    asked_at: Option<Instant>,
    /// The size by its own account, and the row of the cursor.
    seen: Option<(Option<Size>, u16)>,
}

/// The terminal that the program runs in.
pub(super) struct Terminal {
    out: Stdout,
    screen: Screen,
    keyboard: Option<Keyboard>,
    background: Background,
    /// What is behind the text, if the terminal has told it.
    color: Option<Rgb>,
    telling: Telling,
    /// The first part of an answer.
    told_sizes: Vec<Size>,
    settling: Option<Settling>,
    drawn_at: Instant,
    pace: Pace,
    /// When the live area was taken away, or shown again.
    turned_at: Instant,
    /// Finished rows of the frame that was drawn last, as long as nobody knows how long they take.
    untimed: Option<usize>,
}

impl Terminal {
    /// Takes the terminal over.
    pub(super) async fn open(wrapping: Wrapping, background: Background) -> std::io::Result<Self> {
        let mut terminal = Self {
            out: std::io::stdout(),
            screen: Screen::new(size()?, None, wrapping),
            keyboard: None,
            background,
            color: None,
            telling: Telling::Otherwise,
            told_sizes: Vec::new(),
            settling: None,
            drawn_at: Instant::now(),
            pace: Pace::default(),
            turned_at: Instant::now(),
            untimed: None,
        };
        terminal.take_over().await?;
        Ok(terminal)
    }

    pub(super) fn size(&self) -> Size {
        self.screen.size()
    }

    /// Whether the live area was taken away to write much.
    pub(super) fn is_bare(&self) -> bool {
        self.screen.is_bare()
    }

    /// Whether a page has the alternate screen.
    pub(super) fn is_aside(&self) -> bool {
        self.screen.is_aside()
    }

    /// The palette for what the terminal has told of itself.
    pub(super) fn palette(&self, otherwise: Palette) -> Palette {
        self.color.map_or(otherwise, Rgb::palette)
    }

    async fn take_over(&mut self) -> std::io::Result<()> {
        terminal::enable_raw_mode()?;
        rescue::taken();
        let keyboard = self.keyboard.insert(Keyboard::open()?);
        keyboard.expect_answer(true);
        let question = if self.background == Background::Asked { ASK_BACKGROUND } else { "" };
        let questions = format!("{question}{}", self.screen.probe());
        self.out.write_all(questions.as_bytes())?;
        self.out.flush()?;
        let (place, mut others) = first_answer(keyboard).await;
        let mut told = None;
        others.retain(|word| match word {
            Word::Answer(Answer::Size(size)) => {
                told = Some(*size);
                false
            }
            Word::Answer(Answer::Background(color)) => {
                self.color = Some(*color);
                false
            }
            _ => true,
        });
        keyboard.put_back(others);
        self.telling = Telling::of(told, size()?);
        let row = match place {
            // What somebody left unfinished keeps its row.
            Some((column, row)) if column > 0 => {
                self.write("\r\n")?;
                Some((row + 1).min(size()?.height.saturating_sub(1)))
            }
            place => place.map(|(_, row)| row),
        };
        if row.is_some() {
            self.screen.answered(&[], 0);
            self.screen.ask();
        }
        self.screen.begin_anew(size()?, row);
        self.settling = None;
        self.write(ENTER)
    }

    /// What comes next. Nothing is lost if it is not waited for to the end.
    pub(super) async fn next(&mut self) -> Came {
        let Some(keyboard) = &mut self.keyboard else { return Came::End };
        keyboard.expect_answer(!self.screen.has_arrived());
        match keyboard.next().await {
            Some(Word::Key(key)) => Came::Key(key),
            Some(Word::Paste(text)) => Came::Paste(text),
            Some(Word::Answer(answer)) => self.hear(answer),
            None => Came::End,
        }
    }

    fn hear(&mut self, answer: Answer) -> Came {
        match answer {
            Answer::Background(color) => return Came::Background(color),
            Answer::Size(told) => {
                if self.telling == Telling::Otherwise
                    && let Ok(real) = size()
                {
                    self.telling = Telling::of(Some(told), real);
                }
                self.told_sizes.extend(self.telling.understand(told));
            }
            Answer::Cursor(_, row) => {
                // Whoever answers late answers nevertheless.
                self.screen.ask();
                let sizes = std::mem::take(&mut self.told_sizes);
                let heard = self.screen.answered(&sizes, row);
                if heard == Heard::Frame && self.screen.has_arrived() {
                    self.learn_pace();
                }
                if let (Heard::Probe, Some(settling)) = (heard, &mut self.settling) {
                    settling.seen = Some((sizes.last().copied(), row));
                }
            }
        }
        Came::Answer
    }

    /// Whether a frame can be drawn now. A change of size is followed first; and before the screen is changed for the other
    /// one, everything under way has to arrive.
    pub(super) fn ready(&mut self, place: Place) -> std::io::Result<Readiness> {
        let now = Instant::now();
        if self.screen.is_adrift() || size()? != self.screen.size() {
            return self.settle(now);
        }
        self.settling = None;
        let stays = (place == Place::Aside) == self.screen.is_aside();
        let is_free = if stays { self.screen.has_room() } else { self.screen.has_arrived() };
        if is_free {
            return Ok(Readiness::Now);
        }
        let latest = self.drawn_at + FRAME_ARRIVES;
        if now < latest {
            return Ok(Readiness::Before(latest));
        }
        self.screen.stop_waiting();
        Ok(Readiness::Now)
    }

    /// Finds out what a change of size did, and takes the live area away where it is now.
    fn settle(&mut self, now: Instant) -> std::io::Result<Readiness> {
        let size = size()?;
        let settling = self.settling.get_or_insert(Settling { since: now, asked_at: None, seen: None });
        let latest = settling.since + SIZE_SETTLES;
        let agrees = |told: Option<Size>| told.is_none_or(|told| told == size);
        let row = match settling.seen {
            _ if !self.screen.answers() || now >= latest => settling.seen.map(|(_, row)| row),
            Some((told, row)) if agrees(told) => Some(row),
            _ if !self.screen.has_arrived() => return Ok(Readiness::Before(latest)),
            _ => {
                let next = settling.asked_at.map(|at| at + ASK_AGAIN).filter(|next| now < *next);
                if let Some(next) = next {
                    return Ok(Readiness::Before(next));
                }
                settling.asked_at = Some(now);
                settling.seen = None;
                let questions = self.screen.probe();
                self.write(&questions)?;
                return Ok(Readiness::Before(latest));
            }
        };
        self.settling = None;
        let bytes = self.screen.resize(size, row);
        self.write(&bytes)?;
        Ok(Readiness::Now)
    }

    /// Shows a view and nothing else.
    pub(super) fn show(&mut self, view: &View) -> std::io::Result<()> {
        let bytes = self.screen.draw(&[], view);
        self.drawn_at = Instant::now();
        self.write(&bytes)
    }

    /// Draws what is finished and the live area. In a flood the two take turns: the live area is taken away, much is
    /// written, and it is there again as soon as something is typed, or else in a moment.
    pub(super) fn draw(&mut self, app: &mut App, urgency: Urgency) -> std::io::Result<()> {
        self.turn_to(app.place())?;
        let few = self.screen.few_rows();
        let is_flood = app.backlog() > few * FLOOD && urgency == Urgency::None;
        let turn = self.turned_at.elapsed();
        let (finished, view) = match self.screen.is_bare() {
            _ if self.screen.is_aside() => {
                app.drawn();
                (Vec::new(), app.view())
            }
            true if is_flood && turn < HIDDEN => {
                let finished = app.take_finished(self.pace.rows());
                self.untimed = Some(finished.len());
                (finished, View::default())
            }
            false if is_flood && turn >= SHOWN => {
                self.turned_at = Instant::now();
                (Vec::new(), View::default())
            }
            is_bare => {
                self.turned_at = if is_bare { Instant::now() } else { self.turned_at };
                app.drawn();
                (app.take_finished(few), app.view())
            }
        };
        let bytes = self.screen.draw(&finished, &view);
        self.drawn_at = Instant::now();
        self.write(&bytes)?;
        if !self.screen.answers() {
            self.learn_pace();
        }
        Ok(())
    }

    /// Shows the screen on which the next frame belongs.
    pub(super) fn turn_to(&mut self, place: Place) -> std::io::Result<()> {
        let bytes = match (place, self.screen.is_aside()) {
            (Place::Aside, false) => self.screen.turn_aside(),
            (Place::Below, true) => self.screen.turn_back(),
            (Place::Aside, true) | (Place::Below, false) => return Ok(()),
        };
        rescue::turned(self.screen.is_aside());
        self.write(&bytes)
    }

    /// A frame has come as far as is known.
    fn learn_pace(&mut self) {
        if let Some(rows) = self.untimed.take() {
            self.pace.learn(rows, self.drawn_at.elapsed());
        }
    }

    /// Asks for the colour behind the text, now and whenever the terminal is taken over again.
    pub(super) fn ask_background(&mut self) -> std::io::Result<()> {
        self.background = Background::Asked;
        self.write(ASK_BACKGROUND)
    }

    pub(super) fn redraw(&mut self, app: &mut App) -> std::io::Result<()> {
        let bytes = self.screen.leave();
        self.write(&bytes)?;
        self.draw(app, Urgency::Typed)
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

    /// Takes the live area away and gives the terminal to somebody else.
    pub(super) async fn suspend(&mut self) -> std::io::Result<()> {
        self.listen_to_the_end().await;
        self.turn_to(Place::Below)?;
        let bytes = self.screen.leave();
        self.write(&bytes)?;
        self.give_back()
    }

    /// Takes it over again.
    pub(super) async fn resume(&mut self) -> std::io::Result<()> {
        self.take_over().await
    }

    /// Writes what is finished and gives the terminal back.
    pub(super) async fn close(&mut self, app: &mut App) -> std::io::Result<()> {
        self.listen_to_the_end().await;
        self.turn_to(Place::Below)?;
        let bytes = self.screen.leave();
        self.write(&bytes)?;
        while app.has_finished() {
            let bytes = self.screen.append(&app.take_finished(LAST_ROWS));
            self.write(&bytes)?;
        }
        self.give_back()
    }

    /// Answers that still come would be typed into whatever follows. Keys that are pressed meanwhile are given up, too.
    async fn listen_to_the_end(&mut self) {
        let latest = Instant::now() + FRAME_ARRIVES;
        while !self.screen.has_arrived() {
            if let Err(_) | Ok(Came::End) = timeout_at(latest, self.next()).await {
                return;
            }
        }
    }

    fn give_back(&mut self) -> std::io::Result<()> {
        self.keyboard = None;
        rescue::given_back();
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
        if rescue::is_taken() {
            let _ = self.turn_to(Place::Below);
            let bytes = self.screen.leave();
            let _ = self.write(&bytes);
            let _ = self.give_back();
        }
    }
}

/// The place of the cursor if the terminal tells it soon, and what else came.
async fn first_answer(keyboard: &mut Keyboard) -> (Option<(u16, u16)>, Vec<Word>) {
    let latest = Instant::now() + FIRST_ANSWER;
    let mut others = Vec::new();
    while let Ok(Some(word)) = timeout_at(latest, keyboard.next()).await {
        match word {
            Word::Answer(Answer::Cursor(column, row)) => return (Some((column, row)), others),
            word => others.push(word),
        }
    }
    (None, others)
}

fn size() -> std::io::Result<Size> {
    let (width, height) = terminal::size()?;
    // A terminal that does not know its size says 0.
    let (width, height) = if width == 0 || height == 0 { (80, 24) } else { (width, height) };
    Ok(Size { width, height })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_are_told_the_wrong_way_round_are_understood() {
        let real = Size { width: 120, height: 40 };
        let told = Size { width: 40, height: 120 };
        assert_eq!(Telling::of(Some(real), real).understand(real), Some(real));
        assert_eq!(Telling::of(Some(told), real).understand(told), Some(real));
        assert_eq!(Telling::of(Some(Size { width: 7, height: 7 }), real).understand(told), None);
        assert_eq!(Telling::of(None, real).understand(real), None);
    }
}
