//! Results in a form that the caller has laid down.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{Run, World};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}"#;

fn hand_over(result: Value) -> Reply {
    Reply::new().tool("StructuredOutput", result)
}

fn run(world: &World, schema: &str, replies: Vec<Reply>) -> Run {
    world.server.replies(replies);
    world.run(&["-p", "count them", "--json-schema", schema, "--output-format", "json"])
}

fn frame(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{run:?}"))
}

// HEAD-04
#[test]
fn a_result_that_fits_ends_the_run() {
    let world = World::new();
    let run = run(&world, SCHEMA, vec![hand_over(json!({"count": 3}))]);
    let result = frame(&run);
    assert_eq!((run.code(), &result["subtype"]), (0, &json!("success")), "{result}");
    assert_eq!(result["structured_output"], json!({"count": 3}));
    let sent = world.server.messages();
    assert_eq!(sent.len(), 1, "nothing more is asked");
    let tools = sent[0].body()["tools"].clone();
    let offered = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "StructuredOutput").unwrap();
    assert_eq!(offered["input_schema"], serde_json::from_str::<Value>(SCHEMA).unwrap());
    world.server.assert_clean();
}

// HEAD-04: one more turn mends what is missing or does not fit.
#[test]
fn a_result_that_is_missing_or_does_not_fit_is_asked_for_again() {
    for first in [Reply::text("There are three."), hand_over(json!({"count": "three"}))] {
        let world = World::new();
        let run = run(&world, SCHEMA, vec![first, hand_over(json!({"count": 3}))]);
        assert_eq!((run.code(), &frame(&run)["structured_output"]), (0, &json!({"count": 3})));
        let told = world.server.messages().pop().unwrap().body()["messages"].to_string();
        assert!(told.contains("StructuredOutput with it now") || told.contains("/count: "), "{told}");
        world.server.assert_clean();
    }
}

// HEAD-04: after that it is reported.
#[test]
fn a_result_that_never_fits_is_reported() {
    let wrong = || hand_over(json!({"count": "three"}));
    let words = || Reply::text("There are three.");
    for replies in
        [vec![wrong(), wrong()], vec![words(), words()], vec![wrong(), words()], vec![words(), wrong()]]
    {
        let world = World::new();
        let run = run(&world, SCHEMA, replies);
        let result = frame(&run);
        assert_eq!((run.code(), &result["is_error"]), (1, &json!(true)), "{result}");
        assert_eq!(result["subtype"], "error_max_structured_output_retries");
        assert_eq!(result["terminal_reason"], "structured_output_retry_exhausted");
        assert!(result["errors"][0].as_str().unwrap().contains("schema"), "{result}");
        assert!(result.get("structured_output").is_none());
        assert_eq!(world.server.messages().len(), 2);
        world.server.assert_clean();
    }
}

// HEAD-04
#[test]
fn text_output_is_the_result_and_any_form_can_be_asked_for() {
    let world = World::new();
    world.server.reply(hand_over(json!({"value": ["a", "b"]})));
    let schema = r#"{"type": "array", "items": {"type": "string"}}"#;
    let run = world.run(&["-p", "name them", "--json-schema", schema]).ok();
    assert_eq!(run.stdout, "[\"a\",\"b\"]\n");
    for (schema, problem) in
        [("{", "not JSON"), ("3", "no JSON schema"), (r#"{"type": "nonsense"}"#, "no JSON schema")]
    {
        let refused = world.run(&["-p", "x", "--json-schema", schema]);
        assert!(refused.code() != 0 && refused.stderr.contains(problem), "{schema}: {refused:?}");
    }
    world.server.assert_clean();
}

// HEAD-04: a host may lay the form down when it introduces itself.
#[test]
fn a_host_lays_the_form_down() {
    let world = World::new();
    world.server.replies([Reply::text("There are three."), hand_over(json!({"count": 3}))]);
    let mut live = world.talk(&[]);
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let answer = live.request(&json!({"subtype": "initialize", "hooks": null, "jsonSchema": schema}));
    assert_eq!(answer["subtype"], "success", "{answer}");
    live.say("count them");
    let frames = live.turn();
    let has_tool = |init: &Value| init["tools"].as_array().unwrap().contains(&json!("StructuredOutput"));
    assert!(has_tool(&frames[0]), "{}", frames[0]);
    assert_eq!(frames.last().unwrap()["structured_output"], json!({"count": 3}));
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}
