//! Every session that a test has recorded is run again, and no request may differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tiller_engine::replay::{Difference, Replay, Report};
use tiller_engine::store;
use tiller_protocol::entry::Body;
use tiller_protocol::env::Env;
use tiller_protocol::ledger::{COMPACT_SUMMARY, Ledger};
use tiller_testkit::Reply;

use crate::compaction::{small, summaries};
use crate::harness::{Lab, only_log};

/// Replays all sessions below a configuration directory.
pub(crate) fn replay_all(config_dir: &Path, env: &Env) {
    for log in store::everywhere(config_dir).into_iter().map(|file| file.log) {
        let report = can_be_replayed(&log).then(|| replay(log.clone(), env.clone()));
        let difference = report.and_then(|report| report.difference);
        assert!(difference.is_none(), "the replay of {}: {}", log.display(), difference.unwrap());
    }
}

/// A session in which no model was ever asked has nothing to replay, and one that a test has damaged need not be what it
/// was.
fn can_be_replayed(log: &Path) -> bool {
    let mut was_asked = false;
    let loaded = store::load(log, |entry| was_asked |= matches!(entry.body, Body::Response(_)));
    was_asked && loaded.is_ok_and(|loaded| loaded.damage.is_empty())
}

/// Runs a session again. Where a test ends its own runtime may be waiting for it.
fn replay(log: PathBuf, env: Env) -> Report {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Replay::of(&log, &env).run()).unwrap()
    };
    std::thread::spawn(run).join().unwrap()
}

/// What differs in the only session of a lab once lines of its log have been changed. Without hashes nobody knows that
/// they were.
pub(crate) fn difference_after(lab: &Lab, change: impl Fn(&mut Value)) -> Option<Difference> {
    let log = only_log(&lab.config_dir());
    let text = fs_err::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("hash");
        change(&mut line);
        line.to_string() + "\n"
    });
    fs_err::write(&log, lines.collect::<String>()).unwrap();
    let report = replay(log.clone(), lab.env(BTreeMap::new()));
    fs_err::write(&log, text).unwrap();
    report.difference
}

// REPL-01: what a refused request has made necessary belongs to the step that was refused, also if the refusal came when
// the answer had begun.
#[tokio::test]
async fn a_fold_that_a_refusal_has_forced_is_named_with_its_step() {
    const TOO_LONG: &str = "prompt is too long: 41000 tokens > 30000 maximum";
    let refusals = [
        Reply::status(400, "invalid_request_error", TOO_LONG),
        Reply::text("Half an answ").error_event("invalid_request_error", TOO_LONG),
    ];
    for refusal in refusals {
        let lab = Lab::new();
        summaries(&lab).reply(Reply::text("Short."));
        lab.server.replies([
            Reply::text("An old answer."),
            refusal,
            Reply::text("Done."),
            Reply::text("More."),
        ]);
        let mut watch = lab.turn(small(&lab, 40_000), "Begin.").await;
        watch.prompt("Go on.").await;
        watch.prompt("And on.").await;
        watch.close().await;
        assert_eq!(watch.folds().len(), 1);
        let mut ledger = Ledger::default();
        let added: Vec<_> = watch.entries().iter().filter_map(|entry| ledger.apply(entry)).collect();
        let summary = added.iter().find(|addition| addition.kind == COMPACT_SUMMARY).unwrap();
        assert_eq!((summary.place.step, ledger.place().step), (2, 3));
        let difference = difference_after(&lab, |line| {
            if line["isCompactSummary"] == true {
                let text = line["message"]["content"][0]["text"].as_str().unwrap();
                line["message"]["content"][0]["text"] = json!(format!("Otherwise: {text}"));
            }
        });
        let difference = difference.unwrap();
        assert_eq!((difference.part.as_str(), difference.step), ("summary", 2), "{difference}");
    }
}
