//! Variables in the configuration of servers: `${NAME}` and `${NAME:-default}`.

use tiller_protocol::env::Env;

/// Fills in variables. One that is not set and has no default stays as it is written, and its name is noted.
pub(super) fn expand(text: &str, env: &Env, unset: &mut Vec<String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        expanded.push_str(&rest[..at]);
        let Some(length) = rest[at..].find('}') else { break };
        let inside = &rest[at + 2..at + length];
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        match (env.var(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => expanded.push_str(value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => {
                unset.push(name.to_owned());
                expanded.push_str(&rest[at..=at + length]);
            }
        }
        rest = &rest[at + length + 1..];
    }
    expanded.push_str(rest);
    expanded
}
