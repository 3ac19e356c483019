//! What shell patterns reach through links.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;

/// How many names are looked at before nobody can tell.
const MOST_NAMES: usize = 20_000;

/// How many names are looked at below a directory.
const MOST_NAMES_BELOW: usize = 100_000;

/// How many names below a directory are looked at when nothing but their letters count.
const MOST_PLAIN_NAMES: usize = 300_000;

/// The pattern for everything below a directory.
const ANY_DEPTH: &str = "**";

/// What a shell pattern below a directory stands for and is only reached through a link; `**` is for everything below it.
/// `None` if there is too much to look at.
#[must_use]
pub fn links_among(dir: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    if pattern == ANY_DEPTH {
        return links_below(dir);
    }
    let mut looked_at = 0;
    let mut reached = vec![(dir.to_owned(), false)];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let fits = fits(part);
        let mut next = Vec::new();
        for (dir, through_link) in reached {
            if !part.contains(['*', '?', '[']) {
                let path = dir.join(part);
                next.push((path.clone(), through_link || path.is_symlink()));
                continue;
            }
            let Ok(entries) = fs_err::read_dir(&dir) else { continue };
            for entry in entries.flatten() {
                looked_at += 1;
                if looked_at > MOST_NAMES {
                    return None;
                }
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if fits(&entry.file_name().to_string_lossy()) {
                    next.push((entry.path(), through_link || is_link));
                }
            }
        }
        reached = next;
    }
    Some(reached.into_iter().filter(|(_, through_link)| *through_link).map(|(path, _)| path).collect())
}

/// Whether a name may be one that a part of a shell pattern stands for. What means something else to this library than to
/// the shell, or may have stood in quotes, fits too much rather than too little.
fn fits(part: &str) -> impl Fn(&str) -> bool {
    let glob = GlobBuilder::new(part).literal_separator(true).build().map(|glob| glob.compile_matcher());
    let glob = glob.ok().filter(|_| !part.contains(['\\', '{']) && has_plain_sets(part));
    move |name| {
        let is_plain = name.is_ascii() && !name.contains('[');
        !is_plain || glob.as_ref().is_none_or(|glob| glob.is_match(name))
    }
}

/// Whether all sets in a pattern are of letters and digits that stand for themselves.
fn has_plain_sets(part: &str) -> bool {
    part.split('[').skip(1).all(|rest| {
        let set = rest.split_once(']').map(|(set, _)| set);
        set.is_some_and(|set| !set.is_empty() && set.chars().all(|c| c.is_ascii_alphanumeric()))
    })
}

/// All links below a directory; none is followed.
fn links_below(dir: &Path) -> Option<Vec<PathBuf>> {
    let mut looked_at = 0;
    let mut links = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let Ok(entries) = fs_err::read_dir(&dir) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MOST_NAMES_BELOW {
                return None;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => links.push(entry.path()),
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                _ => {}
            }
        }
    }
    Some(links)
}

/// What lies below a directory and, in a list of names, would not be read as what it is: names with blanks, quotes,
/// backslashes or marks of patterns in them and all below those, and names right in the directory that begin as options do.
/// `None` if there is too much to look at.
#[must_use]
pub fn odd_names_below(dir: &Path) -> Option<Vec<PathBuf>> {
    let mut looked_at = 0;
    let mut odd = Vec::new();
    let mut open = vec![(dir.to_owned(), false)];
    while let Some((inner, is_odd)) = open.pop() {
        let Ok(entries) = fs_err::read_dir(&inner) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MOST_PLAIN_NAMES {
                return None;
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let comes_apart = |c: char| c.is_whitespace() || c.is_control() || "'\"\\*?[".contains(c);
            let is_odd = is_odd || name.contains(comes_apart) || inner == dir && name.starts_with('-');
            if is_odd {
                odd.push(entry.path());
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push((entry.path(), is_odd));
            }
        }
    }
    Some(odd)
}

/// The names right in a directory. `None` if there are too many to look at.
#[must_use]
pub fn names_in(dir: &Path) -> Option<Vec<PathBuf>> {
    let Ok(entries) = fs_err::read_dir(dir) else { return Some(Vec::new()) };
    let names: Vec<PathBuf> =
        entries.flatten().take(MOST_NAMES + 1).map(|entry| entry.file_name().into()).collect();
    (names.len() <= MOST_NAMES).then_some(names)
}

/// Everything below a directory, named from there; links are named and not followed. `None` if there is too much of it.
#[must_use]
pub fn names_below(dir: &Path) -> Option<Vec<PathBuf>> {
    let mut names = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inner) = open.pop() {
        let Ok(entries) = fs_err::read_dir(dir.join(&inner)) else { continue };
        for entry in entries.flatten() {
            if names.len() >= MOST_NAMES {
                return None;
            }
            let name = inner.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(name.clone());
            }
            names.push(name);
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    // RULE-05
    #[test]
    fn what_a_pattern_means_to_the_shell_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["[a]x", "zx", "{a}z", "\\z", "é"] {
            symlink("/etc", at(name)).unwrap();
        }
        for (pattern, name) in [
            ("[a]x*", "[a]x"),
            ("[[:alnum:]]x", "zx"),
            ("[!a]x", "zx"),
            ("{a}*", "{a}z"),
            ("\\*", "\\z"),
            ("??", "é"),
        ] {
            assert!(links_among(dir.path(), pattern).unwrap().contains(&at(name)), "{pattern}");
        }
        assert!(!links_among(dir.path(), "y*").unwrap().contains(&at("zx")));
    }

    // RULE-05
    #[test]
    fn names_that_come_apart_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs_err::create_dir_all(at("x /tmp")).unwrap();
        fs_err::create_dir_all(at("sub")).unwrap();
        for name in ["x /tmp/a", "-f", "sub/-f", "sub/a\nb", "sub/it's", "sub/[a]", "sub/plain-name.md", "é"]
        {
            fs_err::write(at(name), "").unwrap();
        }
        let mut odd = odd_names_below(dir.path()).unwrap();
        odd.sort();
        assert_eq!(odd, ["-f", "sub/[a]", "sub/a\nb", "sub/it's", "x ", "x /tmp", "x /tmp/a"].map(at));
        assert_eq!(odd_names_below(&at("nothing")), Some(Vec::new()));
    }

    // PERM-03
    #[test]
    fn all_below_a_directory_is_named_from_there() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs_err::create_dir_all(at("a/.git/hooks")).unwrap();
        symlink("/etc", at("a/out")).unwrap();
        let mut names = names_below(&at("a")).unwrap();
        names.sort();
        assert_eq!(names, [".git", ".git/hooks", "out"].map(PathBuf::from));
        assert_eq!(names_below(&at("nothing")), Some(Vec::new()));
    }

    // RULE-05
    #[test]
    fn links_that_a_pattern_reaches_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs_err::create_dir_all(at("sub/deep")).unwrap();
        fs_err::write(at("sub/plain.md"), "").unwrap();
        symlink("/etc", at("out")).unwrap();
        symlink("/etc/hostname", at("sub/link.md")).unwrap();
        let found = |pattern: &str| {
            let mut found = links_among(dir.path(), pattern).unwrap();
            found.sort();
            found
        };
        assert_eq!(found("*"), [at("out")]);
        assert_eq!(found("s*"), Vec::<PathBuf>::new());
        assert_eq!(found("sub/*.md"), [at("sub/link.md")]);
        assert_eq!(found("*/*.md"), [at("sub/link.md")]);
        assert_eq!(found("*/host[n]ame"), [at("out/hostname")]);
        assert_eq!(found("o*/hostname"), [at("out/hostname")]);
        assert_eq!(found("nothing/*"), Vec::<PathBuf>::new());
        assert_eq!(found("**"), [at("out"), at("sub/link.md")], "and nothing behind them");
    }
}
