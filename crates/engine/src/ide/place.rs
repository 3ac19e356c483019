//! Where editors find a session: a socket, and beside it a file that says whose it is.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tiller_protocol::id::SessionId;
use tokio::net::UnixStream;

const SOCKET: &str = "sock";
const CARD: &str = "json";
/// Whoever listens takes a connection at once.
const PATIENCE: Duration = Duration::from_millis(500);

/// The files of a session's socket. They go away with it.
#[derive(Debug)]
pub(super) struct Place {
    dir: PathBuf,
    socket: PathBuf,
    card: PathBuf,
}

impl Place {
    /// Makes the socket and the card that describes it, for the user alone.
    pub(super) fn make(dir: &Path, session: SessionId, cwd: &Path) -> std::io::Result<(Self, UnixListener)> {
        let named =
            |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", dir.display()));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(named)?;
        // Whoever made the directory: nobody else gets in.
        fs_err::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
        let file = |suffix: &str| dir.join(format!("{session}.{suffix}"));
        let place = Self { dir: dir.to_owned(), socket: file(SOCKET), card: file(CARD) };
        // It gets its name when somebody listens, so that what nobody answers on is surely left over.
        let unnamed = file("new");
        remove(&unnamed);
        let listener = UnixListener::bind(&unnamed).map_err(named)?;
        fs_err::set_permissions(&unnamed, std::fs::Permissions::from_mode(0o600))?;
        fs_err::rename(&unnamed, &place.socket)?;
        place.describe(session, cwd)?;
        Ok((place, listener))
    }

    fn describe(&self, session: SessionId, cwd: &Path) -> std::io::Result<()> {
        let card = json!({
            "session": session, "socket": self.socket, "directory": cwd, "pid": std::process::id(),
        });
        let file = tempfile::NamedTempFile::new_in(&self.dir)?;
        serde_json::to_writer(&file, &card)?;
        file.persist(&self.card)?;
        Ok(())
    }

    /// Removes what sessions have left that could not do so themselves.
    pub(super) async fn tidy_up(&self) {
        let Ok(entries) = fs_err::read_dir(&self.dir) else { return };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path != self.socket
                && path.extension().is_some_and(|suffix| suffix == SOCKET)
                && is_dead(&path).await
            {
                remove(&path);
                remove(&path.with_extension(CARD));
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        remove(&self.card);
        remove(&self.socket);
    }
}

async fn is_dead(socket: &Path) -> bool {
    match tokio::time::timeout(PATIENCE, UnixStream::connect(socket)).await {
        Ok(Err(error)) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        Ok(Ok(_)) | Err(_) => false,
    }
}

/// Somebody else may have removed it.
fn remove(path: &Path) {
    let _ = fs_err::remove_file(path);
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::*;

    fn session(id: u128) -> SessionId {
        SessionId(Uuid::from_u128(id))
    }

    // SECR-02
    #[tokio::test]
    async fn files_are_private_and_go_away_and_what_is_left_over_is_removed() {
        let dir = TempDir::new().unwrap();
        let ide = dir.path().join("ide");
        let (left, dead) = Place::make(&ide, session(1), Path::new("/p")).unwrap();
        // Killed: the socket is closed, its files stay.
        std::mem::forget(left);
        drop(dead);
        let (_other, _listens) = Place::make(&ide, session(2), Path::new("/p")).unwrap();
        let (place, _listener) = Place::make(&ide, session(3), Path::new("/p")).unwrap();
        let rights = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((rights(&ide), rights(&place.socket), rights(&place.card)), (0o700, 0o600, 0o600));
        place.tidy_up().await;
        let names = || {
            let entries = fs_err::read_dir(&ide).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let files = |id: u128| [CARD, SOCKET].map(|suffix| format!("{}.{suffix}", session(id)));
        assert_eq!(names(), [files(2), files(3)].concat());
        drop(place);
        assert_eq!(names(), files(2));
    }

    #[test]
    fn a_directory_with_too_long_a_name_is_an_error() {
        let dir = TempDir::new().unwrap();
        let long = dir.path().join("x".repeat(120));
        let error = Place::make(&long, session(1), Path::new("/p")).unwrap_err();
        assert!(error.to_string().contains(&long.display().to_string()), "{error}");
    }
}
