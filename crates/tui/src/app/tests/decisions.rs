//! The user's word on a call, as the transcript shows it: in the user's words, not in those for the model.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Attachment, Body, CallResult, Cause, DecisionRecord, Outcome, REFUSED_BY_USER};
use tiller_protocol::mode::Mode;

use super::stage::Stage;

/// What the model is told never reaches the screen.
const FOR_THE_MODEL: &str = "FOR THE MODEL";

fn settled(stage: &mut Stage, tool: &str, detail: Value, is_error: bool) {
    stage.append(Body::Result(CallResult {
        call: "c".into(),
        tool: tool.to_owned(),
        content: vec![RawBlock::text(FOR_THE_MODEL)],
        is_error,
        cause: Cause::Call,
        detail,
        effects: Vec::new(),
    }));
}

fn refused(stage: &mut Stage, tool: &str, words: &str) {
    let message = match words {
        "" => REFUSED_BY_USER.to_owned(),
        words => format!("{REFUSED_BY_USER}: {words}"),
    };
    stage.append(Body::Decision(DecisionRecord {
        call: "c".into(),
        tool: tool.to_owned(),
        behavior: "deny".to_owned(),
        reason: Value::Null,
        message,
        input: Value::Null,
    }));
    settled(stage, tool, Value::Null, true);
}

fn called(tool: &str, input: &Value) -> Stage {
    let mut stage = Stage::new(60, 45);
    stage.begin_turn("go");
    stage.call("c", tool, input);
    stage
}

/// What is shown, in the transcript and in the list of results.
fn shown(mut stage: Stage) -> String {
    let transcript = stage.shown();
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    let list = stage.shown();
    let both = format!("{transcript}\n{list}");
    assert!(!both.contains(FOR_THE_MODEL), "{both}");
    assert!(!both.contains('{'), "{both}");
    both
}

fn prompts() -> Value {
    json!({"allowedPrompts": [{"tool": "Bash", "prompt": "run tests"}]})
}

#[test]
fn an_approved_plan_stands_there_as_a_whole() {
    let mut stage = called("ExitPlanMode", &prompts());
    stage.set_mode(Mode::Default);
    let steps: Vec<String> = (1..=20).map(|n| format!("{n}. step {n}")).collect();
    let plan = format!("# The plan\n\n**Do** this:\n\n{}\n", steps.join("\n"));
    settled(&mut stage, "ExitPlanMode", json!({"plan": plan}), false);
    let shown = shown(stage);
    assert!(shown.contains("● Plan approved · confirm each edit\n"), "{shown}");
    assert!((1..=20).all(|n| shown.contains(&format!("{n}. step {n}\n"))), "{shown}");
    assert!(shown.contains("│ Do this:"), "{shown}");
}

#[test]
fn a_refused_plan_says_what_the_user_said() {
    let mut stage = called("ExitPlanMode", &prompts());
    refused(&mut stage, "ExitPlanMode", "add more tests");
    let text = shown(stage);
    assert!(text.contains("● Plan not approved: add more tests\n"), "{text}");
    let mut stage = called("EnterPlanMode", &json!({}));
    refused(&mut stage, "EnterPlanMode", "");
    let text = shown(stage);
    assert!(text.contains("● No plan mode\n"), "{text}");
}

#[test]
fn answers_stand_behind_their_questions() {
    let questions = json!([
        {"question": "Which one?", "header": "One", "options": []},
        {"question": "And why?", "header": "Why", "options": []},
    ]);
    let mut stage = called("AskUserQuestion", &json!({ "questions": questions }));
    let detail = json!({"questions": questions, "answers": {"Which one?": "the red one"}});
    settled(&mut stage, "AskUserQuestion", detail, false);
    let shown = shown(stage);
    assert!(
        shown.contains("● Question One · Why\n  │ Which one? → the red one\n  │ And why? → no answer"),
        "{shown}"
    );
}

#[test]
fn a_refused_call_is_told_once() {
    let mut stage = called("Bash", &json!({"command": "make"}));
    refused(&mut stage, "Bash", "");
    stage.end_turn(Outcome::ToolRejected);
    let text = shown(stage);
    assert!(text.contains("● Bash make  refused\n\n! You refused; say what to do instead."), "{text}");
    let mut stage = called("Bash", &json!({"command": "make"}));
    refused(&mut stage, "Bash", "use just");
    let text = shown(stage);
    assert!(text.contains("● Bash make  refused\n  │ you said: use just"), "{text}");
}

#[test]
fn what_resumes_an_agent_is_for_the_model() {
    let mut stage = called("Task", &json!({"subagent_type": "Explore", "description": "Look around"}));
    let content = json!([{"type": "text", "text": "Found **it**."}]);
    settled(&mut stage, "Task", json!({"status": "completed", "agentId": "a1", "content": content}), false);
    let shown = shown(stage);
    assert!(shown.contains("● Task Explore: Look around\n  │ Found it.\n"), "{shown}");
}

#[test]
fn what_a_prompt_mentions_leaves_a_trace() {
    let mut stage = Stage::new(60, 45);
    stage.begin_turn("see @src/main.rs#L1-2");
    let mention = |content: Value| {
        let (source, why) = ("at_mentioned_files".to_owned(), "the prompt mentions it".to_owned());
        Body::Attachment(Attachment { attachment: content, source, why, ..Attachment::default() })
    };
    stage.append(mention(json!({"type": "file", "filename": "/work/src/main.rs", "offset": 1, "limit": 2})));
    stage.append(mention(json!({"type": "directory", "path": "/work/docs"})));
    stage.append(mention(json!({"type": "compact_file_reference", "filename": "/tmp/huge.log"})));
    let shown = stage.shown();
    let rows = "> see @src/main.rs#L1-2\n  └ src/main.rs lines 1–2\n  └ docs: what it contains\n  └ /tmp/huge.log: too";
    assert!(shown.contains(rows), "{shown}");
}
