//! Background commands over the JSON stream, and that none is left behind.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{World, eventually, marker, processes_with};
use crate::live::Live;

/// A command that says that it runs, and ends once the file `go` is there. Only processes of it have the marker.
fn waiting(marker: &str) -> String {
    format!("touch up; while [ ! -e go ]; do sleep 0.02; done; echo its last words; : {marker}")
}

fn live(world: &World) -> Live {
    world.talk(&["--permission-mode", "bypassPermissions"])
}

fn is_notification(frame: &Value) -> bool {
    frame["subtype"] == "task_notification"
}

// VERB-03, VERB-04
#[test]
fn a_host_moves_a_command_to_the_background_and_hears_of_its_end() {
    let world = World::new();
    let command = waiting(&marker());
    world.server.replies([
        Reply::new().tool_with_id("b", "Bash", json!({"command": command, "timeout": 600_000})),
        Reply::text("meanwhile"),
        Reply::text("it has ended"),
    ]);
    let mut live = live(&world);
    let refused = live.request(&json!({"subtype": "background_tasks"}));
    assert_eq!(
        (&refused["subtype"], &refused["error"]),
        (&json!("error"), &json!("there is no running call"))
    );
    live.say("go");
    eventually("the command runs", || world.path("up").exists());
    let answered = live.request(&json!({"subtype": "background_tasks", "tool_use_id": "b"}));
    assert_eq!(answered["response"]["tool_use_ids"], json!(["b"]));
    let frames = live.turn();
    let started = frames.iter().find(|frame| frame["subtype"] == "task_started").unwrap();
    assert_eq!((&started["task_id"], &started["task_type"]), (&json!("bash_1"), &json!("local_bash")));
    assert_eq!(frames.last().unwrap()["result"], "meanwhile");

    world.write("go", "");
    let frames = live.turn();
    let ended = frames.iter().find(|frame| is_notification(frame)).unwrap();
    assert_eq!((&ended["task_id"], &ended["status"]), (&json!("bash_1"), &json!("completed")));
    assert_eq!((&started["tool_use_id"], &ended["tool_use_id"]), (&json!("b"), &json!("b")));
    let printed = fs_err::read_to_string(ended["output_file"].as_str().unwrap()).unwrap();
    assert_eq!(printed, "its last words\n");
    assert!(
        frames.iter().any(|frame| frame["subtype"] == "init"),
        "it looks like any other turn: {frames:#?}"
    );
    assert_eq!(frames.last().unwrap()["result"], "it has ended");
    live.close_stdin();
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// CUST-03
#[test]
fn a_host_stops_a_background_command() {
    let world = World::new();
    let marker = marker();
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": waiting(&marker), "run_in_background": true})),
        Reply::text("started"),
    ]);
    let mut live = live(&world);
    live.say("go");
    live.turn();
    assert_eq!(live.request(&json!({"subtype": "stop_task"}))["subtype"], "error");
    assert_eq!(live.request(&json!({"subtype": "stop_task", "task_id": "bash_1"}))["subtype"], "success");
    let ended = live.until(is_notification).pop().unwrap();
    assert_eq!((&ended["task_id"], &ended["status"]), (&json!("bash_1"), &json!("stopped")));
    eventually("nothing is left", || processes_with(&marker).is_empty());
    live.close_stdin();
    assert_eq!(live.finish().code, 0);
    assert_eq!(world.server.messages().len(), 2, "nobody has to be told at once");
}

// CUST-02 VERB-03
#[test]
fn a_moved_command_does_not_survive_a_kill() {
    let world = World::new();
    let marker = marker();
    world.server.replies([
        Reply::new().tool_with_id("b", "Bash", json!({"command": waiting(&marker), "timeout": 600_000})),
        Reply::text("meanwhile"),
    ]);
    let mut live = live(&world);
    live.say("go");
    eventually("the command runs", || world.path("up").exists());
    live.request(&json!({"subtype": "background_tasks", "tool_use_id": "b"}));
    live.turn();
    assert!(!processes_with(&marker).is_empty());
    live.signal("KILL");
    eventually("nothing is left", || processes_with(&marker).is_empty());
}

// CUST-02
#[test]
fn a_run_of_one_prompt_ends_with_its_turn_and_takes_background_commands_along() {
    let world = World::new();
    let marker = marker();
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": waiting(&marker), "run_in_background": true})),
        Reply::text("started"),
    ]);
    let run = world.run(&["-p", "go", "--permission-mode", "bypassPermissions"]).ok();
    assert_eq!(run.stdout, "started\n");
    assert!(run.stderr.contains("bash_1 was stopped at the end of the run: touch up"), "{}", run.stderr);
    assert!(processes_with(&marker).is_empty());
    world.server.assert_clean();
}
