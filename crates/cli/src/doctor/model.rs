//! How the model is reached. Credentials are never printed.

use tiller_config::Resolved;
use tiller_model::anthropic::Config;
use tiller_model::name::{Names, Provider};
use tiller_protocol::env::Env;

use super::finding::Finding;

const TOPIC: &str = "model";

pub(super) fn examine(env: &Env, settings: Option<&Resolved>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(settings) = settings {
        let id = Names::new(Provider::FirstParty, env).main_model(Some(&settings.model.value));
        findings.push(Finding::ok(TOPIC, format!("{} ({id})", settings.model.value)));
    }
    findings.push(match Config::from_env(env) {
        Ok(config) => {
            Finding::ok(TOPIC, format!("requests go to {}, {}", shown(&config), credential(&config)))
        }
        Err(error) => Finding::fail(TOPIC, error.to_string(), "requests fail until then"),
    });
    findings
}

fn credential(config: &Config) -> &'static str {
    match (&config.api_key, &config.auth_token) {
        (Some(_), Some(_)) => "with ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN",
        (Some(_), None) => "with ANTHROPIC_API_KEY",
        (None, Some(_)) => "with ANTHROPIC_AUTH_TOKEN",
        (None, None) => "without a credential",
    }
}

/// The address without user name, password and query.
pub(super) fn shown(config: &Config) -> String {
    let url = &config.base_url;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    format!("{}://{}{port}{path}", url.scheme(), url.host_str().unwrap_or_default())
}
