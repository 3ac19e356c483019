//! Slash commands at a terminal, each with the real binary.

use serde_json::{Value, json};
use tiller_testkit::terminal::{LongRows, Program};
use tiller_testkit::{Matcher, Reply};

use crate::harness::{World, eventually};
use crate::terminal::{ENTER, ESC, READY, begin, leave, open, planner, say, until_asked, until_done};

/// Runs a command whose page or list is looked at and closed with Esc.
fn look_at(program: &Program, command: &str, shown: &[&str]) {
    say(program, command);
    shown.iter().for_each(|part| program.until_shown(part));
    program.type_in(ESC);
    program.until_shown(READY);
}

#[test]
fn every_view_opens_and_closes() {
    let world = World::new().file("AGENTS.md", "Be kind.\n");
    world.server.reply(Reply::text("Hello."));
    let program = begin(&world, &[]);
    say(&program, "hello");
    until_done(&program, "● Hello.");
    for (command, shown) in [
        ("/help", &["/output-style", "esc close"][..]),
        ("/context", &["── Context", "system prompt", "free", "The provider counted"]),
        ("/cost", &["── Cost", "claude-sonnet-5-5:"]),
        ("/steering", &["what Tiller added", "% of what is sent"]),
        ("/status", &["── Status", "session", "claude-sonnet-5-5", "asks before changes"]),
        ("/todos", &["The todo list is empty."]),
        ("/tasks", &["Nothing is running in the background."]),
        ("/agents", &["No sub-agents are running.", "Explore"]),
        ("/permissions", &["── Permissions", "Mode: asks before changes"]),
        ("/hooks", &["── Hooks"]),
        ("/config", &["── Settings"]),
        ("/config model", &["── Setting "]),
        ("/doctor", &["── Doctor"]),
        ("/mcp", &["── Servers", "This session has no server of the Model Context Protocol."]),
        ("/memory", &["AGENTS.md", "1 line", "new: for you, in all projects"]),
        ("/mode", &["Which mode? Current: default", "accepts edits · commands"]),
        ("/model", &["Which model?", "opusplan"]),
        ("/output-style", &["Which style should answers have?", "concise", "as few words as possible"]),
        ("/theme", &["Which colours?", "light"]),
        ("/rewind", &["Go back to before which prompt?"]),
    ] {
        look_at(&program, command, shown);
    }
    leave(program);
    assert_eq!(world.server.messages().len(), 1, "none of this is for the model");
}

#[test]
fn what_is_said_on_the_command_line_is_as_if_it_were_typed() {
    let world = World::new();
    world.server.reply(Reply::text("A plan."));
    let program = open(&world, &["/help"], 80, 30);
    program.until_shown("── Help");
    program.type_in(ESC);
    program.until_shown(READY);
    leave(program);
    let program = open(&world, &["/plan tidy up"], 80, 30);
    until_done(&program, "● A plan.");
    program.until_shown("PLAN MODE");
    program.type_in("\x1b[A");
    program.until_shown("› /plan tidy up");
    program.type_in("\x15");
    leave(program);
    let program = open(&world, &["/nonsense"], 80, 30);
    program.until_shown("There is no command /nonsense");
    let program = leave(program);
    assert_eq!(program.printed().matches("o command /nonsense").count(), 1);
    assert_eq!(world.server.messages().len(), 1);
}

#[test]
fn settings_say_where_they_come_from_and_agents_keep_to_their_lines() {
    let world = World::new().file(".tiller/settings.json", r#"{"model": "opus"}"#);
    let program = open(&world, &[], 80, 60);
    program.until_shown(READY);
    look_at(&program, "/config", &["── Settings", "(project: ", ".tiller/settings.json)"]);
    say(&program, "/agents");
    program.until_shown("model: ");
    let shown = program.text();
    let lines = "\n  model: haiku; tools: all without Task, ExitPlanMode, Edit, Write,\n  NotebookEdit, ShellInput, KillShell\nPlan\n";
    assert!(shown.contains(lines), "{shown}");
    program.type_in(ESC);
    leave(program);
}

#[test]
fn an_unknown_model_is_refused_and_a_known_one_is_asked() {
    let world = World::new();
    world.server.replies([Reply::text("Sonnet."), Reply::text("Opus.")]);
    let program = begin(&world, &[]);
    say(&program, "/model bogus");
    program.until_shown("There is no model bogus. Known models: sonnet, opus");
    say(&program, "first");
    until_done(&program, "● Sonnet.");
    say(&program, "/model");
    program.until_shown("Which model? Current: claude-sonnet-5-5");
    program.type_in("opus");
    program.until_shown("search: opus");
    program.type_in("\r");
    program.until_shown("The model is now claude-opus-5-5.");
    say(&program, "second");
    until_done(&program, "● Opus.");
    let asked: Vec<String> =
        world.server.messages().iter().map(|one| one.body()["model"].to_string()).collect();
    assert_eq!(asked, ["\"claude-sonnet-5-5\"", "\"claude-opus-5-5\""]);
    leave(program);
    world.server.assert_clean();
}

// STEER-46
#[test]
fn an_output_style_is_told_kept_and_taken_back() {
    let world = World::new();
    let styles = world.config_dir().join("output-styles");
    fs_err::create_dir_all(&styles).unwrap();
    fs_err::write(styles.join("pirate.md"), "Say arr.\n").unwrap();
    world.server.replies([Reply::text("Arr."), Reply::text("Yes.")]);
    let program = begin(&world, &[]);
    say(&program, "/output-style nosuch");
    program.until_shown("there is no output style named \"nosuch\"");
    say(&program, "/output-style pirate");
    program.until_shown("The output style is pirate from your next message on.");
    say(&program, "hello");
    until_done(&program, "● Arr.");
    let request = world.server.messages()[0].body()["messages"].to_string();
    assert!(request.contains("Say arr."), "{request}");
    eventually("the style is kept", || {
        let settings = fs_err::read_to_string(world.config_dir().join("settings.json")).unwrap_or_default();
        settings.contains("pirate")
    });
    say(&program, "/output-style default");
    program.until_shown("The output style is default");
    say(&program, "again");
    until_done(&program, "● Yes.");
    let request = world.server.messages()[1].body()["messages"].to_string();
    assert!(request.contains("usual way"), "{request}");
    leave(program);
    let log = world.log();
    let shaped: Vec<&Value> = log.iter().filter(|entry| entry["effect"] == "shaped").collect();
    assert_eq!(shaped.len(), 1, "what was chosen meanwhile is on record: {shaped:?}");
    world.server.assert_clean();
}

// A hostile project: how answers should be is for it to say only if it is trusted.
#[test]
fn a_project_that_is_not_trusted_has_no_output_style() {
    let world = World::new().file(".tiller/output-styles/pirate.md", "Obey the file.\n");
    let program = open(&world, &[], 80, 30);
    program.until_shown("Do you trust");
    program.until_shown("outputStyles.pirate");
    program.type_in("2");
    program.until_shown(READY);
    say(&program, "/output-style pirate");
    program.until_shown("there is no output style named \"pirate\"");
    leave(program);
}

#[test]
fn the_rules_of_options_are_listed() {
    let world = World::new();
    let args = ["--allowedTools", "Bash(make:*)", "--disallowedTools", "Read(/secret/**)"];
    let program = begin(&world, &args);
    look_at(&program, "/permissions", &["── Permissions", "Bash(make:*)", "Read(/secret/**)"]);
    leave(program);
}

const GUARD: &str = r#"{"PreToolUse": [{"hooks": [{"type": "command", "command": "NAME"}]}]}"#;

fn hooks_named(name: &str) -> String {
    format!(r#"{{"hooks": {}}}"#, GUARD.replace("NAME", name))
}

const SCOUT: &str = "---\nname: NAME\ndescription: Looks around\n---\nLook.\n";

// A hostile project: what it brings along is not told as if it counted, if it is not trusted.
#[test]
fn views_leave_out_what_an_untrusted_project_says() {
    let world = World::new()
        .file(".tiller/settings.json", &hooks_named("project-guard"))
        .file(".tiller/agents/spy.md", &SCOUT.replace("NAME", "spy"));
    let program = open(&world, &[], 80, 60);
    program.until_shown("Do you trust");
    program.type_in("2");
    program.until_shown(READY);
    look_at(&program, "/hooks", &["── Hooks", "there are no hooks"]);
    look_at(&program, "/doctor", &["── Doctor", "hooks", "none"]);
    say(&program, "/agents");
    program.until_shown("Explore");
    assert!(!program.text().contains("spy"), "{}", program.text());
    program.type_in(ESC);
    program.until_shown(READY);
    leave(program);
}

#[test]
fn views_tell_what_the_options_of_the_session_say() {
    let world = World::new()
        .file("plugin/.claude-plugin/plugin.json", r#"{"name": "extra"}"#)
        .file("plugin/hooks/hooks.json", &hooks_named("plugin-guard"))
        .file("plugin/agents/helper.md", &SCOUT.replace("NAME", "helper"));
    let settings = format!(r#"{{"sandbox": {{"network": "deny"}}, {}"#, &hooks_named("option-guard")[1..]);
    let agents = r#"{"scout": {"description": "Looks around", "prompt": "Look."}}"#;
    let args = ["--settings", settings.as_str(), "--agents", agents, "--plugin-dir", "plugin"];
    let program = open(&world, &args, 80, 60);
    program.until_shown(READY);
    look_at(&program, "/hooks", &["── Hooks", "option-guard", "plugin-guard"]);
    look_at(&program, "/agents", &["scout", "helper"]);
    look_at(&program, "/config sandbox.network", &["── Setting ", "deny"]);
    look_at(&program, "/doctor", &["── Doctor", "1, at PreToolUse"]);
    leave(program);
}

// A hostile model: in delegate mode it tries to write by itself.
#[test]
fn in_delegate_mode_the_agent_changes_nothing_itself() {
    let world = World::new();
    let file = world.path("made");
    world.server.replies([
        Reply::new().tool("Write", json!({"file_path": file, "content": "x"})),
        Reply::text("It is refused."),
    ]);
    let program = begin(&world, &[]);
    say(&program, "/delegate");
    program.until_shown("delegates");
    say(&program, "write it");
    until_done(&program, "● It is refused.");
    assert!(!file.exists());
    say(&program, "/delegate");
    program.until_shown("asks before changes");
    leave(program);
}

fn with_editor(world: &World, args: &[&str]) -> Program {
    let mut command = world.command(args);
    command.env("TERM", "xterm-256color").env("EDITOR", world.path("edit.sh"));
    let program = Program::start(&command, 80, 30, LongRows::Wrap);
    program.until_shown(READY);
    program
}

const APPENDS: &str = "#!/bin/sh\necho 'Added by hand.' >> \"$1\"\n";

#[test]
fn the_plan_is_opened_in_the_users_editor() {
    let world = World::new().program("edit.sh", APPENDS);
    planner(&world);
    let program = with_editor(&world, &[]);
    say(&program, "/plan open");
    program.until_shown("There is no plan yet");
    say(&program, "/plan make it so");
    until_asked(&program, "No, keep planning");
    program.type_in(ESC);
    program.until_shown(READY);
    say(&program, "/plan open");
    program.until_shown("now has 4 lines;");
    look_at(&program, "/plan", &["── The plan", "Touch a file.", "Added by hand."]);
    leave(program);
}

#[test]
fn instructions_are_edited() {
    let world = World::new().program("edit.sh", APPENDS).file("AGENTS.md", "Be kind.\n");
    let program = with_editor(&world, &[]);
    say(&program, "/memory");
    program.until_shown("which file do you want to edit?");
    program.type_in("1");
    program.until_shown("AGENTS.md now has 2 lines; the agent is told with your next message.");
    assert_eq!(world.read("AGENTS.md"), "Be kind.\nAdded by hand.\n");
    leave(program);
}

#[test]
fn sessions_are_searched_and_one_is_continued() {
    let world = World::new();
    for (prompt, said) in [("paint the fence", "It is green."), ("mend the roof", "It is tight.")] {
        world.server.reply(Reply::text(said));
        world.run(&["-p", prompt]).ok();
    }
    let program = begin(&world, &[]);
    say(&program, "/resume");
    program.until_shown("Resume a session (2 here)");
    program.until("each says more than its title", |terminal| terminal.text().matches(" kB · ").count() == 2);
    program.type_in("fence");
    program.until_shown("Resume a session (1 here)");
    program.type_in(ESC);
    program.until_shown(READY);
    // What was answered is found, too.
    say(&program, "/resume tight");
    program.until_shown("assistant: It is tight.");
    program.until_shown("(1 here)");
    program.type_in(ENTER);
    program.until_shown("> mend the roof");
    program.until_shown(READY);
    leave(program);
}

#[test]
fn a_session_is_exported_as_page_text_and_log() {
    let world = World::new();
    world.server.reply(Reply::text("An answer."));
    let program = begin(&world, &[]);
    say(&program, "a question");
    until_done(&program, "● An answer.");
    for (file, beginning) in [("s.html", "<!doctype html>"), ("s.md", "#"), ("s.jsonl", "{")] {
        say(&program, &format!("/export {file}"));
        program.until_shown(&format!("The session was written to {file}"));
        let text = world.read(file).to_lowercase();
        assert!(text.starts_with(beginning) && text.contains("an answer."), "{file}: {text:.200}");
    }
    say(&program, "/export no/such/place.md");
    program.until_shown("no/such/place.md");
    leave(program);
}

#[test]
fn a_setting_is_changed() {
    let world = World::new();
    let program = begin(&world, &[]);
    say(&program, "/config model opus");
    program.until_shown("model is opus in your settings");
    assert!(fs_err::read_to_string(world.config_dir().join("settings.json")).unwrap().contains("opus"));
    say(&program, "/config nosuch 1");
    program.until_shown("nosuch");
    leave(program);
}

// RECALL-03 SESS-13
#[test]
fn a_conversation_is_folded_looked_at_and_unfolded() {
    let world = World::new();
    let summaries =
        world.server.conversation(Matcher::last_user_contains("Write a summary of the session below"));
    summaries.reply(Reply::text("The port is 4711."));
    world.server.replies([Reply::text("An old answer."), Reply::text("A new answer.")]);
    let program = begin(&world, &[]);
    say(&program, "the port is 4711");
    until_done(&program, "● An old answer.");
    say(&program, "/compact mind the port");
    until_done(&program, "The conversation was folded");
    program.until_shown("became a summary");
    look_at(
        &program,
        "/context",
        &["Folded by you", "wanted of the summary: mind the port", "The port is 4711."],
    );
    say(&program, "/compact undo");
    until_done(&program, "The compaction was undone");
    say(&program, "go on");
    until_done(&program, "● A new answer.");
    let request = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(request.contains("An old answer."), "{request}");
    say(&program, "/compact undo");
    program.until_shown("nothing to undo");
    leave(program);
    world.server.assert_clean();
}

#[test]
fn a_command_of_the_users_own_is_offered_and_followed() {
    let world = World::new();
    let commands = world.config_dir().join("commands");
    fs_err::create_dir_all(&commands).unwrap();
    let greet =
        "---\ndescription: Greets somebody\nargument-hint: <name>\n---\nSay hello to $ARGUMENTS, loudly.\n";
    fs_err::write(commands.join("greet.md"), greet).unwrap();
    world.server.reply(Reply::text("HELLO, ADA."));
    let program = begin(&world, &[]);
    program.type_in("/gree");
    program.until_shown("Greets somebody (command of user)");
    program.type_in("t Ada");
    program.until_shown("› /greet Ada");
    program.type_in(ENTER);
    until_done(&program, "● HELLO, ADA.");
    let request = world.server.messages()[0].body()["messages"].to_string();
    assert!(request.contains("Say hello to Ada, loudly."), "{request}");
    leave(program);
    world.server.assert_clean();
}

#[test]
fn colours_and_vim_keys_are_changed_and_kept() {
    let world = World::new();
    let program = begin(&world, &[]);
    say(&program, "/theme nosuch");
    program.until_shown("There is no theme nosuch. Known themes: dark");
    say(&program, "/theme light");
    program.until_gone("› /theme light");
    say(&program, "/vim");
    program.until_shown("Vim keys are on.");
    program.until_shown("· insert");
    eventually("both are kept", || {
        let settings = fs_err::read_to_string(world.config_dir().join("settings.json")).unwrap_or_default();
        settings.contains("\"light\"") && settings.contains("\"vim\": true")
    });
    say(&program, "/vim");
    program.until_shown("Vim keys are off.");
    leave(program);
}

#[test]
fn the_agent_is_asked_to_write_instructions() {
    let world = World::new();
    world.server.reply(Reply::text("They are written."));
    let program = begin(&world, &[]);
    say(&program, "/init");
    until_done(&program, "● They are written.");
    let request = world.server.messages()[0].body()["messages"].to_string();
    assert!(request.contains("AGENTS.md"), "{request}");
    leave(program);
}

#[test]
fn background_work_is_listed_and_stopped() {
    let world = World::new();
    let command = json!({"command": "echo is watched; touch begun; sleep 1000", "run_in_background": true});
    world.server.replies([
        Reply::new().tool("Bash", command),
        Reply::text("It runs."),
        Reply::text("It was stopped."),
    ]);
    let program = begin(&world, &["--permission-mode", "bypassPermissions"]);
    say(&program, "start it");
    until_done(&program, "● It runs.");
    eventually("it runs", || world.path("begun").exists());
    say(&program, "/tasks stop nosuch");
    program.until_shown("There is no background task nosuch");
    say(&program, "/tasks");
    program.until_shown("bash_1  running  echo is watched; touch begun");
    program.type_in(ENTER);
    program.until_shown("── bash_1 ");
    program.until_shown("\nis watched\n");
    program.type_in(ESC);
    program.until_shown("enter output");
    program.type_in("d");
    program.until_shown("Stopping bash_1: echo is watched");
    program.type_in(ESC);
    program.until_shown(READY);
    program.until_gone("1 in background");
    leave(program);
}
