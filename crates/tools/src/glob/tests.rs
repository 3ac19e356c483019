use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::ToolError;
use crate::harness::Bench;

fn aged(bench: &Bench, name: &str, seconds: u64) {
    let path = bench.write(name, "");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + seconds);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[tokio::test]
async fn files_come_newest_first() {
    let mut bench = Bench::new();
    aged(&bench, "src/old.rs", 1);
    aged(&bench, "src/deep/new.rs", 3);
    aged(&bench, "mid.rs", 2);
    aged(&bench, "mid.txt", 9);
    aged(&bench, ".github/flow.yml", 1);
    aged(&bench, ".git/config.rs", 9);
    let all = "src/deep/new.rs\nmid.rs\nsrc/old.rs";
    let absolute = format!("{}/**/*.rs", bench.path("").display().to_string().trim_end_matches('/'));
    for (pattern, files) in [
        ("**/*.rs", all),
        ("*.rs", all),
        (absolute.as_str(), all),
        ("src/*.rs", "src/old.rs"),
        ("src/old.rs", "src/old.rs"),
        ("src/", "src/deep/new.rs\nsrc/old.rs"),
        ("*.{txt,yml}", "mid.txt\n.github/flow.yml"),
        ("./src/**/new.*", "src/deep/new.rs"),
    ] {
        assert_eq!(bench.text("Glob", json!({"pattern": pattern})).await, files, "{pattern}");
    }
    assert_eq!(bench.text("Glob", json!({"pattern": "*.rs", "path": "src/deep"})).await, "src/deep/new.rs");
}

// SRCH-01
#[tokio::test]
async fn what_ignore_files_hide_is_counted_and_can_be_had() {
    let mut bench = Bench::new();
    bench.write(".gitignore", "node_modules/\n*.log\n");
    bench.write("a.js", "");
    bench.write("node_modules/dep/index.js", "");
    bench.write("sub/x.log", "");
    let text = bench.text("Glob", json!({"pattern": "*.js"})).await;
    assert_eq!(
        text,
        "a.js\n[Ignore files left out 2 files or directories (such as node_modules/, sub/x.log). To search them: include_ignored true, or their path.]"
    );
    let text = bench.text("Glob", json!({"pattern": "*.js", "include_ignored": true})).await;
    assert!(text.contains("node_modules/dep/index.js") && !text.contains("Ignore files"), "{text}");
    for input in
        [json!({"pattern": "*.js", "path": "node_modules"}), json!({"pattern": "node_modules/**/*.js"})]
    {
        assert_eq!(bench.text("Glob", input).await, "node_modules/dep/index.js");
    }
}

// SRCH-01
#[tokio::test]
async fn limits_and_time_are_reported() {
    let mut bench = Bench::new();
    for number in 0..105 {
        aged(&bench, &format!("f{number:03}"), number);
    }
    let done = bench.call("Glob", json!({"pattern": "f*"})).await.unwrap();
    let text = crate::harness::text(&done);
    assert!(
        text.starts_with("f104\n")
            && text
                .ends_with("f005\n[The 100 newest of 105 files. For the others narrow the pattern or path.]")
    );
    assert_eq!((&done.detail["numFiles"], &done.detail["truncated"]), (&json!(105), &json!(true)));

    bench.clock.step.store(40, Ordering::Relaxed);
    let text = bench.text("Glob", json!({"pattern": "nothing*"})).await;
    assert_eq!(
        text,
        "[Stopped after 30 s: the search is incomplete. Narrow it with path or a more specific pattern.]"
    );
    bench.clock.step.store(0, Ordering::Relaxed);
    assert!(
        bench.text("Glob", json!({"pattern": "nothing*"})).await.starts_with("No files match nothing* in /")
    );
}

// SRCH-01
#[tokio::test]
async fn links_to_directories_are_mentioned() {
    let mut bench = Bench::new();
    let outside = Bench::new();
    outside.write("f", "");
    std::os::unix::fs::symlink(outside.path(""), bench.path("link")).unwrap();
    let text = bench.text("Glob", json!({"pattern": "**/f"})).await;
    assert!(
        text.starts_with("No files match") && text.contains("[1 links to directories were not followed."),
        "{text}"
    );
    assert!(bench.text("Glob", json!({"pattern": "f", "path": "link"})).await.ends_with("/f"));
}

#[tokio::test]
async fn a_bad_place_or_pattern_is_explained() {
    let mut bench = Bench::new();
    bench.write("f", "");
    assert!(bench.error("Glob", json!({"pattern": "*", "path": "f"})).await.contains("is not a directory"));
    assert!(bench.error("Glob", json!({"pattern": "*", "path": "nope"})).await.contains("does not exist"));
    assert!(bench.error("Glob", json!({"pattern": "a{b"})).await.contains("is not valid"));
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let bench = Bench::new();
    let call = bench.permitted("Glob", &json!({"pattern": "*"})).unwrap();
    bench.cancel.cancel();
    assert!(matches!(call.run().await, Err(ToolError::Cancelled)));
}

#[tokio::test]
async fn names_that_are_not_text_do_not_stop_a_search() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let mut bench = Bench::new();
    let name = bench.path("").join(OsStr::from_bytes(b"bad\xff.txt"));
    fs_err::write(name, "needle\n").unwrap();
    assert!(bench.text("Glob", json!({"pattern": "*.txt"})).await.contains("bad"));
    assert!(bench.text("Grep", json!({"pattern": "needle"})).await.contains("bad"));
}
