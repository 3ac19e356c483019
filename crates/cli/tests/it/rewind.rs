//! `tiller rewind`: back to before a prompt.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::World;

pub(crate) const ID: &str = "0f6a5b1e-2f7d-4d0c-9a53-6d1f7c3b2a11";

pub(crate) fn prompt(world: &World, start: &[&str], text: &str, command: &str) {
    world.server.replies([
        Reply::new().thinking("Hm.").tool("Bash", json!({"command": command})),
        Reply::new().thinking("So.").and_text(format!("did {text}")),
    ]);
    let args = [start, &["-p", text, "--permission-mode", "bypassPermissions"]].concat();
    world.run(&args).ok();
}

/// Three prompts, each of which changes files by a command.
fn three_prompts() -> World {
    let world = World::new().file("file", "0\n").file("kept", "mine\n");
    prompt(&world, &["--session-id", ID], "first", "echo 1 > file");
    prompt(&world, &["--resume", ID], "second", "echo 2 > file; echo x > two; chmod +x kept");
    prompt(&world, &["--resume", ID], "third", "rm two; echo 3 > file");
    world
}

fn next_request(world: &World, prompt: &str) -> Value {
    world.server.reply(Reply::text("ok"));
    world.run(&["--resume", ID, "-p", prompt]).ok();
    let request = world.server.messages().pop().unwrap().body().clone();
    world.server.assert_clean();
    request
}

// UNDO-02 CACHE-06: both go back, the next request has only what was said before, and no thinking of the old epoch.
#[test]
fn conversation_and_files_go_back() {
    let world = three_prompts();
    let run = world.run(&["rewind", ID, "--to", "2"]).ok();
    assert!(run.stdout.contains("back to before: second"), "{}", run.stdout);
    assert_eq!(world.read("file"), "1\n");
    assert!(!world.path("two").exists());
    let request = next_request(&world, "another second");
    let messages = request["messages"].to_string();
    assert!(messages.contains("first") && messages.contains("another second"), "{messages}");
    assert!(!messages.contains("did second") && !messages.contains("third"), "{messages}");
    assert!(!messages.contains("thinking"), "{messages}");
    let shown = world.run(&["sessions", "show", ID]).ok().stdout;
    assert!(shown.contains("left behind by rewinding"), "{shown}");
    let log = world.run(&["sessions", "verify", ID]).ok();
    assert!(log.stdout.contains("sound"), "{}", log.stdout);
}

// UNDO-02: each can go back alone.
#[test]
fn files_or_conversation_go_back_alone() {
    let world = three_prompts();
    world.run(&["rewind", ID, "--to", "1", "--files"]).ok();
    assert_eq!(world.read("file"), "0\n");
    let messages = next_request(&world, "go on")["messages"].to_string();
    assert!(messages.contains("did third"), "{messages}");

    let world = three_prompts();
    world.run(&["rewind", ID, "--to", "1", "--conversation"]).ok();
    assert_eq!(world.read("file"), "3\n");
    let messages = next_request(&world, "anew")["messages"].to_string();
    assert!(messages.contains("anew") && !messages.contains("did first"), "{messages}");
}

// UNDO-02: however often one goes back, every conversation that was left behind can be gone on from, with its files.
#[test]
fn every_branch_stays_within_reach() {
    let world = three_prompts();
    world.run(&["rewind", ID, "--to", "2"]).ok();
    prompt(&world, &["--resume", ID], "other", "echo other > file");
    world.run(&["rewind", ID, "--to", "1"]).ok();
    prompt(&world, &["--resume", ID], "fresh", "echo fresh > file");
    let branches = || -> Vec<usize> {
        let shown = world.run(&["sessions", "show", ID, "--json"]).ok().stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let lengths = shown["branches"].as_array().unwrap().iter();
        lengths.map(|branch| branch["prompts"].as_array().unwrap().len()).collect()
    };
    assert_eq!(branches(), [3, 2]);
    let shown = world.run(&["sessions", "show", ID]).ok().stdout;
    assert!(shown.contains("3 prompts, the last one: third"), "{shown}");
    assert!(shown.contains("2 prompts, the last one: other"), "{shown}");

    let preview = world.run(&["rewind", ID, "--branch", "1", "--dry-run"]).ok().stdout;
    assert!(preview.contains("-fresh") && preview.contains("+3"), "{preview}");
    let run = world.run(&["rewind", ID, "--branch", "1"]).ok();
    assert!(run.stdout.contains("at the end of branch 1"), "{}", run.stdout);
    assert_eq!(world.read("file"), "3\n");
    let messages = next_request(&world, "go on")["messages"].to_string();
    assert!(messages.contains("did third") && !messages.contains("other") && !messages.contains("fresh"));

    assert_eq!(branches(), [2, 1], "what was left last is a branch, what is gone on from is none");
    world.run(&["rewind", ID, "--branch", "1"]).ok();
    assert_eq!(world.read("file"), "other\n");
    let messages = next_request(&world, "go on")["messages"].to_string();
    assert!(messages.contains("did other") && !messages.contains("did second"), "{messages}");
    assert_eq!(branches(), [1, 4]);
    world.run(&["rewind", ID, "--branch", "1", "--conversation"]).ok();
    assert_eq!(world.read("file"), "other\n");
    let missing = world.run(&["rewind", ID, "--branch", "9"]);
    assert!(missing.stderr.contains("there is no branch 9"), "{}", missing.stderr);
    assert!(world.run(&["sessions", "verify", ID]).ok().stdout.contains("sound"));
}

// UNDO-02: the difference is shown first, and the step back can be taken again.
#[test]
fn a_step_back_is_previewed_and_undone() {
    let world = three_prompts();
    let preview = world.run(&["rewind", ID, "--to", "2", "--dry-run"]).ok().stdout;
    assert!(preview.contains("-3") && preview.contains("+1") && preview.contains("modified"), "{preview}");
    assert_eq!(world.read("file"), "3\n");

    let done: Value =
        serde_json::from_str(&world.run(&["rewind", ID, "--to", "2", "--json"]).ok().stdout).unwrap();
    assert_eq!(
        (&done["text"], &done["conversation"], &done["left"]),
        (&json!("second"), &json!(true), &json!([]))
    );
    assert_eq!(world.read("file"), "1\n");
    world.run(&["rewind", ID, "--undo"]).ok();
    assert_eq!(world.read("file"), "3\n");
    let messages = next_request(&world, "go on")["messages"].to_string();
    assert!(messages.contains("did second") && messages.contains("did third"), "{messages}");
}

#[test]
fn what_is_not_there_is_said() {
    let world = three_prompts();
    for (args, word) in [
        (&["rewind", ID, "--to", "7"][..], "there is no prompt \"7\""),
        (&["rewind", ID], "--to"),
        (&["rewind", ID, "--undo"], "nothing was rewound"),
    ] {
        let run = world.run(args);
        assert_eq!(run.code(), 1, "{run:#?}");
        assert!(run.stderr.contains(word), "{run:#?}");
    }
}

// A second step back, further than the first, and a fork of it all.
#[test]
fn steps_back_add_up_and_are_forked() {
    let world = three_prompts();
    world.run(&["rewind", ID, "--to", "3"]).ok();
    prompt(&world, &["--resume", ID], "other third", "echo other > file");
    world.run(&["rewind", ID, "--to", "2"]).ok();
    assert_eq!(world.read("file"), "1\n");
    world.server.reply(Reply::text("ok"));
    world.run(&["--resume", ID, "--fork-session", "-p", "in a fork"]).ok();
    let messages = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(messages.contains("did first") && messages.contains("in a fork"), "{messages}");
    assert!(!messages.contains("second") && !messages.contains("third"), "{messages}");
    world.server.assert_clean();
}

// UNDO-01 UNDO-02: what was kept comes back, also if its directory is ignored or its file too long by then; what is not
// kept is named, in a look at it as well.
#[test]
fn what_was_kept_comes_back_whatever_is_ignored_by_then() {
    let world = World::new().file("backend/main.py", "precious\n").file("short", "short\n");
    (0..300).for_each(|n| world.write(&format!("data/{n}"), "row\n"));
    let install =
        "touch backend/pyvenv.cfg; mkdir backend/lib; for n in $(seq 300); do echo > backend/lib/$n; done";
    prompt(&world, &["--session-id", ID], "first", &format!("echo data/ > .gitignore; {install}"));
    let change = "echo gone > backend/main.py; rm data/1; echo changed > data/2; truncate -s 40M short";
    prompt(&world, &["--resume", ID], "second", change);

    let diff = world.run(&["sessions", "diff", ID, "--names"]).ok().stdout;
    assert!(diff.contains("modified") && diff.contains("backend/main.py"), "{diff}");
    assert!(diff.contains("unknown") && diff.contains("short  (the file is too large to be kept)"), "{diff}");
    let rows: Value =
        serde_json::from_str(&world.run(&["sessions", "diff", ID, "--json"]).ok().stdout).unwrap();
    let short = rows.as_array().unwrap().iter().find(|row| row["path"] == json!(world.dir().join("short")));
    assert_eq!(short.unwrap()["change"], "unknown", "{rows}");

    let preview = world.run(&["rewind", ID, "--to", "1", "--dry-run"]).ok().stdout;
    assert!(
        preview.contains("backend/lib  (ignored files") && preview.contains("gets another name"),
        "{preview}"
    );
    let preview = world.run(&["rewind", ID, "--to", "1", "--dry-run", "--json"]).ok().stdout;
    let preview: Value = serde_json::from_str(&preview).unwrap();
    let named =
        |list: &str| preview[list].as_array().unwrap().iter().map(|row| row["path"].clone()).collect();
    let (aside, left): (Vec<Value>, Vec<Value>) = (named("aside"), named("left"));
    assert_eq!(aside, [json!(world.dir().join("short"))]);
    assert!(left.contains(&json!(world.dir().join("backend/lib"))), "{left:?}");

    let run = world.run(&["rewind", ID, "--to", "1"]).ok().stdout;
    assert!(run.contains("short.set-aside") && run.contains("backend/lib"), "{run}");
    assert_eq!((world.read("backend/main.py"), world.read("short")), ("precious\n".into(), "short\n".into()));
    assert_eq!((world.read("data/1"), world.read("data/2")), ("row\n".into(), "row\n".into()));
    assert_eq!(fs_err::metadata(world.path("short.set-aside")).unwrap().len(), 40 << 20);
    assert!(world.path("backend/lib/300").exists() && !world.path(".gitignore").exists());
}

fn todo_prompt(world: &World, start: &[&str], todo: &str) {
    let todos = json!({"todos": [{"content": todo, "activeForm": todo, "status": "pending"}]});
    world.server.replies([Reply::new().tool("TodoWrite", todos), Reply::text("noted")]);
    world.run(&[start, &["-p", todo]].concat()).ok();
}

/// What the todo file of the session holds after it was opened once more.
fn todo_file(world: &World) -> String {
    world.server.reply(Reply::text("ok"));
    world.run(&["--resume", ID, "-p", "go on"]).ok();
    let path = world.config_dir().join("todos").join(format!("{ID}-agent-{ID}.json"));
    fs_err::read_to_string(path).unwrap()
}

// UNDO-02: compaction hands on what the todo file holds, so the list must not come back from there.
#[test]
fn the_todo_list_goes_back_with_the_conversation() {
    let world = World::new();
    todo_prompt(&world, &["--session-id", ID], "older");
    todo_prompt(&world, &["--resume", ID], "newer");
    assert!(todo_file(&world).contains("newer"));
    world.run(&["rewind", ID, "--to", "2"]).ok();
    let todos = todo_file(&world);
    assert!(todos.contains("older") && !todos.contains("newer"), "{todos}");
}

#[test]
fn the_todo_list_comes_along_with_an_adopted_log() {
    let world = World::new();
    todo_prompt(&world, &["--session-id", ID], "brought along");
    let copy = world.home().join("copy.jsonl");
    fs_err::copy(world.logs().pop().unwrap(), &copy).unwrap();
    world.run(&["sessions", "rm", ID]).ok();
    world.server.reply(Reply::text("ok"));
    world.run(&["--resume", copy.to_str().unwrap(), "-p", "go on"]).ok();
    assert!(todo_file(&world).contains("brought along"));
}
