//! Files that rules forbid to read or to change, as they are at this moment: the kernel knows no patterns.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use tiller_policy::{Permit, Search};

/// Entries of directories that are looked at for one command.
const MOST_ENTRIES: usize = 2_000_000;
/// Paths that are hidden from one command: each is a mount.
const MOST_PATHS: usize = 5_000;

/// What is said if not everything was found; the command then does not run.
pub(super) const INCOMPLETE: &str = "The command was not run: a deny rule speaks of files by their names, and there are too \
     many files here to find them all. The user can write a rule that names a place, such as Read(./secrets/**), which \
     needs no search.";

/// What a rule forbids.
#[derive(Clone, Copy, Debug)]
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
    /// Whether the search was given up.
    pub(super) incomplete: bool,
}

/// Finds what a command with this permit must not read, or not change. Patterns that could fit anywhere are looked for
/// in the working directories.
pub(super) fn find(permit: &Permit, deed: Deed, roots: &[PathBuf]) -> Denied {
    let mut denied = Denied::default();
    let mut queue = VecDeque::new();
    for search in deed.searches(permit) {
        match search {
            Search::Path(path) => denied.paths.push(path),
            Search::Below { dir, .. } if dir == Path::new("/") => {
                queue.extend(roots.iter().map(|root| (root.clone(), usize::MAX)));
            }
            Search::Below { dir, depth } => queue.push_back((dir, depth.unwrap_or(usize::MAX))),
        }
    }
    let mut walk = Walk { permit, deed, roots, seen: BTreeSet::new(), left: MOST_ENTRIES };
    // Breadth first: what lies near the top is found before the search is given up.
    while let Some((dir, depth)) = queue.pop_front() {
        if walk.left == 0 || denied.paths.len() > MOST_PATHS {
            denied.incomplete = true;
            break;
        }
        if walk.seen.insert((dir.clone(), depth)) {
            walk.look_into(&dir, depth, &mut denied.paths, &mut queue);
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
    fn look_into(
        &mut self,
        dir: &Path,
        depth: usize,
        hidden: &mut Vec<PathBuf>,
        queue: &mut VecDeque<(PathBuf, usize)>,
    ) {
        for entry in fs_err::read_dir(dir).into_iter().flatten().flatten() {
            self.left = self.left.saturating_sub(1);
            let (path, kind) = (entry.path(), entry.file_type());
            let is_link = kind.as_ref().is_ok_and(|kind| kind.is_symlink());
            if self.deed.forbids(self.permit, &path) {
                // A link is what it leads to; one that leads out of here could lead to anything that commands need.
                if !is_link || self.is_inside(&path) {
                    hidden.push(path);
                }
            } else if depth > 1 && kind.is_ok_and(|kind| kind.is_dir()) {
                queue.push_back((path, depth - 1));
            }
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.canonicalize()
            .is_ok_and(|path| self.roots.iter().any(|root| path.starts_with(root) && path != *root))
    }
}

#[cfg(test)]
mod tests {
    use tiller_policy::{Access, Context, Decision, Request, Script, decide};
    use tiller_protocol::mode::Mode;

    use super::*;

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
        ];
        for file in files.iter().chain(&["root/a/ok.txt", "root/a/b/secrets/s"]) {
            fs_err::write(dir.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("../keys/k.pem", dir.join("root/a/link.pem")).unwrap();
        std::os::unix::fs::symlink("/", dir.join("root/a/out.pem")).unwrap();
        let rules = ["Read(~/.ssh/**)", "Read(./.env)", "Read(.env.*)", "Read(**/secrets/**)", "Read(*.pem)"];
        let (permit, roots) = permit(&dir, &rules);
        let found = find(&permit, Deed::Read, &roots);
        let wanted = [
            "home/.ssh",
            "root/.env",
            "root/a/b/.env.local",
            "root/a/b/secrets",
            "root/a/link.pem",
            "root/keys/k.pem",
            "root/node_modules/x/y.pem",
        ];
        assert_eq!(found.paths, wanted.map(|path| dir.join(path)));
        assert!(!found.incomplete);
    }

    #[test]
    fn without_rules_nothing_is_looked_at() {
        let (permit, _) = permit(Path::new("/nowhere"), &["Read(~/.ssh/**)"]);
        let found = find(&permit, Deed::Read, &[PathBuf::from("/")]);
        assert_eq!((found.paths, found.incomplete), (vec![PathBuf::from("/nowhere/home/.ssh")], false));
    }

    #[test]
    fn too_much_is_said_to_be_too_much() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().canonicalize().unwrap();
        fs_err::create_dir_all(dir.join("root/deep")).unwrap();
        (0..=MOST_PATHS)
            .for_each(|number| fs_err::write(dir.join(format!("root/{number}.pem")), "").unwrap());
        let (permit, roots) = permit(&dir, &["Read(*.pem)"]);
        assert!(find(&permit, Deed::Read, &roots).incomplete);
    }
}
