//! Conversations that are folded: what is sent afterwards, and what is not.

use std::sync::Arc;

use serde_json::{Value, json};
use tiller_engine::{Session, Setup, Start};
use tiller_model::{Catalog, anthropic};
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::compaction::{Compacted, Trigger};
use tiller_protocol::entry::{Body, Outcome};
use tiller_protocol::rewind::{RewindAct, RewindOrder, RewindPart, RewindTarget};
use tiller_testkit::{ConversationHandle, Gate, Matcher, ModelServer, Reply};
use tiller_tools::{Recall, Registry};

use crate::harness::{Lab, Watch, only_log, says};

/// What every request for a summary says.
pub(crate) const ASKED: &str = "Write a summary of the session below";

/// The requests for summaries, apart from the conversation.
pub(crate) fn summaries(lab: &Lab) -> ConversationHandle {
    lab.server.conversation(Matcher::last_user_contains(ASKED))
}

/// A set-up with a model whose window holds this much.
pub(crate) fn small(lab: &Lab, window: u64) -> Setup {
    lab.server.set_window(window);
    let setup = lab.setup();
    let id = setup.names.main_model(None);
    let row = json!({"models": [{"id": id, "contextWindow": window, "maxOutput": window / 5}]});
    let catalog = Catalog::with_overrides(&row.to_string()).unwrap();
    let config = anthropic::Config::from_env(&setup.env).unwrap();
    let model = anthropic::Anthropic::new(config, catalog, setup.env.clone()).unwrap();
    Setup { model: Arc::new(model), registry: with_recall(setup.registry.clone()), ..setup }
}

pub(crate) fn with_recall(registry: Registry) -> Registry {
    registry.with(Recall)
}

impl Watch {
    /// Gives a prompt and waits for the end of its turn.
    pub(crate) async fn prompt(&mut self, text: &str) {
        self.send(Command::Submit(UserInput::text(text))).await;
        self.until_turn_ends().await;
    }

    /// Folds the conversation.
    pub(crate) async fn compact(&mut self, instructions: Option<&str>) {
        self.send(Command::Compact { instructions: instructions.map(str::to_owned) }).await;
        self.until_turn_ends().await;
    }

    /// Every fold so far.
    pub(crate) fn folds(&self) -> Vec<Compacted> {
        let fold = |entry: Arc<tiller_protocol::entry::Entry>| match &entry.body {
            Body::Compacted(compacted) => Some(Compacted::clone(compacted)),
            _ => None,
        };
        self.entries().into_iter().filter_map(fold).collect()
    }

    fn notices(&self) -> Vec<String> {
        let notice = |entry: Arc<tiller_protocol::entry::Entry>| match &entry.body {
            Body::Notice(notice) => Some(notice.subtype.clone()),
            _ => None,
        };
        self.entries().into_iter().filter_map(notice).collect()
    }
}

/// The messages of the last request of the conversation.
pub(crate) fn last_messages(server: &ModelServer) -> Value {
    server.messages().last().unwrap().body()["messages"].clone()
}

fn tools(server: &ModelServer) -> Vec<String> {
    let body = server.messages().last().unwrap().body().clone();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// RECALL-01: a session that goes on from a log without writing to it folds what it has read there as well.
#[tokio::test]
async fn what_was_said_in_a_log_that_stays_as_it_is_is_folded_too() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("There was a pump."));
    lab.server.replies([Reply::text("The pump hums."), Reply::text("It does."), Reply::text("Still.")]);
    let mut watch = lab.turn(small(&lab, 200_000), "Listen to the pump.").await;
    let id = watch.session.id;
    watch.close().await;
    let log = fs_err::read(only_log(&lab.config_dir())).unwrap();
    let unkept = Setup { start: Start::Resume(id), persist: false, ..small(&lab, 200_000) };
    let mut watch = lab.turn(unkept, "Does it hum?").await;
    watch.compact(None).await;
    let requests = lab.server.messages().into_iter().map(|request| request.body()["messages"].to_string());
    let asked = requests.into_iter().find(|messages| messages.contains(ASKED)).unwrap();
    assert!(asked.contains("The pump hums.") && asked.contains("It does."), "{asked}");
    watch.prompt("And now?").await;
    let sent = last_messages(&lab.server).to_string();
    assert!(sent.contains("There was a pump.") && sent.contains("Listen to the pump."), "{sent}");
    watch.close().await;
    assert_eq!(fs_err::read(only_log(&lab.config_dir())).unwrap(), log);
    lab.server.assert_clean();
}

// SESS-13 SESS-14 RECALL-01
#[tokio::test]
async fn what_was_folded_is_not_sent_and_the_users_words_are() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("The pump has a port."));
    lab.server.replies([Reply::text("An old answer."), Reply::text("A new answer.")]);
    let mut watch = lab.turn(small(&lab, 200_000), "Always use port 4711.").await;
    watch.compact(Some("Mind the port.")).await;
    assert_eq!(watch.outcome(), Outcome::Success);
    let fold = watch.folds().pop().unwrap();
    assert_eq!((fold.trigger, fold.summary.as_str()), (Trigger::Manual, "The pump has a port."));
    assert_eq!((fold.carried, fold.left_out, fold.kept.clone()), (1, 0, None));
    assert_eq!((fold.usage.requests, fold.usage.output_tokens > 0), (1, true));
    assert!(fold.pre_tokens > 0 && fold.post_tokens > 0, "{fold:?}");
    watch.prompt("Go on.").await;
    let sent = last_messages(&lab.server).to_string();
    assert!(!sent.contains("An old answer."), "{sent}");
    assert!(sent.contains("The pump has a port.") && sent.contains("> Always use port 4711."), "{sent}");
    let asked = summaries_asked(&lab);
    assert!(asked[0].contains("The user adds for this summary:\\nMind the port."), "{asked:?}");
    assert!(asked[0].contains("An old answer."), "{asked:?}");
    lab.server.assert_clean();
}

// RECALL-01: a rule in the middle of a long prompt is carried over while there is room for it, and what was shortened is
// on record.
#[tokio::test]
async fn a_long_prompt_is_carried_over_whole_while_there_is_room() {
    let lab = Lab::new();
    summaries(&lab).replies([Reply::text("There is a parser."), Reply::text("There still is.")]);
    lab.server.replies([Reply::text("Understood."), Reply::text("Yes."), Reply::text("Still.")]);
    let rule = "RULE: never rename parse_date.";
    let prompt = format!("{}{rule} {}", "before ".repeat(900), "behind ".repeat(900));
    let mut watch = lab.turn(small(&lab, 400_000), &prompt).await;
    watch.compact(None).await;
    let fold = watch.folds().pop().unwrap();
    assert_eq!((fold.carried, fold.shortened, fold.left_out), (1, 0, 0));
    watch.prompt("Go on.").await;
    let sent = last_messages(&lab.server).to_string();
    assert!(sent.contains(rule) && !sent.contains("characters left out"), "{sent}");
    watch.prompt(&"and this ".repeat(8_000)).await;
    watch.compact(None).await;
    let fold = watch.folds().pop().unwrap();
    assert_eq!((fold.carried, fold.shortened, fold.left_out), (2, 1, 1));
    lab.server.assert_clean();
}

// RECALL-04: what is open and what comes next stand at the end of a summary, and must not be cut off unnoticed.
#[tokio::test]
async fn a_summary_that_is_cut_off_is_asked_for_again_in_short() {
    let lab = Lab::new();
    let handle = summaries(&lab);
    handle.replies([Reply::text("Long and ").max_tokens_cut(), Reply::text("Short. The valve is open.")]);
    lab.server.replies([Reply::text("Yes."), Reply::text("Still."), Reply::text("And on.")]);
    let mut watch = lab.turn(small(&lab, 200_000), "Mend the pump.").await;
    watch.compact(None).await;
    let fold = watch.folds().pop().unwrap();
    assert_eq!((fold.summary.as_str(), fold.usage.requests), ("Short. The valve is open.", 2));
    let asked = summaries_asked(&lab);
    assert!(
        asked[1].contains("was cut off by the limit") && !asked[0].contains("was cut off by"),
        "{asked:?}"
    );

    watch.prompt("Go on.").await;
    handle.replies([Reply::text("Long ").max_tokens_cut(), Reply::text("Still too ").max_tokens_cut()]);
    watch.compact(None).await;
    let fold = watch.folds().pop().unwrap();
    assert_eq!(fold.summary, "Still too\n\n[The summary was cut off here by the limit on its length.]");
    watch.prompt("And on.").await;
    assert!(last_messages(&lab.server).to_string().contains("The summary was cut off here"));
    lab.server.assert_clean();
}

fn summaries_asked(lab: &Lab) -> Vec<String> {
    let requests = lab.server.messages();
    let texts = requests.iter().map(|request| request.body()["messages"].to_string());
    texts.filter(|text| text.contains(ASKED)).collect()
}

// RECALL-03
#[tokio::test]
async fn a_compaction_is_undone_and_the_log_only_grows() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("Short."));
    lab.server.replies([Reply::text("An old answer."), Reply::text("A new answer."), Reply::text("Last.")]);
    let mut watch = lab.turn(small(&lab, 200_000), "Begin.").await;
    let before = last_messages(&lab.server);
    watch.compact(None).await;
    watch.send(Command::UndoCompaction).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    watch.prompt("Go on.").await;
    let sent = last_messages(&lab.server);
    assert_eq!(sent[0], before[0]);
    assert!(sent.to_string().contains("An old answer.") && !sent.to_string().contains("Short."), "{sent}");
    assert!(!tools(&lab.server).contains(&"Recall".to_owned()));
    let seqs: Vec<u64> = watch.entries().iter().map(|entry| entry.seq).collect();
    assert!(seqs.is_sorted() && seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
    // Once the user has spoken it is too late.
    watch.send(Command::UndoCompaction).await;
    watch.until_turn_ends().await;
    assert!(matches!(watch.outcome(), Outcome::Error { .. }));
    watch.prompt("Bye.").await;
    lab.server.assert_clean();
}

// RECALL-02
#[tokio::test]
async fn what_was_folded_can_be_looked_up() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("Short."));
    lab.server.replies([
        Reply::new().tool_with_id("c1", "Probe", says("the secret port is 4711")),
        Reply::text("Fine."),
        Reply::new().tool_with_id("c2", "Recall", json!({"query": "secret PORT"})),
        Reply::text("It is 4711."),
    ]);
    let mut watch = lab.turn(small(&lab, 200_000), "Begin.").await;
    assert!(!tools(&lab.server).contains(&"Recall".to_owned()), "nothing was folded yet");
    watch.compact(None).await;
    watch.prompt("Which port?").await;
    assert!(tools(&lab.server).contains(&"Recall".to_owned()));
    let found = watch.result("c2").text();
    assert!(found.contains("the secret port is 4711") && found.contains("TOOL RESULT: c1"), "{found}");
    lab.server.assert_clean();
}

// SESS-12
#[tokio::test]
async fn a_summary_that_fails_leaves_everything_as_it_was() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::status(400, "invalid_request_error", "no"));
    lab.server.replies([Reply::text("An old answer."), Reply::text("A new answer.")]);
    let mut watch = lab.turn(small(&lab, 200_000), "Begin.").await;
    watch.compact(None).await;
    assert!(matches!(watch.outcome(), Outcome::Error { .. }));
    assert!(watch.notices().contains(&"compaction_failed".to_owned()));
    let ended = |event: &Event| matches!(event, Event::CompactionEnded { failure: Some(_) });
    assert!(watch.seen.iter().any(ended));
    watch.prompt("Go on.").await;
    assert!(last_messages(&lab.server).to_string().contains("An old answer."));
    assert!(watch.folds().is_empty());
}

#[tokio::test]
async fn an_empty_conversation_has_nothing_to_fold() {
    let lab = Lab::new();
    let session = Session::start(small(&lab, 200_000)).unwrap();
    let mut watch = Watch { session, seen: Vec::new() };
    watch.compact(None).await;
    assert!(matches!(watch.outcome(), Outcome::Error { .. }));
    assert_eq!(lab.server.messages().len(), 0);
}

// SESS-14 RECALL-03: a session that is taken up again stands where it stood.
#[tokio::test]
async fn a_resumed_session_knows_its_folds() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("Short."));
    lab.server.replies([Reply::text("An old answer."), Reply::text("A new answer."), Reply::text("Last.")]);
    let mut watch = lab.turn(small(&lab, 200_000), "Begin.").await;
    watch.compact(None).await;
    watch.close().await;
    let id = watch.session.id;
    let resumed = Setup { start: Start::Resume(id), ..small(&lab, 200_000) };
    let mut watch = lab.turn(resumed, "Go on.").await;
    let sent = last_messages(&lab.server).to_string();
    assert!(sent.contains("Short.") && !sent.contains("An old answer."), "{sent}");
    assert!(tools(&lab.server).contains(&"Recall".to_owned()));
    watch.close().await;
    let fork = Setup { start: Start::Fork { from: id, to: None }, ..small(&lab, 200_000) };
    lab.turn(fork, "And on.").await;
    let sent = last_messages(&lab.server).to_string();
    assert!(sent.contains("Short.") && sent.contains("A new answer."), "{sent}");
    assert!(!sent.contains("An old answer."), "{sent}");
    lab.server.assert_clean();
}

// RECALL-03 UNDO-02: going back crosses folds in both directions.
#[tokio::test]
async fn going_back_behind_a_fold_brings_back_what_was_folded() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("Short."));
    lab.server.replies(["First.", "Second.", "Third.", "Fourth.", "Fifth."].map(Reply::text));
    let mut watch = lab.turn(small(&lab, 200_000), "one").await;
    watch.prompt("two").await;
    watch.compact(None).await;
    watch.prompt("three").await;
    let second = watch
        .entries()
        .into_iter()
        .filter(|entry| matches!(&entry.body, Body::User(message) if !message.is_hidden()));
    let to = RewindTarget::Prompt(second.map(|entry| entry.id).nth(1).unwrap());
    let order = |to| RewindOrder { to, part: RewindPart::Conversation, act: RewindAct::Carry };
    watch.send(Command::Rewind(order(to))).await;
    watch.until(|event| matches!(event, Event::Rewind(_))).await;
    watch.prompt("two again").await;
    let sent = last_messages(&lab.server).to_string();
    assert!(sent.contains("First.") && sent.contains("two again"), "{sent}");
    assert!(!sent.contains("Short.") && !sent.contains("Second.") && !sent.contains("Third."), "{sent}");
    assert!(!tools(&lab.server).contains(&"Recall".to_owned()));
    watch.send(Command::Rewind(order(RewindTarget::Undo))).await;
    watch.until(|event| matches!(event, Event::Rewind(_))).await;
    watch.prompt("four").await;
    let sent = last_messages(&lab.server).to_string();
    assert!(sent.contains("Short.") && sent.contains("Third.") && !sent.contains("two again"), "{sent}");
    assert!(tools(&lab.server).contains(&"Recall".to_owned()));
    lab.server.assert_clean();
}

// LOG-04 RECALL-01: a run that is killed in the middle of a fold has folded nothing.
#[tokio::test]
async fn half_a_fold_is_none() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("Short."));
    lab.server.replies([Reply::text("An old answer."), Reply::text("A new answer.")]);
    let mut watch = lab.turn(small(&lab, 200_000), "Begin.").await;
    watch.compact(None).await;
    watch.close().await;
    let log = only_log(&lab.config_dir());
    let text = fs_err::read_to_string(&log).unwrap();
    let boundary = text.find("compact_boundary").unwrap();
    for lines in [1, 2] {
        let ends: Vec<usize> =
            text[boundary..].match_indices('\n').map(|(at, _)| boundary + at + 1).collect();
        fs_err::write(&log, &text[..ends[lines - 1]]).unwrap();
        lab.server.reply(Reply::text("A new answer."));
        let resumed = Setup { start: Start::Resume(watch.session.id), ..small(&lab, 200_000) };
        let mut again = lab.turn(resumed, "Go on.").await;
        let sent = last_messages(&lab.server).to_string();
        assert!(sent.contains("An old answer.") && !sent.contains("Short."), "{lines}: {sent}");
        assert!(again.notices().contains(&"compaction_undone".to_owned()));
        again.close().await;
    }
}

// RECALL-02: also where nothing is kept on disk.
#[tokio::test]
async fn a_session_that_is_not_kept_folds_and_recalls() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("Short."));
    lab.server.replies([
        Reply::text("The port is 4711."),
        Reply::new().tool_with_id("c", "Recall", json!({"query": "port"})),
        Reply::text("4711."),
        Reply::text("Back."),
    ]);
    let mut watch = lab.turn(Setup { persist: false, ..small(&lab, 200_000) }, "Begin.").await;
    watch.compact(None).await;
    watch.prompt("Which port?").await;
    let found = watch.result("c").text();
    assert!(found.contains("The port is 4711."), "{found}");
    let entry: u64 = found.split("[entry ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    lab.server.replies([
        Reply::new().tool_with_id("e", "Recall", json!({"entry": entry, "offset": 4})),
        Reply::text("Read."),
    ]);
    watch.prompt("Quote it.").await;
    watch.prompt("Quote it once more.").await;
    assert!(watch.result("e").text().contains("]\nport is 4711."), "{}", watch.result("e").text());
}

// SESS-20
#[tokio::test]
async fn the_log_grows_while_things_happen_and_records_what_became_void() {
    let lab = Lab::new();
    let gate = Gate::new();
    lab.server.replies([
        Reply::new().tool_with_id("a", "Probe", says("early")).gate(&gate).and_text("said at last"),
        Reply::text("a lost beginning").cut(),
        Reply::text("done"),
    ]);
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_result("a").await;
    let log = || fs_err::read_to_string(only_log(&lab.config_dir())).unwrap();
    assert!(log().contains("early") && !log().contains("said at last"), "{}", log());
    gate.open();
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    assert!(log().contains("a lost beginning") && log().contains("\"type\":\"orphaned\""), "{}", log());
    assert!(!last_messages(&lab.server).to_string().contains("a lost beginning"));
}
