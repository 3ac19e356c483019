//! Variables in the configuration of servers: `${NAME}` and `${NAME:-default}`.

use std::collections::BTreeSet;
use std::path::Path;

use tiller_protocol::env::{Env, MODEL_CREDENTIALS};

/// Fills in variables, and notes what could not be filled in.
pub(super) struct Expander<'a> {
    env: &'a Env,
    /// Whether it is a file of the project's: it does not get what lets Tiller in at the model.
    of_project: bool,
    unset: Vec<String>,
    withheld: BTreeSet<String>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(env: &'a Env, of_project: bool) -> Self {
        Self { env, of_project, unset: Vec::new(), withheld: BTreeSet::new() }
    }

    /// Where the user is at home.
    pub(super) fn home(&self) -> &'a Path {
        &self.env.home
    }

    /// The text with variables filled in. One that is not set and has no default stays as it is written.
    pub(super) fn expand(&mut self, text: &str) -> String {
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
            match (self.value(name), default) {
                (Some(value), _) => expanded.push_str(&value),
                (None, Some(default)) => expanded.push_str(default),
                (None, None) => {
                    self.unset.push(name.to_owned());
                    expanded.push_str(&rest[at..=at + length]);
                }
            }
            rest = &rest[at + length + 1..];
        }
        expanded.push_str(rest);
        expanded
    }

    fn value(&mut self, name: &str) -> Option<String> {
        if self.of_project && MODEL_CREDENTIALS.contains(&name) {
            self.withheld.insert(name.to_owned());
            return None;
        }
        self.env.var(name).filter(|value| !value.is_empty()).map(str::to_owned)
    }

    /// What could not be filled in, for people.
    pub(super) fn problems(&self) -> Vec<String> {
        let unset = self.unset.iter().filter(|name| !self.withheld.contains(*name));
        let unset =
            unset.map(|name| format!("the variable {name} is not set; ${{{name}}} stays as it is written"));
        let withheld = self.withheld.iter().map(|name| {
            format!(
                "{name} is a credential for the model and is not passed to the servers of a project; if the server needs it, put the server into your own ~/.tiller/mcp.json"
            )
        });
        unset.chain(withheld).collect()
    }
}
