//! Unix sockets that have a path. One is reached through it whatever is mounted read-only, and from every network, so
//! those that a command must not reach have to be found and covered.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::mounts::Mount;

/// Where services put their sockets. Some live in networks of their own, whose tables only they and root can read.
const OF_SERVICES: &[&str] = &["/run", "/var/run"];
/// The same, below the home directory.
const OF_THE_USER: &[&str] = &[".docker", ".colima", ".lima", ".rd", ".gnupg", ".ssh"];
/// How deep and how much is looked for there.
const DEPTH: usize = 5;
const MOST_ENTRIES: usize = 20_000;

/// Where services put their sockets, resolved; `runtime` is what the user's session names for it.
pub(crate) fn dirs(home: Option<&Path>, runtime: Option<&Path>) -> Vec<PathBuf> {
    let of_user = home.into_iter().flat_map(|home| OF_THE_USER.iter().map(|name| home.join(name)));
    let named = OF_SERVICES.iter().map(PathBuf::from).chain(of_user).chain(runtime.map(Path::to_owned));
    let mut dirs: Vec<PathBuf> = named.filter_map(|dir| dir.canonicalize().ok()).collect();
    dirs.sort();
    dirs.dedup_by(|inner, outer| inner.starts_with(outer));
    dirs
}

/// Sockets that the user could connect to: those that are bound in a network Tiller can see, and those that lie in these
/// directories.
pub(crate) fn reachable(dirs: &[PathBuf], mounts: &[Mount]) -> BTreeSet<PathBuf> {
    let mut search = Search { mounts, left: MOST_ENTRIES, found: Vec::new() };
    dirs.iter().for_each(|dir| search.look_into(dir, DEPTH));
    let found = search.found.into_iter().chain(bound());
    found.filter(|path| is_reachable(path)).filter_map(|path| path.canonicalize().ok()).collect()
}

fn is_reachable(path: &Path) -> bool {
    let is_socket = fs_err::metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    is_socket && access(path, Access::WRITE_OK).is_ok()
}

struct Search<'a> {
    mounts: &'a [Mount],
    left: usize,
    found: Vec<PathBuf>,
}

impl Search<'_> {
    fn look_into(&mut self, dir: &Path, depth: usize) {
        for entry in fs_err::read_dir(dir).into_iter().flatten().flatten() {
            let (Ok(kind), Some(left)) = (entry.file_type(), self.left.checked_sub(1)) else { return };
            self.left = left;
            if kind.is_socket() {
                self.found.push(entry.path());
            } else if kind.is_dir() && depth > 0 && !self.is_elsewhere(&entry.path()) {
                self.look_into(&entry.path(), depth - 1);
            }
        }
    }

    /// Whether something is mounted there that is no place for sockets: a container's files, or another machine's.
    fn is_elsewhere(&self, dir: &Path) -> bool {
        self.mounts.iter().any(|mount| mount.at == dir && mount.kind != b"tmpfs")
    }
}

/// The paths at which sockets are bound, in Tiller's network and in those of the user's other processes.
fn bound() -> Vec<PathBuf> {
    let processes = processes();
    let mut networks = BTreeSet::from([network_of("self")]);
    let mut paths = paths_in("/proc/net/unix");
    for process in &processes {
        if networks.insert(network_of(process)) {
            paths.extend(paths_in(&format!("/proc/{process}/net/unix")));
        }
    }
    let (mut absolute, relative): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_absolute());
    if !relative.is_empty() {
        // Whoever bound them most likely still is where it was.
        let dirs: BTreeSet<PathBuf> = processes.iter().filter_map(|process| link(process, "cwd")).collect();
        absolute.extend(dirs.iter().flat_map(|dir| relative.iter().map(|path| dir.join(path))));
    }
    absolute
}

fn processes() -> Vec<String> {
    let entries = fs_err::read_dir("/proc").into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).collect()
}

/// None of a process that is another user's.
fn network_of(process: &str) -> Option<PathBuf> {
    link(process, "ns/net")
}

fn link(process: &str, name: &str) -> Option<PathBuf> {
    fs_err::read_link(format!("/proc/{process}/{name}")).ok()
}

/// The last column of the table: paths as they were bound. Names that are none begin with `@`.
fn paths_in(table: &str) -> Vec<PathBuf> {
    let table = fs_err::read(table).unwrap_or_default();
    let rows = table.split(|byte| *byte == b'\n').skip(1);
    let paths = rows.filter_map(|row| path_of(row).map(<[u8]>::to_vec));
    paths.map(|path| PathBuf::from(OsString::from_vec(path))).collect()
}

/// Reads `address: references protocol flags type state inode path`.
fn path_of(mut row: &[u8]) -> Option<&[u8]> {
    for _ in 0..7 {
        let start = row.iter().position(|byte| *byte != b' ')?;
        let end = row[start..].iter().position(|byte| *byte == b' ')?;
        row = &row[start + end..];
    }
    row.strip_prefix(b" ").filter(|path| !path.is_empty() && !path.starts_with(b"@"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let row = b"0000000000000000: 00000002 00000000 00010000 0001 01 29393 /run/a socket";
        assert_eq!(path_of(row), Some(&b"/run/a socket"[..]));
        let row = b"0000000000000000: 00000002 00000000 00010000 0001 01     7 here";
        assert_eq!(path_of(row), Some(&b"here"[..]));
        for none in ["0000000000000000: 00000003 00000000 00000000 0001 03 39", "", "a b c d e f g @hidden"] {
            assert_eq!(path_of(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn sockets_are_found_where_they_are_bound_and_where_they_lie() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let inner = dir.join("inner");
        let path = inner.join("a socket");
        fs_err::create_dir(&inner).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(reachable(&[], &[]).contains(&path));
        drop(listener);
        assert!(!reachable(&[], &[]).contains(&path), "nobody listens there any more");
        assert!(reachable(std::slice::from_ref(&dir), &[]).contains(&path), "perhaps in another network");
        let mounted = |kind: &[u8]| Mount { at: inner.clone(), writable: true, kind: kind.to_vec() };
        let dirs = [dir];
        assert!(reachable(&dirs, &[mounted(b"tmpfs")]).contains(&path));
        assert!(!reachable(&dirs, &[mounted(b"fuse.sshfs")]).contains(&path));
    }

    #[test]
    fn a_directory_is_looked_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        fs_err::create_dir_all(home.join(".docker/run")).unwrap();
        let dirs = dirs(Some(&home), Some(&home.join(".docker/run")));
        let of_user: Vec<&PathBuf> = dirs.iter().filter(|dir| dir.starts_with(&home)).collect();
        assert_eq!(of_user, [&home.join(".docker")]);
    }
}
