//! How a service lets Tiller in, as it stands in a file.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use super::McpScope;
use super::decode::Decoder;

/// How a service lets Tiller in, as far as that is not found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpOAuth {
    /// Who is let in.
    pub grant: McpGrant,
    /// What Tiller is known as at the service.
    pub client_id: Option<String>,
    /// What proves that, for services that demand it.
    pub client_secret: Option<String>,
    /// The key that signs in place of a secret.
    pub private_key: Option<McpSecret>,
    /// The page that says what Tiller is, for services that read it there.
    pub client_metadata_url: Option<String>,
    /// The port on which the answer is awaited.
    pub callback_port: Option<u16>,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// Whether tokens are bound to a key; if nothing is said, the service decides.
    pub dpop: Option<bool>,
}

/// Whom a service lets in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum McpGrant {
    /// The user, who signs in.
    #[default]
    AuthorizationCode,
    /// Tiller itself, with the id, and the secret or key that are configured.
    ClientCredentials,
    /// The workload that Tiller runs in, with a signed statement of whoever runs it.
    JwtBearer {
        /// The statement.
        assertion: McpSecret,
    },
    /// The user, as the identity provider of their enterprise knows them.
    Enterprise(McpIdentityProvider),
}

impl McpGrant {
    /// Whether somebody has to sign in.
    #[must_use]
    pub fn needs_user(&self) -> bool {
        matches!(self, Self::AuthorizationCode)
    }
}

/// Who vouches for the user of an enterprise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpIdentityProvider {
    /// Its address, as it calls itself.
    pub issuer: String,
    /// Where it exchanges tokens, if it does not say so itself.
    pub token_url: Option<String>,
    /// What Tiller is known as there.
    pub client_id: String,
    /// What proves that.
    pub client_secret: Option<String>,
    /// What the user got there when signing in.
    pub id_token: McpSecret,
}

/// Something that nobody else may see. It is not shown.
#[derive(Clone, PartialEq, Eq)]
pub enum McpSecret {
    /// As it stands in the configuration, or in the variable that is named there.
    Given(String),
    /// What a file holds at the time.
    File(PathBuf),
}

impl fmt::Debug for McpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(_) => f.write_str("Given(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// Which secrets a configuration may name. What a project or a plugin names could be any file or variable of the user, and
/// would go to a service of their choice.
fn is_own(scope: McpScope) -> bool {
    matches!(scope, McpScope::User | McpScope::Local | McpScope::CommandLine)
}

/// Understands what a file says.
pub(super) fn decode(decoder: &mut Decoder<'_>, value: &Value, scope: McpScope) -> McpOAuth {
    let scopes = match &value["scopes"] {
        Value::String(list) => list.split_whitespace().map(str::to_owned).collect(),
        list => list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
    };
    let oauth = McpOAuth {
        grant: McpGrant::AuthorizationCode,
        client_id: text(decoder, value, "clientId"),
        client_secret: text(decoder, value, "clientSecret"),
        private_key: secret(decoder, value, "privateKey", scope),
        client_metadata_url: text(decoder, value, "clientMetadataUrl"),
        callback_port: value["callbackPort"].as_u64().and_then(|port| u16::try_from(port).ok()),
        scopes,
        dpop: value["dpop"].as_bool(),
    };
    match grant(decoder, value, &oauth, scope) {
        Ok(grant) => McpOAuth { grant, ..oauth },
        Err(problem) => {
            decoder.problem(format!("{problem}; the user has to sign in"));
            oauth
        }
    }
}

fn grant(
    decoder: &mut Decoder<'_>,
    value: &Value,
    oauth: &McpOAuth,
    scope: McpScope,
) -> Result<McpGrant, String> {
    match value["grant"].as_str() {
        None | Some("authorization_code") => Ok(McpGrant::AuthorizationCode),
        Some("client_credentials") => {
            let is_proved = oauth.client_secret.is_some() || oauth.private_key.is_some();
            match oauth.client_id.is_some() && is_proved {
                true => Ok(McpGrant::ClientCredentials),
                false => {
                    Err("the grant client_credentials needs clientId, and clientSecret or privateKey".into())
                }
            }
        }
        Some("jwt_bearer") => {
            let assertion = secret(decoder, value, "assertion", scope);
            let assertion = assertion.ok_or("the grant jwt_bearer needs assertion or assertionFile")?;
            Ok(McpGrant::JwtBearer { assertion })
        }
        Some("enterprise") => {
            if oauth.client_id.is_none() {
                return Err("the grant enterprise needs clientId".into());
            }
            identity_provider(decoder, &value["identityProvider"], scope).map(McpGrant::Enterprise)
        }
        Some(other) => Err(format!("the grant {other} is not known here")),
    }
}

fn identity_provider(
    decoder: &mut Decoder<'_>,
    value: &Value,
    scope: McpScope,
) -> Result<McpIdentityProvider, String> {
    let missing = |key: &str| format!("the grant enterprise needs identityProvider.{key}");
    let id_token = secret(decoder, value, "idToken", scope);
    Ok(McpIdentityProvider {
        issuer: text(decoder, value, "issuer").ok_or_else(|| missing("issuer"))?,
        token_url: text(decoder, value, "tokenUrl"),
        client_id: text(decoder, value, "clientId").ok_or_else(|| missing("clientId"))?,
        client_secret: text(decoder, value, "clientSecret"),
        id_token: id_token.ok_or_else(|| missing("idToken or idTokenFile"))?,
    })
}

fn text(decoder: &mut Decoder<'_>, value: &Value, key: &str) -> Option<String> {
    value[key].as_str().map(|text| decoder.expanded(text))
}

/// What stands there itself, or in the file that is named there.
fn secret(decoder: &mut Decoder<'_>, value: &Value, key: &str, scope: McpScope) -> Option<McpSecret> {
    let file_key = format!("{key}File");
    if value.get(key).is_none() && value.get(&file_key).is_none() {
        return None;
    }
    if !is_own(scope) {
        decoder.problem(format!(
            "{key} works only in your own configuration: add the server with --scope local or user"
        ));
        return None;
    }
    if let Some(given) = text(decoder, value, key) {
        return Some(McpSecret::Given(given));
    }
    let path = PathBuf::from(text(decoder, value, &file_key)?);
    let path = match path.strip_prefix("~") {
        Ok(below) => decoder.home().join(below),
        Err(_) => path,
    };
    if path.is_relative() {
        decoder.problem(format!("{file_key} has to begin with / or ~/; it is left out"));
        return None;
    }
    Some(McpSecret::File(path))
}
