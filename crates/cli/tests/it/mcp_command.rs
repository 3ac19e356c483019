//! `tiller mcp`: servers added, looked at and taken out; and Tiller as a server itself.

use serde_json::{Value, json};
use tiller_testkit::{Reply, mcp_server};

use crate::harness::{World, result_text};
use crate::mcp::go;

#[test]
fn servers_are_added_listed_tried_and_taken_out() {
    let world = World::new();
    assert!(world.run(&["mcp", "list"]).ok().stdout.contains("There are no MCP servers here"));
    let script = mcp_server().display().to_string();
    let added =
        world.run(&["mcp", "add", "fake", "python3", "--env", "A=b=c", "--", &script, "--marker", "m"]).ok();
    assert!(added.stdout.contains("fake stands in"), "{}", added.stdout);
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

#[test]
fn what_cannot_be_a_server_is_refused() {
    let world = World::new();
    for (words, said) in [
        (&["add", "a/b", "x"][..], "letters, digits"),
        (&["add", "a", "https://example.org", "--env", "A=b"], "no variables"),
        (&["add", "a", "x", "--header", "A: b"], "gets no headers"),
        (&["add", "a", "x", "--transport", "sse"], "none of stdio, http"),
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
