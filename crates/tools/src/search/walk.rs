//! A parallel walk that keeps account: what ignore files hide is counted, not forgotten.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ignore::{DirEntry, ParallelVisitor, ParallelVisitorBuilder, WalkBuilder, WalkState};
use tiller_policy::Permit;

use super::Stop;
use crate::cx::{ToolCx, View};

/// Directories of version control systems, which no search enters.
const VERSION_CONTROL: &[&str] = &[".git", ".hg", ".svn", ".jj"];
/// Names given as examples of what was left out.
const EXAMPLES: usize = 3;

/// Where to look, and whether ignore files count.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    root: PathBuf,
    include_ignored: bool,
    permit: Permit,
}

/// What a walk left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Files and directories hidden by ignore files; a directory counts as one.
    pub(crate) ignored: usize,
    examples: Vec<String>,
    /// Directories that could not be listed.
    unreadable: usize,
    /// Links to directories, which are not followed.
    linked: usize,
    /// Files that a rule forbids to read.
    forbidden: usize,
    /// Whether the walk ended before its time.
    pub(crate) stopped: bool,
}

impl Scope {
    /// A search from a resolved path. Whoever names an ignored place wants what is in it.
    pub(crate) fn new(cx: &ToolCx, root: PathBuf, include_ignored: bool) -> Self {
        let include_ignored = include_ignored || is_ignored(&cx.view, &root);
        Self { root, include_ignored, permit: cx.permit.clone() }
    }

    fn builder(&self) -> WalkBuilder {
        let mut builder = builder(&self.root);
        if self.include_ignored {
            builder.standard_filters(false);
        }
        builder
    }
}

fn builder(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    // A personal, global ignore file must not hide a project's files.
    builder.hidden(false).git_global(false).require_git(false).current_dir(root);
    // Nor must a stray one far above a project that is no repository.
    builder.parents(root.ancestors().any(|dir| dir.join(".git").exists()));
    builder.filter_entry(|entry| !is_version_control(entry.file_name()) || entry.depth() == 0);
    builder
}

fn is_version_control(name: &std::ffi::OsStr) -> bool {
    VERSION_CONTROL.iter().any(|known| name == *known)
}

/// Whether ignore files hide a path or a directory above it.
fn is_ignored(view: &View, path: &Path) -> bool {
    let Some(root) = view.roots.iter().find(|root| path.starts_with(root)) else { return false };
    let mut matchers = builder(root).build_matchers();
    let Some((matcher, relative)) = matchers.first_mut().zip(path.strip_prefix(root).ok()) else {
        return false;
    };
    relative.ancestors().filter(|part| !part.as_os_str().is_empty()).any(|part| {
        let is_dir = part != relative || path.is_dir();
        matcher.matched(part, is_dir).is_ignore()
    })
}

struct Account<'a> {
    visit: &'a (dyn Fn(&DirEntry) + Sync),
    stop: &'a Stop,
    permit: &'a Permit,
    stopped: AtomicBool,
    unreadable: AtomicUsize,
    linked: AtomicUsize,
    forbidden: AtomicUsize,
    /// By directory: entries listed less entries met.
    balances: Mutex<HashMap<PathBuf, i64>>,
}

/// Calls `visit` for everything below the scope that is not a directory, from several threads.
pub(crate) fn walk(scope: &Scope, stop: &Stop, visit: &(dyn Fn(&DirEntry) + Sync)) -> LeftOut {
    let mut account = Account {
        visit,
        stop,
        permit: &scope.permit,
        stopped: AtomicBool::new(false),
        unreadable: AtomicUsize::new(0),
        linked: AtomicUsize::new(0),
        forbidden: AtomicUsize::new(0),
        balances: Mutex::default(),
    };
    scope.builder().build_parallel().visit(&mut &account);
    let stopped = *account.stopped.get_mut();
    let balances =
        std::mem::take(account.balances.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner));
    let mut left_out = LeftOut {
        unreadable: *account.unreadable.get_mut(),
        linked: *account.linked.get_mut(),
        forbidden: *account.forbidden.get_mut(),
        stopped,
        ..LeftOut::default()
    };
    if !stopped {
        // The numbers of an unfinished walk mean nothing.
        let mut hiding: Vec<(PathBuf, usize)> = balances
            .into_iter()
            .filter_map(|(dir, count)| usize::try_from(count).ok().map(|count| (dir, count)))
            .collect();
        hiding.retain(|(_, count)| *count > 0);
        hiding.sort();
        left_out.ignored = hiding.iter().map(|(_, count)| count).sum();
        left_out.examples = examples(scope, hiding.iter().map(|(dir, _)| dir.as_path()));
    }
    left_out
}

fn examples<'a>(scope: &Scope, dirs: impl Iterator<Item = &'a Path>) -> Vec<String> {
    let mut matchers = scope.builder().build_matchers();
    let Some(matcher) = matchers.first_mut() else { return Vec::new() };
    let mut examples = Vec::new();
    for dir in dirs {
        let mut entries: Vec<_> = fs_err::read_dir(dir).into_iter().flatten().flatten().collect();
        entries.sort_by_key(fs_err::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let Ok(relative) = path.strip_prefix(&scope.root) else { continue };
            if !is_version_control(&entry.file_name()) && matcher.matched(relative, is_dir).is_ignore() {
                examples.push(format!("{}{}", relative.display(), if is_dir { "/" } else { "" }));
            }
            if examples.len() == EXAMPLES {
                return examples;
            }
        }
    }
    examples
}

impl<'s, 'a: 's> ParallelVisitorBuilder<'s> for &'s Account<'a> {
    fn build(&mut self) -> Box<dyn ParallelVisitor + 's> {
        Box::new(Visitor { account: self, balances: HashMap::new() })
    }
}

struct Visitor<'a> {
    account: &'a Account<'a>,
    balances: HashMap<PathBuf, i64>,
}

impl ParallelVisitor for Visitor<'_> {
    fn visit(&mut self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        if self.account.stop.reached() {
            self.account.stopped.store(true, Ordering::Relaxed);
            return WalkState::Quit;
        }
        let Ok(entry) = entry else {
            self.account.unreadable.fetch_add(1, Ordering::Relaxed);
            return WalkState::Continue;
        };
        if let Some(parent) = entry.path().parent().filter(|_| entry.depth() > 0) {
            self.add(parent, -1);
        }
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            let names = fs_err::read_dir(entry.path()).into_iter().flatten().flatten();
            let listed = names.filter(|name| !is_version_control(&name.file_name())).count();
            self.add(entry.path(), i64::try_from(listed).unwrap_or(i64::MAX));
        } else if self.account.permit.excludes(entry.path()).is_some() {
            self.account.forbidden.fetch_add(1, Ordering::Relaxed);
        } else {
            let is_link = entry.file_type().is_some_and(|kind| kind.is_symlink());
            self.account.linked.fetch_add(usize::from(is_link && entry.path().is_dir()), Ordering::Relaxed);
            (self.account.visit)(&entry);
        }
        WalkState::Continue
    }
}

impl Visitor<'_> {
    fn add(&mut self, dir: &Path, count: i64) {
        match self.balances.get_mut(dir) {
            Some(balance) => *balance += count,
            None => drop(self.balances.insert(dir.to_owned(), count)),
        }
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        let mut balances = self.account.balances.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (dir, count) in self.balances.drain() {
            *balances.entry(dir).or_default() += count;
        }
    }
}

impl LeftOut {
    /// What to tell the model.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.stopped {
            notes.push(format!(
                "Stopped after {} s: the search is incomplete. Narrow it with path or a more specific pattern.",
                super::TIME_LIMIT,
            ));
        }
        if self.ignored > 0 {
            let examples = match self.examples.join(", ") {
                none if none.is_empty() => none,
                some => format!(" (such as {some})"),
            };
            notes.push(format!(
                "Ignore files left out {} files or directories{examples}. To search them: include_ignored true, or their path.",
                self.ignored,
            ));
        }
        if self.linked > 0 {
            notes.push(format!(
                "{} links to directories were not followed. To search one: its path.",
                self.linked
            ));
        }
        if self.forbidden > 0 {
            notes.push(format!("{} files that rules forbid to read were left out.", self.forbidden));
        }
        if self.unreadable > 0 {
            notes.push(format!("{} files or directories could not be read.", self.unreadable));
        }
        notes
    }
}
