//! The contract with scripts: typed outcomes, exit codes, and output that is valid whatever happens.

use serde_json::{Value, json};
use tiller_testkit::{ModelServer, Reply};

use crate::harness::{Run, World, blocks_of};

/// Runs in each format; gives the result of the JSON one, the text run and their common exit code.
fn in_each_format(script: impl Fn(&World), args: &[&str]) -> (Value, Run, i32) {
    let run = |format: &str| {
        let world = World::new();
        script(&world);
        let run = world.run(&[&["-p", "go", "--output-format", format][..], args].concat());
        assert_eq!(world.server.rejections(), Vec::<String>::new());
        run
    };
    let [json, stream, text] = ["json", "stream-json", "text"].map(run);
    assert_eq!(json.frames().len(), 1, "{json:#?}");
    let result = json.frames().remove(0);
    let streamed = stream.frames().pop().unwrap();
    for field in
        ["type", "subtype", "outcome", "is_error", "num_turns", "result", "errors", "api_error_status"]
    {
        assert_eq!(result[field], streamed[field], "{field}");
    }
    assert_eq!((json.code(), stream.code()), (text.code(), text.code()));
    let code = text.code();
    (result, text, code)
}

#[track_caller]
fn outcome(result: &Value, subtype: &str, outcome: &str, is_error: bool) {
    assert_eq!(result["type"], "result");
    assert_eq!(
        (result["subtype"].as_str(), result["outcome"].as_str()),
        (Some(subtype), Some(outcome)),
        "{result:#}"
    );
    assert_eq!(result["is_error"], is_error);
}

// HEAD-01
#[test]
fn success_is_0() {
    let (result, text, code) = in_each_format(|world| world.server.reply(Reply::text("fine")), &[]);
    outcome(&result, "success", "success", false);
    assert_eq!(
        (result["result"].as_str(), result["terminal_reason"].as_str()),
        (Some("fine"), Some("completed"))
    );
    assert_eq!((text.stdout.as_str(), text.stderr.as_str(), code), ("fine\n", "", 0));
}

// HEAD-01, HEAD-02, PERM-18: nobody can be asked, so the answer is no, and that does not pass for success.
#[test]
fn a_needed_tool_that_was_denied_is_3() {
    let script = |world: &World| {
        world
            .server
            .replies([Reply::new().tool("Bash", json!({"command": "touch x"})), Reply::text("I could not.")]);
    };
    let (result, text, code) = in_each_format(script, &[]);
    outcome(&result, "success", "denied", false);
    let denial = &result["permission_denials"][0];
    assert_eq!(
        (denial["tool_name"].as_str(), &denial["tool_input"]["command"]),
        (Some("Bash"), &json!("touch x"))
    );
    assert_eq!((text.stdout.as_str(), code), ("I could not.\n", 3));
    assert!(text.stderr.contains("Bash was not permitted, because no rule allows"), "{}", text.stderr);
}

/// The model asks, and has to do without an answer.
fn asks_in_vain(world: &World) {
    let question = json!({"questions": [{"question": "Which?", "header": "Kind", "options": [
        {"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]});
    let ask = Reply::new().tool("AskUserQuestion", question);
    world.server.replies([ask, Reply::text("I need to know which.")]);
}

// HEAD-01: a question that nobody can answer is not a success either, although the tool was not on offer.
#[test]
fn a_question_that_nobody_answers_is_10() {
    let (result, text, code) = in_each_format(asks_in_vain, &[]);
    outcome(&result, "success", "needs_input", false);
    assert_eq!((text.stdout.as_str(), code), ("I need to know which.\n", 10));
}

/// The result of one turn that is asked for over the stream, and the code that the run ends with then.
fn over_the_stream(world: &World) -> (Value, i32) {
    let mut live = world.talk(&[]);
    live.say("go");
    let result = live.turn().pop().unwrap();
    world.server.assert_clean();
    (result, live.finish().code)
}

// HEAD-01: hosts raise an exception if the result is an error and the code is not 0; one without the other misleads them.
#[test]
fn over_the_stream_a_question_that_nobody_answers_is_0() {
    let world = World::new();
    asks_in_vain(&world);
    let (result, code) = over_the_stream(&world);
    outcome(&result, "success", "needs_input", false);
    assert_eq!(code, 0);
    let told = blocks_of(world.server.messages()[1].body(), "tool_result").remove(0);
    assert!(told.to_string().contains("nobody can be asked in this session"), "{told}");
}

// HEAD-01
#[test]
fn over_the_stream_a_prompt_that_a_hook_refuses_is_1() {
    let refuse = json!([{"hooks": [{"type": "command", "command": "echo not that >&2; exit 2"}]}]);
    let settings = json!({"hooks": {"UserPromptSubmit": refuse}}).to_string();
    let world = World::new().file(".tiller/settings.json", &settings);
    let (result, code) = over_the_stream(&world);
    outcome(&result, "error_during_execution", "denied", true);
    assert_eq!(code, 1);
}

// HEAD-01: whatever was finished beside the denied call, and in whatever order.
#[test]
fn a_denial_among_others_is_3() {
    let script = |world: &World| {
        world.write("a", "content\n");
        world.server.replies([
            Reply::new()
                .tool("Bash", json!({"command": "touch x"}))
                .tool("Read", json!({"file_path": "a"}))
                .chunked(1),
            Reply::text("I could not."),
        ]);
    };
    let (result, _, code) = in_each_format(script, &[]);
    outcome(&result, "success", "denied", false);
    assert_eq!(code, 3);
}

// HEAD-01: a denial that the model found a way around is listed, no more.
#[test]
fn a_denial_on_the_way_is_listed() {
    let script = |world: &World| {
        world.write("a", "content\n");
        world.server.replies([
            Reply::new().tool("Bash", json!({"command": "touch x"})),
            Reply::new().tool("Read", json!({"file_path": "a"})),
            Reply::text("Read it instead."),
        ]);
    };
    let (result, _, code) = in_each_format(script, &[]);
    outcome(&result, "success", "success", false);
    assert_eq!((result["permission_denials"].as_array().unwrap().len(), code), (1, 0));
}

// HEAD-01: whatever was denied, SDKs can read the line that says so.
#[test]
fn long_denials_fit_into_a_line() {
    let world = World::new();
    let content = "x".repeat(100_000);
    let write = |n| Reply::new().tool("Write", json!({"file_path": format!("f{n}"), "content": content}));
    world.server.replies((0..12).map(write).chain([Reply::text("I could not.")]));
    let run = world.run(&["-p", "go", "--output-format", "json"]);
    assert_eq!(run.code(), 3, "{}", run.stderr);
    assert!(run.stdout.len() < 1 << 20, "{}", run.stdout.len());
    let denials = run.frames()[0]["permission_denials"].clone();
    assert_eq!(
        (denials.as_array().unwrap().len(), &denials[11]["tool_input"]["file_path"]),
        (12, &json!("f11"))
    );
    world.server.assert_clean();
}

// HEAD-01, LOOP-47
#[test]
fn the_limit_on_requests_is_5() {
    let script = |world: &World| {
        world.write("a", "content\n");
        world.server.respond_with(|_| Reply::text("Again.").tool("Read", json!({"file_path": "a"})));
    };
    let (result, text, code) = in_each_format(script, &["--max-turns", "2"]);
    outcome(&result, "error_max_turns", "error_max_turns", true);
    assert_eq!(
        (result["num_turns"].as_u64(), result["terminal_reason"].as_str()),
        (Some(2), Some("max_turns"))
    );
    assert!(text.stderr.contains("limit of 2 model requests"), "{}", text.stderr);
    assert_eq!(code, 5);
}

// HEAD-01, LOOP-47
#[test]
fn the_spending_limit_is_6() {
    let script = |world: &World| {
        world.write("a", "content\n");
        world.server.respond_with(|_| {
            Reply::new().tool("Read", json!({"file_path": "a"})).usage(json!({"output_tokens": 1_000_000}))
        });
    };
    let (result, text, code) = in_each_format(script, &["--max-budget-usd", "0.5"]);
    outcome(&result, "error_max_budget_usd", "error_max_budget_usd", true);
    assert_eq!(result["num_turns"], 1);
    assert!(result["total_cost_usd"].as_f64().unwrap() > 0.5);
    assert!(text.stderr.contains("spending limit of $0.5"), "{}", text.stderr);
    assert_eq!(code, 6);
}

// HEAD-01: SDKs know a failed request as a "success" that is an error.
#[test]
fn a_failed_request_is_1_and_says_why() {
    let script =
        |world: &World| world.server.reply(Reply::status(400, "invalid_request_error", "no such thing"));
    let (result, text, code) = in_each_format(script, &[]);
    outcome(&result, "success", "error_during_execution", true);
    assert_eq!(
        (result["api_error_status"].as_u64(), result["terminal_reason"].as_str()),
        (Some(400), Some("api_error"))
    );
    assert!(result["result"].as_str().unwrap().contains("no such thing"));
    assert_eq!((text.stdout.as_str(), code), ("", 1));
    assert!(text.stderr.contains("no such thing") && text.stderr.contains("400"), "{}", text.stderr);
}

#[test]
fn a_refusal_is_1_and_says_why() {
    let script = |world: &World| {
        world.server.reply(Reply::text("I will").refusal(Some("cyber"), "this is about weapons"));
    };
    let (result, text, code) = in_each_format(script, &[]);
    outcome(&result, "error_during_execution", "error_during_execution", true);
    assert_eq!(result["errors"], json!(["this is about weapons"]));
    assert_eq!((text.stdout.as_str(), code), ("", 1));
    assert!(text.stderr.contains("this is about weapons"), "{}", text.stderr);
}

#[test]
fn a_wrong_key_fails_at_once_and_says_what_to_check() {
    let world = World::new().var("ANTHROPIC_API_KEY", "wrong");
    let run = world.run(&["-p", "go"]);
    assert_eq!((run.code(), run.stdout.as_str()), (1, ""));
    assert!(run.stderr.contains("401") && run.stderr.contains("check ANTHROPIC_API_KEY"), "{}", run.stderr);
    assert_eq!(world.server.messages().len(), 1, "a wrong key does not get better by waiting");
}

#[test]
fn without_a_credential_the_variable_is_named() {
    let world = World::new();
    for format in ["text", "json"] {
        let mut command = world.command(&["-p", "go", "--output-format", format]);
        let output =
            command.env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("set ANTHROPIC_API_KEY"), "{stderr}");
        assert_eq!(stderr.lines().count(), 1);
        if format == "json" {
            let result: Value = serde_json::from_slice(&output.stdout).unwrap();
            outcome(&result, "error_during_execution", "error_during_execution", true);
        }
    }
    assert_eq!(world.server.requests().len(), 0);
    world.server.assert_clean();
}

// HEAD-03: also when the provider cannot be reached at all.
#[test]
fn an_unreachable_provider_is_a_result() {
    let gone = ModelServer::start().url().to_owned();
    let world = World::new().var("ANTHROPIC_BASE_URL", &gone).var("TILLER_MAX_RETRIES", "1");
    let run = world.run(&["-p", "go", "--output-format", "json"]);
    assert_eq!(run.code(), 1);
    outcome(&run.frames()[0], "success", "error_during_execution", true);
    assert!(run.frames()[0]["result"].as_str().unwrap().contains("could not reach the model"));
    world.server.assert_clean();
}

// Sums of a turn and totals of a session.
#[test]
fn usage_is_of_the_turn_and_cost_of_the_session() {
    let world = World::new();
    world.server.replies([Reply::text("one"), Reply::text("two")]);
    let first = world.run(&["-p", "go", "--output-format", "json"]).ok().frames().remove(0);
    let second = world.run(&["-p", "go", "--continue", "--output-format", "json"]).ok().frames().remove(0);
    let cost = |result: &Value| result["total_cost_usd"].as_f64().unwrap();
    assert!(cost(&second) > cost(&first));
    let model = &second["modelUsage"]["claude-sonnet-5-5"];
    let output = |result: &Value| result["usage"]["output_tokens"].as_u64().unwrap();
    assert_eq!(model["outputTokens"].as_u64().unwrap(), output(&first) + output(&second));
    assert!((model["costUSD"].as_f64().unwrap() - cost(&second)).abs() < 1e-9);
    world.server.assert_clean();
}

#[test]
fn people_see_that_a_request_is_repeated() {
    let world = World::new();
    world.server.replies([Reply::status(529, "overloaded_error", "busy"), Reply::text("ok")]);
    let run = world.run(&["-p", "go"]).ok();
    assert_eq!(run.stdout, "ok\n");
    assert!(run.stderr.contains("trying again") && run.stderr.contains("1 of 10"), "{}", run.stderr);
    world.server.assert_clean();
}

#[test]
fn more_input_than_a_request_can_hold_is_refused() {
    let world = World::new();
    let input = world.path("large");
    fs_err::write(&input, vec![b'x'; 11 << 20]).unwrap();
    let mut command = world.command(&["-p", "sum it up"]);
    let output = command.stdin(fs_err::File::open(&input).unwrap().into_file()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("10 MB"));
    assert_eq!(world.server.messages().len(), 0);
}

// HEAD-01: half an answer does not pass for a whole one in silence.
#[test]
fn an_answer_that_stays_cut_is_told_of() {
    let script = |world: &World| {
        let parts = ["one ", "two ", "three ", "four"];
        world.server.replies(parts.map(|part| Reply::text(part).max_tokens_cut()));
    };
    let (result, text, code) = in_each_format(script, &[]);
    assert_eq!((result["result"].as_str(), code), (Some("one two three four"), 0));
    assert!(result["warnings"][0].as_str().unwrap().contains("cut off"), "{result}");
    assert_eq!(text.stdout, "one two three four\n");
    assert_eq!(text.stderr.matches("The answer is cut off").count(), 1, "{}", text.stderr);
}

// HEAD-01: what the model said on the way is not what it came to.
#[test]
fn a_last_answer_without_a_word_is_an_empty_result() {
    let script = |world: &World| {
        let call = Reply::text("I will look").tool_with_id("c", "Glob", json!({"pattern": "*"}));
        world.server.replies([call, Reply::new()]);
    };
    let (result, text, code) = in_each_format(script, &[]);
    assert_eq!((result["result"].as_str(), code), (Some(""), 0));
    assert_eq!(text.stdout, "\n");
}

#[test]
fn a_refusal_is_said_once() {
    for (prompt, said) in [("/foo", "/foo"), ("/compact", "nothing to fold")] {
        let world = World::new();
        let run = world.run(&["-p", prompt]);
        assert_eq!(run.code(), 1, "{run:#?}");
        assert_eq!(run.stderr.matches(said).count(), 1, "{}", run.stderr);
        assert_eq!(world.server.messages().len(), 0);
    }
}

// SDKs add these figures up.
#[test]
fn blocks_carry_what_their_answer_has_consumed_so_far() {
    let world = World::new();
    world.server.reply(Reply::text("hi"));
    let frames = world.stream("go");
    let usage = |kind: &str| {
        let frame = frames.iter().find(|frame| frame["type"] == kind).unwrap();
        frame.pointer("/message/usage").or(frame.get("usage")).unwrap().clone()
    };
    let (begun, ended) = (usage("assistant"), usage("result"));
    let read = "cache_creation_input_tokens";
    assert!(begun[read].as_u64().unwrap() > 0, "{begun}");
    assert_eq!(begun[read], ended[read]);
    world.server.assert_clean();
}

// HEAD-03: whatever is wrong with the command line, whoever reads JSON gets some.
#[test]
fn a_wrong_command_line_is_a_result() {
    let world = World::new();
    for (args, code, problem) in [
        (&["-p", "x", "--output-format", "json", "--max-turns", "0"][..], 1, "--max-turns"),
        (&["-p", "x", "--bogus", "--output-format=stream-json"][..], 2, "--bogus"),
        (&["--input-format", "stream-json", "--output-format", "json"][..], 1, "--input-format"),
    ] {
        let run = world.run(args);
        assert_eq!(run.code(), code, "{run:#?}");
        let [result] = &run.frames()[..] else { panic!("{run:#?}") };
        outcome(result, "error_during_execution", "error_during_execution", true);
        assert!(result["errors"][0].as_str().unwrap().contains(problem), "{result}");
        assert!(run.stderr.contains(problem), "{run:#?}");
    }
    let run = world.run(&["-p", "x", "--bogus", "--", "--output-format=json"]);
    assert_eq!((run.code(), run.stdout.as_str()), (2, ""));
}
