//! The paths of a confinement, resolved.

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use tiller_policy::Script;

use super::placeholder::MountPoint;
use super::resolve::Resolver;
use super::{repository, sockets};
use crate::confinement::{Confinement, TEMPORARY, Temporary};

/// Directories of settings. They would rule outside of the confinement later.
const SETTINGS: &[&str] = &[".tiller", ".claude"];
/// Files at which the same is true. Nothing stands in for one that is missing, because git would show it as the user's: what
/// a command makes there is set aside at its end.
const FILES: &[&str] = &[".mcp.json"];

/// The paths of a confinement, resolved.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) roots: Vec<PathBuf>,
    /// What may be written for good.
    pub(crate) writable: Vec<PathBuf>,
    /// Where temporary files are made.
    pub(crate) scrap: Vec<PathBuf>,
    /// Where a throw-away layer is laid.
    pub(crate) layered: Vec<PathBuf>,
    /// Where a layer is laid although the rest may be written for good.
    pub(crate) caches: Vec<PathBuf>,
    /// Directories that programs expect to exist.
    pub(crate) expected: Vec<PathBuf>,
    /// What stays as it is, whether it exists or not.
    pub(crate) protected: Vec<PathBuf>,
    /// What has to exist for something to be mounted on it, outermost first.
    pub(crate) mount_points: Vec<MountPoint>,
    pub(crate) denied: Vec<PathBuf>,
    /// Where services put their sockets.
    pub(crate) socket_dirs: Vec<PathBuf>,
    /// Sockets that may be reached.
    pub(crate) sockets: Vec<PathBuf>,
    pub(crate) scratch: Option<PathBuf>,
    /// Whose temporary directories it sees.
    pub(crate) temporary: Temporary,
    /// Where layers over caches are kept.
    pub(crate) layers: Option<PathBuf>,
    /// Whether a directory over which no layer can be laid is an error.
    pub(crate) must_layer: bool,
    /// Knows what is on the way to all of them.
    pub(crate) resolver: Resolver,
}

impl Places {
    pub(crate) fn new(confinement: &Confinement, script: &Script, vars: &BTreeMap<String, String>) -> Self {
        let var = |name: &str| vars.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let resolver = Resolver::default();
        let roots = resolved(&resolver, &confinement.roots);
        let home = var("HOME").and_then(|home| resolver.resolve(&home));
        let holds_home = |dir: &Path| home.as_ref().is_some_and(|home| home.starts_with(dir));
        let temporary = var("TMPDIR");
        let is_shared = confinement.temporary == Temporary::Shared;
        let named = temporary.as_ref().filter(|dir| is_shared && !holds_home(dir.as_path()));
        let is_usual = |dir: &Path| TEMPORARY.iter().any(|usual| dir == Path::new(usual));
        let declared = resolved(&resolver, confinement.writable.iter().chain(named));
        let mut git_dirs = each_once(roots.iter().flat_map(|root| repository::git_dirs(root)));
        git_dirs.retain(|dir| is_shared || roots.iter().any(|root| dir.starts_with(root)));
        let scratch = confinement.scratch.as_ref().and_then(|dir| resolver.resolve(dir));
        let own = resolved(&resolver, home.iter().chain([&script.cwd]).filter(|dir| *dir != Path::new("/")));
        // The whole file system is no project.
        let projects = roots.iter().filter(|root| root.parent().is_some());
        let settings = each_once(projects.flat_map(|root| SETTINGS.iter().map(|name| root.join(name))));
        let obeyed = each_once(roots.iter().flat_map(|root| repository::obeyed_dirs(root)));
        // Where a command cannot write, nothing has to be put in the place of what is missing.
        let is_in_reach = |dir: &&PathBuf| {
            git_dirs.contains(dir) || roots.iter().chain(&declared).any(|writable| dir.starts_with(writable))
        };
        let obeyed = obeyed.iter().filter(is_in_reach);
        let of_git: Vec<_> = obeyed.flat_map(|dir| repository::protected(dir)).collect();
        let closed: Vec<_> =
            confinement.closed.iter().filter_map(|dir| place_of(&resolver, dir, &roots)).collect();
        let stand_ins = of_git.iter().filter(|place| !repository::must_not_name_common(place)).cloned();
        let dirs = settings.iter().chain(&confinement.caches).cloned();
        let dirs = dirs.chain(closed.iter().flat_map(|dir| missing_on_the_way(dir)));
        // A home that lies in a temporary directory is none the less a home, unless it is a place to work in.
        let home_among_temporary = home
            .clone()
            .filter(|home| !declared.contains(home) && depth(&declared, home) > depth(&roots, home));
        let protected = settings
            .iter()
            .cloned()
            .chain(of_git.iter().map(|place| place.path.clone()))
            .chain(closed.iter().cloned())
            .chain(roots.iter().flat_map(|root| files(root)))
            .chain(confinement.protected.iter().filter_map(|path| place_of(&resolver, path, &roots)))
            .chain(home_among_temporary);
        Self {
            layered: [&roots, &declared, &git_dirs, &own].into_iter().flatten().cloned().collect(),
            writable: each_once(roots.iter().chain(&git_dirs).chain(&declared).chain(&scratch).cloned()),
            scrap: resolved(&resolver, confinement.writable.iter().filter(|dir| is_usual(dir)).chain(named)),
            caches: Vec::new(),
            expected: temporary.into_iter().chain(var("XDG_RUNTIME_DIR")).collect(),
            protected: each_once(protected),
            mount_points: dirs.map(MountPoint::dir).chain(stand_ins).collect(),
            denied: confinement.denied_reads.iter().filter_map(|path| resolver.resolve(path)).collect(),
            sockets: kept_sockets(&resolver, confinement, vars),
            scratch,
            temporary: confinement.temporary,
            layers: confinement.layers.clone(),
            must_layer: false,
            socket_dirs: sockets::dirs(&resolver, home.as_deref(), var("XDG_RUNTIME_DIR").as_deref()),
            roots,
            resolver,
        }
    }

    /// What may be written by a command that only looks: temporary files, but not where somebody works.
    pub(crate) fn open_to_looking(&self) -> impl Iterator<Item = &PathBuf> {
        let is_open = |dir: &&PathBuf| self.scrap.contains(dir) && !self.roots.contains(dir);
        self.writable.iter().filter(is_open)
    }

    /// Takes in what exists now that mount points were made: protected paths that do not exist, or that a link leads
    /// away from, cannot be mounted on.
    pub(crate) fn look_again(&mut self, confinement: &Confinement) {
        self.resolver.forget_missing();
        self.protected.retain(|path| self.resolver.resolve(path).is_some_and(|real| real == *path));
        self.caches = resolved(&self.resolver, &confinement.caches);
        let (writable, protected) = (&self.writable, &self.protected);
        // Of two marks on the way to a cache, the inner one counts.
        self.caches.retain(|cache| depth(writable, cache) <= depth(protected, cache));
    }
}

/// Where a path leads. One that does not exist yet counts where the command could make it.
fn place_of(resolver: &Resolver, path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    if let Some(real) = resolver.resolve(path) {
        return Some(real);
    }
    let above = path.ancestors().skip(1).find(|at| resolver.exists(at))?;
    let place = resolver.resolve(above)?.join(path.strip_prefix(above).ok()?);
    roots.iter().any(|root| place.starts_with(root)).then_some(place)
}

/// The directories that have to be made for this one to exist, itself included.
fn missing_on_the_way(dir: &Path) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> =
        dir.ancestors().take_while(|at| at.symlink_metadata().is_err()).map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// Files directly in a working directory that decide what is run.
fn files(root: &Path) -> Vec<PathBuf> {
    let names = FILES.iter().map(|name| root.join(name));
    // As a file it leads to the repository, as a directory it is written to.
    let repository = Some(root.join(".git")).filter(|mark| mark.is_file());
    names.chain(repository).collect()
}

/// Sockets that variables lead to which are passed on by name.
fn kept_sockets(
    resolver: &Resolver,
    confinement: &Confinement,
    vars: &BTreeMap<String, String>,
) -> Vec<PathBuf> {
    let kept = confinement.kept_vars.iter().filter_map(|name| vars.get(name));
    let paths = kept.filter_map(|value| resolver.resolve(Path::new(value)));
    paths.filter(|path| path.metadata().is_ok_and(|meta| meta.file_type().is_socket())).collect()
}

fn resolved<'a>(resolver: &Resolver, paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter_map(|path| resolver.resolve(path)).filter(|path| path.is_dir()).collect()
}

/// How deep the innermost of these directories is that hold a path; 0 if none does.
fn depth(dirs: &[PathBuf], path: &Path) -> usize {
    let holding = dirs.iter().filter(|dir| path.starts_with(dir));
    holding.map(|dir| dir.components().count()).max().unwrap_or(0)
}

fn each_once(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}
