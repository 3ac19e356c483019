//! Input schemas of tools, in the form that providers accept. One schema that they do not would spoil every request.

use serde_json::{Map, Value, json};

/// Bytes of a schema that the model is told; larger ones are described in words only.
const LARGEST: usize = 32 * 1024;
/// What providers do not understand at the top.
const NOT_AT_THE_TOP: [&str; 3] = ["oneOf", "allOf", "anyOf"];

/// The schema as it is sent, and what has to be said in words in its place.
pub(crate) fn acceptable(schema: &Map<String, Value>) -> (Value, Option<String>) {
    let mut fitted = schema.clone();
    fitted.remove("$schema");
    fitted.entry("type").or_insert_with(|| json!("object"));
    fitted.entry("properties").or_insert_with(|| json!({}));
    let fitted = Value::Object(fitted);
    let text = fitted.to_string();
    let fits = fitted["type"] == "object"
        && NOT_AT_THE_TOP.iter().all(|keyword| fitted.get(*keyword).is_none())
        && text.len() <= LARGEST
        && jsonschema::draft202012::meta::is_valid(&fitted);
    if fits {
        return (fitted, None);
    }
    let told: String = Value::Object(schema.clone()).to_string().chars().take(2_000).collect();
    (json!({"type": "object", "properties": {}}), Some(format!("Input, as its server describes it: {told}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_providers_refuse_is_told_in_words() {
        let of = |value: Value| acceptable(value.as_object().unwrap());
        let fine = json!({"$schema": "x", "type": "object", "properties": {"a": {"type": "string"}}});
        assert_eq!(of(fine), (json!({"type": "object", "properties": {"a": {"type": "string"}}}), None));
        assert_eq!(of(json!({})).0, json!({"type": "object", "properties": {}}));
        for odd in [
            json!({"type": "object", "oneOf": [{"required": ["a"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "strnig"}}}),
            json!({"type": "array"}),
            json!({"type": "object", "properties": {"a": {"description": "x".repeat(40_000)}}}),
        ] {
            let (schema, words) = of(odd);
            assert_eq!(schema, json!({"type": "object", "properties": {}}));
            assert!(words.unwrap().chars().count() < 2_100);
        }
    }
}
