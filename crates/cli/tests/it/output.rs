//! The same task in each output format.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::World;

/// Search, read, edit, run: what an agent does all day.
fn task() -> World {
    let world =
        World::new().file("src/greet.sh", "echo helo\n").file("test.sh", "sh src/greet.sh | grep -q hello\n");
    let file = world.path("src/greet.sh").display().to_string();
    world.server.replies([
        Reply::text("Looking.")
            .tool("Grep", json!({"pattern": "helo"}))
            .tool("Read", json!({"file_path": file})),
        Reply::new().tool("Edit", json!({"file_path": file, "old_string": "helo", "new_string": "hello"})),
        Reply::new().tool("Bash", json!({"command": "sh test.sh && echo passed"})),
        Reply::text("Fixed the typo; the test passes."),
    ]);
    world
}

#[test]
fn text_prints_the_answer() {
    let world = task();
    let run = world.run(&["-p", "fix it", "--permission-mode", "bypassPermissions"]).ok();
    assert_eq!(run.stdout, "Fixed the typo; the test passes.\n");
    assert_eq!(run.stderr, "");
    assert_eq!(world.read("src/greet.sh"), "echo hello\n");
    world.server.assert_clean();
}

#[test]
fn json_prints_one_result() {
    let world = task();
    let run = world
        .run(&["-p", "fix it", "--output-format", "json", "--permission-mode", "bypassPermissions"])
        .ok();
    let frames = run.frames();
    assert_eq!(frames.len(), 1);
    check_result(&frames[0]);
    world.server.assert_clean();
}

#[test]
fn stream_json_prints_everything_and_ends_with_the_result() {
    let world = task();
    let frames = world.stream("fix it");
    let sketch: Vec<String> = frames.iter().map(sketch).collect();
    // Calls run while the model writes: how early their results come is not for this test.
    let is_result = |line: &&String| *line == "user tool_result";
    let said: Vec<&String> = sketch.iter().filter(|line| !is_result(line)).collect();
    assert_eq!(
        said,
        [
            "system init",
            "assistant text",
            "assistant tool_use Grep",
            "assistant tool_use Read",
            "assistant tool_use Edit",
            "assistant tool_use Bash",
            "assistant text",
            "result success",
        ]
    );
    for (calls, before) in
        [(2, "assistant tool_use Edit"), (3, "assistant tool_use Bash"), (4, "result success")]
    {
        let end = sketch.iter().position(|line| line == before).unwrap();
        assert_eq!(sketch[..end].iter().filter(is_result).count(), calls, "{sketch:?}");
    }
    check_result(frames.last().unwrap());
    world.server.assert_clean();
}

fn sketch(frame: &Value) -> String {
    let block = &frame["message"]["content"][0];
    let parts = [&frame["type"], &frame["subtype"], &block["type"], &block["name"]];
    parts.iter().filter_map(|part| part.as_str()).collect::<Vec<_>>().join(" ")
}

fn check_result(result: &Value) {
    assert_eq!(result["type"], "result");
    assert_eq!(result["subtype"], "success");
    assert_eq!(result["outcome"], "success");
    assert_eq!(result["is_error"], false);
    assert_eq!(result["result"], "Fixed the typo; the test passes.");
    assert_eq!(result["num_turns"], 4);
    assert!(result["total_cost_usd"].as_f64().unwrap() > 0.0);
    assert!(result["usage"]["output_tokens"].as_u64().unwrap() > 0);
    assert!(result["session_id"].as_str().unwrap().len() == 36);
    assert!(result["modelUsage"]["claude-sonnet-5-5"]["costUSD"].as_f64().unwrap() > 0.0);
    assert_eq!(result["permission_denials"], json!([]));
}
