//! Running calls: order, failure, panic, interruption.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_policy::Access;
use tiller_protocol::command::{Command, Event};
use tiller_protocol::entry::{Cause, Outcome};
use tiller_testkit::Reply;
use tiller_tools::{Description, Done, Tool, ToolCx, ToolError, View};

use crate::harness::{Lab, Watch, says};

fn probe(reply: Reply, id: &str, input: serde_json::Value) -> Reply {
    reply.tool_with_id(id, "Probe", input)
}

fn started(watch: &Watch) -> Vec<String> {
    let started = watch.seen.iter().filter_map(|event| match event {
        Event::CallStarted(call) => Some(call.to_string()),
        _ => None,
    });
    started.collect()
}

// EXEC-06, EXEC-20
#[tokio::test]
async fn a_panicking_tool_is_an_error_result_and_the_loop_goes_on() {
    let lab = Lab::new();
    lab.server.replies([probe(Reply::new(), "a", json!({"panic": true})), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    let result = watch.result("a");
    assert!(result.is_error && result.text().contains("told to panic"), "{}", result.text());
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// EXEC-18, EXEC-19, EXEC-20, EXEC-21
#[tokio::test]
async fn a_failed_change_cancels_what_waits_behind_it() {
    let lab = Lab::new();
    let reply = probe(Reply::new(), "bad", json!({"fail": true, "say": "broken"}));
    lab.server.replies([probe(reply, "next", says("unused")), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!((watch.result("bad").cause, watch.result("bad").text()), (Cause::Call, "broken".to_owned()));
    assert_eq!(watch.result("next").cause, Cause::SiblingError);
    assert_eq!(started(&watch), ["bad"]);
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// EXEC-18: a failed change also cancels what runs beside it.
#[tokio::test]
async fn a_failed_change_cancels_its_running_siblings() {
    let lab = Lab::new();
    let bad = json!({"fail": true, "say": "broken", "safe": true, "wait": "both run"});
    let reply = probe(Reply::new(), "running", json!({"safe": true, "wait": "never"}));
    lab.server.replies([probe(reply, "bad", bad), Reply::text("fine")]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_or_seen_started("running").await;
    watch.until_or_seen_started("bad").await;
    lab.gates.open("both run");
    watch.until_turn_ends().await;
    assert_eq!(
        (watch.result("bad").cause, watch.result("running").cause),
        (Cause::Call, Cause::SiblingError)
    );
    assert!(watch.result("running").is_error);
    lab.server.assert_clean();
}

// EXEC-18: a failed look cancels nothing.
#[tokio::test]
async fn a_failed_read_leaves_its_siblings_alone() {
    let lab = Lab::new();
    let bad = json!({"fail": true, "say": "broken", "safe": true, "read_only": true});
    let reply = probe(probe(Reply::new(), "bad", bad), "good", says("useful"));
    lab.server.replies([reply, Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!((watch.result("bad").is_error, watch.result("good").text()), (true, "useful".to_owned()));
    lab.server.assert_clean();
}

// EXEC-42: grouped execution runs every call.
#[tokio::test]
async fn grouped_execution_runs_all_calls_after_the_answer() {
    let lab = Lab::new();
    let reply = probe(Reply::new(), "bad", json!({"fail": true, "say": "broken"}));
    lab.server.replies([probe(reply, "next", says("run")), Reply::text("fine")]);
    let watch = lab.turn(tiller_engine::Setup { streaming_tools: false, ..lab.setup() }, "go").await;
    assert_eq!((watch.result("bad").is_error, watch.result("next").text()), (true, "run".to_owned()));
    let sketch = watch.sketch();
    let stop = sketch.iter().position(|what| what == "stream message_stop").unwrap();
    assert!(sketch.iter().position(|what| what == "CallStarted").unwrap() > stop);
    lab.server.assert_clean();
}

// EXEC-22, EXEC-23: safe calls are reported as they finish, each once.
#[tokio::test]
async fn parallel_results_come_in_order_of_completion() {
    let lab = Lab::new();
    let waits = |gate: &str| json!({"say": gate, "wait": gate, "safe": true, "read_only": true});
    let reply = probe(probe(probe(Reply::new(), "a", waits("a")), "b", waits("b")), "c", waits("c"));
    lab.server.replies([reply, Reply::text("fine")]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_started("c").await;
    for call in ["c", "a", "b"] {
        lab.gates.open(call);
        watch.until_result(call).await;
    }
    watch.until_turn_ends().await;
    let order: Vec<String> = watch.results().iter().map(|result| result.call.to_string()).collect();
    assert_eq!(order, ["c", "a", "b"]);
    lab.server.assert_clean();
}

// EXEC-10, EXEC-11, EXEC-24: a batch's changes are applied in call order when it drains.
#[tokio::test]
async fn changes_of_a_batch_are_applied_together_in_call_order() {
    let lab = Lab::new();
    let cd = |gate: &str, path: &str| json!({"wait": gate, "cd": path, "safe": true, "read_only": true});
    let pwd = json!({"pwd": true, "safe": false});
    let reply = probe(probe(Reply::new(), "a", cd("a", "/usr")), "b", cd("b", "/etc"));
    lab.server.replies([probe(reply, "pwd", pwd), Reply::text("fine")]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_started("b").await;
    lab.gates.open("b");
    watch.until_result("b").await;
    lab.gates.open("a");
    watch.until_turn_ends().await;
    assert_eq!(watch.result("pwd").text(), "/etc");
    let sketch = watch.sketch();
    let effects: Vec<&String> = sketch.iter().filter(|what| what.starts_with("effect ChangeDir")).collect();
    assert!(effects[0].contains("/usr") && effects[1].contains("/etc"), "{effects:?}");
    lab.server.assert_clean();
}

// EXEC-12
#[tokio::test]
async fn a_serial_calls_change_holds_for_the_next_call() {
    let lab = Lab::new();
    let reply = probe(Reply::new(), "cd", json!({"cd": "/usr"}));
    lab.server.replies([probe(reply, "pwd", json!({"pwd": true})), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.result("pwd").text(), "/usr");
}

// EXEC-26
#[tokio::test]
async fn no_more_than_the_limit_run_at_once() {
    let lab = Lab::new();
    let waits = |gate: &str| json!({"wait": gate, "safe": true, "read_only": true});
    let reply = probe(probe(probe(Reply::new(), "a", waits("a")), "b", waits("b")), "c", waits("c"));
    lab.server.replies([reply, Reply::text("fine")]);
    let mut setup = lab.setup();
    setup.limits.concurrency = 2;
    let mut watch = lab.begin(setup, "go").await;
    watch.until_started("b").await;
    lab.gates.open("b");
    watch.until_result("b").await;
    assert_eq!(started(&watch), ["a", "b"]);
    watch.until_started("c").await;
    lab.gates.open("a");
    lab.gates.open("c");
    watch.until_turn_ends().await;
    lab.server.assert_clean();
}

// LOOP-30, EXEC-21: interruption while tools run keeps what is finished.
#[tokio::test]
async fn an_interrupt_keeps_finished_results_and_answers_the_rest() {
    let lab = Lab::new();
    let reply = probe(Reply::new(), "done", says("kept"));
    let reply = probe(reply, "running", json!({"wait": "never"}));
    lab.server.replies([probe(reply, "waiting", says("unused"))]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_answered().await;
    watch.until_or_seen_started("running").await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.result("done").text(), "kept");
    assert_eq!(watch.result("running").cause, Cause::Interrupted);
    assert_eq!(watch.result("waiting").cause, Cause::Interrupted);
    assert_eq!(watch.outcome(), Outcome::Interrupted);
    lab.server.reply(Reply::text("still here"));
    watch.send(Command::Submit(tiller_protocol::command::UserInput::text("and now?"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

// EXEC-05: no permission is sought for input that does not fit.
#[tokio::test]
async fn bad_input_is_answered_without_a_decision() {
    let lab = Lab::new();
    let reply = probe(Reply::new(), "shape", json!({"say": 3}));
    lab.server.replies([reply, probe(Reply::new(), "check", json!({"invalid": true})), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert!(watch.result("shape").text().contains("say"), "{}", watch.result("shape").text());
    assert_eq!(watch.result("check").text(), "not like this");
    assert!(!watch.sketch().iter().any(|what| what == "decision"));
    lab.server.assert_clean();
}

// EXEC-01: what does not parse is not safe: it runs alone, and its failure stops what waits behind it.
#[tokio::test]
async fn a_call_that_does_not_parse_is_not_safe() {
    let lab = Lab::new();
    let reply =
        probe(Reply::new(), "good", json!({"say": "x", "wait": "gate", "safe": true, "read_only": true}));
    let reply = probe(reply, "bad", json!({"safe": "perhaps"}));
    lab.server.replies([probe(reply, "behind", says("unused")), Reply::text("fine")]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_started("good").await;
    lab.gates.open("gate");
    watch.until_turn_ends().await;
    assert_eq!(started(&watch), ["good", "bad"]);
    assert_eq!(watch.result("good").text(), "x");
    assert_eq!(watch.result("behind").cause, Cause::SiblingError);
    lab.server.assert_clean();
}

// EXEC-04: input, decision, run, result, in that order; EXEC-13: running from start to report.
#[tokio::test]
async fn a_call_goes_through_its_stages_in_order() {
    let lab = Lab::new();
    lab.server.replies([probe(Reply::new(), "a", json!({"cd": "/usr"})), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    let sketch = watch.sketch();
    let stages = ["call a", "CallStarted", "decision", "result a Call", "CallStopped"];
    let places: Vec<_> =
        stages.iter().map(|stage| sketch.iter().position(|what| what == stage).unwrap()).collect();
    assert!(places.is_sorted(), "{sketch:?}");
}

// EXEC-43, LOOP-19: a broken stream takes its running calls along.
#[tokio::test]
async fn a_discarded_executor_stops_its_calls_and_reports_nothing_of_them() {
    let lab = Lab::new();
    let gate = tiller_testkit::Gate::new();
    let reply = probe(
        Reply::new(),
        "old",
        json!({"say": "never seen", "wait": "never", "safe": true, "read_only": true}),
    );
    lab.server.replies([
        reply.gate(&gate).cut(),
        probe(Reply::new(), "new", says("seen")),
        Reply::text("fine"),
    ]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_started("old").await;
    gate.open();
    watch.until_turn_ends().await;
    assert_eq!(watch.result("old").cause, Cause::StreamingFallback);
    assert_eq!(watch.result("new").text(), "seen");
    let stopped = |event: &Event| matches!(event, Event::CallStopped(call) if call.as_str() == "old");
    assert_eq!(watch.seen.iter().filter(|event| stopped(event)).count(), 1);
    lab.gates.open("never");
    watch.close().await;
    assert_eq!(watch.results().iter().filter(|result| result.call.as_str() == "old").count(), 1);
    assert_eq!(lab.server.rejections(), Vec::<String>::new());
}

// A tool that does not stop when told to is given up after a while, and the turn ends.
#[tokio::test]
async fn a_stubborn_call_cannot_hold_the_turn() {
    let lab = Lab::new();
    lab.server.reply(probe(Reply::new(), "a", json!({"wait": "never", "stubborn": true})));
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_answered().await;
    watch.until_or_seen_started("a").await;
    tokio::time::pause();
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.result("a").cause, Cause::Interrupted);
}

// EXEC-21: a call that fails because it was told to stop is not blamed for the others.
#[tokio::test]
async fn an_interrupted_call_that_fails_is_no_sibling_error() {
    let lab = Lab::new();
    let reply = probe(Reply::new(), "a", json!({"wait": "never", "fails_when_stopped": true}));
    lab.server.reply(probe(reply, "b", says("unused")));
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_answered().await;
    watch.until_or_seen_started("a").await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!((watch.result("a").cause, watch.result("b").cause), (Cause::Call, Cause::Interrupted));
    lab.server.assert_clean();
}

// LOOP-38: two calls under one id would hang the session and be refused by the provider.
#[tokio::test]
async fn a_call_id_used_twice_is_made_unique() {
    let lab = Lab::new();
    let reply = probe(probe(Reply::new(), "call_0", says("first")), "call_0", says("second"));
    lab.server.replies([reply, probe(Reply::new(), "call_0", says("third")), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    let texts: Vec<String> = watch.results().iter().map(tiller_protocol::entry::CallResult::text).collect();
    assert_eq!(texts.len(), 3);
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

/// A tool that takes as long to look at its files as the test wants.
struct Reader {
    begun: Sender<()>,
    go_on: Mutex<Receiver<()>>,
}

#[derive(Deserialize, JsonSchema)]
struct ReaderInput {}

impl Tool for Reader {
    const NAME: &'static str = "Reader";
    const READS_FILES: bool = true;
    type Input = ReaderInput;

    fn describe(&self) -> Description {
        Description::new("A test tool", "Reads for long.")
    }

    fn validate(&self, _input: &ReaderInput, _view: &View) -> Result<(), String> {
        self.begun.send(()).unwrap();
        let told = self.go_on.lock().unwrap().recv_timeout(Duration::from_secs(60));
        told.map_err(|_| "nobody was heard meanwhile".to_owned())
    }

    fn access(&self, _input: &ReaderInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, _input: ReaderInput, _cx: ToolCx) -> Result<Done, ToolError> {
        Ok(Done::text("read"))
    }
}

// Whoever stops the agent does not wait until a large file has been read and compared.
#[tokio::test]
async fn a_call_that_reads_before_it_is_permitted_holds_nothing_up() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Reader", json!({})));
    let ((begun, has_begun), (let_go, go_on)) = (channel(), channel());
    let mut setup = lab.setup();
    setup.registry = setup.registry.with(Reader { begun, go_on: Mutex::new(go_on) });
    let mut watch = lab.begin(setup, "go").await;
    watch.until_answered().await;
    tokio::task::spawn_blocking(move || has_begun.recv().unwrap()).await.unwrap();
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!((watch.outcome(), watch.result("a").cause), (Outcome::Interrupted, Cause::Interrupted));
    let_go.send(()).unwrap();
    lab.server.assert_clean();
}
