use serde_json::{Value, json};
use tiller_protocol::effect::Effect;
use tiller_protocol::mode::Mode;
use tiller_tools::Input;

use crate::bench::{Bench, registry};

fn item(content: &str, status: &str) -> Value {
    json!({"content": content, "status": status, "activeForm": format!("Doing {content}")})
}

// TODO-02, TODO-04
#[tokio::test]
async fn a_call_replaces_the_whole_list_and_shows_both() {
    let mut bench = Bench::new();
    let first = json!([item("a", "in_progress"), item("b", "pending")]);
    let result = bench.call("TodoWrite", json!({"todos": first})).await;
    assert_eq!(result.detail, json!({"oldTodos": [], "newTodos": first}));
    assert!(result.text.contains("updated") && result.text.contains("go on"), "{}", result.text);
    let second = json!([item("c", "pending")]);
    let result = bench.call("TodoWrite", json!({"todos": second})).await;
    assert_eq!(result.detail, json!({"oldTodos": first, "newTodos": second}));
    assert_eq!(bench.view.todos.len(), 1);
}

// TODO-03, TODO-04
#[tokio::test]
async fn a_finished_list_is_stored_empty_and_shown_as_submitted() {
    for list in [json!([item("a", "completed"), item("b", "completed")]), json!([])] {
        let mut bench = Bench::new();
        bench.call("TodoWrite", json!({"todos": [item("a", "pending")]})).await;
        let result = bench.call("TodoWrite", json!({"todos": list})).await;
        assert_eq!(result.effects, [Effect::SetTodos { todos: Vec::new() }]);
        assert_eq!(result.detail["newTodos"], list);
    }
}

// TODO-01
#[tokio::test]
async fn input_is_strict() {
    let good = item("a", "pending");
    for bad in [
        json!({}),
        json!({"todos": [good], "extra": 1}),
        json!({"todos": [{"content": "a", "status": "pending"}]}),
        json!({"todos": [{"content": "", "status": "pending", "activeForm": "b"}]}),
        json!({"todos": [{"content": "a", "status": "pending", "activeForm": ""}]}),
        json!({"todos": [item("a", "done")]}),
    ] {
        assert!(Bench::new().call("TodoWrite", bad.clone()).await.failed, "{bad}");
    }
}

// TODO-06
#[tokio::test]
async fn it_is_always_allowed_and_serial() {
    let input = json!({"todos": [item("a", "pending")]});
    for mode in Mode::ALL {
        let mut bench = Bench::new();
        bench.mode = mode;
        let result = bench.call("TodoWrite", input.clone()).await;
        assert!(!result.failed, "{mode}: {}", result.text);
    }
    let call = registry().prepare("TodoWrite", Input::Json(&input)).unwrap();
    assert!(!call.parallel() && !call.read_only());
}
