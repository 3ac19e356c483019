//! Whatever has happened to a log, the session goes on, and the provider accepts what is sent.

use serde_json::json;
use tiller_engine::{Setup, Start};
use tiller_protocol::command::Event;
use tiller_protocol::entry::Outcome;
use tiller_protocol::id::SessionId;
use tiller_testkit::Reply;

use crate::harness::{Lab, only_log, says};

/// A number that depends on another one and looks as if it did not.
fn scattered(n: usize) -> usize {
    let mixed = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 20).unwrap_or_default()
}

/// The log with one thing wrong.
fn damaged(whole: &[u8], n: usize) -> Vec<u8> {
    let at = scattered(n) % whole.len();
    let line = |from: usize| {
        let start = whole[..from].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let end =
            whole[start..].iter().position(|byte| *byte == b'\n').map_or(whole.len(), |end| start + end + 1);
        start..end
    };
    let mut bytes = whole.to_vec();
    match n % 5 {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << (n % 8),
        2 => bytes.splice(line(at).end..line(at).end, whole[line(at)].to_vec()).for_each(drop),
        3 => drop(bytes.drain(line(at))),
        _ => bytes[line(at)].fill(0),
    }
    bytes
}

// LOG-03 LOG-04 LOG-05
#[tokio::test]
async fn a_damaged_session_goes_on_with_an_acceptable_request() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().thinking("Hm.").and_text("a").tool_with_id("a", "Probe", says("x")).tool_with_id(
            "b",
            "Probe",
            says("y"),
        ),
        Reply::new().thinking("So.").tool_with_id("c", "Probe", says("z")),
        Reply::text("done"),
    ]);
    let mut watch = lab.turn(lab.setup(), "remember the number 7").await;
    watch.close().await;
    let log = only_log(&lab.config_dir());
    let whole = fs_err::read(&log).unwrap();
    for n in 0..120 {
        fs_err::write(&log, damaged(&whole, n)).unwrap();
        lab.server.reply(Reply::text("ok"));
        let setup = Setup { start: Start::Resume(watch.session.id), ..lab.setup() };
        let mut again = lab.begin(setup, "go on").await;
        // A turn that was cut off ends first.
        again.until(|event| matches!(event, Event::StepStarted { .. })).await;
        again.until_turn_ends().await;
        assert_eq!(again.outcome(), Outcome::Success, "fault {n}");
        again.close().await;
        lab.server.assert_clean();
    }
}

const RECORDS: usize = 500;
/// Records of the first two turns.
const FIRST_TURNS: usize = 150;

/// A session with a long log, in turns of some steps; each step thinks, speaks and makes two calls.
async fn long_session(lab: &Lab) -> SessionId {
    let mut watch = None;
    for turn in 0..7 {
        for step in 0..8 {
            let call = |name: &str| format!("{name}-{turn}-{step}");
            let reply = Reply::new().thinking("Hm.").and_text("So.");
            let reply = reply.tool_with_id(&call("a"), "Probe", says("x"));
            lab.server.reply(reply.tool_with_id(&call("b"), "Probe", json!({"say": "y", "fail": step == 3})));
        }
        lab.server.reply(Reply::text("done"));
        match &mut watch {
            None => watch = Some(lab.turn(lab.setup(), "remember the number 7").await),
            Some(watch) => watch.prompt("and on").await,
        }
    }
    let mut watch = watch.unwrap();
    watch.close().await;
    watch.session.id
}

// LOG-03 LOG-04 LOG-05: a log of 500 records is cut off behind each record of its first turns and behind some of those that
// come later, which are the same once more; every fifth time in the middle of the next record. That every byte of a record
// leads to the same is shown where logs are read.
#[tokio::test]
async fn a_long_log_that_is_cut_anywhere_goes_on_with_an_acceptable_request() {
    let lab = Lab::new();
    let session = long_session(&lab).await;
    let log = only_log(&lab.config_dir());
    let whole = fs_err::read(&log).unwrap();
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let ends: Vec<usize> = ends.collect();
    assert!(ends.len() > RECORDS, "{}", ends.len());
    let cuts = (0..RECORDS).filter(|n| *n < FIRST_TURNS || n % 11 == 0);
    for (times, n) in cuts.enumerate() {
        let into = if times % 5 == 0 { scattered(n) % (ends[n + 1] - ends[n]) } else { 0 };
        fs_err::write(&log, &whole[..ends[n] + into]).unwrap();
        lab.server.reply(Reply::text("ok"));
        let setup = Setup { start: Start::Resume(session), ..lab.setup() };
        let mut again = lab.begin(setup, "go on").await;
        again.until(|event| matches!(event, Event::StepStarted { .. })).await;
        again.until_turn_ends().await;
        assert_eq!(again.outcome(), Outcome::Success, "cut behind record {n}");
        again.close().await;
    }
    lab.server.assert_clean();
}
