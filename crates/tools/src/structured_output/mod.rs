//! `StructuredOutput`: hands over the result in the form that the caller of a run has laid down.

use std::borrow::Cow;
use std::sync::Arc;

use jsonschema::Validator;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use tiller_policy::Access;

use crate::cx::{ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};

/// Problems that are told at once.
const MOST_PROBLEMS: usize = 5;
/// Holds a result that is no object; the input of a tool has to be one.
const WRAPPER: &str = "value";

/// Hands over the result.
#[derive(Clone)]
pub struct StructuredOutput {
    schema: Value,
    validator: Arc<Validator>,
    /// Whether the result is no object, and stands in one.
    wrapped: bool,
}

/// Whatever the model hands over.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct StructuredOutputInput(Value);

impl JsonSchema for StructuredOutputInput {
    fn schema_name() -> Cow<'static, str> {
        "StructuredOutput".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object"})
    }
}

impl StructuredOutput {
    /// Results have to fit this schema.
    ///
    /// # Errors
    /// What is wrong with the schema.
    pub fn new(schema: Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("a schema is a JSON object".to_owned());
        }
        let wrapped = schema["type"] != "object" && schema.get("properties").is_none();
        let mut schema = match wrapped {
            true => json!({"type": "object", "properties": {WRAPPER: schema}, "required": [WRAPPER]}),
            false => schema,
        };
        schema["type"] = "object".into();
        let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
        Ok(Self { schema, validator: Arc::new(validator), wrapped })
    }
}

impl std::fmt::Debug for StructuredOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("StructuredOutput").field(&self.schema).finish()
    }
}

impl Tool for StructuredOutput {
    const NAME: &'static str = "StructuredOutput";
    type Input = StructuredOutputInput;

    fn describe(&self) -> Description {
        Description::new("Hands over the result of the run", include_str!("prompt.md"))
    }

    fn input_schema(&self) -> Option<Value> {
        Some(self.schema.clone())
    }

    fn read_only(&self, _input: &StructuredOutputInput) -> bool {
        true
    }

    fn validate(&self, input: &StructuredOutputInput, _view: &View) -> Result<(), String> {
        let mut problems =
            self.validator.iter_errors(&input.0).map(|error| match error.instance_path().to_string() {
                path if path.is_empty() => error.to_string(),
                path => format!("{path}: {error}"),
            });
        let told: Vec<String> = problems.by_ref().take(MOST_PROBLEMS).collect();
        if told.is_empty() {
            return Ok(());
        }
        Err(format!(
            "The result does not match the required schema:\n{}\nCorrect it and call again.",
            told.join("\n")
        ))
    }

    fn access(&self, _input: &StructuredOutputInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: StructuredOutputInput, _cx: ToolCx) -> Result<Done, ToolError> {
        let StructuredOutputInput(mut result) = input;
        let result = if self.wrapped { result[WRAPPER].take() } else { result };
        Ok(Done::text("The result is handed over.").with_detail(result))
    }
}
