//! Keys and what they lead to.

use crossterm::event::KeyEvent;
use tiller_protocol::command::Command;
use tiller_protocol::entry::{Delivery, Level};
use tiller_protocol::id::CallId;

use super::overlay::Overlay;
use super::{AGAIN, App, Effect, Exit};
use crate::host::Request;
use crate::input::{Outcome, Past, Purpose, Submission};
use crate::keys::{Action, Context};

/// Tools whose calls can go on in the background.
const GO_ON: [&str; 2] = ["Bash", "Task"];

impl App {
    /// A key was pressed.
    pub fn on_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let mut effects = self.press_in_dialog(key).unwrap_or_else(|| self.press(key));
        self.last_input_at = Some(self.now);
        self.look_at_draft();
        effects.extend(self.retitle());
        effects
    }

    /// Something was pasted: for the field that is open, or else for the input, also while something is only read.
    pub fn on_paste(&mut self, text: &str) -> Vec<Effect> {
        let is_taken = match &mut self.overlay {
            Some(Overlay::Panel(panel)) => panel.paste(text),
            Some(_) => false,
            None => self.pending.paste(text),
        };
        self.last_input_at = Some(self.now);
        if is_taken {
            return Vec::new();
        }
        let outcome = self.input.paste(text);
        self.pending.begin_draft();
        self.look_at_draft();
        self.follow(outcome)
    }

    /// The question that is open says what is written meanwhile.
    fn look_at_draft(&mut self) {
        if self.pending.has_draft() {
            let text = self.input.text();
            self.pending.drafted(&text);
        }
    }

    /// A line was entered as a whole: nothing in it is a key.
    pub(crate) fn on_line(&mut self, line: &str) -> Vec<Effect> {
        let submission = self.input.line(line);
        if submission.text.is_empty() { Vec::new() } else { self.submit(submission, Delivery::Steer) }
    }

    /// What was said on the command line. A command of Tiller's is one here as well; other signs are plain words.
    pub(crate) fn on_first_prompt(&mut self, text: &str) -> Vec<Effect> {
        let submission = self.input.words(text);
        if submission.text.is_empty() { Vec::new() } else { self.submit(submission, Delivery::Steer) }
    }

    /// The user's editor has given the input back.
    pub fn on_edited(&mut self, text: Result<String, String>) {
        match text {
            Ok(text) => self.input.edited(&text),
            Err(problem) => self.tell(Level::Error, &problem),
        }
    }

    fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        let is_free = self.input.is_empty() && !self.input.is_searching();
        let recalls = self.keys.action(Context::Input, &key) == Some(Action::Up);
        if recalls
            && is_free
            && let Some(effects) = self.recall_queued()
        {
            return effects;
        }
        let takes = matches!(self.keys.action(Context::Input, &key), Some(Action::Queue | Action::Right));
        if takes
            && is_free
            && let Some(text) = self.suggestion.take()
        {
            self.input.edited(&text);
            return Vec::new();
        }
        match self.input.handle(key) {
            Outcome::Ignored => match self.keys.action(Context::Global, &key) {
                Some(action) => self.act(action),
                None => Vec::new(),
            },
            outcome => self.follow(outcome),
        }
    }

    fn follow(&mut self, outcome: Outcome) -> Vec<Effect> {
        self.quit_asked_at = self.quit_asked_at.filter(|_| outcome == Outcome::Abandon);
        let escapes = matches!(outcome, Outcome::Escape | Outcome::EscapeTwice);
        self.escaped_at = self.escaped_at.filter(|_| escapes);
        match outcome {
            Outcome::Handled | Outcome::Ignored => self.look_up_files(),
            Outcome::Submit(submission) => self.submit_typed(submission, Delivery::Steer),
            Outcome::Queue(submission) => self.submit_typed(submission, Delivery::Queue),
            Outcome::Escape | Outcome::EscapeTwice => self.escape(),
            Outcome::Abandon => self.abandon(),
            Outcome::EditExternally(text) => vec![Effect::EditInput(text)],
            Outcome::LoadImages(images) => self.read_images(images),
            Outcome::ReadClipboard => vec![Effect::Ask(Request::ReadClipboard)],
            Outcome::Help => self.run_command("help", "", &[]),
        }
    }

    /// Files are looked up anew each time that the user begins to mention one.
    fn look_up_files(&mut self) -> Vec<Effect> {
        let mentions = self.input.mentioned().is_some();
        let begins = mentions && !self.files_asked;
        self.files_asked = mentions;
        if begins { vec![Effect::Ask(Request::Files)] } else { Vec::new() }
    }

    pub(super) fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Interrupt => self.escape(),
            Action::CycleMode => vec![Effect::Send(Command::CycleMode)],
            Action::Background => self.background(),
            Action::ExpandOutput => self.show_results(),
            Action::Todos => {
                self.todos_hidden = !self.todos_hidden;
                Vec::new()
            }
            Action::Queued => self.edit_queue(),
            Action::Redraw => vec![Effect::Redraw],
            Action::Suspend => vec![Effect::Suspend],
            Action::Exit if self.input.is_empty() => self.quit(Exit::Quit),
            Action::Help => self.run_command("help", "", &[]),
            _ => Vec::new(),
        }
    }

    /// Typed text and the queue stay; what is finished stays.
    pub(super) fn interrupt(&mut self) -> Vec<Effect> {
        if self.live.turn.is_none() {
            return self.stop_shells();
        }
        self.live.stopping = true;
        self.live.compact = None;
        vec![Effect::Send(Command::Interrupt)]
    }

    fn stop_shells(&self) -> Vec<Effect> {
        if self.shells.is_empty() { Vec::new() } else { vec![Effect::Ask(Request::StopShell)] }
    }

    /// Stops the agent; pressed twice while nothing is under way, leads back to an earlier prompt.
    fn escape(&mut self) -> Vec<Effect> {
        if self.take_back_letters() {
            return Vec::new();
        }
        if self.is_working() || !self.shells.is_empty() {
            self.escaped_at = None;
            return self.interrupt();
        }
        if self.escaped_at.take().is_some_and(|at| self.now.saturating_sub(at) < AGAIN) {
            self.hint = None;
            return self.choose_prompt();
        }
        self.escaped_at = Some(self.now);
        self.remark(format!(
            "press {} again to go back to an earlier prompt",
            self.keys.hint(Action::Interrupt)
        ));
        Vec::new()
    }

    fn background(&mut self) -> Vec<Effect> {
        if let Some(call) = self.can_go_on() {
            return vec![Effect::Send(Command::Background(call.clone()))];
        }
        let is_running = !self.live.running.is_empty();
        self.remark(if is_running {
            "nothing that is running can move to the background"
        } else {
            "nothing is running"
        });
        Vec::new()
    }

    /// The first running call that could go on in the background.
    pub(super) fn can_go_on(&self) -> Option<&CallId> {
        let goes_on =
            |id: &&CallId| self.live.calls.get(*id).is_some_and(|call| GO_ON.contains(&call.tool.as_str()));
        self.live.running.keys().find(goes_on)
    }

    /// Ctrl+C with nothing written: stops the agent, or leaves when it is pressed again.
    fn abandon(&mut self) -> Vec<Effect> {
        if self.closing.is_some() {
            return vec![Effect::Exit(Exit::Quit)];
        }
        if self.live.turn.is_some() && !self.live.stopping {
            return self.interrupt();
        }
        if !self.shells.is_empty() {
            return self.stop_shells();
        }
        if self.quit_asked_at.is_some_and(|at| self.now.saturating_sub(at) < AGAIN) {
            return self.quit(Exit::Quit);
        }
        self.quit_asked_at = Some(self.now);
        self.remark(format!("press {} again to exit", self.keys.name(Action::Clear)));
        Vec::new()
    }

    /// Somebody outside wants the process to end.
    pub fn leave(&mut self) -> Vec<Effect> {
        self.end_with(Exit::Quit, Command::Shutdown)
    }

    /// Ends the session; the front end follows when it has ended.
    pub(super) fn quit(&mut self, exit: Exit) -> Vec<Effect> {
        let command = match exit {
            Exit::Cleared(_) => Command::Clear,
            Exit::Quit => Command::Leave,
            Exit::Resume(_) | Exit::Lost => Command::Shutdown,
        };
        self.end_with(exit, command)
    }

    fn end_with(&mut self, exit: Exit, command: Command) -> Vec<Effect> {
        if self.closing.is_some() {
            return vec![Effect::Exit(exit)];
        }
        self.closing = Some(exit);
        vec![Effect::Send(command)]
    }

    /// No more input will come: what is under way ends, then the session.
    pub(crate) fn end_of_input(&mut self) -> Vec<Effect> {
        self.closing = Some(Exit::Quit);
        self.close_when_sent()
    }

    /// What was typed is sent, unless it is a command that does not exist: then it stays, to be corrected.
    fn submit_typed(&mut self, submission: Submission, delivery: Delivery) -> Vec<Effect> {
        let Submission { purpose, text, .. } = &submission;
        match self.unknown(text).filter(|_| *purpose == Purpose::Prompt) {
            Some(unknown) => {
                self.tell(Level::Warning, &unknown);
                self.input.give_back(&Past { purpose: *purpose, text: text.clone() });
                Vec::new()
            }
            None => self.submit(submission, delivery),
        }
    }

    fn submit(&mut self, submission: Submission, delivery: Delivery) -> Vec<Effect> {
        let past = Past { purpose: submission.purpose, text: submission.text.clone() };
        let mut effects = vec![Effect::Ask(Request::Remember(past))];
        match submission.purpose {
            Purpose::Shell => {
                self.shells.push(submission.text.clone());
                effects.push(Effect::Ask(Request::Shell(submission.text)));
            }
            Purpose::Note => effects.push(Effect::Ask(Request::Note(submission.text))),
            Purpose::Prompt => effects.extend(self.prompt(&submission, delivery)),
        }
        effects
    }

    fn prompt(&mut self, submission: &Submission, delivery: Delivery) -> Vec<Effect> {
        let Submission { text, images, .. } = submission;
        if let Some((name, rest)) = super::command::recognise(text) {
            return self.run_command(name, rest, images);
        }
        if self.is_for_session(text) {
            return self.call_for(text, images);
        }
        if let Some(unknown) = self.unknown(text) {
            self.tell(Level::Warning, &unknown);
            return Vec::new();
        }
        self.send(text, images, delivery)
    }
}
