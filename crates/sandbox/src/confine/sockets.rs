//! Unix sockets that have a path. One is reached through it whatever is mounted read-only, and from every network, so
//! those that a command must not reach have to be found and covered.
//!
//! They are looked for before each command, so what cannot have changed since the last look is not looked at again.

mod bound;
mod listing;

use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

pub(crate) use self::bound::look_at_networks;
use super::mounts::Mount;
use super::resolve::Resolver;

/// Where services put their sockets. Some live in networks of their own, whose tables only they and root can read.
const OF_SERVICES: &[&str] = &["/run", "/var/run"];
/// The same, below the home directory.
const OF_THE_USER: &[&str] = &[".docker", ".colima", ".lima", ".rd", ".gnupg", ".ssh"];

/// Where services put their sockets, resolved; `runtime` is what the user's session names for it.
pub(crate) fn dirs(resolver: &Resolver, home: Option<&Path>, runtime: Option<&Path>) -> Vec<PathBuf> {
    let of_user = home.into_iter().flat_map(|home| OF_THE_USER.iter().map(|name| home.join(name)));
    let named = OF_SERVICES.iter().map(PathBuf::from).chain(of_user).chain(runtime.map(Path::to_owned));
    let mut dirs: Vec<PathBuf> = named.filter_map(|dir| resolver.resolve(&dir)).collect();
    dirs.sort();
    dirs.dedup_by(|inner, outer| inner.starts_with(outer));
    dirs
}

/// Sockets that the user could connect to: those that are bound in a network Tiller can see, and those that lie in these
/// directories.
pub(crate) fn reachable(resolver: &Resolver, dirs: &[PathBuf], mounts: &[Mount]) -> BTreeSet<PathBuf> {
    let found = listing::sockets_in(dirs, mounts).into_iter().chain(bound::paths());
    found.filter(|path| is_reachable(path)).filter_map(|path| resolver.resolve(&path)).collect()
}

fn is_reachable(path: &Path) -> bool {
    let is_socket = fs_err::metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    is_socket && access(path, Access::WRITE_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_found_where_they_are_bound_and_where_they_lie() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let inner = dir.join("inner");
        let path = inner.join("a socket");
        fs_err::create_dir(&inner).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(reachable(&Resolver::default(), &[], &[]).contains(&path));
        drop(listener);
        assert!(!reachable(&Resolver::default(), &[], &[]).contains(&path), "nobody listens there any more");
        assert!(
            reachable(&Resolver::default(), std::slice::from_ref(&dir), &[]).contains(&path),
            "perhaps in another network"
        );
        let mounted = |kind: &[u8]| Mount { at: inner.clone(), writable: true, kind: kind.to_vec() };
        let dirs = [dir];
        assert!(reachable(&Resolver::default(), &dirs, &[mounted(b"tmpfs")]).contains(&path));
        assert!(!reachable(&Resolver::default(), &dirs, &[mounted(b"fuse.sshfs")]).contains(&path));
    }

    #[test]
    fn a_directory_is_looked_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        fs_err::create_dir_all(home.join(".docker/run")).unwrap();
        let dirs = dirs(&Resolver::default(), Some(&home), Some(&home.join(".docker/run")));
        let of_user: Vec<&PathBuf> = dirs.iter().filter(|dir| dir.starts_with(&home)).collect();
        assert_eq!(of_user, [&home.join(".docker")]);
    }
}
