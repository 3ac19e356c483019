//! What calls of an answer have changed that counts no more.

use serde_json::json;
use tiller_engine::{SandboxChoice, Session, Setup, Start};
use tiller_protocol::command::{Command, Event};
use tiller_protocol::entry::{Body, Cause, Entry, Outcome};
use tiller_protocol::mode::Mode;
use tiller_protocol::state::State;
use tiller_testenv::eventually_beside;
use tiller_testkit::{Gate, Reply};
use tiller_tools::{StructuredOutput, TodoWrite, Tool, shell_tools, todo_file};

use crate::harness::Lab;

// LOOP-46: the answer that comes instead knows nothing of what the void one has done.
#[tokio::test]
async fn directory_and_todos_of_a_void_answer_are_what_they_were() {
    let lab = Lab::new();
    let (gate, sub) = (Gate::new(), lab.project().join("sub"));
    fs_err::create_dir(&sub).unwrap();
    let todos = json!({"todos": [{"content": "Void", "status": "pending", "activeForm": "Being void"}]});
    lab.server.replies([
        Reply::new()
            .tool_with_id("todo", "TodoWrite", todos)
            .tool_with_id("cd", "Probe", json!({"cd": sub}))
            .gate(&gate)
            .cut(),
        Reply::new().tool_with_id("where", "Probe", json!({"pwd": true})),
        Reply::text("done"),
    ]);
    let setup = lab.setup();
    let mut watch =
        lab.begin(Setup { registry: setup.registry.clone().with(TodoWrite), ..setup }, "go").await;
    watch.until_result("cd").await;
    let path = todo_file::path(&lab.config_dir(), watch.session.id);
    assert_eq!(todo_file::load(&path).len(), 1);
    gate.open();
    watch.until_turn_ends().await;
    assert_eq!((watch.result("cd").cause, watch.result("cd").is_error), (Cause::Call, false));
    assert_eq!(watch.result("where").text(), lab.project().display().to_string());
    assert!(todo_file::load(&path).is_empty(), "the file is a copy of the list");
    let live = State::fold(watch.entries().iter().map(AsRef::as_ref));
    assert!(live.todos.is_empty());
    let start = Start::Resume(watch.session.id);
    watch.close().await;
    let again = Session::start(Setup { start, ..lab.setup() }).unwrap();
    assert_eq!((again.history.cwd, again.history.todos), (live.cwd, live.todos));
    lab.server.assert_clean();
}

// HEAD-04: a result that nobody was sent was not handed over.
#[tokio::test]
async fn a_result_of_a_void_answer_was_not_handed_over() {
    let lab = Lab::new();
    let gate = Gate::new();
    let hand_over = |id: &str| Reply::new().tool_with_id(id, StructuredOutput::NAME, json!({"n": 1}));
    lab.server.replies([hand_over("void").gate(&gate).cut(), Reply::text("done"), hand_over("given")]);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let setup = lab.setup();
    let registry = setup.registry.clone().with(StructuredOutput::new(schema).unwrap());
    let mut watch = lab.begin(Setup { registry, ..setup }, "go").await;
    watch.until_result("void").await;
    gate.open();
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert_eq!(watch.result("given").cause, Cause::Call);
    let asked = lab.server.messages()[2].body()["messages"].to_string();
    assert!(asked.contains("Call StructuredOutput with it now"), "{asked}");
    lab.server.assert_clean();
}

// PERM-21: what a call has changed is told, even if nobody waits for its end any more.
#[tokio::test]
async fn what_a_void_answer_has_changed_is_told_after_an_interrupt() {
    let lab = Lab::new();
    let gate = Gate::new();
    let command = "trap '' TERM; x=$(printf .mcp; printf .json); echo '{}' > $x; touch up; \
                   while :; do sleep 0.02; done";
    lab.server.replies([
        Reply::new().tool("Bash", json!({"command": command})).gate(&gate).cut(),
        Reply::text("done"),
    ]);
    let setup = lab.setup();
    let setup = Setup {
        registry: shell_tools(setup.registry),
        sandbox: SandboxChoice { enabled: false, ..SandboxChoice::default() },
        mode: Some(Mode::BypassPermissions),
        bypass_available: true,
        ..setup
    };
    let mut watch = lab.begin(setup, "go").await;
    eventually_beside("the command runs", || lab.project().join("up").exists()).await;
    gate.open();
    watch.until(|event| matches!(event, Event::CallStopped(_))).await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    watch.close().await;
    let is_told =
        |entry: &Entry| matches!(&entry.body, Body::Notice(notice) if notice.subtype == "guarded_changed");
    assert!(watch.entries().iter().any(|entry| is_told(entry)), "{:#?}", watch.sketch());
}
