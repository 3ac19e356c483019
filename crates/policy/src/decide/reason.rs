//! What a decision rests on.

use std::path::PathBuf;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use tiller_protocol::entry::REFUSED_BY_USER;
use tiller_protocol::mode::Mode;

use crate::permit::Release;
use crate::rule::{Rule, Source};

/// What a decision rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The permission mode.
    Mode {
        /// The mode.
        mode: Mode,
    },
    /// A rule.
    Rule {
        /// As it was written.
        rule: String,
        /// Where it comes from.
        source: Source,
        /// The settings file it stands in.
        file: Option<PathBuf>,
    },
    /// A rule in words, which a model finds to fit.
    Prompt {
        /// The rule as it was written.
        rule: String,
        /// Where it comes from.
        source: Source,
        /// The settings file it stands in.
        file: Option<PathBuf>,
    },
    /// It is not known whether a rule in words fits.
    Unchecked {
        /// The rule as it was written.
        rule: String,
        /// Where it comes from.
        source: Source,
        /// The settings file it stands in.
        file: Option<PathBuf>,
    },
    /// The place: outside the working directories.
    WorkingDir {
        /// The path in question.
        path: PathBuf,
    },
    /// The call changes nothing.
    ReadOnly,
    /// The user said yes.
    User,
    /// The run may contact this machine only.
    Offline {
        /// What would be contacted.
        host: String,
    },
    /// The user said no.
    Refused {
        /// In these words.
        feedback: Option<String>,
    },
    /// A hook said so.
    Hook {
        /// The hook.
        name: String,
        /// What it says.
        reason: String,
    },
    /// The confinement of a command refused something, and the command would run again without it.
    Leaving {
        /// What was refused.
        what: String,
        /// What the command said about it.
        line: String,
        /// What it would get.
        release: Release,
    },
    /// The call is a question to the user.
    NeedsUser,
    /// Nothing speaks for it or against it.
    Uncovered {
        /// What would be touched.
        what: String,
    },
    /// It would change what is allowed or run later.
    Guarded {
        /// The file in question.
        path: PathBuf,
    },
    /// It may read what a rule forbids to read.
    MayRead {
        /// The rule as it was written.
        rule: String,
        /// Where it comes from.
        source: Source,
        /// The settings file it stands in.
        file: Option<PathBuf>,
    },
    /// The agent has a directory of its own and changes nothing outside of it.
    Fenced {
        /// The directory.
        fence: PathBuf,
        /// What would be changed, or where a command would run.
        path: PathBuf,
    },
    /// The command is not understood.
    Opaque {
        /// Why not.
        why: &'static str,
    },
}

impl Reason {
    pub(crate) fn rule(rule: &Rule) -> Self {
        Self::Rule { rule: rule.to_string(), source: rule.origin.source, file: rule.origin.file.clone() }
    }

    pub(crate) fn prompt(rule: &Rule) -> Self {
        Self::Prompt { rule: rule.to_string(), source: rule.origin.source, file: rule.origin.file.clone() }
    }

    pub(crate) fn unchecked(rule: &Rule) -> Self {
        Self::Unchecked { rule: rule.to_string(), source: rule.origin.source, file: rule.origin.file.clone() }
    }

    /// Whether it says no more than that no rule allows what is asked about: this command, or what anybody sees of the
    /// call.
    #[must_use]
    pub fn restates(&self, command: Option<&str>) -> bool {
        let Self::Uncovered { what } = self else { return false };
        let part = what.strip_prefix("the command `").and_then(|rest| rest.strip_suffix('`'));
        match part {
            Some(part) => command.is_some_and(|command| command.trim() == part),
            None => ["writing ", "contacting ", "the tool "].iter().any(|lead| what.starts_with(lead)),
        }
    }

    /// A sentence for users and for the model.
    #[must_use]
    pub fn explain(&self) -> String {
        match self {
            Self::Mode { mode: Mode::Plan } => {
                "plan mode is active: nothing may be changed but the plan file".to_owned()
            }
            Self::Mode { mode: Mode::Delegate } => {
                "delegate mode is active: work is handed to other agents, and nothing else is done but reading".to_owned()
            }
            Self::Mode { mode } => format!("the permission mode is {mode}"),
            Self::Rule { rule, .. } => format!("the rule {rule} says so"),
            Self::Prompt { rule, .. } => format!("it does what the rule {rule} describes"),
            Self::Unchecked { rule, .. } => {
                format!("only a model can tell whether the rule {rule} speaks of it, and there is no answer")
            }
            Self::WorkingDir { path } => format!("{} is outside the working directories", path.display()),
            Self::ReadOnly => "it changes nothing".to_owned(),
            Self::User => "the user allowed it".to_owned(),
            Self::Refused { feedback: None } => REFUSED_BY_USER.to_owned(),
            Self::Refused { feedback: Some(feedback) } => format!("{REFUSED_BY_USER}: {feedback}"),
            Self::Offline { host } => {
                format!("this run is offline and may contact this machine only, not {host}")
            }
            Self::Hook { name, reason } if reason.is_empty() => format!("the hook {name} says so"),
            Self::Hook { name, reason } => format!("the hook {name} says: {reason}"),
            Self::Leaving { what, line, release } => format!(
                "the sandbox seems to have refused {what} ({line}); the command would run again from the start, {}",
                match release {
                    Release::Network => "with the network and otherwise in the sandbox",
                    Release::Machine => "outside of the sandbox, with no more network than before",
                }
            ),
            Self::NeedsUser => "it is a question to the user".to_owned(),
            Self::Uncovered { what } => format!("no rule allows {what}"),
            Self::Guarded { path } => {
                format!("no rule allows changing {}, which steers what is run", path.display())
            }
            Self::MayRead { rule, .. } => format!(
                "it could read what the rule {rule} forbids to read; Read, Grep and Glob leave such files out"
            ),
            Self::Fenced { fence, path } => format!(
                "this agent works in {} and changes nothing outside of it; {} is not kept inside",
                fence.display(),
                path.display()
            ),
            Self::Opaque { why } => format!("no rule allows the command as it stands: {why}"),
        }
    }
}

/// Written with the kinds that hosts know: `mode`, `rule`, `workingDir`, `hook`, `other`.
impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Mode { mode } => {
                map.serialize_entry("type", "mode")?;
                map.serialize_entry("mode", mode)?;
            }
            Self::Rule { rule, source, file } => {
                map.serialize_entry("type", "rule")?;
                map.serialize_entry("rule", rule)?;
                map.serialize_entry("source", source)?;
                if let Some(file) = file {
                    map.serialize_entry("file", file)?;
                }
            }
            Self::WorkingDir { path } => {
                map.serialize_entry("type", "workingDir")?;
                map.serialize_entry("path", path)?;
            }
            Self::Hook { name, reason } => {
                map.serialize_entry("type", "hook")?;
                map.serialize_entry("hookName", name)?;
                map.serialize_entry("reason", reason)?;
            }
            other => {
                map.serialize_entry("type", "other")?;
                map.serialize_entry("reason", &other.explain())?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_restates_what_anybody_sees() {
        let uncovered = |what: &str| Reason::Uncovered { what: what.to_owned() };
        let command = "the command `curl x`";
        assert!(uncovered(command).restates(Some("curl x\n")));
        assert!(!uncovered(command).restates(Some("ls && curl x")), "which part it is says something");
        assert!(uncovered("writing /work/a").restates(None));
        assert!(!uncovered("leaving a command running in the background").restates(Some("make")));
        assert!(!Reason::WorkingDir { path: "/etc".into() }.restates(None));
    }
}
