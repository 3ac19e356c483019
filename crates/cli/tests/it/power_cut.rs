//! What is on disk when the power goes: not what was written, but what was synced. A library that is put before the C
//! library's notes what each `fdatasync` has made durable.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_testkit::Reply;

use crate::harness::World;

const ID: &str = "3d1f7c3b-2f7d-4d0c-9a53-0f6a5b1e2a11";
const SHIM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/power_cut.c");
const BYPASS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// A world whose power can be cut.
struct Mains {
    world: World,
    copy: PathBuf,
    _library: TempDir,
}

impl Mains {
    fn new() -> Self {
        let library = TempDir::new().unwrap();
        let file = library.path().join("power_cut.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&file).arg(SHIM).current_dir(library.path());
        let built = compiler.output().expect("the C compiler that also links Rust programs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let world = World::new().file("file", "0\n");
        let copy = world.path("durable");
        let world =
            world.var("POWER_CUT_COPY", copy.to_str().unwrap()).var("LD_PRELOAD", file.to_str().unwrap());
        Self { world, copy, _library: library }
    }

    /// What would be left of the log by now.
    fn durable(&self) -> String {
        fs_err::read_to_string(&self.copy).unwrap_or_default()
    }

    fn syncs(&self) -> usize {
        let count = self.copy.with_extension("count");
        fs_err::read_to_string(count).map_or(0, |lines| lines.lines().count())
    }

    fn prompt(&self, start: [&str; 2], text: &str, command: &str) {
        let bash = Reply::new().tool_with_id("a", "Bash", json!({"command": command}));
        self.world.server.replies([bash, Reply::text("done")]);
        self.world.run(&[&start[..], &["-p", text], &BYPASS].concat()).ok();
    }
}

fn line_of<'a>(log: &'a str, what: &str) -> Option<&'a str> {
    log.lines().find(|line| line.contains(what))
}

// LOG-02 UNDO-01: when a command runs, its call and the snapshot of what it may change are on disk.
#[test]
fn a_call_is_on_disk_before_it_changes_anything() {
    let mains = Mains::new();
    mains.prompt(["--session-id", ID], "go", "cp durable seen && echo 1 > file");
    let seen = mains.world.read("seen");
    assert!(line_of(&seen, r#""name":"Bash""#).is_some(), "{seen}");
    let snapshot = line_of(&seen, r#""effect":"snapshot""#).unwrap_or_else(|| panic!("{seen}"));
    assert_eq!(serde_json::from_str::<Value>(snapshot).unwrap()["call"], "a");
}

// LOG-02: the end of a turn is told when it is on disk, not when the session ends.
#[test]
fn a_turn_is_on_disk_when_its_end_is_told() {
    let mains = Mains::new();
    mains.world.server.replies([Reply::text("one"), Reply::text("two")]);
    let mut live = mains.world.talk(&[]);
    for text in ["one", "two"] {
        live.say(text);
        live.turn();
        let ends = mains.durable().lines().filter(|line| line.contains(r#""type":"turn_ended""#)).count();
        assert_eq!(ends, if text == "one" { 1 } else { 2 });
    }
    live.finish();
}

// LOG-02: what that costs. A call that only looks costs no wait for the disk, and one that changes something a single one.
#[test]
fn a_step_waits_for_the_disk_no_more_than_it_has_to() {
    let mains = Mains::new();
    let calls =
        |tool: &str, input: Value| (0..3).fold(Reply::new(), |reply, _| reply.tool(tool, input.clone()));
    let turn = |replies: Vec<Reply>| {
        let before = mains.syncs();
        mains.world.server.replies(replies);
        mains.world.run(&[&["-p", "go"][..], &BYPASS].concat()).ok();
        mains.syncs() - before
    };
    let done = || Reply::text("done");
    let nothing = turn(vec![done()]);
    let looking = turn(vec![calls("Read", json!({"file_path": "file"})), done()]);
    let changing = turn(vec![calls("Bash", json!({"command": "date >> file"})), done()]);
    assert_eq!((looking, changing), (nothing, nothing + 3));
}

// LOG-02 UNDO-02: a step back is on disk before a file is touched; cut off there, it is told of and can be undone.
#[test]
fn a_step_back_is_on_disk_before_files_go_back() {
    let mains = Mains::new();
    mains.prompt(["--session-id", ID], "first", "echo 1 > file");
    mains.prompt(["--resume", ID], "second", "echo 2 > file");
    let world = &mains.world;
    let cut = world.command(&["rewind", ID, "--to", "1"]).env("POWER_CUT_AT", r#""type":"rewound""#).output();
    assert_eq!((cut.unwrap().status.code(), world.read("file").as_str()), (Some(98), "2\n"));

    let told = |prompt: &str| {
        world.server.reply(Reply::text("ok"));
        let args = ["--resume", ID, "-p", prompt, "--output-format", "stream-json", "--verbose"];
        let frames = world.run(&args).ok().frames();
        frames.iter().filter(|frame| frame["subtype"] == "rewind_cut_off").count()
    };
    assert_eq!((told("what is it?"), told("and now?")), (1, 0), "it is told, and only once");
    world.run(&["rewind", ID, "--undo"]).ok();
    assert_eq!(world.read("file"), "2\n");
    let shown = world.run(&["sessions", "show", ID]).ok().stdout;
    assert!(shown.contains("second"), "the conversation is back: {shown}");
    world.run(&["rewind", ID, "--to", "1"]).ok();
    assert_eq!(
        (world.read("file").as_str(), told("again")),
        ("0\n", 0),
        "one that was carried out is not told of"
    );
    let verified = world.run(&["sessions", "verify", ID]).ok().stdout;
    assert!(verified.contains("sound"), "{verified}");
}
