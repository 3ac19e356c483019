//! `tiller replay`: sessions run again from their logs. That every session of every test finds no difference is asserted
//! where tests end, in `replayed.rs`; here is what a difference looks like, and what becomes of the surroundings.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{Kernel, Run, World, entries, stream_args};

const TOKEN: &str = concat!("gh", "p_q7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0PsAeUiO");

/// Everything below a directory, by path.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs_err::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs_err::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// Reads a file again and again, long enough for a reminder of the todo list, then changes it.
fn long_session() -> World {
    let world = World::new().file("file", "one\n");
    let path = world.path("file").display().to_string();
    for _ in 0..11 {
        world.server.reply(Reply::new().tool("Read", json!({"file_path": path})));
    }
    let edit = json!({"file_path": path, "old_string": "one", "new_string": "two"});
    world.server.replies([Reply::new().tool("Edit", edit), Reply::text("done")]);
    world.run(&stream_args("go")).ok();
    world
}

fn exported(world: &World) -> PathBuf {
    let dir = world.home().join("exported");
    world.run(&["replay", "--export", &dir.display().to_string(), "latest"]).ok();
    dir
}

/// Changes lines of an exported log. Without hashes nobody knows that it was written anew.
fn rewrite(dir: &Path, change: impl Fn(&mut Value)) {
    let log = dir.join("session.jsonl");
    let text = fs_err::read_to_string(&log).unwrap();
    let lines = text.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line.as_object_mut().unwrap().remove("hash");
        change(&mut line);
        line.to_string() + "\n"
    });
    fs_err::write(&log, lines.collect::<String>()).unwrap();
}

fn replay(world: &World, dir: &Path, extra: &[&str]) -> Run {
    let dir = dir.display().to_string();
    world.run(&[&["replay", dir.as_str()], extra].concat())
}

// REPL-01: everything is made anew and nothing is touched.
#[test]
fn a_replay_finds_no_difference_and_touches_nothing() {
    let world = long_session();
    let before = (contents(&world.dir()), contents(&world.config_dir()), world.server.requests().len());
    let run = world.run(&["replay", "latest", "--json"]).ok();
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["steps"], &report["turns"]), (&json!(13), &json!(1)), "{report}");
    assert_eq!(report["difference"], Value::Null);
    let after = (contents(&world.dir()), contents(&world.config_dir()), world.server.requests().len());
    assert_eq!(before, after);
    let until = world.run(&["replay", "latest", "--until", "3"]).ok().stdout;
    assert!(until.starts_with("3 steps in 1 turn: no difference"), "{until}");
}

// REPL-01: a reminder that was worded otherwise is named, with the step at which it was told.
#[test]
fn a_changed_reminder_is_named_with_its_step() {
    let world = long_session();
    let dir = exported(&world);
    replay(&world, &dir, &[]).ok();
    rewrite(&dir, |line| {
        if line["attachment"]["type"] == "todo_reminder" {
            line["rendered"][0]["text"] = json!("<system-reminder>\nMind the list.\n</system-reminder>");
        }
    });
    let run = replay(&world, &dir, &["--json"]);
    assert_eq!(run.code(), 9, "{run:?}");
    let difference = serde_json::from_str::<Value>(&run.stdout).unwrap()["difference"].clone();
    assert_eq!(difference["part"], "reminder todo_reminder", "{difference}");
    let requests = world.server.messages();
    let reminded = |text: &[u8]| String::from_utf8_lossy(text).contains("TodoWrite has not been used");
    let told = requests.iter().position(|request| reminded(request.raw()));
    assert_eq!(difference["step"], json!(told.unwrap() + 1), "{difference}");
    assert!(difference["recorded"].as_str().unwrap().contains("Mind the list."), "{difference}");
    let text = replay(&world, &dir, &[]).stdout;
    assert!(text.contains("reminder todo_reminder differs") && text.contains("recorded: "), "{text}");
}

// REPL-01: other parts of requests, and the way the loop goes.
#[test]
fn differences_are_named_by_what_differs() {
    let world = long_session();
    let part = |change: &dyn Fn(&mut Value)| {
        let dir = world.home().join("exported");
        _ = fs_err::remove_dir_all(&dir);
        let dir = exported(&world);
        rewrite(&dir, change);
        let run = replay(&world, &dir, &["--json"]);
        assert_eq!(run.code(), 9, "{run:?}");
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        (report["difference"]["part"].clone(), report["difference"]["step"].clone())
    };
    let in_epoch = |field: &'static str, from: &'static str| {
        move |line: &mut Value| {
            if line["type"] == "epoch" {
                let text = line[field].to_string();
                assert!(text.contains(from), "{text}");
                line[field] = serde_json::from_str(&text.replacen(from, "Otherwise", 1)).unwrap();
            }
        }
    };
    assert_eq!(part(&in_epoch("system", "Tiller")), (json!("system"), json!(1)));
    assert_eq!(part(&in_epoch("tools", "file_path")).0, "tools: Read");
    let another_end = |line: &mut Value| {
        if line["type"] == "turn_ended" {
            line["outcome"] = json!({"kind": "tool_rejected"});
        }
    };
    assert_eq!(part(&another_end), (json!("the end of the turn"), json!(13)));
    let another_digest = |line: &mut Value| {
        if line["type"] == "response" && line["asked"]["messages"] == 5 {
            line["asked"]["digest"] = json!("0000000000000000");
        }
    };
    assert_eq!(part(&another_digest), (json!("how the conversation is written"), json!(3)));
}

// REPL-01: what Tiller tells of a command is compared; the command itself, and what it printed, is not.
#[test]
fn what_is_told_of_a_command_is_compared() {
    let world = World::new().file(".tiller/commands/ship.md", "Ship $ARGUMENTS. !`date +%s%N`");
    world.server.reply(Reply::text("shipped"));
    world.run(&stream_args("/ship the frame")).ok();
    fs_err::remove_file(world.path(".tiller/commands/ship.md")).unwrap();
    let dir = exported(&world);
    replay(&world, &dir, &[]).ok();
    rewrite(&dir, |line| {
        let text = line["message"]["content"][0]["text"].as_str().unwrap_or_default();
        if text.starts_with("The user has called for the command") {
            line["message"]["content"][0]["text"] = json!(text.replace("It says:", "Do this:"));
        }
    });
    let run = replay(&world, &dir, &["--json"]);
    assert_eq!(run.code(), 9, "{run:?}");
    let difference = serde_json::from_str::<Value>(&run.stdout).unwrap()["difference"].clone();
    assert_eq!((&difference["part"], &difference["step"]), (&json!("/ship"), &json!(1)), "{difference}");
}

// REPL-01: a session continued with another output style is told so, and replays.
#[test]
fn what_shapes_reminders_is_on_record_also_when_it_changes() {
    let world = World::new();
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    world.run(&["-p", "go", "--settings", r#"{"outputStyle": "concise"}"#]).ok();
    world.run(&["-p", "on", "--continue", "--settings", r#"{"outputStyle": "learning"}"#]).ok();
    let log = entries(&world.logs()[0]);
    assert_eq!(log.iter().filter(|entry| entry["type"] == "epoch").count(), 1, "the head stays as it is");
    let shaped: Vec<&Value> = log.iter().filter(|entry| entry["effect"] == "shaped").collect();
    assert_eq!(shaped.len(), 1, "{shaped:?}");
    assert_eq!(shaped[0]["style"], json!({"name": "learning"}), "what comes with Tiller is noted by name");
    let dir = exported(&world);
    replay(&world, &dir, &[]).ok();
    rewrite(&dir, |line| {
        if line["effect"] == "shaped" {
            line["style"] = json!({"name": "pirate", "guidelines": "Say arr."});
        }
    });
    let run = replay(&world, &dir, &["--json"]);
    let difference = serde_json::from_str::<Value>(&run.stdout).unwrap()["difference"].clone();
    assert_eq!((&difference["part"], &difference["step"]), (&json!("reminder output_style"), &json!(2)));
}

// REPL-01: the words around a summary, and those that ask for one, are found once more.
#[test]
fn the_words_of_a_compaction_are_compared() {
    let world = World::new();
    world.server.replies([Reply::text("one"), Reply::text("In short."), Reply::text("two")]);
    world.run(&["-p", "remember the number 7"]).ok();
    world.run(&["--continue", "-p", "/compact mind the numbers"]).ok();
    world.run(&["--continue", "-p", "go on"]).ok();
    let part = |change: &dyn Fn(&mut Value)| {
        let dir = exported(&world);
        replay(&world, &dir, &[]).ok();
        rewrite(&dir, change);
        let run = replay(&world, &dir, &["--json"]);
        assert_eq!(run.code(), 9, "{run:?}");
        fs_err::remove_dir_all(dir).unwrap();
        let difference = serde_json::from_str::<Value>(&run.stdout).unwrap()["difference"].clone();
        (difference["part"].clone(), difference["step"].clone())
    };
    let of_summary = |from: &'static str| {
        move |line: &mut Value| {
            if line["isCompactSummary"] == true {
                let text = line["message"]["content"][0]["text"].as_str().unwrap();
                assert!(text.contains(from), "{text}");
                line["message"]["content"][0]["text"] = json!(text.replacen(from, "Otherwise", 1));
            }
        }
    };
    assert_eq!(part(&of_summary("The conversation up to here")), (json!("summary"), json!(2)));
    assert_eq!(part(&of_summary("word for word")).0, "summary");
    let of_request = |line: &mut Value| {
        if let Some(digest) = line.pointer_mut("/compactMetadata/madeOf/asked/0/digest") {
            *digest = json!("0000000000000000");
        }
    };
    assert_eq!(part(&of_request), (json!("request for a summary"), json!(2)));
    let of_wish = |line: &mut Value| {
        if let Some(wish) = line.pointer_mut("/compactMetadata/instructions") {
            *wish = json!("mind the letters");
        }
    };
    assert_eq!(part(&of_wish).0, "request for a summary");
}

// REPL-01 SECR-02: a bug report is a directory that replays anywhere, and holds no credentials.
#[test]
fn an_exported_session_replays_anywhere_without_credentials() {
    let world = World::new().var("DEPLOY_TOKEN", "correct-horse-battery").file("AGENTS.md", "Be brief.");
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": "echo hello"})),
        Reply::text("It is correct-horse-battery."),
        Reply::text("and on"),
    ]);
    world.run(&stream_args(&format!("use {TOKEN} for it"))).ok();
    world.run(&["--continue", "-p", "go on"]).ok();
    let dir = exported(&world);
    for (path, bytes) in contents(&dir) {
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(TOKEN) && !text.contains("correct-horse"), "{}: {text}", path.display());
    }
    let elsewhere = World::new();
    let moved = elsewhere.home().join("report");
    fs_err::rename(&dir, &moved).unwrap();
    fs_err::remove_dir_all(world.dir()).unwrap();
    fs_err::remove_dir_all(world.config_dir()).unwrap();
    let run = replay(&elsewhere, &moved, &[]).ok();
    assert!(run.stdout.starts_with("3 steps in 2 turns: no difference"), "{}", run.stdout);
}

#[test]
fn a_compressed_log_is_replayed_and_exported() {
    let world = long_session();
    let log = world.logs().remove(0);
    assert!(std::process::Command::new("gzip").arg(&log).status().unwrap().success());
    let packed = log.with_extension("jsonl.gz").display().to_string();
    world.run(&["replay", &packed]).ok();
    let dir = world.home().join("exported");
    world.run(&["replay", "--export", &dir.display().to_string(), &packed]).ok();
    assert!(replay(&world, &dir, &[]).ok().stdout.starts_with("13 steps in 1 turn: no difference"));
}

/// The log of the session with some bytes changed, and perhaps compressed.
fn damage(world: &World, log: &Path, change: impl Fn(&mut Vec<u8>)) -> (PathBuf, Value) {
    let mut bytes = fs_err::read(log).unwrap();
    change(&mut bytes);
    fs_err::write(log, bytes).unwrap();
    let dir = world.home().join("exported");
    _ = fs_err::remove_dir_all(&dir);
    let (to, from) = (dir.display().to_string(), log.display().to_string());
    let run = world.run(&["replay", "--json", "--export", &to, &from]).ok();
    (dir, serde_json::from_str(&run.stdout).unwrap())
}

// REPL-01 LOG-03: of a damaged recording, what can be read is exported, and what was lost is said, then and later.
#[test]
fn what_of_a_damaged_log_can_be_read_is_exported() {
    let world = long_session();
    let log = world.logs().remove(0);
    let whole = fs_err::read(&log).unwrap();
    let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let ends: Vec<usize> = ends.collect();

    let broken_off = ends[ends.len() - 3] + 7;
    let (dir, told) = damage(&world, &log, |bytes| bytes.truncate(broken_off));
    assert_eq!(told["lost"], json!(["the last record was incomplete (7 bytes) and was cut off"]));
    let copied = fs_err::read(dir.join("session.jsonl")).unwrap();
    assert_eq!(copied, &whole[..ends[ends.len() - 3]]);
    let run = replay(&world, &dir, &[]);
    assert!(run.stdout.contains("not compared: the last record was incomplete"), "{}", run.stdout);

    fs_err::write(&log, &whole).unwrap();
    let middle = ends.len() / 2;
    let (dir, told) = damage(&world, &log, |bytes| bytes[ends[middle] + 20] = 0xff);
    assert_eq!(told["lost"], json!([format!("line {} is damaged and was skipped", middle + 2)]));
    assert_eq!(entries(&dir.join("session.jsonl")).len(), ends.len() - 1);

    fs_err::write(&log, &whole).unwrap();
    assert!(std::process::Command::new("gzip").arg(&log).status().unwrap().success());
    let packed = log.with_extension("jsonl.gz");
    let (dir, told) = damage(&world, &packed, |bytes| bytes.truncate(bytes.len() * 3 / 4));
    let kept = entries(&dir.join("session.jsonl")).len();
    assert!(0 < kept && kept < ends.len(), "{kept}");
    let lost = format!("what follows line {kept} is lost: the compressed file is damaged");
    assert_eq!(told["lost"], json!([lost]));
    let text = world.run(&["replay", "--export", "again", &packed.display().to_string()]).ok().stdout;
    assert!(text.starts_with(&format!("lost: what follows line {kept}")), "{text}");

    fs_err::write(&packed, b"nothing of it").unwrap();
    let run = world.run(&["replay", "--export", "once-more", &packed.display().to_string()]);
    assert_eq!((run.code(), world.path("once-more").exists()), (1, false), "{run:?}");
    assert!(run.stderr.contains("nothing of") && run.stderr.contains("can be read"), "{}", run.stderr);
}

// SECR-02: a recording that somebody wants to get credentials out of.
#[test]
fn no_credential_is_left_in_an_export_however_it_is_named_and_written() {
    let quoted = "pa\"ss\\wo\nrd-of-the-db";
    let world = World::new()
        .var("PGPASSWORD", quoted)
        .var("npm_token", "abcdefgh")
        .var("LONGER_TOKEN", "abcdefgh-and-the-rest")
        .file(".tiller/settings.json", r#"{"env": {"STRIPE_SECRET": "kept-in-the-settings"}}"#);
    let said = json!({"db": quoted}).to_string();
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": format!("echo '{said}'")})),
        Reply::text(format!("{quoted} abcdefgh-and-the-rest abcdefgh kept-in-the-settings")),
    ]);
    world.run(&stream_args("tell me all of them")).ok();
    let dir = exported(&world);
    for (path, bytes) in contents(&dir) {
        let text = String::from_utf8(bytes).unwrap();
        for secret in ["rd-of-the-db", "abcdefgh", "and-the-rest", "kept-in-the-settings"] {
            assert!(!text.contains(secret), "{secret} in {}: {text}", path.display());
        }
    }
    replay(&world, &dir, &[]).ok();
    world.write(".tiller/settings.json", "{");
    let elsewhere = world.home().join("again").display().to_string();
    let run = world.run(&["replay", "--export", &elsewhere, "latest"]);
    assert_eq!(run.code(), 1, "what could not be masked is not written: {run:?}");
    assert!(!world.home().join("again").exists());
    world.write(".tiller/settings.json", "{}");
}

// REPL-01: calls run again in a copy, and a result that is another one now is named.
#[test]
fn calls_can_be_run_again_in_a_copy() {
    let world = World::new().file("file", "one\n");
    let path = world.path("file").display().to_string();
    let edit = json!({"file_path": path, "old_string": "one", "new_string": "two"});
    world.server.replies([
        Reply::new().tool("Read", json!({"file_path": path})),
        Reply::new().tool("Edit", edit),
        Reply::new().tool("Bash", json!({"command": "cat file; pwd"})),
        Reply::text("done"),
    ]);
    world.run(&stream_args("go")).ok();
    let before = contents(&world.dir());
    let run = world.run(&["replay", "latest", "--live-tools"]).ok();
    assert!(run.stdout.contains("3 calls run again: no difference"), "{}", run.stdout);

    let command = json!({"command": "echo more >> file; cat /proc/sys/kernel/random/uuid"});
    world.server.replies([Reply::new().tool("Bash", command), Reply::text("done")]);
    world.run(&[&stream_args("again")[..], &["--continue"]].concat()).ok();
    let after = contents(&world.dir());
    assert_ne!(before, after);
    let run = world.run(&["replay", "latest", "--live-tools"]);
    assert_eq!(run.code(), 9, "{run:?}");
    assert!(run.stdout.contains("(Bash) differs"), "{}", run.stdout);
    assert_eq!(contents(&world.dir()), after);
}

// A recording of somebody else's may name any file.
#[test]
fn calls_that_are_run_again_change_nothing_outside_of_the_copy() {
    let world = World::new();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("file");
    let write = json!({"file_path": target, "content": "written\n"});
    world.server.replies([Reply::new().tool("Write", write), Reply::text("done")]);
    world.run(&[&stream_args("go")[..], &["--permission-mode", "bypassPermissions"]].concat()).ok();
    fs_err::remove_file(&target).unwrap();
    let run = world.run(&["replay", "latest", "--live-tools"]);
    assert_eq!(run.code(), 9, "{run:?}");
    assert!(run.stdout.contains("(Write) differs"), "{}", run.stdout);
    assert!(!target.exists());
}

// REPL-01: what a session that was killed would have told the model next is not on record.
#[test]
fn a_session_that_was_killed_before_a_reminder_is_no_difference() {
    let world = long_session();
    let dir = exported(&world);
    let log = dir.join("session.jsonl");
    let text = fs_err::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.lines().take_while(|line| !line.contains("\"todo_reminder\"")).collect();
    assert!(lines.len() < text.lines().count());
    fs_err::write(&log, lines.join("\n") + "\n").unwrap();
    let run = replay(&world, &dir, &[]).ok();
    assert!(run.stdout.contains("no difference"), "{}", run.stdout);
}

// REPL-01: what a recording of somebody else's does to temporary files, it does to its own.
#[test]
fn commands_that_are_run_again_have_their_own_temporary_directories() {
    let world = World::new();
    for around in ["/tmp", "/var/tmp"] {
        let outside = tempfile::tempdir_in(around).unwrap();
        let (victim, made) = (outside.path().join("victim"), outside.path().join("made"));
        fs_err::create_dir(&victim).unwrap();
        let (doomed, made_name) = (victim.display(), made.display());
        let command = format!(
            "rm -rf {doomed}; mkdir -p {}; echo x > {made_name}; echo y > inside",
            outside.path().display()
        );
        world.server.replies([Reply::new().tool("Bash", json!({"command": command})), Reply::text("done")]);
        world.run(&[&stream_args("go")[..], &["--permission-mode", "bypassPermissions"]].concat()).ok();
        assert!(!victim.exists() && made.exists());
        fs_err::remove_file(&made).unwrap();
        fs_err::create_dir(&victim).unwrap();
        let run = world.run(&["replay", "latest", "--live-tools"]).ok();
        assert!(run.stdout.contains("1 call run again: no difference"), "{}", run.stdout);
        assert!(victim.exists() && !made.exists());
    }
}

// REPL-01: calls are run where they were made, in a copy of that directory, or not at all.
#[test]
fn a_session_that_was_taken_elsewhere_is_replayed_where_it_was() {
    let world = World::new().file("a", "0\n").file("sub/x", "s\n");
    let bash = |command: &str| Reply::new().tool("Bash", json!({"command": command}));
    world.server.replies([bash("echo 1 > a; rm -r sub; ls"), Reply::text("done")]);
    world.run(&stream_args("go")).ok();
    let log = world.logs().pop().unwrap().display().to_string();
    let elsewhere = world.home().join("elsewhere");
    fs_err::create_dir(&elsewhere).unwrap();
    let there = |args: &[&str]| {
        let output = world.command(args).current_dir(&elsewhere).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    world.server.replies([bash("echo 3 > b; ls; pwd"), Reply::text("done")]);
    there(&[&stream_args("there")[..], &["-r", &log]].concat());
    world.write("a", "mine\n");
    world.write("sub/x", "mine\n");
    fs_err::write(elsewhere.join("b"), "mine\n").unwrap();
    let said = there(&["replay", "latest"]);
    assert!(said.contains("no difference"), "{said}");
    let said = there(&["replay", "latest", "--live-tools"]);
    assert!(said.contains("2 calls run again: no difference"), "{said}");
    assert_eq!((world.read("a"), world.read("sub/x")), ("mine\n".into(), "mine\n".into()));
    assert_eq!(fs_err::read_to_string(elsewhere.join("b")).unwrap(), "mine\n");

    // Where neither the directory nor what it held is there any more, its calls are not run anywhere.
    let taken_along =
        world.logs().into_iter().map(|path| path.display().to_string()).find(|path| *path != log);
    fs_err::remove_dir_all(&elsewhere).unwrap();
    fs_err::remove_dir_all(world.config_dir().join("snapshots")).unwrap();
    let run = world.run(&["replay", &taken_along.unwrap(), "--live-tools"]);
    assert!(run.stdout.contains("of which there is no copy"), "{run:?}");
    assert!(!elsewhere.exists());
}

// REPL-01: nothing holds a recording's commands where the kernel does not.
#[test]
fn calls_are_not_run_again_on_a_kernel_that_confines_nothing() {
    let world = World::new().on(Kernel::ConfinesNothing);
    world.server.replies([Reply::new().tool("Bash", json!({"command": "ls"})), Reply::text("done")]);
    world.run(&stream_args("go")).ok();
    let run = world.run(&["replay", "latest", "--live-tools"]);
    assert_eq!(run.code(), 1, "{run:?}");
    assert!(run.stderr.contains("needs a kernel that can confine commands"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let world = World::new().file("empty/x", "");
    let complaint = |args: &[&str]| {
        let run = world.run(args);
        assert_eq!(run.code(), 1, "{run:?}");
        run.stderr
    };
    assert!(complaint(&["replay", "nothing"]).contains("no session begins with"));
    assert!(complaint(&["replay", "empty"]).contains("contains no recording"));
    let world = long_session();
    let dir = world.dir().display().to_string();
    let run = world.run(&["replay", "--export", &dir, "latest"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("is not empty"), "{}", run.stderr);
}
