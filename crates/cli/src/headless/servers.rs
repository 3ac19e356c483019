//! MCP servers, as hosts see and steer them.

use serde_json::{Value, json};
use tiller_protocol::ask::{Answer, Then};
use tiller_protocol::command::Command;
use tiller_protocol::mcp::{
    ElicitationAsk, McpOrder, McpServer, McpState, SamplingAsk, ServerMessage, Wanted,
};

use super::tally::Tally;

/// Where servers stand.
pub(super) fn status(tally: &Tally) -> Vec<Value> {
    tally.servers.values().map(shown).collect()
}

fn shown(server: &McpServer) -> Value {
    let tools: Vec<Value> = server
        .tools
        .iter()
        .map(|tool| {
            let hints = json!({"readOnly": tool.read_only, "destructive": tool.destructive});
            json!({"name": tool.name, "description": tool.description, "annotations": hints})
        })
        .collect();
    let mut shown = json!({"name": server.name, "status": server.state.status(), "scope": server.scope,
        "serverInfo": server.identity, "tools": tools});
    match &server.state {
        McpState::Failed { why } => shown["error"] = json!(why),
        McpState::SigningIn { url } => shown["authUrl"] = json!(url),
        _ => {}
    }
    shown
}

/// What a host wants done with a server.
pub(super) fn order(request: &Value, subtype: &str, tally: &Tally) -> Result<(Value, Vec<Command>), String> {
    let Some(server) = request["serverName"].as_str() else { return Err("serverName is missing".to_owned()) };
    if !tally.servers.contains_key(server) {
        return Err(format!("there is no MCP server {server}"));
    }
    let order = match (subtype, request["enabled"].as_bool()) {
        ("mcp_toggle", Some(false)) => McpOrder::Stop,
        ("mcp_toggle", None) => return Err("enabled is missing".to_owned()),
        ("mcp_authenticate", _) => McpOrder::SignIn,
        ("mcp_clear_auth", _) => McpOrder::SignOut,
        _ => McpOrder::Reconnect,
    };
    Ok((json!({}), vec![Command::Mcp { server: server.to_owned(), order }]))
}

/// A message for a server that is part of the host.
pub(super) fn message(ask: &ServerMessage) -> Value {
    json!({"subtype": "mcp_message", "server_name": ask.server, "message": ask.message})
}

/// A message of a server that is part of the host.
pub(super) fn heard(request: &Value) -> Result<(Value, Vec<Command>), String> {
    let Some(server) = request["server_name"].as_str() else {
        return Err("server_name is missing".to_owned());
    };
    let said = ServerMessage { server: server.to_owned(), message: request["message"].clone() };
    Ok((json!({}), vec![Command::FromServer(said)]))
}

/// A server's question, for the host.
pub(super) fn elicitation(ask: &ElicitationAsk) -> Value {
    let mut request =
        json!({"subtype": "elicitation", "mcp_server_name": ask.server, "message": ask.message});
    match &ask.wanted {
        Wanted::Form { schema, .. } => {
            request["mode"] = json!("form");
            request["requested_schema"] = schema.clone();
        }
        Wanted::Visit { url, id } => {
            request["mode"] = json!("url");
            request["url"] = json!(url);
            request["elicitation_id"] = json!(id);
        }
    }
    request
}

/// A server's wish to ask the model, put to the host like a call.
pub(super) fn sampling(ask: &SamplingAsk) -> Value {
    json!({"subtype": "can_use_tool", "tool_name": "McpSampling", "display_name": "McpSampling",
        "description": format!("The MCP server {} wants to ask {}.", ask.server, ask.model),
        "input": ask, "permission_suggestions": []})
}

/// What the host says to a server's question.
pub(super) fn elicited(body: &Value) -> Answer {
    match body["action"].as_str() {
        Some("accept") => Answer::Elicitation {
            content: body.get("content").filter(|content| content.is_object()).cloned(),
        },
        Some("decline") => Answer::Refuse { feedback: None, then: Then::GoOn },
        _ => Answer::Refuse { feedback: None, then: Then::EndTurn },
    }
}
