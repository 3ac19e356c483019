//! `tiller sessions`: the sessions on this machine.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tiller_testkit::{Gate, Reply};

use crate::harness::{World, entries};
use crate::stream_input::PIXEL;

const ID: &str = "0f6a5b1e-2f7d-4d0c-9a53-6d1f7c3b2a11";
const OTHER: &str = "b7d3f1aa-1c5e-4e0f-8d39-2a6b9c8d7e22";

/// Two sessions, the second of which has changed a file.
fn two_sessions() -> World {
    let world = World::new().file("notes.txt", "one\n");
    world.server.reply(Reply::text("The Answer is 42."));
    world.run(&["-p", "what is the answer?", "--session-id", ID]).ok();
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": "echo two >> notes.txt; echo new > added.txt"})),
        Reply::text("done"),
    ]);
    let args = ["-p", "add a line\nto the notes", "--session-id", OTHER];
    world.run(&[&args[..], &["--permission-mode", "bypassPermissions"]].concat()).ok();
    world
}

fn json_of(world: &World, args: &[&str]) -> Value {
    serde_json::from_str(&world.run(args).ok().stdout).unwrap()
}

#[track_caller]
fn says(world: &World, args: &[&str], words: &[&str]) -> String {
    let run = world.run(args).ok();
    for word in words {
        assert!(run.stdout.contains(word), "{word:?} is missing: {}", run.stdout);
    }
    run.stdout
}

#[track_caller]
fn refuses(world: &World, args: &[&str], words: &[&str]) {
    let run = world.run(args);
    assert_eq!(run.code(), 1, "{run:#?}");
    for word in words {
        assert!(run.stderr.contains(word), "{word:?} is missing: {run:#?}");
    }
}

/// A session begins with this on standard input; then it is listed under a title like this and can be continued.
#[track_caller]
fn is_found(world: &World, args: &[&str], input: &str, title: &str) {
    world.server.replies([Reply::text("I see."), Reply::text("more")]);
    world.run_with_stdin(args, input).ok();
    let rows = json_of(world, &["sessions", "list", "--json"]);
    assert!(rows[0]["title"].as_str().is_some_and(|told| told.starts_with(title)), "{rows}");
    world.run(&["-p", "go on", "--continue"]).ok();
    assert_eq!(world.logs().len(), 1);
    world.server.assert_clean();
}

// LOG-07: however much was piped in.
#[test]
fn a_session_with_a_long_first_prompt_is_found() {
    let log = "2026-01-01 12:00:00 the same line of a log once more\n".repeat(7_000);
    is_found(&World::new(), &["-p", "look at this"], &log, "look at this");
}

// LOG-07: many tools and long instructions stand in the log before the first prompt.
#[test]
fn a_session_with_a_long_beginning_is_found() {
    let world = World::new().file("rules.md", &"Keep to this rule. ".repeat(20_000));
    is_found(&world, &["-p", "work", "--append-system-prompt-file", "rules.md"], "", "work");
}

// LOG-07: nothing was written, but something was said.
#[test]
fn a_session_that_begins_with_a_picture_is_found() {
    let image =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}});
    let frame = json!({"type": "user", "message": {"role": "user", "content": [image]}});
    let args = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    is_found(&World::new(), &args, &format!("{frame}\n"), "(image)");
}

#[test]
fn a_picture_is_named_in_an_exported_session() {
    let world = World::new();
    fs_err::write(world.path("dot.png"), crate::steering::PIXEL).unwrap();
    let read = Reply::new().tool("Read", json!({"file_path": world.path("dot.png")}));
    world.server.replies([read, Reply::text("A dot.")]);
    world.run(&["-p", "look", "--session-id", ID]).ok();
    says(&world, &["sessions", "export", ID], &["```\n(image)\n```", "A dot."]);
}

// LOG-07: a name stays, however much is said after it was given, and also if it is given anew.
#[test]
fn a_name_that_was_given_stays() {
    let world = World::new();
    let name = |title: &str| {
        let line = json!({"type": "custom-title", "customTitle": title, "sessionId": ID});
        let log = fs_err::read_to_string(&world.logs()[0]).unwrap();
        fs_err::write(&world.logs()[0], format!("{log}{line}\n")).unwrap();
    };
    let title = || json_of(&world, &["sessions", "list", "--json"])[0]["title"].clone();
    let long = || Reply::text("A long answer. ".repeat(3_000));
    world.server.replies([Reply::text("ok"), long(), long(), long()]);
    world.run(&["-p", "begin", "--session-id", ID]).ok();
    name("The great rewrite");
    for _ in 0..2 {
        world.run(&["-p", "go on", "--continue"]).ok();
        assert_eq!(title(), "The great rewrite");
    }
    name("The small repair");
    world.run(&["-p", "go on", "--continue"]).ok();
    assert_eq!(title(), "The small repair");
    world.run(&["sessions", "verify", ID]).ok();
    world.server.assert_clean();
}

// LOG-07: sessions are listed by their logs, the latest first.
#[test]
fn sessions_are_listed() {
    let world = two_sessions();
    let text = says(&world, &["sessions", "list"], &["what is the answer?", "add a line to the notes"]);
    assert!(text.find("add a line").unwrap() < text.find("what is").unwrap(), "{text}");
    let one = says(&world, &["sessions", "list", "--limit", "1"], &["there are more"]);
    assert!(!one.contains("what is"), "{one}");
    let rows = json_of(&world, &["sessions", "list", "--json"]);
    assert_eq!((&rows[0]["sessionId"], &rows[1]["sessionId"]), (&json!(OTHER), &json!(ID)));
    assert_eq!(rows[1]["title"], "what is the answer?");
    assert_eq!(rows[0]["cwd"], json!(world.dir()));
    assert_eq!(json_of(&world, &["sessions", "list", "--all", "--json"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_directory_without_sessions_says_so() {
    let world = World::new();
    says(&world, &["sessions", "list"], &["there are no sessions in this directory yet"]);
    assert_eq!(json_of(&world, &["sessions", "list", "--json"]), json!([]));
    refuses(&world, &["sessions", "show", "latest"], &["there is no session"]);
}

#[test]
fn a_session_is_shown_with_its_prompts() {
    let world = two_sessions();
    says(&world, &["sessions", "show", OTHER], &[OTHER, "prompts", "  1  ", "add a line to the notes"]);
    let shown = json_of(&world, &["sessions", "show", "latest", "--json"]);
    assert_eq!(shown["prompts"][0]["text"], "add a line\nto the notes");
    assert_eq!(shown["prompts"][0]["filesChangedSince"], true);
    assert_eq!(shown["damage"], json!([]));
    refuses(&world, &["sessions", "show", "ffff"], &["no session begins with \"ffff\"", "sessions list"]);
}

// LOG-03: what is not as it was written is found, line by line.
#[test]
fn logs_are_verified() {
    let world = two_sessions();
    says(&world, &["sessions", "verify"], &[ID, OTHER, "sound"]);
    let log = log_of(&world, ID);
    let sound = fs_err::read_to_string(&log).unwrap();
    let count = sound.lines().count();
    let check = |text: &str, damage: &[&str]| {
        fs_err::write(&log, text).unwrap();
        let run = world.run(&["sessions", "verify", ID]);
        assert_eq!(run.code(), 1, "{run:#?}");
        for word in damage {
            assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
        }
        let run = world.run(&["sessions", "verify", ID, "--json"]);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(document[0]["sound"], false);
    };
    check(
        &sound.replace("what is the answer?", "what is the ANSWER?"),
        &["was changed after it was written"],
    );
    check(sound.trim_end(), &["the last line is incomplete"]);
    let lines: Vec<&str> = sound.lines().collect();
    let without = |n: usize| [&lines[..n], &lines[n + 1..]].concat().join("\n") + "\n";
    check(&without(2), &["line 3 does not continue the line before it"]);
    check(&format!("{sound}{}\n", lines[1]), &[&format!("line {} repeats", count + 1)]);
    fs_err::write(&log, &sound).unwrap();
    world.run(&["sessions", "verify", ID]).ok();
}

#[test]
fn a_session_is_exported_for_people_and_programs() {
    let world = two_sessions();
    says(
        &world,
        &["sessions", "export", OTHER],
        &["# Session", "add a line\nto the notes", "**Bash**", "echo two", "done"],
    );
    let lines = world.run(&["sessions", "export", OTHER, "--json"]).ok().frames();
    let log = log_of(&world, OTHER);
    assert_eq!(lines.len(), entries(&log).len());
    let exported = world.command(&["sessions", "export", OTHER, "--json"]).current_dir("/").output().unwrap();
    let sound = fs_err::read_to_string(&log).unwrap();
    assert_eq!(String::from_utf8(exported.stdout).unwrap(), sound, "whoever exports it, these are its lines");
    let mut damaged: Vec<&str> = sound.lines().collect();
    let joined = damaged[2].to_owned() + damaged[3];
    damaged.splice(2..4, [joined.as_str()]);
    fs_err::write(&log, damaged.join("\n") + "\n").unwrap();
    let saved = world.run(&["sessions", "export", OTHER, "--json"]).ok().frames();
    assert_eq!(
        saved.iter().map(|line| &line["uuid"]).collect::<Vec<_>>(),
        lines.iter().map(|line| &line["uuid"]).collect::<Vec<_>>()
    );
    assert_eq!(saved[2]["cwd"], lines[2]["cwd"]);
    fs_err::write(&log, sound).unwrap();
    says(&world, &["sessions", "export", OTHER, "-o", "out.md"], &["out.md is written"]);
    assert!(world.read("out.md").contains("add a line"));
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs_err::metadata(world.path("out.md")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_was_said_is_found() {
    let world = two_sessions();
    let text =
        says(&world, &["sessions", "search", "the ANSWER is"], &[ID, "assistant", "The Answer is 42."]);
    assert!(!text.contains(OTHER), "{text}");
    let hits = json_of(&world, &["sessions", "search", "line\nto", "--json"]);
    assert_eq!((&hits[0]["sessionId"], &hits[0]["role"]), (&json!(OTHER), &json!("user")));
    // Results of calls and what Tiller added were not said by anybody.
    assert_eq!(json_of(&world, &["sessions", "search", "working directory", "--json"]), json!([]));
    refuses(&world, &["sessions", "search", " "], &["give a text to search for"]);
}

// UNDO-02: what a session changed, including what a command changed in files that nobody tracks.
#[test]
fn changes_of_a_session_are_shown() {
    let world = two_sessions();
    let text = says(&world, &["sessions", "diff", OTHER], &["added", "added.txt", "modified", "+two"]);
    assert!(!text.contains("-one"), "{text}");
    let changes = json_of(&world, &["sessions", "diff", OTHER, "--json"]);
    assert_eq!(changes[0]["change"], "added");
    assert_eq!(changes[1]["path"], json!(world.path("notes.txt")));
    // What was changed since then is not the session's.
    world.write("later.txt", "x");
    assert_eq!(json_of(&world, &["sessions", "diff", OTHER, "--json"]), changes);
    says(&world, &["sessions", "diff", ID], &["the session changed no files"]);
    refuses(&world, &["sessions", "diff", OTHER, "--from", "9"], &["there is no prompt \"9\""]);
}

#[test]
fn a_removed_session_leaves_nothing_behind() {
    let world = two_sessions();
    let snapshots = world.config_dir().join("snapshots");
    assert!(snapshots.is_dir());
    says(&world, &["sessions", "rm", OTHER, ID], &[OTHER, ID, "removed ", "freed"]);
    assert_eq!(world.logs(), Vec::<PathBuf>::new());
    let mut left = Vec::new();
    let mut dirs = vec![snapshots];
    while let Some(dir) = dirs.pop() {
        for entry in fs_err::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => left
                    .extend(path.extension().filter(|extension| *extension == "pack").map(|_| path.clone())),
            }
        }
    }
    assert_eq!(left, Vec::<PathBuf>::new());
    refuses(&world, &["sessions", "rm", OTHER], &["no session begins with"]);
}

// What is removed is gone: it has to be named.
#[test]
fn a_session_is_not_removed_by_no_name_or_by_a_few_letters() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "go", "--session-id", ID]).ok();
    refuses(&world, &["sessions", "rm", ""], &["named by its id"]);
    refuses(&world, &["sessions", "rm", &ID[..7]], &["at least 8 characters"]);
    refuses(&world, &["sessions", "show", " "], &["named by its id"]);
    refuses(&world, &["replay", ""], &["no recording"]);
    says(&world, &["sessions", "show", &ID[..1]], &["go"]);
    says(&world, &["sessions", "rm", &ID[..8]], &[ID, "removed "]);
}

/// The log of a session.
fn log_of(world: &World, id: &str) -> PathBuf {
    world.logs().into_iter().find(|log| log.to_str().unwrap().contains(id)).unwrap()
}

fn compress(log: &Path, options: &[&str]) -> PathBuf {
    let status = std::process::Command::new("gzip").args(options).arg(log).status().unwrap();
    assert!(status.success());
    log.with_extension("jsonl.gz")
}

// Of a log that was unpacked without the compressed one being removed both are there.
#[test]
fn a_removed_session_is_not_brought_back_by_its_compressed_log() {
    let world = two_sessions();
    let (log, other) = (log_of(&world, ID), log_of(&world, OTHER));
    let packed = compress(&log, &["--keep"]);
    let only_packed = compress(&other, &[]);
    assert!(log.exists() && packed.exists() && !other.exists());
    says(&world, &["sessions", "rm", ID, OTHER], &[ID, OTHER, "removed "]);
    for file in [log, packed, other, only_packed] {
        assert!(!file.exists(), "{} is still there", file.display());
    }
    says(&world, &["sessions", "list"], &["there are no sessions in this directory yet"]);
}

#[test]
fn looking_at_a_compressed_session_does_not_make_it_the_latest() {
    let world = two_sessions();
    let packed = compress(&log_of(&world, ID), &[]);
    let modified = |path: &Path| fs_err::metadata(path).unwrap().modified().unwrap();
    let before = modified(&packed);
    says(&world, &["sessions", "show", ID], &["what is the answer?"]);
    assert_eq!(modified(&log_of(&world, ID)), before);
    assert_eq!(json_of(&world, &["sessions", "show", "latest", "--json"])["sessionId"], OTHER);
    assert_eq!(json_of(&world, &["sessions", "list", "--json"])[1]["sessionId"], ID);
}

// LOG-03: what of a compressed log cannot be unpacked is said, and the others are looked at all the same.
#[test]
fn a_damaged_compressed_log_is_reported_and_stops_nobody() {
    let world = two_sessions();
    let packed = compress(&log_of(&world, ID), &[]);
    let sound = fs_err::read(&packed).unwrap();
    let mut flipped = sound.clone();
    flipped[sound.len() / 2] ^= 0x10;
    let mut headless = sound.clone();
    headless[..4].fill(b'x');
    for damaged in [&sound[..sound.len() / 2], &sound[..sound.len() - 4], &flipped, &headless] {
        fs_err::write(&packed, damaged).unwrap();
        let run = world.run(&["sessions", "verify"]);
        assert_eq!(run.code(), 1, "{run:#?}");
        let line = |id: &str| run.stdout.lines().find(|line| line.starts_with(id)).unwrap().to_owned();
        assert!(line(ID).contains("damaged") && line(OTHER).contains("sound"), "{}", run.stdout);
        assert!(run.stdout.contains("cannot be unpacked"), "{}", run.stdout);
        let run = world.run(&["sessions", "verify", "--json"]);
        assert_eq!(serde_json::from_str::<Value>(&run.stdout).unwrap().as_array().unwrap().len(), 2);
        says(&world, &["sessions", "search", "line\nto"], &[OTHER]);
    }
    // Snapshots of the other session are let go of although nobody knows what this one refers to.
    let run = world.run(&["sessions", "rm", OTHER]).ok();
    assert!(run.stderr.is_empty(), "{}", run.stderr);
}

// LOG-06
#[test]
fn a_session_in_use_is_neither_removed_nor_rewound() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("slow").gate_headers(&gate));
    let live = world.start(&["-p", "wait", "--session-id", ID, "--output-format", "json"]);
    world.server.wait_for_requests(1);
    refuses(&world, &["sessions", "rm", ID], &["in use"]);
    let copy = format!("tiller --resume {ID} --fork-session");
    refuses(&world, &["rewind", ID, "--to", "1"], &["in use", &copy]);
    gate.open();
    live.finish();
}

// LOG-07 UNDO-02: logs of directories whose paths differ only in such characters lie in the same place.
#[test]
fn sessions_of_a_directory_with_the_same_key_are_not_of_this_one() {
    let world = World::new();
    let [one, other] = ["a-b", "a.b"].map(|name| world.path(name));
    let run_in = |dir: &Path, args: &[&str]| {
        let output = world.command(args).current_dir(dir).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    [&one, &other].iter().for_each(|dir| fs_err::create_dir(dir).unwrap());
    world.server.replies([
        Reply::new().tool("Bash", json!({"command": "echo mine > file"})),
        Reply::text("done"),
        Reply::text("another one"),
    ]);
    let begun = run_in(&one, &["-p", "write it", "--permission-mode", "bypassPermissions"]);
    assert!(begun.0, "{}", begun.1);
    assert!(run_in(&other, &["sessions", "list"]).1.contains("there are no sessions"));
    for args in
        [&["rewind", "latest", "--to", "1"][..], &["sessions", "rm", "latest"], &["-c", "-p", "go on"]]
    {
        let (success, text) = run_in(&other, args);
        let fresh = args[0] == "-c"
            && !world.server.messages().last().unwrap().body().to_string().contains("write it");
        assert!(!success || fresh, "{args:?}: {text}");
    }
    assert_eq!(world.read("a-b/file"), "mine\n");
    assert!(run_in(&one, &["sessions", "list"]).1.contains("write it"));
    assert!(run_in(&one, &["rewind", "latest", "--to", "1"]).0);
    assert!(!world.path("a-b/file").exists());
}

// LOG-03 LOG-07: one damaged byte does not make a session vanish.
#[test]
fn a_session_whose_only_prompt_is_damaged_is_found() {
    let world = World::new();
    world.server.replies([Reply::text("an answer"), Reply::text("more")]);
    world.run(&["-p", "the only prompt"]).ok();
    let log = world.logs().pop().unwrap();
    let mut bytes = fs_err::read(&log).unwrap();
    let at = bytes.windows(15).position(|window| window == b"the only prompt").unwrap();
    bytes[at + 4] = 0xff;
    fs_err::write(&log, bytes).unwrap();
    says(&world, &["sessions", "list"], &["(first prompt is damaged)"]);
    world.run(&["-c", "-p", "go on"]).ok();
    assert_eq!(world.logs(), [log]);
}
