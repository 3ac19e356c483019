use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::compaction::Folded;
use crate::entry::{
    AssistantBlock, CallResult, Cause, Origin, Orphaned, Outcome, Response, TurnEnd, UserMessage,
};
use crate::rewind::{ConversationBack, Rewound, Stretch};
use crate::usage::Usage;

/// A log that is written one entry after the other.
#[derive(Default)]
struct Log {
    seq: u64,
    ledger: Ledger,
}

impl Log {
    fn push(&mut self, body: Body) -> (EntryId, Option<Addition>) {
        self.seq += 1;
        let id = EntryId(Uuid::from_u128(u128::from(self.seq)));
        let entry = Entry { seq: self.seq, id, parent: None, at: Timestamp::UNIX_EPOCH, agent: None, body };
        (id, self.ledger.apply(&entry))
    }

    fn say(&mut self, text: &str) {
        self.push(Body::User(UserMessage::prompt(text)));
    }

    fn hide(&mut self, text: &str) -> Addition {
        let content = vec![RawBlock::text(text)];
        self.push(Body::User(UserMessage::new(content, Origin::Harness))).1.unwrap()
    }

    fn attach(&mut self, attachment: Value, text: &str) -> (EntryId, Addition) {
        let rendered = vec![RawBlock::text(text)];
        let attachment = Attachment::new(attachment, "", "because".to_owned(), rendered);
        let (id, addition) = self.push(Body::Attachment(Attachment { forged: 1, ..attachment }));
        (id, addition.unwrap())
    }

    fn epoch(&mut self, reason: &str, context: Option<&str>) -> Option<Addition> {
        let raw = |value: Value| serde_json::value::to_raw_value(&value).unwrap().into();
        self.push(Body::Epoch(Epoch {
            reason: reason.to_owned(),
            key: String::new(),
            system: raw(json!([{"type": "text", "text": "0123456789"}])),
            tools: raw(json!([])),
            user_context: context.map(str::to_owned),
            instructions: Vec::new(),
            made_of: None,
        }))
        .1
    }

    fn block(&mut self, id: &str, block: &Value) -> EntryId {
        let block = AssistantBlock {
            message_id: id.into(),
            model: "m".to_owned(),
            block: RawBlock::from_value(block),
            invalid_input: None,
            api_error: None,
            aborted: false,
        };
        self.push(Body::Assistant(block)).0
    }

    fn text(&mut self, id: &str, text: &str) -> EntryId {
        self.block(id, &json!({"type": "text", "text": text}))
    }

    fn response(&mut self, id: &str, stop: &str) {
        self.push(Body::Response(Response {
            message_id: id.into(),
            model: "m".to_owned(),
            usage: Usage::default(),
            stop_reason: stop.to_owned().into(),
            stop_details: None,
            cost_usd: None,
            duration_ms: 0,
            request_id: None,
            side: false,
            agent: None,
            asked: None,
        }));
    }

    fn end(&mut self) {
        self.push(Body::TurnEnded(TurnEnd { outcome: Outcome::Success, marker: None, steps: 1 }));
    }

    fn place(&self) -> (u32, u32, u32) {
        let Place { turn, step, attempt } = self.ledger.place();
        (turn, step, attempt)
    }
}

fn place(addition: &Addition) -> (u32, u32, u32) {
    (addition.place.turn, addition.place.step, addition.place.attempt)
}

// LEDG-01 LEDG-05
#[test]
fn every_addition_is_told_with_kind_source_reason_size_and_place() {
    let mut log = Log::default();
    let lead = log.epoch("start", Some("context")).unwrap();
    assert_eq!((lead.kind.as_str(), &lead.source, place(&lead)), (USER_CONTEXT, &Source::Epoch, (1, 1, 1)));
    assert_eq!((lead.why.as_str(), lead.bytes), ("an epoch began (start)", 7));
    log.say("go");
    let hook = json!({"type": "hook_success", "hookName": "lint.sh", "hookEvent": "UserPromptSubmit"});
    let (_, hook) = log.attach(hook, "said");
    let source = Source::Hook { event: "UserPromptSubmit".to_owned(), name: "lint.sh".to_owned() };
    assert_eq!((hook.kind.as_str(), hook.source, hook.why.as_str()), ("hook_success", source, "because"));
    log.text("a", "cut");
    log.response("a", "max_tokens");
    let hidden = log.hide("go on");
    assert_eq!(
        (hidden.kind.as_str(), &hidden.source, place(&hidden)),
        (HIDDEN_MESSAGE, &Source::Loop, (1, 2, 1))
    );
    assert_eq!((hidden.why.as_str(), hidden.tokens()), ("the answer before it ended with max_tokens", 2));
    let generated = log.attach(json!({"type": "todo_reminder"}), "x").1;
    assert_eq!(generated.source, Source::Generator { name: "todo_reminder".to_owned() });
    assert_eq!((generated.forged, log.ledger.forged()), (1, 2));
}

// LEDG-01
#[test]
fn what_is_said_again_names_the_first_time_and_totals_count_it() {
    let mut log = Log::default();
    log.say("go");
    let todo = || json!({"type": "todo_reminder"});
    let first = log.attach(todo(), "list").1;
    assert_eq!(first.repeats, None);
    assert_eq!(log.attach(todo(), "other").1.repeats, None);
    assert_eq!(log.attach(json!({"type": "plan_mode"}), "list").1.repeats, None);
    assert_eq!(log.attach(todo(), "list").1.repeats, Some(first.seq));
    let kinds: Vec<_> = log.ledger.kinds().collect();
    let total = |count, repeated, bytes| KindTotal { count, repeated, bytes };
    assert_eq!(kinds, [("todo_reminder", total(3, 1, 13)), ("plan_mode", total(1, 0, 4))]);
}

#[test]
fn the_share_is_steering_by_everything_that_is_sent() {
    let mut log = Log::default();
    assert!(log.ledger.share().fraction().abs() < f64::EPSILON);
    log.epoch("start", Some("12345"));
    log.say("1234567890");
    log.attach(json!({"type": "todo_reminder"}), "12345");
    assert_eq!(log.ledger.share(), Share { steering: 10, sent: 30 });
    log.text("a", "1234567890");
    log.push(Body::Result(CallResult {
        call: "c".into(),
        tool: "Read".to_owned(),
        content: vec![RawBlock::text("1234567890")],
        is_error: false,
        cause: Cause::Call,
        detail: Value::Null,
        effects: Vec::new(),
    }));
    assert_eq!(log.ledger.share(), Share { steering: 10, sent: 50 });
    assert!((log.ledger.share().fraction() - 0.2).abs() < 1e-9);
}

#[test]
fn the_users_own_words_are_no_steering() {
    let mut log = Log::default();
    log.say("go");
    let prompt = json!([{"type": "text", "text": "use tabs"}]);
    let queued = json!({"type": "queued_command", "id": Uuid::nil(), "prompt": prompt});
    let (_, addition) = log.attach(queued, "The user says: use tabs");
    assert_eq!((addition.source, addition.bytes), (Source::User, 15));
    assert_eq!(log.ledger.share(), Share { steering: 15, sent: 25 });
}

#[test]
fn what_is_void_is_no_longer_counted() {
    let mut log = Log::default();
    log.say("12345");
    let before = log.ledger.share();
    let block = log.text("a", "half");
    let (hook, _) = log.attach(json!({"type": "hook_success"}), "said");
    log.push(Body::Orphaned(Orphaned { ids: vec![block, hook], cause: Cause::StreamingFallback }));
    assert_eq!(log.ledger.share(), before);
}

#[test]
fn a_new_epoch_has_its_own_head_and_no_reasoning() {
    let mut log = Log::default();
    log.epoch("start", Some("12345"));
    log.say("12345");
    log.block("a", &json!({"type": "thinking", "thinking": "long", "signature": "s"}));
    assert!(log.ledger.share().sent > 20);
    log.epoch("model switched", None);
    assert_eq!(log.ledger.share(), Share { steering: 0, sent: 15 });
}

// LEDG-01
#[test]
fn a_hidden_message_says_who_wrote_it_and_why() {
    let mut log = Log::default();
    let source = Source::Command { name: "fix".to_owned() };
    let message = UserMessage::hidden(vec![RawBlock::text("Fix it.")], source.clone(), "called for");
    let addition = log.push(Body::User(message)).1.unwrap();
    assert_eq!((addition.source, addition.why.as_str()), (source, "called for"));
}

fn back(abandoned: &[(u64, u64)], folded: Option<u64>) -> Body {
    let stretch = |&(from, until): &(u64, u64)| Stretch { from, until };
    let folded = folded.map(|seq| Folded {
        id: EntryId::default(),
        seq,
        until: Some(seq),
        kept_from: None,
        spoken_since: false,
        untold: false,
    });
    let abandoned = abandoned.iter().map(stretch).collect();
    let conversation = Some(ConversationBack { abandoned, folded, ..ConversationBack::default() });
    Body::Rewound(Rewound { conversation, ..Rewound::default() })
}

// LEDG-06
#[test]
fn what_was_left_behind_is_no_longer_counted() {
    let mut log = Log::default();
    log.say("12345");
    log.attach(json!({"type": "todo_reminder"}), "12345");
    let first = log.ledger.share();
    log.end();
    let second_prompt = log.seq + 1;
    log.say("1234567890");
    log.attach(json!({"type": "todo_reminder"}), "1234567890");
    let block = log.text("a", "void");
    log.push(Body::Orphaned(Orphaned { ids: vec![block], cause: Cause::StreamingFallback }));
    let both = log.ledger.share();
    assert_eq!(both, Share { steering: 15, sent: 30 });
    log.end();
    let step = log.seq + 1;
    log.push(back(&[(second_prompt, step)], None));
    assert_eq!(log.ledger.share(), first, "it went back to before the second prompt");
    log.say("other");
    log.push(back(&[(step, log.seq + 1)], None));
    assert_eq!(log.ledger.share(), both, "and that was undone");
}

// LEDG-06
#[test]
fn a_fold_that_is_undone_gives_back_what_it_took() {
    let mut log = Log::default();
    log.say("1234567890");
    log.attach(json!({"type": "todo_reminder"}), "12345");
    let before = log.ledger.share();
    let fold = log.seq + 1;
    log.push(Body::Compacted(Box::default()));
    log.push(Body::User(UserMessage::new(vec![RawBlock::text("sum")], Origin::Summary)));
    assert_eq!(log.ledger.share(), Share { steering: 3, sent: 3 });
    log.push(back(&[(fold, log.seq + 1)], None));
    assert_eq!(log.ledger.share(), before);
    let fold = log.seq + 1;
    log.push(Body::Compacted(Box::default()));
    log.push(Body::User(UserMessage::new(vec![RawBlock::text("sum")], Origin::Summary)));
    let folded = log.ledger.share();
    let prompt = log.seq + 1;
    log.say("more");
    log.push(back(&[(prompt, log.seq + 1)], Some(fold)));
    assert_eq!(log.ledger.share(), folded, "what was folded before stays folded");
}

#[test]
fn images_count_at_a_flat_rate() {
    let image = json!({"type": "image", "source": {"type": "base64", "data": "x".repeat(100_000)}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [image, {"type": "text", "text": "12"}]});
    assert_eq!(block_size(&RawBlock::from_value(&image)), 6_000);
    assert_eq!(block_size(&RawBlock::from_value(&result)), 6_002);
}

#[test]
fn steps_are_counted_through_turns_and_repeated_requests_within_them() {
    let mut log = Log::default();
    log.say("one");
    log.text("a", "x");
    log.text("a", "y");
    log.response("a", "tool_use");
    assert_eq!(log.place(), (1, 1, 1));
    let void = log.text("b", "half");
    log.push(Body::Orphaned(Orphaned { ids: vec![void], cause: Cause::StreamingFallback }));
    assert_eq!(place(&log.hide("x")), (1, 2, 2));
    log.text("c", "whole");
    assert_eq!(log.place(), (1, 2, 2));
    log.response("c", "end_turn");
    log.end();
    assert_eq!(place(&log.epoch("start", Some("c")).unwrap()), (2, 3, 1));
    log.say("two");
    log.response("d", "abandoned");
    log.text("e", "x");
    assert_eq!(log.place(), (2, 3, 2));
    log.response("e", "end_turn");
    // The provider may use an id again for another answer.
    log.text("e", "x");
    assert_eq!(log.place(), (2, 4, 1));
}

#[test]
fn a_refused_prompt_is_a_turn_without_steps() {
    let mut log = Log::default();
    log.end();
    assert_eq!(log.place(), (1, 0, 0));
    log.say("again");
    log.text("a", "x");
    assert_eq!(log.place(), (2, 1, 1));
}

// SECR-01
#[test]
fn what_was_masked_is_counted_by_place_and_kind() {
    let mut log = Log::default();
    log.say("go");
    log.text("a", "reading");
    log.response("a", "tool_use");
    let result = |tool: &str, text: &str, detail: Value| {
        Body::Result(CallResult {
            call: "c".into(),
            tool: tool.to_owned(),
            content: vec![RawBlock::text(text)],
            is_error: false,
            cause: Cause::Call,
            detail,
            effects: Vec::new(),
        })
    };
    let detail = json!({"file": {"filePath": "/p/.env"}, "masked": [{"kind": "password", "count": 2}]});
    let (one, other) = ("[secret:password:0123abcd]", "[secret:github-token:0123abcd]");
    log.push(result("Read", &format!("{one} {one}"), detail.clone()));
    log.push(result("Read", one, detail));
    // Errors have no details, and texts that only look like it are none.
    log.push(result("Bash", &format!("{one}{other} [secret:x] {one}"), Value::Null));
    log.attach(json!({"type": "file", "filename": "/p/key"}), other);
    let told = log.ledger.masks().iter().map(|total| {
        (total.found_in.as_str(), total.file.as_deref(), total.kind.as_str(), total.count, total.first.step)
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("Read", Some("/p/.env"), "password", 4, 2),
            ("Bash", None, "password", 2, 2),
            ("Bash", None, "github-token", 1, 2),
            ("file", Some("/p/key"), "github-token", 1, 2),
        ]
    );
}
