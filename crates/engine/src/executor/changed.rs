//! A call that runs with other input than the model has written.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tiller_policy::{Access, Reason};
use tiller_protocol::ask::FileChange;
use tiller_protocol::block::RawBlock;
use tiller_tools::{Done, PreparedCall, ToolCx, ToolError, View};

/// Characters of the input that the model is shown.
const SHOWN: usize = 2_000;

/// A call whose result begins by saying what it ran with: the model would take it for the result of what it wrote.
pub(crate) struct Changed {
    call: Box<dyn PreparedCall>,
    note: String,
}

impl Changed {
    pub(crate) fn new(call: Box<dyn PreparedCall>, input: &Value, by: &Reason) -> Self {
        let whole = input.to_string();
        let mut shown: String = whole.chars().take(SHOWN).collect();
        if shown.len() < whole.len() {
            shown.push('…');
        }
        let who = if *by == Reason::User { "The user" } else { "A hook" };
        Self::noting(call, format!("[{who} changed the input before it ran: {shown}]"))
    }

    /// A call whose result begins with a remark.
    pub(crate) fn noting(call: Box<dyn PreparedCall>, note: String) -> Self {
        Self { call, note }
    }
}

impl PreparedCall for Changed {
    fn parallel(&self) -> bool {
        self.call.parallel()
    }

    fn read_only(&self) -> bool {
        self.call.read_only()
    }

    fn validate(&self, view: &View) -> Result<(), String> {
        self.call.validate(view)
    }

    fn reads_files(&self) -> bool {
        self.call.reads_files()
    }

    fn access(&self, view: &View) -> Vec<Access> {
        self.call.access(view)
    }

    fn warning(&self) -> Option<String> {
        self.call.warning()
    }

    fn preview(&self, view: &View) -> Option<FileChange> {
        self.call.preview(view)
    }

    fn result_limit(&self) -> usize {
        self.call.result_limit()
    }

    fn run(self: Box<Self>, cx: ToolCx) -> BoxFuture<'static, Result<Done, ToolError>> {
        let Self { call, note } = *self;
        let noted = move |mut done: Done| {
            done.content.insert(0, RawBlock::text(&note));
            done
        };
        async move {
            match call.run(cx).await {
                Ok(done) => Ok(noted(done)),
                Err(ToolError::Failed(done)) => Err(ToolError::Failed(noted(done))),
                Err(ToolError::Model(text)) => Err(ToolError::Failed(noted(Done::text(&text)))),
                Err(ToolError::Cancelled) => Err(ToolError::Cancelled),
            }
        }
        .boxed()
    }
}
