//! What hooks are told, and what their answers mean.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tiller_config::{HookEvent, OnFailure};
use tiller_protocol::entry::Level;
use tiller_protocol::id::EntryId;

use super::bench::{Bench, SOURCE, notice, one, says};
use crate::hook::case::Case;
use crate::hook::combine::{Finished, combine};
use crate::hook::occasion::Agent;
use crate::hook::output::{Ended, Printed};
use crate::hook::{Conclusion, HookRun, Occasion, Outcome, PermissionAnswer, Verdict};

/// The kinds of what the model is told.
fn kinds(outcome: &Outcome) -> Vec<&str> {
    outcome.attachments.iter().map(|attachment| attachment.kind()).collect()
}

// HOOK-16
#[tokio::test]
async fn every_hook_gets_the_common_fields_those_of_its_event_and_the_project() {
    for (event, own) in [
        (
            HookEvent::PreToolUse,
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"}),
        ),
        (
            HookEvent::PostToolUse,
            json!({"tool_name": "Bash", "tool_response": {"stdout": "a"}, "tool_use_id": "toolu_1"}),
        ),
        (
            HookEvent::PostToolUseFailure,
            json!({"tool_name": "Bash", "error": "broken", "is_interrupt": true}),
        ),
        (HookEvent::UserPromptSubmit, json!({"prompt": "do it"})),
        (HookEvent::SessionStart, json!({"source": "compact", "model": "m"})),
        (HookEvent::SessionEnd, json!({"reason": "prompt_input_exit"})),
        (HookEvent::SubagentStart, json!({"agent_id": "a1", "agent_type": "Explore"})),
        (
            HookEvent::SubagentStop,
            json!({"agent_id": "a1", "agent_type": "Explore", "stop_hook_active": true, "agent_transcript_path": "/logs/a1.jsonl"}),
        ),
        (HookEvent::Stop, json!({"stop_hook_active": true})),
        (HookEvent::PreCompact, json!({"trigger": "auto", "custom_instructions": "short"})),
        (HookEvent::Notification, json!({"message": "look", "notification_type": "idle_prompt"})),
        (
            HookEvent::PermissionRequest,
            json!({"tool_name": "Bash", "permission_suggestions": {"stdout": "a"}}),
        ),
    ] {
        let bench = Bench::new();
        let command = "cat > input.json; printf '%s\\n' \"$TILLER_PROJECT_DIR\" \"$CLAUDE_PROJECT_DIR\" \
                       \"$PWD\" \"${ANTHROPIC_API_KEY-none}\" \"$GITHUB_TOKEN\" > variables";
        bench.run(event, command).await;
        let input: Value = serde_json::from_str(&bench.read("input.json")).unwrap();
        let common = json!({
            "session_id": "00000000-0000-0000-0000-000000000007", "transcript_path": "/logs/session.jsonl",
            "cwd": bench.path(), "permission_mode": "acceptEdits", "hook_event_name": event.name(),
        });
        for expected in [&common, &own] {
            for (field, value) in expected.as_object().unwrap() {
                assert_eq!(&input[field], value, "{event:?} {field}");
            }
        }
        let variables = bench.read("variables");
        let cwd = bench.path().display().to_string();
        let expected = ["/the/project", "/the/project", &cwd, "none", "of the user"];
        assert_eq!(variables.lines().collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn a_hook_inside_a_sub_agent_knows_which() {
    let bench = Bench::new();
    let hooks = bench
        .hooks(one(HookEvent::UserPromptSubmit, &json!({"type": "command", "command": "cat > input.json"})));
    let mut moment = bench.moment();
    moment.agent = Some(Agent { id: "a7".into(), kind: "Plan".to_owned(), description: String::new() });
    hooks.run(Occasion::UserPromptSubmit { prompt: "x" }, &moment, &Default::default()).await;
    let input: Value = serde_json::from_str(&bench.read("input.json")).unwrap();
    assert_eq!((&input["agent_id"], &input["agent_type"]), (&json!("a7"), &json!("Plan")));
}

// HOOK-14 STEER-38
#[tokio::test]
async fn exit_code_0_is_success_and_plain_text_counts_where_it_should() {
    let bench = Bench::new();
    for event in HookEvent::ALL {
        let outcome = bench.run(event, "echo ' note '").await;
        assert_eq!(outcome.runs[0].conclusion, Conclusion::Success);
        assert_eq!((outcome.runs[0].exit_code, outcome.runs[0].stdout.as_str()), (Some(0), " note \n"));
        match event {
            HookEvent::SessionStart | HookEvent::UserPromptSubmit => {
                assert_eq!(kinds(&outcome), ["hook_success"]);
                assert_eq!(outcome.attachments[0].attachment["content"], "note");
            }
            HookEvent::PreCompact => assert_eq!(outcome.instructions, ["note"]),
            _ => assert!(outcome.attachments.is_empty(), "{event:?}"),
        }
        assert!(outcome.notices.is_empty() && outcome.blocked.is_none() && outcome.decision.is_none());
        assert!(bench.run(event, "true").await.attachments.is_empty());
    }
}

// HOOK-14
#[tokio::test]
async fn exit_code_2_blocks_where_something_can_be_blocked() {
    let bench = Bench::new();
    for event in HookEvent::ALL {
        let outcome = bench.run(event, "echo '{\"continue\": false}'; echo 'not so' >&2; exit 2").await;
        assert!(outcome.stopped.is_none(), "standard output does not count");
        let blocked = outcome.runs[0].conclusion == Conclusion::Blocked;
        match event {
            HookEvent::PreToolUse => {
                let decision = outcome.decision.as_ref().unwrap();
                assert_eq!((decision.verdict, decision.reason.as_str()), (Verdict::Deny, "not so"));
                assert!(blocked && kinds(&outcome).is_empty(), "the result of the call says it");
            }
            HookEvent::PermissionRequest => {
                let denial = PermissionAnswer::Deny { message: "not so".to_owned(), interrupt: false };
                assert_eq!((blocked, outcome.answer), (true, Some(denial)));
            }
            HookEvent::UserPromptSubmit => {
                assert_eq!((blocked, outcome.blocked.as_deref()), (true, Some("not so")));
                assert!(kinds(&outcome).is_empty(), "a discarded prompt has no context");
            }
            HookEvent::PostToolUse | HookEvent::Stop | HookEvent::SubagentStop => {
                assert_eq!((blocked, outcome.blocked.as_deref()), (true, Some("not so")));
                assert_eq!(kinds(&outcome), ["hook_blocking_error"]);
            }
            _ => {
                assert!(!blocked && outcome.blocked.is_none() && kinds(&outcome).is_empty(), "{event:?}");
                assert!(notice(&outcome).contains("not so"));
            }
        }
    }
}

// HOOK-14
#[tokio::test]
async fn other_exit_codes_are_told_to_the_user_and_ignored() {
    let bench = Bench::new();
    for event in HookEvent::ALL {
        let outcome = bench.run(event, "echo hello; echo oops >&2; exit 3").await;
        assert_eq!(outcome.runs[0].conclusion, Conclusion::Failed("exit code 3: oops".to_owned()));
        assert!(outcome.decision.is_none() && outcome.blocked.is_none() && outcome.answer.is_none());
        assert!(kinds(&outcome).is_empty() && outcome.instructions.is_empty());
        let text = notice(&outcome);
        for part in [event.name(), "echo hello", SOURCE, "failed and is ignored: exit code 3: oops"] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(outcome.notices[0].0, Level::Warning);
    }
}

// HOOK-15
#[tokio::test]
async fn a_hook_can_stop_the_turn_and_says_why() {
    let bench = Bench::new();
    let command = says(&json!({"continue": false, "stopReason": "enough"}));
    for event in HookEvent::ALL {
        let outcome = bench.run(event, &command).await;
        if matches!(event, HookEvent::SessionEnd | HookEvent::Notification) {
            assert!(outcome.stopped.is_none() && notice(&outcome).contains("no effect"));
            continue;
        }
        assert_eq!(outcome.stopped.as_deref(), Some("enough"), "{event:?}");
        assert_eq!(kinds(&outcome), ["hook_stopped_continuation"]);
        assert_eq!(outcome.attachments[0].attachment["message"], "enough");
        assert_eq!(outcome.runs[0].conclusion, Conclusion::Success);
    }
    let outcome = bench.run(HookEvent::Stop, &says(&json!({"continue": true, "stopReason": "x"}))).await;
    assert!(outcome.stopped.is_none());
}

// HOOK-08
#[tokio::test]
async fn additional_context_works_for_exactly_five_events() {
    let bench = Bench::new();
    let five = [
        HookEvent::SessionStart,
        HookEvent::UserPromptSubmit,
        HookEvent::PostToolUse,
        HookEvent::PostToolUseFailure,
        HookEvent::SubagentStart,
    ];
    for event in HookEvent::ALL {
        let answer =
            json!({"hookSpecificOutput": {"hookEventName": event.name(), "additionalContext": "mind this"}});
        let outcome = bench.run(event, &says(&answer)).await;
        if five.contains(&event) {
            assert_eq!(kinds(&outcome), ["hook_additional_context"], "{event:?}");
            assert_eq!(outcome.attachments[0].attachment["content"], json!(["mind this"]));
            assert!(outcome.notices.is_empty());
        } else {
            assert!(kinds(&outcome).is_empty(), "{event:?}");
            assert!(notice(&outcome).contains("its additionalContext has no effect at this"), "{outcome:?}");
        }
    }
    for (context, count) in [(json!(["a", " ", "b"]), 2), (json!([]), 0), (json!(" "), 0), (Value::Null, 0)] {
        let answer = json!({"hookSpecificOutput": {"additionalContext": context}});
        assert_eq!(bench.run(HookEvent::SessionStart, &says(&answer)).await.attachments.len(), count);
    }
    let outcome = bench.run(HookEvent::SessionStart, &says(&json!({"additionalContext": "x"}))).await;
    assert!(kinds(&outcome).is_empty() && notice(&outcome).contains("outside of hookSpecificOutput"));
}

// HOOK-05
#[tokio::test]
async fn the_last_input_in_configuration_order_wins_whoever_is_faster() {
    let bench = Bench::new();
    let gate = bench.path().join("gate");
    let input = |value: &str| says(&json!({"hookSpecificOutput": {"updatedInput": {"command": value}}}));
    // The first hook cannot end before the last one has printed its answer.
    let settings = json!({"PreToolUse": [
        {"hooks": [{"type": "command", "command": format!("mkfifo {0}; cat {0}; {1}", gate.display(), input("first"))}]},
        {"matcher": "Bash", "hooks": [
            {"type": "command", "command": "true"},
            {"type": "command", "command": format!("{}\nuntil [ -p {1} ]; do :; done; echo > {1}", input("last"), gate.display())},
        ]},
        {"matcher": "Write", "hooks": [{"type": "command", "command": input("another tool's")}]},
    ]});
    let outcome = bench.run_at(&bench.hooks(settings), HookEvent::PreToolUse).await;
    assert_eq!(outcome.updated_input, Some(json!({"command": "last"})), "{outcome:#?}");
    assert_eq!(outcome.runs.len(), 3);
    assert!(outcome.runs[0].hook_name.starts_with("mkfifo"));
}

// HOOK-19
#[tokio::test]
async fn deny_goes_before_ask_before_allow() {
    let bench = Bench::new();
    let decides = |choice: &str, reason: &str| {
        let answer =
            json!({"hookSpecificOutput": {"permissionDecision": choice, "permissionDecisionReason": reason}});
        json!({"type": "command", "command": says(&answer)})
    };
    let blocks =
        json!({"type": "command", "command": says(&json!({"decision": "block", "reason": "old no"}))});
    let approves = json!({"type": "command", "command": says(&json!({"decision": "approve"}))});
    for (hooks, verdict, reason) in [
        (json!([decides("allow", "a"), decides("deny", "b"), decides("ask", "c")]), Verdict::Deny, "b"),
        (json!([decides("ask", "a"), decides("allow", "b")]), Verdict::Ask, "a"),
        (json!([decides("allow", "a"), decides("allow", "b")]), Verdict::Allow, "a\nb"),
        (json!([approves.clone(), blocks, decides("deny", "b")]), Verdict::Deny, "old no\nb"),
        (json!([approves]), Verdict::Allow, "no reason was given"),
    ] {
        let outcome = bench
            .run_at(&bench.hooks(json!({"PreToolUse": [{"hooks": hooks}]})), HookEvent::PreToolUse)
            .await;
        let decision = outcome.decision.unwrap();
        assert_eq!((decision.verdict, decision.reason.as_str()), (verdict, reason));
    }
}

#[tokio::test]
async fn questions_are_answered_in_place_of_the_user() {
    let bench = Bench::new();
    let hook = |decision: Value| {
        let answer =
            json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
        json!({"type": "command", "command": says(&answer)})
    };
    let rule = json!({"type": "addRules", "behavior": "allow", "destination": "session", "rules": [{"toolName": "Read"}]});
    let allows =
        hook(json!({"behavior": "allow", "updatedInput": {"command": "pwd"}, "updatedPermissions": [rule]}));
    let denies = hook(json!({"behavior": "deny", "message": "never", "interrupt": true}));
    let run = async |hooks: Value| {
        let hooks = bench.hooks(json!({"PermissionRequest": [{"hooks": hooks}]}));
        bench.run_at(&hooks, HookEvent::PermissionRequest).await
    };
    let outcome = run(json!([allows, hook(json!({"behavior": "allow"}))])).await;
    let Some(PermissionAnswer::Allow { updated_input, updated_permissions }) = outcome.answer else {
        panic!("{outcome:?}")
    };
    assert_eq!((updated_input, updated_permissions.len()), (Some(json!({"command": "pwd"})), 1));
    let denial = PermissionAnswer::Deny { message: "never".to_owned(), interrupt: true };
    for hooks in [json!([allows, denies]), json!([denies, allows])] {
        assert_eq!(run(hooks).await.answer, Some(denial.clone()));
    }
    let outcome = run(json!([hook(json!({"behavior": "maybe"}))])).await;
    assert!(outcome.answer.is_none() && notice(&outcome).contains("not usable"), "{outcome:?}");
}

// HOOK-07
#[tokio::test]
async fn output_and_prompt_are_replaced_only_where_they_exist() {
    let bench = Bench::new();
    let answer = |field: &str, value: Value| says(&json!({"hookSpecificOutput": {field: value}}));
    let outcome = bench.run(HookEvent::PostToolUse, &answer("updatedMCPToolOutput", json!([1]))).await;
    assert_eq!(outcome.updated_output, Some(json!([1])));
    let outcome = bench.run(HookEvent::UserPromptSubmit, &answer("updatedPrompt", json!("do that"))).await;
    assert_eq!(outcome.updated_prompt.as_deref(), Some("do that"));
    for (event, field, value) in [
        (HookEvent::PreToolUse, "updatedMCPToolOutput", json!([1])),
        (HookEvent::Stop, "updatedPrompt", json!("x")),
        (HookEvent::PostToolUse, "updatedInput", json!({})),
        (HookEvent::Stop, "permissionDecision", json!("deny")),
        (HookEvent::PreToolUse, "decision", json!({"behavior": "deny"})),
    ] {
        let outcome = bench.run(event, &answer(field, value)).await;
        assert!(notice(&outcome).contains("no effect"), "{outcome:?}");
        assert!(outcome.updated_output.is_none() && outcome.updated_input.is_none());
        assert!(outcome.updated_prompt.is_none() && outcome.decision.is_none() && outcome.answer.is_none());
    }
    let hooks = bench.hooks(one(
        HookEvent::PostToolUse,
        &json!({"type": "command", "command": answer("updatedMCPToolOutput", json!(1))}),
    ));
    let (nothing, call) = (json!({}), "toolu_1".into());
    let built_in = Occasion::PostToolUse {
        tool: "Read",
        input: &nothing,
        call: &call,
        response: &nothing,
        is_mcp: false,
    };
    assert!(hooks.run(built_in, &bench.moment(), &Default::default()).await.updated_output.is_none());
}

#[tokio::test]
async fn messages_reach_the_user_and_one_hook_speaks_in_a_fixed_order() {
    let bench = Bench::new();
    let answer = json!({
        "systemMessage": "formatted", "suppressOutput": true, "continue": false, "stopReason": "stop",
        "decision": "block", "reason": "no", "hookSpecificOutput": {"additionalContext": "more"},
    });
    let outcome = bench.run(HookEvent::PostToolUse, &says(&answer)).await;
    assert_eq!(outcome.notices[0].0, Level::Info);
    assert!(notice(&outcome).ends_with(": formatted"), "{outcome:?}");
    assert!(outcome.runs[0].suppressed);
    assert_eq!(
        kinds(&outcome),
        ["hook_blocking_error", "hook_additional_context", "hook_stopped_continuation"]
    );
}

// HOOK-22
#[tokio::test]
async fn output_that_is_not_understood_is_told_and_changes_nothing() {
    let bench = Bench::new();
    for (command, told) in [
        (
            says(&json!({"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}})),
            "hookEventName is Stop",
        ),
        (says(&json!({"decision": "no"})), "decision: unknown variant"),
        (says(&json!({"continue": 1})), "continue: "),
        (says(&json!({"permissionDecision": "deny"})), "has to stand in hookSpecificOutput"),
        ("echo '{\"decision\": \"block\"'".to_owned(), "looks like JSON but is not"),
        ("head -c 300000 /dev/zero | tr '\\0' '{'".to_owned(), "more JSON than is read"),
    ] {
        let outcome = bench.run(HookEvent::PreToolUse, &command).await;
        assert!(notice(&outcome).contains(told), "{outcome:?}");
        assert!(outcome.decision.is_none() && outcome.stopped.is_none(), "{outcome:?}");
        assert_eq!(outcome.runs.len(), 1);
    }
    let outcome = bench.run(HookEvent::UserPromptSubmit, "echo '{not json}'").await;
    assert_eq!(kinds(&outcome), ["hook_success"], "it is plain text");
    assert_eq!(outcome.attachments[0].attachment["content"], "{not json}");
}

#[tokio::test]
async fn fields_that_mean_nothing_where_they_stand_are_told() {
    let bench = Bench::new();
    for (answer, told) in [
        (json!({"updatedInput": {"command": "pwd"}}), "its updatedInput is not known"),
        (json!({"permissionDecisionReason": "x"}), "its permissionDecisionReason is not known"),
        (json!({"blok": true, "colour": 1}), "its blok, colour is not known"),
        (
            json!({"hookSpecificOutput": {"permissionDecison": "deny"}}),
            "its hookSpecificOutput.permissionDecison is not known",
        ),
    ] {
        let outcome = bench.run(HookEvent::PreToolUse, &says(&answer)).await;
        assert!(notice(&outcome).contains(told), "{outcome:?}");
        assert_eq!(outcome.runs[0].conclusion, Conclusion::Success);
        assert!(outcome.decision.is_none() && outcome.updated_input.is_none());
    }
    let silent = json!({"async": false, "permissionDecision": null, "other": null});
    assert!(bench.run(HookEvent::PreToolUse, &says(&silent)).await.notices.is_empty());
}

fn case(event: HookEvent) -> Case {
    Case { event, input: Map::new(), call: None, is_mcp: true }
}

fn printed(text: String) -> Finished {
    let run = HookRun {
        id: EntryId::default(),
        event: HookEvent::Stop,
        hook_name: "h".to_owned(),
        source: "s".to_owned(),
        conclusion: Conclusion::Cancelled,
        exit_code: Some(0),
        duration: std::time::Duration::ZERO,
        stdout: text.clone(),
        stderr: String::new(),
        suppressed: false,
    };
    Finished { run, ended: Ended::Printed(Printed { text, is_cut: false }), on_failure: OnFailure::Ignore }
}

/// JSON that is nearly what a hook may say.
fn strange_answer() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,6}".prop_map(Value::from),
        prop::sample::select(vec!["block", "approve", "deny", "allow", "Stop", "PreToolUse"])
            .prop_map(Value::from),
    ];
    let fields = [
        "continue",
        "stopReason",
        "suppressOutput",
        "systemMessage",
        "decision",
        "reason",
        "hookSpecificOutput",
        "hookEventName",
        "permissionDecision",
        "updatedInput",
        "additionalContext",
        "behavior",
        "async",
    ];
    let tree = leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(fields.to_vec()), inner, 0..6)
                .prop_map(|map| json!(map)),
        ]
    });
    prop_oneof![tree.prop_map(|value| value.to_string()), ".{0,80}", "\\{.{0,80}"]
}

proptest! {
    // HOOK-22
    #[test]
    fn any_output_yields_exactly_one_record(texts in prop::collection::vec(strange_answer(), 0..4)) {
        for event in HookEvent::ALL {
            let outcome = combine(&case(event), texts.iter().cloned().map(printed).collect());
            prop_assert_eq!(outcome.runs.len(), texts.len());
            prop_assert!(outcome.runs.iter().all(|run| run.conclusion != Conclusion::Cancelled));
        }
    }
}
