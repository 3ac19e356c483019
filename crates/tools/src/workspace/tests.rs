use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use super::*;
use crate::fingerprint::of_content;
use crate::harness::{Bench, names};

fn replace_in(bench: &Bench, name: &str, bytes: &[u8], before: &Before) -> Result<Replaced, FileError> {
    let call = bench.prepare("Write", &json!({"file_path": name, "content": ""}));
    replace(&bench.cx("Write", call.as_ref()), &resolve(&bench.view(), name), bytes, before)
}

fn content(bytes: &[u8]) -> Before {
    Before::Content(of_content(bytes))
}

// RULE-05
#[test]
fn paths_resolve_like_the_kernel_would() {
    let bench = Bench::new();
    bench.write("dir/inner/file", "x");
    symlink(bench.path("dir/inner"), bench.path("link")).unwrap();
    symlink("missing-target", bench.path("dangling")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    let view = bench.view();
    for (given, resolved) in [
        ("dir/../dir/./inner/file", "dir/inner/file"),
        ("link/file", "dir/inner/file"),
        ("link/../inner/file", "dir/inner/file"),
        ("link/new/leaf", "dir/inner/new/leaf"),
        ("dangling", "missing-target"),
        ("~/x", "home/x"),
    ] {
        assert_eq!(resolve(&view, given), bench.path(resolved), "{given}");
    }
    assert_eq!(resolve(&view, "/../etc/../etc/passwd"), Path::new("/etc/passwd"));
    assert_eq!(open(&resolve(&view, "loop")).unwrap_err(), FileError::Linked);
}

// EDIT-02
#[test]
fn a_replacement_is_complete_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let path = bench.write("f", "old");
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
    let inode = fs_err::metadata(&path).unwrap().ino();
    replace_in(&bench, "f", b"new", &content(b"old")).unwrap();
    assert_eq!(bench.content("f"), "new");
    let metadata = fs_err::metadata(&path).unwrap();
    assert_eq!(metadata.mode() & 0o7777, 0o751);
    assert_ne!(metadata.ino(), inode, "written in place, not atomically");
    assert_eq!(names(&bench.path("")), ["f"]);
}

// EDIT-02
#[test]
fn a_failed_replacement_leaves_the_old_file_and_nothing_else() {
    let bench = Bench::new();
    bench.write("f", "someone else's");
    assert_eq!(replace_in(&bench, "f", b"new", &content(b"old")), Err(FileError::Changed));
    assert_eq!(replace_in(&bench, "f", b"new", &Before::Absent), Err(FileError::Changed));
    assert_eq!(replace_in(&bench, "gone", b"new", &content(b"old")), Err(FileError::Changed));
    assert_eq!(bench.content("f"), "someone else's");
    assert_eq!(names(&bench.path("")), ["f"]);
}

// KERN-10
#[test]
fn a_link_swapped_in_after_the_check_is_not_followed() {
    let bench = Bench::new();
    let outside = Bench::new();
    outside.write("f", "outside");
    bench.write("dir/f", "inside");
    let call = bench.prepare("Write", &json!({"file_path": "dir/f", "content": ""}));
    let cx = bench.cx("Write", call.as_ref());
    let path = resolve(&bench.view(), "dir/f");

    fs_err::remove_file(&path).unwrap();
    symlink(outside.path("f"), &path).unwrap();
    assert_eq!(replace(&cx, &path, b"new", &content(b"outside")), Err(FileError::Linked));
    assert_eq!(open(&path).unwrap_err(), FileError::Linked);

    fs_err::rename(bench.path("dir"), bench.path("moved")).unwrap();
    symlink(outside.path(""), bench.path("dir")).unwrap();
    assert_eq!(replace(&cx, &path, b"new", &content(b"outside")), Err(FileError::Linked));
    assert_eq!(open(&path).unwrap_err(), FileError::Linked);
    assert_eq!(outside.content("f"), "outside");
    assert_eq!(names(&outside.path("")), ["f"]);
}

// KERN-10
#[test]
fn only_what_was_declared_is_written() {
    let bench = Bench::new();
    let call = bench.prepare("Write", &json!({"file_path": "a", "content": ""}));
    let cx = bench.cx("Write", call.as_ref());
    let refused = replace(&cx, &bench.path("b"), b"x", &Before::Absent);
    assert!(matches!(refused, Err(FileError::NotPermitted(_))), "{refused:?}");
    assert_eq!(names(&bench.path("")), [""; 0]);
}

// KERN-10
#[test]
fn special_files_are_refused_without_waiting() {
    let bench = Bench::new();
    let pipe = bench.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    fs_err::create_dir(bench.path("dir")).unwrap();
    for (name, error) in [
        ("pipe", FileError::Special("named pipe")),
        ("socket", FileError::Special("socket")),
        ("/dev/zero", FileError::Special("device")),
        ("dir", FileError::Directory),
    ] {
        assert_eq!(open(&resolve(&bench.view(), name)).unwrap_err(), error, "{name}");
        assert_eq!(replace_in(&bench, name, b"x", &content(b"")), Err(error), "{name}");
    }
}

#[test]
fn missing_directories_are_made_and_files_on_the_way_named() {
    let bench = Bench::new();
    replace_in(&bench, "a/b/c", b"x", &Before::Absent).unwrap();
    assert_eq!(bench.content("a/b/c"), "x");
    let error = replace_in(&bench, "a/b/c/d", b"x", &Before::Absent).unwrap_err();
    assert!(error.explain(&bench.path("a/b/c/d"), &bench.view()).contains("c is a file, not a directory"));
}

#[test]
fn other_hard_links_keep_their_content_and_are_mentioned() {
    let bench = Bench::new();
    fs_err::hard_link(bench.write("f", "old"), bench.path("g")).unwrap();
    let replaced = replace_in(&bench, "f", b"new", &content(b"old")).unwrap();
    assert!(replaced.remarks[0].contains("1 other hard link"), "{:?}", replaced.remarks);
    assert_eq!((bench.content("f"), bench.content("g")), ("new".to_owned(), "old".to_owned()));
}

#[test]
fn denied_access_is_told_from_absence() {
    let bench = Bench::new();
    let secret = bench.write("locked/secret", "x");
    fs_err::set_permissions(bench.path("locked"), std::fs::Permissions::from_mode(0o000)).unwrap();
    let opened = open(&secret);
    fs_err::set_permissions(bench.path("locked"), std::fs::Permissions::from_mode(0o700)).unwrap();
    if rustix::process::geteuid().is_root() {
        // Nothing is denied to root.
        assert!(opened.is_ok());
    } else {
        assert_eq!(opened.unwrap_err(), FileError::Denied);
    }
    assert!(FileError::Denied.explain(&secret, &bench.view()).contains("Permission denied"));
}

#[test]
fn a_missing_file_comes_with_suggestions() {
    let bench = Bench::new();
    bench.write("src/Config.rs", "");
    bench.write("src/other.txt", "");
    let text = FileError::Missing.explain(&bench.path("src/config.toml"), &bench.view());
    assert!(text.contains("does not exist") && text.contains(&*bench.path("").to_string_lossy()), "{text}");
    assert!(text.contains("Config.rs") && !text.contains("other.txt"), "{text}");
}

#[test]
fn a_directory_that_takes_no_files_is_not_called_missing() {
    let bench = Bench::new();
    let call = bench.prepare("Write", &json!({"file_path": "/proc/version", "content": "x"}));
    let cx = bench.cx("Write", call.as_ref());
    let before = Before::Content(load(open(Path::new("/proc/version")).unwrap()).unwrap().fingerprint);
    let error = replace(&cx, Path::new("/proc/version"), b"x", &before).unwrap_err();
    assert_eq!(error, FileError::Io("its directory takes no new files".to_owned()));
}
