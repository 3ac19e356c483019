//! Views of the program itself, and who gets Esc.

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use tiller_protocol::ask::{Ask, PermissionAsk};
use tiller_protocol::command::Event;
use tiller_protocol::compaction::{Compacted, Trigger};
use tiller_protocol::entry::{Body, Outcome};
use tiller_protocol::id::{AskId, EntryId};
use tiller_protocol::mcp::{McpPrompt, McpServer, McpState, McpTool, McpTransport};
use tiller_protocol::rewind::{
    FileDifference, RewindAct, RewindOrder, RewindPart, RewindReport, RewindTarget,
};
use uuid::Uuid;

use super::stage::Stage;
use crate::host::Reply;

pub(super) fn run(stage: &mut Stage, command: &str) {
    stage.write(&format!("{command} "));
    stage.press(KeyCode::Enter);
}

pub(super) fn permission(number: u128) -> Event {
    let ask = PermissionAsk {
        restates: false,
        cwd: "/work".into(),
        call: "c1".into(),
        tool: "Bash".to_owned(),
        input: json!({"command": format!("make {number}")}),
        reason: "no rule allows it".to_owned(),
        blocked_path: None,
        suggestions: Vec::new(),
        change: None,
        would_cover: Vec::new(),
        leaves_sandbox: false,
        agent: None,
    };
    Event::Asked(AskId(Uuid::from_u128(number)), Ask::Permission(ask))
}

// VERB-02: Esc closes what is open, and only then stops.
#[test]
fn esc_closes_what_is_open_before_it_stops() {
    let mut stage = Stage::new(80, 30);
    stage.begin_turn("work");
    for command in ["/help", "/steering", "/context", "/cost", "/status", "/tasks", "/theme"] {
        run(&mut stage, command);
        assert!(!stage.shown().contains("Enter steers"), "{command}:\n{}", stage.shown());
        stage.press(KeyCode::Esc);
        assert!(stage.shown().contains("Enter steers"), "{command}:\n{}", stage.shown());
    }
    stage.app.on_reply(Reply::Report { title: "Agents", text: "Explore".to_owned() });
    assert!(stage.shown().contains("No sub-agents are running."), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    assert_eq!(stage.sent(), [""; 0], "the agent works on");
    stage.press(KeyCode::Esc);
    assert_eq!(stage.sent(), ["Interrupt"]);
}

// PERM-13: the mode key works while help is open, and closes it.
#[test]
fn the_mode_goes_on_while_help_is_open() {
    let mut stage = Stage::new(80, 30);
    run(&mut stage, "/help");
    stage.press(KeyCode::BackTab);
    assert_eq!(stage.sent(), ["CycleMode"]);
    assert!(stage.shown().contains("What should be done?"), "{}", stage.shown());
}

#[test]
fn questions_behind_a_view_are_counted_and_need_a_look() {
    let mut stage = Stage::new(80, 30);
    stage.begin_turn("work");
    run(&mut stage, "/cost");
    stage.event(permission(1));
    stage.event(permission(2));
    assert!(stage.shown().contains("2 questions wait until this is closed"), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    stage.press(KeyCode::Esc);
    let shown = stage.shown();
    assert!(shown.contains("1 of 2") && shown.contains("make 1"), "{shown}");
    assert_eq!(stage.sent(), [""; 0], "a key that is pressed twice answers nothing");
    stage.wait(1);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.sent().len(), 1);
    assert!(stage.shown().contains("make 2"), "{}", stage.shown());
}

// What others bring is in the menu with its source, and the session gets it word for word.
#[test]
fn commands_of_others_are_offered_and_handed_on() {
    let mut stage = Stage::new(80, 30);
    stage.write("/rev");
    let shown = stage.shown();
    assert!(shown.contains("/tools:review <branch>  Look at a branch (plugin)"), "{shown}");
    stage.key(KeyCode::Char('u'), KeyModifiers::CONTROL);
    for (text, sent) in
        [("/tools:review main", "Queue /tools:review main"), ("/review main", "Queue /review main")]
    {
        stage.app.on_paste(text);
        stage.press(KeyCode::Enter);
        assert_eq!(stage.sent(), [sent]);
    }
    stage.app.on_paste("/nosuch");
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), [""; 0]);
    assert!(stage.shown().contains("There is no command /nosuch"), "{}", stage.shown());
    assert_eq!(stage.app.input.text(), "/nosuch");
}

#[test]
fn a_mistyped_command_can_be_corrected() {
    let mut stage = Stage::new(80, 30);
    stage.app.on_paste("/hlep me now");
    stage.press(KeyCode::Enter);
    let shown = stage.shown();
    assert!(shown.contains("There is no command /hlep. Did you mean /help?"), "{shown}");
    assert!(shown.contains("› /hlep me now"), "{shown}");
    assert_eq!(stage.sent(), [""; 0]);
    stage.key(KeyCode::Char('c'), KeyModifiers::CONTROL);
    stage.write("/mcp");
    assert!(stage.shown().contains("/mcp  MCP servers"), "also without servers: {}", stage.shown());
}

/// A server that is starting.
pub(super) fn server() -> McpServer {
    let prompt =
        McpPrompt { name: "mcp__wiki__ask".to_owned(), description: "Ask".to_owned(), arguments: Vec::new() };
    let tool = McpTool {
        name: "mcp__wiki__find".to_owned(),
        description: "Find a page".to_owned(),
        read_only: true,
        destructive: false,
    };
    McpServer {
        name: "wiki".to_owned(),
        scope: "project".to_owned(),
        transport: McpTransport::Stdio,
        address: "wiki-server --stdio".to_owned(),
        state: McpState::Starting,
        identity: None,
        tools: vec![tool],
        prompts: vec![prompt],
        resources: Vec::new(),
    }
}

#[test]
fn servers_are_listed_and_told_what_to_do() {
    let mut stage = Stage::new(80, 30);
    stage.event(Event::Mcp(Box::new(server())));
    run(&mut stage, "/mcp");
    assert!(stage.shown().contains("wiki  starting"), "{}", stage.shown());
    // The list follows what happens.
    let state = McpState::Failed { why: "it ended at once".to_owned() };
    stage.event(Event::Mcp(Box::new(McpServer { state, ..server() })));
    insta::assert_snapshot!(stage.shown());
    stage.press(KeyCode::Enter);
    stage.write("1");
    assert!(
        stage.shown().contains("mcp__wiki__find  Find a page (changes nothing, it says)"),
        "{}",
        stage.shown()
    );
    stage.press(KeyCode::Esc);
    run(&mut stage, "/mcp");
    stage.press(KeyCode::Enter);
    stage.write("2");
    assert_eq!(stage.sent(), ["Mcp { server: \"wiki\", order: Reconnect }"]);
    stage.app.on_paste("/mcp__wiki__ask");
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["Queue /mcp__wiki__ask"]);
}

#[test]
fn a_report_does_not_get_into_the_way_of_writing() {
    let mut stage = Stage::new(80, 30);
    stage.write("half a thou");
    stage.app.on_reply(Reply::Report { title: "Doctor", text: "all is well".to_owned() });
    stage.write("ght");
    assert!(stage.shown().contains("all is well"), "{}", stage.shown());
    assert_eq!(stage.app.input.text(), "half a thought");
}

pub(super) fn preview(stage: &mut Stage, files: Vec<FileDifference>) {
    preview_with(stage, files, Vec::new());
}

fn preview_with(stage: &mut Stage, files: Vec<FileDifference>, aside: Vec<(PathBuf, String)>) {
    preview_of(stage, files, aside, None);
}

fn preview_of(
    stage: &mut Stage,
    files: Vec<FileDifference>,
    aside: Vec<(PathBuf, String)>,
    missing: Option<String>,
) {
    stage.begin_turn("make the parser faster");
    stage.end_turn(Outcome::Success);
    run(stage, "/rewind");
    stage.press(KeyCode::Enter);
    let to = RewindTarget::Prompt(EntryId(Uuid::from_u128(1)));
    let order = RewindOrder { to, part: RewindPart::Both, act: RewindAct::Preview };
    assert!(stage.sent().last().is_some_and(|sent| sent.contains("Preview")));
    let prompt = Some("make the parser faster".to_owned());
    let left = vec![("/work/big.bin".into(), "it was too large to be kept".to_owned())];
    stage.event(Event::Rewind(Box::new(RewindReport { order, prompt, files, aside, left, missing })));
}

pub(super) fn changed() -> Vec<FileDifference> {
    let texts = |now: &str, then: &str| Some((now.to_owned(), then.to_owned()));
    let file = |path: &str, change, texts| FileDifference { path: path.into(), change, texts };
    vec![
        file(
            "/work/src/parse.rs",
            "modified",
            texts("fn parse() {\n    fast()\n}\n", "fn parse() {\n    slow()\n}\n"),
        ),
        file("/work/notes.md", "removed", texts("a note\n", "")),
        file("/work/tool.sh", "mode", None),
    ]
}

// UNDO-02: the difference is seen first.
#[test]
fn going_back_is_looked_at_first() {
    let mut stage = Stage::new(100, 30);
    preview(&mut stage, changed());
    insta::assert_snapshot!(stage.shown());
    stage.press(KeyCode::Enter);
    assert!(stage.sent().last().is_some_and(|sent| sent.contains("Both") && sent.contains("Carry")));
}

#[test]
fn going_back_on_a_narrow_terminal() {
    let mut stage = Stage::new(40, 24);
    preview(&mut stage, changed());
    insta::assert_snapshot!(stage.shown());
}

#[test]
fn without_changed_files_only_the_conversation_goes_back() {
    let mut stage = Stage::new(80, 24);
    preview(&mut stage, Vec::new());
    let shown = stage.shown();
    assert!(shown.contains("No file differs") && !shown.contains("2. "), "{shown}");
    stage.press(KeyCode::Esc);
    assert_eq!(stage.sent(), [""; 0]);
}

// UNDO-02: files are offered also if all that differs is what gets another name.
#[test]
fn what_stands_in_the_way_is_offered_and_named() {
    let mut stage = Stage::new(100, 30);
    let file = FileDifference { path: "/work/short".into(), change: "added", texts: None };
    let aside = vec![("/work/short".into(), "the file is too large to be kept".to_owned())];
    preview_with(&mut stage, vec![file], aside);
    let shown = stage.shown();
    assert!(shown.contains("gets another name: short (the file is too large"), "{shown}");
    assert!(shown.contains("1. Conversation and files"), "{shown}");
}

// UNDO-02: that files go back only a part of the way is said before and after.
#[test]
fn what_was_not_kept_is_told_of() {
    let mut stage = Stage::new(100, 30);
    preview_of(&mut stage, Vec::new(), Vec::new(), Some("what one call changed was not kept".to_owned()));
    let shown = stage.shown();
    assert!(shown.contains("Not everything goes back: what one call changed was not kept."), "{shown}");
    assert!(!shown.contains("what it was then"), "{shown}");
    stage.press(KeyCode::Esc);
    let to = RewindTarget::Prompt(EntryId(Uuid::from_u128(1)));
    let order = RewindOrder { to, part: RewindPart::Both, act: RewindAct::Carry };
    let missing = Some("what one call changed was not kept".to_owned());
    let (files, aside, left) = (changed(), Vec::new(), Vec::new());
    stage.event(Event::Rewind(Box::new(RewindReport { order, prompt: None, files, aside, left, missing })));
    let shown = stage.shown();
    assert!(shown.contains("Not everything went back: what one call changed was not kept."), "{shown}");
}

#[test]
fn nothing_goes_back_while_a_turn_runs() {
    let mut stage = Stage::new(80, 24);
    stage.begin_turn("work");
    run(&mut stage, "/rewind");
    assert!(stage.shown().contains("Stop the running turn first (esc)"), "{}", stage.shown());
}

// Esc pressed twice in a row while nothing runs; a key between them is another matter.
#[test]
fn esc_twice_opens_the_list_of_prompts() {
    let mut stage = Stage::new(80, 24);
    stage.begin_turn("work");
    stage.press(KeyCode::Esc);
    stage.end_turn(Outcome::Interrupted);
    stage.press(KeyCode::Esc);
    assert!(stage.shown().contains("press esc again to go back"), "{}", stage.shown());
    stage.write("x");
    stage.press(KeyCode::Esc);
    assert!(!stage.shown().contains("before which prompt"), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    assert!(stage.shown().contains("before which prompt"), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.input.text(), "x");
}

pub(super) fn fold() -> Body {
    Body::Compacted(Box::new(Compacted {
        trigger: Trigger::Manual,
        pre_tokens: 118_000,
        post_tokens: 14_000,
        folded_messages: 42,
        summary: "The parser was made faster.\nThe tests pass.".to_owned(),
        instructions: Some("mind the port".to_owned()),
        carried: 7,
        shortened: 2,
        left_out: 1,
        restored: vec!["file /work/src/parse.rs".to_owned()],
        ..Compacted::default()
    }))
}

// RECALL-03: what was kept and dropped is seen, at once and later.
#[test]
fn a_fold_says_what_was_kept_and_dropped() {
    let mut stage = Stage::new(80, 34);
    run(&mut stage, "/compact mind the port");
    assert_eq!(stage.sent(), ["Compact { instructions: Some(\"mind the port\") }"]);
    stage.event(Event::TurnStarted);
    stage.event(Event::CompactionStarted { trigger: Trigger::Manual, tokens: 118_000 });
    assert!(stage.shown().contains("Folding 118k tokens into a summary"), "{}", stage.shown());
    stage.append(fold());
    stage.event(Event::CompactionEnded { failure: None });
    stage.end_turn(Outcome::Success);
    run(&mut stage, "/context");
    insta::assert_snapshot!(stage.shown());
    stage.press(KeyCode::Esc);
    run(&mut stage, "/compact undo");
    assert_eq!(stage.sent(), ["UndoCompaction"]);
}

#[test]
fn a_fold_on_a_narrow_terminal() {
    let mut stage = Stage::new(40, 24);
    stage.append(fold());
    insta::assert_snapshot!(stage.shown());
}

fn output(lines: std::ops::Range<usize>) -> serde_json::Value {
    let text: String = lines.map(|line| format!("line {line}\n")).collect();
    json!({"stdout": text, "stderr": "", "interrupted": false})
}

// Every result that was folded can be unfolded, not only the last one.
#[test]
fn results_are_listed_and_unfolded() {
    let mut stage = Stage::new(60, 16);
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    assert!(stage.shown().contains("there is no output yet"));
    stage.begin_turn("work");
    for (id, command, lines) in [("a", "make one", 100..160), ("b", "make two", 200..220)] {
        stage.call(id, "Bash", &json!({"command": command}));
        stage.result(id, "Bash", output(lines));
    }
    stage.end_turn(Outcome::Success);
    assert!(!stage.shown().contains("line 130"), "it is folded");
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    insta::assert_snapshot!("results_list", stage.shown());
    stage.press(KeyCode::Up);
    stage.press(KeyCode::Enter);
    insta::assert_snapshot!("results_unfolded", stage.shown());
    for _ in 0..20 {
        stage.press(KeyCode::PageDown);
    }
    assert!(stage.shown().contains("line 159"), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    assert!(stage.shown().contains("› Bash make one"), "{}", stage.shown());
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    assert!(!stage.shown().contains("── Results"), "{}", stage.shown());
}

// TERM-03: what can be looked at again stays bounded, and it is told where the rest is.
#[test]
fn old_results_are_let_go() {
    let mut stage = Stage::new(60, 16);
    stage.begin_turn("work");
    for call in 0..150 {
        let id = format!("call{call}");
        stage.call(&id, "Bash", &json!({"command": format!("make {call}")}));
        // Only what is shown takes long.
        stage.result(&id, "Bash", json!({"stdout": "x", "more": "x".repeat(50_000)}));
    }
    stage.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    let shown = stage.shown();
    assert!(shown.contains("› Bash make 149") && shown.contains("older ones: /export"), "{shown}");
    for _ in 0..20 {
        stage.press(KeyCode::PageUp);
    }
    assert!(!stage.shown().contains("Bash make 99"), "{}", stage.shown());
}
