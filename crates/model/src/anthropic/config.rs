//! How to reach the provider, settled once from the environment.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use tiller_protocol::env::Env;
use tiller_protocol::host::is_loopback;
use tiller_tls::Certificates;
use url::Url;

use crate::error::ModelError;

const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";
const DEFAULT_VERSION: &str = "2026-10-21";

/// Where requests go, as whom, and how patiently.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the API lives, a path included. `ANTHROPIC_BASE_URL`.
    pub base_url: Url,
    /// Sent as `x-api-key`. `ANTHROPIC_API_KEY`.
    pub api_key: Option<Secret>,
    /// Sent as `Authorization: Bearer`. `ANTHROPIC_AUTH_TOKEN`.
    pub auth_token: Option<Secret>,
    /// The `anthropic-version` header. `TILLER_ANTHROPIC_VERSION`.
    pub version: String,
    /// Names for the `anthropic-beta` header of every request. `ANTHROPIC_BETAS`, separated by commas.
    pub betas: Vec<String>,
    /// Further headers. `ANTHROPIC_CUSTOM_HEADERS`, one `Name: value` per line.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Proxies. `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in upper or lower case.
    pub proxies: Proxies,
    /// How far requests may go.
    pub reach: Reach,
    /// Certificates to trust. `SSL_CERT_FILE`, `NODE_EXTRA_CA_CERTS`.
    pub certificates: Certificates,
    /// A stream that is silent for so long is given up. `TILLER_STREAM_IDLE_TIMEOUT_MS`, 90 s.
    pub idle_timeout: Duration,
    /// An answer that is not streamed must be there after so long. `TILLER_REQUEST_TIMEOUT_MS`, 10 min.
    pub request_timeout: Duration,
    /// When to try again.
    pub retry: RetryPolicy,
}

/// How far requests may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// To wherever the provider is.
    #[default]
    Anywhere,
    /// Not beyond this machine. Names are not looked up.
    ThisMachine,
}

/// How often and how soon a failed request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How many retries there are. `TILLER_MAX_RETRIES`, 10.
    pub max_retries: u32,
    /// The first pause; each further one is twice as long. `TILLER_RETRY_BASE_MS`, 500 ms.
    pub base_delay: Duration,
    /// The longest pause of our own choice.
    pub max_delay: Duration,
    /// The longest pause the provider may impose; if it asks for more, the request fails.
    pub max_imposed_delay: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 10,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(32),
            max_imposed_delay: Duration::from_secs(600),
        }
    }
}

/// Proxies by the scheme of the request. Their addresses may contain a password and are not printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` requests.
    pub http: Option<String>,
    /// For `https` requests.
    pub https: Option<String>,
    /// Hosts to reach directly, separated by commas.
    pub except: Option<String>,
}

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Guards the text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// A header value that is not printed either.
    pub(crate) fn header(&self, prefix: &str, variable: &str) -> Result<HeaderValue, ModelError> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).map_err(|_| {
            ModelError::Setup(format!(
                "{variable} contains characters that a credential cannot have; set it anew"
            ))
        })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Config {
    /// Reads the configuration from the environment.
    ///
    /// # Errors
    /// When a variable makes no sense, or when the provider's own address is used without a credential.
    pub fn from_env(env: &Env) -> Result<Self, ModelError> {
        let default_retry = RetryPolicy::default();
        let config = Self {
            base_url: base_url(env.var("ANTHROPIC_BASE_URL").unwrap_or(DEFAULT_BASE_URL))?,
            api_key: env.var("ANTHROPIC_API_KEY").map(|key| Secret::new(key.trim())),
            auth_token: env.var("ANTHROPIC_AUTH_TOKEN").map(|token| Secret::new(token.trim())),
            version: env.var("TILLER_ANTHROPIC_VERSION").unwrap_or(DEFAULT_VERSION).to_owned(),
            betas: list(env.var("ANTHROPIC_BETAS").unwrap_or_default()),
            headers: headers(env.var("ANTHROPIC_CUSTOM_HEADERS").unwrap_or_default())?,
            proxies: Proxies::from_env(env),
            reach: Reach::Anywhere,
            certificates: Certificates::of(env),
            idle_timeout: millis(env, "TILLER_STREAM_IDLE_TIMEOUT_MS", Duration::from_secs(90))?,
            request_timeout: millis(env, "TILLER_REQUEST_TIMEOUT_MS", Duration::from_secs(600))?,
            retry: RetryPolicy {
                max_retries: number(env, "TILLER_MAX_RETRIES")?.unwrap_or(default_retry.max_retries),
                base_delay: millis(env, "TILLER_RETRY_BASE_MS", default_retry.base_delay)?,
                ..default_retry
            },
        };
        config.check_credential()?;
        Ok(config)
    }

    /// The same for a run that must not leave this machine: directly, past every proxy.
    ///
    /// # Errors
    /// When the model is elsewhere.
    pub fn offline(self) -> Result<Self, ModelError> {
        if !self.base_url.host_str().is_some_and(is_loopback) {
            return Err(ModelError::Setup(format!(
                "this run is offline, but the model is at {}; set ANTHROPIC_BASE_URL to a model on this machine, such as \
                 http://localhost:8080, or leave out --offline (and TILLER_OFFLINE)",
                self.base_url.origin().ascii_serialization()
            )));
        }
        Ok(Self { proxies: Proxies::default(), reach: Reach::ThisMachine, ..self })
    }

    fn check_credential(&self) -> Result<(), ModelError> {
        let has_own_header =
            self.headers.iter().any(|(name, _)| name == "x-api-key" || name == http::header::AUTHORIZATION);
        let needs_one = self.base_url.as_str().trim_end_matches('/') == DEFAULT_BASE_URL;
        if !needs_one || has_own_header || self.api_key.is_some() || self.auth_token.is_some() {
            return Ok(());
        }
        Err(ModelError::Setup(
            "no credential for the model: set ANTHROPIC_API_KEY to an API key (or ANTHROPIC_AUTH_TOKEN to a \
             bearer token), or set ANTHROPIC_BASE_URL to a gateway that needs none"
                .to_owned(),
        ))
    }

    /// The full address of an API path such as `/v1/messages`.
    pub(crate) fn endpoint(&self, path: &str) -> String {
        format!("{}{path}", self.base_url.as_str().trim_end_matches('/'))
    }

    /// Whether any connection will be encrypted, so that certificates are needed.
    pub(crate) fn needs_certificates(&self) -> bool {
        let secure = |proxy: &Option<String>| proxy.as_deref().is_some_and(|url| url.starts_with("https:"));
        self.base_url.scheme() == "https" || secure(&self.proxies.http) || secure(&self.proxies.https)
    }
}

impl std::fmt::Debug for Proxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (http, https) = (self.http.is_some(), self.https.is_some());
        f.debug_struct("Proxies").field("http", &http).field("https", &https).finish_non_exhaustive()
    }
}

impl Proxies {
    fn from_env(env: &Env) -> Self {
        let var = |name: &str| env.var(name).or_else(|| env.var(&name.to_lowercase())).map(str::to_owned);
        let all = var("ALL_PROXY");
        Self {
            http: var("HTTP_PROXY").or_else(|| all.clone()),
            https: var("HTTPS_PROXY").or(all),
            except: var("NO_PROXY"),
        }
    }
}

fn base_url(text: &str) -> Result<Url, ModelError> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()).ok_or_else(
        || {
            ModelError::Setup(format!(
                "ANTHROPIC_BASE_URL is \"{text}\", which is not an http or https address; \
             set it to something like {DEFAULT_BASE_URL}"
            ))
        },
    )
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn headers(text: &str) -> Result<Vec<(HeaderName, HeaderValue)>, ModelError> {
    let parse = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let mut value: HeaderValue = value.trim().parse().ok()?;
        value.set_sensitive(true);
        Some((name.trim().parse().ok()?, value))
    };
    let wrong = |line: &str| {
        // The value may be a secret: only the name is shown.
        let name = line.split(':').next().unwrap_or_default();
        ModelError::Setup(format!(
            "ANTHROPIC_CUSTOM_HEADERS has a line that is not \"Name: value\" (it begins with \"{name}\"); correct it"
        ))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| parse(line).ok_or_else(|| wrong(line))).collect()
}

fn number<T: std::str::FromStr>(env: &Env, name: &str) -> Result<Option<T>, ModelError> {
    let Some(text) = env.var(name) else { return Ok(None) };
    let wrong =
        || ModelError::Setup(format!("{name} is \"{text}\", which is not a whole number; correct it"));
    text.trim().parse().map(Some).map_err(|_| wrong())
}

fn millis(env: &Env, name: &str, default: Duration) -> Result<Duration, ModelError> {
    Ok(number(env, name)?.map_or(default, Duration::from_millis))
}
