//! Which files are looked at, and how deep.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tiller_config::Places;
use tiller_protocol::env::Env;
use tiller_sandbox::{git_mark, obeyed_by_git};

use super::looks::{Counts, Looks};
use crate::git_hooks::hooks_dir;

/// Directories and files of a project that count whole.
pub(super) const OF_PROJECT: [&str; 5] = [".tiller", ".claude", ".githooks", ".husky", ".mcp.json"];
/// How deep directories are looked into, those behind links included.
const DEPTH: usize = 5;
/// How many files are looked at, at most, in one place.
const MOST_FILES: usize = 1_000;

/// A place to look at, and what of it counts. Of a mark only what it is itself: what lies below has places of its own.
struct Spot {
    path: PathBuf,
    counts: Counts,
    is_mark: bool,
}

/// What all the files looked like at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Survey {
    pub(super) files: BTreeMap<PathBuf, Looks>,
    /// Where it began.
    spots: BTreeSet<PathBuf>,
    /// Where there was more than was looked at.
    cut: BTreeSet<PathBuf>,
    /// Where Tiller and another agent keep their state beside what decides, which has places of its own: a working
    /// directory may be the one around them.
    state: Vec<PathBuf>,
}

impl Survey {
    /// Looks at what belongs to the user and to these working directories. What is known need not be read again.
    pub(super) fn of(env: &Env, roots: &[PathBuf], known: &Self) -> Self {
        let mut survey = Self { state: state_dirs(env), ..Self::default() };
        survey.look(of_user(env).into_iter().chain(roots.iter().flat_map(|root| of_root(root))), known);
        survey
    }

    /// Takes in working directories that have come to these. What was looked at before stays as it was.
    pub(super) fn grow(&mut self, roots: &[PathBuf]) {
        let spots = roots.iter().flat_map(|root| of_root(root));
        let mut more = Self { state: self.state.clone(), ..Self::default() };
        more.look(spots.filter(|spot| !self.spots.contains(&spot.path)), &Self::default());
        more.files.append(&mut self.files);
        self.files = more.files;
        self.spots.append(&mut more.spots);
        self.cut.append(&mut more.cut);
    }

    /// Looks at everything once more, wherever it is reached from by now.
    pub(super) fn again(&self, env: &Env, roots: &[PathBuf]) -> Self {
        let mut now = Self::of(env, roots, self);
        for (path, looks) in &self.files {
            if !now.files.contains_key(path) {
                now.files.extend(looks.again(path).map(|looks| (path.clone(), looks)));
            }
        }
        now.spots.extend(self.spots.iter().cloned());
        now.cut.extend(self.cut.iter().cloned());
        now
    }

    /// Whether a path is one of those that are looked at.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.files.contains_key(path) || self.spots.iter().any(|spot| path.starts_with(spot))
    }

    /// Which files look otherwise in a later survey. Of what was too much to be looked at, nobody can tell.
    pub(super) fn differences(&self, later: &Self) -> Vec<PathBuf> {
        let is_other = |path: &&PathBuf| match (self.files.get(*path), later.files.get(*path)) {
            (None, Some(_)) => !self.cut.iter().any(|spot| path.starts_with(spot)),
            (before, after) => !is_same(before, after),
        };
        let added = later.files.keys().filter(|path| !self.files.contains_key(*path));
        self.files.keys().chain(added).filter(is_other).cloned().collect()
    }

    fn look(&mut self, spots: impl Iterator<Item = Spot>, known: &Self) {
        for Spot { path, counts, is_mark } in spots {
            if self.is_state(&path) {
                continue;
            }
            let mut left = MOST_FILES;
            let depth = if is_mark { 0 } else { DEPTH };
            self.collect(&path, counts, depth, &mut left, known);
            if left == 0 {
                self.cut.insert(path.clone());
            }
            self.spots.insert(path);
        }
    }

    fn is_state(&self, path: &Path) -> bool {
        self.state.iter().any(|dir| dir == path)
    }

    fn collect(&mut self, path: &Path, counts: Counts, depth: usize, left: &mut usize, known: &Self) {
        if *left == 0 || self.files.contains_key(path) || self.is_state(path) {
            return;
        }
        *left -= 1;
        let Ok(meta) = fs_err::symlink_metadata(path) else { return };
        if !meta.is_dir() {
            let looks = Looks::of(path, counts, known.files.get(path));
            self.files.extend(looks.map(|looks| (path.to_owned(), looks)));
        }
        if depth == 0 || !path.is_dir() {
            return;
        }
        let entries = fs_err::read_dir(path).into_iter().flatten().flatten();
        // Git runs no sample.
        let entries =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_none_or(|it| it != "sample"));
        let mut entries: Vec<PathBuf> = entries.collect();
        entries.sort();
        for entry in entries {
            self.collect(&entry, Counts::Whole, depth - 1, left, known);
        }
    }
}

/// Whether a file looks as before, or is as absent.
pub(super) fn is_same(before: Option<&Looks>, after: Option<&Looks>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => before.is_same(after),
        (before, after) => before.is_none() && after.is_none(),
    }
}

fn whole(path: PathBuf) -> Spot {
    Spot { path, counts: Counts::Whole, is_mark: false }
}

/// By whatever name they are reached.
fn state_dirs(env: &Env) -> Vec<PathBuf> {
    let Places { config_dir, foreign_dir, .. } = Places::of(env);
    let named = [config_dir, foreign_dir];
    let real = named.iter().filter_map(|dir| fs_err::canonicalize(dir).ok()).collect::<Vec<_>>();
    named.into_iter().chain(real).collect()
}

fn of_user(env: &Env) -> Vec<Spot> {
    let places = Places::of(env);
    let foreign = Spot { counts: Counts::Servers, ..whole(places.foreign_servers()) };
    places.deciding().into_iter().map(whole).chain([foreign]).collect()
}

fn of_root(root: &Path) -> Vec<Spot> {
    let is_settings = |path: &Path| path.file_name().is_some_and(|name| name == "config");
    let of_git = obeyed_by_git(root).into_iter().map(|path| {
        let counts = if is_settings(&path) { Counts::GitSettings } else { Counts::Whole };
        Spot { counts, ..whole(path) }
    });
    let mark = git_mark(root).map(|path| Spot { is_mark: true, ..whole(path) });
    let own = OF_PROJECT.map(|name| whole(root.join(name)));
    own.into_iter().chain(mark).chain(of_git).chain(hooks_dir(root).map(whole)).collect()
}
