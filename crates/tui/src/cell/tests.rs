//! Cells as they look.

use std::path::Path;

use serde_json::{Value, json};
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::{Todo, TodoStatus};
use tiller_protocol::entry::{CallResult, Cause};

use super::*;
use crate::theme::Palette;

fn shown(rows: &[Line<'_>]) -> String {
    rows.iter().map(|row| row.to_string().trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn on_paper<T>(columns: u16, detail: Detail, write: impl FnOnce(&Paper<'_>) -> T) -> T {
    let theme = Theme::new(Palette::Plain);
    write(&Paper { columns, theme: &theme, cwd: Path::new("/work"), detail })
}

fn called(tool: &str, input: Value, text: &str, detail: Value, is_error: bool) -> String {
    let call = Call::new(tool.to_owned(), input);
    let result = CallResult {
        call: "c".into(),
        tool: tool.to_owned(),
        content: vec![RawBlock::text(text)],
        is_error,
        cause: Cause::Call,
        detail,
        effects: Vec::new(),
    };
    on_paper(50, Detail::Brief, |paper| shown(&finished(&call, &result, paper)))
}

#[test]
fn commands_show_the_beginning_and_the_end_of_what_they_print() {
    let output: String = (1..=30).map(|n| format!("line {n}\n")).collect();
    let detail = json!({"stdout": output, "stderr": "", "exitCode": 1, "durationMs": 65_000});
    insta::assert_snapshot!(called("Bash", json!({"command": "make\nmake test"}), "", detail, true));
}

// A terminal would show only what follows the last return.
#[test]
fn the_command_that_is_shown_is_the_one_that_ran() {
    let shown =
        called("Bash", json!({"command": "rm -rf x #\r ls \u{1b}[2K"}), "", json!({"stdout": ""}), false);
    assert!(shown.contains("rm -rf x #␍ ls ^[[2K"), "{shown}");
    let call = Call::new("Bash".to_owned(), json!({"command": "rm y\r\u{202e}ls"}));
    let shown = on_paper(50, Detail::Brief, |paper| self::shown(&running(&call, "* ", "", paper)));
    assert!(shown.contains("rm y␍\\u{202e}ls"), "{shown}");
}

#[test]
fn changes_are_shown_as_differences() {
    let patch = json!([{"oldStart": 3, "newStart": 3, "lines": [" a", "-let x = 1;", "+let x = 2;", " b"]}]);
    let detail = json!({"type": "update", "filePath": "/work/src/a.rs", "structuredPatch": patch});
    insta::assert_snapshot!(called("Edit", json!({"file_path": "/work/src/a.rs"}), "", detail, false));
}

#[test]
fn looking_takes_two_lines() {
    let file = json!({"type": "text", "file": {"numLines": 20, "totalLines": 90}});
    let read = called("Read", json!({"file_path": "/work/a.rs", "offset": 5}), "", file, false);
    assert_eq!(read, "\n● Read a.rs from line 5\n  │ 20 of 90 lines");
    let found = json!({"numFiles": 2, "numMatches": 7, "incomplete": false});
    let grep = called("Grep", json!({"pattern": "TODO", "path": "/work/src"}), "", found, false);
    assert_eq!(grep, "\n● Grep TODO in src\n  │ 7 matches in 2 files");
    let failed = called("Read", json!({"file_path": "/x"}), "There is no such file.", Value::Null, true);
    assert_eq!(failed, "\n● Read /x\n  │ There is no such file.");
}

#[test]
fn the_todo_list_shows_what_is_under_way() {
    let todo =
        |n: usize, status| Todo { content: format!("do {n}"), status, active_form: format!("doing {n}") };
    let list: Vec<Todo> = (0..9)
        .map(|n| match n {
            0..5 => todo(n, TodoStatus::Completed),
            5 => todo(n, TodoStatus::InProgress),
            _ => todo(n, TodoStatus::Pending),
        })
        .collect();
    let shown = on_paper(40, Detail::Brief, |paper| shown(&todos(&list, 4, paper)));
    assert_eq!(shown, "☑ do 3\n☑ do 4\n▶ doing 5\n☐ do 6\n  … 5 more");
}

#[test]
fn prompts_and_answers_have_their_marks() {
    let shown = on_paper(30, Detail::Brief, |paper| {
        let mut rows = prompt("fix the\nbug", Some("steered"), paper);
        rows.extend(Answer::whole("It was **this**:\n\n- one\n- two").complete(usize::MAX, paper));
        shown(&rows)
    });
    assert_eq!(shown, "\n> fix the\n  bug  steered\n\n● It was this:\n\n  • one\n  • two");
}

// VERB-01: when something has landed, that can be read however long it is.
#[test]
fn a_receipt_is_never_cut() {
    const RECEIPT: &str = "steered: delivered now";
    let rows = |columns, text: &str| {
        let rows = on_paper(columns, Detail::Brief, |paper| prompt(text, Some(RECEIPT), paper));
        assert!(rows.iter().all(|row| row.width() <= columns.into()), "{rows:#?}");
        shown(&rows)
    };
    assert_eq!(rows(50, "this way"), "\n> this way  steered: delivered now");
    assert_eq!(rows(34, "this way, please"), "\n> this way, please\n  steered: delivered now");
    assert_eq!(rows(16, "go"), "\n> go\n  steered:\n  delivered now");
}
