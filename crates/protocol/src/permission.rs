//! Changes of what is permitted, as data: dialogs, hosts, hooks and the mode key all say them in these words.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mode::Mode;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Behavior {
    /// It goes ahead.
    Allow,
    /// The user decides.
    Ask,
    /// It is refused.
    Deny,
}

impl Behavior {
    /// Its name, also of the list of such rules in the settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Where a change counts, and how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Destination {
    /// In this session; no settings file is touched.
    #[default]
    #[serde(alias = "cliArg")]
    Session,
    /// In the user's settings for this project.
    LocalSettings,
    /// In the project's settings.
    ProjectSettings,
    /// In the user's settings.
    UserSettings,
}

/// A rule in two parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleValue {
    /// The tool.
    pub tool_name: String,
    /// What of the tool; all of it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_content: Option<String>,
}

impl RuleValue {
    /// The rule as it stands in settings.
    #[must_use]
    pub fn spelled(&self) -> String {
        match &self.rule_content {
            None => self.tool_name.clone(),
            Some(content) => format!("{}({content})", self.tool_name),
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Update {
    /// The mode is now this; in a file: the mode of new sessions.
    SetMode {
        /// The mode.
        mode: Mode,
        /// Where it counts.
        #[serde(default)]
        destination: Destination,
    },
    /// Further rules.
    AddRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// What they do.
        behavior: Behavior,
        /// Where they count.
        #[serde(default)]
        destination: Destination,
    },
    /// These rules instead of all that do the same in the same place.
    ReplaceRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// What they do.
        behavior: Behavior,
        /// Where they count.
        #[serde(default)]
        destination: Destination,
    },
    /// These rules no longer.
    RemoveRules {
        /// The rules.
        rules: Vec<RuleValue>,
        /// What they did.
        behavior: Behavior,
        /// Where they counted.
        #[serde(default)]
        destination: Destination,
    },
    /// Further working directories.
    AddDirectories {
        /// The directories, absolute.
        directories: Vec<PathBuf>,
        /// Where they count.
        #[serde(default)]
        destination: Destination,
    },
    /// These working directories no longer.
    RemoveDirectories {
        /// The directories, absolute.
        directories: Vec<PathBuf>,
        /// Where they counted.
        #[serde(default)]
        destination: Destination,
    },
}

impl Update {
    /// Where the change counts.
    #[must_use]
    pub fn destination(&self) -> Destination {
        match self {
            Self::SetMode { destination, .. }
            | Self::AddRules { destination, .. }
            | Self::ReplaceRules { destination, .. }
            | Self::RemoveRules { destination, .. }
            | Self::AddDirectories { destination, .. }
            | Self::RemoveDirectories { destination, .. } => *destination,
        }
    }

    /// The same change somewhere else.
    #[must_use]
    pub fn meant_for(mut self, elsewhere: Destination) -> Self {
        match &mut self {
            Self::SetMode { destination, .. }
            | Self::AddRules { destination, .. }
            | Self::ReplaceRules { destination, .. }
            | Self::RemoveRules { destination, .. }
            | Self::AddDirectories { destination, .. }
            | Self::RemoveDirectories { destination, .. } => *destination = elsewhere,
        }
        self
    }
}

/// Rules and directories that hold for one session: the fold of the changes that were meant for it. What was meant for
/// a settings file is found there by whoever opens the session again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionPermissions {
    rules: Vec<(Behavior, RuleValue)>,
    directories: Vec<PathBuf>,
}

impl SessionPermissions {
    /// Folds one more change in.
    pub(crate) fn apply(&mut self, update: &Update) {
        if update.destination() != Destination::Session {
            return;
        }
        match update {
            Update::SetMode { .. } => {}
            Update::AddRules { rules, behavior, .. } => self.add(*behavior, rules),
            Update::ReplaceRules { rules, behavior, .. } => {
                self.rules.retain(|(kind, _)| kind != behavior);
                self.add(*behavior, rules);
            }
            Update::RemoveRules { rules, behavior, .. } => {
                self.rules.retain(|(kind, rule)| kind != behavior || !rules.contains(rule));
            }
            Update::AddDirectories { directories, .. } => {
                for dir in directories {
                    if !self.directories.contains(dir) {
                        self.directories.push(dir.clone());
                    }
                }
            }
            Update::RemoveDirectories { directories, .. } => {
                self.directories.retain(|dir| !directories.contains(dir));
            }
        }
    }

    fn add(&mut self, behavior: Behavior, rules: &[RuleValue]) {
        for rule in rules {
            let rule = (behavior, rule.clone());
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        }
    }

    /// The changes that lead here from nothing.
    #[must_use]
    pub fn updates(&self) -> Vec<Update> {
        let destination = Destination::Session;
        let rules = self.rules.iter().map(|(behavior, rule)| Update::AddRules {
            rules: vec![rule.clone()],
            behavior: *behavior,
            destination,
        });
        let directories = (!self.directories.is_empty())
            .then(|| Update::AddDirectories { directories: self.directories.clone(), destination });
        rules.chain(directories).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: serde_json::Value) -> Vec<Update> {
        serde_json::from_value(json).unwrap()
    }

    fn folded(updates: &[Update]) -> SessionPermissions {
        let mut all = SessionPermissions::default();
        updates.iter().for_each(|update| all.apply(update));
        all
    }

    // PERM-10
    #[test]
    fn only_what_is_meant_for_the_session_stays_with_it_and_in_order() {
        let rules = |names: &[&str]| -> serde_json::Value {
            names.iter().map(|name| serde_json::json!({"toolName": name})).collect()
        };
        let all = folded(&parse(serde_json::json!([
            {"type": "addRules", "behavior": "allow", "destination": "session", "rules": rules(&["A", "B", "A"])},
            {"type": "addRules", "behavior": "allow", "destination": "userSettings", "rules": rules(&["U"])},
            {"type": "addRules", "behavior": "deny", "destination": "session", "rules": rules(&["D"])},
            {"type": "removeRules", "behavior": "allow", "destination": "session", "rules": rules(&["A", "D"])},
            {"type": "replaceRules", "behavior": "allow", "destination": "cliArg", "rules": rules(&["C"])},
            {"type": "addDirectories", "directories": ["/a", "/b"]},
            {"type": "removeDirectories", "destination": "session", "directories": ["/a"]},
            {"type": "setMode", "mode": "plan", "destination": "session"},
        ])));
        let names: Vec<(Behavior, String)> =
            all.rules.iter().map(|(behavior, rule)| (*behavior, rule.spelled())).collect();
        assert_eq!(names, [(Behavior::Deny, "D".to_owned()), (Behavior::Allow, "C".to_owned())]);
        assert_eq!(all.directories, [PathBuf::from("/b")]);
        assert_eq!(folded(&all.updates()), all);
    }

    #[test]
    fn a_change_is_written_as_hosts_write_it() {
        let json = serde_json::json!([
            {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}], "behavior": "allow",
             "destination": "localSettings"},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        ]);
        let updates = parse(json.clone());
        assert_eq!(serde_json::to_value(&updates).unwrap(), json);
        let elsewhere: Vec<Destination> =
            updates.into_iter().map(|one| one.meant_for(Destination::UserSettings).destination()).collect();
        assert_eq!(elsewhere, [Destination::UserSettings; 2]);
    }
}
