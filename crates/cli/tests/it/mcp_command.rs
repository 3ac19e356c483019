//! `tiller mcp`: servers added, looked at and taken out; and Tiller as a server itself.

use serde_json::{Value, json};
use tiller_testkit::{McpService, Reply, mcp_server};

use crate::harness::{World, result_text};
use crate::mcp::go;

#[test]
fn servers_are_added_listed_tried_and_taken_out() {
    let world = World::new();
    assert!(world.run(&["mcp", "list"]).ok().stdout.contains("There are no MCP servers here"));
    let script = mcp_server().display().to_string();
    let added =
        world.run(&["mcp", "add", "fake", "python3", "--env", "A=b=c", "--", &script, "--marker", "m"]).ok();
    assert!(added.stdout.contains("added fake to"), "{}", added.stdout);
    let url = "http://127.0.0.1:9/mcp";
    world.run(&["mcp", "add", "--scope", "user", "--header", "X-Key: secret", "far", url]).ok();
    world.run(&["mcp", "add-json", "--scope", "project", "broken", r#"{"command": "no-such-program"}"#]).ok();
    assert!(world.read(".mcp.json").contains("no-such-program"));

    let listed = world.run(&["mcp", "list"]).ok().stdout;
    for line in ["fake", "local", "far", "user", url, "broken", "project"] {
        assert!(listed.contains(line), "{line}: {listed}");
    }
    assert!(!listed.contains("secret"), "{listed}");
    let checked = world.run(&["mcp", "list", "--check", "--json"]).ok().stdout;
    let checked: Vec<Value> = serde_json::from_str(&checked).unwrap();
    let state = |name: &str| checked.iter().find(|row| row["name"] == name).unwrap()["state"].clone();
    assert_eq!(state("fake"), json!({"state": "ready"}));
    assert!(state("broken")["why"].as_str().unwrap().contains("not found"), "{checked:?}");
    assert!(state("far")["why"].as_str().unwrap().contains("cannot be reached"), "{checked:?}");

    let got = world.run(&["mcp", "get", "fake"]).ok().stdout;
    for part in ["fake: ready", "fake 1.2", "mcp__fake__echo (read-only)", "/mcp__fake__greet", "2 resources"]
    {
        assert!(got.contains(part), "{part}: {got}");
    }
    let got = world.run(&["mcp", "get", "far"]);
    assert!(got.code() == 1 && got.stdout.contains("X-Key") && !got.stdout.contains("secret"), "{got:?}");

    for name in ["fake", "far", "broken"] {
        world.run(&["mcp", "remove", name]).ok();
        assert_eq!(world.run(&["mcp", "remove", name]).code(), 1);
    }
    assert!(world.run(&["mcp", "list"]).ok().stdout.contains("There are no MCP servers here"));
    world.server.assert_clean();
}

// Whoever only looks around in a directory has not chosen it for a run.
#[test]
fn servers_of_a_project_are_not_started_before_it_is_trusted() {
    let script = mcp_server().display().to_string();
    let server = |mark: &str| json!({"command": "python3", "args": ["-I", "-S", script, "--started", mark]});
    let servers = json!({"mcpServers": {"theirs": server("started-theirs"),
        "service": {"url": "http://127.0.0.1:9/mcp"}}});
    let world = World::new()
        .file(".mcp.json", &servers.to_string())
        .file(".tiller/settings.json", r#"{"env": {"MARK": "started-by-their-word"}}"#);
    let mine = server("${MARK:-started-mine}").to_string();
    world.run(&["mcp", "add-json", "--scope", "user", "mine", &mine]).ok();

    let checked = world.run(&["mcp", "list", "--check"]).ok().stdout;
    assert_eq!(checked.matches("this project is not trusted").count(), 2, "{checked}");
    assert!(checked.contains("`tiller trust") && checked.contains("ready"), "{checked}");
    let rows: Vec<Value> =
        serde_json::from_str(&world.run(&["mcp", "list", "--check", "--json"]).ok().stdout).unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!((&row("theirs")["state"], &row("theirs")["trusted"]), (&Value::Null, &json!(false)));
    assert_eq!((&row("mine")["state"]["state"], &row("mine")["trusted"]), (&json!("ready"), &json!(true)));
    let got = world.run(&["mcp", "get", "theirs"]);
    assert!(got.code() == 1 && got.stdout.contains("theirs: not started"), "{got:?}");
    assert!(got.stderr.contains("this project is not trusted"), "{got:?}");
    let refused = world.run(&["mcp", "login", "service", "--no-browser"]);
    assert!(refused.code() == 1 && refused.stderr.contains("this project is not trusted"), "{refused:?}");
    let exists = |name: &str| world.path(name).exists();
    assert!(exists("started-mine") && !exists("started-by-their-word") && !exists("started-theirs"));

    world.run(&["trust"]).ok();
    assert!(world.run(&["mcp", "get", "theirs"]).ok().stdout.contains("theirs: ready"));
    assert!(exists("started-theirs"));
    world.run(&["mcp", "add", "--scope", "project", "ours", "true"]).ok();
    assert!(
        world.run(&["mcp", "get", "theirs"]).ok().stdout.contains("ready"),
        "what the user adds is trusted"
    );
    let changed = servers.to_string().replace("started-theirs", "started-again");
    world.write(".mcp.json", &changed);
    assert_eq!(world.run(&["mcp", "get", "theirs"]).code(), 1, "what has changed is not");
    assert!(!exists("started-again"));
    world.run(&["mcp", "add", "--scope", "project", "ours", "true"]).ok();
    assert_eq!(world.run(&["mcp", "get", "theirs"]).code(), 1, "adding one trusts no other");
}

// NET-02
#[test]
fn nobody_signs_in_offline() {
    let service = McpService::start();
    let servers = json!({"mcpServers": {"tracker": {"type": "http", "url": service.url()}}}).to_string();
    let world = World::new();
    world.run(&["mcp", "add", "--scope", "user", "tracker", &service.url()]).ok();
    let mut offline = world.command(&["mcp", "login", "tracker", "--no-browser"]);
    let refused = offline.env("TILLER_OFFLINE", "1").output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && said.contains("offline"), "{said}");
    assert!(refused.stdout.is_empty(), "{:?}", refused.stdout);

    let mut live = world.talk(&["--offline", "--strict-mcp-config", "--mcp-config", &servers]);
    let request = json!({"subtype": "mcp_authenticate", "serverName": "tracker"});
    live.send(&json!({"type": "control_request", "request_id": "r", "request": request}));
    let is_refusal = |frame: &Value| {
        frame["content"]
            .as_str()
            .is_some_and(|text| text.contains("tracker failed") && text.contains("offline"))
    };
    live.until(is_refusal);
    assert_eq!(live.finish().code, 0);
}

#[test]
fn what_cannot_be_a_server_is_refused() {
    let world = World::new();
    for (words, said) in [
        (&["add", "a/b", "x"][..], "letters, digits"),
        (&["add", "a", "https://example.org", "--env", "A=b"], "no arguments or variables"),
        (&["add", "a", "x", "--header", "A: b"], "takes no headers"),
        (&["add", "a", "x", "--transport", "ws"], "not one of stdio, http"),
        (&["add", "a", "x", "--env", "A"], "has no ="),
        (&["add-json", "a", "3"], "has to be an object"),
        (&["get", "nobody"], "no server named nobody"),
    ] {
        let run = world.run(&[&["mcp"], words].concat());
        assert!(run.code() == 1 && run.stderr.contains(said), "{words:?}: {run:?}");
    }
    assert!(!world.path(".mcp.json").exists());
}

#[test]
fn a_run_can_have_servers_of_its_own_and_no_others() {
    let world = World::new();
    let server = |name: &str| json!({"mcpServers": {name: {"command": "python3", "args": [mcp_server()]}}});
    world.write(".mcp.json", &server("usual").to_string());
    world.write("own.json", &server("own").to_string());
    let world = world.var("TILLER_MCP_WAIT_MS", "60000");
    let servers = |extra: &[&str]| {
        world.server.reply(Reply::text("hi"));
        let args =
            [&["-p", "go", "--output-format", "stream-json", "--mcp-config", "own.json"], extra].concat();
        world.run(&args).frames()[0]["mcp_servers"].clone()
    };
    let both = json!([{"name": "own", "status": "connected"}, {"name": "usual", "status": "connected"}]);
    assert_eq!(servers(&[]), both);
    assert_eq!(servers(&["--strict-mcp-config"]), json!([{"name": "own", "status": "connected"}]));
    let run = world.run(&["-p", "go", "--mcp-config", "nowhere.json"]);
    assert!(run.code() != 0 && run.stderr.contains("nowhere.json does not exist"), "{run:?}");
}

// One Tiller uses the tools of another, under the rules that the other was started with.
#[test]
fn tiller_is_a_server_under_its_own_rules() {
    let world = World::new().file("note.txt", "from a file");
    let args = ["mcp", "serve", "--allowed-tools", "Bash(echo:*)", "--disallowed-tools", "Read(secret*)"];
    let server = json!({"command": env!("CARGO_BIN_EXE_tiller"), "args": args});
    world.write(".mcp.json", &json!({"mcpServers": {"other": server}}).to_string());
    world.write("secret.txt", "hidden");
    let call = |id: &str, tool: &str, input: Value| {
        Reply::new().tool_with_id(id, &format!("mcp__other__{tool}"), input)
    };
    let path = |name: &str| world.path(name).display().to_string();
    world.server.replies([
        call("read", "Read", json!({"file_path": path("note.txt")})),
        call("secret", "Read", json!({"file_path": path("secret.txt")})),
        call("echo", "Bash", json!({"command": "echo from a shell"})),
        call("touch", "Bash", json!({"command": "touch made-by-shell"})),
        call("write", "Write", json!({"file_path": path("made-by-tool"), "content": "x"})),
        Reply::text("done"),
    ]);
    go(&world, "use the other one");
    let last = world.server.messages().pop().unwrap();
    let said = |call: &str| result_text(last.body(), call);
    assert!(said("read").contains("from a file"), "{}", said("read"));
    assert!(said("echo").contains("from a shell"), "{}", said("echo"));
    assert!(!said("secret").contains("hidden"), "{}", said("secret"));
    for refused in ["touch", "write"] {
        assert!(said(refused).contains("nobody can be asked"), "{}", said(refused));
    }
    assert!(!world.path("made-by-shell").exists() && !world.path("made-by-tool").exists());
}
