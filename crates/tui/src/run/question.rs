//! A question before there is a session: trust, which session to continue, what to do without a key.

use std::io::{BufRead, Write};
use std::sync::Arc;

use crossterm::event::KeyEvent;
use tiller_protocol::id::SessionId;

use super::signals::{Signals, Told};
use super::terminal::{Came, Readiness, Terminal};
use super::{Surface, TuiError, background, until};
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
    let handle = |choice: &mut Choice, key| answer(choice.handle(key));
    ask(manner, wrapping, &mut choice, handle, Choice::view, None).await
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
        PanelOutcome::Handled | PanelOutcome::Ignored | PanelOutcome::GoBack(_) => None,
    };
    let Surface::Live(wrapping) = manner.surface else {
        let said = ask_by_line(&picker.form(), |width, theme| picker.view(width, u16::MAX, theme))?;
        return Ok(picked(picker.say(&said)).flatten());
    };
    let handle = |picker: &mut Resume, key| picked(picker.handle(key));
    ask(manner, wrapping, &mut picker, handle, Resume::view, None).await
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
    let handle = |trust: &mut Trust, key| settled(trust.handle(key));
    ask(manner, wrapping, &mut trust, handle, Trust::view, TrustOutcome::Leave).await
}

async fn ask<D, A>(
    manner: &Manner,
    wrapping: Wrapping,
    dialog: &mut D,
    mut handle: impl FnMut(&mut D, KeyEvent) -> Option<A>,
    view: impl Fn(&D, u16, u16, &Theme) -> View,
    otherwise: A,
) -> Result<A, TuiError> {
    let mut terminal = Terminal::open(wrapping, background(manner.follows_background)).await?;
    let mut signals = Signals::listen()?;
    let mut theme = Theme::new(terminal.palette(manner.palette));
    let answer = loop {
        let readiness = terminal.ready()?;
        if readiness == Readiness::Now {
            let size = terminal.size();
            terminal.show(&view(dialog, size.width, size.height.saturating_sub(1), &theme))?;
        }
        let waits = match readiness {
            Readiness::Now => None,
            Readiness::Before(latest) => Some(latest),
        };
        tokio::select! {
            came = terminal.next() => match came {
                Came::Key(key) => {
                    if let Some(answer) = handle(dialog, key) {
                        break answer;
                    }
                }
                Came::Background(color) => theme = Theme::new(color.palette()),
                Came::Paste(_) | Came::Answer => {}
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
