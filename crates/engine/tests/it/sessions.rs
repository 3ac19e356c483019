//! The log: folding, resuming, forking, damage.

use tiller_engine::{Session, Setup, Start, store};
use tiller_protocol::command::{Command, UserInput};
use tiller_protocol::entry::{Body, Cause, Entry, Outcome};
use tiller_protocol::line;
use tiller_protocol::state::State;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch, only_log, says};

async fn two_steps(lab: &Lab) -> Watch {
    lab.server.replies([
        Reply::text("hm").tool_with_id("a", "Probe", says("x")),
        Reply::new().tool_with_id("b", "Probe", serde_json::json!({"cd": "/elsewhere"})),
        Reply::text("done"),
    ]);
    let mut watch = lab.turn(lab.setup(), "remember the number 7").await;
    watch.close().await;
    watch
}

fn read_all(lab: &Lab) -> (Vec<Entry>, store::Loaded) {
    let mut entries = Vec::new();
    let loaded = store::load(&only_log(&lab.config_dir()), |entry| entries.push(entry)).unwrap();
    (entries, loaded)
}

// LOG-01: folding what is on disk gives the state that was live.
#[tokio::test]
async fn the_log_folds_to_the_live_state() {
    let lab = Lab::new();
    let watch = two_steps(&lab).await;
    let live = watch.entries();
    let (loaded, report) = read_all(&lab);
    assert_eq!(report.damage, []);
    assert_eq!(State::fold(&loaded), State::fold(live.iter().map(AsRef::as_ref)));
    assert_eq!(loaded.len(), live.len());
}

// LOG-03, LOG-04: cut at any byte, the log loads up to the last whole record.
#[tokio::test]
async fn a_log_cut_at_any_byte_loads_what_is_whole() {
    let lab = Lab::new();
    two_steps(&lab).await;
    let log = only_log(&lab.config_dir());
    let whole = fs_err::read(&log).unwrap();
    let copy = lab.config_dir().join("cut.jsonl");
    // The head of a log is one long record; every byte of the records after it is worth cutting at.
    for length in whole.len() - 4_000..whole.len() {
        fs_err::write(&copy, &whole[..length]).unwrap();
        let mut entries = 0;
        let loaded = store::load(&copy, |_| entries += 1).unwrap();
        let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(entries, lines, "cut at {length}");
        let torn = whole[..length].last().is_some_and(|byte| *byte != b'\n');
        assert_eq!(loaded.damage.len(), usize::from(torn), "cut at {length}");
    }
}

// LOG-03: a damaged record in the middle loses only itself, and is noticed.
#[tokio::test]
async fn a_damaged_line_loses_only_itself() {
    let lab = Lab::new();
    two_steps(&lab).await;
    let log = only_log(&lab.config_dir());
    let text = fs_err::read_to_string(&log).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let count = lines.len();
    lines[3] = lines[3].replace("\"type\"", "\"tipe\"");
    fs_err::write(&log, format!("{}\n", lines.join("\n"))).unwrap();
    let (entries, loaded) = read_all(&lab);
    assert_eq!(entries.len(), count - 1);
    assert_eq!(loaded.damage, [store::Damage::Unreadable { line: 4 }]);

    lines[3] = text.lines().nth(3).unwrap().to_owned();
    lines[5] = lines[5].replace("\"seq\":6", "\"seq\":9");
    fs_err::write(&log, format!("{}\n", lines.join("\n"))).unwrap();
    assert_eq!(read_all(&lab).1.damage, [store::Damage::BrokenChain { line: 6 }]);
}

// SESS-01, SESS-04
#[tokio::test]
async fn a_resumed_session_goes_on_where_it_stopped() {
    let lab = Lab::new();
    let watch = two_steps(&lab).await;
    lab.server.reply(Reply::text("seven"));
    let setup = Setup { start: Start::Resume(watch.session.id), ..lab.setup() };
    let mut watch = lab.turn(setup, "which number?").await;
    assert_eq!(watch.session.history.cwd, std::path::Path::new("/elsewhere"));
    watch.close().await;
    let requests = lab.server.messages();
    let (before, after) = (requests[2].raw(), requests[3].raw());
    assert_eq!(&after[..before.len() - 3], &before[..before.len() - 3], "the prefix survives a resume");
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_fork_has_the_history_and_its_own_log() {
    let lab = Lab::new();
    let watch = two_steps(&lab).await;
    let original = fs_err::read(&watch.session.paths.log).unwrap();
    lab.server.reply(Reply::text("seven"));
    let setup = Setup { start: Start::Fork { from: watch.session.id, to: None }, ..lab.setup() };
    let mut fork = lab.turn(setup, "which number?").await;
    fork.close().await;
    assert_ne!(fork.session.id, watch.session.id);
    assert!(lab.server.messages()[3].body()["messages"].to_string().contains("number 7"));
    assert_eq!(fs_err::read(&watch.session.paths.log).unwrap(), original);
    let mut sessions = Vec::new();
    store::load(&fork.session.paths.log, |entry| sessions.push(entry)).unwrap();
    let text = fs_err::read_to_string(&fork.session.paths.log).unwrap();
    assert!(text.lines().all(|line| line.contains(&fork.session.id.to_string())));
    lab.server.assert_clean();
}

// LOG-04: a call that was cut off is answered as lost and not run again.
#[tokio::test]
async fn a_call_that_was_cut_off_is_not_run_again() {
    let lab = Lab::new();
    let watch = two_steps(&lab).await;
    let log = watch.session.paths.log.clone();
    let text = fs_err::read_to_string(&log).unwrap();
    let call =
        text.lines().position(|line| line.contains("\"toolu\"") || line.contains("\"id\":\"b\"")).unwrap();
    let kept: String = text.lines().take(call + 1).map(|line| format!("{line}\n")).collect();
    fs_err::write(&log, kept).unwrap();
    lab.server.reply(Reply::text("I see"));
    let setup = Setup { start: Start::Resume(watch.session.id), ..lab.setup() };
    let mut watch = lab.turn(setup, "go on").await;
    assert_eq!(watch.outcome(), Outcome::Interrupted);
    watch.until_turn_ends().await;
    assert_eq!(watch.result("b").cause, Cause::Lost);
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.assert_clean();
}

#[tokio::test]
async fn a_second_process_is_kept_out() {
    let lab = Lab::new();
    lab.server.reply(Reply::text("hi"));
    let watch = lab.turn(lab.setup(), "go").await;
    let setup = Setup { start: Start::Resume(watch.session.id), ..lab.setup() };
    let error = Session::start(setup).err().unwrap().to_string();
    assert!(error.contains("in use") && error.contains("--fork-session"), "{error}");
    let missing =
        Setup { start: Start::Resume(tiller_protocol::id::SessionId(uuid::Uuid::nil())), ..lab.setup() };
    assert!(Session::start(missing).err().unwrap().to_string().contains("no session"));
    let taken = Setup { start: Start::New(Some(watch.session.id)), ..lab.setup() };
    assert!(Session::start(taken).err().unwrap().to_string().contains("exists already"));
}

// SECR-02
#[tokio::test]
async fn logs_are_private_to_the_user() {
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    let watch = two_steps(&lab).await;
    let mode = fs_err::metadata(&watch.session.paths.log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

// LOG-07
#[tokio::test]
async fn sessions_are_listed_from_their_logs() {
    let lab = Lab::new();
    let watch = two_steps(&lab).await;
    let list = store::list(&lab.config_dir(), &lab.project());
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].id, list[0].title.as_str()), (watch.session.id, "remember the number 7"));
    assert_eq!(store::latest(&lab.config_dir(), &lab.project()).unwrap().id, watch.session.id);
}

#[tokio::test]
async fn queued_input_survives_a_crash() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", serde_json::json!({"wait": "never"})));
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_started("a").await;
    watch.send(Command::Submit(UserInput::text("do not forget me"))).await;
    watch.until(|event| matches!(event, tiller_protocol::command::Event::Appended(entry) if matches!(entry.body, Body::Queued(_)))).await;
    let crashed = fs_err::read_to_string(&watch.session.paths.log).unwrap();
    let entries: Vec<Entry> = crashed.lines().map(|line| line::read(&strip_hash(line)).unwrap()).collect();
    assert_eq!(State::fold(&entries).queue.len(), 1);
    watch.send(Command::Interrupt).await;
}

fn strip_hash(line: &str) -> String {
    let at = line.rfind(",\"hash\":").unwrap();
    format!("{}}}", &line[..at])
}

// VERB-02: what was queued does not send itself after an interrupt; the user's next word releases it.
#[tokio::test]
async fn the_queue_waits_after_an_interrupt() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("a", "Probe", serde_json::json!({"wait": "never"})));
    let mut watch = lab.begin(lab.setup(), "go").await;
    watch.until_answered().await;
    watch.until_or_seen_started("a").await;
    watch.send(Command::Submit(UserInput::text("queued"))).await;
    watch.send(Command::Interrupt).await;
    watch.until(|event| matches!(event, tiller_protocol::command::Event::Idle)).await;
    assert_eq!(lab.server.messages().len(), 1);
    lab.server.replies([Reply::text("first"), Reply::text("both")]);
    watch.send(Command::Submit(UserInput::text("now"))).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    let last = lab.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(last.contains("now") && last.contains("queued"), "{last}");
    lab.server.assert_clean();
}

// Programs that copy a session write its lines anew; the conversation is still there, and the chain is known to be broken.
#[tokio::test]
async fn a_log_rewritten_by_another_program_is_still_a_session() {
    let lab = Lab::new();
    let watch = two_steps(&lab).await;
    let log = watch.session.paths.log.clone();
    let text = fs_err::read_to_string(&log).unwrap();
    let messages = text.lines().filter_map(|line| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        let kept = ["user", "assistant", "system", "attachment"].iter().any(|kind| value["type"] == *kind);
        value["forkedFrom"] = "elsewhere".into();
        kept.then(|| serde_json::to_string(&value).unwrap().replace("\":", "\": "))
    });
    fs_err::write(&log, messages.map(|line| line + "\n").collect::<String>()).unwrap();
    lab.server.reply(Reply::text("seven"));
    let setup = Setup { start: Start::Resume(watch.session.id), ..lab.setup() };
    let mut watch = lab.begin(setup, "which number?").await;
    watch.until(|event| matches!(event, tiller_protocol::command::Event::Appended(entry) if matches!(&entry.body, Body::TurnEnded(end) if end.outcome == Outcome::Success))).await;
    let request = lab.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(request.contains("number 7") && request.contains("tool_result"), "{request}");
    lab.server.assert_clean();
}
