//! A terminal at the other end of a line: frames and answers take their time, and the size changes meanwhile.

use std::collections::VecDeque;

use proptest::prelude::*;
use ratatui::text::Line;
use tiller_testkit::terminal::{LongRows, Terminal};

use crate::screen::{Heard, Screen, Size, Wrapping};
use crate::view::View;

/// What has been written and not arrived yet.
struct Distant {
    terminal: Terminal,
    screen: Screen,
    /// Frames under way.
    frames: VecDeque<String>,
    /// Answers under way: how large the terminal was each time, and the row of the cursor.
    answers: VecDeque<(Vec<Size>, u16)>,
    /// What a frame that has come in part has heard so far.
    heard_so_far: Vec<Size>,
    finished: Vec<String>,
    live: Vec<String>,
}

impl Distant {
    fn new(width: u16, height: u16) -> Self {
        let mut screen = Screen::new(Size { width, height }, Some(0), Wrapping::Anew);
        screen.ask();
        Self {
            terminal: Terminal::new(width, height, LongRows::Wrap),
            screen,
            frames: VecDeque::new(),
            answers: VecDeque::new(),
            heard_so_far: Vec::new(),
            finished: Vec::new(),
            live: Vec::new(),
        }
    }

    fn size(&self) -> Size {
        let (height, width) = self.terminal.screen().size();
        Size { width, height }
    }

    /// Draws if that may be. The live area is as wide as the screen takes the terminal to be.
    fn draw(&mut self, finished: usize, live_rows: usize) {
        if !self.screen.has_room() {
            return;
        }
        let begin = self.finished.len();
        self.finished.extend((begin..begin + finished).map(|number| format!("line {number}")));
        let width = usize::from(self.screen.size().width);
        self.live = (0..live_rows + 2)
            .map(|row| if row % 2 == 0 { "-".repeat(width) } else { format!("> {begin}") })
            .collect();
        let lines: Vec<Line<'_>> =
            self.finished[begin..].iter().map(|line| Line::raw(line.clone())).collect();
        let view = View {
            lines: self.live.iter().map(|row| Line::raw(row.clone())).collect(),
            cursor: Some((2, 1)),
        };
        let bytes = self.screen.draw(&lines, &view);
        if !bytes.is_empty() {
            self.frames.push_back(bytes);
        }
    }

    /// Takes the live area away; where there is none, draws far more lines than the terminal has rows.
    fn flood(&mut self, lines: usize) {
        if !self.screen.has_room() {
            return;
        }
        self.live.clear();
        let begin = self.finished.len();
        let lines = if self.screen.is_bare() { lines } else { 0 };
        self.finished.extend((begin..begin + lines).map(|number| format!("line {number}")));
        let lines: Vec<Line<'_>> =
            self.finished[begin..].iter().map(|line| Line::raw(line.clone())).collect();
        let bytes = self.screen.draw(&lines, &View::default());
        if !bytes.is_empty() {
            self.frames.push_back(bytes);
        }
    }

    /// The terminal takes the oldest frame and answers.
    fn arrive(&mut self) {
        let Some(bytes) = self.frames.pop_front() else { return };
        self.take(&bytes);
        let row = self.terminal.screen().cursor_position().0;
        self.answers.push_back((std::mem::take(&mut self.heard_so_far), row));
    }

    /// The terminal takes the oldest frame as far as some of its finished lines.
    fn arrive_in_part(&mut self, lines: usize) {
        let Some(bytes) = self.frames.pop_front() else { return };
        let live = bytes.find("\x1b[?7l").unwrap_or(0);
        let end = bytes[..live].match_indices("\r\n").nth(lines).map_or(0, |(at, _)| at + 2);
        self.take(&bytes[..end]);
        self.frames.push_front(bytes[end..].to_owned());
    }

    fn take(&mut self, bytes: &str) {
        self.terminal.write(bytes.as_bytes());
        let asked = bytes.matches("\x1b[18t").count();
        self.heard_so_far.extend(std::iter::repeat_n(self.size(), asked));
    }

    fn hear(&mut self) -> Option<Heard> {
        let (sizes, row) = self.answers.pop_front()?;
        Some(self.screen.answered(&sizes, row))
    }

    /// The program learns of the size, as it does at a real terminal: when nothing is under way any more.
    fn follow(&mut self) {
        while !self.frames.is_empty() {
            self.arrive();
        }
        while self.hear().is_some() {}
        if self.size() != self.screen.size() || self.screen.is_adrift() {
            let row = self.terminal.screen().cursor_position().0;
            let bytes = self.screen.resize(self.size(), Some(row));
            self.terminal.write(bytes.as_bytes());
        }
    }

    fn shown(&mut self) -> Vec<String> {
        let mut lines = self.terminal.whole_lines();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    fn expected(&self) -> Vec<String> {
        self.finished.iter().chain(&self.live).cloned().collect()
    }
}

// TERM-01
#[test]
fn a_frame_that_comes_after_the_terminal_was_made_narrower_leaves_nothing_behind() {
    let mut distant = Distant::new(40, 20);
    distant.draw(4, 3);
    distant.follow();
    distant.draw(2, 2);
    distant.terminal.resize(15, 20);
    distant.follow();
    distant.draw(1, 3);
    distant.follow();
    assert_eq!(distant.shown(), distant.expected());
}

// TERM-01: also a frame that only changes rows.
#[test]
fn a_late_change_of_rows_is_cleared_away() {
    let mut distant = Distant::new(40, 20);
    distant.draw(4, 3);
    distant.follow();
    distant.draw(0, 3);
    distant.terminal.resize(15, 20);
    distant.follow();
    distant.draw(1, 3);
    distant.follow();
    assert_eq!(distant.shown(), distant.expected());
}

// TERM-01: however much is written at once, and however late it comes.
#[test]
fn a_flood_that_comes_after_the_terminal_was_made_narrower_leaves_nothing_behind() {
    let mut distant = Distant::new(40, 20);
    distant.draw(4, 3);
    distant.follow();
    distant.flood(500);
    distant.follow();
    distant.flood(500);
    distant.terminal.resize(15, 20);
    distant.follow();
    distant.draw(1, 3);
    distant.follow();
    assert_eq!(distant.finished.len(), 505);
    assert_eq!(distant.shown(), distant.expected());
}

#[test]
fn a_slow_terminal_is_not_flooded() {
    let mut distant = Distant::new(40, 20);
    for _ in 0..10 {
        distant.draw(1, 3);
    }
    assert_eq!(distant.frames.len(), 1, "rows were moved once");
    distant.follow();
    assert!(distant.screen.has_room());
    distant.screen.stop_waiting();
    distant.draw(1, 3);
    assert_eq!(distant.frames.len(), 1);
}

#[test]
fn answers_that_were_given_up_or_lost_delay_nothing() {
    let mut distant = Distant::new(40, 20);
    distant.draw(1, 3);
    distant.screen.stop_waiting();
    distant.draw(1, 2);
    distant.arrive();
    assert_eq!(distant.hear(), Some(Heard::Frame));
    distant.arrive();
    assert_eq!(distant.hear(), Some(Heard::Nothing));
    assert!(distant.screen.has_room());
}

#[derive(Clone, Debug)]
enum Step {
    Draw(usize, usize),
    Flood(usize),
    Arrive,
    ArriveInPart(usize),
    Hear,
    Resize(u16, u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_usize..4, 0_usize..4).prop_map(|(finished, live)| Step::Draw(finished, live)),
        1 => (50_usize..100).prop_map(Step::Flood),
        3 => Just(Step::Arrive),
        1 => (0_usize..3).prop_map(Step::ArriveInPart),
        3 => Just(Step::Hear),
        1 => (24_u16..60, 24_u16..40).prop_map(|(width, height)| Step::Resize(width, height)),
    ]
}

proptest! {
    // TERM-01: whatever is under way when the size changes. The live area and what a frame adds fit the terminal, wrapped or not.
    #[test]
    fn every_line_is_there_once_however_late_things_come(steps in prop::collection::vec(step(), 1..60)) {
        let mut distant = Distant::new(48, 30);
        for step in steps {
            match step {
                Step::Draw(finished, live) => distant.draw(finished, live),
                Step::Flood(lines) => distant.flood(lines),
                Step::Arrive => distant.arrive(),
                Step::ArriveInPart(lines) => distant.arrive_in_part(lines),
                Step::Hear => {
                    distant.hear();
                }
                Step::Resize(width, height) => {
                    distant.terminal.resize(width, height);
                    // One change at a time: the program follows before the next.
                    if !distant.frames.is_empty() {
                        distant.arrive();
                    }
                    distant.follow();
                }
            }
        }
        distant.follow();
        distant.draw(1, 2);
        distant.follow();
        prop_assert_eq!(distant.shown(), distant.expected());
    }
}
