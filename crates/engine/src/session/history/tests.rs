//! Whatever has happened in a session: reading as little of its log as possible comes to the same as reading all of it.

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tiller_protocol::block::RawBlock;
use tiller_protocol::compaction::{Cleared, Compacted, Kept};
use tiller_protocol::effect::{Effect, FileSeen, Fingerprint};
use tiller_protocol::entry::{AssistantBlock, CallResult, Cause, Origin, Response, UserMessage};
use tiller_protocol::id::{CallId, EntryId, MessageId};
use tiller_protocol::rewind::Stretch;
use tiller_protocol::usage::{StopReason, Usage};

use super::*;
use crate::undo::conversation;

/// Something that happens in a session.
#[derive(Clone, Debug)]
enum Act {
    Prompt,
    /// A step with so many calls; the answer may bear the name of an earlier one.
    Step {
        calls: usize,
        message: usize,
    },
    /// The conversation is folded, perhaps but for its end.
    Fold {
        keep: bool,
    },
    /// The last fold is undone.
    Unfold,
    /// The conversation goes back to before a prompt.
    Back(usize),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => Just(Act::Prompt),
        5 => (0_usize..3, 0_usize..40).prop_map(|(calls, message)| Act::Step { calls, message }),
        1 => any::<bool>().prop_map(|keep| Act::Fold { keep }),
        1 => Just(Act::Unfold),
        1 => (0_usize..4).prop_map(Act::Back),
    ]
}

#[derive(Default)]
struct Story {
    entries: Vec<Entry>,
    /// Where the last answer or prompt begins.
    end: Option<usize>,
}

impl Story {
    fn push(&mut self, body: Body) -> u64 {
        let seq = self.entries.len() as u64 + 1;
        let id = EntryId(uuid::Uuid::from_u128(u128::from(seq)));
        self.entries.push(Entry { seq, id, parent: None, at: Timestamp::UNIX_EPOCH, agent: None, body });
        seq
    }

    fn state(&self) -> State {
        State::fold(&self.entries)
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Prompt => {
                let seq = self.push(Body::User(UserMessage::prompt("go on, please")));
                self.end = Some(seq as usize - 1);
            }
            Act::Step { calls, message } => self.step(*calls, *message),
            Act::Fold { keep } => self.fold(*keep),
            Act::Unfold => {
                let state = self.state();
                if let Some(folded) = state.folded {
                    let stretch = Stretch { from: folded.seq, until: folded.until.unwrap() + 1 };
                    self.leave(state.abandoned, stretch);
                }
            }
            Act::Back(which) => {
                let state = self.state();
                let left = |seq| state.abandoned.iter().any(|stretch| stretch.holds(seq));
                let is_prompt =
                    |entry: &&Entry| matches!(&entry.body, Body::User(prompt) if !prompt.is_hidden());
                let prompts: Vec<u64> = self
                    .entries
                    .iter()
                    .filter(is_prompt)
                    .map(|entry| entry.seq)
                    .filter(|seq| !left(*seq))
                    .collect();
                if let Some(from) = prompts.iter().rev().nth(*which) {
                    let until = self.entries.len() as u64 + 1;
                    self.leave(state.abandoned, Stretch { from: *from, until });
                }
            }
        }
    }

    fn step(&mut self, calls: usize, message: usize) {
        let message_id = MessageId(format!("m{message}"));
        let first = self.entries.len();
        let said = |block| {
            let (message_id, model) = (message_id.clone(), "m".to_owned());
            Body::Assistant(AssistantBlock {
                message_id,
                model,
                block,
                invalid_input: None,
                api_error: None,
                aborted: false,
            })
        };
        self.push(said(RawBlock::text("Let me see.")));
        let ids: Vec<String> = (0..calls).map(|call| format!("call_{first}_{call}")).collect();
        for id in &ids {
            let call = json!({"type": "tool_use", "id": id, "name": "Read", "input": {}});
            self.push(said(RawBlock::from_value(&call)));
        }
        let usage = Usage { input_tokens: 1_000 + first as u64, ..Usage::default() };
        self.push(Body::Response(Response {
            message_id,
            model: "m".to_owned(),
            usage,
            stop_reason: StopReason::EndTurn,
            stop_details: None,
            cost_usd: None,
            duration_ms: 0,
            request_id: None,
            side: false,
            agent: None,
            asked: None,
        }));
        for id in &ids {
            let text = "some line\n".repeat(450);
            let file = json!({
                "filePath": format!("/p/{id}"), "content": text, "startLine": 1, "numLines": 450, "totalLines": 450,
            });
            let detail = json!({"type": "text", "file": file});
            self.push(Body::Result(CallResult {
                call: CallId(id.clone()),
                tool: "Read".to_owned(),
                content: vec![RawBlock::text(&text)],
                is_error: false,
                cause: Cause::Call,
                detail,
                effects: Vec::new(),
            }));
        }
        for id in &ids {
            let (path, fingerprint) = (format!("/p/{id}").into(), Fingerprint(id.clone()));
            let seen = FileSeen { path, fingerprint, mtime_ms: 1, lines: None };
            self.push(Body::Effect(Effect::FileSeen(seen)));
        }
        self.end = Some(first);
    }

    fn fold(&mut self, keep: bool) {
        let state = self.state();
        let last = self.end.filter(|_| keep).map(|at| &self.entries[at]);
        // What is kept must still be open, so nothing may have come since that closes it.
        let kept = last.filter(|entry| state.folded.is_none_or(|folded| folded.seq < entry.seq));
        let kept = kept.map(|entry| Kept { first: entry.id, from: entry.seq, messages: 1, tokens: 70 });
        self.push(Body::Compacted(Box::new(Compacted { kept, ..Compacted::default() })));
        let content = vec![RawBlock::text("What was said so far, in short.")];
        self.push(Body::User(UserMessage::new(content, Origin::Summary)));
        self.epoch();
    }

    fn epoch(&mut self) {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        self.push(Body::Epoch(Epoch {
            reason: "folded".to_owned(),
            system: raw("[]").into(),
            tools: raw("[]").into(),
            user_context: None,
            instructions: Vec::new(),
            key: String::new(),
            made_of: None,
        }));
    }

    fn leave(&mut self, mut abandoned: Vec<Stretch>, stretch: Stretch) {
        abandoned.push(stretch);
        let archive = Archive::new(None);
        self.entries.iter().for_each(|entry| archive.keep(&Arc::new(entry.clone())));
        let conversation = Some(conversation(&archive, abandoned).unwrap());
        self.push(Body::Rewound(Rewound { conversation, ..Rewound::default() }));
        self.epoch();
        self.end = None;
    }

    fn write(&self) -> (TempDir, std::path::PathBuf) {
        let dir = TempDir::new().unwrap();
        let log = dir.path().join("log");
        let mut writer = LogWriter::open(&log, "x").unwrap();
        let (session, cwd) = (SessionId::default(), Path::new("/w"));
        let envelope = Envelope { session, cwd, version: "0", git_branch: None, slug: None };
        for entry in &self.entries {
            writer.append(&line::write(entry, &envelope).unwrap()).unwrap();
        }
        (dir, log)
    }

    /// Everything that is part of the conversation, folded one by one.
    fn naive(&self) -> View {
        let abandoned = self.state().abandoned;
        let mut view = View::default();
        for entry in &self.entries {
            if !abandoned.iter().any(|stretch| stretch.holds(entry.seq)) {
                view.conversation.push(entry);
                view.room.push(entry);
                Arc::make_mut(&mut view.past).push(entry);
            }
        }
        view
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // LOG-01 LOG-08
    #[test]
    fn a_log_is_folded_from_as_little_of_it_as_that_takes(acts in prop::collection::vec(act(), 1..60)) {
        let mut story = Story::default();
        story.act(&Act::Prompt);
        acts.iter().for_each(|act| story.act(act));
        let (_dir, log) = story.write();
        let history = History::read(&log, None, Audience::Nobody).unwrap();
        let naive = story.naive();
        prop_assert_eq!(&history.state, &story.state());
        prop_assert_eq!(history.conversation.said(), naive.conversation.said());
        prop_assert_eq!(format!("{:?}", history.past), format!("{:?}", naive.past));
        prop_assert_eq!(history.room.light.clearing(None), naive.room.light.clearing(None));
        if acts.iter().all(|act| !matches!(act, Act::Unfold)) {
            prop_assert_eq!(history.room.gauge.tokens(), naive.room.gauge.tokens());
        }
        let shown = History::read(&log, None, Audience::FrontEnd).unwrap();
        prop_assert_eq!(&shown.conversation.said(), &history.conversation.said());
        let seqs: Vec<u64> = shown.entries.iter().map(|entry| entry.seq).collect();
        prop_assert_eq!(seqs, (1..=story.entries.len() as u64).collect::<Vec<_>>());
    }
}

// What was cleared need not be read: nothing but a note of it is sent.
#[test]
fn results_that_were_cleared_are_passed_over() {
    let mut story = Story::default();
    for round in 0..3 {
        story.act(&Act::Prompt);
        for _ in 0..6 {
            story.act(&Act::Step { calls: 2, message: 1 });
        }
        let call = |entry: &Entry| match &entry.body {
            Body::Result(result) => Some(result.call.clone()),
            _ => None,
        };
        let calls: Vec<CallId> = story.entries.iter().filter_map(call).take(10 * (round + 1)).collect();
        story.push(Body::Cleared(Cleared { calls, tokens: 900, out_of_sight: Vec::new() }));
        story.act(&Act::Step { calls: 1, message: 2 });
    }
    if let Some(Entry { body: Body::Result(result), .. }) =
        story.entries.iter_mut().find(|entry| matches!(entry.body, Body::Result(_)))
    {
        result.is_error = true;
    }
    let (_dir, log) = story.write();
    assert_eq!(kinds(&log).unwrap().cleared.len(), 30);
    let (history, naive) = (History::read(&log, None, Audience::Nobody).unwrap(), story.naive());
    assert_eq!(history.state, story.state());
    assert_eq!(history.conversation.said(), naive.conversation.said());
    assert_eq!(history.room.gauge.tokens(), naive.room.gauge.tokens());
    assert_eq!(history.room.light.clearing(None), naive.room.light.clearing(None));

    // A line about clearing that was changed afterwards counts for nothing.
    let text = fs_err::read_to_string(&log).unwrap();
    let at = text.rfind("{\"type\":\"cleared\"").unwrap();
    let altered = format!("{}{}", &text[..at], text[at..].replacen("\"tokens\":900", "\"tokens\":901", 1));
    fs_err::write(&log, altered).unwrap();
    let history = History::read(&log, None, Audience::Nobody).unwrap();
    assert_eq!(history.damage.len(), 1);
    let sent: usize = history.conversation.said().iter().map(|message| message.len()).sum();
    assert!(sent > 16 * 4_000, "what it named is there again: {sent}");
}

// A provider that counts nothing: what was cleared must not be taken off twice, first by passing over it and then by what
// it has freed.
#[test]
fn what_was_cleared_frees_room_once_where_nobody_counts() {
    let mut story = Story::default();
    story.act(&Act::Prompt);
    for _ in 0..8 {
        story.act(&Act::Step { calls: 2, message: 1 });
    }
    let full = |story: &Story| {
        let sent: usize = story.naive().conversation.said().iter().map(|message| message.len()).sum();
        sent as u64 / 4
    };
    let call = |entry: &Entry| match &entry.body {
        Body::Result(result) => Some(result.call.clone()),
        _ => None,
    };
    let calls: Vec<CallId> = story.entries.iter().filter_map(call).take(8).collect();
    story.push(Body::Cleared(Cleared { calls, tokens: full(&story) / 2, out_of_sight: Vec::new() }));
    for entry in &mut story.entries {
        if let Body::Response(response) = &mut entry.body {
            response.usage = Usage::default();
        }
    }
    let (_dir, log) = story.write();
    let history = History::read(&log, None, Audience::Nobody).unwrap();
    let tokens = history.room.gauge.tokens();
    assert_eq!(tokens, story.naive().room.gauge.tokens());
    // What is sent has brackets and names beside its text.
    assert!((full(&story) * 3 / 4..=full(&story)).contains(&tokens), "{tokens} of {}", full(&story));
}

/// A log as another program writes it: the same facts, in another order and without hashes.
fn rewritten(log: &Path) {
    let text = fs_err::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| {
        let line: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
        let fields = line.into_iter().rev().filter(|(name, _)| name != "hash");
        serde_json::Value::Object(fields.collect()).to_string() + "\n"
    });
    let lines: String = lines.collect();
    assert!(!lines.contains("\n{\"type\""), "no line begins as ours do");
    fs_err::write(log, lines).unwrap();
}

// LOG-01: by their beginnings such lines do not tell that the conversation is a view of the log.
#[test]
fn a_log_that_was_written_anew_is_read_as_a_whole() {
    let acts = [
        vec![Act::Fold { keep: true }],
        vec![Act::Back(0)],
        vec![Act::Fold { keep: false }, Act::Prompt, Act::Back(1), Act::Prompt],
    ];
    for acts in acts {
        let mut story = Story::default();
        for _ in 0..3 {
            story.act(&Act::Prompt);
            story.act(&Act::Step { calls: 2, message: 1 });
        }
        acts.iter().for_each(|act| story.act(act));
        let (_dir, log) = story.write();
        rewritten(&log);
        assert!(!kinds(&log).unwrap().is_view);
        let (history, naive) = (History::read(&log, None, Audience::Nobody).unwrap(), story.naive());
        assert_eq!(history.state, story.state(), "{acts:?}");
        assert_eq!(history.conversation.said(), naive.conversation.said(), "{acts:?}");
    }
}

// An answer to the folded conversation was counted without what the fold had left out.
#[test]
fn after_a_fold_is_undone_the_context_is_as_full_as_before() {
    let mut story = Story::default();
    story.act(&Act::Prompt);
    for _ in 0..9 {
        story.act(&Act::Step { calls: 2, message: 1 });
    }
    let full = story.naive().room.gauge.tokens();
    story.act(&Act::Fold { keep: true });
    story.act(&Act::Step { calls: 0, message: 1 });
    let at = story.entries.iter().rposition(|entry| matches!(entry.body, Body::Response(_))).unwrap();
    if let Body::Response(response) = &mut story.entries[at].body {
        response.usage.input_tokens = 10;
    }
    assert_eq!(story.naive().room.gauge.tokens(), 10);
    story.act(&Act::Unfold);
    let (_dir, log) = story.write();
    let history = History::read(&log, None, Audience::Nobody).unwrap();
    let tokens = history.room.gauge.tokens();
    assert!((full..full + 50).contains(&tokens), "{full} before, {tokens} after");
}

// LOG-08: what a front end shows of the past is bounded.
#[test]
fn old_entries_are_given_without_what_calls_have_returned() {
    let mut story = Story::default();
    for _ in 0..250 {
        story.act(&Act::Prompt);
        story.act(&Act::Step { calls: 2, message: 1 });
    }
    story.act(&Act::Fold { keep: false });
    let (_dir, log) = story.write();
    let history = History::read(&log, None, Audience::FrontEnd).unwrap();
    let contents: Vec<bool> = history
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Result(result) => Some(result.content.is_empty()),
            _ => None,
        })
        .collect();
    assert!(contents[0] && !contents[contents.len() - 1]);
    assert!(contents.is_sorted_by(|before, after| before >= after), "first without, then with");
}
