use tempfile::TempDir;

use super::*;

/// A home directory with a repository in it, and files by their path relative to the home directory.
fn home(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs_err::create_dir_all(dir.path().join("work/repo/.git")).unwrap();
    fs_err::create_dir_all(dir.path().join("work/repo/sub")).unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
    dir
}

/// What is found from `work/repo/sub`, as paths relative to `dir`.
fn found(dir: &TempDir, home: &Path) -> Vec<String> {
    let config_dir = dir.path().join(".tiller");
    let working_directory = dir.path().join("work/repo/sub");
    find(Places { config_dir: &config_dir, home, working_directory: &working_directory })
        .iter()
        .map(|file| file.path.strip_prefix(dir.path()).unwrap().display().to_string())
        .collect()
}

// STEER-10
#[test]
fn both_names_are_read_most_general_first() {
    let files = [
        ".tiller/AGENTS.md",
        ".tiller/CLAUDE.md",
        "AGENTS.md",
        "work/CLAUDE.md",
        "work/repo/AGENTS.md",
        "work/repo/CLAUDE.md",
        "work/repo/.tiller/AGENTS.md",
        "work/repo/AGENTS.local.md",
        "work/repo/CLAUDE.local.md",
        "work/repo/sub/AGENTS.md",
    ];
    let dir = home(&files.map(|path| (path, path)));
    assert_eq!(found(&dir, dir.path()), files);
}

// STEER-10
#[test]
fn files_that_say_the_same_are_told_once() {
    let dir = home(&[
        ("work/repo/AGENTS.md", "Use tabs."),
        ("work/repo/CLAUDE.md", "Use tabs.\n"),
        ("work/repo/sub/AGENTS.md", "Use spaces."),
    ]);
    std::os::unix::fs::symlink(
        dir.path().join("work/repo/sub/AGENTS.md"),
        dir.path().join("work/repo/sub/CLAUDE.md"),
    )
    .unwrap();
    assert_eq!(found(&dir, dir.path()), ["work/repo/AGENTS.md", "work/repo/sub/AGENTS.md"]);
}

#[test]
fn outside_the_home_directory_the_repository_is_the_limit() {
    let dir = home(&[
        ("AGENTS.md", "a"),
        ("work/AGENTS.md", "b"),
        ("work/repo/AGENTS.md", "c"),
        ("work/repo/sub/AGENTS.md", "d"),
    ]);
    let elsewhere = dir.path().join("other");
    assert_eq!(found(&dir, &elsewhere), ["work/repo/AGENTS.md", "work/repo/sub/AGENTS.md"]);
    fs_err::remove_dir_all(dir.path().join("work/repo/.git")).unwrap();
    assert_eq!(found(&dir, &elsewhere), ["work/repo/sub/AGENTS.md"]);
}

#[test]
fn what_cannot_be_read_is_left_out() {
    let dir = home(&[
        ("work/repo/AGENTS.md", " \n"),
        ("work/repo/CLAUDE.md/inner", "a directory"),
        ("work/AGENTS.md", "kept"),
    ]);
    let broken = dir.path().join("work/repo/sub/AGENTS.md");
    fs_err::write(&broken, b"caf\xe9").unwrap();
    assert_eq!(found(&dir, dir.path()), ["work/AGENTS.md", "work/repo/sub/AGENTS.md"]);
}

fn file(path: &str, text: &str) -> InstructionFile {
    InstructionFile { path: path.into(), text: text.to_owned() }
}

#[test]
fn each_file_is_introduced_by_its_path() {
    let text = render(&[file("/a/AGENTS.md", "One."), file("/a/b/AGENTS.md", "Two.")]).unwrap();
    assert!(text.ends_with("\n\nFrom /a/AGENTS.md:\nOne.\n\nFrom /a/b/AGENTS.md:\nTwo."), "{text}");
    assert_eq!(render(&[]), None);
}

#[test]
fn too_much_text_is_cut_with_a_note() {
    let fitting = render(&[file("/a", &"é".repeat(LIMIT - 1)), file("/b", "ö")]).unwrap();
    assert!(fitting.ends_with('ö'));
    let cut = render(&[file("/a", &"é".repeat(LIMIT - 1)), file("/b", "öö"), file("/c", "ü")]).unwrap();
    assert_eq!(cut.matches('é').count() + cut.matches('ö').count(), LIMIT);
    assert!(!cut.contains('ü'));
    assert!(cut.ends_with(
        "\n\n(Cut: instruction files are told up to 40000 characters. Not complete here: /b, /c)"
    ));
}

#[test]
fn a_huge_file_is_not_read_to_its_end() {
    let huge = "é".repeat(5 * LIMIT);
    let dir = home(&[("work/repo/AGENTS.md", &huge)]);
    let file = read(dir.path().join("work/repo/AGENTS.md")).unwrap();
    assert!(file.text.len() as u64 <= READ_LIMIT);
    assert!(render(&[file]).unwrap().contains("(Cut: "));
}
