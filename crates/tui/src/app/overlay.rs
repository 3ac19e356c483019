//! Views of the program itself: one at a time, with all keys for itself until it is closed.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::style::Style;
use ratatui::text::Line;
use tiller_protocol::entry::Level;
use tiller_protocol::mode::Mode;

use super::mcp::Act;
use super::queue::QueueList;
use super::rewind::Offer;
use super::{App, Effect, Exit};
use crate::dialog::{Choice, ChoiceOption, ChoiceOutcome, Form, Render, Said};
use crate::host::Request;
use crate::keys::{Action, Context};
use crate::markdown;
use crate::panel::{Page, Panel, PanelOutcome, Resume, SessionRow};
use crate::text::{clean, wrap};
use crate::theme::{Palette, Theme};
use crate::view::View;

/// The name for colours that follow the terminal.
pub(super) const AUTO: &str = "auto";

fn keep_theme(name: &str) -> Effect {
    Effect::Ask(Request::Keep { key: "terminal.theme".to_owned(), value: name.to_owned() })
}

/// A view of the program itself.
pub(super) enum Overlay {
    Choice(Choice, Subject),
    Panel(Panel),
    Page(Page, Content),
    Queue(QueueList),
}

/// What is chosen.
pub(super) enum Subject {
    Palette,
    Clear,
    Mode(Vec<Mode>),
    Rewind(Offer),
    Style(Vec<String>),
    File(Vec<PathBuf>),
    Servers(Vec<String>),
    Server(String, Vec<Act>),
}

/// What stands on a page.
pub(super) enum Content {
    /// It changes while it is looked at.
    Live(Report),
    /// It was said once.
    Text(String),
    /// It was said once, and is Markdown.
    Markdown(String),
    /// What changes comes first.
    Both(Report, String),
    /// What a server offers.
    Server(String),
}

/// Makes lines of what is known now.
pub(super) type Report = fn(&App) -> Vec<Line<'static>>;

impl Content {
    fn lines(&self, app: &App, columns: u16) -> Vec<Line<'static>> {
        let written = |text: &str| indented(text, columns, app.look.theme.text);
        match self {
            Self::Live(report) => report(app),
            Self::Text(text) => written(text),
            Self::Markdown(text) => markdown::render(text, columns, &app.look.theme),
            Self::Server(name) => app.server_rows(name, columns),
            Self::Both(report, text) => {
                let mut lines = report(app);
                lines.push(Line::default());
                lines.extend(written(text));
                lines
            }
        }
    }
}

impl App {
    /// Opens a page that follows what happens.
    pub(super) fn open_report(&mut self, title: &str, report: Report) -> Vec<Effect> {
        self.open_page(title, Content::Live(report))
    }

    pub(super) fn open_page(&mut self, title: &str, content: Content) -> Vec<Effect> {
        self.overlay = Some(Overlay::Page(Page::new(title, Arc::clone(&self.keys)), content));
        Vec::new()
    }

    pub(super) fn open(&mut self, panel: Panel) -> Vec<Effect> {
        self.overlay = Some(Overlay::Panel(panel));
        Vec::new()
    }

    pub(super) fn press_in_overlay(&mut self, key: KeyEvent) -> Vec<Effect> {
        if let Some(effects) = self.press_through(key) {
            return effects;
        }
        let effects = match self.overlay.take() {
            Some(Overlay::Choice(mut choice, subject)) => {
                let outcome = choice.handle(key);
                self.overlay = Some(Overlay::Choice(choice, subject));
                self.settle_choice(outcome)
            }
            Some(Overlay::Panel(mut panel)) => {
                let outcome = panel.handle(key);
                self.overlay = Some(Overlay::Panel(panel));
                self.settle_panel(outcome)
            }
            Some(Overlay::Page(mut page, content)) => {
                let outcome = page.handle(key);
                self.overlay = Some(Overlay::Page(page, content));
                if outcome == PanelOutcome::Closed {
                    self.forget_rewind();
                }
                self.settle_panel(outcome)
            }
            Some(Overlay::Queue(list)) => self.press_in_queue(list, key),
            None => Vec::new(),
        };
        if self.overlay.is_none() {
            // The key that closed it may be pressed twice; a question behind it has to be seen first.
            self.pending.shield();
        }
        effects
    }

    /// Keys that mean the same while something is only read: the mode goes on, which closes it, and the screen is drawn anew.
    fn press_through(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let is_read = matches!(self.overlay, Some(Overlay::Page(..) | Overlay::Panel(Panel::Help(_))));
        match self.keys.action(Context::Global, &key).filter(|_| is_read)? {
            action @ (Action::Redraw | Action::Suspend) => Some(self.act(action)),
            Action::CycleMode => {
                self.overlay = None;
                Some(self.act(Action::CycleMode))
            }
            _ => None,
        }
    }

    /// What a line can answer to the view that is open.
    pub(super) fn overlay_form(&self) -> Option<Form> {
        self.overlay.as_ref().map(|overlay| match overlay {
            Overlay::Choice(choice, _) => choice.form(),
            Overlay::Panel(panel) => panel.form(),
            Overlay::Page(..) | Overlay::Queue(_) => Form::default(),
        })
    }

    /// Takes the answer of a line.
    pub(super) fn answer_overlay(&mut self, said: &Said) -> Vec<Effect> {
        match &self.overlay {
            Some(Overlay::Choice(choice, _)) => {
                let outcome = choice.say(said);
                self.settle_choice(outcome)
            }
            Some(Overlay::Panel(panel)) => {
                let outcome = panel.say(said);
                self.settle_panel(outcome)
            }
            Some(Overlay::Page(..) | Overlay::Queue(_)) | None => self.close_overlay(),
        }
    }

    pub(super) fn overlay_view(&self, columns: u16, height: u16, theme: &Theme) -> Option<View> {
        let overlay = self.overlay.as_ref()?;
        let waiting = match self.pending.len() {
            0 => None,
            1 => Some("1 question waits until this is closed".to_owned()),
            count => Some(format!("{count} questions wait until this is closed")),
        };
        let waiting = waiting.filter(|_| height > 3).map(|text| Line::styled(text, theme.warning));
        let room = height.saturating_sub(u16::from(waiting.is_some()));
        let mut view = View::of(waiting.into_iter().collect());
        view.push(match overlay {
            Overlay::Choice(choice, _) => choice.view(columns, room, theme),
            Overlay::Panel(panel) => panel.view(columns, room, theme),
            Overlay::Page(page, content) => page.view(content.lines(self, columns), columns, room, theme),
            Overlay::Queue(list) => self.queue_view(list, columns, room, theme),
        });
        Some(view)
    }

    fn settle_choice(&mut self, outcome: ChoiceOutcome) -> Vec<Effect> {
        match outcome {
            ChoiceOutcome::Chosen(index) => match self.overlay.take() {
                Some(Overlay::Choice(_, subject)) => self.chosen(subject, index),
                _ => Vec::new(),
            },
            ChoiceOutcome::Cancelled => self.close_overlay(),
            ChoiceOutcome::Handled | ChoiceOutcome::Ignored => Vec::new(),
        }
    }

    fn settle_panel(&mut self, outcome: PanelOutcome) -> Vec<Effect> {
        match outcome {
            PanelOutcome::Resume(id) => {
                self.overlay = None;
                if id == self.info.id { Vec::new() } else { self.quit(Exit::Resume(id)) }
            }
            PanelOutcome::Model(index) => {
                self.overlay = None;
                let name = self.info.models.get(index).map(|row| row.name.clone());
                name.map(|name| self.set_model(&name)).unwrap_or_default()
            }
            PanelOutcome::Search => self.search_sessions(),
            PanelOutcome::ShowTask => self.show_marked_task(),
            PanelOutcome::StopTask => self.stop_marked_task(),
            PanelOutcome::GoBack(target) => self.preview_rewind(target),
            PanelOutcome::Closed => self.close_overlay(),
            PanelOutcome::Handled | PanelOutcome::Ignored => Vec::new(),
        }
    }

    pub(super) fn close_overlay(&mut self) -> Vec<Effect> {
        self.overlay = None;
        Vec::new()
    }

    fn chosen(&mut self, subject: Subject, index: usize) -> Vec<Effect> {
        match subject {
            Subject::Palette => match Palette::ALL.get(index) {
                Some(palette) => self.set_palette(*palette),
                None => self.follow_terminal(),
            },
            Subject::Clear if index == 0 => self.clear_now(),
            Subject::Clear => Vec::new(),
            Subject::Mode(modes) => modes.get(index).map(|mode| self.set_mode(*mode)).unwrap_or_default(),
            Subject::Style(mut names) if index < names.len() => {
                vec![Effect::Ask(Request::Style(names.swap_remove(index)))]
            }
            Subject::File(mut paths) if index < paths.len() => {
                vec![Effect::EditFile(paths.swap_remove(index))]
            }
            Subject::Style(_) | Subject::File(_) => Vec::new(),
            Subject::Servers(names) => self.choose_act(names.get(index)),
            Subject::Server(name, acts) => self.act_on_server(name, acts.get(index).copied()),
            Subject::Rewind(offer) => offer.order(index).map(Effect::Send).into_iter().collect(),
        }
    }

    /// Looks for what the picker did not find in what was said.
    fn search_sessions(&mut self) -> Vec<Effect> {
        match self.overlay.take() {
            Some(Overlay::Panel(Panel::Resume(picker))) => {
                self.remark("one moment …");
                vec![Effect::Ask(Request::Sessions(picker.query().to_owned()))]
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn choose_session(&mut self, sessions: Vec<SessionRow>) -> Vec<Effect> {
        if sessions.is_empty() {
            self.tell(Level::Info, "No other session was found.");
            return Vec::new();
        }
        if !self.may_open("/resume") {
            return Vec::new();
        }
        self.open(Panel::Resume(Resume::new(sessions, Arc::clone(&self.keys)).searching_contents()))
    }

    pub(super) fn choose_palette(&mut self) -> Vec<Effect> {
        let names = Palette::ALL.iter().map(|palette| palette.name());
        let options: Vec<ChoiceOption> = names.chain([AUTO]).map(ChoiceOption::plain).collect();
        let is_current = |palette: &Palette| !self.colors.follow && *palette == self.look.theme.palette;
        let current = Palette::ALL.iter().position(is_current).unwrap_or(options.len() - 1);
        let choice = self.choice("Which colours?", options).marking(current);
        self.overlay = Some(Overlay::Choice(choice, Subject::Palette));
        Vec::new()
    }

    /// A choice that needs no explanation.
    pub(super) fn choice(&self, title: &str, options: Vec<ChoiceOption>) -> Choice {
        let body: Render = Arc::new(|_, _| Vec::<Line<'static>>::new());
        Choice::new(title, body, options, Arc::clone(&self.keys))
    }

    pub(super) fn set_palette(&mut self, palette: Palette) -> Vec<Effect> {
        self.colors.follow = false;
        self.look.theme = Theme::new(palette);
        vec![keep_theme(palette.name()), Effect::Redraw]
    }

    /// Colours follow the terminal again. Where no colours are wanted at all, it is not asked.
    pub(super) fn follow_terminal(&mut self) -> Vec<Effect> {
        let fitting = self.colors.fitting;
        self.colors.follow = fitting != Palette::Plain;
        self.look.theme = Theme::new(fitting);
        let mut effects = vec![keep_theme(AUTO), Effect::Redraw];
        effects.extend(self.colors.follow.then_some(Effect::AskBackground));
        effects
    }
}

/// Wraps each line of a text; what goes on stands below what it belongs to.
fn indented(text: &str, columns: u16, style: Style) -> Vec<Line<'static>> {
    let text = clean(text);
    let rows = |line: &str| {
        let indent = u16::try_from(line.len() - line.trim_start_matches(' ').len()).unwrap_or(0);
        wrap(&Line::styled(line.to_owned(), style), columns, indent)
    };
    text.lines().flat_map(rows).collect()
}
