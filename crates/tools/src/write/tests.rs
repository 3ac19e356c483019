use std::os::unix::fs::symlink;

use serde_json::json;

use crate::harness::Bench;

fn input(name: &str, content: &str) -> serde_json::Value {
    json!({"file_path": name, "content": content})
}

#[tokio::test]
async fn a_new_file_is_made_with_its_directories() {
    let mut bench = Bench::new();
    let done = bench.call("Write", input("a/b/c.txt", "x\ny\n")).await.unwrap();
    assert_eq!(bench.content("a/b/c.txt"), "x\ny\n");
    assert_eq!(done.detail["type"], "create");
    assert_eq!(done.detail["structuredPatch"], json!([]));
    bench.call("Write", input("a/b/c.txt", "again")).await.unwrap();
    assert_eq!(bench.content("a/b/c.txt"), "again");
}

// EXEC-28, STEER-62
#[tokio::test]
async fn an_existing_file_has_to_be_read_completely() {
    let mut bench = Bench::new();
    bench.write("f", "1\n2\n3\n");
    assert!(bench.error("Write", input("f", "x")).await.contains("has not been read yet"));
    bench.text("Read", json!({"file_path": "f", "limit": 1})).await;
    assert!(bench.error("Write", input("f", "x")).await.contains("Read it completely"));
    bench.text("Read", json!({"file_path": "f"})).await;
    let done = bench.call("Write", input("f", "1\ntwo\n3\n")).await.unwrap();
    assert_eq!(done.detail["structuredPatch"][0]["lines"], json!([" 1", "-2", "+two", " 3"]));
    assert_eq!(done.detail["originalFile"], "1\n2\n3\n");
}

#[tokio::test]
async fn what_would_be_written_is_shown_beforehand() {
    let mut bench = Bench::new();
    let shown = |bench: &Bench, tool: &str, input: &serde_json::Value| {
        bench.prepare(tool, input).preview(&bench.view()).unwrap()
    };
    let new = shown(&bench, "Write", &input("new", "a\r\nb\n"));
    assert!(new.is_new);
    assert_eq!(new.patch.unwrap()[0]["lines"], json!(["+a\r", "+b"]), "what ends a line is not hidden");
    bench.write("f", "1\r\n2\r\n3\r\n");
    bench.text("Read", json!({"file_path": "f"})).await;
    let replaced = shown(&bench, "Write", &input("f", "1\ntwo\n3\n"));
    assert!(!replaced.is_new);
    assert_eq!(replaced.patch.unwrap()[0]["lines"], json!([" 1", "-2", "+two", " 3"]));
    let edit = json!({"file_path": "f", "old_string": "3", "new_string": "three"});
    let edited = shown(&bench, "Edit", &edit).patch.unwrap();
    assert_eq!(edited[0]["lines"], json!([" 1", " 2", "-3", "+three"]));
    assert_eq!(edited[0]["oldStart"], 1);
    assert_eq!(bench.content("f"), "1\r\n2\r\n3\r\n", "nothing was written");
}

// EXEC-28, STEER-63, EDIT-03
#[tokio::test]
async fn a_changed_file_is_not_overwritten() {
    let mut bench = Bench::new();
    let path = bench.write("f", "old");
    bench.text("Read", json!({"file_path": "f"})).await;
    bench.write("f", "their work");
    assert!(bench.error("Write", input("f", "x")).await.contains("has changed since it was read"));
    bench.write("f", "old");
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
    bench.call("Write", input("f", "a new time stamp alone is no change")).await.unwrap();
}

// EDIT-03
#[tokio::test]
async fn a_change_between_check_and_write_is_noticed() {
    let mut bench = Bench::new();
    bench.write("f", "old");
    bench.text("Read", json!({"file_path": "f"})).await;
    let call = bench.permitted("Write", &input("f", "x")).unwrap();
    bench.write("f", "theirs");
    assert!(call.run().await.unwrap_err().to_string().contains("has changed since"));
    assert_eq!(bench.content("f"), "theirs");
}

// EDIT-02
#[tokio::test]
async fn encoding_and_line_endings_stay() {
    let mut bench = Bench::new();
    for (name, before, content, after) in [
        ("crlf", b"a\r\nb\r\n".as_slice(), "x\ny\n", b"x\r\ny\r\n".as_slice()),
        ("bom", b"\xEF\xBB\xBFa\n", "é", b"\xEF\xBB\xBF\xC3\xA9"),
        ("utf16", b"\xFE\xFF\0a\0\r\0\n", "b\n", b"\xFE\xFF\0b\0\r\0\n"),
        ("latin", b"\xE9\n", "\u{e8}\n", b"\xE8\n"),
    ] {
        bench.write(name, before);
        bench.text("Read", json!({"file_path": name})).await;
        bench.call("Write", input(name, content)).await.unwrap();
        assert_eq!(bench.bytes(name), after, "{name}");
    }
    let error = bench.error("Write", input("latin", "10 €")).await;
    assert!(error.contains("stored as Latin-1, which has no '€'"), "{error}");
}

#[tokio::test]
async fn binary_files_are_left_alone() {
    let mut bench = Bench::new();
    bench.write("f", "text");
    bench.text("Read", json!({"file_path": "f"})).await;
    assert!(bench.error("Write", input("/dev/null", "x")).await.contains("device"));
    fs_err::create_dir(bench.path("d")).unwrap();
    assert!(bench.error("Write", input("d", "x")).await.contains("is a directory"));
}

// EDIT-02
#[tokio::test]
async fn a_reader_never_sees_half_a_file() {
    let mut bench = Bench::new();
    let (short, long) = ("a".repeat(10), "b".repeat(300_000));
    let path = bench.write("f", "");
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let reader = std::thread::spawn({
        let (done, lengths) = (std::sync::Arc::clone(&done), [0, short.len(), long.len()]);
        move || {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let length = fs_err::read(&path).unwrap().len();
                assert!(lengths.contains(&length), "{length}");
            }
        }
    });
    for round in 0..20 {
        let content = if round % 2 == 0 { &long } else { &short };
        bench.call("Write", input("f", content)).await.unwrap();
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    reader.join().unwrap();
}

// EDIT-02
#[tokio::test]
async fn links_stay_and_their_targets_are_written() {
    let mut bench = Bench::new();
    bench.write("real", "old");
    symlink("real", bench.path("link")).unwrap();
    symlink("fresh", bench.path("dangling")).unwrap();
    bench.text("Read", json!({"file_path": "link"})).await;
    bench.call("Write", input("link", "new")).await.unwrap();
    bench.call("Write", input("dangling", "made")).await.unwrap();
    assert!(bench.path("link").is_symlink() && bench.path("dangling").is_symlink());
    assert_eq!((bench.content("real"), bench.content("fresh")), ("new".to_owned(), "made".to_owned()));
}

// KERN-10, RULE-05
#[tokio::test]
async fn a_directory_swapped_for_a_link_is_not_entered() {
    let bench = Bench::new();
    let outside = Bench::new();
    fs_err::create_dir(bench.path("dir")).unwrap();
    let call = bench.permitted("Write", &input("dir/f", "x")).unwrap();
    fs_err::remove_dir(bench.path("dir")).unwrap();
    symlink(outside.path(""), bench.path("dir")).unwrap();
    let error = call.run().await.unwrap_err().to_string();
    assert!(error.contains("was not part of what this call was permitted"), "{error}");
    assert!(!outside.path("f").exists());
}

#[tokio::test]
async fn large_originals_are_left_out_of_the_detail() {
    let mut bench = Bench::new();
    bench.write("f", "line\n".repeat(15_000));
    bench.text("Read", json!({"file_path": "f", "limit": 20_000})).await;
    let error = bench.error("Write", input("f", "x")).await;
    assert!(error.contains("Only part"), "{error}");
    bench.write("g", "a longer line of forty characters, about\n".repeat(1_300));
    bench.text("Read", json!({"file_path": "g"})).await;
    let done = bench.call("Write", input("g", "x")).await.unwrap();
    assert!(
        done.detail["originalFile"].is_null() && done.detail["structuredPatch"].is_null(),
        "{}",
        done.detail
    );
}

#[tokio::test]
async fn unknown_fields_are_refused() {
    let bench = Bench::new();
    let input = json!({"file_path": "f", "content": "x", "mode": "append"});
    let registry = crate::file_tools(crate::Registry::default());
    let Err(error) = registry.prepare("Write", crate::Input::Json(&input)) else { panic!("accepted") };
    assert!(error.to_string().contains("unknown field `mode`"), "{error}");
    bench.prepare("Read", &json!({"file_path": "f", "pages": "1-2"}));
}
