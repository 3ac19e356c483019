//! Tools of servers as tools of a session.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::model::CallToolRequestParams;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tiller_policy::Access;
use tiller_protocol::block::ToolUse;
use tiller_protocol::mcp::PREFIX;
use tiller_tools::{Description, Done, PreparedCall, Tool, ToolCx, ToolError, ToolSource, View};

use crate::content;
use crate::link::{CallError, Terms};
use crate::offer::ToolOffer;
use crate::servers::{Seen, Servers};

/// The tool that calls others by name.
pub const CALL_TOOL: &str = "CallMcpTool";
/// Bytes of definitions that the model is told at once; about ten thousand tokens. If there are more, it looks for what
/// it needs.
const AT_ONCE: usize = 40_000;
/// Characters of a result unless the user says otherwise; about 25,000 tokens.
const RESULT: usize = 100_000;

impl ToolSource for Servers {
    fn offered(&self, keep: &dyn Fn(&str) -> bool) -> Vec<Value> {
        let seen = self.seen();
        let of = |seen: &Seen| -> Vec<Value> {
            let tools = seen.offer.tools.iter().filter(|tool| keep(&tool.name));
            tools.map(ToolOffer::definition).collect()
        };
        let all: Vec<Value> = seen.iter().flat_map(of).collect();
        let size: usize = all.iter().map(|definition| definition.to_string().len()).sum();
        match size <= AT_ONCE {
            true => all,
            false => seen.iter().filter(|seen| seen.always_load).flat_map(of).collect(),
        }
    }

    fn prepare(self: Arc<Self>, name: &str, input: &Value) -> Option<Result<Box<dyn PreparedCall>, String>> {
        let (server, tool) = self.tool(name)?;
        let input = match input {
            Value::Object(input) => input.clone(),
            Value::Null => Map::new(),
            _ => return Some(Err("it has to be an object".to_owned())),
        };
        Some(Ok(Box::new(Prepared { servers: self, server, tool, input })))
    }
}

/// A call of a server's tool.
struct Prepared {
    servers: Arc<Servers>,
    server: String,
    tool: ToolOffer,
    input: Map<String, Value>,
}

impl PreparedCall for Prepared {
    fn parallel(&self) -> bool {
        self.tool.read_only
    }

    fn read_only(&self) -> bool {
        self.tool.read_only
    }

    fn validate(&self, _: &View) -> Result<(), String> {
        Ok(())
    }

    /// What a server does is not known.
    fn access(&self, _: &View) -> Vec<Access> {
        Vec::new()
    }

    fn warning(&self) -> Option<String> {
        self.tool.destructive.then(|| "its server says that it may destroy something".to_owned())
    }

    fn result_limit(&self) -> usize {
        RESULT
    }

    fn run(self: Box<Self>, cx: ToolCx) -> BoxFuture<'static, Result<Done, ToolError>> {
        async move { self.call(cx).await }.boxed()
    }
}

impl Prepared {
    async fn call(self, cx: ToolCx) -> Result<Done, ToolError> {
        let Self { servers, server, tool, input } = self;
        let link = tokio::select! {
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
            link = servers.link(&server) => link.map_err(ToolError::Model)?,
        };
        let params = CallToolRequestParams::new(tool.original.clone()).with_arguments(input);
        let (host, name) = (Arc::clone(&cx.host), tool.name.clone());
        let progress = move |mut news: Value| {
            news["tool"] = name.as_str().into();
            host.progress(news);
        };
        let terms = Terms { at_most: servers.limit(&server), cancel: &cx.cancel, progress: &progress };
        match link.call(params, &terms).await {
            Ok(result) => {
                let is_error = result.is_error == Some(true);
                let (content, detail) = content::of_result(result);
                let done = Done { content, detail, effects: Vec::new() };
                if is_error { Err(ToolError::Failed(done)) } else { Ok(done) }
            }
            Err(CallError::Cancelled) => Err(ToolError::Cancelled),
            Err(error) => Err(ToolError::Model(servers.explain(&server, &tool.name, &error))),
        }
    }
}

/// Calls a tool of a server by its name: for tools that the model was not told of when the conversation began.
pub struct CallMcpTool;

/// Which tool, and what it needs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallInput {
    /// The whole name of the tool, `mcp__server__tool`
    pub tool: String,
    /// The tool's input, as its schema says
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

impl Tool for CallMcpTool {
    const NAME: &'static str = CALL_TOOL;
    type Input = CallInput;

    fn describe(&self) -> Description {
        Description::new("Call a tool of an MCP server by its name", include_str!("call.md"))
    }

    fn access(&self, _: &Self::Input, _: &View) -> Vec<Access> {
        Vec::new()
    }

    /// A call that names a tool is [`unwrapped`] before it comes here.
    async fn run(&self, input: Self::Input, _: ToolCx) -> Result<Done, ToolError> {
        let text = format!(
            "{} is not the name of a tool of an MCP server; such names begin with {PREFIX}",
            input.tool
        );
        Err(ToolError::Model(text))
    }
}

/// The call that is meant: rules, hooks and the user see the tool of the server, not the one that calls it.
#[must_use]
pub fn unwrapped(call: ToolUse) -> ToolUse {
    if call.name != CALL_TOOL {
        return call;
    }
    let arguments = call.input.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
    match call.input["tool"].as_str() {
        Some(tool) if tool.starts_with(PREFIX) && arguments.is_object() => {
            ToolUse { id: call.id, name: tool.to_owned(), input: arguments }
        }
        _ => call,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tiller_protocol::id::CallId;

    use super::*;

    #[test]
    fn the_meant_call_is_found() {
        let unwrap = |input: Value| {
            let call = unwrapped(ToolUse { id: CallId::from("c"), name: CALL_TOOL.to_owned(), input });
            (call.name, call.input)
        };
        let meant = |name: &str, input: Value| (name.to_owned(), input);
        assert_eq!(
            unwrap(json!({"tool": "mcp__a__b", "arguments": {"x": 1}})),
            meant("mcp__a__b", json!({"x": 1}))
        );
        assert_eq!(unwrap(json!({"tool": "mcp__a__b"})), meant("mcp__a__b", json!({})));
        for odd in [
            json!({"tool": "Bash", "arguments": {"command": "rm"}}),
            json!({}),
            json!({"tool": "mcp__a__b", "arguments": 3}),
        ] {
            assert_eq!(unwrap(odd.clone()), meant(CALL_TOOL, odd));
        }
    }
}
