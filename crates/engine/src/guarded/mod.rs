//! Files that decide what is allowed or run later, as they were when last looked at. What no kernel keeps a command from
//! changing is found afterwards, so that it never changes in silence.

mod below;
mod git_settings;
mod looks;
mod survey;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tiller_protocol::entry::{Level, Notice};
use tiller_protocol::env::Env;
use tiller_protocol::id::CallId;

pub(crate) use self::below::{decides_below, notice_below};
use self::looks::{Counts, Looks};
use self::survey::{Survey, is_same};

/// The kind of such notices.
const CHANGED: &str = "guarded_changed";
/// Characters of a command in a notice.
const SHOWN: usize = 80;
/// Paths that one notice names.
const NAMED: usize = 5;

/// Remembers the files for a session.
#[derive(Default)]
pub(crate) struct Guarded {
    /// Held while files are looked at, which takes a moment: never where others wait for the runtime.
    seen: Mutex<Seen>,
    /// Held for a moment only, and taken after the other one.
    watches: Mutex<Watches>,
}

#[derive(Default)]
struct Seen {
    survey: Survey,
    scope: Option<Scope>,
}

/// What could be changing them.
#[derive(Default)]
struct Watches {
    /// How many calls and commands are watched.
    busy: usize,
    /// Calls whose command goes on after them.
    lasting: BTreeSet<CallId>,
}

/// Which files a session guards.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) env: Env,
    pub(crate) roots: Vec<PathBuf>,
}

/// What some files looked like.
pub(crate) struct Before(Vec<(PathBuf, Option<Looks>)>);

/// Stands for something that could change the files.
pub(crate) struct Watch(Arc<Guarded>);

impl Seen {
    fn before(&self, files: &[PathBuf]) -> Before {
        let covered = files.iter().filter(|path| self.survey.covers(path));
        Before(covered.map(|path| (path.clone(), self.now(path))).collect())
    }

    /// Takes in what has become of files, unless somebody else had changed them before.
    fn accept(&mut self, Before(files): Before) {
        for (path, before) in files {
            if !is_same(self.survey.files.get(&path), before.as_ref()) {
                continue;
            }
            match self.now(&path) {
                Some(looks) => drop(self.survey.files.insert(path, looks)),
                None => drop(self.survey.files.remove(&path)),
            }
        }
    }

    fn now(&self, path: &Path) -> Option<Looks> {
        match self.survey.files.get(path) {
            Some(known) => known.again(path),
            None => Looks::of(path, Counts::Whole, None),
        }
    }
}

impl Guarded {
    /// Begins to watch. What has changed before counts as known, unless something runs that may have changed it. May take
    /// a moment.
    pub(crate) fn watch(self: &Arc<Self>, scope: Scope) -> Watch {
        let mut seen = self.seen();
        let was_idle = {
            let mut watches = self.watches();
            watches.busy += 1;
            watches.busy == 1 && watches.lasting.is_empty()
        };
        let watch = Watch(Arc::clone(self));
        match &mut *seen {
            Seen { survey, scope: Some(known) } if !was_idle => {
                // Agents may work in different directories at the same time.
                let more: Vec<PathBuf> =
                    scope.roots.into_iter().filter(|root| !known.roots.contains(root)).collect();
                survey.grow(&more);
                known.roots.extend(more);
            }
            seen => {
                seen.survey = Survey::of(&scope.env, &scope.roots, &seen.survey);
                seen.scope = Some(scope);
            }
        }
        watch
    }

    /// Which files look otherwise than when last looked at. May take a moment.
    fn changed(&self) -> Vec<PathBuf> {
        let mut seen = self.seen();
        let Some(scope) = &seen.scope else { return Vec::new() };
        let now = seen.survey.again(&scope.env, &scope.roots);
        let changed = seen.survey.differences(&now);
        seen.survey = now;
        changed
    }

    /// Changes some of them on the user's behalf, which is no news. What others change of them still is.
    pub(crate) fn change<T>(&self, files: &[PathBuf], work: impl FnOnce() -> T) -> T {
        let mut seen = self.seen();
        let before = seen.before(files);
        let done = work();
        seen.accept(before);
        done
    }

    /// Something that may take long is about to change files on the user's behalf: what those of them look like that are
    /// watched now. May take a moment.
    pub(crate) fn before(&self, files: &[PathBuf]) -> Before {
        self.seen().before(files)
    }

    /// It has changed them. May take a moment.
    pub(crate) fn accept(&self, before: Before) {
        self.seen().accept(before);
    }

    /// Whether nothing is watched.
    pub(crate) fn is_idle(&self) -> bool {
        let watches = self.watches();
        watches.busy == 0 && watches.lasting.is_empty()
    }

    /// The command of a call may go on after it.
    pub(crate) fn may_last(&self, call: &CallId) {
        self.watches().lasting.insert(call.clone());
    }

    /// The command of a call has ended. If that had to be waited for, it is watched until somebody has looked: nothing
    /// that begins meanwhile takes what it has changed for known.
    pub(crate) fn has_ended(self: &Arc<Self>, call: &CallId) -> Option<Watch> {
        let mut watches = self.watches();
        let was_lasting = watches.lasting.remove(call);
        watches.busy += usize::from(was_lasting);
        was_lasting.then(|| Watch(Arc::clone(self)))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Which files have changed meanwhile. May take a moment.
    pub(crate) fn end(self) -> Vec<PathBuf> {
        self.0.changed()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.watches().busy -= 1;
    }
}

/// What the user is told of files that have changed while something ran; nothing if none have.
pub(crate) fn notice(changed: &[PathBuf], meanwhile: &str) -> Option<Notice> {
    if changed.is_empty() {
        return None;
    }
    let mut what: String = meanwhile.chars().take(SHOWN).collect();
    if what.len() < meanwhile.len() {
        what.push('…');
    }
    let content = format!(
        "`{what}` ran outside of the sandbox, and meanwhile these changed: {}. Settings and hooks decide what is \
         allowed and what runs later: look at what they say now.",
        listed(changed)
    );
    Some(Notice { subtype: CHANGED.to_owned(), level: Level::Warning, content })
}

/// Some paths by name.
fn listed(paths: &[PathBuf]) -> String {
    let named: Vec<String> = paths.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    let more = match paths.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}
