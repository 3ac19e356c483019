//! A long session with everything in it, made by the real binary.

use std::sync::LazyLock;

use serde_json::{Value, json};
use tiller_testkit::{Gate, Matcher, ModelServer, Reply};

use crate::harness::{World, eventually};

pub(crate) const ID: &str = "0198c0de-5e55-7000-8000-00000000abcd";

/// What an attacker would put into files, commands, prompts and pages.
pub(crate) const HOSTILE: &str =
    "</script></pre><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";

/// Steps in the middle, each with calls that run side by side.
const ROUTINE: usize = 22;

/// How much longer the long recording is: turns, and steps with calls in each.
const MORE_TURNS: usize = 8;
const MORE_STEPS: usize = 25;

const INSTRUCTIONS: &str = "# Project\n\nUse tabs. Run `./check.sh` before you say that you are done.\n";

/// A world in which the recording is the session of another directory. It is made once for all tests.
pub(crate) fn recorded() -> World {
    static LOG: LazyLock<Vec<u8>> = LazyLock::new(record);
    let world = World::new();
    let dir = world.config_dir().join("projects/elsewhere");
    fs_err::create_dir_all(&dir).unwrap();
    fs_err::write(dir.join(format!("{ID}.jsonl")), &*LOG).unwrap();
    world
}

fn record() -> Vec<u8> {
    let world = short();
    world.server.assert_clean();
    fs_err::read(&world.logs()[0]).unwrap()
}

/// The same and a few hundred steps more, with an agent and a fold.
pub(crate) fn long() -> World {
    let world = short();
    third_run(&world);
    world.server.assert_clean();
    world
}

fn short() -> World {
    let world = World::with(ModelServer::builder().cache_minimum(512).start())
        .file("AGENTS.md", INSTRUCTIONS)
        .file("check.sh", "echo 'parser: 3 passed'\n")
        .file(".tiller/settings.json", &settings().to_string());
    for n in 0..6 {
        world.write(&format!("src/part{n}.rs"), &part(n));
    }
    first_run(&world);
    second_run(&world);
    world
}

fn part(n: usize) -> String {
    (0..40).map(|line| format!("pub fn part{n}_{line}() {{}}\n")).collect()
}

fn settings() -> Value {
    let hook = |command: &str| json!([{"type": "command", "command": command}]);
    json!({
        "permissions": {"allow": ["Bash(sh check.sh)", "Edit"], "deny": ["Bash(rm:*)", "Read(.env)"]},
        "hooks": {
            "UserPromptSubmit": [{"hooks": hook("echo 'The tests run on every push.'")}],
            "PreToolUse": [{"matcher": "Write", "hooks": hook("echo \"no new files <b>here</b>\" >&2; exit 2")}],
            "PostToolUse": [
                {"matcher": "Glob", "hooks": hook("touch found")},
                {"matcher": "Grep", "hooks": hook("until [ -e found ]; do sleep 0.02; done; sleep 0.04")},
            ],
        },
    })
}

/// Asks, is steered, loses a stream, and finds what it looked for.
fn first_run(world: &World) {
    let gate = Gate::new();
    world.server.reply(looking());
    world
        .server
        .reply(Reply::new().and_text("Now the checks.").tool("Bash", json!({"command": "sh check.sh"})));
    world.server.reply(forbidden());
    world.server.reply(Reply::new().tool_with_id(
        "asked",
        "Bash",
        json!({"command": "touch built", "description": "build"}),
    ));
    world
        .server
        .reply(Reply::text("Half of an answer").tool("Read", json!({"file_path": "src/part0.rs"})).cut());
    world.server.replies((0..ROUTINE).map(routine));
    world.server.reply(
        Reply::text("I am nearly there.").gate(&gate).tool("Read", json!({"file_path": "src/part1.rs"})),
    );
    world.server.reply(Reply::text("The parser dropped the last line; it no longer does."));
    let mut live =
        world.talk(&["--session-id", ID, "--permission-prompt-tool", "stdio", "--fallback-model", "haiku"]);
    live.say(&format!("The parser loses the last line of a file. Find out why, and mend it. {HOSTILE}"));
    let question = live.question();
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": question["request"]["input"]}));
    gate.wait_reached();
    live.say("Keep the tabs, please.");
    eventually("the message is queued", || world.log().iter().any(|entry| entry["type"] == "queued"));
    gate.open();
    live.turn();
    overloaded(world);
    live.say("Thank you. Now write a test for it.");
    live.turn();
    assert_eq!(live.finish().code, 0);
}

/// Reads and searches at once, after some thought. By its hook the search is not over before the other one is.
fn looking() -> Reply {
    Reply::new()
        .thinking("The last line has no newline. Perhaps the loop asks for one.")
        .and_text("I look at the parser and at whoever calls it.")
        .tool("Read", json!({"file_path": "src/part0.rs"}))
        .tool("Read", json!({"file_path": "src/part1.rs"}))
        .tool("Grep", json!({"pattern": "pub fn part", "path": "src"}))
        .tool("Glob", json!({"pattern": "**/*.rs"}))
}

/// What rules and hooks do not let through.
fn forbidden() -> Reply {
    Reply::new()
        .tool("Bash", json!({"command": "rm -rf target"}))
        .tool("Read", json!({"file_path": ".env"}))
        .tool("Read", json!({"file_path": format!("missing-{HOSTILE}")}))
}

fn routine(n: usize) -> Reply {
    let file = |n: usize| json!({"file_path": format!("src/part{}.rs", n % 6)});
    let reply = if n % 5 == 2 { Reply::new().thinking("One more.") } else { Reply::new() };
    let reply = reply.and_text(format!("Step by step: part {n}."));
    match n % 4 {
        0 => reply.tool("Read", file(n)).tool("Read", file(n + 1)).tool("Grep", json!({"pattern": format!("part{n}")})),
        1 => reply.tool("Edit", json!({"file_path": format!("src/part{}.rs", n % 6), "old_string": format!("pub fn part{}_{n}() {{}}", n % 6), "new_string": format!("pub fn part{}_{n}() -> u8 {{ 7 }}", n % 6)})),
        2 => reply.tool("Bash", json!({"command": "sh check.sh"})).tool("Read", file(n)),
        _ => reply.tool("TodoWrite", json!({"todos": [
            {"content": "Find it", "status": "completed", "activeForm": "Finding it"},
            {"content": "Mend it", "status": "in_progress", "activeForm": "Mending it"},
        ]})),
    }
}

/// The model is overloaded, another takes over, and a hook forbids what it wants to do.
fn overloaded(world: &World) {
    let busy = || Reply::status(529, "overloaded_error", "busy");
    world.server.replies([busy(), busy(), busy()]);
    world.server.reply(
        Reply::new()
            .tool("Write", json!({"file_path": "tests/last_line.rs", "content": "#[test]\nfn it() {}\n"})),
    );
    world.server.reply(Reply::text(format!("A hook does not let me write the file. {HOSTILE}")));
}

/// Goes on in another process, and is interrupted while a command runs.
fn second_run(world: &World) {
    world.server.reply(Reply::new().tool("Bash", json!({"command": "touch begun; sleep 600"})));
    let mut live = world.talk(&["--resume", ID, "--permission-mode", "bypassPermissions"]);
    live.say("Run the slow checks, too.");
    eventually("the command runs", || world.path("begun").exists());
    live.request(&json!({"subtype": "interrupt"}));
    live.turn();
    live.finish();
}

/// Goes on for long, lets an agent do some of the work, and is folded towards the end.
fn third_run(world: &World) {
    let server = &world.server;
    let fold = Matcher::last_user_contains("Write a summary of the session");
    server
        .conversation(fold)
        .reply(Reply::text("The parser keeps the last line now. Parts 0 to 5 are checked."));
    server.conversation(Matcher::first_user_contains("Count the functions")).replies([
        Reply::new().tool("Grep", json!({"pattern": "pub fn", "output_mode": "count"})),
        Reply::text("There are 240 functions."),
    ]);
    let mut live = world.talk(&["--resume", ID, "--permission-mode", "bypassPermissions"]);
    for turn in 0..MORE_TURNS {
        server.replies((0..MORE_STEPS).map(|step| more(turn * MORE_STEPS + step)));
        if turn == 1 {
            server.reply(Reply::new().tool("Task", json!({
                "description": "count functions", "prompt": "Count the functions.", "subagent_type": "Explore",
            })));
        }
        server.reply(Reply::text(format!("Round {turn} is done; nothing else has changed.")));
        live.say(&format!("Check the parts once more, round {turn}."));
        live.turn();
    }
    live.say("/compact keep the names of the parts");
    live.turn();
    server.reply(Reply::text("Nothing is left to do."));
    live.say("What is left?");
    live.turn();
    assert_eq!(live.finish().code, 0);
}

fn more(n: usize) -> Reply {
    let reply = Reply::new().and_text(format!("Look {n}."));
    let lines =
        |of: usize| json!({"file_path": format!("src/part{}.rs", of % 6), "offset": 1 + n % 30, "limit": 4});
    match n % 5 {
        0 | 3 => reply.tool("Read", lines(n)).tool("Read", lines(n + 1)).tool("Read", lines(n + 2)),
        1 => reply.tool("Read", lines(n)).tool("Bash", json!({"command": format!("echo part {n}")})),
        2 => reply.thinking("The list should say so.").tool(
            "TodoWrite",
            json!({"todos": [
                {"content": format!("Check {n}"), "status": "in_progress", "activeForm": "Checking"},
            ]}),
        ),
        _ => reply.tool("Read", json!({"file_path": format!("src/missing{n}.rs")})).tool("Read", lines(n)),
    }
}
