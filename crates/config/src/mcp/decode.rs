//! One server as it stands in a file.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use tiller_protocol::env::Env;

use super::expand::Expander;
use super::{McpDefinition, McpDialect, McpReach, McpScope, oauth};
use crate::origin::Origin;

/// Shorter waits are taken for seconds in place of milliseconds, and not followed.
const SHORTEST: u64 = 1_000;

/// What a server may say of itself; other names are told and left out.
const KNOWN: &[&str] = &[
    "type",
    "command",
    "args",
    "env",
    "url",
    "headers",
    "timeout",
    "alwaysLoad",
    "oauth",
    "description",
    "disabled",
];

/// What names of servers are made of.
pub(super) const NAMES: &str = "its name may have letters, digits, - and _ only";
/// What stands for the command or address of a server that is part of the host.
pub(super) const IN_HOST: &str = "in the program that started tiller";

/// Understands a server; nothing comes back if it cannot be used.
pub(super) fn definition(
    name: &str,
    value: &Value,
    scope: McpScope,
    origin: &Origin,
    env: &Env,
    problems: &mut Vec<String>,
) -> Option<McpDefinition> {
    let decoder = Decoder { variables: Expander::new(env, origin.is_of_project()), problems: Vec::new() };
    let (definition, said) = decoder.decode(name, value, scope, origin);
    problems.extend(said);
    definition
}

pub(super) struct Decoder<'a> {
    variables: Expander<'a>,
    problems: Vec<String>,
}

impl Decoder<'_> {
    fn decode(
        mut self,
        name: &str,
        value: &Value,
        scope: McpScope,
        origin: &Origin,
    ) -> (Option<McpDefinition>, Vec<String>) {
        let definition = match value.as_object() {
            _ if !is_name(name) => self.unusable(NAMES),
            None => self.unusable("is not an object; it is left out"),
            Some(fields) if fields.get("disabled") == Some(&Value::Bool(true)) => None,
            Some(fields) => self.fields(name, fields, scope, origin),
        };
        self.problems.extend(self.variables.problems());
        (definition, self.problems)
    }

    fn fields(
        &mut self,
        name: &str,
        fields: &Map<String, Value>,
        scope: McpScope,
        origin: &Origin,
    ) -> Option<McpDefinition> {
        let in_host = fields.get("type").is_some_and(|kind| kind == "sdk");
        let is_known = |key: &str| KNOWN.contains(&key) || (in_host && key == "name");
        for unknown in fields.keys().filter(|key| !is_known(key)) {
            self.problems.push(format!("{unknown} is not known here and is left out"));
        }
        let (reach, shown) = self.reach(fields, scope)?;
        let timeout = fields.get("timeout").and_then(Value::as_u64);
        let timeout = timeout.filter(|&wait| wait >= SHORTEST).map(Duration::from_millis);
        if fields.contains_key("timeout") && timeout.is_none() {
            self.problems.push(format!("timeout has to be {SHORTEST} milliseconds or more; it is left out"));
        }
        Some(McpDefinition {
            name: name.to_owned(),
            scope,
            reach,
            timeout,
            always_load: fields.get("alwaysLoad") == Some(&Value::Bool(true)),
            shown,
            origin: origin.clone(),
        })
    }

    fn reach(&mut self, fields: &Map<String, Value>, scope: McpScope) -> Option<(McpReach, String)> {
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let by_fields = if fields.contains_key("url") { "http" } else { "stdio" };
        match text("type").unwrap_or(by_fields) {
            "stdio" => {
                let Some(command) = text("command").filter(|command| !command.trim().is_empty()) else {
                    return self.unusable("command is missing; say which program to start");
                };
                let args = self.list(fields.get("args"))?;
                let shown = std::iter::once(command).chain(args.iter().map(String::as_str));
                let shown = shown.collect::<Vec<_>>().join(" ");
                let reach = McpReach::Stdio {
                    command: self.expanded(command),
                    args: args.iter().map(|arg| self.expanded(arg)).collect(),
                    env: self.map("env", fields.get("env"))?,
                };
                Some((reach, shown))
            }
            kind @ ("http" | "streamable-http" | "sse") => {
                let Some(url) = text("url").filter(|url| !url.trim().is_empty()) else {
                    return self.unusable("url is missing; say where the service is");
                };
                let reach = McpReach::Http {
                    url: self.expanded(url),
                    headers: self.map("headers", fields.get("headers"))?,
                    oauth: Box::new(oauth::decode(self, fields.get("oauth").unwrap_or(&Value::Null), scope)),
                    dialect: if kind == "sse" { McpDialect::Events } else { McpDialect::Streamable },
                };
                Some((reach, without_query(url)))
            }
            "sdk" if scope == McpScope::CommandLine => Some((McpReach::Host, IN_HOST.to_owned())),
            "sdk" => self.unusable("the type sdk is for --mcp-config of a program that starts tiller"),
            other => self.unusable(&format!("the type {other} is not supported; use stdio, http or sse")),
        }
    }

    fn list(&mut self, value: Option<&Value>) -> Option<Vec<String>> {
        let Some(value) = value else { return Some(Vec::new()) };
        let words =
            value.as_array().and_then(|words| words.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        match words {
            Some(words) => Some(words.into_iter().map(str::to_owned).collect()),
            None => self.unusable("args has to be a list of texts"),
        }
    }

    fn map(&mut self, key: &str, value: Option<&Value>) -> Option<BTreeMap<String, String>> {
        let Some(value) = value else { return Some(BTreeMap::new()) };
        let Some(fields) = value.as_object() else {
            return self.unusable(&format!("{key} has to be an object"));
        };
        let mut map = BTreeMap::new();
        for (name, value) in fields {
            let text = match value {
                Value::String(text) => self.expanded(text),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return self.unusable(&format!("{key}.{name} has to be a text")),
            };
            map.insert(name.clone(), text);
        }
        Some(map)
    }

    pub(super) fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    pub(super) fn home(&self) -> &Path {
        self.variables.home()
    }

    pub(super) fn expanded(&mut self, text: &str) -> String {
        self.variables.expand(text)
    }

    fn unusable<T>(&mut self, why: &str) -> Option<T> {
        self.problems.push(why.to_owned());
        None
    }
}

/// Whether a name can be part of the names of tools.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ' | b':');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(fits)
}

/// Queries of addresses hold keys now and then.
fn without_query(url: &str) -> String {
    url.split_once('?').map_or(url, |(address, _)| address).to_owned()
}
