//! Files that rules forbid to read or to change, as they are at this moment: the kernel knows no patterns.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use tiller_policy::{Permit, Search};

use super::memory::{Listing, Memory, Question};

/// Entries of directories that are looked at for one command.
const MOST_ENTRIES: usize = 2_000_000;
/// Paths that are hidden from one command: each is a mount.
const MOST_PATHS: usize = 5_000;

/// What is said if not everything was found; the command then does not run.
pub(super) const INCOMPLETE: &str = "The command was not run: a deny rule speaks of files by their names, and there are too \
     many files here to find them all. The user can write a rule that names a place, such as Read(./secrets/**), which \
     needs no search.";

/// What a rule forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Deed {
    /// To read it.
    Read,
    /// To change it.
    Change,
}

impl Deed {
    fn searches(self, permit: &Permit) -> Vec<Search> {
        match self {
            Self::Read => permit.searches(),
            Self::Change => permit.kept_searches(),
        }
    }

    fn rules(self, permit: &Permit) -> Vec<String> {
        match self {
            Self::Read => permit.hiding_rules().map(str::to_owned).collect(),
            Self::Change => permit.keeping_rules().map(str::to_owned).collect(),
        }
    }

    fn forbids(self, permit: &Permit, path: &Path) -> bool {
        match self {
            Self::Read => permit.hides(path),
            Self::Change => permit.keeps(path),
        }
    }
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Denied {
    pub(super) paths: Vec<PathBuf>,
    /// Directories that are denied with everything in them, whether they exist or not.
    pub(super) trees: Vec<PathBuf>,
    /// Whether the search was given up.
    pub(super) incomplete: bool,
}

impl Denied {
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.trees.is_empty()
    }

    pub(super) fn all(self) -> Vec<PathBuf> {
        [self.paths, self.trees].concat()
    }
}

/// Finds what a command with this permit must not read, or not change. Patterns that could fit anywhere are looked for
/// in the working directories.
pub(super) fn find(permit: &Permit, deed: Deed, roots: &[PathBuf], memory: &Memory) -> Denied {
    let mut denied = Denied::default();
    let mut queue = VecDeque::new();
    let searches = deed.searches(permit);
    for search in searches.clone() {
        match search {
            Search::Path(path) => denied.paths.push(path),
            Search::Tree(dir) => denied.trees.push(dir),
            Search::Below { dir, .. } if dir == Path::new("/") => {
                queue.extend(roots.iter().map(|root| (root.clone(), usize::MAX)));
            }
            Search::Below { dir, depth } => queue.push_back((dir, depth.unwrap_or(usize::MAX))),
        }
    }
    let mut known = memory.recall(deed, Question { rules: deed.rules(permit), searches });
    let mut walk = Walk { permit, deed, roots, seen: BTreeSet::new(), left: MOST_ENTRIES };
    // Breadth first: what lies near the top is found before the search is given up.
    while let Some((dir, depth)) = queue.pop_front() {
        if walk.left == 0 || denied.paths.len() > MOST_PATHS {
            denied.incomplete = true;
            break;
        }
        if walk.seen.insert((dir.clone(), depth)) {
            let listing = known.listing(&dir, || walk.list(&dir));
            walk.take_in(&dir, depth, &listing, &mut denied.paths, &mut queue);
        }
    }
    denied.paths.sort();
    denied.paths.dedup();
    denied
}

struct Walk<'a> {
    permit: &'a Permit,
    deed: Deed,
    roots: &'a [PathBuf],
    seen: BTreeSet<(PathBuf, usize)>,
    left: usize,
}

impl Walk<'_> {
    /// Looks into a directory.
    fn list(&self, dir: &Path) -> Listing {
        let mut listing = Listing::default();
        for entry in fs_err::read_dir(dir).into_iter().flatten().flatten() {
            listing.entries += 1;
            let kind = entry.file_type();
            if self.deed.forbids(self.permit, &entry.path()) {
                let is_link = kind.is_ok_and(|kind| kind.is_symlink());
                listing.forbidden.push((entry.file_name(), is_link));
            } else if kind.is_ok_and(|kind| kind.is_dir()) {
                listing.dirs.push(entry.file_name());
            }
        }
        listing
    }

    fn take_in(
        &mut self,
        dir: &Path,
        depth: usize,
        listing: &Listing,
        hidden: &mut Vec<PathBuf>,
        queue: &mut VecDeque<(PathBuf, usize)>,
    ) {
        self.left = self.left.saturating_sub(listing.entries);
        for (name, is_link) in &listing.forbidden {
            let path = dir.join(name);
            // A link is what it leads to; a directory outside of here could hold anything that commands need.
            if !is_link || path.is_file() || self.is_inside(&path) {
                hidden.push(path);
            }
        }
        if depth > 1 {
            queue.extend(listing.dirs.iter().map(|name| (dir.join(name), depth - 1)));
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.canonicalize()
            .is_ok_and(|path| self.roots.iter().any(|root| path.starts_with(root) && path != *root))
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tiller_policy::{Access, Context, Decision, Request, Script, decide};
    use tiller_protocol::mode::Mode;

    use super::super::memory::tests::At;
    use super::*;

    fn memory() -> Memory {
        Memory::new(std::sync::Arc::new(At(Timestamp::MAX)))
    }

    fn permit(dir: &Path, rules: &[&str]) -> (Permit, Vec<PathBuf>) {
        let roots = vec![dir.join("root")];
        let mut cx = Context {
            mode: Mode::BypassPermissions,
            roots: roots.clone(),
            home: dir.join("home"),
            ..Context::default()
        };
        cx.rules.deny = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let script = Script { command: "make".to_owned(), cwd: dir.to_owned() };
        let request =
            Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false };
        match decide(&request, &cx) {
            Decision::Allow(permit, _) => (permit, roots),
            other => panic!("{other:?}"),
        }
    }

    // KERN-07, RULE-06
    #[test]
    fn patterns_become_the_files_that_are_there() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().canonicalize().unwrap();
        for path in ["home/.ssh", "root/a/b/secrets/deep", "root/keys", "root/node_modules/x", "elsewhere"] {
            fs_err::create_dir_all(dir.join(path)).unwrap();
        }
        let files = [
            "root/.env",
            "root/a/b/.env.local",
            "root/keys/k.pem",
            "root/node_modules/x/y.pem",
            "elsewhere/.env",
            "elsewhere/prod.pem",
            "root/a/.env",
        ];
        for file in files.iter().chain(&["root/a/ok.txt", "root/a/b/secrets/s"]) {
            fs_err::write(dir.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("../keys/k.pem", dir.join("root/a/link.pem")).unwrap();
        std::os::unix::fs::symlink("/", dir.join("root/a/out.pem")).unwrap();
        std::os::unix::fs::symlink("../../elsewhere/prod.pem", dir.join("root/a/prod.pem")).unwrap();
        let rules = ["Read(~/.ssh/**)", "Read(./.env)", "Read(.env.*)", "Read(**/secrets/**)", "Read(*.pem)"];
        let (permit, roots) = permit(&dir, &rules);
        let memory = memory();
        find(&permit, Deed::Read, &roots, &memory);
        // Files that a rule forbids are found also where they were not before.
        fs_err::write(dir.join("root/a/new.pem"), "").unwrap();
        let found = find(&permit, Deed::Read, &roots, &memory);
        let wanted = [
            "root/.env",
            "root/a/b/.env.local",
            "root/a/b/secrets",
            "root/a/link.pem",
            "root/a/new.pem",
            "root/a/prod.pem",
            "root/keys/k.pem",
            "root/node_modules/x/y.pem",
        ];
        assert_eq!(found.paths, wanted.map(|path| dir.join(path)));
        assert_eq!((found.trees, found.incomplete), (vec![dir.join("home/.ssh")], false));
    }

    #[test]
    fn without_rules_nothing_is_looked_at() {
        let (permit, _) = permit(Path::new("/nowhere"), &["Read(~/.ssh/**)"]);
        let found = find(&permit, Deed::Read, &[PathBuf::from("/")], &memory());
        assert_eq!((found.trees, found.incomplete), (vec![PathBuf::from("/nowhere/home/.ssh")], false));
    }

    #[test]
    fn too_much_is_said_to_be_too_much() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().canonicalize().unwrap();
        fs_err::create_dir_all(dir.join("root/deep")).unwrap();
        (0..=MOST_PATHS)
            .for_each(|number| fs_err::write(dir.join(format!("root/{number}.pem")), "").unwrap());
        let (permit, roots) = permit(&dir, &["Read(*.pem)"]);
        assert!(find(&permit, Deed::Read, &roots, &memory()).incomplete);
    }
}
