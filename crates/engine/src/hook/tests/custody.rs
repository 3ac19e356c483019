//! Time limits, cancellation, and what hooks leave behind: nothing.

use std::time::{Duration, Instant};

use serde_json::json;
use tiller_config::HookEvent;
use tokio_util::sync::CancellationToken;

use tiller_testenv::{eventually_beside, processes_with};

use super::bench::{Bench, notice};
use crate::hook::{Conclusion, Occasion, Verdict};

/// Longer than any of these tests takes on any machine, much shorter than what they sleep.
const SOON: Duration = Duration::from_secs(1_000);

// HOOK-18
#[tokio::test]
async fn hooks_of_an_event_run_in_parallel() {
    let bench = Bench::new();
    // Each waits for the other: one after the other they would never end.
    let meet = |mine: &str, other: &str| json!({"type": "command", "command": format!("echo here > {other} & cat {mine}; wait")});
    for pipe in ["a", "b"] {
        let made = std::process::Command::new("mkfifo").arg(bench.path().join(pipe)).status().unwrap();
        assert!(made.success());
    }
    let hooks = bench.hooks(json!({"Stop": [{"hooks": [meet("a", "b")]}, {"hooks": [meet("b", "a")]}]}));
    let outcome = bench.run_at(&hooks, HookEvent::Stop).await;
    assert_eq!(outcome.runs.len(), 2);
    for run in &outcome.runs {
        assert_eq!((&run.conclusion, run.stdout.as_str()), (&Conclusion::Success, "here\n"), "{run:?}");
    }
}

// HOOK-18
#[tokio::test]
async fn a_hook_that_takes_too_long_is_ended_with_all_it_started() {
    let bench = Bench::new();
    let begun = Instant::now();
    let command = format!(": {}; echo early; trap '' TERM; (setsid sleep 3600 &) ; sleep 3600", bench.tag());
    for (strict, decided) in [("ignore", None), ("block", Some(Verdict::Deny))] {
        // A busy machine may need longer to start the command.
        let mut limit = 1;
        let outcome = loop {
            let hook = json!({"type": "command", "command": command, "timeout": limit, "onFailure": strict});
            let outcome = bench.run_hook(HookEvent::PreToolUse, hook).await;
            let [run] = outcome.runs.as_slice() else { panic!("{outcome:?}") };
            assert_eq!(run.conclusion, Conclusion::TimedOut);
            assert!(run.duration >= Duration::from_secs(limit));
            if run.stdout == "early\n" {
                break outcome;
            }
            assert!(limit < 100, "what it printed is lost: {run:?}");
            limit *= 5;
        };
        assert!(notice(&outcome).contains("took too long"));
        assert_eq!(outcome.decision.map(|decision| decision.verdict), decided);
    }
    assert!(begun.elapsed() < SOON);
    assert_eq!(processes_with(&bench.tag()), [0; 0]);
}

#[tokio::test]
async fn cancelling_ends_hooks_which_then_have_no_say() {
    let bench = Bench::new();
    let gate = bench.path().join("gate");
    let settings = json!({"Stop": [{"hooks": [
        {"type": "command", "onFailure": "block", "command": format!(": {}; touch {}; sleep 3600", bench.tag(), gate.display())},
        {"type": "prompt", "prompt": "?", "onFailure": "block"},
    ]}]});
    struct Silence;
    impl crate::hook::Judge for Silence {
        fn ask(&self, _: String) -> futures::future::BoxFuture<'static, Result<String, String>> {
            Box::pin(std::future::pending())
        }
    }
    let hooks = bench.hooks_with(settings, std::sync::Arc::new(Silence));
    let cancel = CancellationToken::new();
    let moment = bench.moment();
    let begun = Instant::now();
    let cancelling = async {
        eventually_beside("the hook is at the gate", || gate.exists()).await;
        cancel.cancel();
    };
    let running = hooks.run(Occasion::Stop { stop_hook_active: false }, &moment, &cancel);
    let (outcome, ()) = tokio::join!(running, cancelling);
    assert!(outcome.runs.iter().all(|run| run.conclusion == Conclusion::Cancelled), "{outcome:?}");
    assert_eq!((outcome.runs.len(), outcome.blocked, outcome.notices), (2, None, Vec::new()));
    assert!(begun.elapsed() < SOON);
    assert_eq!(processes_with(&bench.tag()), [0; 0]);
    let outcome = hooks.run(Occasion::Stop { stop_hook_active: false }, &moment, &cancel).await;
    assert!(
        outcome.runs.iter().all(|run| run.conclusion == Conclusion::Cancelled),
        "nothing is started any more"
    );
}

#[tokio::test]
async fn what_a_hook_forks_away_neither_delays_nor_survives() {
    let bench = Bench::new();
    let begun = Instant::now();
    let command =
        format!(": {0}; (setsid bash -c ': {0}; sleep 3600' &); sleep 3600 & echo done", bench.tag());
    let outcome = bench.run(HookEvent::UserPromptSubmit, &command).await;
    assert_eq!(outcome.attachments[0].attachment["content"], "done");
    assert!(begun.elapsed() < SOON);
    assert_eq!(processes_with(&bench.tag()), [0; 0]);
}

#[tokio::test]
async fn a_hook_that_reads_nothing_or_prints_a_lot_is_no_trouble() {
    let bench = Bench::new();
    let prompt = "x".repeat(1 << 20);
    let settings = json!({"UserPromptSubmit": [{"hooks": [
        {"type": "command", "command": "exec <&-; true"},
        {"type": "command", "command": "wc -c"},
        {"type": "command", "command": "yes | head -c 1000000; head -c 200000 /dev/zero >&2"},
    ]}]});
    let hooks = bench.hooks(settings);
    let occasion = Occasion::UserPromptSubmit { prompt: &prompt };
    let outcome = hooks.run(occasion, &bench.moment(), &CancellationToken::new()).await;
    assert!(outcome.runs.iter().all(|run| run.conclusion == Conclusion::Success), "{:?}", outcome.notices);
    let read: usize = outcome.runs[1].stdout.trim().parse().unwrap();
    assert!(read > prompt.len());
    let long = &outcome.runs[2];
    assert!(long.stdout.len() < 70_000 && long.stderr.len() < 70_000);
    assert!(long.stdout.contains("[934464 bytes are left out here]"), "{}", long.stdout.len());
}

#[tokio::test]
async fn without_hooks_there_is_nothing_to_do() {
    let bench = Bench::new();
    let hooks = bench.hooks(json!({}));
    for event in HookEvent::ALL {
        assert!(!hooks.has(event));
        assert!(bench.run_at(&hooks, event).await.runs.is_empty());
    }
}
