//! The contract every tool fulfils.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tiller_policy::Access;
use tiller_protocol::ask::FileChange;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::Effect;
use tiller_protocol::template::{Facts, render};

use crate::cx::{ToolCx, View};

/// One thing the model can do.
pub trait Tool: Send + Sync + 'static {
    /// The name, exactly as the model sees it.
    const NAME: &'static str;
    /// Characters of text a result may have before it is cut and stored in a file.
    const RESULT_LIMIT: usize = 100_000;
    /// Whether `validate` and `preview` read files, which may be large: then they are not asked where others wait.
    const READS_FILES: bool = false;
    /// What the model has to provide.
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// What the model and the user are told about the tool.
    fn describe(&self) -> Description;

    /// The schema of the input, if it is known only at run time.
    fn input_schema(&self) -> Option<Value> {
        None
    }

    /// Whether this call may run beside other such calls.
    fn parallel(&self, _input: &Self::Input) -> bool {
        false
    }

    /// Whether this call leaves everything unchanged.
    fn read_only(&self, _input: &Self::Input) -> bool {
        false
    }

    /// Checks that need the session's knowledge, made before permission is sought.
    ///
    /// # Errors
    /// A text for the model: what is wrong and what to do.
    fn validate(&self, _input: &Self::Input, _view: &View) -> Result<(), String> {
        Ok(())
    }

    /// What the call would do to a file, for the one who allows it.
    fn preview(&self, _input: &Self::Input, _view: &View) -> Option<FileChange> {
        None
    }

    /// Everything the call will touch.
    fn access(&self, input: &Self::Input, view: &View) -> Vec<Access>;

    /// Does the work.
    fn run(&self, input: Self::Input, cx: ToolCx) -> impl Future<Output = Result<Done, ToolError>> + Send;
}

/// What is said about a tool.
#[derive(Clone, Debug)]
pub struct Description {
    /// One line for lists and dialogs.
    pub summary: &'static str,
    /// The text that goes with the definition and teaches proper use: a [template](tiller_protocol::template).
    pub prompt: &'static str,
    /// What is on offer in this session, as it is, and a template with what is to be said about it.
    pub offer: Option<(String, &'static str)>,
    /// Example inputs sent with the definition.
    pub examples: Vec<Value>,
}

impl Description {
    /// A description without examples.
    #[must_use]
    pub fn new(summary: &'static str, prompt: &'static str) -> Self {
        Self { summary, prompt, offer: None, examples: Vec::new() }
    }

    /// The same, followed by what is on offer.
    #[must_use]
    pub fn offering(self, offer: String, advice: &'static str) -> Self {
        Self { offer: Some((offer, advice)), ..self }
    }

    /// The text for an agent with these tools: it names no other.
    #[must_use]
    pub fn text(&self, tools: &[&str]) -> String {
        let facts = Facts { tools, interactive: true };
        let mut text = render(self.prompt, facts);
        if let Some((offer, advice)) = &self.offer {
            text = format!("{text}\n{offer}\n{}", render(advice, facts));
        }
        text.trim_end().to_owned()
    }
}

/// What a successful call gives.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// What the model sees.
    pub content: Vec<RawBlock>,
    /// Structured output for displays and library users.
    pub detail: Value,
    /// State changes to apply.
    pub effects: Vec<Effect>,
}

impl Done {
    /// A plain text result.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let content = if text.is_empty() { Vec::new() } else { vec![RawBlock::text(text)] };
        Self { content, detail: json!(text), effects: Vec::new() }
    }

    /// Adds structured output.
    #[must_use]
    pub fn with_detail(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }

    /// Adds a state change.
    #[must_use]
    pub fn with_effect(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Something to tell the model: what is wrong and what to do.
    #[error("{0}")]
    Model(String),
    /// A failure that still has output and effects, e.g. a command that exited with an error.
    #[error("failed")]
    Failed(Done),
    /// The call was cancelled before it finished.
    #[error("cancelled")]
    Cancelled,
}

impl ToolError {
    /// A text for the model.
    pub fn model(text: impl Into<String>) -> Self {
        Self::Model(text.into())
    }
}

impl From<tiller_policy::NotPermitted> for ToolError {
    fn from(error: tiller_policy::NotPermitted) -> Self {
        Self::Model(error.to_string())
    }
}
