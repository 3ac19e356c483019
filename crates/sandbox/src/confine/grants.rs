//! Which rights Landlock gives on which paths.

use std::path::{Path, PathBuf};

/// Rights on files and directories.
pub(crate) mod right {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    pub(crate) const MAKE_CHAR: u64 = 1 << 6;
    pub(crate) const MAKE_BLOCK: u64 = 1 << 11;
    pub(crate) const TRUNCATE: u64 = 1 << 14;
    pub(crate) const IOCTL_DEV: u64 = 1 << 15;

    /// Those that make sense for a file.
    pub(crate) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    /// Those that change nothing.
    pub(crate) const READING: u64 = EXECUTE | READ_FILE | READ_DIR;
}

/// The version of Landlock from which on nothing important is missing for use without namespaces: truncation.
pub(crate) const NEEDED_ALONE: u32 = 3;

/// All rights on files that this version can keep.
pub(crate) fn files(abi: u32) -> u64 {
    match abi {
        0 => 0,
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        _ => (1 << 16) - 1,
    }
}

/// Binding and connecting of TCP sockets, if this version can keep them.
pub(crate) fn net(abi: u32) -> u64 {
    if abi >= 4 { 0b11 } else { 0 }
}

/// Abstract unix sockets and signals, if this version can keep them inside.
pub(crate) fn scopes(abi: u32) -> u64 {
    if abi >= 6 { 0b11 } else { 0 }
}

/// A right on a path.
pub(crate) type Grant = (PathBuf, u64);

/// Rights on a tree except for some paths in it: Landlock cannot take back below what it gave above, so everything
/// beside the way to an exception is granted by itself. Listing is granted all the way.
pub(crate) fn grant(tree: &Path, rights: u64, except: &[PathBuf], grants: &mut Vec<Grant>) {
    let Ok(meta) = fs_err::symlink_metadata(tree) else { return };
    if meta.is_symlink() || except.iter().any(|path| path == tree) {
        return;
    }
    if !meta.is_dir() {
        grants.push((tree.to_owned(), rights & right::OF_FILES));
        return;
    }
    if !except.iter().any(|path| path.starts_with(tree)) {
        grants.push((tree.to_owned(), rights));
        return;
    }
    if rights & right::READ_DIR != 0 {
        grants.push((tree.to_owned(), right::READ_DIR));
    }
    let Ok(entries) = fs_err::read_dir(tree) else { return };
    for entry in entries.flatten() {
        grant(&entry.path(), rights, except, grants);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_walked_around() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in ["a/keep", "a/secret", "b"] {
            fs_err::create_dir_all(root.join(path)).unwrap();
        }
        fs_err::write(root.join("a/file"), "").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("a/link")).unwrap();
        let mut grants = Vec::new();
        grant(&root, right::READING, &[root.join("a/secret")], &mut grants);
        grants.sort();
        let expected = [
            ("", right::READ_DIR),
            ("a", right::READ_DIR),
            ("a/file", right::READING & right::OF_FILES),
            ("a/keep", right::READING),
            ("b", right::READING),
        ];
        let join = |path: &str| if path.is_empty() { root.clone() } else { root.join(path) };
        assert_eq!(grants, expected.map(|(path, rights)| (join(path), rights)));
    }
}
