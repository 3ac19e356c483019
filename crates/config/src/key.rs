//! The keys there are, derived from the schema, which is derived from the definitions.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::{Map, Value};

use crate::definition::Settings;

/// One setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name, with dots between the levels.
    pub name: String,
    /// What fits, in words.
    pub fits: String,
    /// What counts when nobody says anything.
    pub default: Option<Value>,
    /// What it means.
    pub meaning: String,
    pub(crate) needs_trust: NeedsTrust,
}

/// Whether a project has to be trusted before the setting counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NeedsTrust {
    Never,
    Always,
    /// If it is looser than what it replaces; these values, the strictest first.
    Looser(Vec<Value>),
}

impl NeedsTrust {
    fn of(schema: &Map<String, Value>) -> Self {
        match schema.get("x-trust") {
            Some(Value::Bool(true)) => Self::Always,
            Some(Value::Array(values)) => Self::Looser(values.clone()),
            _ => Self::Never,
        }
    }
}

impl Key {
    /// Whether a project has to be trusted before it may say this in place of what the user's own layers say.
    pub(crate) fn needs_trust_for(&self, value: &Value, of_user: &[Settings]) -> bool {
        match &self.needs_trust {
            NeedsTrust::Never => false,
            NeedsTrust::Always => true,
            NeedsTrust::Looser(values) => {
                let looseness = |value: &Value| values.iter().position(|known| known == value);
                let replaced = self.said_by(of_user).or_else(|| self.default.clone());
                looseness(value) > replaced.as_ref().and_then(looseness)
            }
        }
    }

    /// What the highest of these layers says.
    fn said_by(&self, layers: &[Settings]) -> Option<Value> {
        let pointer = format!("/{}", self.name.replace('.', "/"));
        layers.iter().rev().find_map(|layer| serde_json::to_value(layer).ok()?.pointer(&pointer).cloned())
    }
}

/// The JSON schema of a settings file.
#[must_use]
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .with_transform(PlainOptions);
        settings.into_generator().into_root_schema_for::<Settings>().to_value()
    });
    &SCHEMA
}

/// All settings, in the order of their definition.
#[must_use]
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let mut keys = Vec::new();
        collect(schema(), "", &mut keys);
        keys
    });
    &KEYS
}

fn collect(schema: &Value, prefix: &str, keys: &mut Vec<Key>) {
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if schema["properties"].is_object() {
            collect(schema, &name, keys);
        } else if let Some(schema) = schema.as_object() {
            keys.push(Key {
                fits: fits(schema),
                default: schema.get("default").filter(|default| !is_empty(default)).cloned(),
                meaning: schema
                    .get("description")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .replace('\n', " "),
                needs_trust: NeedsTrust::of(schema),
                name,
            });
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || value.as_object().is_some_and(Map::is_empty)
}

fn fits(schema: &Map<String, Value>) -> String {
    let words = names_of_choice(schema);
    if !words.is_empty() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    let item = |key: &str| schema.get(key).and_then(Value::as_object).map(fits);
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => "`true`, `false`".to_owned(),
        Some("string") => "text".to_owned(),
        Some("integer" | "number") => "a number".to_owned(),
        Some("array") => format!("a list: {}", item("items").unwrap_or_else(|| "anything".to_owned())),
        _ => match item("additionalProperties") {
            Some(each) => format!("by name: {each}"),
            None => "an object".to_owned(),
        },
    }
}

/// The words of an enumeration.
fn names_of_choice(schema: &Map<String, Value>) -> Vec<&str> {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let branches = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let constants = branches.flat_map(|branch| {
        let listed = branch["enum"].as_array().into_iter().flatten();
        branch.get("const").into_iter().chain(listed)
    });
    listed.chain(constants).filter_map(Value::as_str).collect()
}

/// What the schema says about the members of an object.
pub(crate) enum Members<'a> {
    /// These, and no others.
    Named(Vec<(&'a str, &'a Value)>),
    /// Any.
    Any(Option<&'a Value>),
}

/// What the schema says about the members of an object.
pub(crate) fn members(schema: &Value) -> Members<'_> {
    let branches = schema["oneOf"].as_array().into_iter().flatten();
    let named: Vec<_> = std::iter::once(schema)
        .chain(branches)
        .filter_map(|schema| schema["properties"].as_object())
        .flat_map(|properties| properties.iter().map(|(name, schema)| (name.as_str(), schema)))
        .collect();
    let each = schema.get("additionalProperties").filter(|each| each.is_object());
    let allowed = schema.get("propertyNames").and_then(Value::as_object).map(names_of_choice);
    match (named.is_empty(), allowed.filter(|names| !names.is_empty()), each) {
        (false, ..) => Members::Named(named),
        (true, Some(names), Some(each)) => {
            Members::Named(names.into_iter().map(|name| (name, each)).collect())
        }
        (true, _, each) => Members::Any(each),
    }
}

/// The name that was probably meant.
pub(crate) fn closest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase();
    let distances = names.map(|name| (distance(&wrong, &name.to_lowercase()), name));
    let bearable = (wrong.chars().count() / 3).max(1);
    distances
        .filter(|(distance, _)| *distance <= bearable)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters have to be put in, taken out, exchanged or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let exchange = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut least = exchange.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

/// `null` means "not said" in files, which is no news to whoever reads the schema.
#[derive(Clone)]
struct PlainOptions;

impl Transform for PlainOptions {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
            branches.retain(|branch| branch["type"] != "null");
            if let [Value::Object(only)] = branches.as_slice() {
                let only = only.clone();
                object.remove("anyOf");
                for (name, value) in only {
                    object.entry(name).or_insert(value);
                }
            }
        }
        if object.get("default").is_some_and(is_empty) {
            object.remove("default");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_the_one_that_is_published() {
        insta::assert_json_snapshot!("schema", schema());
    }

    #[test]
    fn every_setting_is_explained() {
        for key in keys() {
            assert!(key.meaning.ends_with('.') && !key.fits.is_empty(), "{key:?}");
        }
        let names: Vec<&str> = keys().iter().map(|key| key.name.as_str()).collect();
        assert!(names.contains(&"permissions.defaultMode") && names.contains(&"hooks"), "{names:?}");
    }

    #[test]
    fn typing_errors_find_the_nearest_name() {
        let names = ["model", "fallbackModel", "hooks", "env"];
        let meant = |wrong| closest(wrong, names.into_iter());
        assert_eq!(meant("modle"), Some("model"));
        assert_eq!(meant("fallbackmodel"), Some("fallbackModel"));
        assert_eq!(meant("hook"), Some("hooks"));
        assert_eq!(meant("statusLine"), None);
    }
}
