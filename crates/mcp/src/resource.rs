//! Resources of servers, for the model.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::{Access, Place, Request};
use tiller_protocol::mcp::McpState;
use tiller_tools::{Description, Done, Tool, ToolCx, ToolError, View, resolve_links};

use crate::name::plain;
use crate::servers::{PolicyNow, Servers};

/// Resources that are listed.
const MANY: usize = 300;

/// Lists what servers have to read.
pub struct ListMcpResources {
    /// Whose resources.
    pub servers: Arc<Servers>,
    /// What of them is not shown.
    pub policy: PolicyNow,
}

/// Whose resources.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInput {
    /// Only those of this server
    #[serde(default)]
    pub server: Option<String>,
}

impl Tool for ListMcpResources {
    const NAME: &'static str = "ListMcpResourcesTool";
    type Input = ListInput;

    fn describe(&self) -> Description {
        let prompt = "Lists the resources of connected MCP servers: server, URI, title and kind of each. Read one with \
                      `ReadMcpResourceTool`.";
        Description::new("List resources of MCP servers", prompt)
    }

    fn parallel(&self, _: &Self::Input) -> bool {
        true
    }

    fn read_only(&self, _: &Self::Input) -> bool {
        true
    }

    fn access(&self, input: &Self::Input, _: &View) -> Vec<Access> {
        input.server.iter().map(|server| Access::Server(plain(server))).collect()
    }

    async fn run(&self, input: Self::Input, _: ToolCx) -> Result<Done, ToolError> {
        let seen = self.servers.seen_under(&(self.policy)().rules);
        if let Some(server) = &input.server
            && seen.iter().all(|seen| seen.name != *server)
        {
            let known = seen.iter().map(|seen| seen.name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(ToolError::model(format!(
                "There is no MCP server named {server}. The servers are: {known}."
            )));
        }
        let mut lines = Vec::new();
        for one in seen.iter().filter(|seen| input.server.as_ref().is_none_or(|server| *server == seen.name))
        {
            if one.state != McpState::Ready {
                lines.push(format!("{} is not ready: {}", one.name, one.state.describe()));
            }
            for resource in &one.offer.resources {
                let kind = resource.mime_type.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
                let about = if resource.description.is_empty() {
                    String::new()
                } else {
                    format!(": {}", resource.description)
                };
                lines.push(format!("{} {}{kind} {}{about}", one.name, resource.uri, resource.name));
            }
        }
        let more = lines.len().saturating_sub(MANY);
        lines.truncate(MANY);
        if more > 0 {
            lines.push(format!("... and {more} more; name a server to see fewer"));
        }
        if lines.is_empty() {
            lines.push("There are no resources.".to_owned());
        }
        Ok(Done::text(&lines.join("\n")))
    }
}

/// Reads a resource of a server.
pub struct ReadMcpResource(pub Arc<Servers>);

/// Which resource.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInput {
    /// The name of the server
    pub server: String,
    /// The URI of the resource
    pub uri: String,
}

impl Tool for ReadMcpResource {
    const NAME: &'static str = "ReadMcpResourceTool";
    type Input = ReadInput;

    fn describe(&self) -> Description {
        let prompt =
            "Reads a resource of a connected MCP server. `ListMcpResourcesTool` lists servers and URIs.";
        Description::new("Read a resource of an MCP server", prompt)
    }

    fn parallel(&self, _: &Self::Input) -> bool {
        true
    }

    fn read_only(&self, _: &Self::Input) -> bool {
        true
    }

    fn access(&self, input: &Self::Input, _: &View) -> Vec<Access> {
        access(&input.server, &input.uri)
    }

    async fn run(&self, input: Self::Input, cx: ToolCx) -> Result<Done, ToolError> {
        let content = self.0.read(&input.server, &input.uri, &cx.cancel).await.map_err(ToolError::Model)?;
        if cx.cancel.is_cancelled() {
            return Err(ToolError::Cancelled);
        }
        let detail = json!({"server": input.server, "uri": input.uri});
        match content.is_empty() {
            true => Ok(Done::text("The resource is empty.").with_detail(detail)),
            false => Ok(Done { content, detail, effects: Vec::new() }),
        }
    }
}

/// What reading a resource touches. A server that runs here may read files for whoever asks: then it is as if the file
/// were read.
fn access(server: &str, uri: &str) -> Vec<Access> {
    let file = url::Url::parse(uri).ok().filter(|url| url.scheme() == "file");
    // A server may look at nothing but the path, whichever machine is named before it.
    let local =
        |mut url: url::Url| url.set_host(Some("localhost")).ok().and_then(|()| url.to_file_path().ok());
    let file = file.map(|url| local(url).unwrap_or_else(|| "/".into()));
    let file = file.map(|path| Access::Read(Place::new(&path, resolve_links(&path))));
    std::iter::once(Access::Server(plain(server))).chain(file).collect()
}

/// Reading a resource, as policy judges it.
#[must_use]
pub fn reading(server: &str, uri: &str) -> Request {
    Request { tool: ReadMcpResource::NAME.to_owned(), access: access(server, uri), read_only: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RULE-06
    #[test]
    fn a_file_is_a_file_on_whichever_machine_it_is_said_to_be() {
        for uri in ["file:///p/.env", "file://x/p/.env", "file://localhost/p/.env"] {
            assert_eq!(access("fs", uri)[1..], [Access::Read("/p/.env".into())], "{uri}");
        }
        assert_eq!(access("fs", "demo://p/.env").len(), 1);
    }
}
