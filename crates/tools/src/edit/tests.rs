use proptest::prelude::*;
use serde_json::{Value, json};

use super::hint::closest;
use super::locate::{Candidates, LISTED, Located, Missed, Wanted, locate};
use super::splice::splice;
use crate::encoding::{Encoding, LineEnding};
use crate::harness::{Bench, text};

fn input(name: &str, old: &str, new: &str) -> Value {
    json!({"file_path": name, "old_string": old, "new_string": new})
}

/// Edits a file that was just read; gives its new bytes and the report, or the error.
async fn edit(before: &[u8], old: &str, new: &str) -> Result<(Vec<u8>, String), String> {
    let mut bench = Bench::new();
    bench.write("f", before);
    bench.text("Read", json!({"file_path": "f"})).await;
    let done = bench.call("Edit", input("f", old, new)).await?;
    Ok((bench.bytes("f"), text(&done)))
}

async fn edited(before: &[u8], old: &str, new: &str) -> (Vec<u8>, String) {
    edit(before, old, new).await.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn an_exact_edit_is_made_and_shown() {
    let mut bench = Bench::new();
    bench.write("f", "a\nb\nc\n");
    bench.text("Read", json!({"file_path": "f"})).await;
    let done = bench.call("Edit", input("f", "b\n", "x\ny\n")).await.unwrap();
    assert_eq!(bench.content("f"), "a\nx\ny\nc\n");
    let path = bench.path("f");
    assert_eq!(
        text(&done),
        format!("Edited {} at line 2.\n     1→a\n     2→x\n     3→y\n     4→c", path.display())
    );
    assert_eq!(done.detail["type"], "update");
    assert_eq!(done.detail["filePath"], path.to_str().unwrap());
    assert_eq!(done.detail["structuredPatch"][0]["lines"], json!([" a", "-b", "+x", "+y", " c"]));
}

// STEER-62, EXEC-28
#[tokio::test]
async fn an_unread_file_is_refused() {
    let mut bench = Bench::new();
    bench.write("f", "secret text");
    let error = bench.error("Edit", input("f", "secret txt", "x")).await;
    assert!(error.contains("has not been read yet") && !error.contains("secret text"), "{error}");
}

// STEER-63, EXEC-28, EDIT-03
#[tokio::test]
async fn a_changed_file_is_refused_unless_the_text_is_still_unique() {
    let mut bench = Bench::new();
    bench.write("f", "use a;\nfn main() {}\n");
    bench.text("Read", json!({"file_path": "f"})).await;
    bench.write("f", "use a;\n\nfn  main() { }\n");
    let error = bench.error("Edit", input("f", "fn main() {}", "fn main() { run() }")).await;
    assert!(error.contains("has changed since it was read"), "{error}");
    let report = bench.text("Edit", input("f", "use a;", "use b;")).await;
    assert!(report.contains("had changed on disk since you read it"), "{report}");
    assert_eq!(bench.content("f"), "use b;\n\nfn  main() { }\n");
    let error = bench.error("Write", json!({"file_path": "f", "content": "use b;\nfn main() {}\n"})).await;
    assert!(error.contains("has changed since it was read"), "their change was not seen yet: {error}");
    bench.text("Edit", input("f", "use b;", "use c;")).await;
    bench.text("Read", json!({"file_path": "f"})).await;
    bench.text("Write", json!({"file_path": "f", "content": "seen"})).await;
}

// STEER-63
#[tokio::test]
async fn a_changed_file_that_was_read_in_part_is_refused() {
    let mut bench = Bench::new();
    bench.write("f", "1\n2\n3\n");
    bench.text("Read", json!({"file_path": "f", "limit": 2})).await;
    assert!(bench.error("Edit", input("f", "3", "x")).await.contains("Only lines 1 to 2"));
    bench.text("Edit", input("f", "2", "two")).await;
    bench.text("Read", json!({"file_path": "f"})).await;

    bench.write("g", "1\n2\n3\n");
    bench.text("Read", json!({"file_path": "g", "limit": 2})).await;
    bench.write("g", "0\n1\n2\n3\n");
    assert!(bench.error("Edit", input("g", "2", "two")).await.contains("has changed since"));
    let all = json!({"file_path": "f", "old_string": "1", "new_string": "x", "replace_all": true});
    bench.write("f", "1\n1\n");
    assert!(bench.error("Edit", all).await.contains("has changed since"));
}

// STEER-64, EDIT-03
#[tokio::test]
async fn own_edits_are_not_outside_changes() {
    let mut bench = Bench::new();
    bench.write("f", "a b c");
    bench.text("Read", json!({"file_path": "f"})).await;
    for (old, new) in [("a", "1"), ("b", "2"), ("c", "3")] {
        let report = bench.text("Edit", input("f", old, new)).await;
        assert!(!report.contains("changed on disk"), "{report}");
    }
    bench.text("Write", json!({"file_path": "f", "content": "x"})).await;
    bench.text("Edit", input("f", "x", "y")).await;
    assert_eq!(bench.content("f"), "y");
}

#[tokio::test]
async fn an_empty_old_string_creates() {
    let mut bench = Bench::new();
    bench.text("Edit", input("new/f", "", "content")).await;
    assert_eq!(bench.content("new/f"), "content");
    bench.write("empty", "");
    bench.text("Edit", input("empty", "", "content")).await;
    assert_eq!(bench.content("empty"), "content");
    assert!(bench.error("Edit", input("new/f", "", "again")).await.contains("is not empty"));
    assert!(bench.error("Edit", input("nope", "x", "y")).await.contains("does not exist"));
    assert!(bench.error("Edit", input("new/f", "same", "same")).await.contains("are the same"));
}

// EDIT-01
#[tokio::test]
async fn ambiguity_is_refused_with_line_numbers() {
    let error = edit(b"x\ny\nx\n", "x", "z").await.unwrap_err();
    assert!(error.contains("occurs 2 times") && error.contains("lines 1, 3"), "{error}");
    let error = edit(b"\tx\ny\n\tx\n", "    x\n", "z").await.unwrap_err();
    assert!(error.contains("lines 1, 3"), "{error}");
    let twice_on_a_line = Missed::Ambiguous(Candidates { places: 2, lines: vec![1] });
    assert_eq!(locate("aaa", "aa", Wanted::Only), Err(twice_on_a_line));
    let error = edit(b"x x\nx\n", "x", "z").await.unwrap_err();
    assert!(error.contains("occurs 3 times") && error.contains("(lines 1, 2)"), "{error}");
    let error = edit(b"x x\n", "x", "z").await.unwrap_err();
    assert!(error.contains("(line 1)"), "{error}");
}

// EDIT-01: as many places as a file has bytes, and a text that nearly matches everywhere. Were each looked at from the
// beginning of the file, this would take days.
#[test]
fn files_that_repeat_themselves_are_searched_once() {
    let text = "x\n".repeat(1_000_000);
    let Err(Missed::Ambiguous(found)) = locate(&text, "x", Wanted::Only) else { panic!("it is ambiguous") };
    assert_eq!((found.places, found.lines.len(), found.lines[3]), (1_000_000, LISTED + 1, 4));
    let nearly = "x\n".repeat(200_000) + "y\n";
    assert_eq!(locate(&text, &nearly, Wanted::Only), Err(Missed::Nowhere));
    let hint = closest(&text, &nearly);
    assert!(hint.starts_with("Its first 200000 line(s) are like line 1 and following"), "{hint}");
}

// EDIT-01
#[tokio::test]
async fn every_place_of_a_partly_read_file_is_found_at_once() {
    let mut bench = Bench::new();
    bench.write("f", "x\n".repeat(300_000));
    bench.text("Read", json!({"file_path": "f", "limit": 10})).await;
    let all = json!({"file_path": "f", "old_string": "x", "new_string": "y", "replace_all": true});
    let report = bench.text("Edit", all).await;
    assert!(report.contains("at 300000 places"), "{report}");
}

#[tokio::test]
async fn all_occurrences_are_replaced_on_request() {
    let mut bench = Bench::new();
    bench.write("f", "a\r\nb\r\na\r\nb\r\n");
    bench.text("Read", json!({"file_path": "f"})).await;
    let all = json!({"file_path": "f", "old_string": "a\nb", "new_string": "c\nd", "replace_all": true});
    let report = bench.text("Edit", all).await;
    assert!(report.contains("at 2 places"), "{report}");
    assert_eq!(bench.bytes("f"), b"c\r\nd\r\nc\r\nd\r\n");
}

// EDIT-01
#[tokio::test]
async fn differences_models_do_not_see_are_bridged() {
    for (what, before, old, new, after) in [
        ("line endings", "a\r\nb\r\nc", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc"),
        (
            "tabs and spaces",
            "func f() {\n\tif x {\n\t\ty := 1\n\t}\n}\n",
            "    if x {\n        y := 1\n    }",
            "    if x {\n        y := 2\n        z()\n    }",
            "func f() {\n\tif x {\n\t\ty := 2\n\t\tz()\n\t}\n}\n",
        ),
        (
            "tabs and spaces",
            "f:\n    a\n    b\n",
            "\ta\n\tb\n",
            "\ta\n\tc\n\t\td\n",
            "f:\n    a\n    c\n        d\n",
        ),
        ("tabs and spaces", "\ta\n", "        a\n", "        a\n        b\n", "\ta\n\tb\n"),
        ("white space at line ends", "a  \nb\t\nc\n", "a\nb\nc", "a\nb\nd", "a  \nb\t\nd\n"),
        (
            "look-alike",
            "say “hi” – now\u{a0}ok\n",
            "say \"hi\" - now ok",
            "say \"hi\" - then ok",
            "say “hi” – then\u{a0}ok\n",
        ),
        ("look-alike", "zero\u{200b}width x", "zerowidth x", "zerowidth y", "zero\u{200b}width y"),
        (
            "tabs and spaces and white space at line ends",
            "\ta \n\tb\n",
            "    a\n    b",
            "    a\n    c",
            "\ta \n\tc\n",
        ),
    ] {
        let (bytes, report) = edited(before.as_bytes(), old, new).await;
        assert_eq!(String::from_utf8(bytes).unwrap(), after, "{what}");
        assert!(report.contains("apart from") && report.contains(what), "{what}: {report}");
    }
}

// EDIT-01
#[tokio::test]
async fn a_wished_change_of_quotes_is_made() {
    let (bytes, _) = edited("“a” b\u{a0}c".as_bytes(), "\"a\" b c", "«a» b c").await;
    assert_eq!(String::from_utf8(bytes).unwrap(), "«a» b\u{a0}c");
    let error = edit(b"\ta\n", "    a\n", "\ta\n").await.unwrap_err();
    assert!(error.contains("already has it that way"), "{error}");
}

// EDIT-01
#[tokio::test]
async fn a_near_miss_is_explained() {
    let before = b"fn one() {\n    first();\n    second();\n}\n";
    let error = edit(before, "fn one() {\n    first();\n    other();", "x").await.unwrap_err();
    assert!(
        error.contains("first 2 line(s) are like line 1") && error.contains("     3→    second();"),
        "{error}"
    );
    let error = edit(before, "    secund();", "x").await.unwrap_err();
    assert!(error.contains("closest lines") && error.contains("     3→    second();"), "{error}");
    let error = edit(before, "     2→    first();", "x").await.unwrap_err();
    assert!(error.contains("line numbers that Read adds"), "{error}");
    let error = edit(before, "qqqq", "x").await.unwrap_err();
    assert!(error.contains("No line of the file is like it"), "{error}");
}

// EDIT-02
#[tokio::test]
async fn encodings_endings_and_marks_survive() {
    for (before, old, new, after) in [
        (b"\xEF\xBB\xBFa\r\nb\r\n".as_slice(), "a", "x\ny", b"\xEF\xBB\xBFx\r\ny\r\nb\r\n".as_slice()),
        (b"caf\xE9\nx", "x", "\u{fc}", b"caf\xE9\n\xFC"),
        (b"\x93q\x94 x", "x", "\u{201c}", b"\x93q\x94 \x93"),
        (b"\xFF\xFEa\0\r\0\n\0b\0", "b", "\u{e9}\n", b"\xFF\xFEa\0\r\0\n\0\xE9\0\r\0\n\0"),
        (b"no final newline", "final", "last", b"no last newline"),
    ] {
        assert_eq!(edited(before, old, new).await.0, after);
    }
    let error = edit(b"caf\xE9 x", "x", "\u{3bb}").await.unwrap_err();
    assert!(error.contains("stored as Latin-1, which has no 'λ'"), "{error}");
    let broken = [("é".repeat(9) + "\n").as_bytes(), b"\xFF x"].concat();
    let error = edit(&broken, "x", "y").await.unwrap_err();
    assert!(error.contains("UTF-8 with invalid bytes, the first on line 2"), "{error}");
}

#[tokio::test]
async fn a_read_only_file_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        // Nothing is read-only to root.
        return;
    }
    let mut bench = Bench::new();
    let path = bench.write("f", "a");
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
    bench.text("Read", json!({"file_path": "f"})).await;
    assert!(bench.error("Edit", input("f", "a", "b")).await.contains("Permission denied"));
}

#[tokio::test]
async fn notebooks_are_left_to_their_own_tool() {
    let mut bench = Bench::new();
    bench.write("n.ipynb", r#"{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}"#);
    bench.text("Read", json!({"file_path": "n.ipynb"})).await;
    assert!(bench.error("Edit", input("n.ipynb", "cells", "x")).await.contains("use NotebookEdit"));
}

#[tokio::test]
async fn a_cancelled_edit_writes_nothing() {
    let mut bench = Bench::new();
    bench.write("f", "a");
    bench.text("Read", json!({"file_path": "f"})).await;
    let call = bench.permitted("Edit", &input("f", "a", "b")).unwrap();
    bench.cancel.cancel();
    assert!(matches!(call.run().await, Err(crate::ToolError::Cancelled)));
    assert_eq!(bench.content("f"), "a");
}

fn words() -> impl Strategy<Value = String> {
    "[a-c \t\u{a0}é“\n]{0,40}"
}

proptest! {
    // EDIT-01
    #[test]
    fn an_exact_unique_text_is_replaced_exactly(before in words(), old in "[a-c \tXé\n]{0,10}X", after in words(), new in words()) {
        prop_assume!(!old[..old.len() - 1].contains('X'));
        let text = format!("{before}{old}{after}");
        let located = locate(&text, &old, Wanted::Only).unwrap();
        let place = before.len()..before.len() + old.len();
        prop_assert_eq!(&located, &Located::Exact(Vec::from([place])));
        prop_assert_eq!(splice(&text, &located, &old, &new), format!("{before}{new}{after}"));
    }

    // EDIT-02
    #[test]
    fn bytes_around_the_edit_never_change(
        before in "[a-c é\n]{0,40}", after in "[a-c é\n]{0,40}", new in "[a-cé]{0,10}", crlf: bool,
        encoding in prop::sample::select(vec![Encoding::Utf8, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Latin1]),
    ) {
        let ending = if crlf { LineEnding::CrLf } else { LineEnding::Lf };
        let (before, after) = (ending.adapt(&before), ending.adapt(&after));
        let text = format!("{before}X{after}");
        let located = locate(&text, "X", Wanted::Only).unwrap();
        let spliced = splice(&text, &located, "X", &new);
        let bytes = encoding.encode(&spliced).unwrap();
        let body = |text: &str| encoding.encode(text).unwrap().split_off(encoding.encode("").unwrap().len());
        prop_assert_eq!(bytes, [encoding.encode(&before).unwrap(), body(&new), body(&after)].concat());
    }

    // EDIT-01
    #[test]
    fn a_lenient_edit_touches_nothing_outside_its_place(before in "[a-c\r\n]{0,20}", after in "[a-c\r\n]{0,20}", new in "[a-d]{0,8}") {
        let text = format!("{before}\n\t“X”  \n{after}");
        let old = "\n    \"X\"\nY".trim_end_matches('Y');
        if let Ok(located @ Located::Lenient { .. }) = locate(&text, old, Wanted::Only) {
            let spliced = splice(&text, &located, old, &new);
            prop_assert!(spliced.starts_with(before.trim_end_matches('\r')) && spliced.ends_with(&after), "{:?}", spliced);
        }
    }

    // EDIT-01
    #[test]
    fn what_the_model_leaves_alone_stays(lines in prop::collection::vec("(\t){0,3}[a-c“é]{1,5} {0,2}", 1..8)) {
        let text = lines.join("\r\n");
        let seen = text.replace('\t', "    ").replace('“', "\"").replace("\r\n", "\n");
        let old = format!("{seen}END");
        let located = locate(&format!("{text}END"), &old, Wanted::Only).unwrap();
        let spliced = splice(&format!("{text}END"), &located, &old, &format!("{seen}DONE"));
        prop_assert_eq!(spliced, format!("{text}DONE"));
    }
}

// EXEC-28: what was never shown is not overwritten, also after an edit of the part that was.
#[tokio::test]
async fn an_edit_of_a_part_is_no_licence_to_replace_the_whole() {
    let mut bench = Bench::new();
    bench.write("f", (1..=50).map(|n| format!("line {n}\n")).collect::<String>());
    bench.text("Read", json!({"file_path": "f", "limit": 10})).await;
    bench.text("Edit", input("f", "line 6\n", "six\nand more\n")).await;
    let error = bench.error("Write", json!({"file_path": "f", "content": "x"})).await;
    assert!(error.contains("1 to 11"), "{error}");
    bench.text("Edit", input("f", "line 10\n", "ten\n")).await;
    assert!(bench.error("Edit", input("f", "line 40\n", "forty\n")).await.contains("Read that part first"));
}

// EXEC-28: what lies between two parts that were read was not read.
#[tokio::test]
async fn two_parts_that_were_read_are_not_the_lines_between_them() {
    let mut bench = Bench::new();
    bench.write("f", (1..=100).map(|n| format!("line {n}\n")).collect::<String>());
    bench.text("Read", json!({"file_path": "f", "offset": 1, "limit": 10})).await;
    bench.text("Read", json!({"file_path": "f", "offset": 91, "limit": 10})).await;
    let error = bench.error("Edit", input("f", "line 50\n", "fifty\n")).await;
    assert!(error.contains("Only lines 1 to 10, 91 to 100"), "{error}");
    bench.text("Edit", input("f", "line 5\n", "five\nand more\n")).await;
    bench.text("Edit", input("f", "line 100\n", "hundred\n")).await;
    let error = bench.error("Edit", input("f", "line 90\n", "ninety\n")).await;
    assert!(error.contains("Only lines 1 to 11, 92 to 101"), "the second part has moved: {error}");
    bench.text("Edit", input("f", "line 91\n", "")).await;
    let error = bench.error("Write", json!({"file_path": "f", "content": "x"})).await;
    assert!(error.contains("1 to 11, 92 to 100"), "{error}");
    let rest = json!({"file_path": "f", "offset": 12, "limit": 80});
    bench.text("Read", rest).await;
    bench.text("Edit", input("f", "line 50\n", "fifty\n")).await;
}
