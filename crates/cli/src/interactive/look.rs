//! How the terminal is used: by what it is, by what the environment says, by settings.

use std::sync::Arc;

use tiller_config::{Places, ProjectTrust, Resolved};
use tiller_protocol::env::Env;
use tiller_tui::app::Options;
use tiller_tui::keys::Keymap;
use tiller_tui::screen::Wrapping;
use tiller_tui::theme::Palette;
use tiller_tui::{Manner, Surface};

use crate::args::Args;
use crate::{complain, settings};

/// How questions are shown before there are settings.
pub(super) fn manner(args: &Args, env: &Env) -> Manner {
    Manner {
        surface: surface(args, env),
        palette: palette(env),
        follows_background: env.var("NO_COLOR").is_none(),
        keys: Arc::new(Keymap::default()),
    }
}

/// What the user has chosen in settings that the program sees to.
pub(super) struct Chosen {
    /// The command that prints the status line.
    pub(super) status_line: Option<String>,
    /// The name of the output style.
    pub(super) output_style: String,
}

/// What the user has chosen in settings. Keys that are not understood are left out, with a warning.
pub(super) fn options(args: &Args, env: &Env, manner: &Manner) -> anyhow::Result<(Options, Chosen)> {
    // What is wrong with the settings was said when the session was set up.
    let trust = args.at_terminal.unwrap_or(ProjectTrust::Restricted);
    let settings = Resolved::load(&Places::of(env), &settings::request(args)?, env, trust)?;
    let terminal = settings.terminal;
    let chosen = terminal.theme.value.and_then(|theme| Palette::named(theme.name()));
    let no_color = env.var("NO_COLOR").is_some();
    let bindings = terminal.keys.iter().map(|(key, action)| (key.as_str(), action.value.as_str()));
    let keys = Keymap::with(bindings).unwrap_or_else(|errors| {
        errors.iter().for_each(|error| complain(&format!("warning: terminal.keys: {error}")));
        Keymap::default()
    });
    let options = Options {
        palette: chosen.filter(|_| !no_color).unwrap_or(manner.palette),
        follows_background: manner.follows_background && chosen.is_none(),
        vim: terminal.vim.value,
        keys: Arc::new(keys),
        status_command: terminal.status_line.value.is_some(),
    };
    let chosen =
        Chosen { status_line: terminal.status_line.value, output_style: settings.output_style.value };
    Ok((options, chosen))
}

fn surface(args: &Args, env: &Env) -> Surface {
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
