//! Hooks that nobody waits for.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tiller_config::HookEvent;

use tiller_testenv::{eventually_beside, processes_with};

use super::bench::{Bench, one};
use crate::hook::{AsyncResponse, Conclusion, Hooks};

/// Lets hooks in the background end, and takes what they left.
async fn responses(hooks: &Hooks) -> Vec<AsyncResponse> {
    hooks.0.background.wait().await;
    hooks.take_async_responses()
}

/// A command that goes on only when the gate is opened.
fn gated(bench: &Bench, then: &str) -> String {
    let gate = bench.path().join("gate");
    format!("mkfifo {0}; cat {0} > /dev/null; {then}", gate.display())
}

async fn open(bench: &Bench) {
    let gate = bench.path().join("gate");
    eventually_beside("the hook is at the gate", || gate.exists()).await;
    tokio::task::spawn_blocking(move || fs_err::write(gate, "go")).await.unwrap().unwrap();
}

// HOOK-20
#[tokio::test]
async fn nobody_waits_for_an_asynchronous_hook_and_its_response_comes_once() {
    for announced in [true, false] {
        let bench = Bench::new();
        let answer =
            json!({"systemMessage": "built", "hookSpecificOutput": {"additionalContext": "3 warnings"}});
        let work = gated(&bench, &format!("echo building; echo '{answer}'"));
        let command =
            if announced { format!("echo '{{\"async\": true}}'; echo starting; {work}") } else { work };
        let hook = json!({"type": "command", "command": command, "async": !announced, "timeout": 600});
        let hooks = bench.hooks(one(HookEvent::PostToolUse, &hook));
        let outcome = bench.run_at(&hooks, HookEvent::PostToolUse).await;
        assert_eq!(outcome.runs[0].conclusion, Conclusion::RunsOn);
        assert!(outcome.attachments.is_empty() && outcome.notices.is_empty());
        assert!(hooks.take_async_responses().is_empty(), "it is still at work");
        open(&bench).await;
        let found = responses(&hooks).await;
        let [AsyncResponse { run, call, attachment: Some(attachment), notice: None }] = found.as_slice()
        else {
            panic!("{found:?}")
        };
        assert_eq!((&run.conclusion, run.exit_code), (&Conclusion::Success, Some(0)));
        assert_eq!(run.id, outcome.runs[0].id, "it is the same hook");
        assert!(call.is_some() && outcome.runs[0].record(None).is_none() && run.record(None).is_some());
        assert_eq!(attachment.kind(), "async_hook_response");
        assert_eq!(attachment.attachment["systemMessage"], "built");
        assert_eq!(attachment.attachment["additionalContext"], "3 warnings");
        assert_eq!(attachment.attachment["hookEvent"], "PostToolUse");
        assert!(responses(&hooks).await.is_empty(), "it is delivered once");
    }
}

#[tokio::test]
async fn an_asynchronous_hook_neither_blocks_nor_decides_however_fast_it_is() {
    let bench = Bench::new();
    let verdict =
        json!({"decision": "block", "continue": false, "hookSpecificOutput": {"permissionDecision": "deny"}});
    for then in [format!("echo '{verdict}'"), "echo no >&2; exit 2".to_owned()] {
        let command = format!("echo '{{\"async\": true}}'; {then}");
        let hooks = bench.hooks(one(HookEvent::PreToolUse, &json!({"type": "command", "command": command})));
        let outcome = bench.run_at(&hooks, HookEvent::PreToolUse).await;
        assert!(outcome.decision.is_none() && outcome.stopped.is_none() && outcome.blocked.is_none());
        assert_eq!(outcome.runs[0].conclusion, Conclusion::RunsOn);
        let found = responses(&hooks).await;
        assert!(found.len() == 1 && found[0].attachment.is_none(), "{found:?}");
        assert_eq!(found[0].notice.is_some(), then.contains("exit 2"));
    }
}

// HOOK-21
#[tokio::test]
async fn an_asynchronous_hook_that_takes_too_long_is_ended_and_told() {
    let bench = Bench::new();
    let command = format!("echo '{{\"async\": true, \"asyncTimeout\": 50}}'; : {}; sleep 3600", bench.tag());
    let hooks = bench.hooks(one(HookEvent::Stop, &json!({"type": "command", "command": command})));
    bench.run_at(&hooks, HookEvent::Stop).await;
    let found = responses(&hooks).await;
    let [AsyncResponse { run, attachment: None, notice: Some((_, text)), .. }] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(run.conclusion, Conclusion::TimedOut);
    assert!(text.contains("took too long"), "{text}");
    assert_eq!(processes_with(&bench.tag()), [0; 0]);
}

#[tokio::test]
async fn the_end_of_the_session_ends_what_still_runs() {
    let bench = Bench::new();
    let begun = Instant::now();
    let command = format!(": {}; touch started; sleep 3600", bench.tag());
    let hook = json!({"type": "command", "command": command, "async": true, "timeout": 3600});
    let hooks = bench.hooks(one(HookEvent::SessionStart, &hook));
    bench.run_at(&hooks, HookEvent::SessionStart).await;
    eventually_beside("the hook has started", || bench.path().join("started").exists()).await;
    hooks.end_all().await;
    assert_eq!(processes_with(&bench.tag()), [0; 0]);
    let found = hooks.take_async_responses();
    assert!(found.len() == 1 && found[0].notice.is_none(), "{found:?}");
    assert_eq!(found[0].run.conclusion, Conclusion::Cancelled);
    bench.run_at(&hooks, HookEvent::SessionStart).await;
    hooks.end_all().await;
    assert!(begun.elapsed() < Duration::from_secs(1_000), "what is started afterwards ends at once");
}

#[tokio::test]
async fn failures_in_the_background_are_told() {
    let bench = Bench::new();
    for (command, told) in [
        ("exit 7", "exit code 7"),
        ("/nowhere/hook", "cannot be run"),
        ("echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreCompact\"}}'", "hookEventName"),
    ] {
        let hook = json!({"type": "command", "command": command, "async": true, "onFailure": "block"});
        let hooks = bench.hooks(one(HookEvent::PreToolUse, &hook));
        assert!(bench.run_at(&hooks, HookEvent::PreToolUse).await.decision.is_none());
        let found = responses(&hooks).await;
        let text = &found[0].notice.as_ref().unwrap().1;
        assert!(text.contains(told) && text.contains("in the background"), "{text}");
    }
    let quiet: Value = json!({"type": "command", "command": "echo fine", "async": true});
    let hooks = bench.hooks(one(HookEvent::PreToolUse, &quiet));
    bench.run_at(&hooks, HookEvent::PreToolUse).await;
    let found = responses(&hooks).await;
    assert!(found[0].attachment.is_none() && found[0].notice.is_none());
}
