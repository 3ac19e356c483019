//! The machine at a real terminal: reads keys, takes events, draws frames.

mod plain;
mod question;
mod terminal;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event as Input, EventStream, KeyEventKind};
use futures::StreamExt;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Delivery, Entry};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::app::{App, Effect, Exit, Info, Options};
use crate::host::{Host, Reply};
use crate::input::Past;
use crate::screen::Wrapping;
pub use question::{Manner, ask_trust, choose, pick};
use terminal::Terminal;

/// Between two frames.
const FRAME: Duration = Duration::from_millis(16);
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
        Surface::Live(wrapping) => Runner::new(start, wrapping)?.serve().await,
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
    exit: Option<Exit>,
}

impl Runner {
    fn new(start: Start, wrapping: Wrapping) -> Result<Self, TuiError> {
        let terminal = Terminal::open(wrapping)?;
        let app = App::new(start.info, start.options, start.history, &start.past, terminal.size());
        let now = Instant::now();
        let mut backlog = VecDeque::new();
        backlog.extend(start.prompt.map(|prompt| first(&prompt)));
        Ok(Self {
            app,
            terminal,
            commands: start.commands,
            events: start.events,
            replies: mpsc::unbounded_channel(),
            host: start.host,
            backlog,
            begun: now,
            drawn: now.checked_sub(FRAME).unwrap_or(now),
            dirty: true,
            exit: None,
        })
    }

    async fn serve(mut self) -> Result<Exit, TuiError> {
        let mut keys = Some(EventStream::new());
        let commands = self.commands.clone();
        let mut terminated = signal(SignalKind::terminate())?;
        let mut hung_up = signal(SignalKind::hangup())?;
        loop {
            self.draw_if_due(&mut keys)?;
            if let Some(exit) = self.exit.take() {
                self.terminal.close(&mut self.app)?;
                return Ok(exit);
            }
            let stream = keys.get_or_insert_with(EventStream::new);
            let wakes = self.wakes_at();
            let effects = tokio::select! {
                biased;
                input = stream.next() => self.on_input(input)?,
                event = self.events.recv() => self.on_events(event),
                Some(reply) = self.replies.1.recv() => self.app.on_reply(reply),
                Ok(permit) = commands.reserve(), if !self.backlog.is_empty() => {
                    if let Some(command) = self.backlog.pop_front() {
                        permit.send(command);
                    }
                    continue;
                }
                _ = terminated.recv() => self.app.leave(),
                _ = hung_up.recv() => self.app.leave(),
                () = until(wakes) => Vec::new(),
            };
            self.app.at(self.begun.elapsed());
            self.dirty = true;
            self.carry_out(effects, &mut keys).await?;
        }
    }

    /// When there is something to do without anybody asking.
    fn wakes_at(&self) -> Option<Instant> {
        if self.dirty {
            return Some(self.drawn + FRAME);
        }
        self.app.wakes_at().map(|at| self.begun + at)
    }

    fn draw_if_due(&mut self, keys: &mut Option<EventStream>) -> Result<(), TuiError> {
        if !self.dirty || self.drawn.elapsed() < FRAME {
            return Ok(());
        }
        if self.terminal.has_changed()? {
            // Only one can listen to the terminal, and it has to be asked something.
            *keys = None;
            self.terminal.follow(&mut self.app)?;
        }
        self.app.at(self.begun.elapsed());
        self.terminal.draw(&mut self.app)?;
        self.drawn = Instant::now();
        self.dirty = self.app.has_finished();
        Ok(())
    }

    fn on_input(&mut self, input: Option<std::io::Result<Input>>) -> Result<Vec<Effect>, TuiError> {
        self.app.at(self.begun.elapsed());
        Ok(match input {
            Some(Ok(Input::Key(key))) if key.kind != KeyEventKind::Release => self.app.on_key(key),
            Some(Ok(Input::Paste(text))) => self.app.on_paste(&text),
            Some(Ok(_)) => Vec::new(),
            Some(Err(error)) => return Err(error.into()),
            // The terminal is gone.
            None => vec![Effect::Send(Command::Shutdown), Effect::Exit(Exit::Quit)],
        })
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

    async fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        keys: &mut Option<EventStream>,
    ) -> Result<(), TuiError> {
        for effect in effects {
            match effect {
                Effect::Send(command) => self.backlog.push_back(command),
                Effect::Ask(request) => self.host.ask(request, self.replies.0.clone()),
                Effect::Signal(why) => self.terminal.signal(&why)?,
                Effect::Title(title) => self.terminal.title(&title)?,
                Effect::Redraw => self.terminal.redraw(&mut self.app)?,
                Effect::EditInput(text) => {
                    *keys = None;
                    self.terminal.suspend()?;
                    let edited = self.host.edit(text).await;
                    self.terminal.resume(&mut self.app)?;
                    self.app.on_edited(edited);
                }
                Effect::EditPlan(ask, path) => {
                    *keys = None;
                    self.terminal.suspend()?;
                    let edited = self.host.edit_file(path).await;
                    self.terminal.resume(&mut self.app)?;
                    self.app.on_plan_edited(ask, edited);
                }
                Effect::EditFile(path) => {
                    *keys = None;
                    self.terminal.suspend()?;
                    let edited = self.host.edit_file(path.clone()).await;
                    self.terminal.resume(&mut self.app)?;
                    self.app.on_file_edited(&path, edited);
                }
                Effect::Suspend => {
                    *keys = None;
                    self.terminal.suspend()?;
                    self.host.sleep();
                    self.terminal.resume(&mut self.app)?;
                }
                Effect::Exit(exit) => self.exit = Some(exit),
            }
        }
        Ok(())
    }
}

fn first(prompt: &str) -> Command {
    let content = vec![RawBlock::text(prompt)];
    Command::Submit(UserInput { id: None, content, delivery: Delivery::Steer })
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
