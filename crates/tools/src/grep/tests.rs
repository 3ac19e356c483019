use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::ToolError;
use crate::harness::Bench;

fn content(pattern: &str) -> Value {
    json!({"pattern": pattern, "output_mode": "content"})
}

fn with(mut input: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        input[key] = value.clone();
    }
    input
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("a.rs", "fn one() {}\nfn two() {}\n\n\nlet x;\nfn three() {}\n");
    bench.write("b/c.py", "def one(): pass\r\n");
    bench.write("z.txt", "nothing\n");
    bench
}

#[tokio::test]
async fn the_three_modes_are_ordered_by_path() {
    let mut bench = bench();
    assert_eq!(bench.text("Grep", json!({"pattern": "one"})).await, "Files with matches: 2\na.rs\nb/c.py");
    let count = json!({"pattern": "fn|def", "output_mode": "count"});
    assert_eq!(bench.text("Grep", count).await, "4 matches in 2 files\na.rs:3\nb/c.py:1");
    assert_eq!(bench.text("Grep", content("one")).await, "a.rs:1:fn one() {}\nb/c.py:1:def one(): pass");
    assert_eq!(
        bench.text("Grep", with(content("ONE"), &json!({"-i": true, "-n": false}))).await,
        "a.rs:fn one() {}\nb/c.py:def one(): pass"
    );
    assert_eq!(bench.text("Grep", content("pass$")).await, "b/c.py:1:def one(): pass");
}

#[tokio::test]
async fn files_are_chosen_by_path_glob_and_type() {
    let mut bench = bench();
    for more in [
        json!({"path": "b"}),
        json!({"path": "b/c.py"}),
        json!({"glob": "*.py"}),
        json!({"type": "py"}),
        json!({"glob": "!*.rs"}),
    ] {
        assert_eq!(bench.text("Grep", with(content("one"), &more)).await, "b/c.py:1:def one(): pass");
    }
    assert!(
        bench
            .error("Grep", with(content("x"), &json!({"type": "klingon"})))
            .await
            .contains("no file type klingon")
    );
    assert!(
        bench.error("Grep", with(content("x"), &json!({"path": "nope"}))).await.contains("does not exist")
    );
}

#[tokio::test]
async fn context_lines_stand_around_matches() {
    let mut bench = bench();
    let text = bench.text("Grep", with(content("two|three"), &json!({"-B": "1", "path": "a.rs"}))).await;
    assert_eq!(text, "a.rs-1-fn one() {}\na.rs:2:fn two() {}\n--\na.rs-5-let x;\na.rs:6:fn three() {}");
    let text = bench.text("Grep", with(content("let"), &json!({"-C": 1}))).await;
    assert_eq!(text, "a.rs-4-\na.rs:5:let x;\na.rs-6-fn three() {}");
}

#[tokio::test]
async fn matches_span_lines_on_request() {
    let mut bench = bench();
    let text = bench.text("Grep", with(content(r"two.*let"), &json!({"multiline": true}))).await;
    assert_eq!(text, "a.rs:2:fn two() {}\na.rs:3:\na.rs:4:\na.rs:5:let x;");
    let error = bench.error("Grep", content(r"two\(\) \{\}\n")).await;
    assert!(error.contains("set multiline"), "{error}");
}

#[tokio::test]
async fn bad_expressions_are_explained() {
    let mut bench = bench();
    for (pattern, hint) in [("fn{", r"\{"), ("foo(", "literally"), ("a(?=b)", "Look-around")] {
        let error = bench.error("Grep", content(pattern)).await;
        assert!(error.contains("not valid") && error.contains(hint), "{pattern}: {error}");
    }
}

// SRCH-01
#[tokio::test]
async fn what_was_skipped_is_said() {
    let mut bench = Bench::new();
    bench.write(".gitignore", "target/\n");
    bench.write("target/big.txt", "needle");
    bench.write("bin", b"needle\0");
    bench.write("late-bin", [b"needle\n".as_slice(), &[b'x'; 100_000], b"\0"].concat());
    bench.write("long", format!("{}needle{}", "a".repeat(1_000), "b".repeat(1_000)));
    std::os::unix::fs::symlink("long", bench.path("link")).unwrap();
    let text = bench.text("Grep", content("needle")).await;
    let (hit, notes) = text.split_once('\n').unwrap();
    assert!(
        hit.starts_with("long:1:…a")
            && hit.contains("needle")
            && hit.ends_with("b…")
            && hit.chars().count() < 520,
        "{hit}"
    );
    assert_eq!(
        notes,
        "[1 long lines were cut; Read shows more of them.]\n\
         [2 binary files were skipped; `grep -a` in Bash searches them.]\n\
         [1 links to files were not followed; to search one, give its path.]\n\
         [Ignore files left out 1 files or directories (such as target/). To search them: include_ignored true, or their path.]"
    );
    let text = bench.text("Grep", json!({"pattern": "absent"})).await;
    assert!(
        text.starts_with("No matches for absent in /") && text.contains("Ignore files left out 1"),
        "{text}"
    );
    for more in [json!({"include_ignored": true}), json!({"path": "target"})] {
        assert!(bench.text("Grep", with(content("needle"), &more)).await.contains("target/big.txt:1:needle"));
    }
}

// SRCH-01
#[tokio::test]
async fn a_search_out_of_time_does_not_claim_absence() {
    let mut bench = bench();
    bench.clock.step.store(40, Ordering::Relaxed);
    let text = bench.text("Grep", json!({"pattern": "absent"})).await;
    assert!(text.starts_with("[Stopped after 30 s") && !text.contains("No matches"), "{text}");
}

// SRCH-01
#[tokio::test]
async fn results_can_be_paged_through() {
    let mut bench = Bench::new();
    for file in 0..4 {
        bench.write(&format!("f{file}"), "x\n".repeat(3));
    }
    let mut pages = Vec::new();
    for offset in [0, 5, 10] {
        pages.push(bench.text("Grep", with(content("x"), &json!({"head_limit": 5, "offset": offset}))).await);
    }
    assert_eq!(
        pages[0],
        "f0:1:x\nf0:2:x\nf0:3:x\nf1:1:x\nf1:2:x\n[5 entries shown; in all 12 matches in 4 files. To go on: offset 5.]"
    );
    assert!(pages[1].starts_with("f1:3:x\n") && pages[1].ends_with("offset 10.]"));
    assert_eq!(pages[2], "f3:2:x\nf3:3:x");
    let past = bench.text("Grep", with(content("x"), &json!({"offset": 99}))).await;
    assert!(past.starts_with("Nothing from offset 99 on"), "{past}");
    let files = bench.text("Grep", json!({"pattern": "x", "head_limit": 2})).await;
    assert_eq!(
        files,
        "Files with matches: 4\nf0\nf1\n[2 entries shown; in all 4 files with matches. To go on: offset 2.]"
    );
}

// SRCH-01
#[tokio::test]
async fn other_encodings_are_searched() {
    let mut bench = Bench::new();
    bench.write("utf16", b"\xFF\xFEn\0\xE9\0\n\0");
    bench.write("latin", b"n\xE9\n");
    bench.write("windows", [&b"x\n".repeat(100_000), &b"\x93n\xE9\x94\n"[..]].concat());
    // Broken UTF-8 is not taken for anything else.
    bench.write("broken", [&"né ".repeat(9).into_bytes()[..], b"\xFF\n"].concat());
    for pattern in ["né", "n\\w", "(?i)NÉ"] {
        let found = bench.text("Grep", content(pattern)).await;
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 4, "{found}");
        assert!(lines[0].starts_with("broken:1:"), "{found}");
        assert_eq!(lines[1..], ["latin:1:né", "utf16:1:né", "windows:100001:“né”"], "{pattern}");
    }
    let counts = bench.text("Grep", json!({"pattern": "é", "output_mode": "count"})).await;
    assert_eq!(counts, "4 matches in 4 files\nbroken:1\nlatin:1\nutf16:1\nwindows:1");
}

// SRCH-01: what was not searched is not counted as searched.
#[tokio::test]
async fn what_cannot_be_searched_is_said() {
    let mut bench = Bench::new();
    bench.write("f", "x");
    bench.write("program", b"\x7fELF\0\0x");
    let found = bench.text("Grep", content("nowhere")).await;
    assert!(found.contains("(1 files searched)") && found.contains("1 binary files were skipped"), "{found}");
    let pipe = bench.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let error = bench.error("Grep", with(content("x"), &json!({"path": pipe}))).await;
    assert!(error.contains("is a named pipe"), "{error}");
}

#[tokio::test]
async fn special_files_do_not_hang_a_search() {
    let mut bench = Bench::new();
    bench.write("f", "x");
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    assert_eq!(bench.text("Grep", content("x")).await, "f:1:x");
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let bench = bench();
    let call = bench.permitted("Grep", &content("x")).unwrap();
    bench.cancel.cancel();
    assert!(matches!(call.run().await, Err(ToolError::Cancelled)));
}
