//! Paths without a file system: `..` is taken by its letters, links are the caller's to resolve.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::own_view::{INPUT, OwnView};

/// A path in its two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// As written, made absolute, `..` taken away.
    pub(crate) written: PathBuf,
    /// Where it really leads.
    pub(crate) real: PathBuf,
    /// Whether it was named with `..`, and so leads through directories that `written` does not show.
    pub(crate) turns: bool,
}

impl Place {
    /// A place that was named by an absolute path, and where that really leads.
    #[must_use]
    pub fn new(written: &Path, real: PathBuf) -> Self {
        Self { written: lexical(written), real, turns: turns(written) }
    }

    /// Whether it is what a program reads if it is told no file: that may be a directory.
    pub(crate) fn is_input(&self) -> bool {
        self.real == Path::new(INPUT)
    }

    /// Where it really leads.
    #[must_use]
    pub fn real(&self) -> &Path {
        &self.real
    }
}

/// A place that was named by where it really is.
impl From<PathBuf> for Place {
    fn from(real: PathBuf) -> Self {
        Self { written: real.clone(), real, turns: false }
    }
}

/// A place that was named by where it really is.
impl From<&str> for Place {
    fn from(real: &str) -> Self {
        PathBuf::from(real).into()
    }
}

/// Finds where a path really leads. The default knows no links and goes by the letters.
#[derive(Clone, Default)]
pub struct Resolver {
    resolve: Option<Arc<Resolve>>,
    link_target: Option<Arc<LinkTarget>>,
    links: Option<Arc<Links>>,
    is_dir: Option<Arc<IsDir>>,
    below: Option<Arc<Below>>,
    odd_names: Option<Arc<Below>>,
    names_in: Option<Arc<Below>>,
}

type Resolve = dyn Fn(&Path) -> PathBuf + Send + Sync;
type LinkTarget = dyn Fn(&Path) -> Option<PathBuf> + Send + Sync;
type IsDir = dyn Fn(&Path) -> bool + Send + Sync;
type Below = dyn Fn(&Path) -> Option<Vec<PathBuf>> + Send + Sync;
type Links = dyn Fn(&Path, &str) -> Option<Vec<PathBuf>> + Send + Sync;

impl Resolver {
    /// Resolves by `resolve`, which gets absolute paths that may contain `..` and must judge a path that does not
    /// exist yet by its nearest existing ancestor.
    pub fn new(resolve: impl Fn(&Path) -> PathBuf + Send + Sync + 'static) -> Self {
        Self { resolve: Some(Arc::new(resolve)), ..Self::default() }
    }

    /// Tells by `link_target` what a link says, if a path is that of one: what it leads through may be something else to the
    /// program that follows it than to Tiller.
    #[must_use]
    pub fn with_link_targets(
        self,
        link_target: impl Fn(&Path) -> Option<PathBuf> + Send + Sync + 'static,
    ) -> Self {
        Self { link_target: Some(Arc::new(link_target)), ..self }
    }

    /// Finds by `links` what a shell pattern below a directory stands for and is only reached through a link; `None`
    /// says that nobody can tell.
    #[must_use]
    pub fn with_links(
        self,
        links: impl Fn(&Path, &str) -> Option<Vec<PathBuf>> + Send + Sync + 'static,
    ) -> Self {
        Self { links: Some(Arc::new(links)), ..self }
    }

    /// Tells directories by `is_dir`, and finds by `below` everything below one, named from there; `None` says that there
    /// is too much of it.
    #[must_use]
    pub fn with_trees(
        self,
        is_dir: impl Fn(&Path) -> bool + Send + Sync + 'static,
        below: impl Fn(&Path) -> Option<Vec<PathBuf>> + Send + Sync + 'static,
    ) -> Self {
        Self { is_dir: Some(Arc::new(is_dir)), below: Some(Arc::new(below)), ..self }
    }

    /// Finds by `odd_names` what lies below a directory and, in a list of names, would not be read as what it is: names with
    /// blanks, quotes, backslashes or marks of patterns in them, and those right in it that begin as options do. `None` says
    /// that nobody can tell.
    #[must_use]
    pub fn with_odd_names(
        self,
        odd_names: impl Fn(&Path) -> Option<Vec<PathBuf>> + Send + Sync + 'static,
    ) -> Self {
        Self { odd_names: Some(Arc::new(odd_names)), ..self }
    }

    /// Finds by `names_in` the names right in a directory. `None` says that there are too many.
    #[must_use]
    pub fn with_names_in(
        self,
        names_in: impl Fn(&Path) -> Option<Vec<PathBuf>> + Send + Sync + 'static,
    ) -> Self {
        Self { names_in: Some(Arc::new(names_in)), ..self }
    }

    pub(crate) fn names_in(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        self.names_in.as_ref().map_or_else(|| Some(Vec::new()), |names_in| names_in(dir))
    }

    pub(crate) fn odd_names(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        self.odd_names.as_ref().map_or_else(|| Some(Vec::new()), |odd_names| odd_names(dir))
    }

    /// Whether a path is that of a directory, or may be.
    pub(crate) fn is_dir(&self, path: &Path) -> bool {
        self.is_dir.as_ref().is_none_or(|is_dir| is_dir(path))
    }

    pub(crate) fn below(&self, dir: &Path) -> Option<Vec<PathBuf>> {
        self.below.as_ref().map_or_else(|| Some(Vec::new()), |below| below(dir))
    }

    pub(crate) fn links(&self, dir: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
        self.links.as_ref().map_or_else(|| Some(Vec::new()), |links| links(dir, pattern))
    }

    pub(crate) fn place(&self, path: &Path) -> Place {
        let written = lexical(path);
        let real = match (self.own_view(path), &self.resolve) {
            // To Tiller it is another one.
            (Some(view), _) => view.named(),
            (None, Some(resolve)) => resolve(path),
            (None, None) => written.clone(),
        };
        Place { written, real, turns: turns(path) }
    }

    /// Where a path leads through what each process sees in its own way, if it does.
    pub(crate) fn own_view(&self, path: &Path) -> Option<OwnView> {
        OwnView::of(path, |link| self.link_target.as_ref()?(link))
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.resolve.is_some() { "Resolver(given)" } else { "Resolver(lexical)" })
    }
}

fn turns(path: &Path) -> bool {
    path.components().any(|part| part == Component::ParentDir)
}

/// Takes `.` and `..` away.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// Files that decide what is allowed or run later.
const GUARDED: &[&str] = &[".tiller", ".claude", ".git", ".githooks", ".husky", ".mcp.json"];

/// The file that makes `git` take a directory for a repository and obey the settings in it.
const REPOSITORY_MARK: &str = "HEAD";

/// Whether a path is, or lies in, something that is never changed without a question.
pub(crate) fn is_guarded(path: &Path) -> bool {
    let guarded = |name: &str| GUARDED.iter().any(|guarded| name.eq_ignore_ascii_case(guarded));
    path.file_name().is_some_and(|name| name == REPOSITORY_MARK)
        || path.components().any(|part| part.as_os_str().to_str().is_some_and(guarded))
}

/// What in git's own directory decides what git runs, or where it looks for that. The rest records its work.
const STEERING_GIT: &[&str] = &[
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
];

/// Whether something that is guarded decides what is allowed or run later.
pub(crate) fn steers(path: &Path) -> bool {
    let names: Option<Vec<String>> =
        path.iter().map(|name| name.to_str().map(str::to_ascii_lowercase)).collect();
    let Some(names) = names else { return true };
    let Some(git) = names.iter().position(|name| name == ".git") else { return true };
    let below = &names[git + 1..];
    let is_other = |name: &String| name != ".git" && GUARDED.contains(&name.as_str());
    below.is_empty()
        || names.iter().any(is_other)
        || below.iter().any(|name| name == ".git" || STEERING_GIT.contains(&name.as_str()))
        || below.ends_with(&["info".to_owned(), "attributes".to_owned()])
}

/// The names of files and directories that are never changed without a question.
pub(crate) fn guarded_names() -> &'static [&'static str] {
    GUARDED
}

/// Whether a rule's text names something guarded on purpose.
pub(crate) fn names_guarded(pattern: &str) -> bool {
    pattern.split('/').any(|part| GUARDED.contains(&part))
}

/// Places of the system that hold nothing private.
const PUBLIC: &[&str] = &[
    "/bin",
    "/dev/null",
    "/dev/stdin",
    "/dev/zero",
    "/etc/debian_version",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/issue",
    "/etc/os-release",
    "/lib",
    "/lib64",
    "/opt",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/version",
    "/sbin",
    "/usr",
];

/// Whether everybody may look there.
pub(crate) fn is_public(path: &Path) -> bool {
    PUBLIC.iter().any(|public| path.starts_with(public))
}
