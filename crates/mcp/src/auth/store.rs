//! What services gave the user to be known by: files that only the user can read.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};

/// The directory of all of them.
#[derive(Clone, Debug)]
pub struct TokenStore {
    dir: PathBuf,
}

impl TokenStore {
    /// Those below a configuration directory.
    #[must_use]
    pub fn below(config_dir: &Path) -> Self {
        Self { dir: config_dir.join("mcp-auth") }
    }

    /// Whether the user has signed in at an address.
    #[must_use]
    pub fn has(&self, url: &str) -> bool {
        self.file(url).exists()
    }

    /// Forgets what a service gave. Says whether there was something.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn forget(&self, url: &str) -> io::Result<bool> {
        match fs_err::remove_file(self.file(url)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// What the user has been granted at an address.
    pub(super) fn granted(&self, url: &str) -> Vec<String> {
        let stored = self.of(url).read().ok().flatten();
        stored.map(|credentials| credentials.granted_scopes).unwrap_or_default()
    }

    pub(super) fn of(&self, url: &str) -> TokenFile {
        TokenFile { file: self.file(url) }
    }

    /// One file per address; the name tells the host, the number the rest.
    fn file(&self, url: &str) -> PathBuf {
        let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
        let host = crate::name::plain(&host.unwrap_or_default());
        self.dir.join(format!("{host}-{:016x}.json", fingerprint(url)))
    }
}

/// FNV-1a: names of files, no secrets.
fn fingerprint(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// One of the files.
pub(super) struct TokenFile {
    file: PathBuf,
}

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

fn failed(error: &dyn std::error::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

impl TokenFile {
    fn read(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match fs_err::read_to_string(&self.file) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| failed(&error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// A file of its own first, so that nobody reads half of it.
    fn write(&self, credentials: &StoredCredentials) -> io::Result<()> {
        let dir = self.file.parent().unwrap_or(Path::new("/"));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let temporary = self.file.with_extension(format!("{}.tmp", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(&serde_json::to_vec(credentials)?)?;
        file.sync_all()?;
        fs_err::rename(&temporary, &self.file)
    }
}

impl CredentialStore for TokenFile {
    fn load<'a, 'b>(&'a self) -> Stored<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { self.read() })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.write(&credentials).map_err(|error| failed(&error)) })
    }

    fn clear<'a, 'b>(&'a self) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            match fs_err::remove_file(&self.file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&error)),
                _ => Ok(()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    // SECR-02
    #[tokio::test]
    async fn only_the_user_can_read_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = TokenStore::below(dir.path());
        let url = "https://example.org/mcp";
        assert!(!store.has(url) && !store.forget(url).unwrap());
        let file = store.of(url);
        file.save(StoredCredentials::new("client".to_owned(), None, Vec::new(), None)).await.unwrap();
        assert_eq!(file.load().await.unwrap().unwrap().client_id, "client");
        let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.file), mode(file.file.parent().unwrap())), (0o600, 0o700));
        assert!(!store.has("https://example.org/other"));
        assert!(store.forget(url).unwrap() && file.load().await.unwrap().is_none());
    }
}
