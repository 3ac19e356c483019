//! How commands of the agent are held: by settings and kernel on one side, by the mode on the other.

use ratatui::style::{Modifier, Style};
use tiller_protocol::mode::Mode;

use crate::theme::Theme;

/// What holds commands here, whatever the mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// By which means the kernel can hold commands, in words; none if it cannot.
    pub means: Option<String>,
    /// Whether the settings want commands held outside of plan mode, too.
    pub is_wanted: bool,
}

/// How far commands are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    ReadOnly,
    Workspace,
    NotSandboxed,
}

impl Level {
    /// The level in a word or two.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "sandboxed",
            Self::NotSandboxed => "NOT SANDBOXED",
        }
    }

    /// The name of the profile, for programs.
    pub(super) fn profile(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::NotSandboxed => "full",
        }
    }

    pub(super) fn style(self, theme: &Theme) -> Style {
        match self {
            Self::ReadOnly | Self::Workspace => theme.dim,
            Self::NotSandboxed => theme.error.add_modifier(Modifier::BOLD),
        }
    }
}

impl Confinement {
    /// How far commands are held in a mode.
    pub(super) fn level(&self, mode: Mode) -> Level {
        match mode {
            _ if self.means.is_none() => Level::NotSandboxed,
            Mode::Plan => Level::ReadOnly,
            Mode::BypassPermissions => Level::NotSandboxed,
            _ if self.is_wanted => Level::Workspace,
            _ => Level::NotSandboxed,
        }
    }

    /// The same at length: to what commands are held, by which means, or why they are not.
    pub(super) fn describe(&self, mode: Mode) -> String {
        match (&self.means, self.level(mode)) {
            (None, _) if mode == Mode::Plan => {
                "NOT SANDBOXED: no kernel support; while planning, only plainly read-only commands run"
                    .to_owned()
            }
            (None, _) => "NOT SANDBOXED: no kernel support; tiller doctor says why".to_owned(),
            (Some(means), Level::ReadOnly) => format!("read-only, enforced by {means}"),
            (Some(means), Level::Workspace) => format!("confined to the working directories by {means}"),
            (Some(_), Level::NotSandboxed) if mode == Mode::BypassPermissions => {
                "NOT SANDBOXED in this mode, apart from what deny rules name".to_owned()
            }
            (Some(_), Level::NotSandboxed) => {
                "NOT SANDBOXED: sandbox.enabled is off in the settings".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_policy_does() {
        let held = Confinement { means: Some("namespaces".to_owned()), is_wanted: true };
        let unwanted = Confinement { is_wanted: false, ..held.clone() };
        let impossible = Confinement { means: None, is_wanted: true };
        for (mode, levels) in [
            (Mode::Default, [Level::Workspace, Level::NotSandboxed, Level::NotSandboxed]),
            (Mode::AcceptEdits, [Level::Workspace, Level::NotSandboxed, Level::NotSandboxed]),
            (Mode::DontAsk, [Level::Workspace, Level::NotSandboxed, Level::NotSandboxed]),
            (Mode::Delegate, [Level::Workspace, Level::NotSandboxed, Level::NotSandboxed]),
            (Mode::BypassPermissions, [Level::NotSandboxed; 3]),
            (Mode::Plan, [Level::ReadOnly, Level::ReadOnly, Level::NotSandboxed]),
        ] {
            for (confinement, level) in [&held, &unwanted, &impossible].into_iter().zip(levels) {
                assert_eq!(confinement.level(mode), level, "{confinement:?} in {mode}");
                let words = confinement.describe(mode);
                assert_eq!(words.contains("NOT SANDBOXED"), level == Level::NotSandboxed, "{words}");
            }
        }
    }
}
