//! What the decisions of a session depend on. Whoever explains a decision beside a session judges by the same.

use std::path::{Path, PathBuf};

use tiller_config::Places;
use tiller_policy::{Context, Resolver, Rules};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;
use tiller_tools::resolve_links;

use crate::confinement::SandboxChoice;

/// What decides in a session that works here and in these directories.
#[must_use]
pub fn context(env: &Env, additional_dirs: &[PathBuf], rules: Rules, mode: Mode) -> Context {
    Context {
        mode,
        rules,
        roots: roots(&env.cwd, additional_dirs),
        home: env.home.clone(),
        guarded: own(env),
        holding: SandboxChoice::default().holding(),
        bypass_available: mode == Mode::BypassPermissions,
        resolver: Resolver::new(resolve_links),
        ..Context::default()
    }
}

/// Where settings and state are kept, wherever that is.
fn own(env: &Env) -> Vec<PathBuf> {
    let places = Places::of(env);
    let managed = places.managed.parent().map(Path::to_path_buf);
    [places.config_dir, places.foreign_dir].into_iter().chain(managed).map(|dir| resolved(&dir)).collect()
}

/// The working directories, links resolved; each once.
fn roots(cwd: &Path, additional: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    for dir in std::iter::once(cwd).chain(additional.iter().map(PathBuf::as_path)) {
        let dir = resolved(dir);
        if !roots.contains(&dir) {
            roots.push(dir);
        }
    }
    roots
}

pub(crate) fn resolved(path: &Path) -> PathBuf {
    fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
