//! Whatever has happened to a log, the session goes on, and the provider accepts what is sent.

use std::path::PathBuf;
use std::sync::Arc;

use futures::{StreamExt, stream};
use serde_json::json;
use tempfile::TempDir;
use tiller_engine::{Setup, Start};
use tiller_model::Model;
use tiller_protocol::command::Event;
use tiller_protocol::entry::Outcome;
use tiller_protocol::id::SessionId;
use tiller_testkit::{ModelServer, Reply};

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
/// Sessions that go on at the same time.
const AT_ONCE: usize = 4;

/// A session that is over.
struct Recorded {
    lab: Lab,
    session: SessionId,
    model: Arc<dyn Model>,
    /// Where its log is below a configuration directory.
    log: PathBuf,
    bytes: Vec<u8>,
    /// Where each record begins, and the end.
    starts: Vec<usize>,
}

impl Recorded {
    /// Turns of some steps; each step thinks, speaks and makes two calls, of which one may fail.
    async fn new(turns: usize) -> Self {
        let lab = Lab::with(ModelServer::builder().keep_bodies(false).start());
        let mut watch = None;
        for turn in 0..turns {
            for step in 0..8 {
                let call = |name: &str| format!("{name}-{turn}-{step}");
                let reply = Reply::new().thinking("Hm.").and_text("So.");
                let reply = reply.tool_with_id(&call("a"), "Probe", says("x"));
                let other = json!({"say": "y", "fail": step == 3});
                lab.server.reply(reply.tool_with_id(&call("b"), "Probe", other));
            }
            lab.server.reply(Reply::text("done"));
            match &mut watch {
                None => watch = Some(lab.turn(lab.setup(), "remember the number 7").await),
                Some(watch) => watch.prompt("and on").await,
            }
        }
        let mut watch = watch.unwrap();
        watch.close().await;
        let log = only_log(&lab.config_dir());
        let bytes = fs_err::read(&log).unwrap();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(ends).collect();
        lab.server.respond_with(|_| Reply::text("ok"));
        let (session, model) = (watch.session.id, lab.setup().model);
        let log = log.strip_prefix(lab.config_dir()).unwrap().to_owned();
        Self { lab, session, model, log, bytes, starts }
    }

    fn records(&self) -> usize {
        self.starts.len() - 1
    }

    fn record(&self, n: usize) -> &[u8] {
        &self.bytes[self.starts[n]..self.starts[n + 1]]
    }

    /// Sessions go on from logs with these bytes, and the provider accepts what they send.
    async fn go_on(&self, logs: impl Iterator<Item = (String, Vec<u8>)>) {
        let going_on = |(fault, bytes): (String, Vec<u8>)| async move { self.goes_on(&fault, &bytes).await };
        stream::iter(logs).for_each_concurrent(AT_ONCE, going_on).await;
        self.lab.server.assert_clean();
    }

    async fn goes_on(&self, fault: &str, bytes: &[u8]) {
        let dir = TempDir::new().unwrap();
        let log = dir.path().join(&self.log);
        fs_err::create_dir_all(log.parent().unwrap()).unwrap();
        fs_err::write(&log, bytes).unwrap();
        let (config_dir, start) = (dir.path().to_owned(), Start::Resume(self.session));
        let setup = Setup { config_dir, start, ..self.lab.setup_with(Arc::clone(&self.model)) };
        let mut again = self.lab.begin(setup, "go on").await;
        // A turn that was cut off ends first.
        again.until(|event| matches!(event, Event::StepStarted { .. })).await;
        again.until_turn_ends().await;
        assert_eq!(again.outcome(), Outcome::Success, "{fault}: {:?}", self.lab.server.rejections());
        again.close().await;
    }
}

// LOG-03 LOG-04 LOG-05: a log of 500 records is cut off behind each of them, every fifth time in the middle of the next
// one. That every byte of a record leads to what stands before it is shown where logs are read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_log_that_is_cut_anywhere_goes_on_with_an_acceptable_request() {
    let recorded = Recorded::new(7).await;
    assert!(recorded.records() > RECORDS, "{}", recorded.records());
    let cut = |n: usize| {
        let into = if n.is_multiple_of(5) { scattered(n) % recorded.record(n).len() } else { 0 };
        let bytes = recorded.bytes[..recorded.starts[n] + into].to_vec();
        (format!("cut {into} bytes behind {n} records"), bytes)
    };
    recorded.go_on((0..=RECORDS).map(cut)).await;
}

// LOG-03 LOG-05: a bit is flipped in each record of two turns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_with_a_flipped_bit_goes_on_with_an_acceptable_request() {
    let recorded = Recorded::new(2).await;
    let flipped = |n: usize| {
        let mut bytes = recorded.bytes.clone();
        let at = recorded.starts[n] + scattered(n) % recorded.record(n).len();
        bytes[at] ^= 1 << (n % 8);
        (format!("a bit of byte {at} in record {n}"), bytes)
    };
    recorded.go_on((0..recorded.records()).map(flipped)).await;
}

// LOG-03 LOG-05: each record stands there once more, behind itself or anywhere later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_with_a_repeated_record_goes_on_with_an_acceptable_request() {
    let recorded = Recorded::new(2).await;
    let repeated = |n: usize| {
        let behind = if n.is_multiple_of(2) { n } else { n + scattered(n) % (recorded.records() - n) };
        let (before, after) = recorded.bytes.split_at(recorded.starts[behind + 1]);
        (format!("record {n} behind {behind}"), [before, recorded.record(n), after].concat())
    };
    recorded.go_on((0..recorded.records()).map(repeated)).await;
}
