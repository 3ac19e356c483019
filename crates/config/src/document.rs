//! JSON with comments and trailing commas, as a tree that knows where everything stands.

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::error::{Problem, SettingsError};
use crate::origin::{Origin, Place};

/// Comments and trailing commas are welcome; other liberties hide mistakes.
pub(crate) const LIBERTIES: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Option<Place>,
    pub(crate) content: Content,
}

/// What a value consists of.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Node {
    /// Reads a settings file. An empty one says nothing.
    pub(crate) fn parse(text: &str, origin: &Origin) -> Result<Self, SettingsError> {
        let problem = |place, key: &str, text: String| {
            SettingsError::Syntax(Problem {
                origin: origin.clone(),
                place: Some(place),
                key: key.to_owned(),
                text,
            })
        };
        let parsed = parse_to_ast(text, &CollectOptions::default(), &LIBERTIES).map_err(|error| {
            let place = Place { line: error.line_display(), column: error.column_display() };
            problem(place, "", error.kind().to_string())
        })?;
        let Some(value) = parsed.value else { return Ok(Self::from(Value::Object(Map::new()))) };
        let node = Reader { text }.node(&value).map_err(|(place, key)| {
            problem(place, &key, "the key occurs twice; keep only one of them".to_owned())
        })?;
        match (&node.content, node.place) {
            (Content::Object(_), _) | (_, None) => Ok(node),
            (_, Some(place)) => Err(problem(place, "", "settings are an object, { ... }".to_owned())),
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(Self::to_value).collect(),
            Content::Object(members) => {
                members.iter().map(|(key, node)| (key.clone(), node.to_value())).collect()
            }
        }
    }

    pub(crate) fn get(&self, path: &[Step]) -> Option<&Self> {
        let Some((step, rest)) = path.split_first() else { return Some(self) };
        match (&self.content, step) {
            (Content::Object(members), Step::Key(key)) => {
                members.iter().find(|(name, _)| name == key).and_then(|(_, node)| node.get(rest))
            }
            (Content::List(items), Step::Index(index)) => items.get(*index).and_then(|node| node.get(rest)),
            _ => None,
        }
    }

    /// Takes a part out.
    pub(crate) fn remove(&mut self, path: &[Step]) -> Option<Self> {
        let (step, rest) = path.split_first()?;
        match (&mut self.content, step) {
            (Content::Object(members), Step::Key(key)) => {
                let at = members.iter().position(|(name, _)| name == key)?;
                if rest.is_empty() { Some(members.remove(at).1) } else { members[at].1.remove(rest) }
            }
            (Content::List(items), Step::Index(index)) if *index < items.len() => {
                if rest.is_empty() {
                    Some(items.remove(*index))
                } else {
                    items[*index].remove(rest)
                }
            }
            _ => None,
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        let content = match value {
            Value::Array(items) => Content::List(items.into_iter().map(Self::from).collect()),
            Value::Object(members) => {
                Content::Object(members.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
            }
            scalar => Content::Scalar(scalar),
        };
        Self { place: None, content }
    }
}

/// A dotted key as steps.
pub(crate) fn steps(key: &str) -> Vec<Step> {
    key.split('.').map(|part| Step::Key(part.to_owned())).collect()
}

/// Steps as people write them: `permissions.allow[1]`.
pub(crate) fn spell(path: &[Step]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        Step::Index(index) => format!("{text}[{index}]"),
        Step::Key(key) if text.is_empty() => key.clone(),
        Step::Key(key) => format!("{text}.{key}"),
    })
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    /// The tree, or the place and name of a key that is there twice.
    fn node(&self, value: &ast::Value<'_>) -> Result<Node, (Place, String)> {
        let content = match value {
            ast::Value::StringLit(string) => {
                Content::Scalar(Value::String(string.value.clone().into_owned()))
            }
            ast::Value::NumberLit(number) => Content::Scalar(parse_number(number.value)),
            ast::Value::BooleanLit(boolean) => Content::Scalar(Value::Bool(boolean.value)),
            ast::Value::NullKeyword(_) => Content::Scalar(Value::Null),
            ast::Value::Array(array) => {
                Content::List(array.elements.iter().map(|item| self.node(item)).collect::<Result<_, _>>()?)
            }
            ast::Value::Object(object) => Content::Object(self.members(object)?),
        };
        Ok(Node { place: Some(self.place(value.range().start)), content })
    }

    fn members(&self, object: &ast::Object<'_>) -> Result<Vec<(String, Node)>, (Place, String)> {
        let mut members: Vec<(String, Node)> = Vec::new();
        for property in &object.properties {
            let key = property.name.as_str().to_owned();
            if members.iter().any(|(name, _)| *name == key) {
                return Err((self.place(property.range.start), key));
            }
            members.push((key, self.node(&property.value)?));
        }
        Ok(members)
    }

    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

fn parse_number(text: &str) -> Value {
    text.parse::<Number>().map_or_else(|_| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Layer;

    fn parse(text: &str) -> Result<Node, String> {
        let origin = Origin::file(Layer::User, "/s.json".into());
        Node::parse(text, &origin).map_err(|error| error.to_string())
    }

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let node = parse("// mine\n{\"a\": [1, 2,], /* b */ \"b\": {\"c\": -1.5,},}\n").unwrap();
        assert_eq!(node.to_value(), serde_json::json!({"a": [1, 2], "b": {"c": -1.5}}));
        assert_eq!(node.get(&steps("b.c")).unwrap().place, Some(Place { line: 2, column: 35 }));
        assert_eq!(parse("").unwrap().to_value(), serde_json::json!({}));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, place) in [
            ("{\n  oops", "line 2, column 3"),
            ("{\"a\": 1 \"b\": 2}", "line 1, column 8"),
            ("{\n \"a\": 1,\n \"a\": 2}", "line 3, column 2: a: the key occurs twice"),
            ("[]", "settings are an object"),
            ("{'a': 1}", "line 1, column 2"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("/s.json: ") && error.contains(place), "{text}: {error}");
            assert!(error.contains("correct the file or move it away"), "{error}");
        }
    }

    #[test]
    fn parts_can_be_taken_out() {
        let mut node = parse(r#"{"a": {"b": [1, 2, 3]}, "c": 1}"#).unwrap();
        let path = [steps("a.b"), vec![Step::Index(1)]].concat();
        assert_eq!(spell(&path), "a.b[1]");
        assert!(node.remove(&path).is_some() && node.remove(&steps("c")).is_some());
        assert!(node.remove(&steps("a.x")).is_none());
        assert_eq!(node.to_value(), serde_json::json!({"a": {"b": [1, 3]}}));
    }
}
