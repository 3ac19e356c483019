//! Going on with an earlier session.

use std::io::Write;

use serde_json::{Value, json};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, blocks_of, entries};

const ID: &str = "0f6a5b1e-2f7d-4d0c-9a53-6d1f7c3b2a11";
const OTHER: &str = "b7d3f1aa-1c5e-4e0f-8d39-2a6b9c8d7e22";

/// A world with one finished session in which a number was mentioned.
fn remembered() -> World {
    let world = World::new();
    world.server.reply(Reply::new().thinking("Seven.").and_text("noted"));
    world.run(&["-p", "remember the number 7", "--session-id", ID]).ok();
    world
}

fn last_request(world: &World) -> Value {
    world.server.messages().pop().unwrap().body().clone()
}

#[track_caller]
fn refused(world: &World, args: &[&str], words: &[&str]) {
    let run = world.run(args);
    assert_eq!(run.code(), 1, "{run:#?}");
    assert_eq!(run.stdout, "");
    for word in words {
        assert!(run.stderr.contains(word), "{word}: {run:#?}");
    }
}

#[test]
fn all_ways_of_going_on_know_what_was_said() {
    for args in [
        &["--resume", ID][..],
        &["--resume"],
        &["--continue"],
        &["-c"],
        &["-r", ID],
        &[&format!("--resume={ID}")],
    ] {
        let world = remembered();
        world.server.reply(Reply::text("7"));
        let run = world.run(&[args, &["-p", "which number?", "--output-format", "json"]].concat()).ok();
        assert_eq!(run.frames()[0]["session_id"], ID, "{args:?}");
        let request = last_request(&world);
        assert!(request["messages"].to_string().contains("remember the number 7"), "{args:?}");
        assert_eq!(world.logs().len(), 1);
        world.server.assert_clean();
    }
}

#[test]
fn a_fork_leaves_the_original_alone() {
    let world = remembered();
    let before = fs_err::read(&world.logs()[0]).unwrap();
    world.server.replies([Reply::text("7"), Reply::text("7")]);
    let fork = ["-p", "which number?", "--output-format", "json", "--fork-session"];
    let run = world.run(&[&fork[..], &["--resume", ID, "--session-id", OTHER]].concat()).ok();
    assert_eq!(run.frames()[0]["session_id"], OTHER);
    let run = world.run(&[&fork[..], &["--continue"]].concat()).ok();
    assert!(run.frames()[0]["session_id"] != ID && run.frames()[0]["session_id"] != OTHER);
    assert_eq!(world.logs().len(), 3);
    let original = world.logs().into_iter().find(|log| log.ends_with(format!("{ID}.jsonl"))).unwrap();
    assert_eq!(fs_err::read(original).unwrap(), before);
    assert!(last_request(&world)["messages"].to_string().contains("remember the number 7"));
    world.server.assert_clean();
}

// The server refuses thinking whose conversation has changed; here nothing has.
#[test]
fn thinking_survives_a_resume() {
    let world = remembered();
    world.server.reply(Reply::text("7"));
    world.run(&["--resume", ID, "-p", "which number?"]).ok();
    let thinking = blocks_of(&last_request(&world), "thinking");
    assert_eq!(thinking.len(), 1);
    assert!(!thinking[0]["signature"].as_str().unwrap().is_empty());
    let [first, second] = world.server.messages().try_into().unwrap();
    assert_eq!(first.body()["system"], second.body()["system"]);
    assert_eq!(first.body()["tools"], second.body()["tools"]);
    world.server.assert_clean();
}

// A changed prompt begins a new epoch, which carries no thinking of the old one.
#[test]
fn another_prompt_is_a_new_epoch() {
    let world = remembered();
    world.server.reply(Reply::text("7"));
    world.run(&["--resume", ID, "-p", "which number?", "--append-system-prompt", "Be brief."]).ok();
    assert_eq!(blocks_of(&last_request(&world), "thinking"), Vec::<Value>::new());
    let epochs = entries(&world.logs()[0]).into_iter().filter(|entry| entry["type"] == "epoch").count();
    assert_eq!(epochs, 2);
    world.server.assert_clean();
}

#[test]
fn the_beginning_of_an_id_is_enough_if_it_is_the_only_one() {
    let world = remembered();
    world.server.replies([Reply::text("7"), Reply::text("noted")]);
    let run = world.run(&["--resume", &ID[..13], "-p", "which?", "--output-format", "json"]).ok();
    assert_eq!(run.frames()[0]["session_id"], ID);
    let alike = "0f6a5b1e-0000-4d0c-9a53-6d1f7c3b2a11";
    world.run(&["-p", "remember the number 8", "--session-id", alike]).ok();
    refused(&world, &["--resume", &ID[..8], "-p", "which?"], &["several sessions", ID, alike]);
    world.server.assert_clean();
}

#[test]
fn a_session_of_another_directory_is_named_with_it() {
    let world = remembered();
    let elsewhere = world.home().join("elsewhere");
    fs_err::create_dir(&elsewhere).unwrap();
    let output = world.command(&["--resume", ID, "-p", "which?"]).current_dir(&elsewhere).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let log = world.logs()[0].display().to_string();
    for word in [format!("belongs to {}", world.dir().display()), format!("--resume {log}")] {
        assert!(said.contains(&word), "{said}");
    }
}

// SECR-02: what a log is copied to is the user's alone, also if it is the first that is kept.
#[test]
fn taking_a_log_along_makes_private_directories() {
    let world = remembered();
    let log = world.home().join("from-elsewhere.jsonl");
    fs_err::rename(&world.logs()[0], &log).unwrap();
    fs_err::remove_dir_all(world.config_dir()).unwrap();
    world.server.reply(Reply::text("7"));
    world.run(&["--resume", log.to_str().unwrap(), "-p", "which?"]).ok();
    let projects = world.config_dir().join("projects");
    let copy = world.logs().remove(0);
    for dir in [&world.config_dir(), &projects, copy.parent().unwrap()] {
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs_err::metadata(dir).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700, "{}", dir.display());
    }
}

fn compress(file: &std::path::Path) {
    let status = std::process::Command::new("gzip").arg(file).status().unwrap();
    assert!(status.success());
}

// SESS-03
#[test]
fn a_compressed_log_and_one_from_elsewhere_are_gone_on_with() {
    let world = remembered();
    let log = world.logs().remove(0);
    compress(&log);
    let packed = log.with_extension("jsonl.gz");
    assert!(packed.exists() && !log.exists());
    assert!(world.run(&["sessions", "list"]).ok().stdout.contains("remember the number 7"));
    assert!(world.run(&["sessions", "search", "NUMBER 7"]).ok().stdout.contains("number 7"));
    assert!(world.run(&["sessions", "verify"]).ok().stdout.contains("sound"));
    assert!(packed.exists(), "looking changes nothing");

    world.server.replies([Reply::text("7"), Reply::text("7")]);
    let which = |start: &[&str]| {
        let run = world.run(&[start, &["-p", "which number?", "--output-format", "json"]].concat()).ok();
        assert_eq!(run.frames()[0]["session_id"], ID);
        assert!(last_request(&world)["messages"].to_string().contains("remember the number 7"));
    };
    which(&["--continue"]);
    assert!(log.exists() && !packed.exists());

    // Whatever it is called: the lines tell which session it is.
    let elsewhere = world.path("a-copy.jsonl");
    fs_err::copy(&log, &elsewhere).unwrap();
    compress(&elsewhere);
    refused(&world, &["--resume", "a-copy.jsonl.gz", "-p", "x"], &[ID, "exists already"]);
    fs_err::remove_file(&log).unwrap();
    which(&["--resume", "a-copy.jsonl.gz"]);
    assert!(log.exists() && world.path("a-copy.jsonl.gz").exists());
    fs_err::write(world.path("empty.jsonl"), "{}\n").unwrap();
    refused(&world, &["--resume", "empty.jsonl", "-p", "x"], &["empty.jsonl", "holds no session"]);
    world.server.assert_clean();
}

/// Everything below a directory.
fn files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs_err::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

// Where nothing is kept, nothing is copied or unpacked either.
#[test]
fn a_log_is_gone_on_from_without_writing_anything() {
    let world = remembered();
    let log = world.logs().remove(0);
    for name in ["plain.jsonl", "packed.jsonl"] {
        fs_err::copy(&log, world.path(name)).unwrap();
    }
    compress(&world.path("packed.jsonl"));
    compress(&log);
    let (config, project) = (files(&world.config_dir().join("projects")), files(&world.dir()));
    let which = |start: &[&str]| {
        world.server.reply(Reply::text("7"));
        let args = ["-p", "which number?", "--output-format", "json", "--no-session-persistence"];
        let run = world.run(&[&args[..], start].concat()).ok();
        assert!(last_request(&world)["messages"].to_string().contains("remember the number 7"), "{start:?}");
        assert_eq!(files(&world.config_dir().join("projects")), config, "{start:?}");
        assert_eq!(files(&world.dir()), project, "{start:?}");
        run.frames()[0]["session_id"].clone()
    };
    for start in ["plain.jsonl", "packed.jsonl.gz", ID] {
        assert_eq!(which(&["--resume", start]), ID);
        assert_eq!(which(&["--resume", start, "--fork-session", "--session-id", OTHER]), OTHER);
        assert!(![json!(ID), json!(OTHER)].contains(&which(&["--resume", start, "--fork-session"])));
    }
    assert_eq!(which(&["--continue"]), ID);
    world.server.assert_clean();
}

#[test]
fn what_cannot_be_resumed_is_said() {
    let world = remembered();
    refused(&world, &["--resume", OTHER, "-p", "x"], &[OTHER, "no session"]);
    refused(&world, &["--resume", "7", "-p", "x"], &["--resume", "no session begins with \"7\""]);
    refused(&world, &["--session-id", "7", "-p", "x"], &["--session-id", "7"]);
    refused(&world, &["--session-id", ID, "-p", "x"], &["exists already", "--resume"]);
    refused(&world, &["--fork-session", "-p", "x"], &["--fork-session needs --resume or --continue"]);
    refused(&world, &["--resume", ID, "--session-id", OTHER, "-p", "x"], &["needs --fork-session"]);
    let empty = World::new();
    refused(&empty, &["--continue", "-p", "x"], &["no session to continue"]);
    refused(&empty, &["--resume", "-p", "x"], &["no session to continue"]);
    world.server.assert_clean();
}

// HEAD-03: a host gets a result even if the session never began.
#[test]
fn an_unknown_session_is_a_result_for_hosts() {
    let world = World::new();
    let end = world.talk(&["--resume", OTHER]).finish();
    let (result, code) = end.result();
    assert_eq!((end.frames.len(), code), (1, 1));
    assert_eq!(result["subtype"], "error_during_execution");
    assert_eq!(result["is_error"], true);
    assert!(result["errors"][0].as_str().unwrap().contains(OTHER));
    assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
    let run = world.run(&["-p", "x", "--resume", OTHER, "--output-format", "json"]);
    assert_eq!((run.frames().len(), run.code()), (1, 1));
    world.server.assert_clean();
}

// Planning goes on; a mode that allows more has to be chosen again.
#[test]
fn plan_mode_is_restored_and_looser_modes_are_not() {
    for (mode, restored) in [
        ("plan", "plan"),
        ("acceptEdits", "default"),
        ("bypassPermissions", "default"),
        ("dontAsk", "default"),
    ] {
        let world = World::new();
        world.server.replies([Reply::text("a"), Reply::text("b"), Reply::text("c")]);
        world.run(&["-p", "x", "--permission-mode", mode]).ok();
        let resume = ["-p", "y", "--continue", "--output-format", "stream-json"];
        assert_eq!(world.run(&resume).ok().frames()[0]["permissionMode"], restored, "{mode}");
        let chosen = world.run(&[&resume[..], &["--permission-mode", "acceptEdits"]].concat()).ok();
        assert_eq!(chosen.frames()[0]["permissionMode"], "acceptEdits", "{mode}");
        world.server.assert_clean();
    }
}

#[test]
fn a_torn_last_line_is_cut_off_with_a_notice() {
    let world = remembered();
    let log = world.logs().remove(0);
    let sound = fs_err::read_to_string(&log).unwrap();
    let mut file = fs_err::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(br#"{"type":"user","message":{"con"#).unwrap();
    world.server.reply(Reply::text("7"));
    let run = world.run(&["--resume", ID, "-p", "which number?"]).ok();
    assert!(run.stderr.contains("the last record was incomplete (30 bytes)"), "{}", run.stderr);
    let mended = fs_err::read_to_string(&log).unwrap();
    assert!(mended.starts_with(&sound));
    assert!(entries(&log).len() > sound.lines().count());
    world.server.assert_clean();
}

#[test]
fn a_session_in_use_is_refused_and_can_be_forked() {
    let world = remembered();
    let gate = Gate::new();
    world.server.replies([Reply::text("slow").gate(&gate), Reply::text("fork")]);
    let live = world.start(&["--resume", ID, "-p", "take your time", "--output-format", "stream-json"]);
    gate.wait_reached();
    refused(&world, &["--resume", ID, "-p", "me too"], &["in use", "--fork-session"]);
    let fork = world.run(&["--resume", ID, "--fork-session", "-p", "me too"]).ok();
    assert_eq!(fork.stdout, "fork\n");
    gate.open();
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// The model that took over for a while is not the model of the next run.
#[test]
fn each_run_uses_and_names_its_own_model() {
    let world = World::new();
    let overloaded = || Reply::status(529, "overloaded_error", "busy");
    world.server.replies([overloaded(), overloaded(), overloaded(), Reply::text("a"), Reply::text("b")]);
    world.run(&["-p", "x", "--fallback-model", "haiku"]).ok();
    let frames = world.run(&["-p", "y", "--continue", "--output-format", "stream-json"]).ok().frames();
    assert_eq!(frames[0]["model"], "claude-sonnet-5-5");
    assert_eq!(last_request(&world)["model"], "claude-sonnet-5-5");
    world.server.assert_clean();
}

// LOG-04: a disk without room ends the run with a result; later the session goes on.
#[test]
fn a_full_disk_loses_nothing_that_was_written() {
    let world = remembered();
    let room = fs_err::metadata(&world.logs()[0]).unwrap().len().div_ceil(1024) + 8;
    world.server.reply(Reply::new().tool("Bash", json!({"command": "seq 5000; echo ran >> ran"})));
    let tiller = world.command(&[
        "--resume",
        ID,
        "-p",
        "count",
        "--output-format",
        "json",
        "--permission-mode",
        "bypassPermissions",
    ]);
    let words: Vec<_> = tiller.get_args().map(|word| word.to_str().unwrap().to_owned()).collect();
    let mut limited = world.command(&[]);
    let script = format!("trap '' XFSZ; ulimit -f {room}; exec \"$0\" \"$@\"");
    let vars: Vec<_> =
        limited.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned())).collect();
    limited = std::process::Command::new("bash");
    limited
        .args(["-c", &script])
        .arg(tiller.get_program())
        .args(words)
        .env_clear()
        .envs(vars)
        .current_dir(world.dir());
    let output = limited.stdin(std::process::Stdio::null()).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (result["type"].as_str(), result["is_error"].as_bool()),
        (Some("result"), Some(true)),
        "{result:#}"
    );
    assert!(result["errors"][0].as_str().unwrap().contains("log could not be used"), "{result:#}");
    assert_eq!(output.status.code(), Some(1));
    world.server.reply(Reply::text("I see"));
    world.run(&["--resume", ID, "-p", "go on"]).ok();
    assert!(last_request(&world)["messages"].to_string().contains("remember the number 7"));
    assert_eq!(world.read("ran"), "ran\n");
    world.server.assert_clean();
}

// LOG-04: where nothing can be written, that is said, with what helps.
#[test]
fn an_unusable_directory_is_said() {
    let world = World::new().file("config/projects", "not a directory").var("TILLER_CONFIG_DIR", "config");
    refused(&world, &["-p", "x"], &["the session log could not be used", "--no-session-persistence"]);
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "x", "--no-session-persistence"]).ok();
    world.server.assert_clean();
}

// STEER-56 STEER-58 STEER-66: a conversation of another program goes on, with the files that were seen in it.
#[test]
fn a_transcript_of_another_program_goes_on() {
    let world = World::new().file("seen.txt", "one\n").file("other.txt", "one\n");
    let line = |kind: &str, uuid: u32, message: Value| {
        json!({"type": kind, "uuid": format!("00000000-0000-4000-8000-{uuid:012}"), "sessionId": ID,
            "timestamp": "2026-03-07T10:00:00Z", "message": message})
    };
    let said = |text: &str| json!({"role": "user", "content": text});
    let answer = |id: &str, block: Value| {
        json!({"id": id, "role": "assistant", "model": "m", "content": [
            {"type": "thinking", "thinking": "of another", "signature": "x"}, block]})
    };
    let call = json!({"type": "tool_use", "id": "r1", "name": "Read", "input": {"file_path": "seen.txt"}});
    let shown = json!({"type": "tool_result", "tool_use_id": "r1", "content": "     1→one\n\n<system-reminder>x</system-reminder>"});
    let lines = [
        json!({"type": "summary", "summary": "a title", "sessionId": ID}),
        line("user", 1, said("read it")),
        line("assistant", 2, answer("a", call)),
        line("user", 3, json!({"role": "user", "content": [shown]})),
        line("assistant", 4, answer("b", json!({"type": "text", "text": "it says one"}))),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.write("theirs.jsonl", &text);
    let edit = |id: &str, file: &str| {
        Reply::new().tool_with_id(
            id,
            "Edit",
            json!({"file_path": file, "old_string": "one", "new_string": "two"}),
        )
    };
    world.server.replies([edit("e1", "seen.txt"), edit("e2", "other.txt"), Reply::text("done")]);
    world.run(&["--resume", "theirs.jsonl", "-p", "change them", "--permission-mode", "acceptEdits"]).ok();
    let first = world.server.messages()[0].body()["messages"].to_string();
    for part in ["read it", "it says one", "1→one", "change them"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    assert!(!first.contains("of another"), "reasoning cannot be taken over: {first}");
    assert_eq!(fs_err::read_to_string(world.path("seen.txt")).unwrap(), "two\n");
    assert_eq!(fs_err::read_to_string(world.path("other.txt")).unwrap(), "one\n", "this one was not seen");
    world.server.assert_clean();
    world.run(&["sessions", "verify", ID]).ok();
}
