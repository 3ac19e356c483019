//! The command line: what it accepts, what it refuses, and how it says so.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{World, held_by_namespaces, result_text};

fn request(world: &World) -> Value {
    world.server.messages().pop().unwrap().body().clone()
}

fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Runs with an answer ready; gives the request that was made.
fn asked_with(world: World, args: &[&str]) -> (World, Value) {
    world.server.reply(Reply::text("ok"));
    world.run(&[&["-p", "go"][..], args].concat()).ok();
    let request = request(&world);
    world.server.assert_clean();
    (world, request)
}

#[track_caller]
fn refused(world: &World, args: &[&str], code: i32, words: &[&str]) {
    let run = world.run(args);
    assert_eq!((run.code(), run.stdout.as_str()), (code, ""), "{args:?}: {run:#?}");
    for word in words {
        assert!(run.stderr.contains(word), "{args:?}: {word} is not in {}", run.stderr);
    }
    assert_eq!(world.server.requests().len(), 0);
}

#[test]
fn help_is_a_command_and_not_a_prompt() {
    let world = World::new();
    for (args, same) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "rewind"], &["rewind", "--help"]),
        (&["help", "sessions", "list"], &["sessions", "list", "--help"]),
    ] {
        assert_eq!(world.run(args).ok().stdout, world.run(same).ok().stdout, "{args:?}");
    }
    assert_eq!(world.server.requests().len(), 0);
}

#[test]
fn wrong_values_are_refused_with_1() {
    let world = World::new();
    for (args, words) in [
        (&["--output-format", "yaml"][..], &["yaml", "stream-json"][..]),
        (&["--input-format", "yaml"], &["yaml", "stream-json"]),
        (&["--max-turns", "0"], &["--max-turns", "0"]),
        (&["--max-turns", "many"], &["--max-turns", "many"]),
        (&["--max-budget-usd", "-1"], &["--max-budget-usd", "greater than 0"]),
        (&["--max-budget-usd", "nan"], &["--max-budget-usd", "greater than 0"]),
        (&["--effort", "extreme"], &["extreme", "xhigh"]),
        (&["--permission-mode", "yolo"], &["unknown permission mode", "dontAsk"]),
        (&["--permission-prompt-tool", "mcp__x__y"], &["mcp__x__y", "neither stdio nor the tool"]),
        (&["--permission-prompt-tool", "stdio"], &["needs --input-format stream-json"]),
        (&["--allowedTools", "Bash(git"], &["\"Bash(git\" is not a rule"]),
        (&["--disallowedTools", "(x)"], &["is not a rule"]),
        (&["--tools", "Read,Teleport"], &["no tool named Teleport", "Read"]),
        (&["--add-dir", "nowhere"], &["nowhere", "not a directory"]),
        (&["--fallback-model", "sonnet"], &["--fallback-model must differ"]),
        (&["--fallback-model", "sonnet[1m]"], &["--fallback-model must differ"]),
        (&["--dangerously-skip-permissions", "--permission-mode", "plan"], &["contradicts"]),
    ] {
        refused(&world, &[&["-p", "go"][..], args].concat(), 1, words);
    }
    refused(&world, &["--input-format", "stream-json"], 1, &["needs --output-format stream-json"]);
    world.server.assert_clean();
}

#[test]
fn an_unknown_option_is_refused_with_2_and_a_suggestion() {
    let world = World::new();
    refused(&world, &["-p", "go", "--permision-mode", "plan"], 2, &["--permision-mode", "--permission-mode"]);
    world.server.assert_clean();
}

// SDKs are newer than any program they start: options they invent must not stop it.
#[test]
fn hosts_get_a_warning_for_unknown_options() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    let mut live = world.talk(&["--from-the-future", "value", "--flag-of-tomorrow", "--strange=1"]);
    live.say("go");
    assert_eq!(live.turn().pop().unwrap()["result"], "ok");
    let end = live.finish();
    assert_eq!(end.code, 0);
    let warned: Vec<&str> = end.stderr.lines().collect();
    assert_eq!(warned.len(), 3, "{}", end.stderr);
    for option in ["--from-the-future", "--flag-of-tomorrow", "--strange"] {
        assert!(end.stderr.contains(&format!("unknown option {option} is ignored")), "{}", end.stderr);
    }
    world.server.assert_clean();
}

// An option that takes no value may stand before a prompt: then nothing is done, and that is said.
#[test]
fn a_prompt_that_is_taken_for_a_value_is_named() {
    let world = World::new();
    let end = world.talk(&["--brand-new-switch", "do the work"]).finish();
    let warned =
        r#"unknown option --brand-new-switch is ignored, and so is "do the work", taken for its value"#;
    assert!(end.stderr.contains(warned), "{}", end.stderr);
    world.server.reply(Reply::text("ok"));
    let end = world.talk(&["--brand-new-switch", "--", "do the work"]).finish();
    assert_eq!((end.result().0["result"].as_str(), end.code), (Some("ok"), 0));
    world.server.assert_clean();
}

// What a host rules out must not happen because an option is not known yet.
#[test]
fn options_that_restrict_a_run_are_never_ignored() {
    let world = World::new();
    for option in ["--managed-settings={}", "--resume-session-at=x"] {
        let end = world.talk(&[option]).finish();
        assert_eq!(end.code, 1, "{option}");
        assert!(end.stderr.contains("not supported"), "{option}: {}", end.stderr);
    }
    world.server.assert_clean();
}

// MODEL-04
#[test]
fn no_model_in_particular_is_the_usual_one() {
    for name in ["", " ", "default"] {
        let (_, request) = asked_with(World::new(), &["--model", name, "--fallback-model", name]);
        assert_eq!(request["model"], "claude-sonnet-5-5", "{name:?}");
    }
    let world = World::new();
    world.write(".tiller/settings.json", r#"{"model": "haiku"}"#);
    let (_, request) = asked_with(world, &["--model", "", "--setting-sources", "user,project"]);
    assert_eq!(request["model"], "claude-haiku-5-5", "what settings say still counts");
}

// STEER-51, STEER-52
#[test]
fn text_can_be_appended_to_the_system_prompt() {
    let world = World::new().file("rules/style.md", "Use tabs.\n");
    for args in [["--append-system-prompt", "Use tabs.\n"], ["--append-system-prompt-file", "rules/style.md"]]
    {
        let (_, request) =
            asked_with(World::new().file("rules/style.md", &world.read("rules/style.md")), &args);
        let system = request["system"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
        assert!(
            system.starts_with("You are Tiller") && system.ends_with("\n\nUse tabs.\n"),
            "{args:?}: {system}"
        );
    }
}

#[test]
fn the_system_prompt_can_be_replaced() {
    let (_, request) = asked_with(World::new(), &["--system-prompt", "Be a bird."]);
    assert_eq!(request["system"].as_array().unwrap().len(), 1);
    assert_eq!(request["system"][0]["text"], "Be a bird.");
    let (_, request) =
        asked_with(World::new().file("p", "\u{feff}Be a fish."), &["--system-prompt-file", "p"]);
    assert_eq!(request["system"][0]["text"], "Be a fish.", "the mark of some editors is left out");
    let (_, request) = asked_with(World::new(), &["--system-prompt", ""]);
    assert_eq!(request["system"], Value::Null);
}

// STEER-53, STEER-54
#[test]
fn prompt_options_that_cannot_be_followed_are_refused() {
    let world = World::new().file("p", "x");
    fs_err::write(world.path("binary"), b"\xff\xfe\x00").unwrap();
    let missing = world.path("missing").display().to_string();
    for prefix in ["--append-system-prompt", "--system-prompt"] {
        let file = format!("{prefix}-file");
        refused(&world, &["-p", "go", prefix, "x", &file, "p"], 1, &[prefix, "cannot be used together"]);
        refused(&world, &["-p", "go", &file, "missing"], 1, &["was not found", &missing]);
        refused(&world, &["-p", "go", &file, "."], 1, &["could not be read", "directory"]);
        refused(&world, &["-p", "go", &file, "binary"], 1, &["could not be read", "UTF-8"]);
    }
    world.server.assert_clean();
}

#[test]
fn the_tools_on_offer_can_be_chosen() {
    let all = tool_names(&asked_with(World::new(), &[]).1);
    assert!(all.len() > 8, "{all:?}");
    assert_eq!(tool_names(&asked_with(World::new(), &["--tools", "default"]).1), all);
    assert_eq!(tool_names(&asked_with(World::new(), &["--tools", "Read,Bash"]).1).len(), 2);
    assert_eq!(asked_with(World::new(), &["--tools", ""]).1["tools"], Value::Null);
    assert_eq!(asked_with(World::new(), &["--tools="]).1["tools"], Value::Null);
    let fewer = tool_names(&asked_with(World::new(), &["--disallowedTools", "Bash,WebFetch,Read(secret)"]).1);
    let gone: Vec<&String> = all.iter().filter(|name| !fewer.contains(name)).collect();
    assert_eq!(gone, ["Bash", "WebFetch"]);
}

// PROMPT-04: the prompt does not speak of tools that are not there.
#[test]
fn the_prompt_follows_the_tools() {
    let (_, request) = asked_with(World::new(), &["--tools", "Read"]);
    let system = request["system"].to_string();
    for absent in ["TodoWrite", "WebFetch", "KillShell"] {
        assert!(!system.contains(absent), "{absent}");
    }
}

// PERM-01, PERM-02, PERM-03, PERM-04: an edit inside, an edit outside, a command.
#[test]
fn each_mode_allows_what_it_says() {
    if !held_by_namespaces() {
        return;
    }
    for (mode, allowed) in [
        ("default", [false, false, false]),
        ("acceptEdits", [true, false, true]),
        ("bypassPermissions", [true, true, true]),
        ("dontAsk", [false, false, false]),
        ("plan", [false, false, false]),
    ] {
        let world = World::new();
        let outside = tempfile::tempdir().unwrap();
        let outside = fs_err::canonicalize(outside.path()).unwrap();
        let files = [world.path("inside"), outside.join("outside"), world.path("command")];
        let write =
            |file: &std::path::Path| Reply::new().tool("Write", json!({"file_path": file, "content": "x"}));
        world.server.replies([
            write(&files[0]),
            write(&files[1]),
            Reply::new().tool("Bash", json!({"command": "touch command"})),
            Reply::text("done"),
        ]);
        let run = world.run(&["-p", "go", "--permission-mode", mode, "--output-format", "json"]);
        let done = files.each_ref().map(|file| file.exists());
        assert_eq!(done, allowed, "{mode}: {run:#?}");
        let denials = run.frames()[0]["permission_denials"].as_array().unwrap().len();
        // In plan mode the kernel lets the command run and lets it change nothing; only without its help is it denied.
        let held = usize::from(mode == "plan" && denials == 2);
        assert_eq!(denials + held, allowed.iter().filter(|allowed| !**allowed).count(), "{mode}");
        world.server.assert_clean();
    }
}

// PERM-03: a rule against something holds in every mode.
#[test]
fn rules_allow_and_forbid() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let bash = |id: &str, command: &str| Reply::new().tool_with_id(id, "Bash", json!({"command": command}));
    world.server.replies([bash("a", "touch one"), bash("b", "touch two"), Reply::text("done")]);
    let run = world.run(&["-p", "go", "--allowedTools", "Bash(touch one),Edit"]);
    assert_eq!(
        (run.code(), world.path("one").exists(), world.path("two").exists()),
        (3, true, false),
        "{run:#?}"
    );
    world.server.assert_clean();

    let world = World::new();
    world.server.replies([bash("a", "touch one"), bash("b", "touch two"), Reply::text("done")]);
    let run = world.run(&[
        "-p",
        "go",
        "--permission-mode",
        "bypassPermissions",
        "--disallowed-tools",
        "Bash(touch two)",
    ]);
    assert_eq!(
        (run.code(), world.path("one").exists(), world.path("two").exists()),
        (3, true, false),
        "{run:#?}"
    );
    assert!(result_text(&request(&world), "b").contains("Bash(touch two)"));
    world.server.assert_clean();
}

#[test]
fn further_directories_are_working_directories() {
    let other = tempfile::tempdir().unwrap();
    let other = fs_err::canonicalize(other.path()).unwrap();
    let file = other.join("new");
    let world = World::new();
    world.server.replies([
        Reply::new().tool("Write", json!({"file_path": file, "content": "x"})),
        Reply::text("done"),
    ]);
    world.run(&["-p", "go", "--permission-mode", "acceptEdits", "--add-dir", other.to_str().unwrap()]).ok();
    assert_eq!(fs_err::read_to_string(file).unwrap(), "x");
    assert!(request(&world)["system"].to_string().contains(other.to_str().unwrap()));
    world.server.assert_clean();
}

#[test]
fn the_version_comes_in_two_spellings() {
    let world = World::new();
    let [short, long] = ["-v", "--version"].map(|flag| world.run(&[flag]).ok().stdout);
    assert_eq!(short, long);
    // SDKs expect three numbers at the beginning, of which the first is at least 2.
    let (number, name) = short.split_once(' ').unwrap();
    let numbers: Vec<u32> = number.split('.').map(|part| part.parse().unwrap()).collect();
    assert!(numbers.len() == 3 && numbers[0] >= 2, "{short}");
    assert_eq!(name, concat!("(Tiller ", env!("CARGO_PKG_VERSION"), ")\n"));
    world.server.assert_clean();
}

#[test]
fn help_explains_exit_codes_and_commands() {
    let help = World::new().run(&["--help"]).ok();
    for words in [
        "Exit codes",
        "130  interrupted",
        "  3  the work ended at a tool that was denied",
        " 10  the work ended at a question",
        "tiller demo",
        "tiller mcp",
        "ANTHROPIC_API_KEY",
    ] {
        assert!(help.stdout.contains(words), "{words}");
    }
    assert_eq!(help.stderr, "");
}

#[test]
fn the_prompt_comes_from_the_line_from_input_or_from_both() {
    for (args, input, prompt) in [
        (&["-p", "say hi"][..], "", "say hi"),
        (&["-p"], "from a pipe\n", "from a pipe"),
        (&["-p", "explain this"], "fn main() {}\n", "explain this\n\nfn main() {}"),
        (&["say hi", "--print"], "", "say hi"),
    ] {
        let world = World::new();
        world.server.reply(Reply::text("ok"));
        assert!(world.run_with_stdin(args, input).status.success());
        let texts = crate::harness::blocks_of(&request(&world), "text");
        assert_eq!(texts.last().unwrap()["text"], prompt, "{args:?}");
        world.server.assert_clean();
    }
}

#[test]
fn a_run_without_prompt_says_what_to_give() {
    let world = World::new();
    refused(&world, &["-p"], 1, &["there is no prompt"]);
    refused(&world, &["-p", "  "], 1, &["there is no prompt"]);
    refused(&world, &[], 1, &["-p", "tiller demo"]);
    refused(&world, &["fix it"], 1, &["-p"]);
    world.server.assert_clean();
}

#[test]
fn nothing_is_kept_when_nothing_shall_be() {
    let (world, _) = asked_with(World::new(), &["--no-session-persistence"]);
    assert_eq!(world.logs().len(), 0);
    assert!(!world.config_dir().exists());
    refused_to_continue(&world);
}

fn refused_to_continue(world: &World) {
    let run = world.run(&["-p", "go", "--continue"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("no session"), "{}", run.stderr);
}

#[test]
fn the_debug_log_goes_where_it_shall() {
    let (world, _) = asked_with(World::new(), &["--debug-file", "logs/debug.jsonl"]);
    let lines: Vec<Value> =
        world.read("logs/debug.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["timestamp"].is_string()));
    let (world, _) = asked_with(World::new(), &["--debug"]);
    assert_eq!(fs_err::read_dir(world.config_dir().join("debug")).unwrap().count(), 1);
}

#[test]
fn verbose_tells_people_what_is_going_on() {
    let world = World::new().file("a", "content\n");
    world.server.replies([Reply::new().tool("Read", json!({"file_path": "a"})), Reply::text("done")]);
    let run = world.run(&["-p", "go", "--verbose"]).ok();
    assert_eq!(run.stdout, "done\n");
    assert!(run.stderr.contains("Read") && run.stderr.contains("content"), "{}", run.stderr);
    world.server.assert_clean();
}

#[test]
fn effort_and_betas_reach_the_provider() {
    let world = World::new();
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "go", "--effort", "low", "--betas", "files-api-2025-04-14,compact-2026-09-04"]).ok();
    let request = world.server.messages().pop().unwrap();
    assert_eq!(request.body()["output_config"]["effort"], "low");
    assert!(
        request.betas().contains(&"files-api-2025-04-14") && request.betas().contains(&"compact-2026-09-04")
    );
    world.server.assert_clean();
}

// A settings file that cannot be understood is named, with the place.
#[test]
fn a_broken_settings_file_is_named() {
    let world = World::new().file(".tiller/settings.json", "{\n  oops");
    refused(&world, &["-p", "go"], 1, &[".tiller/settings.json", "line 2"]);
    world.server.assert_clean();
}

// MODEL-07: the suffix is not sent, and where the window is smaller the user is told that it does nothing.
#[test]
fn a_suffix_that_does_nothing_is_said_to_do_nothing() {
    for (model, sent, warns) in [
        ("claude-haiku-4-5-20251001[1m]", "claude-haiku-4-5-20251001", true),
        ("sonnet[1m]", "claude-sonnet-5-5", false),
    ] {
        let world = World::new();
        world.server.reply(Reply::text("ok"));
        let run = world.run(&["-p", "go", "--model", model]).ok();
        assert_eq!(run.stderr.contains("[1m] has no effect"), warns, "{model}: {}", run.stderr);
        assert_eq!(world.server.messages()[0].body()["model"], sent);
        world.server.assert_clean();
    }
}

// Why the program ends is red where colours are wanted, and plain elsewhere.
#[test]
fn errors_are_red_where_colours_are_wanted() {
    let both = ["-p", "go", "--append-system-prompt", "a", "--append-system-prompt-file", "b"];
    let plain = World::new().run(&both);
    let red = World::new().var("CLICOLOR_FORCE", "1").run(&both);
    assert_eq!((plain.code(), red.code()), (1, 1));
    assert!(plain.stderr.starts_with("tiller: --append-system-prompt and"), "{}", plain.stderr);
    assert_eq!(red.stderr.trim_end(), format!("\x1b[31m{}\x1b[0m", plain.stderr.trim_end()));
}

#[test]
fn what_is_wrong_with_a_value_names_the_option_and_what_fits() {
    let world = World::new();
    for (option, value, said) in [
        ("--session-id", "nope", "it has to be a UUID, such as"),
        ("--settings", "{bad", "--settings: line 1"),
        ("--mcp-config", "{bad", "--mcp-config: line 1"),
    ] {
        let run = world.run(&["-p", "go", option, value]);
        assert_eq!(run.code(), 1, "{run:#?}");
        assert!(run.stderr.contains(option) && run.stderr.contains(said), "{}", run.stderr);
        assert!(!run.stderr.contains("move it away"), "{}", run.stderr);
    }
}

#[test]
fn a_name_that_is_not_utf8_is_called_that() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    let dir = world.dir().join(std::ffi::OsStr::from_bytes(b"dir\xff"));
    fs_err::create_dir(&dir).unwrap();
    let output = world.command(&["-p", "go", "--add-dir"]).arg(&dir).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr.contains("is not UTF-8") && !stderr.contains("is not a directory"), "{stderr}");
    assert_eq!(world.server.messages().len(), 0);
}
