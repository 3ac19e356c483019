//! The set of tools on offer. The only place where a tool's type is erased.

use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use tiller_policy::Access;
use tiller_protocol::ask::FileChange;

use crate::ONLY_WITH_USER;
use crate::cx::{ToolCx, View};
use crate::secret::Concealing;
use crate::tool::{Done, Tool, ToolError};

/// What the provider is told about a tool, and what lists show.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The tool's name.
    pub name: &'static str,
    /// One line for lists and dialogs.
    pub summary: &'static str,
    /// The definition for the `tools` parameter.
    pub definition: Value,
}

/// Input as the model wrote it.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Valid JSON.
    Json(&'a Value),
    /// Text that does not parse.
    Invalid(&'a str),
}

/// Input that does not fit the tool.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// No tool has that name.
    #[error("There is no tool named {name}. Available tools: {available}.")]
    UnknownTool {
        /// The name given.
        name: String,
        /// The names there are.
        available: String,
    },
    /// The tool is one that nobody can answer.
    #[error(
        "{name} is not available: nobody can be asked in this session. Decide yourself, by the most reasonable reading of \
         the task, and name at the end what you have assumed."
    )]
    NobodyToAsk {
        /// The tool.
        name: String,
    },
    /// Somebody else than the model has written the input.
    #[error(
        "The hook {hook} replaced the input of the call, and that cannot be used: {problem} The call was not run. It is \
         not what you wrote that has to be corrected; the user has to correct the hook."
    )]
    OfHook {
        /// The hook.
        hook: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The text is not JSON.
    #[error(
        "The input of {tool} is not valid JSON ({reason}). Send the call again with a complete JSON object."
    )]
    NotJson {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The answer ended in the middle of the call.
    #[error("The call of {tool} was cut off: {cause}. It was not run. {advice}")]
    CutOff {
        /// The tool.
        tool: String,
        /// What has ended the answer.
        cause: String,
        /// What to do about it.
        advice: String,
    },
    /// The JSON does not match the schema.
    #[error("The input of {tool} does not fit its schema: {problem}. Correct it and call again.")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong, and where.
        problem: String,
    },
}

/// A call with parsed input, ready to be judged and run.
pub trait PreparedCall: Send + Sync {
    /// See [`Tool::parallel`].
    fn parallel(&self) -> bool;
    /// See [`Tool::read_only`].
    fn read_only(&self) -> bool;
    /// See [`Tool::validate`].
    ///
    /// # Errors
    /// A text for the model.
    fn validate(&self, view: &View) -> Result<(), String>;
    /// See [`Tool::READS_FILES`].
    fn reads_files(&self) -> bool {
        false
    }
    /// See [`Tool::access`].
    fn access(&self, view: &View) -> Vec<Access>;
    /// What the user should know before it is allowed, besides what policy says.
    fn warning(&self) -> Option<String> {
        None
    }
    /// See [`Tool::preview`].
    fn preview(&self, _view: &View) -> Option<FileChange> {
        None
    }
    /// See [`Tool::RESULT_LIMIT`].
    fn result_limit(&self) -> usize;
    /// See [`Tool::run`].
    fn run(self: Box<Self>, cx: ToolCx) -> BoxFuture<'static, Result<Done, ToolError>>;
}

/// Tools from elsewhere, which come and go while a session runs.
pub trait ToolSource: Send + Sync {
    /// Definitions of those that the model is told of when a conversation begins, as far as `keep` holds for the name.
    fn offered(&self, keep: &dyn Fn(&str) -> bool) -> Vec<Value>;

    /// Finds a tool of this name, whether the model was told of it or not, and takes the input. What is wrong with that
    /// is a text for the model.
    fn prepare(self: Arc<Self>, name: &str, input: &Value) -> Option<Result<Box<dyn PreparedCall>, String>>;
}

/// Says which tools of a source may be used.
type Keep = Arc<dyn Fn(&str) -> bool + Send + Sync>;

trait AnyTool: Send + Sync {
    fn name(&self) -> &'static str;
    fn spec(&self, tools: &[&str]) -> Spec;
    fn prepare(&self, input: Input<'_>) -> Result<Box<dyn PreparedCall>, InputError>;
}

struct Entry<T>(Arc<T>);

struct Prepared<T: Tool> {
    tool: Arc<T>,
    input: T::Input,
    /// Asked for at many a turn of a call's way, and not always cheap to tell.
    parallel: OnceLock<bool>,
    read_only: OnceLock<bool>,
}

impl<T: Tool> Prepared<T> {
    fn new(tool: Arc<T>, input: T::Input) -> Self {
        Self { tool, input, parallel: OnceLock::new(), read_only: OnceLock::new() }
    }
}

/// The tools on offer, in a fixed order.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn AnyTool>>,
    source: Option<Arc<dyn ToolSource>>,
    /// What has to hold for tools of the source.
    limits: Vec<Keep>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Registry {
    /// Adds a tool at the end.
    #[must_use]
    pub fn with<T: Tool>(mut self, tool: T) -> Self {
        self.tools.push(Arc::new(Entry(Arc::new(tool))));
        self
    }

    /// Puts a tool in the place of the one with the same name.
    #[must_use]
    pub fn replacing<T: Tool>(mut self, tool: T) -> Self {
        if let Some(place) = self.tools.iter_mut().find(|known| known.name() == T::NAME) {
            *place = Arc::new(Entry(Arc::new(tool)));
        }
        self
    }

    /// Adds what comes from elsewhere.
    #[must_use]
    pub fn with_source(mut self, source: Arc<dyn ToolSource>) -> Self {
        self.source = Some(source);
        self
    }

    /// Keeps those tools from elsewhere for which `keep` holds.
    #[must_use]
    pub fn limiting_source(mut self, keep: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.limits.push(Arc::new(keep));
        self
    }

    /// Definitions of tools from elsewhere that are there now and few enough to be told at once.
    #[must_use]
    pub fn offered(&self) -> Vec<Value> {
        let keep = |name: &str| self.limits.iter().all(|keep| keep(name));
        self.source.as_ref().map(|source| source.offered(&keep)).unwrap_or_default()
    }

    /// Keeps the tools for which `keep` holds.
    #[must_use]
    pub fn filtered(mut self, keep: impl Fn(&str) -> bool) -> Self {
        self.tools.retain(|tool| keep(tool.name()));
        self
    }

    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.name()).collect()
    }

    /// The definitions, in order.
    #[must_use]
    pub fn specs(&self) -> Vec<Spec> {
        let names = self.names();
        self.tools.iter().map(|tool| tool.spec(&names)).collect()
    }

    /// Finds the tool and parses the input. Whatever the call says will have its credentials masked.
    ///
    /// # Errors
    /// When there is no such tool or the input does not fit.
    pub fn prepare(&self, name: &str, input: Input<'_>) -> Result<Box<dyn PreparedCall>, InputError> {
        let unknown = || match ONLY_WITH_USER.contains(&name) {
            true => InputError::NobodyToAsk { name: name.to_owned() },
            false => InputError::UnknownTool { name: name.to_owned(), available: self.names().join(", ") },
        };
        let call = match self.tools.iter().find(|tool| tool.name() == name) {
            Some(tool) => tool.prepare(input)?,
            None => self.prepare_foreign(name, input).ok_or_else(unknown)??,
        };
        Ok(Box::new(Concealing(call)))
    }

    fn prepare_foreign(
        &self,
        name: &str,
        input: Input<'_>,
    ) -> Option<Result<Box<dyn PreparedCall>, InputError>> {
        let source = Arc::clone(self.source.as_ref()?);
        if !self.limits.iter().all(|keep| keep(name)) {
            return None;
        }
        let value = match input {
            Input::Json(value) => value,
            Input::Invalid(text) => return Some(Err(not_json(name, text))),
        };
        let prepared = source.prepare(name, value)?;
        Some(prepared.map_err(|problem| InputError::Schema { tool: name.to_owned(), problem }))
    }
}

impl<T: Tool> AnyTool for Entry<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn spec(&self, tools: &[&str]) -> Spec {
        let description = self.0.describe();
        let schema = self.0.input_schema().unwrap_or_else(schema::<T>);
        let mut definition =
            json!({"name": T::NAME, "description": description.text(tools), "input_schema": schema});
        if !description.examples.is_empty() {
            definition["input_examples"] = Value::Array(description.examples);
        }
        Spec { name: T::NAME, summary: description.summary, definition }
    }

    fn prepare(&self, input: Input<'_>) -> Result<Box<dyn PreparedCall>, InputError> {
        let value = match input {
            Input::Json(value) => value,
            Input::Invalid(text) => return Err(not_json(T::NAME, text)),
        };
        let input = serde_path_to_error::deserialize(value)
            .map_err(|error| InputError::Schema { tool: T::NAME.to_owned(), problem: problem(&error) })?;
        Ok(Box::new(Prepared::new(Arc::clone(&self.0), input)))
    }
}

impl<T: Tool> PreparedCall for Prepared<T> {
    fn parallel(&self) -> bool {
        *self.parallel.get_or_init(|| self.tool.parallel(&self.input))
    }

    fn read_only(&self) -> bool {
        *self.read_only.get_or_init(|| self.tool.read_only(&self.input))
    }

    fn validate(&self, view: &View) -> Result<(), String> {
        self.tool.validate(&self.input, view)
    }

    fn reads_files(&self) -> bool {
        T::READS_FILES
    }

    fn access(&self, view: &View) -> Vec<Access> {
        self.tool.access(&self.input, view)
    }

    fn preview(&self, view: &View) -> Option<FileChange> {
        self.tool.preview(&self.input, view)
    }

    fn result_limit(&self) -> usize {
        T::RESULT_LIMIT
    }

    fn run(self: Box<Self>, cx: ToolCx) -> BoxFuture<'static, Result<Done, ToolError>> {
        async move { self.tool.run(self.input, cx).await }.boxed()
    }
}

fn not_json(tool: &str, text: &str) -> InputError {
    let tool = tool.to_owned();
    match serde_json::from_str::<Value>(text) {
        Ok(_) => InputError::Schema { tool, problem: "it has to be an object".to_owned() },
        Err(error) => InputError::NotJson { tool, reason: error.to_string() },
    }
}

fn problem(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    }
}

/// The input schema, without the parts that cost tokens and teach nothing.
fn schema<T: Tool>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T::Input>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description");
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}
