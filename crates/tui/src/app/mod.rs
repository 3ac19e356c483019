//! The front end as a machine without IO: events, keys and replies in; effects and a picture out.

mod asks;
mod clear;
mod command;
mod confinement;
mod conversation;
mod fold;
mod frame;
mod live;
mod look;
mod mcp;
mod outbox;
mod outgoing;
mod overlay;
mod place;
mod press;
mod queue;
mod reply;
mod results;
mod rewind;
mod status;
mod tasks;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use ratatui::text::Line;
use tiller_protocol::command::{Command, Event};
use tiller_protocol::compaction::Compacted;
use tiller_protocol::entry::{Entry, Level};
use tiller_protocol::id::{AskId, SessionId};
use tiller_protocol::ledger::{Addition, Ledger};
use tiller_protocol::mcp::McpServer;
use tiller_protocol::mode::Mode;
use tiller_protocol::state::State;

use crate::cell::{self, Answer, Call};
use crate::dialog::Pending;
use crate::host::Request;
use crate::input::{Input, Past};
use crate::keys::Keymap;
use crate::menu::Candidate;
use crate::screen::Size;
use crate::theme::{Palette, Rgb, Theme};
pub use confinement::Confinement;
use live::{Live, Retry, Turn};
use look::Look;
use outbox::Outbox;
use outgoing::Outgoing;
use overlay::Overlay;
pub use place::Place;

/// A turn that took longer than this is worth a signal when it ends.
const LONG_TURN: Duration = Duration::from_secs(20);
/// How long a question that is answered by pressing the same key again stays open.
pub(crate) const AGAIN: Duration = Duration::from_secs(2);
/// How often a picture of work under way changes by itself.
const TICK: Duration = Duration::from_millis(125);
/// Rows of an earlier conversation that are shown when it is continued.
const PAST_ROWS: usize = 300;
/// Entries of it that are looked at for them.
const PAST_ENTRIES: usize = 2_000;

/// What is known of a session when it begins.
#[derive(Clone, Debug)]
pub struct Info {
    /// The session.
    pub id: SessionId,
    /// Where it works.
    pub cwd: PathBuf,
    /// Where `~` leads.
    pub home: PathBuf,
    /// The model, as it is called.
    pub model: String,
    /// Tiller's version.
    pub version: String,
    /// The mode in which it begins.
    pub mode: Mode,
    /// How commands are held.
    pub confinement: Confinement,
    /// How many tokens the model can take, if that is known.
    pub context_window: Option<u64>,
    /// The models that can be chosen.
    pub models: Vec<ModelRow>,
    /// Where plans are kept.
    pub plans: PathBuf,
    /// Whether the session may go to the mode that asks for nothing.
    pub bypass_available: bool,
    /// Commands and skills of the user, the project and plugins, which the session carries out.
    pub commands: Vec<Candidate>,
    /// What the user should know before anything else, e.g. that there is no key.
    pub advice: Vec<String>,
}

/// A model that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelRow {
    /// What people call it, in lower case.
    pub name: String,
    /// Its id, in lower case.
    pub id: String,
    /// What there is to say about it, in a few words.
    pub detail: String,
    /// How many tokens it can take, if that is known.
    pub window: Option<u64>,
}

/// What the user has chosen.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The colours.
    pub palette: Palette,
    /// Whether they follow the terminal's background, if it tells that.
    pub follows_background: bool,
    /// The colours that fit as far as is known without asking the terminal.
    pub fitting: Palette,
    /// Whether Vim keys are on.
    pub vim: bool,
    /// The keys.
    pub keys: Arc<Keymap>,
    /// A command prints the status line.
    pub status_command: bool,
}

/// What the machine wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Tell the session.
    Send(Command),
    /// Ask the host.
    Ask(Request),
    /// Get the user's attention, and say why.
    Signal(String),
    /// Name the window.
    Title(String),
    /// Let the user edit what is in the input.
    EditInput(String),
    /// Let the user edit the plan that waits for approval.
    EditPlan(AskId, PathBuf),
    /// Let the user edit a file.
    EditFile(PathBuf),
    /// Ask the terminal for the colour behind the text.
    AskBackground,
    /// Draw everything anew.
    Redraw,
    /// Put the process to sleep.
    Suspend,
    /// It is over.
    Exit(Exit),
}

/// How the front end was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The user has left.
    Quit,
    /// The user begins anew, and keeps this.
    Cleared(Kept),
    /// The user goes on with another session.
    Resume(SessionId),
    /// The session ended by itself.
    Lost,
}

/// What the user has chosen, and keeps when they begin anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The mode.
    pub mode: Mode,
    /// The model, by the name that was chosen; none if it is still the one of the settings.
    pub model: Option<String>,
}

/// Where colours come from.
#[derive(Clone, Copy, Debug)]
struct Colors {
    /// Whether they follow the background that the terminal tells.
    follow: bool,
    /// Those that fit, as far as is known.
    fitting: Palette,
}

/// The front end.
pub struct App {
    pub(crate) info: Info,
    pub(crate) state: State,
    pub(crate) ledger: Ledger,
    additions: VecDeque<Addition>,
    pub(crate) look: Look,
    pub(crate) input: Input,
    keys: Arc<Keymap>,
    live: Live,
    /// What goes to the scrollback.
    outbox: Outbox,
    /// Rows that wait until the answer before them is complete.
    held: Vec<Line<'static>>,
    /// What the session asks.
    pending: Pending,
    /// What the program itself asks or shows.
    overlay: Option<Overlay>,
    /// Whether it has the screen for itself.
    is_aside: bool,
    /// Servers of the Model Context Protocol, by name.
    servers: IndexMap<String, McpServer>,
    /// What of the conversation was folded last.
    fold: Option<Compacted>,
    /// Where one can go back to.
    trail: rewind::Trail,
    /// What the session was asked about going back.
    awaited: Option<rewind::Awaited>,
    /// When something was typed or pasted last.
    last_input_at: Option<Duration>,
    /// The question that is on the screen, and since when.
    shown: Option<(AskId, Duration)>,
    /// What is on its way to the agent.
    outgoing: Outgoing,
    /// The prompt that stands on the terminal as it was typed.
    seen: Option<String>,
    /// What commands of the user's own printed since the last prompt.
    shell_notes: Vec<String>,
    /// Commands of the user's own that run.
    shells: Vec<String>,
    /// Results that can be looked at again.
    results: results::Recent,
    /// Passing remarks below the input, and until when they stay.
    hint: Option<(String, Duration)>,
    quit_asked_at: Option<Duration>,
    escaped_at: Option<Duration>,
    closing: Option<Exit>,
    vim: bool,
    colors: Colors,
    todos_hidden: bool,
    status_command: bool,
    status_text: Option<String>,
    files_asked: bool,
    /// What the user may want to say next.
    suggestion: Option<String>,
    /// Files whose changes the session tells the model by itself, because it was told what they say.
    instructions: Vec<PathBuf>,
    /// The model that the user has chosen in this session.
    chosen_model: Option<String>,
    title: String,
    now: Duration,
}

impl App {
    /// A front end for a session with this past.
    #[must_use]
    pub fn new(info: Info, options: Options, history: Vec<Past>, past: &[Arc<Entry>], size: Size) -> Self {
        let look = Look { size, theme: Theme::new(options.palette), cwd: info.cwd.clone() };
        let mut input = Input::new(Arc::clone(&options.keys), history);
        input.set_vim(options.vim);
        input.resize(size.width);
        let pending = Pending::new(Arc::clone(&options.keys));
        let mut app = Self {
            state: State::default(),
            ledger: Ledger::default(),
            additions: VecDeque::new(),
            look,
            input,
            keys: options.keys,
            live: Live::default(),
            outbox: Outbox::default(),
            held: Vec::new(),
            pending,
            overlay: None,
            is_aside: false,
            servers: IndexMap::new(),
            fold: None,
            trail: rewind::Trail::default(),
            awaited: None,
            last_input_at: None,
            shown: None,
            outgoing: Outgoing::default(),
            seen: None,
            shell_notes: Vec::new(),
            shells: Vec::new(),
            results: results::Recent::default(),
            hint: None,
            quit_asked_at: None,
            escaped_at: None,
            closing: None,
            vim: options.vim,
            colors: Colors { follow: options.follows_background, fitting: options.fitting },
            todos_hidden: false,
            status_command: options.status_command,
            status_text: None,
            files_asked: false,
            suggestion: None,
            instructions: Vec::new(),
            chosen_model: None,
            title: String::new(),
            now: Duration::ZERO,
            info,
        };
        app.renew_commands();
        app.begin(past);
        app
    }

    fn begin(&mut self, past: &[Arc<Entry>]) {
        // What was left behind by a step back is no part of what one looks back on.
        let left = rewind::left_behind(past);
        let first = past.len().saturating_sub(PAST_ENTRIES);
        for (at, entry) in past.iter().enumerate() {
            self.fold(entry);
            if at >= first && !left.iter().any(|stretch| stretch.holds(entry.seq)) {
                self.show(entry);
            }
        }
        // An earlier run was left in the middle: what it had begun is not under way any more.
        self.live = Live::default();
        // The session is told to be in this mode; that it says so itself comes only after the first picture.
        self.state.mode = self.info.mode;
        let mut shown = std::mem::take(&mut self.outbox);
        let (rows, is_all) = shown.end(PAST_ROWS, &self.look.paper());
        let cwd = self.info.cwd.display().to_string();
        let facts = cell::Facts {
            version: &self.info.version,
            model: &self.info.model,
            cwd: &cwd,
            confinement: &self.info.confinement.describe(self.state.mode),
        };
        self.outbox.push(cell::welcome(&facts, &self.info.advice, &self.look.paper()));
        if !is_all || first > 0 {
            self.tell(Level::Info, "What was said earlier is not shown; /export has all of it.");
        }
        self.outbox.push(rows);
    }

    /// The time that has passed since the start.
    pub fn at(&mut self, now: Duration) {
        self.now = now;
        if self.hint.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.hint = None;
        }
        if self.settles_at().is_some_and(|at| at <= now) {
            self.pending.settle();
        }
    }

    /// When the picture changes by itself, if nothing else happens.
    #[must_use]
    pub fn wakes_at(&self) -> Option<Duration> {
        let tick = self.is_working().then(|| self.now + TICK);
        let hint = self.hint.as_ref().map(|(_, until)| *until);
        [tick, hint, self.settles_at()].into_iter().flatten().min()
    }

    /// Whether a turn is under way.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.live.turn.is_some() || self.closing.is_some()
    }

    /// The next rows that are finished and have not been taken yet, but no more than these: what comes faster than it is
    /// shown must not keep keys waiting.
    pub fn take_finished(&mut self, most: usize) -> Vec<Line<'static>> {
        let paper = self.look.paper();
        let mut rows = self.outbox.take(most, &paper);
        // A later answer waits until the one before it is an entry.
        if rows.len() < most
            && let Some(answer) = self.live.answers().next()
        {
            rows.extend(answer.complete(most - rows.len(), &paper));
            self.outbox.give_back(&mut rows, most);
        }
        rows
    }

    /// Whether there are more rows to take.
    #[must_use]
    pub fn has_finished(&self) -> bool {
        !self.outbox.is_empty() || self.live.open_answer().is_some_and(Answer::has_more)
    }

    /// About how many rows there are to take.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.outbox.len() + self.live.open_answer().map_or(0, Answer::rows_about)
    }

    /// The terminal has another size.
    pub fn resize(&mut self, size: Size) {
        if self.look.size == size {
            return;
        }
        self.look.size = size;
        self.input.resize(size.width);
    }

    /// The terminal has told what is behind the text. What the user has chosen counts more.
    pub fn on_background(&mut self, color: Rgb) {
        self.colors.fitting = color.palette();
        if self.colors.follow {
            self.look.theme = Theme::new(self.colors.fitting);
        }
    }

    /// The session tells something.
    pub fn on_event(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = self.event(event);
        effects.extend(self.retitle());
        effects
    }

    fn event(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Appended(entry) => return self.appended(&entry),
            Event::TurnStarted => self.begin_turn(),
            Event::StepStarted { .. } => {
                self.close_answers();
                self.live.retry = None;
            }
            Event::Stream(json) => self.live.stream(&json),
            Event::CallStarted(call) => self.live.start_call(call, self.now),
            Event::CallStopped(call) => {
                self.live.running.shift_remove(&call);
            }
            Event::Progress { call, data } => self.live.progress(&call, &data),
            Event::Retrying { attempt, max, delay, error, .. } => {
                self.live.retry = Some(Retry { at: self.now + delay, attempt, max, error });
            }
            Event::AgentStarted(info) => self.live.start_agent(info, self.now),
            Event::Agent(id, event) => {
                let paper = self.look.paper();
                let title = |call: &Call| {
                    let (tool, object) = cell::title(call, &paper);
                    format!("{tool} {object}")
                };
                self.live.agent_news(&id, &event, title);
            }
            Event::AgentEnded { id, .. } => {
                self.live.agents.shift_remove(&id);
            }
            Event::TaskChanged(task) => self.task_changed(task),
            Event::TaskOutput { id, text } => self.task_printed(&id, &text),
            Event::Asked(id, ask) => return self.asked(id, ask),
            Event::Resolved(id) => self.pending.resolve(id),
            Event::Rejected(problem) => return self.refused(&problem),
            Event::Rewind(report) => self.rewound(&report),
            Event::Idle => return self.idle(),
            Event::Closed => return vec![Effect::Exit(self.closing.take().unwrap_or(Exit::Lost))],
            Event::Suggestion(text) => self.suggestion = Some(text),
            Event::Mcp(server) => return self.server_changed(*server),
            Event::CompactionStarted { tokens, .. } => {
                self.live.folding = Some(tokens);
                self.live.compact = None;
            }
            // Why it was not folded, a notice says.
            Event::CompactionEnded { .. } => self.live.folding = None,
            Event::HookStarted { .. } | Event::Answering { .. } => {}
        }
        Vec::new()
    }

    fn begin_turn(&mut self) {
        self.suggestion = None;
        self.live.turn = Some(Turn {
            since: self.now,
            tokens: 0,
            streamed: 0,
            usd_before: self.state.spent.usd,
            failures: Vec::new(),
            only_unfolds: false,
        });
    }

    fn idle(&mut self) -> Vec<Effect> {
        self.live.turn = None;
        self.live.stopping = false;
        self.live.compact = None;
        self.close_answers();
        self.refresh_status()
    }

    fn finish_notice(&self, took: Duration) -> Vec<Effect> {
        let mut effects = Vec::new();
        if took >= LONG_TURN {
            effects.push(Effect::Signal(format!("Tiller has finished after {}", cell::elapsed(took))));
        }
        effects
    }

    /// Says something in the transcript.
    pub(crate) fn tell(&mut self, level: Level, text: &str) {
        let rows = cell::told(level, text, &self.look.paper());
        self.put(rows);
    }

    fn remark(&mut self, text: impl Into<String>) {
        self.hint = Some((text.into(), self.now + AGAIN));
    }

    fn retitle(&mut self) -> Option<Effect> {
        let sign = match (!self.pending.is_empty(), self.live.turn.is_some()) {
            (true, _) => "? ",
            (false, true) => "● ",
            (false, false) => "",
        };
        let place =
            self.info.cwd.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let title = format!("{sign}tiller {place}");
        (title != self.title).then(|| {
            self.title.clone_from(&title);
            Effect::Title(title)
        })
    }

    fn model(&self) -> &str {
        self.state.model.as_deref().unwrap_or(&self.info.model)
    }
}

#[cfg(test)]
mod tests;
