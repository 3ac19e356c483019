//! `tiller rewind` and `tiller sessions diff` where it is not plain what files were.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::full_disk::may_mount;
use crate::harness::{World, outside_of_workspaces};
use crate::rewind::{ID, prompt};

fn said(world: &World, args: &[&str]) -> String {
    world.run(args).ok().stdout
}

// UNDO-02: a step back is a change like others: what it changed can be had back by going to a later prompt.
#[test]
fn files_go_to_a_prompt_after_the_last_change_of_the_session() {
    let world = World::new().file("file", "0\n");
    prompt(&world, &["--session-id", ID], "first", "echo 1 > file");
    prompt(&world, &["--resume", ID], "second", "ls");
    said(&world, &["rewind", ID, "--to", "1", "--files"]);
    assert_eq!(world.read("file"), "0\n");
    said(&world, &["rewind", ID, "--to", "2", "--files"]);
    assert_eq!(world.read("file"), "1\n");
}

// UNDO-02: what was taken back is no change of the session any more, until that is undone.
#[test]
fn what_was_rewound_is_not_shown_as_a_change() {
    let world = World::new().file("file", "0\n");
    prompt(&world, &["--session-id", ID], "first", "echo 1 > file; echo x > new");
    said(&world, &["rewind", ID, "--to", "1", "--files"]);
    let diff = said(&world, &["sessions", "diff", ID, "--names"]);
    assert_eq!(diff.trim(), "no file differs");
    said(&world, &["rewind", ID, "--undo"]);
    let diff = said(&world, &["sessions", "diff", ID, "--names"]);
    assert!(diff.contains("modified") && diff.contains("added"), "{diff}");
}

// UNDO-02: a directory that is no working directory any more was not removed, and one that came later was not added.
#[test]
fn working_directories_come_and_go() {
    let other = outside_of_workspaces();
    let dir = fs_err::canonicalize(other.path()).unwrap();
    let add = ["--add-dir", dir.to_str().unwrap()];
    let there = |name: &str| dir.join(name);
    fs_err::write(there("mine"), "0\n").unwrap();
    let world = World::new().file("file", "0\n");
    let change = |n: u32| format!("echo {n} > file; echo {n} > {}", there("theirs").display());
    prompt(&world, &["--session-id", ID], "first", "echo 1 > file");
    prompt(&world, &[&["--resume", ID], &add[..]].concat(), "second", &change(2));
    prompt(&world, &["--resume", ID], "third", "echo 3 > file");
    let names = |args: &[&str]| -> Vec<String> {
        let rows: Vec<Value> =
            serde_json::from_str(&said(&world, &[&["sessions", "diff", ID, "--json"], args].concat()))
                .unwrap();
        let name = |row: &Value| row["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let mut names: Vec<String> = rows.iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(names(&[]), ["file", "theirs"]);
    assert_eq!(names(&["--from", "3"]), ["file"]);
    let done = said(&world, &["rewind", ID, "--to", "1", "--files"]);
    assert!(done.contains("theirs") && !done.contains("mine"), "{done}");
    assert_eq!(world.read("file"), "0\n");
    assert!(!there("theirs").exists() && there("mine").exists());
    said(&world, &["rewind", ID, "--undo"]);
    assert_eq!(fs_err::read_to_string(there("theirs")).unwrap(), "2\n");
}

// UNDO-01 UNDO-02: what file tools change comes back, whatever ignore files say of it; what commands change and nobody
// keeps is named.
#[test]
fn ignored_files_that_are_changed_by_name_come_back_and_others_are_named() {
    let world = World::new().file(".gitignore", "local/\n*.json\n*.log\n").file("local/conf", "old\n");
    (0..300).for_each(|n| world.write(&format!("local/{n}"), "x"));
    let data = "data\n".repeat(400_000);
    world.write("data.json", &format!("first\n{data}"));
    world.write("app.log", &data);
    let path = |name: &str| world.path(name).display().to_string();
    let edit = json!({"file_path": path("data.json"), "old_string": "first", "new_string": "last"});
    world.server.replies([
        Reply::new().tool("Read", json!({"file_path": path("local/conf")})),
        Reply::new().tool("Write", json!({"file_path": path("local/conf"), "content": "new\n"})),
        Reply::new().tool("Read", json!({"file_path": path("data.json"), "limit": 1})),
        Reply::new().tool("Edit", edit),
        Reply::new().tool("Bash", json!({"command": "echo more >> app.log"})),
        Reply::text("done"),
    ]);
    world.run(&["-p", "go", "--session-id", ID, "--permission-mode", "bypassPermissions"]).ok();
    assert_eq!((world.read("local/conf").as_str(), &world.read("data.json")[..4]), ("new\n", "last"));
    let diff = said(&world, &["sessions", "diff", ID, "--names"]);
    assert!(diff.contains("unknown") && diff.contains("app.log"), "{diff}");
    let done = said(&world, &["rewind", ID, "--to", "1", "--files"]);
    assert_eq!(world.read("local/conf"), "old\n", "{done}");
    assert!(done.contains("left") && done.contains("app.log"), "{done}");
    assert!(!done.contains("local/7"), "{done}");
}

// UNDO-02: what could not be brought back for want of room is no success.
#[test]
fn a_step_back_that_fails_for_some_files_is_a_failure() {
    const SCRIPT: &str = r#"
mkdir p && mount -t tmpfs -o size=3m tmpfs p || exit 77
cd p
echo fill > .gitignore
head -c 400000 /dev/zero | tr '\0' x > file
"$0" -p go --session-id ID --permission-mode bypassPermissions > ../said || exit 1
head -c 1200000 /dev/zero > fill
cat /dev/zero >> fill 2> /dev/null
"$0" rewind ID --to 1 --files --json > ../out
echo $? > ../code
"#;
    if !may_mount() {
        eprintln!(
            "NOT TESTED: this machine does not let a user mount a file system (unshare --user --mount)"
        );
        return;
    }
    let world = World::new();
    let change = Reply::new().tool("Bash", json!({"command": "echo small > file"}));
    world.server.replies([change, Reply::text("done")]);
    let tiller = world.command(&[]);
    let vars = tiller.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let status = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &SCRIPT.replace("ID", ID)])
        .arg(tiller.get_program())
        .env_clear()
        .envs(vars)
        .current_dir(world.dir())
        .stdin(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let out: Value = serde_json::from_str(&world.read("out")).unwrap();
    assert_eq!(world.read("code"), "1\n", "{out:#}");
    assert!(out["failed"][0]["path"].as_str().unwrap().ends_with("p/file"), "{out:#}");
    assert!(out["left"][0]["path"].as_str().is_none_or(|path| path.ends_with("fill")), "{out:#}");
}

// UNDO-02: where nothing was kept, nobody can say that nothing differs.
#[test]
fn files_do_not_go_back_to_what_was_not_kept() {
    let world = World::new().file("file", "0\n").var("TILLER_DISABLE_SNAPSHOTS", "1");
    prompt(&world, &["--session-id", ID], "first", "echo 1 > file");
    for args in [&["--to", "1"][..], &["--to", "1", "--files"], &["--to", "1", "--dry-run"]] {
        let run = world.run(&[&["rewind", ID], args].concat());
        assert_eq!(run.code(), 1, "{run:#?}");
        assert!(run.stderr.contains("was not kept") && run.stderr.contains("conversation alone"), "{run:#?}");
    }
    let diff = world.run(&["sessions", "diff", ID]);
    assert!(diff.code() == 1 && diff.stderr.contains("nothing was kept"), "{diff:#?}");
    let done = said(&world, &["rewind", ID, "--to", "1", "--conversation"]);
    assert!(done.contains("the files stay as they are") && !done.contains("no file differs"), "{done}");
    assert_eq!(world.read("file"), "1\n");
}

// UNDO-02: what was changed while nothing was kept does not go back, and is not shown: both are said.
#[test]
fn what_was_changed_while_nothing_was_kept_is_told_of() {
    let world = World::new().file("file", "0\n").file("other", "0\n");
    let off = world.var("TILLER_DISABLE_SNAPSHOTS", "1");
    prompt(&off, &["--session-id", ID], "first", "echo 1 > file");
    let world = off.var("TILLER_DISABLE_SNAPSHOTS", "");
    prompt(&world, &["--resume", ID], "second", "echo 2 > other");
    for args in [&["--to", "1", "--dry-run"][..], &["--to", "1", "--files"]] {
        let done = said(&world, &[&["rewind", ID], args].concat());
        assert!(done.contains("other") && done.contains("warning: before the first snapshot"), "{done}");
    }
    assert_eq!((world.read("file"), world.read("other")), ("1\n".into(), "0\n".into()));
    let json = said(&world, &["rewind", ID, "--to", "1", "--dry-run", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["missing"].as_str().unwrap().contains("not kept"), "{json}");
    let done = said(&world, &["rewind", ID, "--to", "2", "--files"]);
    assert!(!done.contains("warning"), "{done}");

    let names = |args: &[&str]| said(&world, &[&["sessions", "diff", ID, "--names"], args].concat());
    let missing = format!("unknown   {}  (calls may have changed", world.dir().display());
    assert!(names(&[]).contains(&missing), "{}", names(&[]));
    assert!(!names(&["--from", "2"]).contains("unknown"), "{}", names(&["--from", "2"]));
    let off = world.var("TILLER_DISABLE_SNAPSHOTS", "1");
    prompt(&off, &["--resume", ID], "third", "echo 3 > file");
    let diff = said(&off, &["sessions", "diff", ID, "--from", "2", "--names"]);
    assert!(diff.contains(&missing), "{diff}");
}

// UNDO-02: a step back that goes nowhere does not stand in the way of undoing the one before.
#[test]
fn an_empty_step_back_is_none() {
    let world = World::new().file("file", "0\n");
    prompt(&world, &["--session-id", ID], "first", "echo 1 > file");
    said(&world, &["rewind", ID, "--to", "1", "--conversation"]);
    prompt(&world, &["--resume", ID], "second", "ls");
    let done = said(&world, &["rewind", ID, "--to", "1", "--files"]);
    assert!(done.contains("the session has changed no files since"), "{done}");
    said(&world, &["rewind", ID, "--undo"]);
    let shown = said(&world, &["sessions", "show", ID]);
    assert!(shown.contains("1  ") && shown.contains("first"), "{shown}");
    let prompts: Value = serde_json::from_str(&said(&world, &["sessions", "show", ID, "--json"])).unwrap();
    assert_eq!(prompts["prompts"][0]["abandoned"], false, "{prompts}");
}

// UNDO-02: what got another name for a step back has its own again when the step is undone.
#[test]
fn what_was_set_aside_returns_with_the_undo() {
    let world = World::new().file("short", "short\n");
    prompt(&world, &["--session-id", ID], "first", "truncate -s 40M short");
    let preview = said(&world, &["rewind", ID, "--to", "1", "--dry-run"]);
    assert!(!preview.contains("no file differs") && preview.contains("gets another name"), "{preview}");
    for _ in 0..2 {
        said(&world, &["rewind", ID, "--to", "1", "--files"]);
        assert_eq!(world.read("short"), "short\n");
        assert!(world.path("short.set-aside").exists());
        said(&world, &["rewind", ID, "--undo"]);
        assert_eq!(fs_err::metadata(world.path("short")).unwrap().len(), 40 << 20);
        assert!(!world.path("short.set-aside").exists());
    }
}
