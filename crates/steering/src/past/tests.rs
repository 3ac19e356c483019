use serde_json::json;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{AssistantBlock, Cause, Origin, Orphaned, Response, UserMessage};
use tiller_protocol::id::{CallId, EntryId, MessageId};
use tiller_protocol::usage::{StopReason, Usage};

use super::*;

/// A conversation written down entry by entry.
#[derive(Clone, Default)]
pub(crate) struct Story {
    pub(crate) past: Past,
    seq: u64,
}

impl Story {
    fn push(&mut self, body: Body) -> EntryId {
        self.seq += 1;
        let id = EntryId(uuid::Uuid::from_u128(u128::from(self.seq)));
        self.past.push(&Entry { seq: self.seq, id, parent: None, at: Default::default(), agent: None, body });
        id
    }

    pub(crate) fn prompt(mut self) -> Self {
        self.push(Body::User(UserMessage::prompt("go")));
        self
    }

    pub(crate) fn fold(mut self) -> Self {
        self.push(Body::Compacted(Box::default()));
        self
    }

    fn hidden(mut self) -> Self {
        let content = vec![RawBlock::text("go on")];
        self.push(Body::User(UserMessage::new(content, Origin::Harness)));
        self
    }

    fn block(&mut self, id: &str, block: &Value) -> EntryId {
        self.push(Body::Assistant(AssistantBlock {
            message_id: MessageId::from(id),
            model: "m".to_owned(),
            block: RawBlock::from_value(block),
            invalid_input: None,
            api_error: None,
            aborted: false,
        }))
    }

    fn complete(&mut self) {
        self.push(Body::Response(Response {
            message_id: MessageId::from("m"),
            model: "m".to_owned(),
            usage: Usage::default(),
            stop_reason: StopReason::EndTurn,
            stop_details: None,
            cost_usd: None,
            duration_ms: 0,
            request_id: None,
            side: false,
            agent: None,
            asked: None,
        }));
    }

    /// One answer with these blocks.
    fn answer(&mut self, blocks: &[Value]) -> Vec<EntryId> {
        let ids = blocks.iter().map(|block| self.block("same", block)).collect();
        self.complete();
        ids
    }

    /// Answers that say something.
    pub(crate) fn says(mut self, times: u32) -> Self {
        (0..times).for_each(|_| drop(self.answer(&[json!({"type": "text", "text": "hm"})])));
        self
    }

    /// An answer that calls a tool.
    pub(crate) fn calls(mut self, tool: &str) -> Self {
        self.answer(&[json!({"type": "tool_use", "id": "t", "name": tool, "input": {}})]);
        self
    }

    pub(crate) fn effect(mut self, effect: Effect) -> Self {
        self.push(Body::Effect(effect));
        self
    }

    pub(crate) fn result(mut self, tool: &str, detail: Value) -> Self {
        self.push(Body::Result(CallResult {
            call: CallId::from("t"),
            tool: tool.to_owned(),
            content: Vec::new(),
            is_error: false,
            cause: Cause::Call,
            detail,
            effects: Vec::new(),
        }));
        self
    }

    pub(crate) fn attach(mut self, content: Value) -> Self {
        self.push(Body::Attachment(Attachment::new(content, "", String::new(), Vec::new())));
        self
    }
}

fn kind(name: &str) -> Value {
    json!({"type": name})
}

// PLAN-34
#[test]
fn turns_are_answers_that_say_or_call_something() {
    let mut story = Story::default().prompt().attach(kind("x"));
    story.answer(&[json!({"type": "thinking", "thinking": "hm", "signature": "s"})]);
    story.answer(&[json!({"type": "text", "text": " \n"})]);
    assert_eq!(story.past.turns_since("x"), Some(0));
    let text = json!({"type": "text", "text": "a"});
    let call = json!({"type": "tool_use", "id": "t", "name": "Read", "input": {}});
    story.answer(&[text, call.clone(), call]);
    assert_eq!(story.past.turns_since("x"), Some(1));
    let story = story.prompt().hidden().says(2);
    assert_eq!(story.past.turns_since("x"), Some(3));
    assert_eq!((story.past.turns_since("y"), story.past.turns_without("y")), (None, 3));
}

#[test]
fn an_orphaned_answer_never_was() {
    let mut story = Story::default().prompt().calls("TodoWrite").says(1).prompt();
    assert!(!story.past.called_since_prompt());
    let ids = story.answer(&[json!({"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {}})]);
    assert!(story.past.called_since_prompt());
    assert_eq!(story.past.turns_without_todo_write(), 0);
    story.push(Body::Orphaned(Orphaned { ids, cause: Cause::Refusal }));
    assert!(!story.past.called_since_prompt());
    assert_eq!(story.past.turns_without_todo_write(), 1);
    assert_eq!(story.says(1).past.turns_without_todo_write(), 2);
}

// PLAN-33 PLAN-35 PLAN-37 PLAN-38
#[test]
fn planning_phases_are_counted_one_by_one() {
    let story = Story::default().prompt().attach(kind("plan_mode_reentry")).attach(kind("plan_mode")).says(2);
    assert_eq!((story.past.plan_reminders(), story.past.turns_since_plan_reminder()), (1, Some(2)));
    let story = story.attach(kind("plan_mode_reentry")).says(1);
    assert_eq!((story.past.plan_reminders(), story.past.turns_since_plan_reminder()), (1, Some(1)));
    let story = story.attach(kind("plan_mode_exit")).says(1);
    assert_eq!((story.past.plan_reminders(), story.past.turns_since_plan_reminder()), (0, None));
}

#[test]
fn what_was_told_of_tasks_and_instructions_is_known() {
    let story = Story::default()
        .attach(json!({"type": "task_status", "taskId": "bash_1", "status": "failed"}))
        .attach(json!({"type": "task_progress", "taskId": "bash_2", "message": "m"}))
        .attach(json!({"type": "nested_memory", "path": "/p/sub/AGENTS.md", "content": "c"}))
        .says(2);
    assert!(story.past.knows_end("bash_1", "failed") && !story.past.knows_end("bash_1", "killed"));
    assert!(!story.past.knows_end("bash_2", "failed") && !story.past.knows_end("bash_3", "failed"));
    assert_eq!(story.past.turns_since_progress("bash_2"), Some(2));
    assert!(story.past.has_told_instructions(Path::new("/p/sub/AGENTS.md")));
    assert_eq!(story.past.times("task_status"), 1);
}

#[test]
fn what_the_model_found_out_about_tasks_need_not_be_told() {
    let mut story = Story::default();
    let mut result = |tool: &str, detail: Value| {
        story.push(Body::Result(CallResult {
            call: CallId::from("t"),
            tool: tool.to_owned(),
            content: Vec::new(),
            is_error: false,
            cause: Cause::Call,
            detail,
            effects: Vec::new(),
        }))
    };
    result("BashOutput", json!({"id": "bash_1", "running": false}));
    result("BashOutput", json!({"id": "bash_2", "running": true}));
    result("KillShell", json!({"shell_id": "bash_3"}));
    result("TaskOutput", json!({"task_id": "a1", "running": false}));
    let knows = |task: &str| story.past.knows_end(task, "killed");
    assert!(knows("bash_1") && !knows("bash_2") && knows("bash_3") && knows("a1"));
    assert_eq!(story.past.last_command(), 3);
}

#[test]
fn a_task_that_begins_anew_can_end_anew() {
    let mut story =
        Story::default().attach(json!({"type": "task_status", "taskId": "a1", "status": "completed"}));
    assert!(story.past.knows_end("a1", "completed"));
    for (tool, detail) in [
        ("Task", json!({"status": "async_launched", "agentId": "a1"})),
        ("Bash", json!({"stdout": "", "backgroundTaskId": "bash_12"})),
    ] {
        story.push(Body::Result(CallResult {
            call: CallId::from("t"),
            tool: tool.to_owned(),
            content: Vec::new(),
            is_error: false,
            cause: Cause::Call,
            detail,
            effects: Vec::new(),
        }));
    }
    assert!(!story.past.knows_end("a1", "completed"));
    assert_eq!(story.past.last_command(), 12);
}

fn seen(path: &str, content: &str) -> Effect {
    let (path, fingerprint) = (path.into(), Fingerprint(content.to_owned()));
    Effect::FileSeen(FileSeen { path, fingerprint, mtime_ms: 0, lines: None })
}

/// What `Read` says of a file with this many lines.
fn lines_of(path: &str, text: &str, total: usize) -> Value {
    let file = json!({
        "filePath": path, "content": text, "startLine": 1, "numLines": text.lines().count(), "totalLines": total,
    });
    json!({"type": "text", "file": file})
}

#[test]
fn texts_of_files_are_those_that_the_model_saw_completely() {
    let mut story = Story::default().calls("Write");
    story.push(Body::Result(CallResult {
        call: CallId::from("t"),
        tool: "Write".to_owned(),
        content: Vec::new(),
        is_error: false,
        cause: Cause::Call,
        detail: json!({"type": "update", "content": "written\n"}),
        effects: vec![seen("/written", "f")],
    }));
    story.push(Body::Attachment(Attachment {
        effects: vec![seen("/mentioned", "f")],
        ..Attachment::new(
            json!({"type": "file", "content": {"type": "text", "text": "mentioned"}}),
            "",
            String::new(),
            Vec::new(),
        )
    }));
    // Reads run side by side: which content each has seen is told when all of them have their results.
    let story = story
        .calls("Read")
        .result("Read", lines_of("/read", "read", 1))
        .result("Read", lines_of("/twice", "one", 1))
        .result("Read", lines_of("/part", "a part", 2))
        .result("Read", lines_of("/twice", "two", 1))
        .effect(seen("/read", "f"))
        .effect(seen("/twice", "1"))
        .effect(seen("/part", "f"))
        .effect(seen("/twice", "2"));
    let text = |path: &str, content: &str| story.past.text(Path::new(path), &Fingerprint(content.to_owned()));
    assert_eq!(text("/read", "f").as_deref(), Some("read"));
    assert_eq!(text("/twice", "2").as_deref(), Some("two"));
    assert_eq!(text("/written", "f").as_deref(), Some("written"));
    assert_eq!(text("/mentioned", "f").as_deref(), Some("mentioned"));
    assert_eq!(text("/part", "f"), None, "what was shown before still counts, but this is not all of it");
    assert_eq!(story.past.pictures().count(), 0);
}

#[test]
fn what_was_read_in_vain_is_not_taken_for_what_is_seen_later() {
    let read = |story: Story, text: &str| story.calls("Read").result("Read", lines_of("/a", text, 1));
    let story = read(read(Story::default(), "lost"), "kept").effect(seen("/a", "f"));
    let text = story.past.text(Path::new("/a"), &Fingerprint("f".to_owned()));
    assert_eq!(text.as_deref(), Some("kept"));
}

#[test]
fn after_a_fold_the_present_may_be_told_anew_and_counts_go_on() {
    let story = Story::default()
        .prompt()
        .attach(json!({"type": "nested_memory", "path": "/p/sub/AGENTS.md"}))
        .attach(json!({"type": "output_style", "style": "terse"}))
        .attach(json!({"type": "plan_mode"}))
        .attach(json!({"type": "todo_reminder"}))
        .attach(json!({"type": "collab_notification", "newest": "7"}))
        .attach(json!({"type": "task_status", "taskId": "bash_1", "status": "failed"}));
    let past = story.clone().fold().past;
    assert!(story.past.has_told_instructions(Path::new("/p/sub/AGENTS.md")));
    assert!(!past.has_told_instructions(Path::new("/p/sub/AGENTS.md")));
    assert_eq!((past.times("output_style"), past.last("output_style")), (0, &Value::Null));
    assert!(
        past.has_lost("output_style") && !past.has_lost("ultramemory") && !past.has_lost("todo_reminder")
    );
    assert_eq!((past.plan_reminders(), past.turns_since_plan_reminder()), (0, None));
    assert_eq!(past.times("todo_reminder"), 1);
    assert_eq!(past.last("collab_notification")["newest"], "7");
    assert!(past.knows_end("bash_1", "failed"));
}
