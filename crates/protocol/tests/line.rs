//! Every kind of entry survives the way to the log and back, and looks as outside readers expect.

#![expect(clippy::unwrap_used, reason = "a broken set-up should stop the test")]

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::compaction::{Cleared, Compacted, FoldIngredients, Kept, SummaryAsked, Trigger};
use tiller_protocol::effect::{Effect, FileSeen, Fingerprint, LineRange, SkillUse, Todo, TodoStatus};
use tiller_protocol::entry::{
    AssistantBlock, Attachment, Body, CallResult, Cause, DecisionRecord, Delivery, Dequeued, EndMarker,
    EndReason, Entry, Epoch, Level, Notice, Opened, Origin, Orphaned, Outcome, Queued, Reading, Refusal,
    Repair, Response, ToldFile, TurnEnd, UserMessage,
};
use tiller_protocol::hook::{HookEnd, HookRecord};
use tiller_protocol::id::{CallId, EntryId, MessageId, SessionId, SnapshotId};
use tiller_protocol::ledger::Source;
use tiller_protocol::line::{self, Envelope};
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::{Behavior, Destination, RuleValue, Update};
use tiller_protocol::rewind::{ConversationBack, FilesBack, Rewound, SetAside, Stretch};
use tiller_protocol::usage::{StopReason, Usage};
use uuid::Uuid;

fn raw(json: &str) -> Arc<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap().into()
}

fn bodies() -> Vec<Body> {
    let id = EntryId(Uuid::from_u128(7));
    let seen = FileSeen {
        path: "/f".into(),
        fingerprint: Fingerprint("abc".into()),
        mtime_ms: -5,
        lines: Some(LineRange { first: 1, last: 2 }.into()),
    };
    let todo = Todo { content: "do".into(), status: TodoStatus::InProgress, active_form: "doing".into() };
    let update = Update::AddRules {
        rules: vec![RuleValue { tool_name: "Bash".into(), rule_content: Some("ls:*".into()) }],
        behavior: Behavior::Allow,
        destination: Destination::Session,
    };
    vec![
        Body::Opened(Opened {
            source: "startup".into(),
            cwd: "/w".into(),
            version: "1".into(),
            additional_dirs: vec!["/x".into()],
            forked_from: Some(SessionId(Uuid::nil())),
            agent: None,
        }),
        Body::User(UserMessage::prompt("hello")),
        Body::User(UserMessage::new(vec![RawBlock::text("psst")], Origin::Harness)),
        Body::User(UserMessage::hidden(
            vec![RawBlock::text("psst")],
            Source::Command { name: "fix".to_owned() },
            "the user has called for it",
        )),
        Body::Assistant(AssistantBlock {
            message_id: MessageId::from("msg_1"),
            model: "m".into(),
            block: RawBlock::parse(r#"{"type":"thinking","thinking":"","signature":"s","n":1.10}"#.into())
                .unwrap(),
            invalid_input: Some("{".into()),
            api_error: Some("rate_limit".into()),
            aborted: true,
        }),
        Body::Response(Response {
            message_id: MessageId::from("msg_1"),
            model: "m".into(),
            usage: Usage { input_tokens: 3, ..Usage::default() },
            stop_reason: StopReason::Other("new".into()),
            stop_details: Some(json!({"a": 1})),
            cost_usd: Some(0.5),
            duration_ms: 9,
            request_id: Some("req".into()),
            side: true,
            agent: None,
            asked: None,
        }),
        result(vec![RawBlock::text("one")], false),
        result(
            vec![RawBlock::text("one"), RawBlock::from_value(&json!({"type": "image", "source": {}}))],
            false,
        ),
        result(Vec::new(), false),
        result(vec![RawBlock::text("bad")], true),
        Body::Attachment(Attachment {
            forged: 2,
            effects: vec![Effect::FileForgotten { path: "/f".into() }],
            ..Attachment::new(
                json!({"type": "queued_command"}),
                "queued_commands",
                "because".into(),
                vec![RawBlock::text("x")],
            )
        }),
        Body::Notice(Notice { subtype: "s".into(), level: Level::Warning, content: "c".into() }),
        Body::Effect(Effect::SetMode { mode: Mode::Plan }),
        Body::Effect(Effect::Permissions { updates: vec![update] }),
        Body::Effect(Effect::SetModel { model: "m".into() }),
        Body::Effect(Effect::SetTodos { todos: vec![todo] }),
        Body::Effect(Effect::FileSeen(seen)),
        Body::Effect(Effect::SkillUsed(SkillUse { name: "s".into(), ..SkillUse::default() })),
        Body::Effect(Effect::ChangeDir { path: "/d".into() }),
        Body::Effect(Effect::Snapshot { snapshot: SnapshotId::from("s"), call: Some(CallId::from("c")) }),
        Body::Effect(Effect::NotKept { call: CallId::from("c") }),
        Body::Effect(Effect::WentBack {
            undo: SnapshotId::from("u"),
            aside: vec![SetAside { path: "/d/a".into(), to: "/d/a.set-aside".into() }],
        }),
        Body::Rewound(Rewound {
            to: Some(id),
            conversation: Some(ConversationBack {
                abandoned: vec![Stretch { from: 3, until: 9 }],
                leaf: Some(id),
                cwd: "/d".into(),
                ..ConversationBack::default()
            }),
            files: Some(FilesBack {
                to: SnapshotId::from("s"),
                undo: SnapshotId::from("u"),
                announced: true,
            }),
            unfolded: Some(id),
            branch: Some(7),
        }),
        Body::Compacted(Box::new(Compacted {
            trigger: Trigger::Manual,
            pre_tokens: 9,
            summary: "s".into(),
            restored: vec!["todo".into()],
            kept: Some(Kept { first: id, from: 3, messages: 1, tokens: 2 }),
            made_of: Some(FoldIngredients {
                window: 100,
                recall: true,
                part: 50,
                asked: vec![
                    SummaryAsked { digest: "d".into(), answer: Some("a".into()), brief: true },
                    SummaryAsked { digest: "e".into(), answer: None, brief: false },
                ],
            }),
            ..Compacted::default()
        })),
        Body::User(UserMessage::new(vec![RawBlock::text("sum")], Origin::Summary)),
        Body::Cleared(Cleared { calls: vec![CallId::from("c")], tokens: 5, out_of_sight: vec!["/f".into()] }),
        Body::Epoch(Epoch {
            reason: "start".into(),
            key: "k".into(),
            system: raw(r#"[{"type":"text","text":"é"}]"#),
            tools: raw("[]"),
            user_context: Some("ctx".into()),
            instructions: vec![ToldFile { path: "/p/AGENTS.md".into(), from: 0, until: 3 }],
            made_of: None,
        }),
        Body::Orphaned(Orphaned { ids: vec![id], cause: Cause::ModelFallback }),
        Body::Queued(Queued {
            id,
            delivery: Delivery::Queue,
            content: vec![RawBlock::text("later")],
            reading: Reading::AsWritten,
        }),
        Body::Dequeued(Dequeued { ids: vec![id] }),
        Body::Decision(DecisionRecord {
            call: CallId::from("c"),
            tool: "Bash".into(),
            behavior: "deny".into(),
            reason: json!({"type": "mode"}),
            message: "because".into(),
            input: json!({"command": "ls"}),
        }),
        Body::Hook(HookRecord {
            event: "Stop".into(),
            name: "check.sh".into(),
            source: "settings.json".into(),
            call: Some(CallId::from("c")),
            end: HookEnd::TimedOut,
            exit_code: Some(1),
            duration_ms: 5,
            stdout: "out".into(),
            stderr: "err".into(),
        }),
        Body::Repaired(Repair {
            what: "w".into(),
            forged: 1,
            refused: vec![Refusal { digest: "d".into(), note: "n".into() }],
        }),
        Body::TurnEnded(TurnEnd {
            outcome: Outcome::Error { message: "m".into(), status: Some(400) },
            marker: Some(EndMarker { tool_use: true, reason: EndReason::ToolRejection }),
            steps: 3,
        }),
        Body::TurnEnded(TurnEnd { outcome: Outcome::Success, marker: None, steps: 1 }),
    ]
}

fn result(content: Vec<RawBlock>, is_error: bool) -> Body {
    Body::Result(CallResult {
        call: CallId::from("c"),
        tool: "Read".into(),
        content,
        is_error,
        cause: Cause::Call,
        detail: json!({"x": [1, 2]}),
        effects: vec![Effect::ChangeDir { path: "/d".into() }],
    })
}

fn entry(body: Body) -> Entry {
    let parent = body.is_message().then_some(EntryId(Uuid::from_u128(3)));
    Entry { seq: 4, id: EntryId(Uuid::from_u128(5)), parent, at: Default::default(), agent: None, body }
}

fn write(entry: &Entry) -> String {
    let envelope = Envelope {
        session: SessionId(Uuid::from_u128(9)),
        cwd: Path::new("/w"),
        version: "0.1.0",
        git_branch: Some("main"),
        slug: Some("amber-weaving-harbor"),
    };
    line::write(entry, &envelope).unwrap()
}

// LOG-01
#[test]
fn every_kind_of_entry_survives_the_log() {
    for body in bodies() {
        let before = entry(body);
        let text = write(&before);
        assert!(!text.contains('\n'));
        let after = line::read(&text).unwrap();
        assert_eq!(format!("{after:?}"), format!("{before:?}"), "{text}");
        assert_eq!(write(&after), text);
    }
}

// LOG-08: most who read a log can do without what calls have returned.
#[test]
fn a_bare_reading_leaves_out_what_calls_have_returned_and_nothing_else() {
    for body in bodies() {
        let mut whole = entry(body);
        let bare = line::read_bare(&write(&whole)).unwrap();
        if let Body::Result(result) = &mut whole.body {
            result.content.clear();
        }
        assert_eq!(format!("{bare:?}"), format!("{whole:?}"));
    }
    let Body::Result(mut shown) = result(vec![RawBlock::text("text")], true) else { unreachable!() };
    shown.detail =
        json!({"file": {"filePath": "/p/a", "content": "x".repeat(5_000)}, "lines": [1, -2, 0.5, null]});
    let bare = line::read_bare(&write(&entry(Body::Result(shown)))).unwrap();
    let Body::Result(bare) = bare.body else { unreachable!("it is a result") };
    assert!(bare.is_error);
    let sketch = json!({"file": {"filePath": "/p/a", "content": null}, "lines": [1, -2, 0.5, null]});
    assert_eq!(bare.detail, sketch);
}

#[test]
fn outside_readers_find_their_fields() {
    let line: Value =
        serde_json::from_str(&write(&entry(result(vec![RawBlock::text("one")], true)))).unwrap();
    assert_eq!(line["type"], "user");
    assert_eq!(line["message"]["content"][0]["tool_use_id"], "c");
    assert_eq!(line["toolUseResult"], json!({"x": [1, 2]}));
    for field in ["uuid", "parentUuid", "sessionId", "timestamp", "cwd", "version", "gitBranch"] {
        assert!(line[field].is_string(), "{field} in {line}");
    }
    let hidden = Body::User(UserMessage::new(vec![RawBlock::text("psst")], Origin::Harness));
    let line: Value = serde_json::from_str(&write(&entry(hidden))).unwrap();
    assert_eq!((line["isMeta"].as_bool(), line["isSidechain"].as_bool()), (Some(true), Some(false)));
}

// LOG-01: an older version keeps what it does not understand.
#[test]
fn entries_of_a_newer_version_are_kept_as_they_are() {
    let text = r#"{"type":"hologram","uuid":"00000000-0000-0000-0000-000000000001","timestamp":"2026-01-01T00:00:00Z","seq":8,"beam":{"x":1.5}}"#;
    let entry = line::read(text).unwrap();
    assert!(matches!(entry.body, Body::Unknown(_)));
    assert_eq!(write(&entry), text);
    let effect = r#"{"type":"effect","uuid":"00000000-0000-0000-0000-000000000001","timestamp":"2026-01-01T00:00:00Z","seq":8,"effect":"levitate"}"#;
    assert!(matches!(line::read(effect).unwrap().body, Body::Unknown(_)));
}

proptest! {
    #[test]
    fn no_line_makes_the_reader_panic(text in ".{0,200}", cut in any::<prop::sample::Index>(), which in any::<prop::sample::Index>()) {
        let _ = line::read(&text);
        let bodies = bodies();
        let whole = write(&entry(which.get(&bodies).clone()));
        let mut end = cut.index(whole.len());
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        prop_assert!(line::read(&whole[..end]).is_err());
    }
}
