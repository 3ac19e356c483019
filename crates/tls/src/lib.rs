//! Encrypted connections: how they are made, and whose certificates are trusted. Whatever connects to another machine,
//! to the model, a page or a server, trusts the same ones.

use std::path::{Path, PathBuf};

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder};
use tiller_protocol::env::Env;

/// How Tiller names itself.
const USER_AGENT: &str = concat!("tiller/", env!("CARGO_PKG_VERSION"));
/// Names certificates to trust instead of the system's.
const ONLY: &str = "SSL_CERT_FILE";
/// Names certificates to trust besides.
const EXTRA: &str = "NODE_EXTRA_CA_CERTS";

/// Why there is no encrypted connection.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificates cannot be read.
    #[error("{variable} does not name a file of PEM certificates: {detail}; correct or unset it")]
    Certificates {
        /// Who names them.
        variable: &'static str,
        /// What is wrong with them.
        detail: String,
    },
}

/// The certificates that the user trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificates {
    only: Option<PathBuf>,
    extra: Option<PathBuf>,
}

impl Certificates {
    /// As the environment says.
    #[must_use]
    pub fn of(env: &Env) -> Self {
        Self { only: env.var(ONLY).map(PathBuf::from), extra: env.var(EXTRA).map(PathBuf::from) }
    }

    /// Has a client trust them. Reads files, and may take a while.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn trusted_by(&self, mut client: ClientBuilder) -> Result<ClientBuilder, TlsError> {
        if let Some(path) = &self.only {
            client = client.tls_certs_only(read(path, ONLY)?);
        }
        if let Some(path) = &self.extra {
            client = client.tls_certs_merge(read(path, EXTRA)?);
        }
        Ok(client)
    }
}

fn read(path: &Path, variable: &'static str) -> Result<Vec<Certificate>, TlsError> {
    let wrong = |detail: String| TlsError::Certificates { variable, detail };
    let pem = fs_err::read(path).map_err(|error| wrong(error.to_string()))?;
    Certificate::from_pem_bundle(&pem).map_err(|error| wrong(error.to_string()))
}

/// Settles by what connections are encrypted.
pub fn prepare() {
    // Fails only if that was settled before, which is as good.
    _ = rustls::crypto::ring::default_provider().install_default();
}

/// A client to be. Redirects are not followed: credentials in headers would go along.
pub fn client() -> ClientBuilder {
    prepare();
    Client::builder().user_agent(USER_AGENT).redirect(Policy::none())
}
