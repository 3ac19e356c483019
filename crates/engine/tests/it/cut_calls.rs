//! Calls that were cut off in the middle of being written.

use serde_json::{Value, json};
use tiller_protocol::entry::Outcome;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch, says};

fn limits(lab: &Lab) -> Vec<u64> {
    lab.server.messages().iter().map(|request| request.body()["max_tokens"].as_u64().unwrap()).collect()
}

fn texts(watch: &Watch) -> Vec<String> {
    watch.results().iter().map(|result| result.text()).collect()
}

fn cut(name: &str, input: Value) -> Reply {
    Reply::new().tool(name, input).max_tokens_cut()
}

#[tokio::test]
async fn a_call_cut_by_the_output_limit_is_repeated_with_a_larger_one() {
    let lab = Lab::new();
    let whole = Reply::new().tool("Probe", says("done"));
    lab.server.replies([cut("Probe", says("something long")), whole, Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert_eq!(limits(&lab), [32_000, 128_000, 128_000]);
    let [cut, done] = &texts(&watch)[..] else { panic!("{:?}", texts(&watch)) };
    assert!(cut.contains("the output limit of 32000 tokens") && cut.contains("128000"), "{cut}");
    assert_eq!(done, "done");
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_call_that_is_cut_again_and_again_ends_the_turn() {
    let lab = Lab::new();
    lab.server.replies(std::iter::repeat_n(cut("Probe", says("something long")), 4));
    let watch = lab.turn(lab.setup(), "go").await;
    let Outcome::Error { message, .. } = watch.outcome() else { panic!("{:?}", watch.outcome()) };
    assert!(message.contains("output limit"), "{message}");
    assert!(texts(&watch)[3].contains("smaller parts"), "{:?}", texts(&watch));
    assert_eq!(watch.results().len(), 4);
    lab.server.assert_clean();
}

#[tokio::test]
async fn calls_that_are_cut_now_and_then_do_not_end_the_turn() {
    let lab = Lab::new();
    let pair = || [cut("Probe", says("something long")), Reply::new().tool("Probe", says("part"))];
    lab.server.replies((0..5).flat_map(|_| pair()).chain([Reply::text("fine")]));
    let watch = lab.turn(lab.setup(), "go").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_call_cut_before_its_input_is_not_run() {
    for streaming in [true, false] {
        let lab = Lab::new();
        let nothing = Reply::new().tool("Probe", says("before")).tool_json("Probe", "").stop("max_tokens");
        lab.server.replies([nothing, Reply::text("fine")]);
        let mut setup = lab.setup();
        setup.streaming_tools = streaming;
        let watch = lab.turn(setup, "go").await;
        let [before, cut] = &watch.results()[..] else { panic!("{:?}", texts(&watch)) };
        assert!(!before.is_error && before.text() == "before");
        assert!(cut.is_error && cut.text().contains("cut off"), "{}", cut.text());
        lab.server.assert_clean();
    }
}

#[tokio::test]
async fn input_that_is_no_object_is_not_called_cut_off() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_json("Probe", "[1]"), Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert!(texts(&watch)[0].contains("it has to be an object"), "{:?}", texts(&watch));
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_call_without_input_runs_when_nothing_has_cut_it_off() {
    let lab = Lab::new();
    let both = Reply::new().tool("Probe", json!({})).tool_json("Probe", "");
    lab.server.replies([both, Reply::text("fine")]);
    let watch = lab.turn(lab.setup(), "go").await;
    assert!(watch.results().iter().all(|result| !result.is_error), "{:?}", texts(&watch));
    assert_eq!(watch.results().len(), 2);
    lab.server.assert_clean();
}
