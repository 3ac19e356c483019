//! Going back in a session that is open.

use tiller_engine::{Setup, Start};
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::entry::{Body, Entry, Outcome};
use tiller_protocol::id::EntryId;
use tiller_protocol::rewind::{
    FileDifference, RewindAct, RewindOrder, RewindPart, RewindReport, RewindTarget,
};
use tiller_protocol::state::State;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch};

pub(crate) fn order(to: RewindTarget, part: RewindPart, act: RewindAct) -> Command {
    Command::Rewind(RewindOrder { to, part, act })
}

/// The prompts of a session, in order.
pub(crate) fn prompts(watch: &Watch) -> Vec<EntryId> {
    let prompt = |entry: &std::sync::Arc<tiller_protocol::entry::Entry>| {
        matches!(&entry.body, Body::User(message) if !message.is_hidden()).then_some(entry.id)
    };
    watch.entries().iter().filter_map(prompt).collect()
}

pub(crate) async fn report(watch: &mut Watch) -> RewindReport {
    watch.until(|event| matches!(event, Event::Rewind(_))).await;
    match watch.seen.last() {
        Some(Event::Rewind(report)) => RewindReport::clone(report),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn say(lab: &Lab, watch: &mut Watch, file: &str) {
    lab.server.replies([
        Reply::new().thinking("Hm.").tool("Probe", serde_json::json!({"writes": lab.project().join(file)})),
        Reply::text(format!("did {file}")),
    ]);
    watch.send(Command::Submit(UserInput::text(&format!("do {file}")))).await;
    watch.until(|event| matches!(event, Event::Idle)).await;
}

// UNDO-01 UNDO-02 CACHE-06
#[tokio::test]
async fn an_open_session_goes_back_and_forth() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hello"));
    let mut watch = lab.turn(lab.setup(), "hello").await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    // What the probe declares to write, somebody else writes: a snapshot sees what happens, not what is declared.
    for file in ["one", "two"] {
        say(&lab, &mut watch, file).await;
        fs_err::write(lab.project().join(file), file).unwrap();
    }
    let [_, one, two] = prompts(&watch)[..] else { panic!("three prompts were given") };

    watch.send(order(RewindTarget::Prompt(two), RewindPart::Both, RewindAct::Preview)).await;
    let preview = report(&mut watch).await;
    let texts = Some(("two".to_owned(), String::new()));
    assert_eq!(
        preview.files,
        [FileDifference { path: lab.project().join("two"), change: "removed", texts }],
        "what will be lost is shown"
    );
    assert_eq!(preview.prompt.as_deref(), Some("do two"));
    assert!(lab.project().join("two").exists());

    watch.send(order(RewindTarget::Prompt(one), RewindPart::Both, RewindAct::Carry)).await;
    assert_eq!(report(&mut watch).await.left, []);
    assert!(!lab.project().join("one").exists() && !lab.project().join("two").exists());
    lab.server.reply(Reply::text("ok"));
    watch.send(Command::Submit(UserInput::text("another way"))).await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    let messages = lab.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(messages.contains("hello") && messages.contains("another way"), "{messages}");
    assert!(!messages.contains("did one") && !messages.contains("thinking"), "{messages}");

    watch.send(order(RewindTarget::Undo, RewindPart::Both, RewindAct::Carry)).await;
    report(&mut watch).await;
    assert!(lab.project().join("one").exists() && lab.project().join("two").exists());
    lab.server.reply(Reply::text("ok"));
    watch.send(Command::Submit(UserInput::text("and on"))).await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    let messages = lab.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(messages.contains("did two") && !messages.contains("another way"), "{messages}");
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();

    // LOG-01: what is on disk folds to the same.
    watch.close().await;
    let mut state = State::default();
    tiller_engine::store::load(&watch.session.paths.log, |entry| state.apply(&entry)).unwrap();
    assert_eq!(state, State::fold(watch.entries().iter().map(AsRef::as_ref)));
}

// LOG-02 UNDO-02: killed while files go back, a session says so when it is opened again, once, and the step can be undone.
#[tokio::test]
async fn a_step_back_that_was_cut_off_is_told_of() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hello"));
    let mut watch = lab.turn(lab.setup(), "hello").await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    say(&lab, &mut watch, "one").await;
    fs_err::write(lab.project().join("one"), "one").unwrap();
    let one = prompts(&watch)[1];
    watch.send(order(RewindTarget::Prompt(one), RewindPart::Both, RewindAct::Carry)).await;
    report(&mut watch).await;
    assert!(!lab.project().join("one").exists());
    let (id, log) = (watch.session.id, watch.session.paths.log.clone());
    watch.close().await;

    let whole = fs_err::read_to_string(&log).unwrap();
    let announced = whole.find("\"announced\":true").unwrap();
    let arrived = whole.find("\"went_back\"").unwrap();
    assert!(announced < arrived, "{whole}");
    let end = whole[..arrived].rfind('\n').unwrap() + 1;
    fs_err::write(&log, &whole[..end]).unwrap();
    let resumed = || Setup { start: Start::Resume(id), ..lab.setup() };
    let told = |watch: &Watch| {
        let is_it =
            |entry: &Entry| matches!(&entry.body, Body::Notice(notice) if notice.subtype == "rewind_cut_off");
        watch.entries().iter().filter(|entry| is_it(entry)).count()
    };
    lab.server.replies([Reply::text("ok"), Reply::text("ok")]);
    let mut watch = lab.turn(resumed(), "what now?").await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    assert_eq!(told(&watch), 1);
    watch.send(order(RewindTarget::Undo, RewindPart::Both, RewindAct::Carry)).await;
    report(&mut watch).await;
    assert_eq!(fs_err::read_to_string(lab.project().join("one")).unwrap(), "one");
    watch.close().await;
    let watch = lab.turn(resumed(), "and now?").await;
    assert_eq!(told(&watch), 0);
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_running_turn_and_an_unknown_prompt_are_refused() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", serde_json::json!({"wait": "gate"})));
    let mut watch = lab.begin(lab.setup(), "wait").await;
    watch.until_started("a").await;
    let nowhere = RewindTarget::Prompt(EntryId::default());
    watch.send(order(nowhere, RewindPart::Both, RewindAct::Carry)).await;
    watch.until(|event| matches!(event, Event::Rejected(why) if why.contains("running turn"))).await;
    lab.server.reply(Reply::text("done"));
    lab.gates.open("gate");
    watch.until_turn_ends().await;
    watch.send(order(nowhere, RewindPart::Both, RewindAct::Carry)).await;
    watch.until(|event| matches!(event, Event::Rejected(why) if why.contains("nothing to go back"))).await;
    watch.send(order(RewindTarget::Undo, RewindPart::Both, RewindAct::Carry)).await;
    watch.until(|event| matches!(event, Event::Rejected(why) if why.contains("nothing to go back"))).await;
}
