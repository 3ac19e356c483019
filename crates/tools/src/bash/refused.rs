//! What a confinement can refuse, in words.

use tiller_policy::{Permit, Release};
use tiller_sandbox::{Confinement, Level, Profile};

/// What a confinement refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// To read what a rule forbids to read.
    Reading,
    /// To write.
    Writing,
    /// To write anything at all: it runs because it only looks.
    Change,
    /// To change what steers git or Tiller.
    Steering,
    /// To reach other machines.
    Network,
    /// To reach a service of the user's.
    Socket,
    /// To do something with the machine.
    Call,
}

impl Refused {
    /// What was refused, for people.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::Reading => "a file that a rule forbids to read",
            Self::Writing => "writing outside of what commands may write",
            Self::Change => "a change, by a command that runs because it only looks",
            Self::Steering => "a change of what steers git or Tiller",
            Self::Network => "the network",
            Self::Socket => "a service of the user's",
            Self::Call => "an operation that commands may not use",
        }
    }

    /// What a command gets if the user lets it have what was refused. Nothing for what rules forbid.
    #[must_use]
    pub fn release(self) -> Option<Release> {
        match self {
            Self::Reading | Self::Change => None,
            Self::Network => Some(Release::Network),
            Self::Writing | Self::Steering | Self::Socket | Self::Call => Some(Release::Machine),
        }
    }

    /// What the user can do about it, for the model to pass on.
    pub(crate) fn remedy(self, permit: &Permit, held: &Confinement, level: Level) -> &'static str {
        match self {
            _ if held.profile == Profile::ReadOnly => {
                "while planning, commands change nothing and have no network"
            }
            // Whatever may run outside is held by rules alone.
            _ if permit.profile() == Profile::Full => "a deny rule says so",
            Self::Reading => "a deny rule says so",
            Self::Writing if level < Level::Namespaces => {
                "without namespaces nothing new can be made directly in a working directory or in .git; tiller doctor \
                 says what is missing"
            }
            Self::Writing => "the user can name a directory in the setting sandbox.writableCaches",
            Self::Change => {
                "nobody was asked about it; the user can allow it to change files by a rule for the command"
            }
            Self::Steering => "only the user changes that; say which command they would have to run",
            Self::Network => "the user can change the setting sandbox.network",
            Self::Socket | Self::Call => {
                "the user can name the command in the setting sandbox.excludedCommands"
            }
        }
    }
}
