//! Sub-agents of the real binary: what hosts see of them, what becomes of them, what they cannot do.

use serde_json::{Value, json};
use tiller_testkit::{Gate, Matcher, Reply};

use crate::harness::{World, eventually, held_by_namespaces, marker, processes_with, stream_args};

fn task(kind: &str, prompt: &str) -> Value {
    json!({"description": "look around", "prompt": prompt, "subagent_type": kind})
}

fn by_prompt(world: &World, prompt: &str) -> tiller_testkit::ConversationHandle {
    world.server.conversation(Matcher::first_user_contains(prompt))
}

// BUDG-02: hosts see each agent begin and end, what it does under the call that started it, and its totals.
#[test]
fn hosts_see_what_agents_do() {
    let world = World::new().file("notes.txt", "gold\n");
    world
        .server
        .replies([Reply::new().tool_with_id("t", "Task", task("Explore", "find gold")), Reply::text("done")]);
    by_prompt(&world, "find gold").replies([
        Reply::new().and_text("Looking.").tool_with_id("g", "Grep", json!({"pattern": "gold"})),
        Reply::text("In notes.txt."),
    ]);
    let frames = world.stream("go");
    let started = frames.iter().find(|frame| frame["subtype"] == "task_started").unwrap();
    assert_eq!((&started["tool_use_id"], &started["task_type"]), (&json!("t"), &json!("local_agent")));
    let of_agent: Vec<&Value> = frames.iter().filter(|frame| frame["parent_tool_use_id"] == "t").collect();
    let kinds: Vec<&str> =
        of_agent.iter().map(|frame| frame["message"]["content"][0]["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_use", "tool_result"], "words are for those who ask for them");
    let ended = frames.iter().find(|frame| frame["subtype"] == "task_notification").unwrap();
    assert_eq!((&ended["task_id"], &ended["status"]), (&started["task_id"], &json!("completed")));
    assert!(ended["usage"]["total_tokens"].as_u64().unwrap() > 0);
    let result = frames.last().unwrap();
    assert_eq!(result["result"], "done");
    let by_model = result["modelUsage"].as_object().unwrap();
    assert_eq!(by_model.len(), 2, "the agent's model counts as well: {by_model:?}");
    world.server.assert_clean();
}

// LEDG-02, BUDG-02: afterwards, too: each step of an agent stands under the call that it worked for.
#[test]
fn a_report_tells_what_agents_did() {
    let world = World::new().file("notes.txt", "gold\n");
    world
        .server
        .replies([Reply::new().tool_with_id("t", "Task", task("Explore", "find gold")), Reply::text("done")]);
    by_prompt(&world, "find gold").replies([
        Reply::new().tool_with_id("g", "Grep", json!({"pattern": "gold"})),
        Reply::text("In notes.txt."),
    ]);
    world.run(&["-p", "go"]).ok();
    let report: Value =
        serde_json::from_str(&world.run(&["inspect", "latest", "--json"]).ok().stdout).unwrap();
    let agent = &report["agents"][0];
    assert_eq!((&agent["kind"], &agent["call"]), (&json!("Explore"), &json!("t")), "{agent}");
    assert_eq!(agent["report"]["turns"][0]["steps"][0]["calls"][0]["tool"], "Grep");
    assert_eq!(agent["report"]["totals"]["steps"], 2);
    let (own, all) = (&agent["report"]["totals"]["costUsd"], &report["totals"]["costUsd"]);
    assert!(own.as_f64().unwrap() > 0.0 && own.as_f64() < all.as_f64(), "{own} of {all}");
    let text = world.run(&["inspect", "latest"]).ok().stdout;
    assert!(text.contains("(Explore): 2 steps, 1 call;"), "{text}");
    assert!(text.contains("Grep gold"), "{text}");
    let page = world.path("page.html");
    world.run(&["inspect", "latest", "--html", "page.html"]).ok();
    assert!(fs_err::read_to_string(page).unwrap().contains("(Explore): 2 steps, 1 call;"));
}

// HEAD-01, HEAD-02: what an agent was not allowed to do is in the result of the run.
#[test]
fn denials_of_agents_are_listed() {
    let world = World::new();
    world.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "write it")),
        Reply::text("done"),
    ]);
    by_prompt(&world, "write it").replies([
        Reply::new().tool_with_id("w", "Write", json!({"file_path": "x", "content": "y"})),
        Reply::text("could not"),
    ]);
    let run = world.run(&["-p", "go", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(result["permission_denials"][0]["tool_name"], "Write");
    assert!(!world.path("x").exists());
    world.server.assert_clean();
}

// CUST-02: a killed tiller takes its agents' commands along.
#[test]
fn killing_tiller_leaves_no_process_of_an_agent() {
    let world = World::new();
    let marker = marker();
    world.server.reply(Reply::new().tool_with_id("t", "Task", task("general-purpose", "run it")));
    let command = format!("sleep {marker}");
    by_prompt(&world, "run it").reply(Reply::new().tool_with_id("b", "Bash", json!({"command": command})));
    let args =
        ["-p", "go", "--permission-mode", "bypassPermissions", "--output-format", "stream-json", "--verbose"];
    let live = world.start(&args);
    eventually("the command runs", || !processes_with(&format!("sleep\0{marker}")).is_empty());
    live.signal("KILL");
    eventually("nothing is left", || processes_with(&marker).is_empty());
}

/// What a hostile agent tries while planning.
fn attempts(outside: &str) -> Vec<Reply> {
    let bash = |command: &str| Reply::new().tool("Bash", json!({"command": command}));
    let mut replies: Vec<Reply> = [
        "echo x > planted",
        "rm -rf .git src.txt",
        "git commit --allow-empty -m x",
        "git config user.name x",
        "python3 -c 'open(\"planted\",\"w\").write(\"x\")'",
        "cp src.txt planted; mv src.txt moved",
        "(setsid sh -c 'sleep 0.1; echo x > planted' &) ; true",
        "chmod 777 src.txt; ln -s /etc link; mkdir made",
        "sed -i s/a/b/ src.txt; tee planted < src.txt",
    ]
    .into_iter()
    .map(bash)
    .collect();
    replies.push(bash(&format!("echo x > {outside}/planted; touch ~/planted")));
    replies.push(Reply::new().tool("Write", json!({"file_path": "planted", "content": "x"})));
    replies.push(Reply::new().tool("Write", json!({"file_path": "../planted", "content": "x"})));
    replies.push(Reply::new().tool("NotebookEdit", json!({"notebook_path": "n.ipynb", "new_source": "x"})));
    replies
        .push(Reply::new().tool("Bash", json!({"command": "echo x > planted", "run_in_background": true})));
    replies.push(Reply::new().tool("EnterPlanMode", json!({})));
    replies.push(
        Reply::new()
            .tool("ExitPlanMode", json!({"allowedPrompts": [{"tool": "Bash", "prompt": "everything"}]})),
    );
    replies.push(bash("echo x > planted"));
    replies
}

fn tree(dir: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs_err::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() || !path.is_dir() {
                let content = if path.is_symlink() { Vec::new() } else { fs_err::read(&path).unwrap() };
                found.push((path.display().to_string(), content));
            } else {
                found.push((path.display().to_string(), Vec::new()));
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

// PLAN-51, PERM-19, KERN-06: agents, background agents and continued agents change nothing while planning, whatever
// rules and hooks allow.
#[test]
fn no_agent_changes_anything_while_planning() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new().file("src.txt", "a\n");
    let allow =
        r#"printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'"#;
    let settings = json!({
        "permissions": {"allow": ["Bash", "Write", "Edit", "NotebookEdit"]},
        "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": allow}]}]},
    });
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &["-c", "user.name=t", "-c", "user.email=t@x", "commit", "-qm", "1"],
    ] {
        assert!(
            std::process::Command::new("git")
                .args(arguments)
                .current_dir(world.dir())
                .status()
                .unwrap()
                .success()
        );
    }
    let outside = tempfile::tempdir().unwrap();
    let mut background = task("general-purpose", "attack behind");
    background["run_in_background"] = json!(true);
    world.server.replies([
        Reply::new()
            .tool_with_id("one", "Task", task("general-purpose", "attack in front"))
            .tool_with_id("two", "Task", background),
        Reply::new().tool_with_id("wait", "TaskOutput", json!({})),
        Reply::text("over"),
        Reply::text("the one behind as well"),
    ]);
    let tries = attempts(&outside.path().display().to_string());
    let count = tries.len();
    let end = || Reply::text("tried all");
    by_prompt(&world, "attack in front").replies(tries).reply(end());
    let gate = Gate::new();
    by_prompt(&world, "attack behind")
        .replies(attempts(&outside.path().display().to_string()))
        .reply(Reply::new().gate_headers(&gate).and_text("tried all"));
    let before = tree(&world.dir());
    let mut live = world.talk(&["--permission-mode", "plan", "--settings", &settings.to_string()]);
    live.say("go");
    live.until(|frame| frame["type"] == "result");
    eventually("the agent in the background has tried all", || {
        let requests = world.server.messages();
        requests
            .iter()
            .filter(|request| request.body()["messages"][0].to_string().contains("attack behind"))
            .count()
            > count
    });
    gate.open();
    live.until(|frame| frame["subtype"] == "task_notification");
    live.until(|frame| frame["type"] == "result");
    assert_eq!(live.finish().code, 0);
    let after = tree(&world.dir());
    assert_eq!(before, after);
    assert_eq!(fs_err::read_dir(outside.path()).unwrap().count(), 0);
    assert!(!world.home().join("planted").exists());
    assert!(world.server.rejections().is_empty(), "{:?}", world.server.rejections());
}

// The arguments that limit agents are heard.
#[test]
fn without_agents_there_is_no_task_tool() {
    let world = World::new();
    world.server.reply(Reply::text("done"));
    let mut args = stream_args("go").to_vec();
    args.extend(["--agent-depth", "0"]);
    world.run(&args).ok();
    let tools = world.server.messages()[0].body()["tools"].to_string();
    assert!(!tools.contains("\"Task\"") && !tools.contains("TaskOutput"));
    world.server.assert_clean();
}

// PERM-19, HOOK-03: what a file says of an agent holds, and what cannot be understood gives no agent.
#[test]
fn a_file_gives_an_agent_its_mode_and_its_hooks() {
    let hook = |matcher: &str| {
        let command = r#"{type: command, command: "echo not here >&2; exit 2"}"#;
        format!("hooks: {{PreToolUse: [{{matcher: \"{matcher}\", hooks: [{command}]}}]}}")
    };
    for (fields, told) in [
        ("permissionMode: dontAsk", Some("is not allowed here")),
        ("permission-mode: plan", Some("plan mode")),
        (&*hook("Write"), Some("not here")),
        (&*hook("("), None),
        ("permissionMode: delegate", None),
    ] {
        let file = format!("---\nname: worker\ndescription: Works.\n{fields}\n---\nDo it.\n");
        let world = World::new().file(".tiller/agents/worker.md", &file);
        let order = Reply::new().tool_with_id("t", "Task", task("worker", "make it"));
        world.server.replies([order, Reply::text("done")]);
        let write = json!({"file_path": world.path("made"), "content": "x"});
        by_prompt(&world, "make it")
            .replies([Reply::new().tool_with_id("w", "Write", write), Reply::text("ready")]);
        let run = world.run(&["-p", "go", "--permission-mode", "bypassPermissions"]);
        assert!(!world.path("made").exists(), "{fields}");
        let sent: Vec<_> =
            world.server.messages().iter().map(|one| one.body()["messages"].to_string()).collect();
        match told {
            Some(told) => assert!(sent.concat().contains(told), "{fields}: {sent:?}"),
            None => assert!(run.stderr.contains("is left out"), "{fields}: {}", run.stderr),
        }
    }
}
