//! What services gave the user to be known by: files that only the user can read.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

use super::network::Network;

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
        let stored = self.kept(url).ok().flatten();
        stored.map(|kept| kept.credentials.granted_scopes).unwrap_or_default()
    }

    /// What is kept of a service.
    pub(super) fn kept(&self, url: &str) -> Result<Option<Kept>, AuthError> {
        read(&self.file(url))
    }

    /// The place for what a service gives, and for what went by when it was given.
    pub(super) fn of(&self, url: &str, network: Arc<Network>) -> TokenFile {
        TokenFile { file: self.file(url), network }
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

/// What is kept of a service.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    #[serde(flatten)]
    pub(super) credentials: StoredCredentials,
    #[serde(flatten)]
    pub(super) besides: Besides,
}

/// What is kept beside the tokens.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Besides {
    /// What proves who we are, if the service gave it when Tiller registered there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// The key that the tokens are bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) proof_key: Option<String>,
}

/// One of the files.
pub(super) struct TokenFile {
    file: PathBuf,
    network: Arc<Network>,
}

pub(super) type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

fn failed(error: &dyn std::error::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

fn read(file: &Path) -> Result<Option<Kept>, AuthError> {
    match fs_err::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| failed(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// A file of its own first, so that nobody reads half of it.
fn write(path: &Path, kept: &Kept) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.sync_all()?;
    fs_err::rename(&temporary, path)
}

/// Whether a token is bound to a key. A service need not do what it was asked for.
pub(super) fn is_bound(credentials: &StoredCredentials) -> bool {
    let token = serde_json::to_value(&credentials.token_response).unwrap_or_default();
    token["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("DPoP"))
}

impl CredentialStore for TokenFile {
    fn load<'a, 'b>(&'a self) -> Stored<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { Ok(read(&self.file)?.map(|kept| kept.credentials)) })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Stored<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let mut besides = self.network.besides();
            besides.proof_key = besides.proof_key.filter(|_| is_bound(&credentials));
            write(&self.file, &Kept { credentials, besides }).map_err(|error| failed(&error))
        })
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

    use serde_json::json;

    use super::*;
    use crate::auth::tests::network;

    const URL: &str = "https://example.org/mcp";

    fn credentials(kind: &str) -> StoredCredentials {
        let token = json!({"access_token": "t", "token_type": kind});
        StoredCredentials::new("client".to_owned(), serde_json::from_value(token).unwrap(), Vec::new(), None)
    }

    // SECR-02
    #[tokio::test]
    async fn only_the_user_can_read_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = TokenStore::below(dir.path());
        assert!(!store.has(URL) && !store.forget(URL).unwrap());
        let file = store.of(URL, network(Besides::default()));
        file.save(credentials("bearer")).await.unwrap();
        assert_eq!(file.load().await.unwrap().unwrap().client_id, "client");
        let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.file), mode(file.file.parent().unwrap())), (0o600, 0o700));
        assert!(!store.has("https://example.org/other"));
        assert!(store.forget(URL).unwrap() && file.load().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn what_went_by_is_kept_with_the_tokens() {
        let dir = tempfile::tempdir().unwrap();
        let store = TokenStore::below(dir.path());
        let besides = Besides { client_secret: Some("s".to_owned()), proof_key: None };
        let file = store.of(URL, network(besides));
        for (kind, has_key) in [("Bearer", false), ("DPoP", true)] {
            file.save(credentials(kind)).await.unwrap();
            let kept = store.kept(URL).unwrap().unwrap().besides;
            assert_eq!(kept.client_secret.as_deref(), Some("s"));
            assert_eq!(kept.proof_key.is_some(), has_key, "{kind}");
        }
    }

    #[test]
    fn files_of_before_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let store = TokenStore::below(dir.path());
        let file = store.file(URL);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(&file, serde_json::to_vec(&credentials("bearer")).unwrap()).unwrap();
        assert_eq!(store.kept(URL).unwrap().unwrap().credentials.client_id, "client");
    }
}
