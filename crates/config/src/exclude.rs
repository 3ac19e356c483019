//! A settings file that is one person's stays out of the repository that it lies in: git is told so in a place that nobody
//! shares, the repository's own `info/exclude`.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Keeps git from listing a file, if it lies in a work tree. That this does not work out is no reason to keep a setting
/// from being written.
pub(crate) fn exclude(file: &Path) {
    // Nobody is told: git lists the file, as it would have without this.
    let _ = try_exclude(file);
}

fn try_exclude(file: &Path) -> Option<()> {
    let file = file.canonicalize().ok()?;
    // The innermost work tree is the one that lists it, also if what it belongs to cannot be told.
    let top = file.ancestors().skip(1).find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    let git_dir = git_dir(top)?;
    let pattern = pattern(file.strip_prefix(top).ok()?.to_str()?)?;
    let list = git_dir.join("info/exclude");
    // A link may lead to a file that somebody shares.
    if list.is_symlink() {
        return None;
    }
    let known = String::from_utf8_lossy(&fs_err::read(&list).unwrap_or_default()).into_owned();
    if known.lines().any(|line| line.trim() == pattern) {
        return None;
    }
    fs_err::create_dir_all(git_dir.join("info")).ok()?;
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    let mut list = fs_err::OpenOptions::new().create(true).append(true).open(list).ok()?;
    list.write_all(format!("{gap}{pattern}\n").as_bytes()).ok()
}

/// A pattern for one path; none if it has no room on a line.
fn pattern(path: &str) -> Option<String> {
    let escaped =
        path.chars().flat_map(|c| ['\\', '*', '?', '['].contains(&c).then_some('\\').into_iter().chain([c]));
    (!path.contains('\n')).then(|| std::iter::once('/').chain(escaped).collect())
}

/// The directory with what all work trees of a repository share, if this is the top of one of them.
fn git_dir(top: &Path) -> Option<PathBuf> {
    let mark = top.join(".git");
    if mark.is_symlink() {
        return None;
    }
    let dir = if mark.is_dir() { mark } else { linked(&mark)? };
    (dir.join("HEAD").exists() && dir.join("objects").is_dir()).then_some(dir)
}

/// Where the mark of a further work tree leads, if that leads back: anybody can write such a file.
fn linked(mark: &Path) -> Option<PathBuf> {
    let text = fs_err::read_to_string(mark).ok()?;
    let own = mark.parent()?.join(text.strip_prefix("gitdir:")?.trim());
    let back = own.join(fs_err::read_to_string(own.join("gitdir")).ok()?.trim());
    let leads_back = back.canonicalize().ok()? == mark.canonicalize().ok()?;
    let common = own.join(fs_err::read_to_string(own.join("commondir")).ok()?.trim());
    leads_back.then(|| common.canonicalize().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
        let output =
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn local_file(dir: &Path) -> PathBuf {
        fs_err::create_dir_all(dir.join(".tiller")).unwrap();
        let file = dir.join(".tiller/settings.local.json");
        fs_err::write(&file, "{}\n").unwrap();
        file
    }

    #[test]
    fn a_pattern_means_one_path_and_has_one_line() {
        assert_eq!(pattern("app/[id]/*.json").as_deref(), Some("/app/\\[id]/\\*.json"));
        assert_eq!(pattern("a\nb"), None);
    }

    #[test]
    fn the_repository_around_a_submodule_is_not_touched() {
        let place = tempfile::tempdir().unwrap();
        git(place.path(), &["init", "-q"]);
        let inner = place.path().join("inner");
        fs_err::create_dir(&inner).unwrap();
        fs_err::write(inner.join(".git"), "gitdir: ../.git/modules/inner\n").unwrap();
        let list = place.path().join(".git/info/exclude");
        let before = fs_err::read(&list).unwrap_or_default();
        exclude(&local_file(&inner));
        assert_eq!(fs_err::read(&list).unwrap_or_default(), before);
    }

    #[test]
    fn git_does_not_list_the_file_in_any_work_tree() {
        let place = tempfile::tempdir().unwrap();
        let main = place.path().join("main");
        fs_err::create_dir(&main).unwrap();
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
        git(&main, &["worktree", "add", "-q", "../further"]);
        for dir in [main.clone(), place.path().join("further"), main.join("sub")] {
            let file = local_file(&dir);
            exclude(&file);
            exclude(&file);
            assert_eq!(
                git(&dir, &["status", "--porcelain", "--untracked-files=all"]),
                "",
                "{}",
                dir.display()
            );
        }
        let list = fs_err::read_to_string(main.join(".git/info/exclude")).unwrap();
        let ours: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(ours, ["/.tiller/settings.local.json", "/sub/.tiller/settings.local.json"]);
    }

    // A hostile project: its mark names a repository that knows nothing of it.
    #[test]
    fn repositories_of_others_are_not_touched() {
        let place = tempfile::tempdir().unwrap();
        let (own, other) = (place.path().join("own"), place.path().join("other"));
        for dir in [&own, &other] {
            fs_err::create_dir(dir).unwrap();
        }
        git(&other, &["init", "-q"]);
        fs_err::write(own.join(".git"), format!("gitdir: {}\n", other.join(".git").display())).unwrap();
        let before = fs_err::read_to_string(other.join(".git/info/exclude")).unwrap_or_default();
        exclude(&local_file(&own));
        assert_eq!(fs_err::read_to_string(other.join(".git/info/exclude")).unwrap_or_default(), before);
    }
}
