//! Where git looks for the programs that it runs by itself, if a repository has them beside its other files.

use std::path::{Path, PathBuf};

use tiller_steering::user_context::git::root;

/// The directory that the settings of the repository around `dir` name for its hooks.
pub(crate) fn hooks_dir(dir: &Path) -> Option<PathBuf> {
    let top = root(dir)?;
    let settings = fs_err::read_to_string(settings_dir(top)?.join("config")).ok()?;
    let named = hooks_path(&settings)?;
    // A place at home is no part of the project.
    (!named.starts_with('~')).then(|| top.join(named))
}

/// Where a repository keeps its settings: a further work tree has but a file that says where the others are.
fn settings_dir(top: &Path) -> Option<PathBuf> {
    let own = top.join(".git");
    if own.is_dir() {
        return Some(own);
    }
    let pointer = fs_err::read_to_string(&own).ok()?;
    let tree = top.join(pointer.strip_prefix("gitdir:")?.trim());
    match fs_err::read_to_string(tree.join("commondir")) {
        Ok(common) => Some(tree.join(common.trim())),
        Err(_) => Some(tree),
    }
}

/// The last value of `core.hooksPath`.
fn hooks_path(settings: &str) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in settings.lines() {
        let mut line = line.trim();
        if let Some((section, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            in_core = section.trim().eq_ignore_ascii_case("core");
            line = rest.trim();
        }
        let Some((name, value)) = line.split_once('=').filter(|_| in_core) else { continue };
        if name.trim().eq_ignore_ascii_case("hookspath") {
            found = Some(plain(value.trim()));
        }
    }
    found.filter(|path| !path.is_empty())
}

/// A value without its quotes or the remark behind it.
fn plain(value: &str) -> String {
    match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
        None => value.split(['#', ';']).next().unwrap_or_default().trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_counts() {
        for (settings, expected) in [
            ("[core]\n\thooksPath = .husky/_\n", Some(".husky/_")),
            ("[core]\n\tbare = false\n\tHOOKSPATH=\"my hooks\" # x\n", Some("my hooks")),
            ("[core] hooksPath = a\n[user]\nname = x\n[CORE]\nhookspath = b ; c\n", Some("b")),
            ("[other]\nhooksPath = a\n", None),
            ("[core]\nhooksPath =\n", None),
        ] {
            assert_eq!(hooks_path(settings).as_deref(), expected, "{settings}");
        }
    }

    #[test]
    fn a_further_work_tree_has_the_settings_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let (first, further) = (dir.path().join("first"), dir.path().join("further"));
        let tree = first.join(".git/worktrees/further");
        fs_err::create_dir_all(&tree).unwrap();
        fs_err::create_dir_all(further.join("src")).unwrap();
        fs_err::write(first.join(".git/config"), "[core]\nhooksPath = hooks\n").unwrap();
        fs_err::write(tree.join("commondir"), "../..\n").unwrap();
        fs_err::write(further.join(".git"), format!("gitdir: {}\n", tree.display())).unwrap();
        assert_eq!(hooks_dir(&first), Some(first.join("hooks")));
        assert_eq!(hooks_dir(&further.join("src")), Some(further.join("hooks")));
        assert_eq!(hooks_dir(dir.path()), None);
    }
}
