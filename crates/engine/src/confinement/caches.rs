//! Caches of package managers and build tools. Commands in a workspace get a layer over them: what they download or
//! build is there for the session, and never reaches what the user runs later.

use std::path::{Path, PathBuf};

use tiller_protocol::env::Env;

/// Where a cache is.
struct Cache {
    /// The variable that names it.
    var: Option<&'static str>,
    /// Where it is otherwise, below the home directory.
    home: Option<&'static str>,
    /// What of it is a cache; all of it if nothing is named.
    parts: &'static [&'static str],
    /// Whether it is offered where there is none yet.
    made: bool,
}

const fn at_home(home: &'static str) -> Cache {
    Cache { var: None, home: Some(home), parts: &[], made: false }
}

const fn named(var: &'static str) -> Cache {
    Cache { var: Some(var), home: None, parts: &[], made: false }
}

/// Nothing here is a place for programs that the user calls by name: what is installed there would vanish.
const CACHES: &[Cache] = &[
    Cache { var: Some("XDG_CACHE_HOME"), home: Some(".cache"), parts: &[], made: true },
    Cache { var: Some("npm_config_cache"), home: Some(".npm"), parts: &[], made: true },
    Cache { var: Some("CARGO_HOME"), home: Some(".cargo"), parts: &["registry", "git"], made: false },
    Cache { var: Some("GOPATH"), home: Some("go"), parts: &["pkg"], made: false },
    Cache { var: Some("GRADLE_USER_HOME"), home: Some(".gradle"), parts: &[], made: false },
    Cache { var: Some("CCACHE_DIR"), home: Some(".ccache"), parts: &[], made: false },
    at_home(".m2/repository"),
    at_home(".ivy2/cache"),
    at_home(".nuget/packages"),
    at_home(".bundle/cache"),
    at_home(".yarn/berry"),
    at_home(".bun/install/cache"),
    at_home(".local/share/pnpm/store"),
    at_home(".cabal/packages"),
    at_home(".hex"),
    named("GOCACHE"),
    named("GOMODCACHE"),
    named("PIP_CACHE_DIR"),
    named("UV_CACHE_DIR"),
    named("YARN_CACHE_FOLDER"),
    named("SCCACHE_DIR"),
    named("HF_HOME"),
];

/// The caches of this user.
pub(super) fn of(env: &Env) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for cache in CACHES {
        let named = cache.var.and_then(|var| env.var(var)).map(PathBuf::from).filter(|dir| dir.is_absolute());
        let Some(dir) = named.or_else(|| Some(env.home.join(cache.home?))) else { continue };
        let parts = match cache.parts {
            [] => vec![dir],
            parts => parts.iter().map(|part| dir.join(part)).collect(),
        };
        found.extend(parts.into_iter().filter(|dir| is_cache(dir, cache.made, &env.home)));
    }
    found.sort();
    found.dedup();
    found
}

/// A variable could name anything: the home directory is no cache, and neither is what holds it.
fn is_cache(dir: &Path, made: bool, home: &Path) -> bool {
    !home.starts_with(dir)
        && (dir.is_dir() || made && !dir.exists() && dir.parent().is_some_and(Path::is_dir))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::still;

    #[test]
    fn caches_are_where_variables_say_or_at_home() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        for path in ["home/.cargo/registry", "home/.cargo/bin", "elsewhere/go/pkg", "home/go/pkg"] {
            fs_err::create_dir_all(dir.path().join(path)).unwrap();
        }
        let vars = [
            ("GOPATH", dir.path().join("elsewhere/go")),
            ("GOCACHE", home.clone()),
            ("UV_CACHE_DIR", "/".into()),
            ("PIP_CACHE_DIR", "relative".into()),
        ];
        let vars: BTreeMap<String, String> =
            vars.map(|(name, path)| (name.to_owned(), path.display().to_string())).into();
        let wanted = [
            dir.path().join("elsewhere/go/pkg"),
            home.join(".cache"),
            home.join(".cargo/registry"),
            home.join(".npm"),
        ];
        assert_eq!(of(&still::env(vars, &home)), wanted);
    }
}
