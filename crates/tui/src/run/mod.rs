//! The machine at a real terminal: reads keys, takes events, draws frames.

mod keyboard;
mod pace;
mod plain;
mod question;
mod rescue;
mod signals;
mod terminal;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tiller_protocol::command::{Command, Event};
use tiller_protocol::entry::Entry;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::app::{App, Effect, Exit, Info, Options};
use crate::host::{Host, Later, Reply};
use crate::input::Past;
use crate::screen::Wrapping;
pub use question::{Manner, ask_trust, choose, pick};
use signals::{Signals, Told};
use terminal::{Background, Came, Readiness, Terminal, Urgency};

/// Between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// Between two frames while there is more to show than fits one, or somebody types.
const CATCHING_UP: Duration = Duration::from_millis(2);
/// How long events are taken in before keys are looked at again.
const PATIENCE: Duration = Duration::from_millis(8);

/// Everything a front end needs to begin.
pub struct Start {
    /// Takes commands to the session.
    pub commands: mpsc::Sender<Command>,
    /// Brings what the session tells.
    pub events: mpsc::UnboundedReceiver<Event>,
    /// What the session consisted of before.
    pub past: Vec<Arc<Entry>>,
    /// What is known of it.
    pub info: Info,
    /// What the user has chosen.
    pub options: Options,
    /// Earlier inputs, the oldest first.
    pub history: Vec<Past>,
    /// What is said first.
    pub prompt: Option<String>,
    /// The world beside the session.
    pub host: Arc<dyn Host>,
    /// How the terminal is used.
    pub surface: Surface,
}

/// How the terminal is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// With a live area; and what the terminal does with long rows if that cannot be found out.
    Live(Wrapping),
    /// Line by line, without moving the cursor: for screen readers and terminals that can do no more.
    Plain,
}

/// What can go wrong with a terminal.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// The terminal could not be read or written.
    #[error("the terminal could not be used: {0}; `tiller -p \"...\"` works without one")]
    Io(#[from] std::io::Error),
}

/// Runs the front end until the user leaves or the session ends.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn run(start: Start) -> Result<Exit, TuiError> {
    match start.surface {
        Surface::Plain => plain::run(start).await,
        Surface::Live(wrapping) => Runner::new(start, wrapping).await?.serve().await,
    }
}

struct Runner {
    app: App,
    terminal: Terminal,
    commands: mpsc::Sender<Command>,
    events: mpsc::UnboundedReceiver<Event>,
    replies: (mpsc::UnboundedSender<Reply>, mpsc::UnboundedReceiver<Reply>),
    host: Arc<dyn Host>,
    /// Commands that the session has no room for yet.
    backlog: VecDeque<Command>,
    begun: Instant,
    drawn: Instant,
    dirty: bool,
    /// There was more than one frame can show.
    is_behind: bool,
    /// Something was typed that is not shown yet.
    is_typed: bool,
    /// Until when the terminal is waited for before the next frame.
    waits: Option<Instant>,
    exit: Option<Exit>,
    /// What is said first.
    prompt: Option<String>,
}

impl Runner {
    async fn new(start: Start, wrapping: Wrapping) -> Result<Self, TuiError> {
        let terminal = Terminal::open(wrapping, background(start.options.follows_background)).await?;
        let palette = terminal.palette(start.options.palette);
        let fitting = terminal.palette(start.options.fitting);
        let options = Options { palette, fitting, ..start.options };
        let app = App::new(start.info, options, start.history, &start.past, terminal.size());
        let now = Instant::now();
        Ok(Self {
            app,
            terminal,
            commands: start.commands,
            events: start.events,
            replies: mpsc::unbounded_channel(),
            host: start.host,
            backlog: VecDeque::new(),
            begun: now,
            drawn: now.checked_sub(FRAME).unwrap_or(now),
            dirty: true,
            is_behind: false,
            is_typed: false,
            waits: None,
            exit: None,
            prompt: start.prompt,
        })
    }

    async fn serve(mut self) -> Result<Exit, TuiError> {
        let commands = self.commands.clone();
        let mut signals = Signals::listen()?;
        if let Some(prompt) = self.prompt.take() {
            let effects = self.app.on_first_prompt(&prompt);
            self.carry_out(effects, &mut signals).await?;
        }
        loop {
            self.draw_if_due()?;
            if let Some(exit) = self.exit.take() {
                self.terminal.close(&mut self.app).await?;
                return Ok(exit);
            }
            let wakes = self.wakes_at();
            let effects = tokio::select! {
                biased;
                came = self.terminal.next() => match came {
                    Came::Answer => continue,
                    came => self.on_input(came),
                },
                event = self.events.recv() => self.on_events(event),
                Some(reply) = self.replies.1.recv() => self.app.on_reply(reply),
                Ok(permit) = commands.reserve(), if !self.backlog.is_empty() => {
                    if let Some(command) = self.backlog.pop_front() {
                        permit.send(command);
                    }
                    continue;
                }
                told = signals.next() => match told {
                    Told::End => self.app.leave(),
                    Told::Size => Vec::new(),
                },
                () = until(wakes) => Vec::new(),
            };
            self.app.at(self.begun.elapsed());
            self.dirty = true;
            self.carry_out(effects, &mut signals).await?;
        }
    }

    /// When there is something to do without anybody asking.
    fn wakes_at(&self) -> Option<Instant> {
        if self.dirty {
            return self.waits.or(Some(self.drawn + self.pace()));
        }
        self.app.wakes_at().map(|at| self.begun + at)
    }

    fn pace(&self) -> Duration {
        if self.is_behind || self.is_typed { CATCHING_UP } else { FRAME }
    }

    fn draw_if_due(&mut self) -> Result<(), TuiError> {
        if !self.dirty || self.drawn.elapsed() < self.pace() {
            return Ok(());
        }
        self.waits = match self.terminal.ready(self.app.place())? {
            Readiness::Now => None,
            Readiness::Before(latest) => Some(latest),
        };
        if self.waits.is_some() {
            return Ok(());
        }
        self.app.at(self.begun.elapsed());
        self.app.resize(self.terminal.size());
        let urgency = if self.is_typed { Urgency::Typed } else { Urgency::None };
        self.terminal.draw(&mut self.app, urgency)?;
        self.is_typed = false;
        self.drawn = Instant::now();
        // What is finished while a page is open waits until it is closed.
        let waits = self.terminal.is_aside();
        self.is_behind = !waits && (self.app.has_finished() || self.terminal.is_bare());
        self.dirty = self.is_behind;
        Ok(())
    }

    fn on_input(&mut self, came: Came) -> Vec<Effect> {
        self.app.at(self.begun.elapsed());
        self.is_typed |= matches!(came, Came::Key(_) | Came::Paste(_));
        match came {
            Came::Key(key) => self.app.on_key(key),
            Came::Paste(text) => self.app.on_paste(&text),
            Came::Background(color) => {
                self.app.on_background(color);
                Vec::new()
            }
            Came::Answer => Vec::new(),
            Came::End => vec![Effect::Send(Command::Shutdown), Effect::Exit(Exit::Quit)],
        }
    }

    /// Takes in what has come, but no more than a person would notice.
    fn on_events(&mut self, event: Option<Event>) -> Vec<Effect> {
        let begun = Instant::now();
        self.app.at(self.begun.elapsed());
        let Some(event) = event else { return vec![Effect::Exit(Exit::Lost)] };
        let mut effects = self.app.on_event(event);
        while begun.elapsed() < PATIENCE
            && let Ok(event) = self.events.try_recv()
        {
            effects.extend(self.app.on_event(event));
        }
        effects
    }

    async fn carry_out(&mut self, effects: Vec<Effect>, signals: &mut Signals) -> Result<(), TuiError> {
        for effect in effects {
            match effect {
                Effect::Send(command) => self.backlog.push_back(command),
                Effect::Ask(request) => self.host.ask(request, self.replies.0.clone()),
                Effect::Signal(why) => self.terminal.signal(&why)?,
                Effect::Title(title) => self.terminal.title(&title)?,
                Effect::AskBackground => self.terminal.ask_background()?,
                Effect::Redraw => self.terminal.redraw(&mut self.app)?,
                Effect::EditInput(text) => {
                    let edited = self.lend_terminal(self.host.edit(text), signals).await?;
                    self.app.on_edited(edited);
                }
                Effect::EditPlan(ask, path) => {
                    let edited = self.lend_terminal(self.host.edit_file(path), signals).await?;
                    self.app.on_plan_edited(ask, edited);
                }
                Effect::EditFile(path) => {
                    let edited = self.lend_terminal(self.host.edit_file(path.clone()), signals).await?;
                    self.app.on_file_edited(&path, edited);
                }
                Effect::Suspend => {
                    self.terminal.suspend().await?;
                    self.host.sleep();
                    self.terminal.resume().await?;
                }
                Effect::Exit(exit) => self.exit = Some(exit),
            }
        }
        Ok(())
    }

    /// Leaves the terminal to another program until that has ended.
    async fn lend_terminal<T>(&mut self, work: Later<T>, signals: &mut Signals) -> Result<T, TuiError> {
        self.terminal.suspend().await?;
        let done = work.await;
        self.terminal.resume().await?;
        signals.forget_keys()?;
        Ok(done)
    }
}

fn background(is_followed: bool) -> Background {
    if is_followed { Background::Asked } else { Background::Known }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
