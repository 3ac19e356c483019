//! How the terminal is used: by what it is, by what the environment says, by settings.

use std::sync::Arc;

use tiller_config::{ProjectTrust, ResolvedTerminal as Terminal};
use tiller_protocol::env::Env;
use tiller_tui::app::Options;
use tiller_tui::keys::{KeyError, Keymap};
use tiller_tui::screen::Wrapping;
use tiller_tui::theme::Palette;
use tiller_tui::{Manner, Surface};

use crate::args::Args;
use crate::{complain, scope};

/// How questions are shown before there is a session. The project has no say in it yet, and what is wrong with settings
/// is told when the session is set up.
pub(super) fn manner(args: &Args, env: &Env) -> Manner {
    let mut args = args.clone();
    args.at_terminal = Some(ProjectTrust::Restricted);
    let terminal = scope::of_session(&args, env).map(|settings| settings.terminal).ok();
    let (palette, follows_background) = colours(terminal.as_ref(), env);
    let keys = terminal.and_then(|terminal| keys(&terminal).ok()).unwrap_or_default();
    Manner { surface: surface(&args, env), palette, follows_background, keys: Arc::new(keys) }
}

fn keys(terminal: &Terminal) -> Result<Keymap, Vec<KeyError>> {
    Keymap::with(terminal.keys.iter().map(|(key, action)| (key.as_str(), action.value.as_str())))
}

/// The colours, and whether they follow the terminal's background.
fn colours(terminal: Option<&Terminal>, env: &Env) -> (Palette, bool) {
    let no_color = env.var("NO_COLOR").is_some();
    let named = terminal.and_then(|terminal| Palette::named(terminal.theme.value?.name()));
    (named.filter(|_| !no_color).unwrap_or_else(|| palette(env)), !no_color && named.is_none())
}

/// What the user has chosen in settings that the program sees to.
pub(super) struct Chosen {
    /// The command that prints the status line.
    pub(super) status_line: Option<String>,
    /// The name of the output style.
    pub(super) output_style: String,
}

/// What the user has chosen in settings. Keys that are not understood are left out, with a warning.
pub(super) fn options(args: &Args, env: &Env) -> anyhow::Result<(Options, Chosen)> {
    let settings = scope::of_session(args, env)?;
    let terminal = settings.terminal;
    let fitting = palette(env);
    let (palette, follows_background) = colours(Some(&terminal), env);
    let keys = keys(&terminal).unwrap_or_else(|errors| {
        errors.iter().for_each(|error| complain(&format!("warning: terminal.keys: {error}")));
        Keymap::default()
    });
    let options = Options {
        palette,
        follows_background,
        fitting,
        vim: terminal.vim.value,
        keys: Arc::new(keys),
        status_command: terminal.status_line.value.is_some(),
    };
    let chosen =
        Chosen { status_line: terminal.status_line.value, output_style: settings.output_style.value };
    Ok((options, chosen))
}

pub(super) fn surface(args: &Args, env: &Env) -> Surface {
    let is_dumb = env.var("TERM").is_none_or(|term| term == "dumb");
    if args.plain || is_dumb { Surface::Plain } else { Surface::Live(wrapping(env)) }
}

/// Few terminals leave long rows alone, and these can be told by their variables.
fn wrapping(env: &Env) -> Wrapping {
    let term = env.var("TERM").unwrap_or_default();
    let is_screen = term.starts_with("screen") && env.var("TMUX").is_none();
    if term == "linux" || is_screen || env.var("XTERM_VERSION").is_some() {
        Wrapping::Never
    } else {
        Wrapping::Anew
    }
}

fn palette(env: &Env) -> Palette {
    if env.var("NO_COLOR").is_some() {
        return Palette::Plain;
    }
    // Some terminals tell their colours as numbers: text, then background.
    let background = env.var("COLORFGBG").and_then(|colors| colors.rsplit(';').next()?.parse::<u8>().ok());
    match background {
        Some(7 | 9..=15) => Palette::Light,
        _ => Palette::Dark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world;

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Env { vars: Arc::new(vars), ..world::env().unwrap() }
    }

    #[test]
    fn colours_follow_the_terminal() {
        assert_eq!(palette(&env(&[])), Palette::Dark);
        assert_eq!(palette(&env(&[("COLORFGBG", "0;15")])), Palette::Light);
        assert_eq!(palette(&env(&[("COLORFGBG", "15;0")])), Palette::Dark);
        assert_eq!(palette(&env(&[("NO_COLOR", "1"), ("COLORFGBG", "0;15")])), Palette::Plain);
    }

    #[test]
    fn terminals_that_cut_are_known() {
        assert_eq!(wrapping(&env(&[("TERM", "xterm-256color")])), Wrapping::Anew);
        assert_eq!(wrapping(&env(&[("TERM", "xterm"), ("XTERM_VERSION", "XTerm(390)")])), Wrapping::Never);
        assert_eq!(wrapping(&env(&[("TERM", "screen-256color"), ("TMUX", "x")])), Wrapping::Anew);
        assert_eq!(wrapping(&env(&[("TERM", "screen")])), Wrapping::Never);
    }
}
