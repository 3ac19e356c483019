//! Folding a conversation from outside: as a prompt, over the JSON stream, by itself; and what inspection shows of it.

use serde_json::{Value, json};
use tiller_testkit::{Gate, Matcher, Reply};

use crate::harness::{World, stream_args};

const ID: &str = "0f6a5b1e-2f7d-4d0c-9a53-6d1f7c3b2a11";

/// A world in which something was said, and in which summaries are given.
fn remembered() -> World {
    let world = World::new();
    world
        .server
        .conversation(Matcher::last_user_contains("Write a summary of the session"))
        .reply(Reply::text("A number."));
    world.server.reply(Reply::text("An old answer."));
    world.run(&["-p", "remember the number 7", "--session-id", ID]).ok();
    world
}

fn last_request(world: &World) -> String {
    world.server.messages().pop().unwrap().body()["messages"].to_string()
}

fn inspected(world: &World) -> Value {
    serde_json::from_str(&world.run(&["inspect", ID, "--json"]).ok().stdout).unwrap()
}

// RECALL-03 SESS-13
#[test]
fn a_prompt_folds_a_resumed_session_and_another_takes_it_back() {
    let world = remembered();
    let run = world.run(&["-p", "/compact mind the number", "--resume", ID, "--verbose"]).ok();
    assert!(run.stdout.contains("was compacted") && run.stderr.contains("was compacted"), "{run:#?}");
    let shown = inspected(&world);
    let compaction = &shown["compactions"][0];
    assert_eq!(compaction["trigger"], "manual");
    assert_eq!(compaction["instructions"], "mind the number");
    assert_eq!((&compaction["summary"]["text"], &compaction["undone"]), (&json!("A number."), &json!(false)));
    assert_eq!((&compaction["foldedMessages"], &compaction["carriedPrompts"]), (&json!(2), &json!(1)));
    assert!(world.run(&["inspect", ID]).ok().stdout.contains("compacted (manual)"));
    world.run(&["inspect", ID, "--html", "page.html"]).ok();
    assert!(world.read("page.html").contains("<pre>A number.</pre>"));
    let undone = world.run(&["-p", "/compact undo", "--resume", ID]);
    assert_eq!(undone.code(), 0, "{undone:#?}");
    assert!(undone.stdout.contains("The compaction was undone"), "{undone:#?}");
    assert_eq!(inspected(&world)["compactions"][0]["undone"], true);
    world.server.reply(Reply::text("7"));
    world.run(&["-p", "which number?", "--resume", ID]).ok();
    assert!(last_request(&world).contains("An old answer."));
    let late = world.run(&["-p", "/compact undo", "--resume", ID, "--output-format", "json"]);
    assert_eq!(late.code(), 1);
    assert!(late.frames()[0]["result"].as_str().unwrap().contains("nothing to undo"), "{late:#?}");
    world.server.assert_clean();
}

// LOG-03 RECALL-01: what a lost summary stood for is sent again.
#[test]
fn a_lost_summary_loses_no_conversation() {
    let world = remembered();
    world.run(&["-p", "/compact", "--resume", ID]).ok();
    world.server.reply(Reply::text("Still 7."));
    world.run(&["-p", "sure?", "--resume", ID]).ok();
    assert!(!last_request(&world).contains("An old answer."));
    let log = world.logs().remove(0);
    let text = fs_err::read_to_string(&log).unwrap();
    let damaged: Vec<&str> = text
        .lines()
        .map(|line| if line.contains("isCompactSummary\":true") { "{\"type\":\"us" } else { line })
        .collect();
    assert_ne!(damaged.join("\n") + "\n", text);
    fs_err::write(&log, damaged.join("\n") + "\n").unwrap();
    for answer in ["7", "7 it is"] {
        world.server.reply(Reply::text(answer));
        world.run(&["-p", "which number?", "--resume", ID]).ok();
        let sent = last_request(&world);
        for word in ["remember the number 7", "An old answer.", "sure?", "Still 7.", "which number?"] {
            assert!(sent.contains(word), "{word}: {sent}");
        }
    }
    assert!(fs_err::read_to_string(&log).unwrap().contains("The summary of a compaction is lost."));
    world.server.assert_clean();
    // Nobody can replay what was sent before the summary was lost.
    fs_err::remove_file(&log).unwrap();
}

// CACHE-01 CACHE-06: a session that was folded goes on in another process with what it offered before.
#[test]
fn going_on_with_a_folded_session_is_no_new_beginning() {
    let world = remembered();
    let mut live = world.talk(&["--resume", ID]);
    live.say("/compact");
    live.turn();
    world.server.reply(Reply::new().thinking("Seven, was it?").and_text("7"));
    live.say("which number?");
    live.turn();
    live.finish();
    let epochs = |world: &World| inspected(world)["epochs"].as_array().unwrap().len();
    let before = epochs(&world);
    world.server.reply(Reply::text("Still 7."));
    world.run(&["-p", "sure?", "--resume", ID]).ok();
    assert_eq!(epochs(&world), before);
    let requests = world.server.messages();
    let [folded, resumed] = &requests[requests.len() - 2..] else { panic!("two requests") };
    assert_eq!(folded.body()["tools"], resumed.body()["tools"]);
    assert_eq!(resumed.body()["tools"].as_array().unwrap().last().unwrap()["name"], "Recall");
    let messages = |request: &tiller_testkit::Captured| request.body()["messages"].to_string();
    assert!(messages(resumed).contains(r#""type":"thinking""#), "{}", messages(resumed));
    world.server.assert_clean();
}

// SESS-13
#[test]
fn a_host_folds_a_session_and_is_told() {
    let world = remembered();
    world.server.reply(Reply::text("7"));
    let mut live = world.talk(&["--resume", ID]);
    live.say("/compact");
    let frames = live.turn();
    let kinds: Vec<String> = frames
        .iter()
        .map(|frame| {
            format!("{} {}", frame["type"].as_str().unwrap(), frame["subtype"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "system init",
            "system status",
            "system compact_boundary",
            "user ",
            "system status",
            "result success"
        ]
    );
    assert_eq!((&frames[1]["status"], &frames[4]["status"]), (&json!("compacting"), &Value::Null));
    let told = &frames[2]["compact_metadata"];
    assert_eq!(told["trigger"], "manual");
    assert!(told["pre_tokens"].as_u64().unwrap() > 0 && frames[2]["uuid"].is_string(), "{told}");
    assert_eq!(frames[0]["slash_commands"], json!(["compact"]));
    live.say("which number?");
    assert_eq!(live.turn().last().unwrap()["result"], "7");
    let sent = last_request(&world);
    assert!(
        sent.contains("A number.")
            && sent.contains("> remember the number 7")
            && !sent.contains("An old answer.")
    );
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// REPL-01: what is kept behind a fold may be older than the turn. That no replay differs is asserted at the end.
#[test]
fn a_prompt_that_a_killed_run_has_left_is_kept_with_the_next_one() {
    let world = World::new();
    let gate = Gate::new();
    let summaries = world.server.conversation(Matcher::last_user_contains("Write a summary of the session"));
    summaries.replies([Reply::text("never heard").gate_headers(&gate), Reply::text("Short.")]);
    world.server.replies([Reply::text("one").usage(json!({"input_tokens": 900_000})), Reply::text("three")]);
    world.run(&["-p", "go", "--session-id", ID]).ok();
    let live = world.start(&["-p", "second", "--resume", ID]);
    gate.wait_reached();
    live.signal("KILL");
    live.finish();
    gate.open();
    world.run(&["-p", "third", "--resume", ID]).ok();
    let sent = last_request(&world);
    assert!(sent.contains("Short.") && sent.contains("second") && sent.contains("third"), "{sent}");
    assert_eq!(inspected(&world)["compactions"][0]["keptMessages"], 2);
}

// SESS-10: settings and variables decide.
#[test]
fn folding_by_itself_can_be_switched_off() {
    for (name, value, folds) in
        [("TILLER_DISABLE_AUTOCOMPACT", "1", 0), ("TILLER_AUTOCOMPACT_PCT", "95", 0), ("NOTHING", "", 1)]
    {
        let world = World::new().var(name, value);
        let summaries =
            world.server.conversation(Matcher::last_user_contains("Write a summary of the session"));
        summaries.respond_with(|_| Reply::text("Short."));
        world
            .server
            .replies([Reply::text("one").usage(json!({"input_tokens": 900_000})), Reply::text("two")]);
        world.run(&["-p", "go", "--session-id", ID]).ok();
        let run = world.run(&[&stream_args("go on")[..], &["--resume", ID]].concat()).ok();
        let boundaries = run.frames().iter().filter(|frame| frame["subtype"] == "compact_boundary").count();
        assert_eq!((boundaries, summaries.requests().len()), (folds, folds), "{name}");
    }
}

// LOG-01 SESS-14: the log says so in the words that outside readers know.
#[test]
fn outside_readers_find_the_boundary_and_the_summary() {
    let world = remembered();
    world.run(&["-p", "/compact", "--resume", ID]).ok();
    let log = world.log();
    let at = log.iter().position(|line| line["subtype"] == "compact_boundary").unwrap();
    assert_eq!(
        (&log[at]["type"], &log[at]["compactMetadata"]["trigger"]),
        (&json!("system"), &json!("manual"))
    );
    assert!(log[at]["parentUuid"].is_string());
    assert_eq!((&log[at + 1]["isCompactSummary"], &log[at + 1]["isMeta"]), (&json!(true), &json!(true)));
    assert_eq!(log[at + 1]["parentUuid"], log[at]["uuid"]);
    assert!(log.iter().any(|line| line.to_string().contains("An old answer.")), "nothing is deleted");
    assert_eq!(world.run(&["sessions", "verify", ID]).code(), 0);
}
