//! What is thought of reading and changing files.

use std::path::{Path, PathBuf};

use tiller_protocol::mode::Mode;

use super::Reason;
use super::part::Part;
use crate::context::Context;
use crate::path::{Place, is_guarded, is_public, names_guarded, steers};
use crate::rule::pattern::Pattern;
use crate::rule::{Behavior, Origin, Reading, Rule};

/// Judges paths by the rules that speak of one tool.
#[derive(Clone, Copy)]
pub(crate) struct Files<'a> {
    pub(crate) cx: &'a Context,
    /// The tool that touches the files itself; none for a command.
    pub(crate) tool: Option<&'a str>,
}

impl<'a> Files<'a> {
    fn find(
        &self,
        behavior: Behavior,
        judges: impl Fn(&Rule, Reading) -> bool,
        fits: impl Fn(&Pattern) -> bool,
    ) -> Option<&'a Rule> {
        let reading = if behavior == Behavior::Allow { Reading::Covers } else { Reading::Touches };
        self.cx.rules.of(behavior).iter().find(|rule| {
            judges(rule, reading) && Pattern::of(rule, self.cx, reading).is_some_and(|pattern| fits(&pattern))
        })
    }

    fn read_rule(&self, behavior: Behavior, place: &Place) -> Option<&'a Rule> {
        // What lies below a link bears the names that rules speak of only until the link is followed.
        let is_link = place.real != place.written;
        let fits = |pattern: &Pattern| match behavior {
            Behavior::Allow => pattern.fits(&place.real),
            _ => pattern.fits_place(place) || is_link && pattern.is_within(&place.written),
        };
        self.find(behavior, |rule, _| rule.judges_reads(self.tool), fits)
    }

    fn write_rule(&self, behavior: Behavior, place: &Place) -> Option<&'a Rule> {
        let fits = |pattern: &Pattern| match behavior {
            Behavior::Allow => pattern.fits(&place.real),
            _ => pattern.fits_place(place),
        };
        self.find(behavior, |rule, reading| rule.judges_writes(self.tool, reading), fits)
    }

    /// A rule against reading a place.
    pub(crate) fn read_objection(&self, what: &str, place: &Place) -> Option<Part> {
        let deny = self.read_rule(Behavior::Deny, place).map(|rule| Part::deny(what, Reason::rule(rule)));
        deny.or_else(|| {
            self.read_rule(Behavior::Ask, place).map(|rule| Part::ask_by_rule(what, Reason::rule(rule)))
        })
    }

    /// A rule against changing a place.
    pub(crate) fn write_objection(&self, what: &str, place: &Place) -> Option<Part> {
        let deny = self.write_rule(Behavior::Deny, place).map(|rule| Part::deny(what, Reason::rule(rule)));
        deny.or_else(|| {
            self.write_rule(Behavior::Ask, place).map(|rule| Part::ask_by_rule(what, Reason::rule(rule)))
        })
    }

    /// A rule against changing one of many places.
    pub(crate) fn write_objection_among(&self, what: &str, places: &[Place]) -> Option<Part> {
        let fits = |pattern: &Pattern| places.iter().any(|place| pattern.fits_place(place));
        let rule =
            |behavior| self.find(behavior, |rule, reading| rule.judges_writes(self.tool, reading), fits);
        let deny = rule(Behavior::Deny).map(|rule| Part::deny(what, Reason::rule(rule)));
        deny.or_else(|| rule(Behavior::Ask).map(|rule| Part::ask_by_rule(what, Reason::rule(rule))))
    }

    /// A rule against changing something below a place.
    pub(crate) fn objection_below(&self, what: &str, place: &Place) -> Option<Part> {
        let within = |pattern: &Pattern| pattern.is_within(&place.real) || pattern.is_within(&place.written);
        let rule =
            |behavior| self.find(behavior, |rule, reading| rule.judges_writes(self.tool, reading), within);
        let deny = rule(Behavior::Deny).map(|rule| Part::deny(what, Reason::rule(rule)));
        deny.or_else(|| rule(Behavior::Ask).map(|rule| Part::ask_by_rule(what, Reason::rule(rule))))
    }

    /// A rule against reading something below a place.
    pub(crate) fn read_objection_below(&self, what: &str, place: &Place) -> Option<Part> {
        let within = |pattern: &Pattern| pattern.is_within(&place.real) || pattern.is_within(&place.written);
        let rule = |behavior| self.find(behavior, |rule, _| rule.judges_reads(self.tool), within);
        let deny = rule(Behavior::Deny).map(|rule| Part::deny(what, Reason::rule(rule)));
        deny.or_else(|| rule(Behavior::Ask).map(|rule| Part::ask_by_rule(what, Reason::rule(rule))))
    }

    /// A rule that forbids to read something which could be among what is read.
    pub(crate) fn may_read(&self, what: &str, could_fit: impl Fn(&Pattern) -> bool) -> Option<Part> {
        // Where the kernel confines commands, that is hidden from them.
        if self.tool.is_none() && self.cx.holding.kernel.confines() {
            return None;
        }
        let rule = self.find(Behavior::Deny, |rule, _| rule.judges_reads(self.tool), could_fit)?;
        let Origin { source, file } = rule.origin.clone();
        let reason = Reason::MayRead { rule: rule.to_string(), source, file };
        Some(Part::ask(what, reason))
    }

    /// A rule that forbids to change something which could be among what is changed.
    pub(crate) fn may_change(&self, what: &str, could_fit: impl Fn(&Pattern) -> bool) -> Option<Part> {
        // Where the kernel confines commands, they cannot.
        if self.cx.holding.kernel.confines() {
            return None;
        }
        let judges = |rule: &Rule, reading| rule.judges_writes(self.tool, reading);
        let rule = self.find(Behavior::Deny, judges, could_fit)?;
        Some(Part::ask_by_rule(what, Reason::rule(rule)))
    }

    /// Whether reading a place needs no question, or why it does.
    pub(crate) fn may_be_read(&self, place: &Place) -> Result<Reason, Reason> {
        if let Some(rule) = self.read_rule(Behavior::Allow, place) {
            return Ok(Reason::rule(rule));
        }
        if self.cx.is_readable(&place.real) {
            return Ok(Reason::ReadOnly);
        }
        Err(Reason::WorkingDir { path: place.real.clone() })
    }

    /// As [`Self::may_be_read`], for commands: what belongs to the system is no secret.
    pub(crate) fn may_be_looked_at(&self, place: &Place) -> Result<Reason, Reason> {
        if is_public(&place.written) && is_public(&place.real) {
            return Ok(Reason::ReadOnly);
        }
        self.may_be_read(place)
    }

    /// Whether changing a place needs no question, or why it does.
    pub(crate) fn may_be_written(&self, place: &Place) -> Result<Reason, Reason> {
        let cx = self.cx;
        if cx.mode == Mode::Plan && cx.is_plan_file(&place.real) {
            return Ok(Reason::Mode { mode: cx.mode });
        }
        let guarded = self.guarded(place);
        let rule = self.write_rule(Behavior::Allow, place);
        let meant = |rule: &&Rule| guarded.is_none() || rule.content.as_deref().is_some_and(names_guarded);
        if let Some(rule) = rule.filter(meant) {
            return Ok(Reason::rule(rule));
        }
        if let Some(path) = guarded {
            return Err(Reason::Guarded { path });
        }
        if !cx.is_inside(&place.real) {
            return Err(Reason::WorkingDir { path: place.real.clone() });
        }
        if cx.mode == Mode::AcceptEdits {
            return Ok(Reason::Mode { mode: cx.mode });
        }
        Err(Reason::Uncovered { what: format!("writing {}", place.real.display()) })
    }

    /// Whether a rule allows to change a place.
    pub(crate) fn is_write_allowed_by_rule(&self, place: &Place) -> bool {
        self.write_rule(Behavior::Allow, place).is_some()
    }

    /// The judgement on reading a place by a tool.
    pub(crate) fn read(&self, place: &Place) -> Part {
        let what = format!("read {}", place.real.display());
        self.read_objection(&what, place).unwrap_or_else(|| part(&what, self.may_be_read(place)))
    }

    /// The judgement on changing a place by a tool.
    pub(crate) fn write(&self, place: &Place) -> Part {
        let what = format!("write {}", place.real.display());
        self.write_objection(&what, place).unwrap_or_else(|| part(&what, self.may_be_written(place)))
    }

    /// Whichever reading of a place is guarded: by its name, or because Tiller keeps its own things there.
    pub(crate) fn guarded(&self, place: &Place) -> Option<PathBuf> {
        let is_own = |path: &Path| self.cx.guarded.iter().any(|dir| path.starts_with(dir));
        [&place.real, &place.written].into_iter().find(|path| is_guarded(path) || is_own(path)).cloned()
    }

    /// The same, if it decides what is allowed or run later.
    pub(crate) fn steering(&self, place: &Place) -> Option<PathBuf> {
        let is_own = |path: &Path| self.cx.guarded.iter().any(|dir| path.starts_with(dir));
        let decides = |path: &&PathBuf| is_own(path) || is_guarded(path) && steers(path);
        [&place.real, &place.written].into_iter().find(decides).cloned()
    }

    /// The same, if that is to be seen below the working directory, which may itself lie in such a place.
    pub(crate) fn steering_inside(&self, place: &Place) -> Option<PathBuf> {
        let decides = |path: &&PathBuf| {
            let root = self.cx.roots.iter().find(|root| path.starts_with(root));
            let shown = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
            let is_around = |dir: &PathBuf| root.is_some_and(|root| root.starts_with(dir));
            let is_own = self.cx.guarded.iter().any(|dir| path.starts_with(dir) && !is_around(dir));
            is_own || is_guarded(shown) && steers(shown)
        };
        [&place.real, &place.written].into_iter().find(decides).cloned()
    }

    /// What may not be changed although it lies below something that may.
    pub(crate) fn preserves(&self) -> Vec<Pattern> {
        let rules = self.cx.rules.deny.iter();
        let rules = rules.filter(|rule| rule.judges_writes(self.tool, Reading::Touches));
        rules.filter_map(|rule| Pattern::of(rule, self.cx, Reading::Touches)).collect()
    }

    /// What may not be read although it lies below something that may.
    pub(crate) fn exclusions(&self) -> Vec<Pattern> {
        let rules = self.cx.rules.deny.iter().filter(|rule| rule.judges_reads(self.tool));
        rules.filter_map(|rule| Pattern::of(rule, self.cx, Reading::Touches)).collect()
    }
}

pub(crate) fn part(what: &str, opinion: Result<Reason, Reason>) -> Part {
    match opinion {
        Ok(reason) => Part::allow(what, reason),
        Err(reason) => Part::ask(what, reason),
    }
}
