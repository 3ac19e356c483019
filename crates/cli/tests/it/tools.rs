//! Tools through the binary: commands, background commands, todos, the web, long output.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use serde_json::{Value, json};
use tiller_testkit::{Captured, Matcher, Reply};

use crate::harness::{
    World, blocks_of, held_by_namespaces, marker, outside_of_workspaces, processes_with, result_text,
};

fn bash(id: &str, command: &str) -> Reply {
    Reply::new().tool_with_id(id, "Bash", json!({"command": command}))
}

fn last_request(world: &World) -> Value {
    let requests = world.server.messages();
    requests
        .iter()
        .rev()
        .find(|request| request.body()["tools"].as_array().is_some_and(|tools| tools.len() > 1))
        .unwrap()
        .body()
        .clone()
}

/// Plays the replies, then an end; gives the request that carries all results.
fn played(world: &World, replies: impl IntoIterator<Item = Reply>) -> Value {
    world.server.replies(replies);
    world.server.reply(Reply::text("done"));
    let frames = world.stream("go");
    assert_eq!(frames.last().unwrap()["result"], "done", "{frames:#?}");
    last_request(world)
}

// Standard input is closed, so a command that reads it ends.
#[test]
fn a_command_that_reads_input_finds_none() {
    let world = World::new();
    let request = played(&world, [bash("cat", "cat; echo read $?")]);
    assert!(result_text(&request, "cat").contains("read 0"));
    world.server.assert_clean();
}

#[test]
fn a_change_of_directory_holds_for_the_next_command_and_the_next_run() {
    let world = World::new().file("sub/a", "");
    let request = played(&world, [bash("cd", "cd sub"), bash("ls", "pwd; ls")]);
    let text = result_text(&request, "ls");
    assert!(text.contains("/sub") && text.lines().any(|line| line == "a"), "{text}");
    world.server.assert_clean();
}

#[test]
fn commands_do_not_see_the_key() {
    let world = World::new();
    let request = played(&world, [bash("env", "env; echo end")]);
    let text = result_text(&request, "env");
    assert!(text.contains("end") && !text.contains(world.server.key()), "{text}");
    world.server.assert_clean();
}

fn output(id: &str) -> Reply {
    Reply::new().tool_with_id(id, "BashOutput", json!({"bash_id": "bash_1"}))
}

/// Looks at a background command until it has printed the text, which may take a while; then plays the rest.
fn look_until(text: &'static str, rest: impl IntoIterator<Item = Reply>) -> impl FnMut(&Captured) -> Reply {
    let mut rest: VecDeque<Reply> = rest.into_iter().collect();
    let mut looks = 0;
    move |request| {
        if blocks_of(request.body(), "tool_result").iter().any(|result| shows(result, text)) {
            return rest.pop_front().unwrap_or_default();
        }
        looks += 1;
        output(&format!("look{looks}"))
    }
}

fn shows(result: &Value, text: &str) -> bool {
    result["content"].to_string().contains(text)
}

#[test]
fn background_commands_are_read_and_ended() {
    let world = World::new();
    let marker = marker();
    let background = |id: &str, command: &str| {
        Reply::new().tool_with_id(id, "Bash", json!({"command": command, "run_in_background": true}))
    };
    world.server.reply(background("start", &format!("echo hello; sleep {marker}")));
    let rest = [
        Reply::new().tool_with_id("kill", "KillShell", json!({"shell_id": "bash_1"})),
        output("after"),
        Reply::new().tool_with_id("unknown", "BashOutput", json!({"bash_id": "bash_9"})),
        background("left", &format!("(setsid sleep {marker} &) ; sleep {marker}")),
        Reply::text("done"),
    ];
    world.server.respond_with(look_until("hello", rest));
    let frames = world.stream("go");
    assert!(frames.iter().any(|frame| frame["result"] == "done"), "{frames:#?}");
    let request = last_request(&world);
    assert!(result_text(&request, "start").contains("bash_1"));
    let shown: Vec<Value> = blocks_of(&request, "tool_result");
    let shown: Vec<&Value> = shown.iter().filter(|result| shows(result, "hello")).collect();
    assert!(shown.len() == 1 && shows(shown[0], "running"), "output is shown once: {shown:#?}");
    assert!(result_text(&request, "kill").contains("was ended"));
    assert!(result_text(&request, "unknown").contains("Known ones: bash_1"));
    assert_eq!(processes_with(&marker), [0; 0], "nothing survives the session");
    world.server.assert_clean();
}

// TODO-05, TODO-07
#[test]
fn todos_are_kept_in_a_file_of_the_session() {
    let world = World::new();
    let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": format!("doing {content}")});
    let todos = json!([todo("one", "completed"), todo("two", "in_progress")]);
    world.server.replies([Reply::new().tool("TodoWrite", json!({"todos": todos})), Reply::text("done")]);
    let frames = world.stream("go");
    let session = frames[0]["session_id"].as_str().unwrap();
    let file = world.config_dir().join("todos").join(format!("{session}-agent-{session}.json"));
    let text = fs_err::read_to_string(file).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), todos);
    assert!(text.starts_with("[\n  {\n    \"content\""), "two spaces: {text}");
    world.server.assert_clean();
}

/// A web server that gives one page to one visitor.
fn one_page(body: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let visit = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length:";
        write!(stream, "{head} {}\r\n\r\n{body}", body.len()).unwrap();
        request.join("\n")
    });
    (port, visit)
}

#[test]
fn a_page_is_read_and_digested_by_the_small_model() {
    let world = World::new();
    let (port, visit) = one_page(
        "<html><body><h1>Release 9.9</h1><script>evil()</script><p>Fixes <b>everything</b>.</p></body></html>",
    );
    let digests = world.server.conversation(Matcher::model("claude-haiku-5-5"));
    digests.reply(Reply::text("Release 9.9 fixes everything."));
    let input = json!({"url": format!("http://127.0.0.1:{port}/news"), "prompt": "What is new?"});
    let request = played(&world, [Reply::new().tool_with_id("fetch", "WebFetch", input)]);
    assert!(visit.join().unwrap().starts_with("GET /news"));
    assert!(result_text(&request, "fetch").contains("Release 9.9 fixes everything."));
    let asked = digests.requests().remove(0).body().clone();
    let prompt = asked["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(
        prompt.contains("What is new?") && prompt.contains("Release 9.9") && !prompt.contains("evil"),
        "{prompt}"
    );
    assert_eq!(asked["tools"], Value::Null);
    let spent =
        world.log().into_iter().filter(|entry| entry["type"] == "response" && entry["side"] == true).count();
    assert_eq!(spent, 1, "the digest is paid for by the session");
    world.server.assert_clean();
}

#[test]
fn the_provider_searches() {
    let world = World::new();
    let searches =
        world.server.conversation(Matcher::custom(|body| body["tools"][0]["name"] == "web_search"));
    let hit = json!({"type": "web_search_result", "title": "The answer", "url": "https://a.example/", "encrypted_content": "x", "page_age": "2 days ago"});
    searches.reply(
        Reply::new()
            .server_tool("web_search", json!({"query": "the answer"}), json!([hit]))
            .and_text("It is 42."),
    );
    let request =
        played(&world, [Reply::new().tool_with_id("search", "WebSearch", json!({"query": "the answer"}))]);
    let text = result_text(&request, "search");
    assert!(
        text.contains("https://a.example/") && text.contains("The answer") && text.contains("It is 42."),
        "{text}"
    );
    assert_eq!(searches.requests().len(), 1);
    world.server.assert_clean();
}

// A model that was left is not asked on the side either.
#[test]
fn searches_go_to_the_model_of_the_moment() {
    let world = World::new();
    let searches =
        world.server.conversation(Matcher::custom(|body| body["tools"][0]["name"] == "web_search"));
    searches.reply(Reply::text("It is 42."));
    let search = Reply::new().tool_with_id("search", "WebSearch", json!({"query": "the answer"}));
    world.server.replies([search, Reply::text("done")]);
    let mut live = world.talk(&["--dangerously-skip-permissions"]);
    live.request(&json!({"subtype": "set_model", "model": "opus"}));
    live.say("go");
    live.turn();
    assert_eq!(live.finish().code, 0);
    assert_eq!(searches.requests()[0].body()["model"], "claude-opus-5-5");
    world.server.assert_clean();
}

// EXEC-41: what does not fit is stored where the model can read it, also without asking.
#[test]
fn long_output_is_stored_and_can_be_read() {
    let world = World::new();
    world.server.reply(bash("long", "seq 1 20000"));
    world.server.respond_with(|request| {
        let messages = request.body()["messages"].to_string();
        if messages.contains("\"read\"") {
            return Reply::text("done");
        }
        let text = result_text(request.body(), "long");
        let path = text.split_whitespace().find(|word| word.contains("/tool-results/")).unwrap().to_owned();
        let path = path.trim_end_matches(['.', ',', ')', ';', ':', ']']);
        Reply::new().tool_with_id("read", "Read", json!({"file_path": path, "offset": 12_345, "limit": 1}))
    });
    let run = world.run(&["-p", "go", "--allowedTools", "Bash(seq:*)"]).ok();
    assert_eq!(run.stdout, "done\n");
    let request = world.server.messages().pop().unwrap().body().clone();
    let long = result_text(&request, "long");
    assert!(long.len() < 31_000 && long.starts_with("1\n2\n") && long.contains("20000"), "{}", long.len());
    assert!(result_text(&request, "read").contains("12345"));
    assert_eq!(world.server.rejections(), Vec::<String>::new());
}

// RULE-05, RULE-06: by its name, through a link, in a search or by a command.
#[test]
fn what_a_rule_forbids_to_read_is_read_by_no_tool() {
    let world = World::new().file(".env", "KEY=hidden\n").file("a.txt", "KEY=shown\n");
    std::os::unix::fs::symlink(".env", world.path("link")).unwrap();
    let bash = |id: &str, command: &str| Reply::new().tool_with_id(id, "Bash", json!({"command": command}));
    world.server.replies([
        Reply::new().tool_with_id("grep", "Grep", json!({"pattern": "KEY", "output_mode": "content"})),
        Reply::new().tool_with_id("glob", "Glob", json!({"pattern": "**/*"})),
        Reply::new().tool_with_id("read", "Read", json!({"file_path": "link"})),
        bash("cat", "cat a.txt link"),
        bash("all", "grep -r KEY ."),
        bash("fine", "cat a.txt | head -1"),
        Reply::text("done"),
    ]);
    world.run(&["-p", "go", "--disallowedTools", "Read(.env)"]);
    let request = world.server.messages().pop().unwrap().body().clone();
    for call in ["grep", "glob", "read", "cat", "all", "fine"] {
        assert!(!result_text(&request, call).contains("hidden"), "{call}");
    }
    assert!(result_text(&request, "grep").contains("shown"));
    assert!(result_text(&request, "grep").contains("1 files that rules forbid to read were left out"));
    assert!(!result_text(&request, "glob").contains(".env"));
    for call in ["read", "cat"] {
        assert!(result_text(&request, call).contains("Read(.env)"), "{}", result_text(&request, call));
    }
    assert_eq!(result_text(&request, "fine").trim(), "KEY=shown");
}

// RULE-05, RULE-06: a link that a rule names is that name, wherever it leads.
#[test]
fn a_rule_about_a_link_holds_for_every_tool() {
    let world =
        World::new().file("dev.env", "KEY=hidden\n").file("real/key", "KEY=hidden\n").file("kept", "old\n");
    for (target, link) in
        [("dev.env", ".env"), ("real", "secrets"), ("kept", "held"), ("real/key", "docs-key")]
    {
        std::os::unix::fs::symlink(target, world.path(link)).unwrap();
    }
    let call = |id: &str, tool: &str, input: Value| Reply::new().tool_with_id(id, tool, input);
    let grep = |path: &str| json!({"pattern": "KEY", "path": path, "output_mode": "content"});
    let denied = [
        call("read", "Read", json!({"file_path": ".env"})),
        call("below", "Read", json!({"file_path": "secrets/key"})),
        call("grep", "Grep", grep(".env")),
        call("search", "Grep", grep("secrets")),
        call("glob", "Glob", json!({"pattern": "secrets/**"})),
        call("edit", "Write", json!({"file_path": "held", "content": "new"})),
        bash("cat", "cat .env"),
        bash("pattern", "cat .en*"),
    ];
    // Whoever wants to replace a file has to have read it.
    world.server.reply(call("seen", "Read", json!({"file_path": "kept"})));
    world.server.replies(denied);
    world.server.reply(Reply::text("done"));
    let rules = "Read(.env),Read(secrets/**),Edit(held)";
    let run = world.run(&["-p", "see @.env", "--permission-mode", "acceptEdits", "--disallowedTools", rules]);
    assert!(run.stderr.contains(".env was not attached"), "{}", run.stderr);
    let request = last_request(&world);
    assert!(!request["messages"].to_string().contains("hidden"), "{}", request["messages"]);
    for call in ["read", "below", "grep", "search", "glob", "edit", "cat", "pattern"] {
        let text = result_text(&request, call);
        assert!(text.contains("not allowed"), "{call}: {text}");
    }
    assert_eq!(world.read("kept"), "old\n");
}

// RULE-05: what a pattern reaches through a link lies where the link leads.
#[test]
fn a_pattern_does_not_reach_what_lies_outside() {
    let outside = outside_of_workspaces();
    fs_err::write(outside.path().join("diary"), "KEY=hidden\n").unwrap();
    let world = World::new().file("docs/a", "KEY=shown\n").file("more/b", "KEY=shown\n");
    std::os::unix::fs::symlink(outside.path().join("diary"), world.path("docs/link")).unwrap();
    world.server.replies([
        bash("star", "cat docs/*"),
        bash("loop", "for f in docs/*; do cat \"$f\"; done"),
        bash("follow", "grep -R KEY ."),
        bash("fine", "cat more/*"),
        Reply::text("done"),
    ]);
    world.run(&["-p", "go"]);
    let request = last_request(&world);
    for call in ["star", "loop", "follow"] {
        assert!(!result_text(&request, call).contains("KEY="), "{}", result_text(&request, call));
    }
    assert_eq!(result_text(&request, "fine").trim(), "KEY=shown");
}

// Plan mode looks and keeps its list, but changes nothing.
#[test]
fn planning_looks_and_changes_nothing() {
    let world = World::new().file("a", "old\n");
    world.server.replies([
        Reply::new().tool_with_id("look", "Bash", json!({"command": "cat a"})),
        Reply::new().tool_with_id(
            "todo",
            "TodoWrite",
            json!({"todos": [{"content": "x", "status": "pending", "activeForm": "x"}]}),
        ),
        Reply::new().tool_with_id("read", "Read", json!({"file_path": "a"})),
        Reply::new().tool_with_id(
            "edit",
            "Edit",
            json!({"file_path": "a", "old_string": "old", "new_string": "new"}),
        ),
        Reply::text("done"),
    ]);
    let run = world.run(&["-p", "go", "--permission-mode", "plan", "--allowedTools", "Edit"]);
    assert_eq!((run.code(), world.read("a").as_str()), (3, "old\n"));
    let request = last_request(&world);
    assert!(result_text(&request, "look").contains("old"));
    assert!(result_text(&request, "todo").contains("updated"));
    assert!(result_text(&request, "edit").contains("plan"));
    world.server.assert_clean();
}

// PLAN-48, KERN-02, KERN-06: while planning, commands run and nothing of what they do is real.
#[test]
fn commands_in_plan_mode_run_in_a_throw_away_layer() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new().file("kept", "as it was\n");
    let hostile = [
        "echo new > made && cat made",
        "echo changed > kept; rm -f kept; touch $HOME/.planted; cat kept 2>/dev/null || echo gone",
        "python3 -c 'open(\"made-too\", \"w\").write(\"x\")' && ls",
    ];
    let replies = hostile.iter().enumerate().map(|(at, command)| {
        Reply::new().tool_with_id(&format!("call{at}"), "Bash", json!({"command": command}))
    });
    world.server.replies(replies);
    world.server.replies([
        Reply::new().tool_with_id(
            "background",
            "Bash",
            json!({"command": "touch made", "run_in_background": true}),
        ),
        Reply::text("planned"),
    ]);
    let run = world.run(&["-p", "plan it", "--permission-mode", "plan", "--allowedTools", "Bash,Write"]).ok();
    assert_eq!(run.stdout, "planned\n");
    let request = world.server.messages().pop().unwrap().body().clone();
    assert!(result_text(&request, "call0").contains("new"), "{}", result_text(&request, "call0"));
    assert!(result_text(&request, "call1").contains("gone"), "{}", result_text(&request, "call1"));
    assert!(result_text(&request, "background").contains("While planning"));
    assert_eq!(world.read("kept"), "as it was\n");
    let left =
        fs_err::read_dir(world.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(left, ["kept"]);
    assert!(!world.home().join(".planted").exists());
    world.server.assert_clean();
}
