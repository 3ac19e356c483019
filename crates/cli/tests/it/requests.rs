//! What is sent to the provider: the whole of it, and how much.

use std::fmt::Write;

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::World;

/// Tokens that the first request of a session may take.
const FIRST_REQUEST_TOKENS: usize = 14_000;

/// Tokens that each tool definition may take. Lower a figure when a text got shorter; raise one only for a reason.
const DEFINITION_TOKENS: [(&str, usize); 18] = [
    ("Read", 300),
    ("Edit", 300),
    ("Write", 150),
    ("NotebookEdit", 230),
    ("Glob", 190),
    ("Grep", 530),
    ("Bash", 550),
    ("BashOutput", 140),
    ("ShellInput", 190),
    ("KillShell", 90),
    ("WebFetch", 170),
    ("WebSearch", 200),
    ("TodoWrite", 900),
    ("EnterPlanMode", 480),
    ("ExitPlanMode", 390),
    ("AskUserQuestion", 470),
    ("Task", 710),
    ("TaskOutput", 185),
];

/// Tokens by the usual estimate.
fn tokens(value: &Value) -> usize {
    value.to_string().len().div_ceil(4)
}

fn first_request(args: &[&str]) -> (World, Value) {
    let world = World::new().file("AGENTS.md", "Use tabs.\n");
    world.server.reply(Reply::text("ok"));
    world.run(&[&["-p", "fix the bug"][..], args].concat()).ok();
    world.server.assert_clean();
    let request = world.server.messages()[0].body().clone();
    (world, request)
}

/// The first request of a session with a host that answers questions: all tools are offered.
fn first_request_with_host() -> Value {
    let world = World::new().file("AGENTS.md", "Use tabs.\n");
    world.server.reply(Reply::text("ok"));
    let mut live = world.talk(&["--permission-prompt-tool", "stdio"]);
    live.say("fix the bug");
    live.turn();
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
    world.server.messages()[0].body().clone()
}

/// A request in a form that people can read and compare.
fn readable(request: &Value) -> String {
    let mut text = String::new();
    let mut fields = request.clone();
    for part in ["system", "tools", "messages"] {
        fields[part] = json!(format!("<{} entries>", request[part].as_array().unwrap().len()));
    }
    writeln!(text, "{fields:#}").unwrap();
    for part in request["system"].as_array().unwrap() {
        writeln!(text, "\n===== system {}\n{}", part["cache_control"], part["text"].as_str().unwrap())
            .unwrap();
    }
    for tool in request["tools"].as_array().unwrap() {
        let mut fields = tool.clone();
        fields["description"] = json!("<above>");
        let description = tool["description"].as_str().unwrap();
        writeln!(text, "\n===== tool {}\n{description}\n{fields:#}", tool["name"]).unwrap();
    }
    for message in request["messages"].as_array().unwrap() {
        for block in message["content"].as_array().unwrap() {
            let cache = &block["cache_control"];
            writeln!(text, "\n===== {} {cache}\n{}", message["role"], block["text"].as_str().unwrap())
                .unwrap();
        }
    }
    text
}

// PROMPT-01, PROMPT-11, STEER-09
#[test]
fn the_whole_first_request() {
    let (world, request) = first_request(&[]);
    let dir = world.dir().display().to_string();
    insta::with_settings!({
        filters => vec![
            (dir.as_str(), "<project>"),
            (r"\b20\d\d-\d\d-\d\d\b", "<date>"),
            (r"Linux \d[^\s]*", "Linux <release>"),
        ],
        omit_expression => true,
        prepend_module_to_snapshot => false,
    }, {
        insta::assert_snapshot!("first_request", readable(&request));
    });
}

#[test]
fn the_first_request_is_small() {
    for request in [first_request(&[]).1, first_request_with_host()] {
        let [system, tools, messages] = ["system", "tools", "messages"].map(|part| tokens(&request[part]));
        let all = tokens(&request);
        assert!(
            all < FIRST_REQUEST_TOKENS,
            "{all} tokens: {system} for the system prompt, {tools} for tools, {messages} for messages"
        );
    }
}

#[test]
fn tool_definitions_do_not_grow_unnoticed() {
    let request = first_request_with_host();
    let tools = request["tools"].as_array().unwrap();
    let table: Vec<(&str, usize)> =
        tools.iter().map(|tool| (tool["name"].as_str().unwrap(), tokens(tool))).collect();
    for (name, size) in &table {
        let allowed = DEFINITION_TOKENS.iter().find(|(known, _)| known == name).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("{name} has no limit yet: {table:#?}"));
        assert!(*size <= allowed, "{name} takes {size} tokens, {allowed} are allowed: {table:#?}");
        assert!(
            size + size / 10 + 20 >= allowed,
            "{name} takes only {size} tokens: lower its limit of {allowed}"
        );
    }
    assert_eq!(table.len(), DEFINITION_TOKENS.len());
}

#[test]
fn sampling_and_tool_choice_are_left_to_the_provider() {
    for model in ["sonnet", "opus", "haiku", "fable"] {
        let (_, request) = first_request(&["--model", model]);
        for absent in ["temperature", "top_p", "top_k", "tool_choice", "stop_sequences"] {
            assert_eq!(request[absent], Value::Null, "{model}: {absent}");
        }
        assert_eq!(request["stream"], true);
        assert_ne!(request["messages"].as_array().unwrap().last().unwrap()["role"], "assistant");
    }
}

// CACHE-02
#[test]
fn few_breakpoints_and_a_prefix_that_grows() {
    let world = World::new().file("a", "1\n").file("b", "2\n");
    let read = |file: &str| Reply::new().thinking("Look.").tool("Read", json!({"file_path": file}));
    world.server.replies([read("a"), read("b"), Reply::text("done")]);
    world.run(&["-p", "read both"]).ok();
    let requests = world.server.messages();
    for request in &requests {
        let marks = request.body().to_string().matches("\"cache_control\"").count();
        assert!((1..=4).contains(&marks), "{marks}");
    }
    let usage = world
        .log()
        .into_iter()
        .filter(|entry| entry["type"] == "response")
        .map(|entry| entry["usage"].clone());
    let read: Vec<u64> =
        usage.map(|usage| usage["cache_read_input_tokens"].as_u64().unwrap_or_default()).collect();
    assert_eq!(read.len(), 3);
    assert!(read[0] == 0 && read[1] > 0 && read[2] > read[1], "{read:?}");
    world.server.assert_clean();
}

// The tools are the same bytes in every run, so that runs share the provider's cache.
#[test]
fn two_runs_share_their_tools() {
    let [(_, first), (_, second)] = [first_request(&[]), first_request(&["--permission-mode", "plan"])];
    assert_eq!(first["tools"].to_string(), second["tools"].to_string());
}

// MODEL-03, BUDG-03: what the user says of a model outranks the shipped table; a model that is in no table gets one.
#[test]
fn what_settings_say_of_models_counts() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    let price = json!({"input": 1e6, "write5m": 1e6, "write1h": 1e6, "read": 1e6, "output": 1e6});
    let models = json!({"claude-sonnet-5-5": {"contextWindow": 300_000, "prices": [price]}});
    let settings = json!({"models": models}).to_string();
    let run = world.run(&["-p", "go", "--output-format", "json", "--settings", &settings]).ok();
    let usage = &run.frames()[0]["modelUsage"]["claude-sonnet-5-5"];
    assert_eq!(usage["contextWindow"], 300_000);
    assert!(usage["costUSD"].as_f64().unwrap() > 1.0, "{usage}");
    let asked = world.server.requests().iter().filter(|request| request.path().contains("/models")).count();
    assert_eq!(asked, 0, "the user has said what to believe");

    let wrong = json!({"models": {"claude-sonnet-5-5": {"contextWidow": 1}}}).to_string();
    let run = world.run(&["-p", "go", "--settings", &wrong]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("models") && run.stderr.contains("contextWidow"), "{}", run.stderr);
}

// MODEL-01, MODEL-03
#[test]
fn the_provider_decides_what_short_names_mean() {
    for (provider, model) in [("firstParty", "claude-opus-5-5"), ("bedrock", "claude-opus-5")] {
        let (_, request) =
            first_request(&["--model", "opus", "--settings", &json!({"provider": provider}).to_string()]);
        assert_eq!(request["model"], model, "{provider}");
    }
}

#[test]
fn thinking_is_as_it_was_asked_for() {
    let haiku = "claude-haiku-4-5-20251001";
    for (args, thinking) in [
        (&["--thinking", "adaptive"][..], json!("adaptive")),
        (&["--thinking", "disabled"], json!("between_tools")),
        (&["--max-thinking-tokens", "0"], json!("between_tools")),
        (&["--model", haiku], Value::Null),
        (&["--model", haiku, "--max-thinking-tokens", "2048"], json!("enabled")),
        (&["--thinking", "adaptive", "--max-thinking-tokens", "0"], json!("between_tools")),
    ] {
        let (_, request) = first_request(args);
        assert_eq!(request["thinking"]["type"], thinking, "{args:?}");
    }
    for word in [&[][..], &["--thinking", "adaptive"]] {
        let number = ["--model", haiku, "--max-thinking-tokens", "2048"];
        let (_, request) = first_request(&[&number[..], word].concat());
        assert_eq!(request["thinking"]["budget_tokens"], 2048, "{word:?}");
    }
    let world = World::new().var("MAX_THINKING_TOKENS", "4096");
    world.server.replies([Reply::text("ok"), Reply::text("ok")]);
    world.run(&["-p", "go", "--model", haiku]).ok();
    assert_eq!(world.server.messages()[0].body()["thinking"]["budget_tokens"], 4096);
    world.run(&["-p", "go", "--thinking", "adaptive"]).ok();
    assert_eq!(world.server.messages()[1].body()["thinking"]["type"], "adaptive");
}

#[test]
fn a_variable_that_is_no_number_is_named() {
    let world = World::new().var("TILLER_MAX_THINKING_TOKENS", "abc");
    let run = world.run(&["-p", "go"]);
    assert_eq!(run.code(), 1);
    assert!(
        run.stderr.contains(r#"TILLER_MAX_THINKING_TOKENS is "abc", which is not a whole number"#),
        "{run:#?}"
    );
    assert_eq!(world.server.messages().len(), 0);
}

#[test]
fn the_tool_for_agents_goes_by_two_names() {
    let names = |request: &Value| {
        let tools = request["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (_, request) = first_request(&["--disallowedTools", "Agent"]);
    assert!(!names(&request).contains(&"Task".to_owned()));
    let (_, request) = first_request(&["--tools", "Agent,Read"]);
    assert_eq!(names(&request), ["Read", "Task"]);
}
