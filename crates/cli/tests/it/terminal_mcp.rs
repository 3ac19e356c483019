//! MCP servers at a terminal: where they stand, what they ask, and their prompts, with keys and a screen.

use serde_json::json;
use tiller_testkit::terminal::Program;
use tiller_testkit::{McpService, Reply};

use crate::harness::{World, eventually, result_text, write_program};
use crate::mcp::{configure, world_with};
use crate::terminal::{ENTER, ESC, READY, begin, leave, open, say, until_asked, until_done};

/// Opens `/mcp` as often as it takes until it says this.
fn until_listed(program: &Program, line: &str) {
    say(program, "/mcp");
    program.until_shown("── Servers");
    program.until_shown(line);
}

fn close(program: &Program) {
    program.type_in(ESC);
    program.until_shown(READY);
}

/// What the server was told of its question.
fn told(world: &World, call: &str) -> String {
    result_text(world.server.messages().pop().unwrap().body(), call)
}

#[test]
fn the_list_says_where_servers_stand_and_steers_them() {
    let world = World::new();
    configure(&world, &[("broken", &["die"]), ("fake", &[])]);
    let program = begin(&world, &["--trust"]);
    until_listed(&program, "fake  ready");
    program.until_shown("broken  failed: it ended with exit code 4: cannot find my");
    program.until_shown("19 tools, 1 prompt, 2 resources");
    program.type_in("2");
    program.until_shown("fake: ready");
    program.type_in("1");
    program.until_shown("mcp__fake__echo  Says the text again (changes nothing, it says)");
    close(&program);
    until_listed(&program, "fake  ready");
    program.type_in("2");
    program.until_shown("3. Switch it off for this session");
    program.type_in("3");
    program.until_shown(READY);
    until_listed(&program, "fake  switched off");
    program.type_in("2");
    program.until_shown("2. Start it");
    program.type_in("2");
    program.until_shown(READY);
    until_listed(&program, "fake  ready");
    close(&program);
    leave(program);
}

#[test]
fn a_form_of_a_server_is_filled_in_or_declined() {
    let world = world_with(&[]);
    let ask = |id: &str| Reply::new().tool_with_id(id, "mcp__fake__elicit", json!({}));
    world.server.replies([ask("a"), Reply::text("Filled in."), ask("b"), Reply::text("Declined.")]);
    let program = begin(&world, &["--trust", "--allowedTools", "mcp__fake__elicit"]);
    say(&program, "ask me");
    program.until_shown("fake wants to know");
    until_asked(&program, "What is your name?");
    program.type_in("Ada");
    program.until_shown("› Ada");
    program.type_in(ENTER);
    program.until_shown("age");
    program.type_in(ENTER);
    until_done(&program, "● Filled in.");
    let filled = told(&world, "a");
    assert!(filled.contains("accept") && filled.contains("Ada") && filled.contains('7'), "{filled}");
    say(&program, "once more");
    until_asked(&program, "fake wants to know");
    program.type_in(ESC);
    until_done(&program, "● Declined.");
    let declined = told(&world, "b");
    assert!(declined.contains("decline") && !declined.contains("Ada"), "{declined}");
    leave(program);
}

// MCP-06
#[test]
fn a_page_of_a_server_is_opened_for_whoever_agrees_and_for_nobody_else() {
    let world = world_with(&[]);
    let opened = world.path("opened");
    let script = format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display());
    write_program(&world.path("browser"), &script);
    let browser = world.path("browser").display().to_string();
    let world = world.var("BROWSER", &browser);
    let ask = |id: &str, url: &str| Reply::new().tool_with_id(id, "mcp__fake__elicit", json!({"text": url}));
    world.server.replies([
        ask("a", "https://example.org/a?b=1"),
        Reply::text("Not visited."),
        ask("b", "http://example.org/b"),
        Reply::text("Not opened."),
        ask("c", "HTTPS://Example.org/c"),
        Reply::text("Visited."),
    ]);
    let program = begin(&world, &["--trust", "--allowedTools", "mcp__fake__elicit"]);
    say(&program, "ask me");
    program.until_shown("fake asks you to visit a page");
    program.until_shown("https://example.org/a?b=1");
    until_asked(&program, "The page is on example.org.");
    program.type_in("3");
    until_done(&program, "● Not visited.");
    assert!(told(&world, "a").contains("decline"));
    say(&program, "again");
    until_asked(&program, "The connection is not encrypted.");
    program.type_in("1");
    until_done(&program, "● Not opened.");
    assert!(told(&world, "b").contains("accept"));
    assert!(!opened.exists(), "nobody has agreed to open anything");
    say(&program, "once more");
    until_asked(&program, "1. Open it in the browser");
    program.type_in("1");
    until_done(&program, "● Visited.");
    assert!(told(&world, "c").contains("accept"));
    eventually("the browser was started", || {
        opened.exists() && world.read("opened") == "https://example.org/c"
    });
    leave(program);
}

#[test]
fn a_server_asks_the_model_only_if_the_user_lets_it() {
    let world = world_with(&[]);
    let ask = |id: &str| Reply::new().tool_with_id(id, "mcp__fake__sample", json!({}));
    world.server.replies([
        ask("a"),
        Reply::text("No answer for it."),
        ask("b"),
        Reply::text("Paris"),
        Reply::text("It knows now."),
    ]);
    let program = begin(&world, &["--trust", "--allowedTools", "mcp__fake__sample"]);
    say(&program, "let it ask");
    program.until_shown("fake wants to ask the model");
    program.until_shown("What is the capital of France?");
    until_asked(&program, "at most 50 tokens");
    program.type_in("2");
    until_done(&program, "● No answer for it.");
    assert!(told(&world, "a").contains("the user does not allow it"));
    assert_eq!(world.server.messages().len(), 2);
    say(&program, "again");
    until_asked(&program, "fake wants to ask the model");
    program.type_in("1");
    until_done(&program, "● It knows now.");
    assert!(told(&world, "b").contains("Paris"));
    leave(program);
}

#[test]
fn prompts_of_servers_are_in_the_menu_and_can_be_called_up() {
    let world = world_with(&[]);
    world.server.reply(Reply::text("Good day, Ada."));
    let program = begin(&world, &["--trust"]);
    until_listed(&program, "fake  ready");
    close(&program);
    program.type_in("/mcp__");
    program.until_shown("/mcp__fake__greet <who> [how]");
    program.until_shown("Greets somebody");
    program.type_in("fake__greet Ada kindly");
    program.until_shown("/mcp__fake__greet Ada kindly");
    program.type_in(ENTER);
    until_done(&program, "● Good day, Ada.");
    let sent = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(sent.contains("Greet Ada kindly.") && sent.contains("/mcp__fake__greet Ada kindly"), "{sent}");
    say(&program, "/mcp__fake__greet");
    program.until_shown("mcp__fake__greet needs who: write it behind the name");
    assert_eq!(world.server.messages().len(), 1, "nothing of it is for the model");
    leave(program);
}

#[test]
fn servers_of_a_project_wait_until_it_is_trusted() {
    let world = world_with(&["--started", "started"]);
    let program = open(&world, &[], 80, 30);
    program.until_shown("Do you trust");
    program.until_shown("mcpServers.fake");
    program.type_in("2");
    program.until_shown("This project is not trusted");
    program.until_shown(READY);
    say(&program, "/mcp");
    program.until_shown("This session has no server");
    close(&program);
    leave(program);
    assert!(!world.path("started").exists());
    let program = open(&world, &[], 80, 30);
    program.until_shown("Do you trust");
    program.type_in("1");
    program.until_shown(READY);
    until_listed(&program, "fake  ready");
    assert!(world.path("started").exists());
    close(&program);
    leave(program);
}

// SESS-06: a session that begins anew has servers of its own, and has seen no files.
#[test]
fn clearing_starts_servers_anew_and_forgets_files() {
    let world = world_with(&["--started", "started"]).file("note.txt", "before");
    let path = world.path("note.txt");
    let edit = json!({"file_path": path, "old_string": "before", "new_string": "after"});
    world.server.replies([
        Reply::new().tool_with_id("a", "Read", json!({"file_path": path})),
        Reply::text("Seen."),
        Reply::new().tool_with_id("b", "Edit", edit),
        Reply::text("Not seen."),
    ]);
    let program = begin(&world, &["--trust", "--permission-mode", "acceptEdits"]);
    say(&program, "look");
    until_done(&program, "● Seen.");
    eventually("the server has started", || world.path("started").exists());
    fs_err::remove_file(world.path("started")).unwrap();
    say(&program, "/clear");
    program.until("the new session begins", |terminal| terminal.text().matches("⎈ Tiller").count() == 2);
    eventually("another server has started", || world.path("started").exists());
    program.until_shown(READY);
    say(&program, "change it");
    until_done(&program, "● Not seen.");
    assert!(told(&world, "b").contains("Read"), "{}", told(&world, "b"));
    assert_eq!(world.read("note.txt"), "before");
    leave(program);
}

/// A browser that goes wherever it is sent.
pub(crate) fn browser(world: &World) -> String {
    let script =
        "#!/usr/bin/env python3\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n";
    let path = world.path("browser");
    write_program(&path, script);
    path.display().to_string()
}

#[test]
fn a_service_is_signed_in_to_from_the_list() {
    let service = McpService::start();
    let world = World::new();
    let browser = browser(&world);
    let world = world.var("BROWSER", &browser);
    let servers = json!({"mcpServers": {"tracker": {"type": "http", "url": service.url()}}});
    world.write(".mcp.json", &servers.to_string());
    world.server.replies([
        Reply::new().tool_with_id("a", "CallMcpTool", json!({"tool": "mcp__tracker__whoami"})),
        Reply::text("Known."),
    ]);
    let program = begin(&world, &["--trust", "--allowedTools", "mcp__tracker"]);
    until_listed(&program, "tracker  needs sign-in");
    program.type_in(ENTER);
    program.until_shown("2. Sign in");
    program.type_in("2");
    program.until_shown("Sign in to tracker here:");
    program.until_shown("/authorize?");
    program.until_shown(READY);
    until_listed(&program, "tracker  ready");
    close(&program);
    say(&program, "who am I?");
    until_done(&program, "● Known.");
    assert!(told(&world, "a").contains("you are signed in"));
    leave(program);

    // It is remembered, and can be forgotten.
    let got = world.run(&["mcp", "get", "tracker"]);
    assert!(got.stdout.contains("tracker: ready"), "{got:?}");
    assert!(world.run(&["mcp", "logout", "tracker"]).ok().stdout.contains("You are signed out of tracker."));
    let got = world.run(&["mcp", "get", "tracker"]);
    assert_eq!(got.code(), 1, "{got:?}");
    assert!(got.stdout.contains("needs sign-in"), "{got:?}");
    let signed_in = world.run(&["mcp", "login", "tracker"]).ok();
    assert!(signed_in.stdout.contains("You are now signed in to tracker."), "{signed_in:?}");
    eventually("it works again", || world.run(&["mcp", "get", "tracker"]).code() == 0);
}
