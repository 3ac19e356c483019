//! What stands for paths that lead elsewhere in each process. They are asked about as what they are; what forbids or guards
//! the places that they may lead to holds as well.

use std::path::{Path, PathBuf};

use super::place::Places;
use crate::own_view::Origin;
use crate::path::Place;
use crate::shell::{Dirs, Redirect};

/// So many such paths in one another are taken apart.
const DEEPEST: usize = 8;

impl Places<'_> {
    /// Where these paths lead, in every process that the script may run at `dirs`.
    pub(super) fn places(&self, paths: &[PathBuf], dirs: &Dirs) -> Vec<Place> {
        let readings = paths.iter().flat_map(|path| {
            let stand_ins = self.stand_ins(path, dirs, DEEPEST);
            std::iter::once(path.clone()).chain(stand_ins)
        });
        readings.map(|path| self.cx.place(&path)).collect()
    }

    /// Other paths for where one may lead.
    fn stand_ins(&self, path: &Path, dirs: &Dirs, deepest: usize) -> Vec<PathBuf> {
        let Some(view) = self.cx.resolver.own_view(path).filter(|_| deepest > 0) else { return Vec::new() };
        let (origins, behind) = match view.origin() {
            Origin::Directory(behind) => (self.stood_in(dirs), behind),
            Origin::Root(behind) => (vec![PathBuf::from("/")], behind),
            Origin::OpenFile(behind) => (self.opened(), behind),
            Origin::Other => return Vec::new(),
        };
        let with_others = |path: PathBuf| {
            let others = self.stand_ins(&path, dirs, deepest - 1);
            std::iter::once(path).chain(others)
        };
        origins.into_iter().map(|origin| origin.join(&behind)).flat_map(with_others).collect()
    }

    /// The directories in which a process may stand, by names that say which ones they are.
    fn stood_in(&self, dirs: &Dirs) -> Vec<PathBuf> {
        let says_which = |dir: &&PathBuf| self.cx.resolver.own_view(dir).is_none();
        let here: Vec<PathBuf> = dirs.iter().flatten().filter(says_which).cloned().collect();
        if !here.is_empty() {
            return here;
        }
        let commands = self.analysis.commands.iter().filter_map(|command| command.dirs.as_ref());
        commands.flatten().filter(says_which).cloned().collect()
    }

    /// The files that the script opens for its commands.
    fn opened(&self) -> Vec<PathBuf> {
        let paths = |redirect: &Redirect| {
            let targets = self.each(&redirect.target).into_iter();
            let known = targets.filter(|target| target.is_literal());
            let paths = known.filter_map(|target| self.absolute(&target.text, target.tilde, &redirect.dirs));
            paths.flatten().collect::<Vec<_>>()
        };
        let opened = self.analysis.redirects.iter().flat_map(paths);
        opened.filter(|path| self.cx.resolver.own_view(path).is_none()).collect()
    }
}
