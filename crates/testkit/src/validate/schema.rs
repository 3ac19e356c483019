//! Schemas of tool input.

use serde_json::Value;

use crate::{
    error::{ApiError, Check},
    prompt::items,
};

const MAX_STRICT_TOOLS: usize = 20;
const MAX_OPTIONAL: usize = 24;
const MAX_UNIONS: usize = 16;
/// Keywords that constrained output cannot honour.
const NOT_IN_STRICT: &[&str] =
    &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"];

pub(super) fn check_input(path: &str, schema: &Value) -> Check {
    if schema["type"] != "object" {
        return Err(ApiError::at(format!("{path}.type"), "Input should be 'object'"));
    }
    if ["oneOf", "allOf", "anyOf"].iter().any(|keyword| !schema[*keyword].is_null()) {
        let rule = "input_schema does not support oneOf, allOf, or anyOf at the top level";
        return Err(ApiError::at(path, rule));
    }
    if !jsonschema::draft202012::meta::is_valid(schema) {
        let rule = "JSON schema is invalid. It must match JSON Schema draft 2020-12";
        return Err(ApiError::at(path, rule));
    }
    Ok(())
}

pub(super) fn check_examples(path: &str, schema: &Value, examples: &[Value]) -> Check {
    let validator = jsonschema::draft202012::new(schema).map_err(|error| ApiError::at(path, error))?;
    for (index, example) in examples.iter().enumerate() {
        validator.validate(example).map_err(|error| ApiError::at(format!("{path}.{index}"), error))?;
    }
    Ok(())
}

/// The limits of constrained tool input, which count over all strict tools of a request.
pub(super) fn check_strict(tools: &[Value]) -> Check {
    let strict: Vec<(usize, &Value)> =
        tools.iter().enumerate().filter(|(_, tool)| tool["strict"] == true).collect();
    if strict.len() > MAX_STRICT_TOOLS {
        return Err(ApiError::at("tools", format!("at most {MAX_STRICT_TOOLS} tools may be strict")));
    }
    let mut tally = Tally::default();
    for (index, tool) in strict {
        tally.schema(&format!("tools.{index}.custom.input_schema"), &tool["input_schema"])?;
    }
    if tally.optional > MAX_OPTIONAL {
        return Err(ApiError::at(
            "tools",
            format!("strict tools may have {MAX_OPTIONAL} optional parameters"),
        ));
    }
    if tally.unions > MAX_UNIONS {
        return Err(ApiError::at("tools", format!("strict tools may have {MAX_UNIONS} union parameters")));
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    optional: usize,
    unions: usize,
}

impl Tally {
    fn schema(&mut self, path: &str, schema: &Value) -> Check {
        let Some(fields) = schema.as_object() else { return Ok(()) };
        if let Some(keyword) = NOT_IN_STRICT.iter().find(|keyword| fields.contains_key(**keyword)) {
            return Err(ApiError::at(path, format!("`{keyword}` is not supported in strict schemas")));
        }
        if schema["type"] == "object" && schema["additionalProperties"] != false {
            let rule = "`additionalProperties` must be false in strict schemas";
            return Err(ApiError::at(path, rule));
        }
        self.unions += usize::from(schema["type"].is_array() || schema["anyOf"].is_array());
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let required = items(&schema["required"]).iter().any(|entry| entry == name.as_str());
            self.optional += usize::from(!required);
            self.schema(&format!("{path}.properties.{name}"), property)?;
        }
        for keyword in ["anyOf", "allOf", "prefixItems"] {
            for branch in items(&schema[keyword]) {
                self.schema(path, branch)?;
            }
        }
        self.schema(&format!("{path}.items"), &schema["items"])
    }
}
