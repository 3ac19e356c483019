//! Small forms: what may be asked of a user beside choices, and whether an answer fits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormField {
    /// The name under which the answer is given.
    pub name: String,
    /// What people see.
    pub title: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it has to be filled in.
    pub required: bool,
    /// What can be filled in.
    pub kind: FieldKind,
    /// What stands there before the user changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

/// What can be filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FieldKind {
    /// Text.
    Text {
        /// Characters at least.
        min: Option<u64>,
        /// Characters at most.
        max: Option<u64>,
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
    },
    /// A number.
    Number {
        /// Whether it has to be whole.
        whole: bool,
        /// At least.
        min: Option<f64>,
        /// At most.
        max: Option<f64>,
    },
    /// Yes or no.
    Flag,
    /// Something out of a list.
    Choice {
        /// The list.
        options: Vec<FieldOption>,
        /// Whether several can be chosen; the answer is a list then.
        several: bool,
    },
}

/// Something that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldOption {
    /// What is answered.
    pub value: String,
    /// What people see.
    pub label: String,
}

/// The fields of a form that a schema describes. A field of a kind that is not known counts as text.
#[must_use]
pub fn fields(schema: &Value) -> Vec<FormField> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, property)| {
            let text = |key: &str| property[key].as_str().map(str::to_owned);
            FormField {
                name: name.clone(),
                title: text("title").unwrap_or_else(|| name.clone()),
                description: text("description"),
                required: required.contains(&name.as_str()),
                kind: kind(property),
                default: property.get("default").cloned(),
            }
        })
        .collect()
}

/// The answer in which every field has what stands there by default.
#[must_use]
pub fn defaults(fields: &[FormField]) -> Map<String, Value> {
    let known = fields.iter().filter_map(|field| Some((field.name.clone(), field.default.clone()?)));
    known.collect()
}

/// Whether an answer fits.
///
/// # Errors
/// What is wrong with which field, for people.
pub fn check(fields: &[FormField], answer: &Map<String, Value>) -> Result<(), String> {
    for field in fields {
        match answer.get(&field.name) {
            None if field.required => return Err(format!("{} has to be filled in", field.title)),
            None => {}
            Some(value) => field.kind.check(value).map_err(|problem| format!("{} {problem}", field.title))?,
        }
    }
    let unknown = answer.keys().find(|name| fields.iter().all(|field| field.name != **name));
    unknown.map_or(Ok(()), |name| Err(format!("there is no field {name}")))
}

impl FieldKind {
    fn check(&self, value: &Value) -> Result<(), String> {
        match self {
            Self::Text { min, max, .. } => {
                let length = value.as_str().ok_or("has to be text")?.chars().count() as u64;
                match (min, max) {
                    (Some(min), _) if length < *min => Err(format!("needs at least {min} characters")),
                    (_, Some(max)) if length > *max => Err(format!("may have at most {max} characters")),
                    _ => Ok(()),
                }
            }
            Self::Number { whole, min, max } => {
                let number = value.as_f64().ok_or("has to be a number")?;
                match (min, max) {
                    _ if *whole && number.fract() != 0.0 => Err("has to be a whole number".to_owned()),
                    (Some(min), _) if number < *min => Err(format!("has to be at least {min}")),
                    (_, Some(max)) if number > *max => Err(format!("may be at most {max}")),
                    _ => Ok(()),
                }
            }
            Self::Flag => value.as_bool().map(drop).ok_or_else(|| "has to be yes or no".to_owned()),
            Self::Choice { options, several: false } => offered(options, value),
            Self::Choice { options, several: true } => {
                let chosen = value.as_array().ok_or("has to be a list")?;
                chosen.iter().try_for_each(|one| offered(options, one))
            }
        }
    }
}

fn offered(options: &[FieldOption], value: &Value) -> Result<(), String> {
    let known = value.as_str().is_some_and(|value| options.iter().any(|option| option.value == value));
    known.then_some(()).ok_or_else(|| "has to be one of the choices".to_owned())
}

fn kind(property: &Value) -> FieldKind {
    match property["type"].as_str() {
        Some("boolean") => FieldKind::Flag,
        Some(number @ ("number" | "integer")) => FieldKind::Number {
            whole: number == "integer",
            min: property["minimum"].as_f64(),
            max: property["maximum"].as_f64(),
        },
        Some("array") => FieldKind::Choice { options: options(&property["items"]), several: true },
        _ => match options(property) {
            options if options.is_empty() => FieldKind::Text {
                min: property["minLength"].as_u64(),
                max: property["maxLength"].as_u64(),
                format: property["format"].as_str().map(str::to_owned),
            },
            options => FieldKind::Choice { options, several: false },
        },
    }
}

/// Choices are written as `oneOf` or `anyOf` with titles, or as `enum`, whose titles may stand in `enumNames`.
fn options(property: &Value) -> Vec<FieldOption> {
    let titled = ["oneOf", "anyOf"].iter().find_map(|key| property[key].as_array());
    if let Some(titled) = titled {
        let option = |one: &Value| {
            let value = one["const"].as_str()?.to_owned();
            Some(FieldOption { label: one["title"].as_str().unwrap_or(&value).to_owned(), value })
        };
        return titled.iter().filter_map(option).collect();
    }
    let values = property["enum"].as_array().into_iter().flatten().enumerate();
    values
        .filter_map(|(at, value)| {
            let value = value.as_str()?.to_owned();
            let label = property["enumNames"][at].as_str().unwrap_or(&value).to_owned();
            Some(FieldOption { value, label })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Vec<FormField> {
        fields(&json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2},
            "age": {"type": "integer", "minimum": 0, "maximum": 150, "default": 30},
            "ok": {"type": "boolean", "default": true},
            "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "sizes": {"type": "array", "items": {"anyOf": [{"const": "s", "title": "Small"}, {"const": "l"}]}},
            "level": {"type": "string", "oneOf": [{"const": "1", "title": "One"}], "default": "1"},
        }}))
    }

    #[test]
    fn schemas_become_fields() {
        let form = form();
        let kinds: Vec<String> = form.iter().map(|field| format!("{:?}", field.kind)).collect();
        assert_eq!(form[0].title, "Your name");
        assert!(form[0].required && !form[1].required);
        assert!(kinds[3].contains("Red") && kinds[4].contains("several: true") && kinds[5].contains("One"));
        assert_eq!(Value::from(defaults(&form)), json!({"age": 30, "ok": true, "level": "1"}));
        assert!(fields(&json!({"properties": 3})).is_empty());
    }

    #[test]
    fn answers_are_checked() {
        let form = form();
        let says = |answer: Value| check(&form, answer.as_object().unwrap()).err().unwrap_or_default();
        assert_eq!(says(json!({"name": "Ada", "age": 36, "ok": false, "colour": "g", "sizes": ["s"]})), "");
        for (answer, problem) in [
            (json!({}), "Your name has to be filled in"),
            (json!({"name": "A"}), "Your name needs at least 2 characters"),
            (json!({"name": 1}), "Your name has to be text"),
            (json!({"name": "Ada", "age": 1.5}), "age has to be a whole number"),
            (json!({"name": "Ada", "age": 200}), "age may be at most 150"),
            (json!({"name": "Ada", "ok": "yes"}), "ok has to be yes or no"),
            (json!({"name": "Ada", "colour": "b"}), "colour has to be one of the choices"),
            (json!({"name": "Ada", "sizes": ["m"]}), "sizes has to be one of the choices"),
            (json!({"name": "Ada", "more": 1}), "there is no field more"),
        ] {
            assert_eq!(says(answer), problem);
        }
    }
}
