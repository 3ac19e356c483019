//! Plan mode with the real binary: without a user, and with a host that speaks for one.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{World, held_by_namespaces, result_text};
use crate::live::Live;

const PLAN: &str = "# Plan\n\n1. Change `src/lib.sh`.\n2. Run the tests.\n";

/// The plan file that a request tells the model of.
fn told_plan(request: &Value) -> String {
    let text = request["messages"].to_string();
    let end = text.find(".md").map(|at| at + 3).unwrap();
    let begin = text[..end].rfind(|c: char| c.is_whitespace() || c == '"' || c == '(').unwrap() + 1;
    text[begin..end].to_owned()
}

/// Has the model write this plan and hand it over, and then say a last word.
fn plans(world: &World, plan: &'static str, input: Value) {
    let mut step = 0;
    world.server.respond_with(move |request| {
        step += 1;
        match step {
            1 => {
                let path = told_plan(request.body());
                Reply::new().tool_with_id("write", "Write", json!({"file_path": path, "content": plan}))
            }
            2 => Reply::new().tool_with_id("exit", "ExitPlanMode", input.clone()),
            _ => Reply::text("done"),
        }
    });
}

fn last_request(world: &World) -> Value {
    world.server.messages().last().unwrap().body().clone()
}

// PLAN-20, PLAN-01, HEAD-01, HEAD-02
#[test]
fn a_headless_run_ends_with_its_plan() {
    let world = World::new();
    plans(&world, PLAN, json!({}));
    let run = world.run(&["-p", "plan it", "--permission-mode", "plan", "--output-format", "json"]);
    let result = &run.frames()[0];
    assert_eq!((run.code(), result["result"].as_str()), (0, Some(PLAN)));
    assert_eq!((result["subtype"].as_str(), result["outcome"].as_str()), (Some("success"), Some("success")));
    assert_eq!((&result["is_error"], &result["num_turns"]), (&json!(false), &json!(2)));
    let file = result["plan_file"].as_str().unwrap();
    assert_eq!(fs_err::read_to_string(file).unwrap(), PLAN);
    assert!(!world.config_dir().join("settings.json").exists() && !world.path(".tiller").exists());
    world.server.assert_clean();

    let world = World::new();
    plans(&world, PLAN, json!({}));
    let run = world.run(&["-p", "plan it", "--permission-mode", "plan"]);
    assert_eq!((run.code(), run.stdout.as_str()), (0, PLAN));
    assert!(run.stderr.contains("nothing was changed; the plan is in"), "{}", run.stderr);
    world.server.assert_clean();
}

// PLAN-20: the mode stays, and the next run has it again.
#[test]
fn a_plan_that_was_handed_over_can_be_carried_out_later() {
    let world = World::new();
    plans(&world, PLAN, json!({}));
    world.run(&["-p", "plan it", "--permission-mode", "plan"]).ok();
    world.run(&["-p", "go on", "--continue", "--output-format", "json"]).ok();
    let log = world.log();
    let modes: Vec<&Value> =
        log.iter().filter(|entry| entry["effect"] == "set_mode").map(|entry| &entry["mode"]).collect();
    assert_eq!(modes, ["plan"]);
    let ends: Vec<&Value> = log
        .iter()
        .filter(|entry| entry["type"] == "turn_ended")
        .map(|entry| &entry["outcome"]["kind"])
        .collect();
    assert_eq!(ends, ["plan_handed_over", "success"]);
    world.run(&["-p", "do it", "--continue", "--permission-mode", "acceptEdits"]).ok();
    assert!(last_request(&world)["messages"].to_string().contains("# Plan mode is over"));
    world.server.assert_clean();
}

// EXEC-39, PLAN-20: what nobody can answer is not offered.
#[test]
fn questions_are_offered_only_where_somebody_answers() {
    let tools = |options: &[&str]| {
        let world = World::new();
        world.server.reply(Reply::text("hi"));
        let mut live = world.talk(options);
        live.say("hello");
        let frames = live.turn();
        assert_eq!(live.finish().code, 0);
        let init = frames.iter().find(|frame| frame["subtype"] == "init").unwrap();
        let tools: Vec<String> = serde_json::from_value(init["tools"].clone()).unwrap();
        ["EnterPlanMode", "ExitPlanMode", "AskUserQuestion"].map(|name| tools.iter().any(|tool| tool == name))
    };
    assert_eq!(tools(&[]), [false, true, false]);
    assert_eq!(tools(&["--permission-prompt-tool", "stdio"]), [true, true, true]);
}

/// A session with a host, stopped at the question about a plan.
fn asked_about_plan(world: &World, input: Value, options: &[&str]) -> (Live, Value) {
    plans(world, PLAN, input);
    let mut live = world
        .talk(&[&["--permission-prompt-tool", "stdio", "--permission-mode", "plan"][..], options].concat());
    live.say("plan it");
    let question = live.question();
    (live, question)
}

// PLAN-16, PLAN-17, PLAN-52
#[test]
fn a_host_approves_a_plan() {
    let world = World::new();
    let input = json!({"allowedPrompts": [{"tool": "Bash", "prompt": "run the tests"}]});
    let (mut live, question) = asked_about_plan(&world, input.clone(), &[]);
    let request = &question["request"];
    assert_eq!(
        (request["tool_name"].as_str(), request["tool_use_id"].as_str()),
        (Some("ExitPlanMode"), Some("exit"))
    );
    assert_eq!(
        (&request["requires_user_interaction"], &request["input"]["plan"]),
        (&json!(true), &json!(PLAN))
    );
    assert_eq!(request["input"]["allowedPrompts"], input["allowedPrompts"]);
    assert_eq!(request["approval_modes"], json!(["acceptEdits", "default"]));
    let mode = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    live.answer(
        &question,
        &json!({"behavior": "allow", "updatedInput": request["input"], "updatedPermissions": mode}),
    );
    let frames = live.turn();
    let modes: Vec<&Value> = frames
        .iter()
        .filter(|frame| frame["subtype"] == "status")
        .map(|frame| &frame["permissionMode"])
        .collect();
    assert_eq!(modes, ["acceptEdits"]);
    assert!(result_text(&last_request(&world), "exit").ends_with(PLAN));
    assert_eq!(live.finish().code, 0);
    let log = world.log();
    let changed = log.iter().find(|entry| entry["effect"] == "permissions").unwrap();
    assert_eq!(changed["updates"][0], mode[0]);
    assert_eq!(
        changed["updates"][1]["rules"],
        json!([{"toolName": "Bash", "ruleContent": "prompt: run the tests"}])
    );
    assert!(!world.config_dir().join("settings.json").exists(), "nothing is written to settings");
    world.server.assert_clean();
}

// PLAN-17: an approval without a mode is the careful one; what the user made of the plan counts (PLAN-63).
#[test]
fn a_host_changes_a_plan() {
    let world = World::new();
    let (mut live, question) = asked_about_plan(&world, json!({}), &[]);
    let mut input = question["request"]["input"].clone();
    input["plan"] = json!("# The user's plan");
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": input}));
    let frames = live.turn();
    let status = frames.iter().find(|frame| frame["subtype"] == "status").unwrap();
    assert_eq!(status["permissionMode"], "default");
    let told = result_text(&last_request(&world), "exit");
    assert!(told.contains("The user changed the plan") && told.contains("# The user's plan"), "{told}");
    let path = question["request"]["input"]["planFilePath"].as_str().unwrap();
    assert_eq!(fs_err::read_to_string(path).unwrap(), "# The user's plan");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// PLAN-19, HEAD-02
#[test]
fn a_host_sends_a_plan_back_or_goes_away() {
    for goes_away in [false, true] {
        let world = World::new();
        let (mut live, question) = asked_about_plan(&world, json!({}), &[]);
        if goes_away {
            let end = live.finish();
            assert_eq!(end.result().1, 0);
            assert!(result_text(&last_request(&world), "exit").contains("stream closed"));
            continue;
        }
        live.answer(&question, &json!({"behavior": "deny", "message": "too vague"}));
        live.turn();
        let told = result_text(&last_request(&world), "exit");
        assert!(told.contains("too vague") && told.contains("Plan mode stays on"), "{told}");
        assert_eq!(live.finish().code, 0);
        world.server.assert_clean();
    }
}

// EXEC-39
#[test]
fn a_host_answers_questions() {
    let world = World::new();
    let option = |label: &str| json!({"label": label, "description": "d"});
    let questions = json!([{"question": "Which?", "header": "Kind", "multiSelect": true, "options": [option("A"), option("B")]}]);
    world.server.replies([
        Reply::new().tool_with_id("ask", "AskUserQuestion", json!({"questions": questions})),
        Reply::text("fine"),
    ]);
    let mut live = world.talk(&["--permission-prompt-tool", "stdio"]);
    live.say("go");
    let question = live.question();
    assert_eq!(question["request"]["tool_name"], "AskUserQuestion");
    assert_eq!(question["request"]["input"]["questions"], questions);
    assert_eq!(question["request"]["requires_user_interaction"], true);
    let input = json!({"questions": questions, "answers": {"Which?": "A, B"}});
    live.answer(&question, &json!({"behavior": "allow", "updatedInput": input}));
    live.turn();
    assert_eq!(result_text(&last_request(&world), "ask"), "The user has answered:\n- Which?\n  A, B");
    assert_eq!(live.finish().code, 0);
    world.server.assert_clean();
}

// MODEL-08, MODEL-10, MODEL-11: planning is done by the stronger model, the work by the usual one.
#[test]
fn the_model_follows_the_mode() {
    for (setting, planner, worker) in [("opusplan", "opus", "sonnet"), ("haiku", "sonnet", "haiku")] {
        let world = World::new();
        let (mut live, question) = asked_about_plan(&world, json!({}), &["--model", setting]);
        live.answer(&question, &json!({"behavior": "allow", "updatedInput": question["request"]["input"]}));
        live.turn();
        assert_eq!(live.finish().code, 0);
        let models: Vec<String> = world
            .server
            .messages()
            .iter()
            .map(|request| request.body()["model"].as_str().unwrap().to_owned())
            .collect();
        let expected = [planner, planner, worker];
        assert!(models.iter().zip(expected).all(|(model, name)| model.contains(name)), "{models:?}");
        world.server.assert_clean();
    }
}

// MODEL-08, MODEL-10: hosts are told the model that is asked, and the tools that are on offer.
#[test]
fn the_first_frame_names_the_model_of_the_mode() {
    for setting in ["opusplan", "haiku"] {
        let world = World::new();
        world.server.reply(Reply::text("planned"));
        let mut live = world.talk(&["--model", setting, "--permission-mode", "plan"]);
        live.say("go");
        let init = live.until(|frame| frame["subtype"] == "init").pop().unwrap();
        live.turn();
        let request = world.server.messages()[0].body().clone();
        assert_eq!(init["model"], request["model"], "{setting}");
        let offered =
            |name: &str| request["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name);
        for name in init["tools"].as_array().unwrap() {
            assert!(offered(name.as_str().unwrap()), "{name}");
        }
        assert_eq!(live.finish().code, 0);
        world.server.assert_clean();
    }
}

// KERN-02, PLAN-48: builds and tests run while planning, and what they find goes into the plan; the tree stays as it is.
#[test]
fn tests_run_while_planning_and_the_tree_stays_as_it_is() {
    if !held_by_namespaces() {
        return;
    }
    let suite = "mkdir -p build && cp src/lib.sh build/ && . build/lib.sh && echo run >> build/log\n\
        sum=$(add 1 2)\n[ \"$sum\" = 3 ] || { echo \"FAILED: add 1 2 gives $sum\"; exit 1; }\n";
    let world = World::new().file("src/lib.sh", "add() { echo $(($1 - $2)); }\n").file("test.sh", suite);
    let mut step = 0;
    let dir = world.dir();
    world.server.respond_with(move |request| {
        step += 1;
        match step {
            1 => Reply::new().tool_with_id("test", "Bash", json!({"command": "sh test.sh; ls build"})),
            2 => {
                let found = result_text(request.body(), "test");
                let failure =
                    found.lines().find(|line| line.contains("FAILED")).unwrap_or("no failure").to_owned();
                let listed = found.contains("lib.sh");
                let plan = format!("# Plan\n\nThe suite says: {failure}\nBuilt in a layer: {listed}\n");
                Reply::new().tool("Write", json!({"file_path": told_plan(request.body()), "content": plan}))
            }
            _ => Reply::new().tool("ExitPlanMode", json!({})),
        }
    });
    let run = world.run(&["-p", "fix the tests", "--permission-mode", "plan"]);
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(run.stdout.contains("The suite says: FAILED: add 1 2 gives -1"), "{}", run.stdout);
    assert!(run.stdout.contains("Built in a layer: true"), "{}", run.stdout);
    let mut names: Vec<_> = fs_err::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["src", "test.sh"]);
    assert_eq!(world.read("src/lib.sh"), "add() { echo $(($1 - $2)); }\n");
    world.server.assert_clean();
}

// PERM-01
#[test]
fn delegate_mode_cannot_be_named() {
    let world = World::new();
    let settings = r#"{"permissions": {"defaultMode": "delegate"}}"#;
    for named in [["--permission-mode", "delegate"], ["--settings", settings]] {
        let run = world.run(&["-p", "go", named[0], named[1]]);
        assert_eq!(run.code(), 1, "{run:?}");
        assert!(run.stderr.contains("type /delegate in a session"), "{}", run.stderr);
    }
    assert!(world.server.messages().is_empty());
}

// A plan is kept in versions, and `tiller plans` shows them.
#[test]
fn plans_can_be_listed_shown_and_compared() {
    let world = World::new();
    let none = world.run(&["plans", "list"]).ok();
    assert_eq!(none.stdout, "there are no plans in this directory yet\n");
    assert_eq!(world.run(&["plans", "show"]).code(), 1);
    world.server.reply(Reply::text("nothing to plan"));
    world.run(&["-p", "just look", "--permission-mode", "plan"]).ok();
    assert_eq!(
        world.run(&["plans", "list"]).ok().stdout,
        none.stdout,
        "a session that only could have a plan"
    );
    plans(&world, PLAN, json!({}));
    world.run(&["-p", "plan it", "--permission-mode", "plan"]).ok();
    let list: Value = serde_json::from_str(&world.run(&["plans", "list", "--json"]).ok().stdout).unwrap();
    let name = list[0]["name"].as_str().unwrap().to_owned();
    assert_eq!((&list[0]["approved"], &list[0]["exists"]), (&json!(false), &json!(true)));
    let moments: Vec<&Value> =
        list[0]["versions"].as_array().unwrap().iter().map(|version| &version["moment"]).collect();
    assert_eq!(moments, ["written", "handed_over"]);
    let line = world.run(&["plans", "list"]).ok().stdout;
    assert!(
        line.starts_with(&name) && line.contains("2 versions, handed over") && line.contains("plan it"),
        "{line}"
    );

    let file = list[0]["file"].as_str().unwrap();
    fs_err::write(file, PLAN.replace("Run", "Then run")).unwrap();
    world.server.respond_with(move |_| Reply::new().tool("ExitPlanMode", json!({})));
    world.run(&["-p", "again", "--continue"]).ok();
    assert_eq!(world.run(&["plans", "show", "--version", "1"]).ok().stdout, PLAN);
    assert!(world.run(&["plans", "show", &name]).ok().stdout.contains("2. Then run"));
    let diff = world.run(&["plans", "diff", &name[..6]]).ok().stdout;
    assert!(
        diff.contains("--- version 2 (handed over)") && diff.contains("+++ version 3 (handed over)"),
        "{diff}"
    );
    assert!(diff.contains("-2. Run the tests.") && diff.contains("+2. Then run the tests."), "{diff}");
    let same = world.run(&["plans", "diff", "--to", "2"]).ok().stdout;
    assert!(same.contains("no version"), "{same}");
    for (wrong, said) in [
        (&["plans", "show", "nosuch"][..], "no plan"),
        (&["plans", "show", "--version", "9"][..], "there are 3"),
    ] {
        let run = world.run(wrong);
        assert!(run.code() == 1 && run.stderr.contains(said), "{run:?}");
    }
    world.server.assert_clean();
}
