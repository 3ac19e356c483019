//! `tiller inspect` as text and JSON, and how sessions are found.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tiller_testkit::{Gate, Matcher, Reply};

use crate::harness::{Run, World, blocks_of, stream_args};
use crate::inspect_session::{ID, recorded};

const OTHER: &str = "0198c0de-9999-7000-8000-000000000002";

fn document(world: &World, session: &str) -> Value {
    serde_json::from_str(&world.run(&["inspect", session, "--json"]).ok().stdout).unwrap()
}

#[track_caller]
fn refused(run: &Run, code: i32, words: &[&str]) {
    assert_eq!((run.code(), run.stdout.as_str()), (code, ""), "{run:#?}");
    for word in words {
        assert!(run.stderr.contains(word), "{word}: {run:#?}");
    }
}

/// A world with two sessions whose ids begin alike.
fn two_sessions() -> World {
    let world = World::new();
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    world.run(&["-p", "first", "--session-id", ID]).ok();
    world.run(&["-p", "second", "--session-id", OTHER]).ok();
    world
}

// LEDG-02
#[test]
fn a_session_is_found_by_its_id_its_beginning_or_as_the_latest() {
    let world = two_sessions();
    for (session, title) in
        [(ID, "first"), ("0198c0de-5e", "first"), ("0198C0DE-9", "second"), ("latest", "second")]
    {
        assert_eq!(document(&world, session)["session"]["title"], title, "{session}");
    }
    refused(&world.run(&["inspect", "0198c0de"]), 1, &["several sessions", ID, OTHER, "more of the id"]);
    refused(
        &world.run(&["inspect", "ffff"]),
        1,
        &["no session begins with \"ffff\"", "tiller inspect latest"],
    );
    refused(&World::new().run(&["inspect", "latest"]), 1, &["there is no session in"]);
    refused(&world.run(&["inspect"]), 1, &["SESSION"]);
    refused(&world.run(&["inspect", ID, "--yaml"]), 2, &["--yaml"]);
    refused(&world.run(&["inspect", ID, "--json", "--html", "x"]), 1, &["cannot be used with"]);
}

#[test]
fn sessions_of_other_directories_are_found_by_id() {
    let world = recorded();
    let run = world.run(&["inspect", &ID[..13]]).ok();
    assert!(run.stdout.starts_with("The parser loses the last line"), "{}", run.stdout);
    refused(&world.run(&["inspect", "latest"]), 1, &["there is no session in"]);
}

// LEDG-01: every reminder that reached the model, word for word, and nothing that did not.
#[test]
fn every_reminder_that_was_sent_is_in_the_ledger() {
    let hook = json!([{"hooks": [{"type": "command", "command": "echo 'mind the gap'"}]}]);
    let world = World::new()
        .file("AGENTS.md", "Use tabs.\n")
        .file(".tiller/settings.json", &json!({"hooks": {"UserPromptSubmit": hook}}).to_string());
    world.server.replies([Reply::text("cut").stop("max_tokens"), Reply::text("done"), Reply::text("again")]);
    world.run(&["-p", "go", "--session-id", ID]).ok();
    world.run(&["-p", "and now?", "--resume", ID]).ok();
    let document = document(&world, ID);
    let request = world.server.messages().pop().unwrap().body().clone();
    let sent: Vec<String> =
        blocks_of(&request, "text").iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect();
    let additions = document["steering"]["additions"].as_array().unwrap();
    let texts: Vec<&str> = additions.iter().map(|addition| addition["text"].as_str().unwrap()).collect();
    let kinds: Vec<&str> = additions.iter().map(|addition| addition["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["user_context", "hook_success", "hidden_message", "hook_success"]);
    assert_eq!(additions[3]["repeats"], additions[1]["seq"]);
    for reminder in sent.iter().filter(|text| text.contains("<system-reminder>")) {
        assert!(texts.contains(&reminder.as_str()), "{reminder}");
    }
    assert!(texts.iter().all(|text| sent.iter().any(|sent| sent == text)), "{texts:#?}");
}

// What the figures say was sent is what the provider received.
#[test]
fn the_share_is_that_of_the_real_request() {
    let world = World::new().file("AGENTS.md", "Use tabs.\n");
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    world.run(&["-p", "first", "--session-id", ID]).ok();
    world.run(&["-p", "second", "--resume", ID]).ok();
    let request = world.server.messages().pop().unwrap().body().clone();
    let length = |block: &Value| block["text"].as_str().unwrap().len();
    let system: usize = request["system"].as_array().unwrap().iter().map(length).sum();
    let texts = blocks_of(&request, "text");
    let sent = system + request["tools"].to_string().len() + texts.iter().map(length).sum::<usize>();
    let steering: usize = texts
        .iter()
        .filter(|block| block["text"].as_str().unwrap().starts_with("<system-reminder>"))
        .map(length)
        .sum();
    let document = document(&world, ID);
    let step = &document["turns"][1]["steps"][0];
    assert_eq!((&step["sentBytes"], &step["steeringBytes"]), (&json!(sent), &json!(steering)));
    assert!(steering > 0);
}

// The totals are those that the run itself told.
#[test]
fn totals_are_those_of_the_run() {
    let world = World::new().file("a", "1\n");
    world.server.replies([Reply::new().tool("Read", json!({"file_path": "a"})), Reply::text("done")]);
    let result =
        world.run(&["-p", "look", "--output-format", "json", "--session-id", ID]).ok().frames().remove(0);
    let totals = document(&world, ID)["totals"].take();
    let cost = |value: &Value| value.as_f64().unwrap();
    assert!((cost(&totals["costUsd"]) - cost(&result["total_cost_usd"])).abs() < 1e-6, "{totals:#}");
    let tokens = json!({
        "input": result["usage"]["input_tokens"], "cacheRead": result["usage"]["cache_read_input_tokens"],
        "cacheWrite": result["usage"]["cache_creation_input_tokens"], "output": result["usage"]["output_tokens"],
    });
    assert_eq!(totals["tokens"], tokens);
    assert_eq!((&totals["steps"], &totals["calls"], &totals["turns"]), (&json!(2), &json!(1), &json!(1)));
}

// What sub-agents asked is counted where it is summed up.
#[test]
fn requests_are_counted_as_far_as_they_are_summed_up() {
    let world = World::new();
    world
        .server
        .conversation(Matcher::last_user_contains("Count the functions."))
        .reply(Reply::text("Three."));
    let task = json!({
        "description": "count functions", "prompt": "Count the functions.", "subagent_type": "Explore",
    });
    world.server.replies([Reply::new().tool("Task", task), Reply::text("done")]);
    world.run(&["-p", "how many?", "--session-id", ID]).ok();
    let totals = document(&world, ID)["totals"].take();
    let by_model =
        totals["models"].as_array().unwrap().iter().map(|model| model["requests"].as_u64().unwrap());
    assert_eq!(by_model.sum::<u64>(), 3, "{totals:#}");
    assert_eq!((&totals["requests"], &totals["sideRequests"]), (&json!(3), &json!(1)), "{totals:#}");
    assert!(world.run(&["inspect", ID]).ok().stdout.contains("1 request beside the conversation"));
    world.run(&["inspect", ID, "--html", "page.html"]).ok();
    assert!(world.read("page.html").contains("3 requests in all, 1 beside the conversation"));
}

// LEDG-02: the recording has a bit of everything, and all of it is told.
#[test]
fn a_long_session_is_told_in_full() {
    let document = document(&recorded(), ID);
    let totals = &document["totals"];
    assert_eq!((&totals["turns"], &totals["voidRequests"]), (&json!(3), &json!(1)));
    assert!(totals["steps"].as_u64().unwrap() >= 30, "{totals:#}");
    let outcomes: Vec<&str> = document["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["outcome"]["kind"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["success", "success", "interrupted"]);
    let decisions = document["decisions"].as_array().unwrap();
    let denied = decisions.iter().find(|decision| decision["behavior"] == "deny").unwrap();
    assert_eq!((&denied["by"], &denied["rule"]), (&json!("rule"), &json!("Bash(rm:*)")));
    assert!(denied["file"].as_str().unwrap().ends_with(".tiller/settings.json"), "{denied}");
    assert!(decisions.iter().any(|decision| decision["message"] == "the user allowed it"));
    let hooks = document["hooks"].as_array().unwrap();
    assert!(hooks.iter().any(|hook| hook["event"] == "PreToolUse" && hook["end"] == "blocked"));
    assert!(hooks.iter().any(|hook| hook["event"] == "PostToolUse" && hook["call"].is_string()));
    let events: Vec<&str> =
        document["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    for kind in ["opened", "epoch", "orphaned", "queued", "model", "mode", "notice", "todos"] {
        assert!(events.contains(&kind), "{kind}: {events:?}");
    }
    let steps: Vec<&Value> = document["turns"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["steps"].as_array().unwrap())
        .collect();
    assert!(steps.iter().any(|step| step["void"] == "streaming_fallback"));
    assert!(steps.iter().any(|step| step["model"] == "claude-haiku-5-5" && step["cacheMiss"].is_string()));
    let first = steps[0]["calls"].as_array().unwrap();
    assert!(first.iter().any(|call| call["beside"] != json!([])), "{first:#?}");
    let text = recorded().run(&["inspect", ID]).ok().stdout;
    for part in [
        "Turn 3  interrupted",
        "deny: the rule Bash(rm:*) says so",
        "queued_command",
        "void: streaming_fallback",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

// A session can be looked at while it goes on, and when its log is torn.
#[test]
fn a_session_that_is_not_over_can_be_inspected() {
    let world = World::new();
    let gate = Gate::new();
    world.server.reply(Reply::text("a").gate(&gate).and_text("b"));
    let live = world.start(&[&stream_args("go")[..], &["--session-id", ID]].concat());
    gate.wait_reached();
    let running = document(&world, ID);
    assert_eq!(
        (&running["turns"][0]["outcome"], &running["totals"]["costUsd"]),
        (&Value::Null, &Value::Null)
    );
    gate.open();
    live.finish();
    let log = &world.logs()[0];
    let text = fs_err::read_to_string(log).unwrap();
    fs_err::write(log, &text[..text.len() - 20]).unwrap();
    let damage = document(&world, ID)["session"]["damage"].take();
    assert!(damage[0].as_str().unwrap().starts_with("the last line is incomplete"), "{damage}");
    assert!(world.run(&["inspect", ID]).ok().stdout.contains("damage"));
}

// The page tells what the log tells, so it is private, too.
#[test]
fn the_page_is_private_and_written_whole_or_not_at_all() {
    let world = two_sessions();
    let run = world.run(&["inspect", "latest", "--html", "report.html"]).ok();
    assert_eq!(run.stdout, "report.html is written\n");
    let mode = fs_err::metadata(world.path("report.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(world.read("report.html").ends_with("</html>\n"));
    refused(&world.run(&["inspect", "latest", "--html", "no/such/dir.html"]), 1, &["no such directory"]);
}

// Every field of the document is described.
#[test]
fn the_documentation_names_every_field() {
    fn fields(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(object) => object.iter().for_each(|(name, value)| {
                found.push(name.clone());
                fields(value, found);
            }),
            Value::Array(list) => list.iter().for_each(|value| fields(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    fields(&document(&recorded(), ID), &mut found);
    found.sort();
    found.dedup();
    let text = include_str!("../../../../docs/inspect.md");
    let missing: Vec<_> = found.iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
    assert_eq!(missing, Vec::<&String>::new());
}
