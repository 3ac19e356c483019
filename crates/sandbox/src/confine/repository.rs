//! The git directories of a working directory, and what of them decides about things that git runs.

use std::path::{Path, PathBuf};

use super::placeholder::{Kind, MountPoint};

/// What git obeys without a question, and what stands for it where it is missing: hooks, settings, and where further
/// settings are. A directory that is common to nobody but itself is what git assumes without being told; libgit2 takes only
/// what begins with `./` or `../` for relative.
const OBEYED: [(&str, Kind); 4] = [
    ("hooks", Kind::Dir),
    ("config", Kind::File("")),
    ("config.worktree", Kind::File("")),
    (COMMON, Kind::File("./\n")),
];
/// Where the directory is named that several working trees share.
const COMMON: &str = "commondir";
/// What is in every git directory, or in that of a linked working tree, and whether it is a directory.
const PARTS: [(&str, bool); 8] = [
    ("HEAD", false),
    ("objects", true),
    ("refs", true),
    ("config", false),
    ("hooks", true),
    (COMMON, false),
    ("index", false),
    ("packed-refs", false),
];
/// How deep git directories of submodules are looked for; their names may contain slashes.
const MODULE_DEPTH: usize = 4;
/// How many are protected at most.
const MOST_MODULES: usize = 64;

/// The git directories that commands in a working directory have to write to: that of the repository it lies in; for a
/// linked working tree its own and the common one.
pub(crate) fn git_dirs(root: &Path) -> Vec<PathBuf> {
    git_mark(root).map_or_else(Vec::new, |mark| named_by(&mark))
}

fn named_by(mark: &Path) -> Vec<PathBuf> {
    match fs_err::symlink_metadata(mark) {
        Ok(meta) if meta.is_dir() && is_git_dir(mark) => vec![mark.to_owned()],
        Ok(meta) if meta.is_file() => linked(mark).unwrap_or_default(),
        // Whoever may write here may have made a link to anywhere.
        _ => Vec::new(),
    }
}

/// What makes a working directory part of a repository: a directory, a file that names one, or a link. The nearest one
/// above counts.
#[must_use]
pub fn git_mark(root: &Path) -> Option<PathBuf> {
    git_marks(root).next()
}

fn git_marks(root: &Path) -> impl Iterator<Item = PathBuf> {
    let marks = root.ancestors().map(|dir| dir.join(".git"));
    marks.filter(|mark| fs_err::symlink_metadata(mark).is_ok())
}

/// The git directories that git obeys in a working directory. It follows whatever link or file is there, so these may lie
/// anywhere; that something in them must stay as it is makes nothing writable. Git passes by what is no whole repository.
pub(crate) fn obeyed_dirs(root: &Path) -> Vec<PathBuf> {
    let mut obeyed = Vec::new();
    for mark in git_marks(root) {
        let dirs = match named_by(&mark) {
            dirs if dirs.is_empty() => followed(&mark).unwrap_or_default(),
            dirs => dirs,
        };
        let is_whole = |dir: &PathBuf| ["HEAD", "objects", "refs"].iter().all(|name| dir.join(name).exists());
        let ends = dirs.iter().any(is_whole);
        obeyed.extend(dirs);
        if ends {
            break;
        }
    }
    obeyed
}

/// Where git ends up from a mark, whoever made it.
fn followed(mark: &Path) -> Option<Vec<PathBuf>> {
    let real = mark.canonicalize().ok()?;
    let own = if real.is_dir() {
        real
    } else {
        let text = fs_err::read_to_string(&real).ok()?;
        mark.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?
    };
    let common = fs_err::read_to_string(own.join(COMMON)).ok();
    let common = common.and_then(|text| own.join(text.trim()).canonicalize().ok());
    let mut dirs: Vec<PathBuf> = common.into_iter().filter(|common| *common != own).collect();
    dirs.push(own);
    dirs.retain(|dir| was_git_dir(dir));
    Some(dirs)
}

/// Whether a directory is one of git's, or may become one again: whoever moves a part of it away can move it back.
fn was_git_dir(dir: &Path) -> bool {
    PARTS.iter().any(|(part, is_dir)| {
        let meta = fs_err::symlink_metadata(dir.join(part));
        meta.is_ok_and(|meta| meta.is_dir() == *is_dir)
    })
}

/// What must stay as it is in a git directory and in those of its submodules, and what it is where it is missing.
pub(crate) fn protected(git_dir: &Path) -> Vec<MountPoint> {
    let mut dirs = vec![git_dir.to_owned()];
    modules(&git_dir.join("modules"), MODULE_DEPTH, &mut dirs);
    let of = |dir: &PathBuf| OBEYED.map(|(name, kind)| MountPoint { path: dir.join(name), kind });
    dirs.iter().flat_map(of).collect()
}

/// The files and directories that git obeys where it runs in a working directory: hooks and settings, those of
/// submodules included.
#[must_use]
pub fn obeyed_by_git(root: &Path) -> Vec<PathBuf> {
    let dirs = obeyed_dirs(root);
    dirs.iter().flat_map(|dir| protected(dir)).map(|place| place.path).collect()
}

/// Whether git would take the repository for another kind of repository if it named a common directory: then it does
/// not look whether it has a working tree.
pub(crate) fn must_not_name_common(place: &MountPoint) -> bool {
    let Some(git_dir) = place.path.parent().filter(|_| place.path.ends_with(COMMON)) else { return false };
    setting(git_dir, "bare").is_some_and(|value| !["false", "no", "off", "0"].contains(&value.as_str()))
}

fn is_git_dir(dir: &Path) -> bool {
    dir.join("HEAD").exists() && dir.join("objects").is_dir()
}

fn modules(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(dir).into_iter().flatten().flatten() {
        if found.len() > MOST_MODULES || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let path = entry.path();
        let is_whole = is_git_dir(&path);
        if is_whole || was_git_dir(&path) {
            modules(&path.join("modules"), depth, found);
            found.push(path.clone());
        }
        // A part of the name of others may be called like a part of a repository.
        if !is_whole && depth > 1 {
            modules(&path, depth - 1, found);
        }
    }
}

/// The directories a `.git` file leads to, if they lead back: anybody can write such a file, and what it names becomes
/// writable.
fn linked(mark: &Path) -> Option<Vec<PathBuf>> {
    let mark = mark.canonicalize().ok()?;
    let tree = mark.parent()?;
    let text = fs_err::read_to_string(&mark).ok()?;
    let own = tree.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let named_in = |file: &str| {
        let text = fs_err::read_to_string(own.join(file)).ok()?;
        own.join(text.trim()).canonicalize().ok()
    };
    if named_in("gitdir").as_deref() == Some(&mark) {
        let common = named_in("commondir")?;
        let belongs = own.starts_with(common.join("worktrees")) && is_git_dir(&common);
        return belongs.then(|| vec![common, own.clone()]);
    }
    let is_module = working_tree_of(&own).as_deref() == Some(tree) && is_git_dir(&own);
    is_module.then(|| vec![own])
}

/// The working tree that the settings of a submodule's git directory name.
fn working_tree_of(git_dir: &Path) -> Option<PathBuf> {
    git_dir.join(setting(git_dir, "worktree")?).canonicalize().ok()
}

/// What a line in the settings of a git directory says.
fn setting(git_dir: &Path, wanted: &str) -> Option<String> {
    let settings = fs_err::read_to_string(git_dir.join("config")).ok()?;
    settings.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == wanted).then(|| value.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn bash(dir: &Path, script: &str) {
        let set = "set -e; export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1; \
                   git() { command git -c user.name=t -c user.email=t@example.org -c protocol.file.allow=always \"$@\"; }";
        let ran = Command::new("bash").args(["-c", &format!("{set}; {script}")]).current_dir(dir).output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        bash(&path, "git init -q main; cd main; mkdir -p a/b; touch a/b/f; git add .; git commit -qm one");
        (dir, path)
    }

    #[test]
    fn directories_of_repositories_and_working_trees_are_found() {
        let (_dir, path) = scratch();
        bash(&path, "git -C main worktree add -q ../linked");
        let dirs = [path.join("main/.git"), path.join("main/.git/worktrees/linked")];
        assert_eq!(git_dirs(&path.join("main")), dirs[..1]);
        assert_eq!(git_dirs(&path.join("main/a/b")), dirs[..1]);
        assert_eq!(git_dirs(&path.join("linked")), dirs);
        assert!(git_dirs(&path).is_empty());
    }

    #[test]
    fn submodules_are_found_from_within_and_protected_from_without() {
        let (_dir, path) = scratch();
        bash(&path, "git init -q other; cd other; git submodule --quiet add ../main deep/sub");
        let module = path.join("other/.git/modules/deep/sub");
        assert_eq!(git_dirs(&path.join("other/deep/sub")), std::slice::from_ref(&module));
        let protected: Vec<_> =
            protected(&path.join("other/.git")).into_iter().map(|place| place.path).collect();
        assert!(
            protected.contains(&module.join("config")) && protected.contains(&path.join("other/.git/hooks"))
        );
    }

    #[test]
    fn a_repository_without_a_working_tree_stays_one() {
        let (_dir, path) = scratch();
        bash(&path, "git init -q --bare bare.git");
        let refused = |dir: &str| {
            let places = protected(&path.join(dir));
            places.iter().filter(|place| must_not_name_common(place)).count()
        };
        assert_eq!((refused("main/.git"), refused("bare.git")), (0, 1));
    }

    #[test]
    fn a_file_or_link_that_somebody_made_up_leads_nowhere() {
        let (_dir, path) = scratch();
        bash(&path, "git -C main worktree add -q ../linked; mkdir -p forged/x linker home");
        let forge = |to: &str| fs_err::write(path.join("forged/.git"), format!("gitdir: {to}\n")).unwrap();
        for to in ["../main/.git", "../main/.git/worktrees/linked", "../home", "/", "gone"] {
            forge(to);
            assert!(git_dirs(&path.join("forged")).is_empty(), "{to}");
        }
        // It leads back, but to a common directory it does not belong to.
        bash(
            &path,
            "mkdir -p made/worktrees/x; cd made/worktrees/x; echo ../../../home > commondir; \
                     echo ../../../forged/.git > gitdir; cd ../../../home; touch HEAD; mkdir objects",
        );
        forge("../made/worktrees/x");
        assert!(git_dirs(&path.join("forged")).is_empty());
        std::os::unix::fs::symlink(path.join("main/.git"), path.join("linker/.git")).unwrap();
        assert!(git_dirs(&path.join("linker")).is_empty());
    }

    // KERN-01
    #[test]
    fn submodules_may_be_called_like_parts_of_a_repository() {
        let (_dir, path) = scratch();
        bash(
            &path,
            "cd main; for name in deploy/config deploy/lib; do git submodule --quiet add ../main $name; done; \
             mv .git/modules/deploy/lib/HEAD .git/modules/deploy/lib/away",
        );
        let places: Vec<PathBuf> =
            protected(&path.join("main/.git")).into_iter().map(|place| place.path).collect();
        for module in ["config", "lib"] {
            let config = path.join("main/.git/modules/deploy").join(module).join("config");
            assert!(places.contains(&config), "{module}");
        }
        assert!(!places.contains(&path.join("main/.git/modules/deploy/config")));
    }

    // KERN-01: git follows it wherever it leads.
    #[test]
    fn what_git_obeys_behind_a_link_or_a_file_is_known() {
        let (_dir, path) = scratch();
        bash(
            &path,
            "mkdir linker named; ln -s ../main/.git linker/.git; echo gitdir: ../main/.git > named/.git",
        );
        let config = path.join("main/.git/config");
        for dir in ["linker", "named"] {
            assert_eq!(obeyed_dirs(&path.join(dir)), [path.join("main/.git")], "{dir}");
            assert!(obeyed_by_git(&path.join(dir)).contains(&config), "{dir}");
        }
        bash(&path, "mkdir -p main/sub/.git main/half/.git/objects; echo x > main/half/.git/HEAD");
        for dir in ["main/sub", "main/half"] {
            assert!(obeyed_by_git(&path.join(dir)).contains(&config), "git passes by what is none: {dir}");
        }
        bash(&path, "mv main/.git/HEAD main/.git/away");
        for dir in ["main", "main/a/b", "linker", "named"] {
            assert!(obeyed_by_git(&path.join(dir)).contains(&config), "it can be moved back: {dir}");
        }
        bash(&path, "mv main/.git/away main/.git/HEAD");
        bash(&path, "rm linker/.git; ln -s ../nowhere linker/.git");
        assert!(obeyed_dirs(&path.join("linker")).is_empty());
        assert_eq!(git_mark(&path.join("linker")), Some(path.join("linker/.git")));
    }
}
