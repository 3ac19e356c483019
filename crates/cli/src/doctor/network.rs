//! What Tiller itself may connect to. Commands that the model runs are another matter: they are confined, or not.

use anyhow::Context;
use serde::Serialize;
use tiller_config::{McpDefinition, McpReach, Resolved};
use tiller_model::anthropic::Config;
use tiller_protocol::env::Env;
use tiller_protocol::host::is_loopback;
use tiller_protocol::mode::Mode;

use super::model::shown;
use crate::settings;
use crate::text::hanging;

/// Somewhere that Tiller may connect to.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Destination {
    /// An address, a host, or words where it can be many.
    destination: String,
    /// When, and who says so.
    reason: String,
}

impl Destination {
    fn new(destination: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { destination: destination.into(), reason: reason.into() }
    }
}

/// Every destination, the model first.
pub(super) fn destinations(
    env: &Env,
    settings: &Resolved,
    servers: &[McpDefinition],
) -> anyhow::Result<Vec<Destination>> {
    // A key that is missing changes nothing about where requests would go.
    let named = match Config::from_env(env) {
        Ok(config) => Ok(config),
        Err(_) => Config::from_env(&with_some_key(env)),
    };
    let config = named.context("the address of the model is not known")?;
    let said_by = match env.var("ANTHROPIC_BASE_URL") {
        Some(_) => "ANTHROPIC_BASE_URL",
        None => "the default",
    };
    let mut found = vec![Destination::new(
        shown(&config),
        format!("the model, also when it searches the web ({said_by})"),
    )];
    if env.flag("TILLER_OFFLINE") {
        found.retain(|_| config.base_url.host_str().is_some_and(is_loopback));
        let reason = "WebFetch, only after you were asked and said yes (TILLER_OFFLINE is set)";
        found.push(Destination::new("this machine", reason));
        found.extend(services(servers, true));
        return Ok(found);
    }
    found.extend(proxies(&config));
    found.extend(web(settings)?);
    found.extend(services(servers, false));
    Ok(found)
}

fn with_some_key(env: &Env) -> Env {
    let mut vars = std::collections::BTreeMap::clone(&env.vars);
    vars.insert("ANTHROPIC_API_KEY".to_owned(), "none".to_owned());
    Env { vars: std::sync::Arc::new(vars), ..env.clone() }
}

/// MCP servers that are services, as far as they are reached at all.
fn services(servers: &[McpDefinition], offline: bool) -> Vec<Destination> {
    let service = |server: &McpDefinition| match &server.reach {
        McpReach::Http { url, .. } if tiller_mcp::is_reached(url, offline) => {
            let reason = format!(
                "the MCP server {} ({}), and where it sends you to sign in",
                server.name, server.origin
            );
            Some(Destination::new(without_credentials(url), reason))
        }
        McpReach::Http { .. } | McpReach::Stdio { .. } | McpReach::Host => None,
    };
    servers.iter().filter_map(service).collect()
}

/// Proxies, without the credentials that may stand in their addresses.
fn proxies(config: &Config) -> Vec<Destination> {
    let mut found = Vec::new();
    for (scheme, proxy) in [("https", &config.proxies.https), ("http", &config.proxies.http)] {
        let Some(proxy) = proxy else { continue };
        let except = config.proxies.except.as_ref().map(|hosts| format!(", except to {hosts}"));
        let reason = format!("the proxy for {scheme} requests{}", except.unwrap_or_default());
        found.push(Destination::new(without_credentials(proxy), reason));
    }
    found
}

fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}")
}

/// Hosts that pages may be read from.
fn web(settings: &Resolved) -> anyhow::Result<Vec<Destination>> {
    let domains = settings.web.allowed_domains.iter().map(|domain| {
        Destination::new(
            &domain.value,
            format!("WebFetch, without a question (web.allowedDomains in {})", domain.origin),
        )
    });
    let mut found: Vec<Destination> = domains.collect();
    let (rules, _) = settings::understood(settings)?;
    for rule in rules.allow.iter().filter(|rule| rule.tool == "WebFetch") {
        let place =
            rule.origin.file.as_ref().map(|file| format!(" in {}", file.display())).unwrap_or_default();
        let reason = format!("WebFetch, without a question (the rule {rule}{place})");
        let host = rule.content.as_deref().and_then(|content| content.strip_prefix("domain:"));
        match (host, &rule.content) {
            // The domains of the setting are rules, too.
            (Some(host), _) if found.iter().any(|known| known.destination == host.trim()) => {}
            (Some(host), _) => found.push(Destination::new(host.trim(), reason)),
            (None, None) => found.push(Destination::new("any host", reason)),
            (None, Some(_)) => {}
        }
    }
    let mode = settings.permissions.default_mode.value;
    let denied = rules.deny.iter().any(|rule| rule.tool == "WebFetch" && rule.content.is_none());
    if denied {
        found.clear();
    } else if mode == Mode::BypassPermissions {
        found
            .push(Destination::new("any host", format!("WebFetch, without a question (the mode is {mode})")));
    } else {
        found.push(Destination::new("any other host", "WebFetch, only after you were asked and said yes"));
    }
    Ok(found)
}

/// The list for people.
pub(super) fn to_text(destinations: &[Destination]) -> String {
    let mut lines = vec!["Tiller itself connects only to:".to_owned()];
    for Destination { destination, reason } in destinations {
        lines.push(format!("  {destination}\n{}", hanging("      ", reason)));
    }
    let rest =
        "No telemetry is sent. Commands and MCP servers that run as programs are not part of this list.";
    lines.push(rest.to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_proxies_lose_their_credentials() {
        for (address, shown) in [
            ("http://me:secret@proxy:3128", "http://proxy:3128"),
            ("http://me:p@ss@proxy:3128/x", "http://proxy:3128"),
            ("me:secret@proxy:3128", "http://proxy:3128"),
            ("socks5h://proxy", "socks5h://proxy"),
        ] {
            assert_eq!(without_credentials(address), shown);
        }
    }
}
