//! What a decision depends on besides the request.

use std::path::{Path, PathBuf};

use tiller_protocol::mode::Mode;

use crate::holding::Holding;
use crate::path::{Place, Resolver};
use crate::prompt::Finding;
use crate::rule::Rules;

/// What a decision depends on besides the request.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The mode at this moment.
    pub mode: Mode,
    /// The modes of those that an agent works for, where it works in a stricter one itself: what one of them would not allow
    /// is not allowed. A mode that changes less may still ask less.
    pub bounds: Vec<Mode>,
    /// Rules from flags, settings and the session.
    pub rules: Rules,
    /// The working directories, resolved. The first is the one that the session was started in.
    pub roots: Vec<PathBuf>,
    /// Directories that were working directories before: rules against something still speak of what is there.
    pub former_roots: Vec<PathBuf>,
    /// Directories of Tiller's own that may be read, e.g. stored tool output.
    pub readable: Vec<PathBuf>,
    /// Directories that are never changed without a question: Tiller's settings and state, hooks of git.
    pub guarded: Vec<PathBuf>,
    /// What `~` stands for.
    pub home: PathBuf,
    /// The agent's own plan file, which may be written while planning.
    pub plan_file: Option<PathBuf>,
    /// How commands are held while they run.
    pub holding: Holding,
    /// A directory that the agent was made for: outside of it nothing is changed, whatever rules, modes and users say.
    pub fence: Option<PathBuf>,
    /// Whether bypassing is an option at all in this session.
    pub bypass_available: bool,
    /// Whether only this machine may be contacted, whatever rules, modes and users say.
    pub offline: bool,
    /// What a model found about commands and rules in words.
    pub findings: Vec<Finding>,
    /// Finds where paths really lead.
    pub resolver: Resolver,
}

impl Context {
    /// Where an absolute path leads.
    #[must_use]
    pub fn place(&self, path: &Path) -> Place {
        self.resolver.place(path)
    }

    /// Whether a resolved path lies in a working directory.
    pub(crate) fn is_inside(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Whether a resolved path may be read without a question.
    pub(crate) fn is_readable(&self, path: &Path) -> bool {
        let plans = self.plan_file.as_deref().and_then(Path::parent);
        self.is_inside(path)
            || self.readable.iter().any(|dir| path.starts_with(dir))
            || plans.is_some_and(|dir| path.starts_with(dir))
    }

    /// Whether what would be asked is refused instead.
    #[must_use]
    pub fn never_asks(&self) -> bool {
        self.bounds.iter().chain([&self.mode]).any(|mode| *mode == Mode::DontAsk)
    }

    pub(crate) fn is_plan_file(&self, path: &Path) -> bool {
        self.plan_file.as_deref() == Some(path)
    }
}
