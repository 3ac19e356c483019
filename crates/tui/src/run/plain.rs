//! Line by line: nothing is ever redrawn, so that screen readers and simple terminals can follow.

use std::io::{BufRead, IsTerminal, Write};
use std::sync::Arc;

use tiller_protocol::command::Command;
use tiller_protocol::entry::Level;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Start, TuiError};
use crate::app::{AGAIN, App, Effect, Exit, Options};
use crate::dialog::Said;
use crate::host::{Host, Reply};
use crate::screen::Size;
use crate::theme::Palette;

/// Columns if the terminal does not tell.
const COLUMNS: u16 = 80;
/// A question is printed as a whole.
const ROWS: u16 = 1_000;

struct Plain {
    app: App,
    commands: mpsc::Sender<Command>,
    host: Arc<dyn Host>,
    replies: mpsc::UnboundedSender<Reply>,
    begun: Instant,
    /// The mode that was told last.
    told_mode: String,
    /// The question that was printed last.
    asked: String,
    width: u16,
    /// Whether the sign that input is awaited stands there.
    prompted: bool,
    /// Whether nothing has ended the row of that sign.
    row_is_open: bool,
    /// When Ctrl+C was pressed last.
    interrupted: Option<Instant>,
    /// Whether the terminal shows what is typed.
    echoes: bool,
    /// Whether no more input will come.
    ended: bool,
    exit: Option<Exit>,
}

/// Runs the front end line by line.
pub(super) async fn run(start: Start) -> Result<Exit, TuiError> {
    let width = crossterm::terminal::size().map_or(COLUMNS, |(width, _)| width).max(20);
    let options = Options { palette: Palette::Plain, vim: false, ..start.options };
    let app = App::new(start.info, options, start.history, &start.past, Size { width, height: ROWS });
    let (replies, mut answers) = mpsc::unbounded_channel();
    let mut plain = Plain {
        app,
        commands: start.commands,
        host: start.host,
        replies,
        begun: Instant::now(),
        told_mode: String::new(),
        asked: String::new(),
        width,
        prompted: false,
        row_is_open: false,
        interrupted: None,
        echoes: std::io::stdin().is_terminal(),
        ended: false,
        exit: None,
    };
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut ends = [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    let mut events = start.events;
    let mut lines = lines();
    if let Some(prompt) = start.prompt {
        let effects = plain.app.on_first_prompt(&prompt);
        plain.carry_out(effects).await;
    }
    loop {
        plain.app.at(plain.begun.elapsed());
        plain.tell_mode();
        plain.print()?;
        let refusals = plain.refuse_if_ended();
        plain.carry_out(refusals).await;
        if let Some(exit) = plain.exit.take() {
            plain.close_row()?;
            return Ok(exit);
        }
        let effects = tokio::select! {
            line = lines.recv(), if !plain.ended => match line {
                Some(line) => plain.on_line(&line),
                None => plain.end(),
            },
            event = events.recv() => match event {
                Some(event) => plain.app.on_event(event),
                None => vec![Effect::Exit(Exit::Lost)],
            },
            _ = interrupts.recv() => plain.on_interrupt(),
            () = any(&mut ends) => plain.app.leave(),
            Some(reply) = answers.recv() => plain.app.on_reply(reply),
        };
        plain.carry_out(effects).await;
    }
}

impl Plain {
    /// What a line means: an answer if something is asked, input otherwise.
    fn on_line(&mut self, line: &str) -> Vec<Effect> {
        let line = line.trim_end();
        if let Some(form) = self.app.form() {
            // What is no answer chooses nothing: the question is printed once more.
            self.asked.clear();
            return form.read(line).map(|said| self.app.answer(said)).unwrap_or_default();
        }
        if line.trim().is_empty() {
            return Vec::new();
        }
        if self.echoes {
            self.row_is_open = false;
            self.app.seen_already(line);
        }
        self.app.on_line(line)
    }

    /// Tells the mode at the beginning and whenever it has changed: there is no line that would always show it.
    fn tell_mode(&mut self) {
        let mode = self.app.mode_in_words();
        if mode != self.told_mode {
            self.app.tell(Level::Info, &format!("Mode: {mode}"));
            self.told_mode = mode;
            self.prompted = false;
        }
    }

    /// Ctrl+C stops what is under way, and leaves when it is pressed again.
    fn on_interrupt(&mut self) -> Vec<Effect> {
        let is_second = self.interrupted.is_some_and(|at| at.elapsed() < AGAIN);
        self.interrupted = Some(Instant::now());
        if is_second {
            return self.app.leave();
        }
        let effects = self.app.stop();
        if effects.is_empty() {
            self.app.tell(Level::Info, "Press Ctrl+C again to exit.");
        }
        self.prompted = false;
        effects
    }

    /// Nobody will write any more: what was said is done, what is asked is refused.
    fn end(&mut self) -> Vec<Effect> {
        self.ended = true;
        self.app.end_of_input()
    }

    /// Nobody is left to answer.
    fn refuse_if_ended(&mut self) -> Vec<Effect> {
        if !self.ended || self.app.form().is_none() {
            return Vec::new();
        }
        self.app.answer(Said::Refused)
    }

    /// Whatever is printed next begins in a row of its own.
    fn close_row(&mut self) -> Result<(), TuiError> {
        if std::mem::take(&mut self.row_is_open) {
            writeln!(std::io::stdout())?;
        }
        Ok(())
    }

    /// Prints what is finished, and a question once.
    fn print(&mut self) -> Result<(), TuiError> {
        let mut out = std::io::stdout().lock();
        loop {
            let rows = self.app.take_finished(ROWS.into());
            if rows.is_empty() {
                break;
            }
            self.row_is_open = false;
            for row in rows {
                writeln!(out, "{}", row.to_string().trim_end())?;
            }
        }
        self.print_question(&mut out)?;
        let waits = self.exit.is_none() && !self.app.is_working() && self.asked.is_empty() && !self.ended;
        if waits && !self.prompted {
            write!(out, "\n> ")?;
            self.row_is_open = true;
        }
        self.prompted = waits;
        out.flush()?;
        Ok(())
    }

    /// Prints what is asked, once. What is only to be read is closed at once.
    fn print_question(&mut self, out: &mut impl Write) -> Result<(), TuiError> {
        let Some(form) = self.app.form() else {
            self.asked.clear();
            return Ok(());
        };
        let rows = self.app.question(self.width).lines;
        let rows: Vec<String> = rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect();
        let question = rows.join("\n");
        if question != self.asked {
            writeln!(out, "\n{question}")?;
        }
        if form.count == 0 {
            self.app.answer(Said::Refused);
            return self.print_question(out);
        }
        if question != self.asked {
            writeln!(out, "{}", form.prompt())?;
            self.asked = question;
        }
        Ok(())
    }

    async fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(command) => self.send(command).await,
                Effect::Ask(request) => self.host.ask(request, self.replies.clone()),
                // The editor and this program cannot both read the terminal's lines.
                Effect::EditFile(path) => self.app.tell(Level::Info, &format!("It is in {}", path.display())),
                Effect::EditInput(text) => self.app.on_edited(Ok(text)),
                Effect::Exit(exit) => self.exit = Some(exit),
                Effect::EditPlan(..)
                | Effect::Signal(_)
                | Effect::Title(_)
                | Effect::AskBackground
                | Effect::Redraw
                | Effect::Suspend => {}
            }
        }
    }

    async fn send(&self, command: Command) {
        // A session that has ended takes no commands; its last event is on the way.
        let _ = self.commands.send(command).await;
    }
}

/// Waits for one of two signals.
async fn any([first, second]: &mut [Signal; 2]) {
    tokio::select! {
        _ = first.recv() => {}
        _ = second.recv() => {}
    }
}

/// Lines of standard input. The thread ends with the input or with the process.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
