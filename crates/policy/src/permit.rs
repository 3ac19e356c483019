//! Proof that policy allowed an access.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::access::{Access, Request, Script};
use crate::context::Context;
use crate::decide::{hidden_from_commands, kept_from_commands, looks_with_git};
use crate::holding::Profile;
use crate::prompt::Finding;
use crate::rule::pattern::{Pattern, Search};
use crate::shell::is_read_only;

/// What one call may do. Made by [`crate::decide`], [`crate::approve`] and [`crate::leave`]; for commands that do not
/// come from the model, by [`Permit::for_users_own_command`].
#[derive(Clone, Debug)]
pub struct Permit {
    pub(crate) request: Request,
    excluded: Vec<Pattern>,
    /// What a command must not change although it may change what is around it.
    kept: Vec<Pattern>,
    profile: Profile,
    /// What a command may change outside of the working directories.
    outside: Vec<PathBuf>,
    /// What a model found about the command when it was judged.
    pub(crate) findings: Vec<Finding>,
    released: Option<Release>,
    /// Whether the command runs without anybody having been asked about it.
    unasked: bool,
    /// Whether that is so because all of it only looks.
    may_only_look: bool,
    /// Whether the command is read-only; computed on first use.
    looks: OnceLock<bool>,
}

/// What the user lets one command have that its confinement refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The network, and nothing else.
    Network,
    /// The machine, but no more of the network than it had.
    Machine,
}

/// An access that the permit does not cover.
#[derive(Debug, PartialEq, Eq)]
pub struct NotPermitted(pub String);

impl std::fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} was not part of what this call was permitted to do", self.0)
    }
}

impl std::error::Error for NotPermitted {}

impl Permit {
    pub(crate) fn new(request: Request, excluded: Vec<Pattern>, profile: Profile) -> Self {
        let (kept, outside, findings) = (Vec::new(), Vec::new(), Vec::new());
        let looks = OnceLock::new();
        let released = None;
        let (unasked, may_only_look) = (false, false);
        Self { request, excluded, kept, profile, outside, findings, released, unasked, may_only_look, looks }
    }

    /// The same for a command that may change these as well.
    pub(crate) fn reaching(self, outside: Vec<PathBuf>) -> Self {
        Self { outside, ..self }
    }

    /// The files outside of the working directories that the command names and may change: whoever said yes to it has
    /// said yes to them.
    #[must_use]
    pub fn outside(&self) -> &[PathBuf] {
        &self.outside
    }

    /// The same with what a model found about the command.
    pub(crate) fn knowing(self, findings: Vec<Finding>) -> Self {
        Self { findings, ..self }
    }

    /// The same for a command that must not change what fits these.
    pub(crate) fn keeping(self, kept: Vec<Pattern>) -> Self {
        Self { kept, ..self }
    }

    /// The same for a command that nobody is asked about.
    pub(crate) fn unasked(self) -> Self {
        Self { unasked: true, ..self }
    }

    /// The same for a command that runs because all of it only looks.
    pub(crate) fn looking(self) -> Self {
        Self { may_only_look: true, ..self }
    }

    /// The same for a command that gets what its confinement refused.
    pub(crate) fn releasing(self, release: Release) -> Self {
        let profile = match release {
            Release::Network => self.profile,
            Release::Machine => Profile::Full,
        };
        Self { profile, released: Some(release), may_only_look: false, ..self }
    }

    /// What the user has let the command have besides.
    #[must_use]
    pub fn released(&self) -> Option<Release> {
        self.released
    }

    /// For a command that the user has written down: in a hook, or on the command line. The model has no part in it.
    #[must_use]
    pub fn for_users_own_command(script: Script) -> Self {
        let request = Request { tool: String::new(), access: vec![Access::Exec(script)], read_only: false };
        Self::new(request, Vec::new(), Profile::Full)
    }

    /// The same for a command that must not see what rules forbid to read.
    #[must_use]
    pub fn minding_denied_reads(self, cx: &Context) -> Self {
        Self { excluded: hidden_from_commands(cx), ..self }
    }

    /// The same for a command that must neither see nor change what rules forbid.
    #[must_use]
    pub fn minding_rules(self, cx: &Context) -> Self {
        self.minding_denied_reads(cx).keeping(kept_from_commands(cx))
    }

    /// How much the command may change at most. It may be held more strictly, never less.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Where to look for what a command must not read: whatever [`Permit::hides`] there.
    #[must_use]
    pub fn searches(&self) -> Vec<Search> {
        self.excluded.iter().flat_map(Pattern::searches).collect()
    }

    /// Where to look for what a command must not change: whatever [`Permit::keeps`] there.
    #[must_use]
    pub fn kept_searches(&self) -> Vec<Search> {
        self.kept.iter().flat_map(Pattern::searches).collect()
    }

    /// The rules behind [`Permit::searches`], as they were written.
    pub fn hiding_rules(&self) -> impl Iterator<Item = &str> {
        self.excluded.iter().map(Pattern::written)
    }

    /// The rules behind [`Permit::kept_searches`], as they were written.
    pub fn keeping_rules(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(Pattern::written)
    }

    /// Whether a path, with everything below it, must stay as it is.
    #[must_use]
    pub fn keeps(&self, path: &Path) -> bool {
        self.kept.iter().any(|pattern| pattern.hides(path))
    }

    /// Whether a path, with everything below it, must not be read.
    #[must_use]
    pub fn hides(&self, path: &Path) -> bool {
        self.excluded.iter().any(|pattern| pattern.hides(path))
    }

    /// The rule that forbids reading a path although it lies below something that may be read. Whoever walks a
    /// directory leaves such paths out.
    #[must_use]
    pub fn excludes(&self, path: &Path) -> Option<&str> {
        self.excluded.iter().find(|pattern| pattern.fits(path)).map(Pattern::written)
    }

    /// Checks that a resolved path may be read.
    ///
    /// # Errors
    /// When the call did not declare it, or a rule forbids it.
    pub fn read(&self, path: &Path) -> Result<(), NotPermitted> {
        if let Some(rule) = self.excludes(path) {
            return Err(NotPermitted(format!("reading {} (the rule {rule} forbids it)", path.display())));
        }
        let covered = self.request.access.iter().any(|access| match access {
            Access::Read(root) => path.starts_with(&root.real),
            Access::Write(file) => path == file.real,
            Access::Exec(_) | Access::Net(_) | Access::Server(_) => false,
        });
        covered.then_some(()).ok_or_else(|| NotPermitted(format!("reading {}", path.display())))
    }

    /// Checks that a resolved path may be written.
    ///
    /// # Errors
    /// When the call did not declare it.
    pub fn write(&self, path: &Path) -> Result<(), NotPermitted> {
        let covered = self
            .request
            .access
            .iter()
            .any(|access| matches!(access, Access::Write(file) if file.real == path));
        covered.then_some(()).ok_or_else(|| NotPermitted(format!("writing {}", path.display())))
    }

    /// The command that may be run.
    ///
    /// # Errors
    /// When the call did not declare one.
    pub fn script(&self) -> Result<&Script, NotPermitted> {
        let script = self.request.access.iter().find_map(|access| match access {
            Access::Exec(script) => Some(script),
            _ => None,
        });
        script.ok_or_else(|| NotPermitted("running a command".to_owned()))
    }

    /// Whether the command that may be run certainly changes nothing.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        let looks = || self.script().is_ok_and(|script| is_read_only(&script.command));
        *self.looks.get_or_init(looks)
    }

    /// Whether the command was allowed for no other reason than that it changes nothing. Whoever holds it makes sure that
    /// this is so.
    #[must_use]
    pub fn lets_only_look(&self) -> bool {
        self.may_only_look
    }

    /// Whether `git` must run nothing that a repository names: the command, or a part of it that nobody was asked about,
    /// runs because it only looks.
    #[must_use]
    pub fn keeps_git_harmless(&self) -> bool {
        self.only_looks() || self.unasked && self.script().is_ok_and(looks_with_git)
    }

    /// Checks that a host may be contacted.
    ///
    /// # Errors
    /// When the call did not declare it.
    pub fn connect(&self, host: &str) -> Result<(), NotPermitted> {
        let covered =
            self.request.access.iter().any(|access| matches!(access, Access::Net(to) if to == host));
        covered.then_some(()).ok_or_else(|| NotPermitted(format!("connecting to {host}")))
    }
}
