//! Tools that came from elsewhere, as a recording knows them: by their definitions, and by what came of calls.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::Value;
use tiller_policy::Access;
use tiller_protocol::mcp::PREFIX;
use tiller_tools::{Done, PreparedCall, ToolCx, ToolError, ToolSource, View};

use super::tape::Tape;

/// The tools of servers that are not asked again.
pub(crate) struct ForeignTools {
    /// What the model was told of when the conversation began. Others were found later.
    pub(crate) definitions: Vec<Value>,
    pub(crate) tape: Arc<Tape>,
}

impl ToolSource for ForeignTools {
    fn offered(&self, keep: &dyn Fn(&str) -> bool) -> Vec<Value> {
        let is_kept = |tool: &&Value| tool["name"].as_str().is_some_and(keep);
        self.definitions.iter().filter(is_kept).cloned().collect()
    }

    fn prepare(self: Arc<Self>, name: &str, _input: &Value) -> Option<Result<Box<dyn PreparedCall>, String>> {
        let is_told = self.definitions.iter().any(|tool| tool["name"] == name);
        let call = ForeignCall { stops_others: self.tape.failures_stop_others() };
        (is_told || name.starts_with(PREFIX)).then(|| Ok(Box::new(call) as Box<dyn PreparedCall>))
    }
}

/// A call whose end is on record. It may begin beside any other: calls end in the order in which they did.
struct ForeignCall {
    /// What only the server knew: whether the call may change something, so that its failure stops others.
    stops_others: bool,
}

impl PreparedCall for ForeignCall {
    fn parallel(&self) -> bool {
        true
    }

    fn read_only(&self) -> bool {
        !self.stops_others
    }

    fn validate(&self, _view: &View) -> Result<(), String> {
        Ok(())
    }

    fn access(&self, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    fn result_limit(&self) -> usize {
        usize::MAX
    }

    fn run(self: Box<Self>, _cx: ToolCx) -> BoxFuture<'static, Result<Done, ToolError>> {
        ready(Err(ToolError::model("Servers are not asked again in a replay."))).boxed()
    }
}
