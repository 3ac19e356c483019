//! What hooks may say in JSON.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tiller_config::HookEvent;
use tiller_policy::Update;

use super::outcome::Verdict;

/// Fields by which asynchronous hooks announce themselves.
const ANNOUNCING: [&str; 2] = ["async", "asyncTimeout"];

/// The object that a hook prints or a host answers. Fields of other versions are told and ignored; fields that are known
/// have to make sense, because a restriction that is not understood must not be mistaken for none.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Document {
    #[serde(rename = "continue")]
    pub(super) goes_on: Option<bool>,
    pub(super) stop_reason: Option<String>,
    pub(super) suppress_output: Option<bool>,
    pub(super) system_message: Option<String>,
    pub(super) decision: Option<Decision>,
    pub(super) reason: Option<String>,
    pub(super) hook_specific_output: Option<Specific>,
    /// Only asynchronous hooks have it here.
    pub(super) additional_context: Option<Texts>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Decision {
    Block,
    /// What older hooks say for allowing a call.
    Approve,
}

/// The fields of single events.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Specific {
    pub(super) hook_event_name: Option<String>,
    pub(super) permission_decision: Option<Choice>,
    pub(super) permission_decision_reason: Option<String>,
    pub(super) updated_input: Option<Map<String, Value>>,
    pub(super) additional_context: Option<Texts>,
    #[serde(rename = "updatedMCPToolOutput")]
    pub(super) updated_mcp_tool_output: Option<Value>,
    pub(super) updated_prompt: Option<String>,
    pub(super) decision: Option<Permission>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Choice {
    Allow,
    Ask,
    Deny,
}

impl From<Choice> for Verdict {
    fn from(choice: Choice) -> Self {
        match choice {
            Choice::Allow => Self::Allow,
            Choice::Ask => Self::Ask,
            Choice::Deny => Self::Deny,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "behavior", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Permission {
    Allow {
        #[serde(default)]
        updated_input: Option<Map<String, Value>>,
        #[serde(default)]
        updated_permissions: Option<Vec<Update>>,
    },
    Deny {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        interrupt: Option<bool>,
    },
}

/// One text or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    /// Those that say something.
    pub(super) fn said(self) -> Vec<String> {
        let texts = match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        };
        texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
    }
}

/// A first line by which a command says that nobody shall wait for it.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Announcement {
    #[serde(rename = "async")]
    detached: bool,
    /// Milliseconds.
    #[serde(default)]
    async_timeout: Option<u64>,
}

impl Announcement {
    /// How long the command may take.
    pub(super) fn limit(&self, otherwise: Duration) -> Duration {
        self.async_timeout.map_or(otherwise, Duration::from_millis)
    }

    /// Reads the beginning of a command's output.
    pub(super) fn read(output: &[u8]) -> Option<Self> {
        let line = output.trim_ascii_start().split(|byte| *byte == b'\n').next()?;
        serde_json::from_slice::<Self>(line).ok().filter(|announcement| announcement.detached)
    }
}

impl Document {
    /// Takes JSON as what a hook said at an event, or tells why it cannot be taken so.
    pub(super) fn read(value: Value, event: HookEvent) -> Result<Self, String> {
        let document: Self = serde_path_to_error::deserialize(value).map_err(|error| {
            let place = error.path().to_string();
            match place.as_str() {
                "." => error.inner().to_string(),
                place => format!("{place}: {}", error.inner()),
            }
        })?;
        if document.others.get("permissionDecision").is_some_and(|decision| !decision.is_null()) {
            return Err("permissionDecision has to stand in hookSpecificOutput".to_owned());
        }
        let named = document.hook_specific_output.as_ref().and_then(|own| own.hook_event_name.as_deref());
        match named {
            Some(name) if name != event.name() => {
                Err(format!("hookEventName is {name}, but the event is {}", event.name()))
            }
            _ => Ok(document),
        }
    }

    /// The fields that mean nothing where they stand.
    pub(super) fn unknown_fields(&self) -> Vec<String> {
        let says_something = |(_, value): &(&String, &Value)| !value.is_null();
        let outer = self.others.iter().filter(says_something).map(|(name, _)| name.clone());
        let own = self.hook_specific_output.iter().flat_map(|own| own.others.iter()).filter(says_something);
        outer
            .filter(|name| !ANNOUNCING.contains(&name.as_str()))
            .chain(own.map(|(name, _)| format!("hookSpecificOutput.{name}")))
            .collect()
    }
}

/// The last JSON object in a text; announcements do not count.
pub(super) fn last_object(text: &str) -> Option<Value> {
    let mut last = None;
    let mut from = 0;
    while let Some(start) = text[from..].find('{').map(|at| from + at) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Map<String, Value>>();
        match values.next() {
            Some(Ok(object)) => {
                from = start + values.byte_offset();
                if object.get("async") != Some(&Value::Bool(true)) {
                    last = Some(Value::Object(object));
                }
            }
            _ => from = start + 1,
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_object_of_an_output_is_found() {
        for (text, found) in [
            ("", None),
            ("nothing here", None),
            ("{\"async\": true}\n", None),
            ("{\"async\": true}\nworking\n{\"a\": 1}\n", Some(json!({"a": 1}))),
            ("{\"a\": 1} {\"b\": {\"c\": 2}} done", Some(json!({"b": {"c": 2}}))),
            ("{\n  \"a\": [\n    {\"b\": 2}\n  ]\n}", Some(json!({"a": [{"b": 2}]}))),
            ("{\"a\": 1}\n{broken", Some(json!({"a": 1}))),
            ("{{{{{\"a\": 1}", Some(json!({"a": 1}))),
        ] {
            assert_eq!(last_object(text), found, "{text}");
        }
    }

    #[test]
    fn an_announcement_is_a_first_line() {
        let read = |text: &str| Announcement::read(text.as_bytes()).map(|found| found.async_timeout);
        assert_eq!(read("{\"async\":true}"), Some(None));
        assert_eq!(read("\n {\"async\": true, \"asyncTimeout\": 5, \"x\": 1}\nmore"), Some(Some(5)));
        for other in
            ["", "{\"async\":true", "{\"async\":false}", "{}", "text\n{\"async\":true}", "{\n\"async\":true}"]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let event = HookEvent::PreToolUse;
        for (value, told) in [
            (json!({"continue": "no"}), "continue: "),
            (json!({"decision": "deny"}), "decision: unknown variant `deny`, expected `block` or `approve`"),
            (
                json!({"hookSpecificOutput": {"permissionDecision": "defer"}}),
                "hookSpecificOutput.permissionDecision: ",
            ),
            (json!({"permissionDecision": "deny"}), "permissionDecision has to stand in hookSpecificOutput"),
            (json!({"hookSpecificOutput": {"updatedInput": "ls"}}), "hookSpecificOutput.updatedInput: "),
            (
                json!({"hookSpecificOutput": {"hookEventName": "Stop"}}),
                "hookEventName is Stop, but the event is PreToolUse",
            ),
        ] {
            let error = Document::read(value.clone(), event).unwrap_err();
            assert!(error.starts_with(told), "{value}: {error}");
        }
        let fine =
            json!({"continue": null, "unknown": 1, "hookSpecificOutput": {"permissionDecision": "ask"}});
        assert!(Document::read(fine, event).is_ok());
    }

    proptest! {
        #[test]
        fn no_output_is_too_strange(text in "[{}\\[\\]\":,a \\n]{0,200}") {
            _ = last_object(&text);
            _ = Announcement::read(text.as_bytes());
        }
    }
}
