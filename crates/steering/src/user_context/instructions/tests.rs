use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

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
    find(Places { config_dir: &config_dir, home, working_directory: &working_directory, may_read: &|_| true })
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
        "work/repo/.claude/CLAUDE.md",
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
fn outside_the_home_directory_files_count_where_nobody_else_could_have_left_them() {
    let dir = home(&[
        ("AGENTS.md", "a"),
        ("work/AGENTS.md", "b"),
        ("work/repo/AGENTS.md", "c"),
        ("work/repo/sub/AGENTS.md", "d"),
    ]);
    let elsewhere = dir.path().join("other");
    fs_err::create_dir(&elsewhere).unwrap();
    let open = |path: &str, mode: u32| {
        fs_err::set_permissions(dir.path().join(path), Permissions::from_mode(mode)).unwrap();
    };
    open("work", 0o755);
    let all = ["AGENTS.md", "work/AGENTS.md", "work/repo/AGENTS.md", "work/repo/sub/AGENTS.md"];
    assert_eq!(found(&dir, &elsewhere), all);
    open("work", 0o1777);
    assert_eq!(found(&dir, &elsewhere), ["AGENTS.md", "work/repo/AGENTS.md", "work/repo/sub/AGENTS.md"]);
    open("work/repo", 0o777);
    assert_eq!(
        found(&dir, &elsewhere)[1],
        "work/repo/AGENTS.md",
        "a repository is one, whoever may write there"
    );
    let nowhere = dir.path().join("missing");
    assert_eq!(
        found(&dir, &nowhere),
        ["work/repo/AGENTS.md", "work/repo/sub/AGENTS.md"],
        "whose it is must be known"
    );
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
    InstructionFile { path: path.into(), real: path.into(), text: text.to_owned() }
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
    let text = read_text(&dir.path().join("work/repo/AGENTS.md")).unwrap();
    let file = file("/p/AGENTS.md", &text);
    assert!(file.text.len() as u64 <= READ_LIMIT);
    assert!(render(&[file]).unwrap().contains("(Cut: "));
}

// STEER-10
#[test]
fn imported_files_follow_the_one_that_imports_them() {
    let dir = home(&[
        ("work/repo/AGENTS.md", "Read @docs/style.md and @docs/tests.md. Mail ada@docs/style.md."),
        ("work/repo/docs/style.md", "Tabs. See @deeper/why.md, @../AGENTS.md and @missing.md."),
        ("work/repo/docs/deeper/why.md", "Because."),
        ("work/repo/docs/tests.md", "Test. See @style.md"),
        ("work/repo/sub/AGENTS.md", "Sub."),
    ]);
    assert_eq!(
        found(&dir, dir.path()),
        [
            "work/repo/AGENTS.md",
            "work/repo/docs/style.md",
            "work/repo/docs/deeper/why.md",
            "work/repo/docs/tests.md",
            "work/repo/sub/AGENTS.md",
        ]
    );
}

#[test]
fn imports_are_followed_only_so_deep() {
    let chain: Vec<(String, String)> =
        (0..10).map(|n| (format!("work/repo/{n}.md"), format!("{n} @{}.md", n + 1))).collect();
    let mut files: Vec<(&str, &str)> =
        chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("work/repo/AGENTS.md", "@0.md"));
    let dir = home(&files);
    assert_eq!(found(&dir, dir.path()).len(), 1 + 5);
}

#[test]
fn a_project_cannot_import_from_outside_and_the_user_can() {
    let files = [
        (".tiller/AGENTS.md", "@~/notes.md"),
        ("notes.md", "Mine."),
        ("secret", "Key."),
        ("work/repo/AGENTS.md", "@~/secret @../../secret @link.md @inside.md"),
        ("work/repo/inside.md", "Ours."),
    ];
    let dir = home(&files);
    std::os::unix::fs::symlink(dir.path().join("secret"), dir.path().join("work/repo/link.md")).unwrap();
    assert_eq!(
        found(&dir, dir.path()),
        [".tiller/AGENTS.md", "notes.md", "work/repo/AGENTS.md", "work/repo/inside.md"]
    );
}

// RULE-06
#[test]
fn what_may_not_be_read_is_left_out() {
    let dir = home(&[
        ("work/repo/AGENTS.md", "@private.md @public.md"),
        ("work/repo/private.md", "x"),
        ("work/repo/public.md", "y"),
        ("work/repo/sub/CLAUDE.md", "z"),
    ]);
    let root = fs_err::canonicalize(dir.path()).unwrap();
    let (config_dir, repo) = (root.join(".tiller"), root.join("work/repo"));
    let may_read = |path: &Path| !path.ends_with("private.md") && !path.ends_with("CLAUDE.md");
    let places = Places {
        config_dir: &config_dir,
        home: &root,
        working_directory: &repo.join("sub"),
        may_read: &may_read,
    };
    let names = |files: Vec<InstructionFile>| -> Vec<PathBuf> {
        files.into_iter().map(|file| file.path.strip_prefix(&root).unwrap().to_owned()).collect()
    };
    let expected = [PathBuf::from("work/repo/AGENTS.md"), PathBuf::from("work/repo/public.md")];
    assert_eq!(names(find(places)), expected);
    assert_eq!(names(find_in(&repo, places)), expected);
    assert_eq!(find_in(&repo.join("sub"), places), []);
}
