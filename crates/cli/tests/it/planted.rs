//! Files that a command leaves behind for later runs to follow.

use serde_json::json;
use tiller_testkit::Reply;

use crate::harness::{World, held_by_namespaces, result_text};

/// What a command writes with which a later run would start a program, by a name that it puts together.
fn planting(world: &World) -> String {
    let server = json!({"mcpServers": {"evil": {"command": "touch", "args": [world.path("started")]}}});
    world.write("payload", &server.to_string());
    "python3 -c \"import shutil; shutil.copy('payload', '.m' + 'cp.json')\"".to_owned()
}

// KERN-01: also if the command is still running when the session ends.
#[test]
fn servers_that_a_command_plants_start_in_no_later_run() {
    if !held_by_namespaces() {
        return;
    }
    for in_background in [false, true] {
        let world = World::new();
        let plant = planting(&world);
        let stay = if in_background { "; touch up; while :; do sleep 0.02; done" } else { "" };
        let call = json!({"command": format!("{plant}{stay}"), "run_in_background": in_background});
        world.server.reply(Reply::new().tool_with_id("a", "Bash", call));
        if in_background {
            let wait = json!({"command": "while [ ! -e up ]; do sleep 0.02; done"});
            world.server.reply(Reply::new().tool_with_id("b", "Bash", wait));
        }
        world.server.reply(Reply::text("done"));
        world.run(&["-p", "go", "--allowedTools", "Bash"]).ok();
        assert!(!world.path(".mcp.json").exists(), "in background: {in_background}");
        if !in_background {
            let told = result_text(world.server.messages().pop().unwrap().body(), "a");
            assert!(told.contains("was renamed to .mcp.json.refused"), "{told}");
        }
        world.server.reply(Reply::text("later"));
        world.run(&["-p", "go on"]).ok();
        assert!(!world.path("started").exists(), "in background: {in_background}");
        world.server.assert_clean();
    }
}

// What the user lets Tiller write is the user's, whichever commands run beside it.
#[test]
fn what_is_written_with_permission_stays_beside_a_running_command() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let text = r#"{"mcpServers": {}}"#;
    let wait = "touch up; while [ ! -e go ]; do sleep 0.02; done";
    world.server.replies([
        Reply::new().tool_with_id("a", "Bash", json!({"command": wait, "run_in_background": true})),
        Reply::new().tool_with_id("b", "Bash", json!({"command": "while [ ! -e up ]; do sleep 0.02; done"})),
        Reply::new().tool_with_id(
            "c",
            "Write",
            json!({"file_path": world.path(".mcp.json"), "content": text}),
        ),
        Reply::new().tool_with_id("d", "Bash", json!({"command": "touch go"})),
    ]);
    // The end of the command may be told in this turn, or begin one of its own.
    world.server.respond_with(|_| Reply::text("done"));
    let mut live = world.talk(&["--permission-prompt-tool", "stdio", "--allowedTools", "Bash"]);
    live.say("go");
    let question = live.question();
    assert_eq!(question["request"]["tool_name"], "Write");
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": question["request"]["input"]}));
    live.until(|frame| frame["subtype"] == "task_notification");
    live.close_stdin();
    assert_eq!(live.finish().code, 0);
    assert_eq!(world.read(".mcp.json"), text);
    assert!(!world.path(".mcp.json.refused").exists());
}
