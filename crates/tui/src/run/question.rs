//! A question before there is a session: trust, which session to continue, what to do without a key.

use std::io::{BufRead, Write};
use std::sync::Arc;

use crossterm::event::KeyEvent;
use tiller_protocol::id::SessionId;

use super::signals::{Signals, Told};
use super::terminal::{Came, Readiness, Terminal};
use super::{Surface, TuiError, background, until};
use crate::app::Place;
use crate::dialog::{
    Choice, ChoiceOption, ChoiceOutcome, Form, Render, Said, Trust, TrustOutcome, TrustQuestion,
};
use crate::keys::Keymap;
use crate::panel::{PanelOutcome, Resume, SessionRow};
use crate::screen::Wrapping;
use crate::text::paragraphs;
use crate::theme::{Palette, Theme};
use crate::view::View;

/// Columns if the terminal does not tell.
const COLUMNS: u16 = 80;

/// How a question is shown.
#[derive(Clone, Debug)]
pub struct Manner {
    /// How the terminal is used.
    pub surface: Surface,
    /// The colours.
    pub palette: Palette,
    /// Whether they follow the terminal's background, if it tells that.
    pub follows_background: bool,
    /// The keys.
    pub keys: Arc<Keymap>,
}

/// Lets the user choose. Gives the number of the option, or nothing if the user would rather not.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn choose(
    title: &str,
    body: &str,
    options: Vec<ChoiceOption>,
    manner: &Manner,
) -> Result<Option<usize>, TuiError> {
    let body = body.to_owned();
    let render: Render = Arc::new(move |columns, theme| paragraphs(&body, columns, theme.text));
    let mut choice = Choice::new(title, render, options, Arc::clone(&manner.keys));
    let answer = |outcome| match outcome {
        ChoiceOutcome::Chosen(index) => Some(Some(index)),
        ChoiceOutcome::Cancelled => Some(None),
        _ => None,
    };
    let Surface::Live(wrapping) = manner.surface else {
        let said = ask_by_line(&choice.form(), |width, theme| choice.view(width, u16::MAX, theme))?;
        return Ok(said.index());
    };
    let mut asked = Asked {
        dialog: &mut choice,
        handle: |choice: &mut Choice, key| answer(choice.handle(key)),
        paste: |_: &mut Choice, _: &str| {},
        view: Choice::view,
    };
    asked.answer(manner, wrapping, None).await
}

/// Lets the user choose a session. Nothing if they would rather not.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn pick(sessions: Vec<SessionRow>, manner: &Manner) -> Result<Option<SessionId>, TuiError> {
    let mut picker = Resume::new(sessions, Arc::clone(&manner.keys));
    let picked = |outcome| match outcome {
        PanelOutcome::Resume(id) => Some(Some(id)),
        PanelOutcome::Closed => Some(None),
        PanelOutcome::Handled
        | PanelOutcome::Ignored
        | PanelOutcome::Search
        | PanelOutcome::Model(_)
        | PanelOutcome::ShowTask
        | PanelOutcome::StopTask
        | PanelOutcome::GoBack(_) => None,
    };
    let Surface::Live(wrapping) = manner.surface else {
        let said = ask_by_line(&picker.form(), |width, theme| picker.view(width, u16::MAX, theme))?;
        return Ok(picked(picker.say(&said)).flatten());
    };
    let mut asked = Asked {
        dialog: &mut picker,
        handle: |picker: &mut Resume, key| picked(picker.handle(key)),
        paste: Resume::paste,
        view: Resume::view,
    };
    asked.answer(manner, wrapping, None).await
}

/// Asks whether a project is trusted.
///
/// # Errors
/// When the terminal cannot be used.
pub async fn ask_trust(question: TrustQuestion, manner: &Manner) -> Result<TrustOutcome, TuiError> {
    let mut trust = Trust::new(question, Arc::clone(&manner.keys));
    let settled = |outcome| match outcome {
        TrustOutcome::Handled | TrustOutcome::Ignored => None,
        outcome => Some(outcome),
    };
    let Surface::Live(wrapping) = manner.surface else {
        let said = ask_by_line(&trust.form(), |width, theme| trust.view(width, u16::MAX, theme))?;
        return Ok(trust.say(&said));
    };
    let mut asked = Asked {
        dialog: &mut trust,
        handle: |trust: &mut Trust, key| settled(trust.handle(key)),
        paste: |_: &mut Trust, _: &str| {},
        view: Trust::view,
    };
    asked.answer(manner, wrapping, TrustOutcome::Leave).await
}

/// A question, what keys and pastes do to it, and what it looks like.
struct Asked<'a, D, H, P, V> {
    dialog: &'a mut D,
    handle: H,
    paste: P,
    view: V,
}

impl<D, H, P, V> Asked<'_, D, H, P, V> {
    /// Shows the question until a key answers it.
    async fn answer<A>(&mut self, manner: &Manner, wrapping: Wrapping, otherwise: A) -> Result<A, TuiError>
    where
        H: FnMut(&mut D, KeyEvent) -> Option<A>,
        P: FnMut(&mut D, &str),
        V: Fn(&D, u16, u16, &Theme) -> View,
    {
        let mut terminal = Terminal::open(wrapping, background(manner.follows_background)).await?;
        let mut signals = Signals::listen()?;
        let mut theme = Theme::new(terminal.palette(manner.palette));
        let answer = loop {
            let readiness = terminal.ready(Place::Below)?;
            if readiness == Readiness::Now {
                let size = terminal.size();
                terminal.show(&(self.view)(
                    self.dialog,
                    size.width,
                    size.height.saturating_sub(1),
                    &theme,
                ))?;
            }
            let waits = match readiness {
                Readiness::Now => None,
                Readiness::Before(latest) => Some(latest),
            };
            tokio::select! {
                came = terminal.next() => match came {
                    Came::Key(key) => {
                        if let Some(answer) = (self.handle)(self.dialog, key) {
                            break answer;
                        }
                    }
                    Came::Background(color) => theme = Theme::new(color.palette()),
                    Came::Paste(text) => (self.paste)(self.dialog, &text),
                    Came::Answer => {}
                    Came::End => break otherwise,
                },
                told = signals.next() => if told == Told::End {
                    break otherwise;
                },
                () = until(waits) => {}
            }
        };
        terminal.suspend().await?;
        Ok(answer)
    }
}

/// Prints the question until a line answers it. The end of the input refuses.
fn ask_by_line(form: &Form, view: impl Fn(u16, &Theme) -> View) -> Result<Said, TuiError> {
    let width = crossterm::terminal::size().map_or(COLUMNS, |(width, _)| width).max(20);
    let mut out = std::io::stdout().lock();
    loop {
        for row in view(width, &Theme::printed()).lines {
            writeln!(out, "{}", row.to_string().trim_end())?;
        }
        writeln!(out, "{}", form.prompt())?;
        out.flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Said::Refused);
        }
        if let Some(said) = form.read(&line) {
            return Ok(said);
        }
    }
}
