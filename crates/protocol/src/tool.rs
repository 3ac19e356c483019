//! Names of tools that others use for ours.

/// The name that a tool has here. Settings, rules and hooks of other agents call the tool for sub-agents `Agent`.
#[must_use]
pub fn canonical(name: &str) -> &str {
    match name {
        "Agent" => "Task",
        _ => name,
    }
}

/// The name that others use for a tool of ours, if it is another one.
#[must_use]
pub fn other_name(tool: &str) -> Option<&'static str> {
    (tool == "Task").then_some("Agent")
}
