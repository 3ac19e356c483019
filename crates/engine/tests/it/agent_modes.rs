//! What the definition of an agent says about its mode and its hooks.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use tiller_config::{AgentDefinition, HookEvent, HookGroup};
use tiller_engine::Setup;
use tiller_protocol::mode::Mode;
use tiller_testkit::Reply;

use crate::agents::{by_prompt, definitions, sent_to, setup_with, task};
use crate::harness::Lab;

/// An agent that has all tools.
const WORKER: &str = "general-purpose";

/// The agents that come with Tiller, with something about one of them changed.
fn agent(change: impl FnOnce(&mut AgentDefinition)) -> Vec<AgentDefinition> {
    let mut all = definitions();
    change(all.iter_mut().find(|agent| agent.name == WORKER).unwrap());
    all
}

fn write(path: &Path) -> Value {
    json!({"file_path": path, "content": "x"})
}

/// Lets the agent make one call, and gives what it was told of it.
async fn calls(lab: &Lab, setup: Setup, tool: &str, input: Value) -> String {
    let delegated = Reply::new().tool_with_id("t", "Task", task(WORKER, "make it"));
    lab.server.replies([delegated, Reply::text("done")]);
    let call = Reply::new().tool_with_id("w", tool, input);
    lab.server.conversation(by_prompt("make it")).replies([call, Reply::text("ready")]);
    lab.turn(setup, "go").await;
    lab.server.assert_clean();
    sent_to(lab, "make it").pop().unwrap()["messages"].to_string()
}

// PERM-19: of both modes the stricter one holds, whichever that is.
#[tokio::test]
async fn a_definition_makes_the_mode_stricter_and_never_looser() {
    for (of_session, of_agent, is_written) in [
        (Mode::BypassPermissions, None, true),
        (Mode::BypassPermissions, Some(Mode::AcceptEdits), true),
        (Mode::BypassPermissions, Some(Mode::Plan), false),
        (Mode::BypassPermissions, Some(Mode::DontAsk), false),
        (Mode::AcceptEdits, Some(Mode::BypassPermissions), true),
        (Mode::AcceptEdits, Some(Mode::Default), false),
        (Mode::Default, Some(Mode::BypassPermissions), false),
        (Mode::Default, Some(Mode::AcceptEdits), false),
        (Mode::DontAsk, Some(Mode::AcceptEdits), false),
        (Mode::Plan, Some(Mode::BypassPermissions), false),
    ] {
        let lab = Lab::new();
        let agents = agent(|agent| agent.permission_mode = of_agent);
        let setup = Setup { mode: Some(of_session), ..setup_with(&lab, agents) };
        let file = lab.project().join("made");
        let told = calls(&lab, setup, "Write", write(&file)).await;
        assert_eq!(file.exists(), is_written, "{of_session} {of_agent:?}: {told}");
    }
}

// PERM-19: while planning the kernel holds commands that nobody is asked about; in a session that asks about them, a
// definition does not spare the question.
#[tokio::test]
async fn a_planning_agent_runs_nothing_that_its_session_would_ask_about() {
    for mode in [Mode::Default, Mode::DontAsk] {
        let lab = Lab::new();
        let agents = agent(|agent| agent.permission_mode = Some(Mode::Plan));
        let setup = Setup { mode: Some(mode), ..setup_with(&lab, agents) };
        let command = json!({"command": "python3 -c 'print(6 * 7)'"});
        let told = calls(&lab, setup, "Bash", command).await;
        assert!(!told.contains("42"), "{mode}: {told}");
    }
}

// PERM-19: whoever works for an agent is bound by its definition as well.
#[tokio::test]
async fn agents_of_an_agent_are_bound_by_its_mode_and_its_hooks() {
    for bound_by_mode in [true, false] {
        let lab = Lab::new();
        let agents = agent(|agent| match bound_by_mode {
            true => agent.permission_mode = Some(Mode::DontAsk),
            false => agent.hooks = guard("Bash"),
        });
        let mut setup = setup_with(&lab, agents);
        setup.limits.agents.depth = 2;
        let file = lab.project().join("made");
        let touch = json!({"command": "touch made"});
        lab.server
            .conversation(by_prompt("the inner work"))
            .replies([Reply::new().tool_with_id("b", "Bash", touch), Reply::text("ready")]);
        let inner = task("Explore", "the inner work");
        calls(&lab, setup, "Task", inner).await;
        let told = sent_to(&lab, "the inner work").pop().unwrap()["messages"].to_string();
        assert!(!file.exists(), "{told}");
    }
}

type Groups = BTreeMap<HookEvent, Vec<HookGroup>>;

fn hooks(settings: Value) -> Groups {
    serde_json::from_value(settings).unwrap()
}

fn guard(tool: &str) -> Groups {
    let command = "echo 'not by this agent' >&2; exit 2";
    hooks(json!({"PreToolUse": [{"matcher": tool, "hooks": [{"type": "command", "command": command}]}]}))
}

// HOOK-03: in the agent, and nowhere else.
#[tokio::test]
async fn hooks_of_a_definition_run_in_its_agent_alone() {
    let lab = Lab::new();
    let (heard, of_main, of_agent) =
        (lab.project().join("heard"), lab.project().join("main"), lab.project().join("made"));
    let note = format!("echo end >> {}", heard.display());
    let agents = agent(|agent| {
        agent.hooks = guard("Write");
        let end = hooks(
            json!({"SubagentStop": [{"matcher": WORKER, "hooks": [{"type": "command", "command": note}]}]}),
        );
        agent.hooks.extend(end);
    });
    lab.server.reply(Reply::new().tool_with_id("m", "Write", write(&of_main)));
    let told = calls(&lab, setup_with(&lab, agents), "Write", write(&of_agent)).await;
    assert!(told.contains("not by this agent"), "{told}");
    assert_eq!((of_main.exists(), of_agent.exists()), (true, false));
    assert_eq!(fs_err::read_to_string(heard).unwrap(), "end\n", "once");
}

// PERM-19, HOOK-02: a hook of a definition speaks for its agent no louder than any other.
#[tokio::test]
async fn a_hook_of_a_definition_loosens_neither_planning_nor_its_mode() {
    let says_yes = |event: &str, specific: Value| {
        let output = json!({"hookSpecificOutput": specific}).to_string();
        hooks(json!({event: [{"hooks": [{"type": "command", "command": format!("echo '{output}'")}]}]}))
    };
    let before = json!({"hookEventName": "PreToolUse", "permissionDecision": "allow"});
    let leave = json!([{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}]);
    let asked = json!({
        "hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedPermissions": leave},
    });
    for (event, specific) in [("PreToolUse", before), ("PermissionRequest", asked)] {
        for (of_session, of_agent) in [(Mode::Plan, Mode::BypassPermissions), (Mode::Default, Mode::Plan)] {
            let lab = Lab::new();
            let agents = agent(|agent| {
                agent.permission_mode = Some(of_agent);
                agent.hooks = says_yes(event, specific.clone());
            });
            let setup = Setup { mode: Some(of_session), ..setup_with(&lab, agents) };
            let file = lab.project().join("made");
            let told = calls(&lab, setup, "Write", write(&file)).await;
            assert!(!file.exists(), "{event} {of_session} {of_agent}: {told}");
        }
    }
}
