//! Tiller's own tools, offered to other programs over standard input and output.

use std::sync::Arc;

use futures::future::BoxFuture;
use rmcp::ServerHandler;
use rmcp::ServiceExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use tiller_protocol::block::RawBlock;

/// A tool that is offered.
#[derive(Clone, Debug)]
pub struct Offered {
    /// The definition as the model would see it: `name`, `description`, `input_schema`.
    pub definition: Value,
    /// Whether it never changes anything.
    pub read_only: bool,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Text and images.
    pub content: Vec<RawBlock>,
    /// Whether it failed, or was not permitted.
    pub is_error: bool,
}

/// Where calls are carried out.
pub trait Bench: Send + Sync + 'static {
    /// The tools.
    fn tools(&self) -> Vec<Offered>;

    /// Carries a call out, as far as rules permit it.
    fn call(&self, name: String, input: Value) -> BoxFuture<'static, Outcome>;
}

/// Serves until the other side closes the connection.
///
/// # Errors
/// When the other side does not speak the protocol.
pub async fn over_stdio(bench: Arc<dyn Bench>) -> Result<(), String> {
    let served = Counter(bench).serve(rmcp::transport::stdio()).await;
    let running = served.map_err(|error| format!("the other side does not speak the protocol: {error}"))?;
    running.waiting().await.map_err(|error| error.to_string())?;
    Ok(())
}

/// What stands between the bench and whoever calls.
struct Counter(Arc<dyn Bench>);

impl ServerHandler for Counter {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("tiller", env!("CARGO_PKG_VERSION")))
            .with_instructions("Tools of Tiller, under the permission rules of this directory. What would need a question is refused.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.tools().iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let input = Value::Object(request.arguments.unwrap_or_default());
        let Outcome { content, is_error } = self.0.call(request.name.into_owned(), input).await;
        let content = content.iter().map(block).collect();
        let result = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        Ok(result.into())
    }
}

fn tool(offered: &Offered) -> Tool {
    let text = |key: &str| offered.definition[key].as_str().unwrap_or_default().to_owned();
    let schema: Map<String, Value> =
        offered.definition["input_schema"].as_object().cloned().unwrap_or_default();
    let hints = ToolAnnotations::new().read_only(offered.read_only);
    Tool::new(text("name"), text("description"), Arc::new(schema)).with_annotations(hints)
}

fn block(block: &RawBlock) -> ContentBlock {
    if let Some(text) = block.as_text() {
        return ContentBlock::text(text);
    }
    let value = block.to_value();
    let part = |key: &str| value["source"][key].as_str().unwrap_or_default().to_owned();
    match value["type"].as_str() {
        Some("image") => ContentBlock::image(part("data"), part("media_type")),
        _ => ContentBlock::text("[content that cannot be sent]"),
    }
}
