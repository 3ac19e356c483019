//! The screen against a terminal.

use proptest::prelude::*;
use ratatui::text::Line;
use tiller_testkit::terminal::{LongRows, Terminal};

use super::{Screen, Size, Wrapping};
use crate::view::View;

/// A screen with the terminal it is shown on.
struct Stage {
    terminal: Terminal,
    screen: Screen,
    finished: Vec<String>,
}

impl Stage {
    fn new(width: u16, height: u16, long_rows: LongRows) -> Self {
        let terminal = Terminal::new(width, height, long_rows);
        let wrapping = match long_rows {
            LongRows::Wrap => Wrapping::Anew,
            LongRows::Cut => Wrapping::Never,
        };
        let screen = Screen::new(Size { width, height }, Some(0), wrapping);
        Self { terminal, screen, finished: Vec::new() }
    }

    /// A screen that takes the terminal for another kind.
    fn mistaken(width: u16, height: u16, long_rows: LongRows, wrapping: Wrapping) -> Self {
        let stage = Self::new(width, height, long_rows);
        Self { screen: Screen::new(Size { width, height }, Some(0), wrapping), ..stage }
    }

    fn draw(&mut self, finished: &[&str], live: &[&str]) {
        let lines: Vec<Line<'_>> = finished.iter().map(|line| Line::raw(*line)).collect();
        let view = View {
            lines: live.iter().map(|line| Line::raw((*line).to_owned())).collect(),
            cursor: (!live.is_empty()).then_some((2, 1)),
        };
        let bytes = self.screen.draw(&lines, &view);
        self.terminal.write(bytes.as_bytes());
        self.finished.extend(finished.iter().map(|line| (*line).to_owned()));
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.terminal.resize(width, height);
        let cursor = self.terminal.screen().cursor_position().0;
        let bytes = self.screen.resize(Size { width, height }, Some(cursor));
        self.terminal.write(bytes.as_bytes());
    }

    /// Everything finished is there once and in order, and below it the live area.
    #[track_caller]
    fn check(&mut self, live: &[&str]) {
        let mut expected = self.finished.clone();
        expected.extend(live.iter().map(|line| (*line).to_owned()));
        let mut lines = self.terminal.lines();
        while lines.last().is_some_and(String::is_empty) && lines.len() > expected.len() {
            lines.pop();
        }
        assert_eq!(lines, expected);
    }
}

mod flight;

const LIVE: &[&str] = &["----------", "> typed", "----------", "status"];

// TERM-01: tmux takes a row for as long as it ever was, unless all of it was erased, and wraps what cannot be seen.
#[test]
fn rows_are_erased_as_a_whole_before_they_are_written_anew() {
    let mut screen = Screen::new(Size { width: 40, height: 10 }, Some(0), Wrapping::Anew);
    let view = |rows: &[&str]| View::of(rows.iter().map(|row| Line::raw((*row).to_owned())).collect());
    screen.draw(&[], &view(&["a rather long row", "x"]));
    let shorter = screen.draw(&[], &view(&["short", "x"]));
    assert!(shorter.contains("\r\x1b[2Kshort"), "{shorter:?}");
    let replaced = screen.draw(&[Line::raw("finished")], &view(&["short"]));
    assert!(replaced.contains("\r\x1b[2K\x1b[C\x1b[J\rfinished\r\n"), "{replaced:?}");
    for bytes in [shorter, replaced] {
        assert!(!bytes.contains("\x1b[K"), "{bytes:?}");
    }
}

// TERM-01
#[test]
fn finished_lines_scroll_away_and_the_live_area_stays() {
    let mut stage = Stage::new(20, 8, LongRows::Wrap);
    stage.draw(&[], LIVE);
    stage.check(LIVE);
    for number in 0..30 {
        stage.draw(&[&format!("line {number}")], LIVE);
    }
    stage.check(LIVE);
    stage.draw(&["a", "b"], &["> short", "x"]);
    stage.check(&["> short", "x"]);
    stage.draw(&[], LIVE);
    stage.check(LIVE);
    assert_eq!(stage.terminal.screen().cursor_position(), (5, 2));
}

#[test]
fn an_unchanged_frame_writes_nothing_and_a_changed_row_only_itself() {
    let mut screen = Screen::new(Size { width: 20, height: 8 }, None, Wrapping::Anew);
    let frame = |text: &str| View {
        lines: vec![Line::raw("same"), Line::raw(text.to_owned())],
        cursor: Some((0, 1)),
    };
    assert!(screen.draw(&[], &frame("one")).contains("same"));
    assert_eq!(screen.draw(&[], &frame("one")), "");
    let second = screen.draw(&[], &frame("two"));
    assert!(second.contains("two") && !second.contains("same"), "{second:?}");
    assert!(second.starts_with("\x1b[?2026h") && second.ends_with("\x1b[?2026l"), "{second:?}");
}

#[test]
fn full_rows_keep_their_last_column() {
    let mut stage = Stage::new(10, 5, LongRows::Wrap);
    stage.draw(&["0123456789"], &["abcdefghij", "> x"]);
    stage.check(&["abcdefghij", "> x"]);
    stage.draw(&["9876543210"], &["ABCDEFGHIJ", "> x"]);
    stage.check(&["ABCDEFGHIJ", "> x"]);
}

#[test]
fn a_live_area_that_is_too_tall_shows_its_end() {
    let mut stage = Stage::new(10, 3, LongRows::Wrap);
    stage.draw(&[], &["1", "2", "3", "4", "5"]);
    assert_eq!(stage.terminal.lines(), ["3", "4", "5"]);
}

// TERM-01: tmux keeps a copy of what is erased from the first cell of the screen on.
#[test]
fn a_live_area_that_fills_the_screen_leaves_no_copies() {
    let full = |letter: &str| ["1", "2", "3", "4"].map(|row| format!("{letter}{row}"));
    let mut stage = Stage::new(10, 4, LongRows::Wrap);
    for (number, letter) in ["a", "b", "c"].into_iter().enumerate() {
        let rows = full(letter);
        let live: Vec<&str> = rows.iter().map(String::as_str).collect();
        stage.draw(&[&format!("line {number}")], &live);
        stage.check(&live);
    }
    stage.draw(&[], &["x", "y"]);
    stage.check(&["x", "y"]);
    let rows = full("d");
    let live: Vec<&str> = rows.iter().map(String::as_str).collect();
    stage.draw(&[], &live);
    stage.resize(10, 5);
    stage.draw(&[], &live);
    stage.check(&live);
    let bytes = stage.screen.leave();
    stage.terminal.write(bytes.as_bytes());
    stage.check(&[]);
}

#[test]
fn leaving_takes_the_live_area_away() {
    let mut stage = Stage::new(10, 4, LongRows::Wrap);
    stage.draw(&["one", "two"], LIVE);
    let bytes = stage.screen.leave();
    stage.terminal.write(bytes.as_bytes());
    stage.check(&[]);
    assert!(!stage.terminal.screen().hide_cursor());
}

// TERM-01: narrower, wider, taller, lower, on both kinds of terminals, with the wrong guess beforehand.
#[test]
fn changes_of_size_neither_lose_nor_repeat_lines() {
    for (long_rows, wrong) in [(LongRows::Wrap, Wrapping::Never), (LongRows::Cut, Wrapping::Anew)] {
        let mut stage = Stage::mistaken(10, 8, long_rows, wrong);
        for number in 0..20 {
            stage.draw(&[&format!("l{number}")], LIVE);
        }
        for (width, height) in [(9, 8), (16, 8), (10, 7), (10, 12), (8, 8), (12, 8)] {
            stage.resize(width, height);
            let rule = "-".repeat(usize::from(width));
            let live = [rule.as_str(), "> typ", rule.as_str(), "s"];
            stage.draw(&["x"], &live);
            stage.check(&live);
        }
    }
}

proptest! {
    // TERM-01: as long as the live area fits the terminal, wrapped or not.
    #[test]
    fn whatever_happens_every_line_is_there_once(
        steps in prop::collection::vec((20_u16..40, 10_u16..20, 0_usize..12, 1_usize..5), 1..20),
        wraps in any::<bool>(),
    ) {
        let long_rows = if wraps { LongRows::Wrap } else { LongRows::Cut };
        let mut stage = Stage::new(20, 10, long_rows);
        let mut count = 0;
        stage.draw(&[], &LIVE[..2]);
        for (width, height, finished, live_rows) in steps {
            stage.resize(width, height);
            let lines: Vec<String> = (0..finished).map(|n| format!("l{}", count + n)).collect();
            count += finished;
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let rule = "-".repeat(usize::from(width));
            let live: Vec<&str> = (0..=live_rows).map(|n| if n % 2 == 0 { rule.as_str() } else { "> t" }).collect();
            stage.draw(&lines, &live);
            stage.check(&live);
        }
    }
}
