//! Keys and what they lead to.

use crossterm::event::KeyEvent;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, UserInput};
use tiller_protocol::entry::{Delivery, Level};

use super::{AGAIN, App, Effect, Exit};
use crate::host::Request;
use crate::input::{Image, Outcome, Past, Purpose, Submission};
use crate::keys::{Action, Context};

impl App {
    /// A key was pressed.
    pub fn on_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let mut effects = self.press_in_dialog(key).unwrap_or_else(|| self.press(key));
        self.last_key_at = Some(self.now);
        effects.extend(self.retitle());
        effects
    }

    /// Something was pasted.
    pub fn on_paste(&mut self, text: &str) -> Vec<Effect> {
        if self.overlay.is_some() || self.pending.paste(text) {
            return Vec::new();
        }
        let outcome = self.input.paste(text);
        self.follow(outcome)
    }

    /// The user's editor has given the input back.
    pub fn on_edited(&mut self, text: Result<String, String>) {
        match text {
            Ok(text) => self.input.edited(&text),
            Err(problem) => self.tell(Level::Error, &problem),
        }
    }

    fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        let recalls = self.keys.action(Context::Input, &key) == Some(Action::Up);
        if recalls && let Some(effects) = self.recall_queued() {
            return effects;
        }
        let takes = matches!(self.keys.action(Context::Input, &key), Some(Action::Queue | Action::Right));
        if takes
            && self.input.is_empty()
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
            Outcome::Submit(submission) => self.submit(submission, Delivery::Steer),
            Outcome::Queue(submission) => self.submit(submission, Delivery::Queue),
            Outcome::Escape | Outcome::EscapeTwice => self.escape(),
            Outcome::Abandon => self.abandon(),
            Outcome::EditExternally(text) => vec![Effect::EditInput(text)],
            Outcome::LoadImages(images) => images.into_iter().map(load).collect(),
            Outcome::ReadClipboard => vec![Effect::Ask(Request::ReadClipboard)],
            Outcome::Help => self.run_command("help", ""),
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
            Action::Help => self.run_command("help", ""),
            _ => Vec::new(),
        }
    }

    /// Typed text and the queue stay; what is finished stays.
    pub(super) fn interrupt(&mut self) -> Vec<Effect> {
        if self.live.turn.is_none() {
            return self.stop_shells();
        }
        self.live.stopping = true;
        vec![Effect::Send(Command::Interrupt)]
    }

    fn stop_shells(&self) -> Vec<Effect> {
        if self.shells.is_empty() { Vec::new() } else { vec![Effect::Ask(Request::StopShell)] }
    }

    /// Stops the agent; pressed twice while nothing is under way, leads back to an earlier prompt.
    fn escape(&mut self) -> Vec<Effect> {
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
        match self.live.running.first() {
            Some((call, _)) => vec![Effect::Send(Command::Background(call.clone()))],
            None => {
                self.remark("nothing is running");
                Vec::new()
            }
        }
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
        self.remark(format!("press {} again to leave", self.keys.name(Action::Clear)));
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
        vec![Effect::Send(Command::Close)]
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
        if let Some((name, rest)) = super::command::recognise(&submission.text) {
            return self.run_command(name, rest);
        }
        if self.is_for_session(&submission.text) {
            return vec![self.call_for(&submission.text, &submission.images)];
        }
        if let Some(unknown) = super::command::unknown(&submission.text) {
            self.tell(Level::Warning, &unknown);
            return Vec::new();
        }
        vec![self.send(&submission.text, &submission.images, delivery)]
    }

    /// Calls for something that the session carries out: its name comes first, then what belongs to it.
    fn call_for(&mut self, text: &str, images: &[Image]) -> Effect {
        let mut content = vec![RawBlock::text(text)];
        content.extend(self.shell_notes.drain(..).map(|note| RawBlock::text(&note)));
        content.extend(images.iter().filter_map(|image| self.images.remove(&image.number)));
        Effect::Send(Command::Submit(UserInput::of(content, Delivery::Queue)))
    }

    /// Says something to the agent, with what belongs to it.
    pub(super) fn send(&mut self, text: &str, images: &[Image], delivery: Delivery) -> Effect {
        let mut content: Vec<RawBlock> =
            self.shell_notes.drain(..).map(|note| RawBlock::text(&note)).collect();
        content.extend(images.iter().filter_map(|image| self.images.remove(&image.number)));
        content.push(RawBlock::text(text));
        Effect::Send(Command::Submit(UserInput::of(content, delivery)))
    }
}

fn load(image: Image) -> Effect {
    Effect::Ask(Request::LoadImage(image))
}
