//! Credentials taken out of a recording before it is given away.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tiller_protocol::env::Env;
use tiller_sandbox::is_credential;
use tiller_tools::Vault;

/// A value that is shorter says too little: it would be found in other words.
const SHORTEST: usize = 6;
/// The same for one line of a value that has several.
const SHORTEST_LINE: usize = 12;
/// Fields whose values hold a log together, if they are plain words.
const STRUCTURE: [&str; 5] = ["type", "subtype", "role", "effect", "kind"];

/// Takes credentials out.
pub(super) struct Masks {
    vault: Vault,
    /// What values of variables look like, longest first, and the names of the variables: a value that holds a shorter one
    /// must not lose only that part of itself.
    values: Vec<(String, String)>,
    /// Lines in which something was masked.
    pub(super) lines: usize,
}

impl Masks {
    /// Masks what looks like a credential, and what variables hold that are named like one: those of this process, and
    /// `further` ones.
    pub(super) fn new(env: &Env, further: &BTreeMap<String, String>) -> Self {
        let secrets = env.vars.iter().chain(further).filter(|(name, _)| is_credential(name));
        let mut values: Vec<(String, String)> = secrets
            .flat_map(|(name, value)| looks(value).into_iter().map(|look| (look, name.clone())))
            .collect();
        values.sort_by_key(|(look, _)| std::cmp::Reverse(look.len()));
        Self { vault: Vault::new(env), values, lines: 0 }
    }

    /// A line of a log without credentials; as it is if there are none.
    pub(super) fn mask(&self, line: &str) -> String {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return self.mask_text(line) };
        let masked = self.mask_value(value.clone());
        if masked == value { line.to_owned() } else { masked.to_string() }
    }

    fn mask_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.mask_text(&text).into(),
            Value::Array(values) => values.into_iter().map(|value| self.mask_value(value)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| self.mask_field(&name, value));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            other => other,
        }
    }

    fn mask_field(&self, name: &str, value: Value) -> (String, Value) {
        let masked = match value {
            Value::String(word) if is_structure(name, &word) => word.into(),
            Value::String(text) => self.mask_named(name, &text).into(),
            other => self.mask_value(other),
        };
        (self.mask_text(name), masked)
    }

    /// A text under a name, which may say that it is a credential.
    fn mask_named(&self, name: &str, text: &str) -> String {
        let beginning = format!("{name}=");
        let masked = self.mask_text(&format!("{beginning}{text}"));
        masked.strip_prefix(&beginning).map_or_else(|| self.mask_text(text), str::to_owned)
    }

    fn mask_text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for (look, name) in &self.values {
            if masked.contains(look.as_str()) {
                masked = masked.replace(look, &format!("[{name}]"));
            }
        }
        self.vault.mask(&masked).into_owned()
    }
}

fn is_structure(name: &str, word: &str) -> bool {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_plain && STRUCTURE.contains(&name)
}

/// How a value may stand in a text: as it is, as JSON writes it, and line by line, as files are shown.
fn looks(value: &str) -> Vec<String> {
    let value = value.trim();
    let quoted = Value::from(value).to_string();
    let escaped = quoted.trim_matches('"').to_owned();
    let lines = value.lines().map(|line| line.trim().to_owned()).filter(|line| line.len() >= SHORTEST_LINE);
    let whole = [value.to_owned(), escaped].into_iter().filter(|look| look.len() >= SHORTEST);
    let mut looks: Vec<String> = whole.chain(lines).collect();
    looks.sort();
    looks.dedup();
    looks
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::still;

    fn masks(vars: &[(&str, &str)]) -> Masks {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Masks::new(&still::env(vars, Path::new("/")), &BTreeMap::new())
    }

    fn masked(masks: &Masks, value: &Value) -> Value {
        serde_json::from_str(&masks.mask(&value.to_string())).unwrap()
    }

    // SECR-02
    #[test]
    fn a_value_is_found_however_it_is_written() {
        let secret = "cor\"rect\nhorse battery staple";
        let masks =
            masks(&[("PGPASSWORD", secret), ("deploy_token", "abcdef"), ("OTHER_TOKEN", "abcdef-ghijkl")]);
        let inner = json!({"pw": secret}).to_string();
        let line = json!({
            "type": "user", "a": secret, "b": [inner], "c": "   2\thorse battery staple",
            "d": "abcdef-ghijkl abcdef", "k abcdef": 1,
        });
        let masked = masked(&masks, &line);
        assert_eq!(masked["a"], "[PGPASSWORD]");
        assert_eq!(masked["b"][0], json!({"pw": "[PGPASSWORD]"}).to_string());
        assert_eq!(masked["c"], "   2\t[PGPASSWORD]");
        assert_eq!(masked["d"], "[OTHER_TOKEN] [deploy_token]");
        assert_eq!(masked["k [deploy_token]"], 1);
    }

    #[test]
    fn what_holds_a_log_together_stays() {
        let masks = masks(&[("PGPASSWORD", "assistant"), ("API_TOKEN", "short")]);
        let line =
            json!({"type": "assistant", "message": {"role": "assistant", "text": "an assistant, in short"}});
        let masked = masked(&masks, &line);
        assert_eq!((&masked["type"], &masked["message"]["role"]), (&json!("assistant"), &json!("assistant")));
        assert_eq!(masked["message"]["text"], "an [PGPASSWORD], in short");
        let untouched = r#"{"type":"x","n":1.50}"#;
        assert_eq!(masks.mask(untouched), untouched);
    }

    #[test]
    fn the_name_of_a_field_gives_a_credential_away() {
        let masks = masks(&[]);
        let line = json!({"input": {"password": "Zx9-qLw7_Rt4vB2m"}});
        let masked = masked(&masks, &line).to_string();
        assert!(!masked.contains("Zx9"), "{masked}");
    }
}
