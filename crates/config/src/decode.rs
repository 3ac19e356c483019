//! From a tree to settings. What is wrong is left out and said, unless leaving it out would allow more than was meant.

use serde::Deserialize;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::definition::{HookEvent, Settings};
use crate::document::{Content, Node, Step, spell, steps};
use crate::error::{Problem, SettingsError, did_you_mean};
use crate::key::{Members, closest, members, schema};
use crate::origin::{Layer, Origin};

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Ours: every key should be known.
    Own,
    /// Another agent's, of which rules, hooks, variables and the output style count.
    Foreign,
}

/// What counts in files of other agents.
const FOREIGN_KEYS: [&str; 4] = ["permissions", "hooks", "env", "outputStyle"];

/// Keys whose loss would allow more than was meant.
const RESTRICTIONS: [&str; 8] = [
    "permissions",
    "permissions.ask",
    "permissions.deny",
    "permissions.defaultMode",
    "permissions.disableBypassPermissionsMode",
    "sandbox",
    "sandbox.enabled",
    "sandbox.network",
];

/// Reads what a tree says.
pub(crate) fn decode(
    mut node: Node,
    origin: &Origin,
    dialect: Dialect,
    warnings: &mut Vec<Problem>,
) -> Result<Settings, SettingsError> {
    if let (Dialect::Foreign, Content::Object(members)) = (dialect, &mut node.content) {
        members.retain(|(key, _)| FOREIGN_KEYS.contains(&key.as_str()));
    }
    let mut events = unknown_events(&node, origin);
    match dialect {
        Dialect::Own if !events.is_empty() => return Err(SettingsError::Restriction(events.swap_remove(0))),
        Dialect::Own => {}
        Dialect::Foreign => warnings.extend(events.into_iter().map(|mut problem| {
            problem.text.push_str("; its hooks do not run");
            problem
        })),
    }
    warnings.extend(foreign_network(&mut node, origin));
    let mut unknown = Vec::new();
    leave_out_unknown(&mut node, schema(), &mut Vec::new(), origin, &mut unknown);
    if dialect == Dialect::Own {
        warnings.append(&mut unknown);
    }
    loop {
        let value = node.to_value();
        let error = match serde_path_to_error::deserialize::<_, Settings>(&value) {
            Ok(settings) => return Ok(settings),
            Err(error) => error,
        };
        let path = steps_of(error.path());
        let mut problem = Problem {
            origin: origin.clone(),
            place: node.get(&path).and_then(|node| node.place),
            key: spell(&path),
            text: error.into_inner().to_string(),
        };
        if restricts(&path, origin, dialect) || node.remove(whole(&path)).is_none() {
            return Err(SettingsError::Restriction(problem));
        }
        problem.text.push_str("; it is ignored");
        warnings.push(problem);
    }
}

/// Hosts written for other agents hand over an object here, with ports of proxies and sockets. What it is to allow cannot
/// be told apart from the rest of the network, so there is none unless the user says yes.
fn foreign_network(node: &mut Node, origin: &Origin) -> Option<Problem> {
    let key = "sandbox.network";
    let network = steps(key).iter().try_fold(node, |node, step| match (&mut node.content, step) {
        (Content::Object(members), Step::Key(key)) => {
            members.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
        }
        _ => None,
    })?;
    let Content::Object(members) = &network.content else { return None };
    let named: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    let text = format!(
        "ports, sockets and hosts{named} are not honoured; it counts as \"ask\": commands have no network unless the user \
         says yes. \"allow\" gives them the network"
    );
    let problem = Problem { origin: origin.clone(), place: network.place, key: key.to_owned(), text };
    network.content = Content::Scalar("ask".into());
    Some(problem)
}

/// Whether a value fits a setting.
pub(crate) fn fit(key: &str, value: &Value) -> Result<(), SettingsError> {
    let nested = key.rsplit('.').fold(value.clone(), |inner, name| {
        Value::Object(std::iter::once((name.to_owned(), inner)).collect())
    });
    let unfit = |problem| SettingsError::UnfitValue { key: key.to_owned(), problem };
    Settings::deserialize(&nested).map_err(|error| unfit(error.to_string()))?;
    let mut unknown = Vec::new();
    let origin = Origin::layer(Layer::CommandLine);
    leave_out_unknown(&mut Node::from(nested), schema(), &mut Vec::new(), &origin, &mut unknown);
    unknown.pop().map_or(Ok(()), |problem| Err(unfit(format!("{}: {}", problem.key, problem.text))))
}

fn restricts(path: &[Step], origin: &Origin, dialect: Dialect) -> bool {
    let spelled = spell(path);
    let key = spelled.split('[').next().unwrap_or_default();
    // Other agents have modes of their own. Without one, sessions start in the mode that asks.
    let is_foreign_mode = dialect == Dialect::Foreign && key == "permissions.defaultMode";
    // A hook may be a guard, wherever it stands.
    let is_hook = matches!(path, [Step::Key(key), ..] if key == "hooks");
    origin.layer == Layer::Managed || is_hook || (RESTRICTIONS.contains(&key) && !is_foreign_mode)
}

/// Events that do not exist. Other agents know more of them than we do; in our own files a guard must not vanish
/// over a typing error.
fn unknown_events(node: &Node, origin: &Origin) -> Vec<Problem> {
    let Some(Content::Object(events)) = node.get(&steps("hooks")).map(|hooks| &hooks.content) else {
        return Vec::new();
    };
    let names = || HookEvent::ALL.into_iter().map(HookEvent::name);
    let unknown = events.iter().filter(|(name, _)| names().all(|known| known != name));
    let problem = |(name, groups): &(String, Node)| Problem {
        origin: origin.clone(),
        place: groups.place,
        key: spell(&[Step::Key("hooks".to_owned()), Step::Key(name.clone())]),
        text: format!("there is no such event{}", did_you_mean(closest(name, names()))),
    };
    unknown.map(problem).collect()
}

/// What stands in a list is one thing, and so is a server: half a hook or command would do something that nobody meant.
fn whole(path: &[Step]) -> &[Step] {
    if matches!(path, [Step::Key(key), _, ..] if key == "languageServers") {
        return &path[..2];
    }
    let last = path.iter().rposition(|step| matches!(step, Step::Index(_)));
    last.map_or(path, |last| &path[..=last])
}

fn steps_of(path: &serde_path_to_error::Path) -> Vec<Step> {
    let steps = path.iter().map_while(|segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    steps.collect()
}

/// Takes members out that the schema does not know.
fn leave_out_unknown(
    node: &mut Node,
    schema: &Value,
    path: &mut Vec<Step>,
    origin: &Origin,
    unknown: &mut Vec<Problem>,
) {
    match &mut node.content {
        Content::Scalar(_) => {}
        // Members could be read from a list by their order, which nobody means.
        Content::List(_) if matches!(members(schema), Members::Named(_)) => {
            node.content = Content::Scalar(Value::String("[...]".to_owned()));
        }
        Content::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                path.push(Step::Index(index));
                leave_out_unknown(item, &schema["items"], path, origin, unknown);
                path.pop();
            }
        }
        Content::Object(content) => {
            let known = members(schema);
            content.retain_mut(|(key, node)| {
                path.push(Step::Key(key.clone()));
                let keep = match schema_of(&known, key) {
                    Ok(schema) => {
                        leave_out_unknown(node, schema, path, origin, unknown);
                        true
                    }
                    Err(names) => {
                        let suggestion = did_you_mean(closest(key, names.iter().copied()));
                        unknown.push(Problem {
                            origin: origin.clone(),
                            place: node.place,
                            key: spell(path),
                            text: format!("there is no such key, it is ignored{suggestion}"),
                        });
                        false
                    }
                };
                path.pop();
                keep
            });
        }
    }
}

/// The schema of a member, or the names that there are instead.
fn schema_of<'a>(known: &Members<'a>, key: &str) -> Result<&'a Value, Vec<&'a str>> {
    match known {
        Members::Any(each) => Ok(each.unwrap_or(&Value::Null)),
        Members::Named(named) => {
            let found = named.iter().find(|(name, _)| *name == key).map(|(_, schema)| *schema);
            found.ok_or_else(|| named.iter().map(|(name, _)| *name).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, layer: Layer, dialect: Dialect) -> Result<(Settings, Vec<String>), String> {
        let origin = Origin::file(layer, "/s.json".into());
        let node = Node::parse(text, &origin).unwrap();
        let mut warnings = Vec::new();
        let settings = decode(node, &origin, dialect, &mut warnings).map_err(|error| error.to_string())?;
        Ok((settings, warnings.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn unknown_keys_are_said_with_the_nearest_known_one() {
        let text = r#"{
            "modle": "opus",
            "permissions": {"alow": ["Read"], "deny": ["Bash"]},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "tiemout": 1}]}]},
            "env": {"ANYTHING": "goes"}
        }"#;
        let (settings, warnings) = read(text, Layer::User, Dialect::Own).unwrap();
        assert_eq!(warnings.len(), 3, "{warnings:#?}");
        assert!(warnings[0].starts_with("/s.json: line 2, column 22: modle: "), "{}", warnings[0]);
        for (warning, meant) in warnings.iter().zip(["model?", "allow?", "timeout?"]) {
            assert!(warning.ends_with(&format!("did you mean {meant}")), "{warning}");
        }
        assert_eq!(settings.permissions.deny, ["Bash"]);
        assert_eq!((settings.env.len(), settings.hooks.len()), (1, 1));
    }

    #[test]
    fn a_wrong_value_loses_itself_alone() {
        let text = r#"{
            "model": 3,
            "fallbackModel": "haiku",
            "permissions": {"allow": ["Read", 7, "Edit", false]},
            "languageServers": {"rust": {"command": ["ra", 7]}, "lua": {"command": ["luals"]}}
        }"#;
        let (settings, warnings) = read(text, Layer::Project, Dialect::Own).unwrap();
        assert_eq!(settings.model, None);
        assert_eq!(settings.fallback_model.as_deref(), Some("haiku"));
        assert_eq!(settings.permissions.allow, ["Read", "Edit"]);
        assert_eq!(settings.language_servers.keys().collect::<Vec<_>>(), ["lua"]);
        let places: Vec<&str> = warnings.iter().map(|warning| warning.split(": ").nth(1).unwrap()).collect();
        assert_eq!(
            places,
            ["line 2, column 22", "line 4, column 47", "line 4, column 58", "line 5, column 60"],
            "{warnings:#?}"
        );
        assert!(warnings[0].contains("invalid type: integer `3`, expected a string; it is ignored"));
    }

    // Libraries hand over what another agent understands; a session starts with it, and what does not count is told.
    #[test]
    fn a_network_of_another_agent_means_none_without_a_yes() {
        let text = r#"{"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true, "excludedCommands": ["docker"],
            "network": {"allowLocalBinding": true, "httpProxyPort": 8080}}}"#;
        let (settings, warnings) = read(text, Layer::CommandLine, Dialect::Own).unwrap();
        assert_eq!(settings.sandbox.network, Some(crate::Network::Ask));
        assert_eq!(settings.sandbox.excluded_commands, ["docker"]);
        assert!(warnings[0].contains("allowLocalBinding, httpProxyPort"), "{warnings:#?}");
        assert!(warnings[1].contains("autoAllowBashIfSandboxed"), "{warnings:#?}");
        assert_eq!(warnings.len(), 2);
        assert!(read(r#"{"sandbox": {"network": "maybe"}}"#, Layer::User, Dialect::Own).is_err());
    }

    // PERM-01
    #[test]
    fn a_restriction_that_is_not_understood_is_an_error() {
        for text in [
            r#"{"permissions": {"deny": "Bash"}}"#,
            r#"{"permissions": {"deny": ["Bash", 1]}}"#,
            r#"{"permissions": {"ask": [1]}}"#,
            r#"{"permissions": []}"#,
            r#"{"permissions": {"defaultMode": "yolo"}}"#,
            r#"{"permissions": {"defaultMode": "careless"}}"#,
            r#"{"permissions": {"disableBypassPermissionsMode": "maybe"}}"#,
            r#"{"sandbox": {"network": "nope"}}"#,
            r#"{"sandbox": true}"#,
        ] {
            let error = read(text, Layer::User, Dialect::Own).unwrap_err();
            assert!(
                error.starts_with("/s.json: line 1, column ") && error.ends_with("correct it"),
                "{error}"
            );
        }
        let error = read(r#"{"model": 1}"#, Layer::Managed, Dialect::Own).unwrap_err();
        assert!(error.contains("model"), "{error}");
    }

    #[test]
    fn a_hook_that_is_not_understood_is_an_error() {
        for hooks in [
            r#"{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}"#,
            r#"{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 1.5}]}]}"#,
            r#"{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}]}"#,
            r#"{"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x", "timeout": 0}]}]}"#,
            r#"{"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "onFailure": "blok"}]}]}"#,
            r#"{"PreToolUse": [{"hooks": [{"type": "teleport"}]}]}"#,
            r#"{"PreToolUse": [{"matcher": 1, "hooks": []}]}"#,
            r#"{"PreToolUse": {"hooks": []}}"#,
            r"[]",
        ] {
            for dialect in [Dialect::Own, Dialect::Foreign] {
                let error = read(&format!(r#"{{"hooks": {hooks}}}"#), Layer::Project, dialect).unwrap_err();
                assert!(error.contains(": hooks") && error.ends_with("correct it"), "{error}");
            }
        }
    }

    #[test]
    fn an_event_that_does_not_exist_is_never_passed_over() {
        let text =
            r#"{"hooks": {"PreToolUze": [{"hooks": [{"type": "command", "command": "x"}]}], "Stop": [{}]}}"#;
        let error = read(text, Layer::User, Dialect::Own).unwrap_err();
        assert!(error.starts_with("/s.json: line 1, column ") && error.contains("PreToolUse?"), "{error}");
        let (settings, warnings) = read(text, Layer::User, Dialect::Foreign).unwrap();
        assert_eq!(settings.hooks.len(), 1);
        assert!(
            matches!(&warnings[..], [event] if event.contains("hooks.PreToolUze: there is no such event")),
            "{warnings:?}"
        );
    }

    // PERM-01
    #[test]
    fn the_five_modes_are_accepted() {
        for mode in tiller_protocol::mode::Mode::STRICTEST_FIRST {
            let text = format!(r#"{{"permissions": {{"defaultMode": "{mode}"}}}}"#);
            let (settings, warnings) = read(&text, Layer::User, Dialect::Own).unwrap();
            assert_eq!((settings.permissions.default_mode, warnings.len()), (Some(mode), 0));
        }
        let delegate = r#"{"permissions": {"defaultMode": "delegate"}}"#;
        let error = read(delegate, Layer::User, Dialect::Own).unwrap_err();
        assert!(error.contains("permissions.defaultMode") && error.contains("/delegate"), "{error}");
        let (settings, warnings) = read(delegate, Layer::User, Dialect::Foreign).unwrap();
        assert_eq!((settings.permissions.default_mode, warnings.len()), (None, 1));
    }

    #[test]
    fn of_other_agents_rules_hooks_and_variables_count() {
        let text = r#"{
            "model": "opus[1m]", "statusLine": {"type": "command"}, "sandbox": {"network": {"ports": []}},
            "permissions": {"deny": ["WebFetch"], "defaultMode": "auto", "disableBypassPermissionsMode": "disable"},
            "env": {"A": "1"}
        }"#;
        let (settings, warnings) = read(text, Layer::User, Dialect::Foreign).unwrap();
        assert_eq!((settings.model, settings.sandbox.network), (None, None));
        assert_eq!(settings.permissions.deny, ["WebFetch"]);
        assert_eq!(settings.permissions.disable_bypass_permissions_mode, Some(true));
        assert_eq!(settings.env["A"], "1");
        assert!(matches!(&warnings[..], [mode] if mode.contains("defaultMode")), "{warnings:?}");
    }

    #[test]
    fn values_are_tried_before_they_are_written() {
        assert!(fit("model", &"opus".into()).is_ok());
        assert!(fit("permissions.deny", &serde_json::json!(["Bash"])).is_ok());
        let error = fit("permissions.defaultMode", &"yolo".into()).unwrap_err().to_string();
        assert!(error.contains("permissions.defaultMode") && error.contains("acceptEdits"), "{error}");
        let error = fit("hooks", &serde_json::json!({"Stopp": []})).unwrap_err().to_string();
        assert!(error.contains("Stop"), "{error}");
    }
}
