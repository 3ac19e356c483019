//! The input line: a text of several lines with undo, a kill ring, history, completion, folded pastes and Vim keys.

mod buffer;
mod complete;
mod editor;
mod fold;
pub(crate) mod grapheme;
mod kill;
mod layout;
mod motion;
mod past;
mod search;
mod undo;
mod view;
mod vim;

use std::path::Path;
use std::sync::Arc;

use crossterm::event::KeyEvent;

use complete::Completion;
pub(crate) use editor::{Edited, Editor};
pub use fold::Image;
use past::History;
pub use past::{Past, Purpose};
use search::Search;
pub(crate) use view::draw;
pub use vim::VimMode;
use vim::{Vim, VimKeys};

use crate::keys::{Action, Chord, Context, Keymap};
use crate::menu::Candidate;
use grapheme::cleaned;

/// What the user is done with writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What it is meant as.
    pub purpose: Purpose,
    /// The text in full.
    pub text: String,
    /// The text as the user saw it, with labels for long pastes.
    pub shown: String,
    /// The images that are named in it.
    pub images: Vec<Image>,
}

/// What a key or a paste leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The input has changed, or at least the key was taken.
    Handled,
    /// The key means nothing here; it may elsewhere.
    Ignored,
    /// Send; into the running turn, if there is one.
    Submit(Submission),
    /// Send when the running turn is over.
    Queue(Submission),
    /// Esc, with nothing here that it would close.
    Escape,
    /// Esc again, with no other key in between.
    EscapeTwice,
    /// Ctrl+C, with nothing here to clear.
    Abandon,
    /// Open this text in the user's editor, then call [`Input::edited`].
    EditExternally(String),
    /// Load these images; for one that fails, call [`Input::image_failed`].
    LoadImages(Vec<Image>),
    /// Look for an image in the clipboard, and if there is one, call [`Input::attach`].
    ReadClipboard,
    /// Show the help.
    Help,
}

/// The input line.
#[derive(Clone, Debug)]
pub struct Input {
    editor: Editor,
    purpose: Purpose,
    history: History,
    completion: Completion,
    search: Option<Search>,
    vim: Option<VimKeys>,
    /// Whether the last key was an Esc that closed nothing.
    escaped: bool,
    /// What the text was meant as that was cleared last, and how many steps had led to the empty one.
    cleared: Option<(usize, Purpose)>,
}

impl Input {
    /// An empty input. The history has the oldest entry first.
    #[must_use]
    pub fn new(keys: Arc<Keymap>, history: Vec<Past>) -> Self {
        let clean = |past: Past| Past { text: cleaned(&past.text), ..past };
        Self {
            editor: Editor::new(keys),
            purpose: Purpose::Prompt,
            history: History::new(history.into_iter().map(clean).collect()),
            completion: Completion::default(),
            search: None,
            vim: None,
            escaped: false,
            cleared: None,
        }
    }

    /// The columns that the input will have: what is above and below a place depends on them.
    pub fn resize(&mut self, columns: u16) {
        self.editor.resize(view::text_columns(columns));
    }

    /// Switches Vim keys on or off.
    pub fn set_vim(&mut self, on: bool) {
        self.editor.buffer.release();
        self.vim = on.then(VimKeys::default);
    }

    /// Vim's mode, if Vim keys are on.
    #[must_use]
    pub fn vim_mode(&self) -> Option<VimMode> {
        self.vim.as_ref().map(VimKeys::mode)
    }

    /// The commands that `/` offers.
    pub fn set_commands(&mut self, commands: Arc<[Candidate]>) {
        self.completion.set_commands(commands);
    }

    /// The files and directories that `@` offers.
    pub fn set_files(&mut self, files: Arc<[Candidate]>) {
        self.completion.set_files(files);
        self.complete();
    }

    /// The path that the user begins to mention, so that files can be looked up for it.
    #[must_use]
    pub fn mentioned(&self) -> Option<&str> {
        self.completion.mentioned(self.editor.buffer.text())
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.editor.is_empty() && self.purpose == Purpose::Prompt
    }

    /// Whether the history is searched.
    #[must_use]
    pub fn is_searching(&self) -> bool {
        self.search.is_some()
    }

    /// What the text is meant as.
    #[must_use]
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The text in full.
    #[must_use]
    pub fn text(&self) -> String {
        self.editor.expanded()
    }

    /// Puts an image into the text. The host knows it by its number from now on.
    pub fn attach(&mut self, path: &Path) -> Image {
        self.editor.attach(path)
    }

    /// An image could not be loaded: what stands for it becomes its path.
    pub fn image_failed(&mut self, number: usize) {
        self.editor.detach(number);
    }

    /// The text as it came out of the user's editor.
    pub fn edited(&mut self, text: &str) {
        self.editor.set(text.trim_end_matches(['\n', '\r']));
        self.complete();
    }

    /// Gives back what was sent but will not be delivered, before what was written since.
    pub fn give_back(&mut self, past: &Past) {
        let since = self.editor.expanded();
        let text = fold::without_signs(&past.text, self.editor.folds.images(&past.text).len());
        let both = if since.is_empty() { text.to_owned() } else { format!("{text}\n{since}") };
        if self.is_empty() {
            self.purpose = past.purpose;
        }
        self.editor.set(&both);
    }

    /// Takes what was pasted as one piece; it never submits.
    pub fn paste(&mut self, text: &str) -> Outcome {
        self.escaped = false;
        if let Some(search) = &mut self.search {
            search.type_text(&cleaned(text));
            return Outcome::Handled;
        }
        // Terminals send an empty paste if the clipboard has an image and no text.
        if text.is_empty() {
            return Outcome::ReadClipboard;
        }
        let images = self.editor.paste(text);
        self.history.stay();
        self.complete();
        if images.is_empty() { Outcome::Handled } else { Outcome::LoadImages(images) }
    }

    /// Takes a line that was entered as a whole: its first sign says what it is meant as, and nothing in it is a key. A
    /// line that consists of paths of images attaches them.
    pub fn line(&mut self, line: &str) -> Submission {
        let line = line.trim_end();
        let purpose = line.chars().next().and_then(Purpose::begun_by).unwrap_or_default();
        let text = purpose.sign().and_then(|sign| line.strip_prefix(sign)).unwrap_or(line);
        self.entered(purpose, text)
    }

    /// Takes a prompt as a whole, whatever it begins with.
    pub fn words(&mut self, text: &str) -> Submission {
        self.entered(Purpose::Prompt, text.trim_end())
    }

    fn entered(&mut self, purpose: Purpose, text: &str) -> Submission {
        self.editor.clear();
        self.begin_anew();
        self.purpose = purpose;
        match purpose {
            Purpose::Prompt => drop(self.editor.paste(text)),
            Purpose::Shell | Purpose::Note => self.editor.paste_text(text.trim_start()),
        }
        let submission = self.submission();
        self.remember_and_clear(&submission);
        submission
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> Outcome {
        let escaped = std::mem::take(&mut self.escaped);
        if Chord::pressed(&key).is_none() {
            self.escaped = escaped;
            return Outcome::Ignored;
        }
        if self.search.is_some() {
            return self.handle_search(&key);
        }
        if let Some(outcome) = self.handle_menu(&key) {
            return outcome;
        }
        match self.vim_action(&key) {
            Vim::Taken => {
                self.changed();
                Outcome::Handled
            }
            Vim::Means(action) => self.act(action),
            Vim::Repeats(keys) => {
                keys.iter().for_each(|key| self.repeat(key));
                self.changed();
                Outcome::Handled
            }
            Vim::Passed => {
                let before = self.editor.strokes();
                let outcome = self.handle_plain(&key, escaped);
                if self.editor.strokes() != before {
                    self.record(&key);
                }
                outcome
            }
        }
    }

    /// Makes a part of a change again. It edits the text and does nothing else: what begins a line is text here.
    fn repeat(&mut self, key: &KeyEvent) {
        if self.vim_action(key) != Vim::Passed {
            return;
        }
        let edited = match self.editor.handle(key) {
            Edited::Other(Action::Submit) if self.continues_line() => self.editor.apply(Action::Newline),
            edited => edited == Edited::Yes,
        };
        if edited {
            self.record(key);
        }
    }

    fn record(&mut self, key: &KeyEvent) {
        if let Some(vim) = &mut self.vim {
            vim.inserted(key);
        }
    }

    fn vim_action(&mut self, key: &KeyEvent) -> Vim {
        self.vim.as_mut().map_or(Vim::Passed, |vim| vim.handle(key, &mut self.editor.buffer))
    }

    fn handle_plain(&mut self, key: &KeyEvent, escaped: bool) -> Outcome {
        if self.editor.keys().action(Context::Global, key) == Some(Action::Interrupt) {
            return self.escape(escaped);
        }
        let action = self.editor.keys().action(Context::Input, key);
        if action == Some(Action::ShortHelp) && self.is_empty() {
            return Outcome::Help;
        }
        let typed = Chord::pressed(key).and_then(|chord| chord.typed());
        if let Some(purpose) = typed.filter(|_| self.is_empty()).and_then(Purpose::begun_by) {
            self.purpose = purpose;
            return Outcome::Handled;
        }
        match action.filter(|_| typed.is_none()) {
            Some(action) => self.act(action),
            None => match self.editor.handle(key) {
                Edited::No | Edited::Other(_) => Outcome::Ignored,
                Edited::Yes => {
                    self.changed();
                    Outcome::Handled
                }
            },
        }
    }

    fn escape(&mut self, again: bool) -> Outcome {
        if self.editor.is_empty() && self.purpose != Purpose::Prompt {
            self.purpose = Purpose::Prompt;
            return Outcome::Handled;
        }
        self.escaped = !again;
        if again { Outcome::EscapeTwice } else { Outcome::Escape }
    }

    fn act(&mut self, action: Action) -> Outcome {
        match action {
            Action::Submit if self.continues_line() => self.act(Action::Newline),
            Action::Submit => self.submit().map_or(Outcome::Handled, Outcome::Submit),
            Action::Queue => self.submit().map_or(Outcome::Ignored, Outcome::Queue),
            Action::Clear if self.is_empty() => Outcome::Abandon,
            Action::Clear => {
                let had_text = !self.editor.is_empty();
                self.editor.set("");
                self.cleared = had_text.then(|| (self.editor.buffer.steps(), self.purpose));
                self.begin_anew()
            }
            Action::Undo | Action::Redo => self.step(action),
            Action::HistoryOlder => self.recall(true),
            Action::HistoryNewer => self.recall(false),
            Action::HistorySearch => {
                self.search = Some(Search::new(self.history.entries()));
                Outcome::Handled
            }
            Action::ExternalEditor => Outcome::EditExternally(self.editor.expanded()),
            Action::PasteImage => Outcome::ReadClipboard,
            Action::DeleteBack if self.editor.is_empty() => {
                self.purpose = Purpose::Prompt;
                Outcome::Handled
            }
            action if self.editor.apply(action) => {
                self.changed();
                Outcome::Handled
            }
            Action::Up => self.recall(true),
            Action::Down => self.recall(false),
            _ => Outcome::Ignored,
        }
    }

    /// Takes a step back or again. A text that was cleared is meant as before.
    fn step(&mut self, action: Action) -> Outcome {
        let before = self.editor.buffer.steps();
        self.editor.apply(action);
        if let Some((steps, purpose)) = self.cleared {
            match (before, self.editor.buffer.steps()) {
                (from, to) if from == steps && to < steps => self.purpose = purpose,
                (from, to) if from < steps && to == steps => self.purpose = Purpose::Prompt,
                _ => {}
            }
        }
        self.changed();
        Outcome::Handled
    }

    /// After an edit: completion follows what is written now.
    fn changed(&mut self) {
        self.history.stay_unless_shown(self.editor.buffer.text());
        self.complete_if_edited();
    }

    fn begin_anew(&mut self) -> Outcome {
        self.purpose = Purpose::Prompt;
        self.history.stay();
        if let Some(vim) = &mut self.vim {
            vim.reset(&mut self.editor.buffer);
        }
        self.complete();
        Outcome::Handled
    }

    /// A backslash at the end of a line continues it; the backslash itself goes.
    fn continues_line(&mut self) -> bool {
        let (text, cursor) = (self.editor.buffer.text(), self.editor.buffer.cursor());
        let continues = text[..cursor].ends_with('\\') && !text[..cursor].ends_with("\\\\");
        if continues {
            self.editor.replace(cursor - 1..cursor, "");
        }
        continues
    }

    fn submit(&mut self) -> Option<Submission> {
        let submission = Some(self.submission()).filter(|submission| !submission.text.is_empty())?;
        self.remember_and_clear(&submission);
        Some(submission)
    }

    fn submission(&self) -> Submission {
        let text = self.editor.expanded().trim_end().to_owned();
        Submission {
            purpose: self.purpose,
            shown: self.editor.folds.labelled(self.editor.buffer.text()),
            images: self.editor.folds.images(&text),
            text,
        }
    }

    fn remember_and_clear(&mut self, submission: &Submission) {
        self.history.push(Past { purpose: submission.purpose, text: submission.text.clone() });
        self.editor.clear();
        self.cleared = None;
        self.begin_anew();
    }

    fn recall(&mut self, older: bool) -> Outcome {
        let draft = || Past { purpose: self.purpose, text: self.editor.buffer.text().to_owned() };
        let recalled = if older { self.history.older(draft) } else { self.history.newer() };
        let Some(past) = recalled else { return Outcome::Ignored };
        self.purpose = past.purpose;
        self.editor.restore(&past.text);
        self.completion.rest(self.editor.buffer.revision());
        Outcome::Handled
    }
}

#[cfg(test)]
mod tests;
