//! Files and instructions that change while a session lasts: the model is told what has changed, and nothing twice.

use serde_json::json;
use tiller_engine::{Setup, Start};
use tiller_testkit::Reply;

use crate::attachments::{kinds, mentions, read, submit, told, with_files, write};
use crate::harness::{Lab, says};

// STEER-25 STEER-63 EDIT-03: of a file that was read, what has changed is told, however long it is; it is known then.
#[tokio::test]
async fn what_has_changed_of_a_long_file_that_was_read_is_told() {
    let lab = Lab::new();
    let text = |last: &str| (1..=400).map(|n| format!("this is line {n}\n")).collect::<String>() + last;
    for (name, text) in [("long.txt", text("the end\n")), ("beside.txt", text("the end\n"))] {
        write(&lab, name, &text);
    }
    let [path, beside] = ["long.txt", "beside.txt"].map(|name| lab.project().join(name));
    let edit = json!({"file_path": path, "old_string": "another end", "new_string": "the last word"});
    lab.server.replies([
        read("r", &path).tool_with_id("s", "Read", json!({"file_path": beside})),
        Reply::new().tool_with_id("p", "Probe", json!({"wait": "changed"})),
        Reply::new().tool_with_id("e", "Edit", edit),
        Reply::text("done"),
        Reply::text("again"),
    ]);
    let mut watch = lab.begin(with_files(&lab), "go").await;
    watch.until_started("p").await;
    write(&lab, "long.txt", &text("another end\n"));
    lab.gates.open("changed");
    watch.until_turn_ends().await;
    assert_eq!(kinds(&watch), ["edited_text_file"]);
    let texts = told(&lab, 2);
    let change = texts.last().unwrap();
    assert!(change.contains("   400→this is line 400\n   401→another end"), "{change}");
    assert!(!change.contains("line 300") && !change.contains("not at hand"), "{change}");
    assert!(!watch.result("e").is_error, "{}", watch.result("e").text());

    // The same is known of the other one when the session goes on in another process.
    watch.close().await;
    write(&lab, "beside.txt", &text("another end\n"));
    let resumed = Setup { start: Start::Resume(watch.session.id), ..with_files(&lab) };
    lab.turn(resumed, "and now?").await;
    let texts = told(&lab, 4);
    let change = texts.last().unwrap();
    assert!(change.contains("   401→another end") && !change.contains("line 300"), "{change}");
    lab.server.assert_clean();
}

// STEER-25 STEER-63 EDIT-03
#[tokio::test]
async fn a_change_from_outside_is_told_once_and_then_known() {
    let lab = Lab::new();
    write(&lab, "a.txt", "one\ntwo\nthree\n");
    let path = lab.project().join("a.txt");
    lab.server.replies([
        read("r", &path),
        Reply::new().tool_with_id("p", "Probe", json!({"wait": "changed"})),
        Reply::new().tool_with_id("q", "Probe", says("x")),
        Reply::new().tool_with_id(
            "e",
            "Edit",
            json!({"file_path": path, "old_string": "2\nthree", "new_string": "2\n3"}),
        ),
        Reply::text("done"),
    ]);
    let mut watch = lab.begin(with_files(&lab), "go").await;
    watch.until_started("p").await;
    write(&lab, "a.txt", "one\n2\nthree\n");
    lab.gates.open("changed");
    watch.until_turn_ends().await;
    assert_eq!(kinds(&watch), ["edited_text_file"]);
    let texts = told(&lab, 2);
    assert_eq!(
        mentions(&texts, "What has changed, as it is now, with line numbers:\n     1→one\n     2→2"),
        1,
        "{texts:?}"
    );
    assert_eq!(mentions(&told(&lab, 4), "     2→2"), 1);
    let edited = watch.result("e");
    assert!(!edited.is_error, "{edited:?}");
    assert!(!edited.text().contains("had changed"), "{edited:?}");
    assert_eq!(fs_err::read_to_string(&path).unwrap(), "one\n2\n3\n");
    lab.server.assert_clean();
}

// STEER-25: what reading does not show is no list of changes without an entry.
#[tokio::test]
async fn other_line_endings_are_told_as_what_they_are() {
    let lab = Lab::new();
    write(&lab, "ends.txt", "one\ntwo\n");
    write(&lab, "open.txt", "one\ntwo");
    lab.server.replies([Reply::text("1"), Reply::text("2")]);
    let mut watch = lab.turn(with_files(&lab), "@ends.txt @open.txt").await;
    write(&lab, "ends.txt", "one\r\ntwo\r\n");
    write(&lab, "open.txt", "one\ntwo\n");
    submit(&mut watch, "again").await;
    let texts = told(&lab, 1);
    assert_eq!(mentions(&texts, "What has changed are line endings"), 2, "{texts:?}");
    assert_eq!(mentions(&texts, "with line numbers:"), 0, "{texts:?}");
}

// STEER-25 SESS-04
#[tokio::test]
async fn a_change_between_two_runs_is_told_when_the_session_goes_on() {
    let lab = Lab::new();
    write(&lab, "a.txt", "one\ntwo\n");
    lab.server.replies([read("r", &lab.project().join("a.txt")), Reply::text("done"), Reply::text("again")]);
    let mut watch = lab.turn(with_files(&lab), "go").await;
    watch.close().await;
    write(&lab, "a.txt", "one\nTWO\n");
    let resumed = Setup { start: Start::Resume(watch.session.id), ..with_files(&lab) };
    let watch = lab.turn(resumed, "and now?").await;
    assert_eq!(kinds(&watch), ["edited_text_file"]);
    let texts = told(&lab, 2);
    assert!(texts.last().unwrap().contains("     1→one\n     2→TWO"), "{texts:?}");
}

// STEER-33
#[tokio::test]
async fn instructions_of_a_directory_are_told_when_work_gets_there() {
    let lab = Lab::new();
    write(&lab, "sub/AGENTS.md", "Use tabs. @more.md");
    write(&lab, "sub/more.md", "Really.");
    write(&lab, "sub/a.rs", "fn a() {}\n");
    let path = lab.project().join("sub/a.rs");
    lab.server.replies([read("r", &path), read("s", &path), Reply::text("done")]);
    let watch = lab.turn(with_files(&lab), "go").await;
    assert_eq!(kinds(&watch), ["nested_memory", "nested_memory"]);
    let texts = told(&lab, 2);
    assert_eq!((mentions(&texts, "Use tabs."), mentions(&texts, "Really.")), (1, 1), "{texts:?}");
}

// CACHE-05 STEER-25: the hidden message in front stays as it was; news of an instruction file goes to the end.
#[tokio::test]
async fn a_changed_instruction_file_is_told_at_the_end() {
    let lab = Lab::new();
    write(&lab, "AGENTS.md", "Use tabs.");
    lab.server.replies([Reply::text("1"), Reply::text("2")]);
    let mut watch = lab.turn(Setup { user_context: true, ..lab.setup() }, "go").await;
    write(&lab, "AGENTS.md", "Use spaces.");
    submit(&mut watch, "again").await;
    let texts = told(&lab, 1);
    assert!(texts[0].contains("Use tabs.") && !texts[0].contains("Use spaces."), "{texts:?}");
    assert!(texts.last().unwrap().contains("Use spaces."), "{texts:?}");
}

// CACHE-05 STEER-25: a rule that is added to long instructions in the middle of a session reaches the model.
#[tokio::test]
async fn what_is_new_in_long_instructions_is_told() {
    let lab = Lab::new();
    let rules: String = (1..=400).map(|n| format!("- this is rule number {n}\n")).collect();
    write(&lab, "AGENTS.md", &rules);
    write(&lab, "sub/AGENTS.md", &rules);
    write(&lab, "sub/a.rs", "fn a() {}\n");
    let edit =
        json!({"file_path": lab.project().join("AGENTS.md"), "old_string": "spaces", "new_string": "tabs"});
    lab.server.replies([
        read("r", &lab.project().join("sub/a.rs")),
        Reply::text("1"),
        Reply::new().tool_with_id("e", "Edit", edit),
        Reply::text("2"),
        Reply::text("3"),
    ]);
    let setup = || Setup { user_context: true, ..with_files(&lab) };
    let mut watch = lab.turn(setup(), "go").await;
    for name in ["AGENTS.md", "sub/AGENTS.md"] {
        write(&lab, name, &format!("{rules}- use spaces in {name}\n"));
    }
    submit(&mut watch, "again").await;
    assert_eq!(kinds(&watch), ["nested_memory", "edited_text_file", "edited_text_file"]);
    let texts = told(&lab, 2);
    for change in &texts[texts.len() - 2..] {
        assert!(change.contains("   401→- use spaces in ") && !change.contains("number 300"), "{change}");
    }
    assert!(!watch.result("e").is_error, "{}", watch.result("e").text());

    watch.close().await;
    write(&lab, "sub/AGENTS.md", "Start afresh.");
    lab.turn(Setup { start: Start::Resume(watch.session.id), ..setup() }, "and now?").await;
    assert_eq!(mentions(&told(&lab, 4), "Start afresh."), 1);
}

// STEER-33: what stands in front of the conversation is loaded.
#[tokio::test]
async fn instructions_in_front_are_not_told_a_second_time() {
    let lab = Lab::new();
    write(&lab, "AGENTS.md", "See @sub/AGENTS.md and @more/notes.md.");
    write(&lab, "sub/AGENTS.md", "Imported.");
    write(&lab, "sub/a.rs", "fn a() {}\n");
    write(&lab, "more/notes.md", "Notes.");
    write(&lab, "more/AGENTS.md", "Nobody has been here.");
    write(&lab, ".tiller/AGENTS.md", "Of Tiller.");
    write(&lab, ".claude/CLAUDE.md", "Of Claude.");
    lab.server.replies([read("r", &lab.project().join("sub/a.rs")), Reply::text("done")]);
    let watch = lab.turn(Setup { user_context: true, ..with_files(&lab) }, "go").await;
    assert_eq!(kinds(&watch), [""; 0]);
    let texts = told(&lab, 1);
    for text in ["Imported.", "Notes.", "Of Tiller.", "Of Claude."] {
        assert_eq!(mentions(&texts, text), 1, "{text}: {texts:?}");
    }
    assert_eq!(mentions(&texts, "Nobody has been here."), 0, "{texts:?}");
}
