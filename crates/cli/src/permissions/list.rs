//! `tiller permissions list`: the rules that count.

use clap::Args;
use serde_json::{Value, json};
use tiller_config::Resolved;
use tiller_policy::{Behavior, Rule, Rules};
use tiller_protocol::env::Env;

use super::told::place;
use crate::exit::Exit;
use crate::scope::{self, Scope};
use crate::{settings, text};

/// List the rules in effect, with the file each comes from
#[derive(Debug, Args)]
pub(super) struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    scope: Scope,
}

/// The order in which rules are looked at.
const ORDER: [Behavior; 3] = [Behavior::Deny, Behavior::Ask, Behavior::Allow];

impl List {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let settings = self.scope.load(env)?;
        let rules = settings::rules(&settings)?;
        text::print(&if self.json {
            as_json(&settings, &rules).to_string()
        } else {
            as_text(&settings, &rules)
        })?;
        Ok(Exit::Success)
    }
}

/// The rules that count in a session that was started with these arguments: those of its files and of its options.
pub(crate) fn of_session(typed: &crate::args::Args, env: &Env) -> anyhow::Result<String> {
    let settings = scope::of_session(typed, env)?;
    let (rules, _) = settings::understood(&settings)?;
    Ok(as_text(&settings, &rules))
}

fn as_json(settings: &Resolved, rules: &Rules) -> Value {
    let row = |rule: &Rule| json!({"rule": rule.to_string(), "source": source(rule)});
    let list = |behavior| rules.of(behavior).iter().map(row).collect::<Vec<_>>();
    let [deny, ask, allow] = ORDER.map(list);
    let mode = &settings.permissions.default_mode;
    json!({"mode": mode.value, "deny": deny, "ask": ask, "allow": allow})
}

fn as_text(settings: &Resolved, rules: &Rules) -> String {
    let mode = &settings.permissions.default_mode;
    let mut lines = vec![format!("mode   {}  ({})", mode.value, mode.origin)];
    for behavior in ORDER {
        let rules = rules.of(behavior).iter();
        lines.extend(rules.map(|rule| format!("{:7}{rule}  ({})", behavior.name(), source(rule))));
    }
    if lines.len() == 1 {
        lines.push("there are no rules".to_owned());
    }
    lines.join("\n")
}

fn source(rule: &Rule) -> String {
    place(rule.origin.source, rule.origin.file.as_deref())
}
