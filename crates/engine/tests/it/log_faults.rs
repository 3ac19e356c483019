//! Whatever has happened to a log, the session goes on, and the provider accepts what is sent.

use tiller_engine::{Setup, Start};
use tiller_protocol::command::Event;
use tiller_protocol::entry::Outcome;
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
