//! Hooks that are no commands: questions to a small model, and callbacks of a host.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tiller_config::{HookEvent, OnFailure};
use tiller_protocol::id::CallId;

use super::bench::{Bench, notice, one, says};
use crate::hook::{CallbackGroup, Callbacks, Conclusion, Hooks, Verdict};

#[tokio::test]
async fn a_small_model_can_object() {
    let bench = Bench::new();
    let settings = |strict: &str| {
        one(HookEvent::PreToolUse, &json!({"type": "prompt", "prompt": "Is it safe?", "onFailure": strict}))
    };
    let run = async |answer: Result<&str, &str>, strict| {
        let answer = answer.map(str::to_owned).map_err(str::to_owned);
        bench.run_at(&bench.hooks_judged(settings(strict), answer), HookEvent::PreToolUse).await
    };
    let outcome = run(Ok("{\"ok\": false, \"reason\": \"it deletes\"}"), "ignore").await;
    let decision = outcome.decision.unwrap();
    assert_eq!((decision.verdict, decision.reason.as_str()), (Verdict::Deny, "it deletes"));
    assert_eq!(decision.hook_name, "Is it safe?");
    let outcome = run(Ok("{\"ok\": true}"), "block").await;
    assert!(outcome.decision.is_none() && outcome.notices.is_empty());
    for (answer, told) in [(Ok("I think so"), "not usable"), (Err("overloaded"), "overloaded")] {
        let outcome = run(answer, "ignore").await;
        assert!(outcome.decision.is_none() && notice(&outcome).contains(told), "{outcome:?}");
        assert_eq!(run(answer, "block").await.decision.unwrap().verdict, Verdict::Deny);
    }
}

type Call = (String, Value, Option<CallId>);

/// A host that answers by the names of its hooks, and remembers what it was asked.
#[derive(Default)]
struct Host(Mutex<Vec<Call>>);

impl Callbacks for Host {
    fn call(
        &self,
        id: String,
        input: Value,
        call: Option<CallId>,
    ) -> BoxFuture<'static, Result<Value, String>> {
        self.0.lock().unwrap().push((id.clone(), input, call));
        async move {
            match id.as_str() {
                "denies" => Ok(json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "host"}})),
                "rewrites" => Ok(json!({"hookSpecificOutput": {"updatedInput": {"command": "pwd"}}})),
                "raises" => Err("ValueError".to_owned()),
                "mumbles" => Ok(json!("yes")),
                "postpones" => Ok(json!({"async": true})),
                "hangs" => std::future::pending().await,
                _ => Ok(json!({})),
            }
        }
        .boxed()
    }
}

fn with_callbacks(hooks: &Hooks, group: CallbackGroup) -> Arc<Host> {
    let host = Arc::new(Host::default());
    hooks.add_callbacks(vec![(HookEvent::PreToolUse, group)], &(Arc::clone(&host) as Arc<dyn Callbacks>));
    host
}

fn group(ids: &[&str]) -> CallbackGroup {
    CallbackGroup { ids: ids.iter().map(|id| (*id).to_owned()).collect(), ..CallbackGroup::default() }
}

#[tokio::test]
async fn hooks_of_a_host_run_behind_those_of_the_settings() {
    let bench = Bench::new();
    let command = says(
        &json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "ls"}}}),
    );
    let hooks = bench.hooks(one(HookEvent::PreToolUse, &json!({"type": "command", "command": command})));
    let host = with_callbacks(&hooks, group(&["agrees", "denies", "rewrites"]));
    let outcome = bench.run_at(&hooks, HookEvent::PreToolUse).await;
    assert_eq!(outcome.runs.len(), 4);
    assert_eq!((outcome.runs[2].hook_name.as_str(), outcome.runs[2].source.as_str()), ("denies", "host"));
    assert_eq!(outcome.runs[2].conclusion, Conclusion::Blocked);
    assert_eq!(outcome.decision.unwrap().reason, "host");
    assert_eq!(outcome.updated_input, Some(json!({"command": "pwd"})));
    let calls = host.0.lock().unwrap();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[0].1["tool_input"], json!({"command": "ls"}));
    assert_eq!(calls[0].2, Some(CallId::from("toolu_1")));
}

#[tokio::test]
async fn a_host_that_does_not_answer_has_no_opinion_unless_it_must() {
    let bench = Bench::new();
    for (id, told) in [("raises", "ValueError"), ("mumbles", "not an object"), ("hangs", "took too long")] {
        for (on_failure, verdict) in [(OnFailure::Ignore, None), (OnFailure::Block, Some(Verdict::Deny))] {
            let hooks = bench.hooks(json!({}));
            let timeout = Some(Duration::from_millis(if id == "hangs" { 10 } else { 60_000 }));
            with_callbacks(&hooks, CallbackGroup { timeout, on_failure, ..group(&[id]) });
            let outcome = bench.run_at(&hooks, HookEvent::PreToolUse).await;
            assert!(notice(&outcome).contains(told), "{outcome:?}");
            assert_eq!(outcome.decision.map(|decision| decision.verdict), verdict, "{id}");
        }
    }
    let hooks = bench.hooks(json!({}));
    assert!(!hooks.has(HookEvent::PreToolUse));
    with_callbacks(&hooks, CallbackGroup { matcher: "Bash".to_owned(), ..group(&["postpones"]) });
    with_callbacks(&hooks, CallbackGroup { matcher: "Write".to_owned(), ..group(&["denies"]) });
    assert!(hooks.has(HookEvent::PreToolUse) && !hooks.has(HookEvent::Stop));
    let outcome = bench.run_at(&hooks, HookEvent::PreToolUse).await;
    assert_eq!(outcome.runs.len(), 1);
    assert_eq!(outcome.runs[0].conclusion, Conclusion::HandedOver);
}
