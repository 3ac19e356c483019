//! Settings end to end: what they do to a session, and `tiller config`.

use serde_json::{Value, json};
use tiller_testkit::Reply;

use crate::harness::{Run, World, held_by_namespaces};

fn request(world: &World) -> Value {
    world.server.messages().pop().unwrap().body().clone()
}

fn write_user(world: &World, text: &str) {
    fs_err::create_dir_all(world.config_dir()).unwrap();
    fs_err::write(world.config_dir().join("settings.json"), text).unwrap();
}

fn touch(id: &str, file: &str) -> Reply {
    Reply::new().tool_with_id(id, "Bash", json!({"command": format!("touch {file}")}))
}

/// Runs with commands `touch one` and `touch two`; says which of them were run.
fn touched(world: &World, args: &[&str]) -> (Run, [bool; 2]) {
    world.server.replies([touch("a", "one"), touch("b", "two"), Reply::text("done")]);
    let run = world.run(&[&["-p", "go"][..], args].concat());
    world.server.assert_clean();
    let done = ["one", "two"].map(|file| world.path(file).exists());
    (run, done)
}

// What is one person's does not become a part of the repository by `git add -A`.
#[test]
fn local_settings_stay_out_of_the_repository() {
    let world = World::new();
    let git = |args: &[&str]| {
        let output =
            std::process::Command::new("git").arg("-C").arg(world.dir()).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    world.run(&["config", "set", "model", "opus", "--local"]).ok();
    assert!(world.path(".tiller/settings.local.json").exists());
    assert_eq!(git(&["status", "--porcelain", "--untracked-files=all"]), "");
    world.run(&["config", "set", "model", "opus", "--project"]).ok();
    assert_eq!(git(&["status", "--porcelain", "--untracked-files=all"]), "?? .tiller/settings.json\n");
}

#[test]
fn the_model_comes_from_the_highest_layer() {
    let world = World::new().file(".tiller/settings.json", "{\n  // ours\n  \"model\": \"opus\",\n}");
    write_user(&world, r#"{"model": "haiku", "fallbackModel": "sonnet"}"#);
    let model = |args: &[&str]| {
        world.server.reply(Reply::text("ok"));
        world.run(&[&["-p", "go"][..], args].concat()).ok();
        request(&world)["model"].as_str().unwrap().to_owned()
    };
    for (args, word) in [
        (&[][..], "opus"),
        (&["--setting-sources", "user"], "haiku"),
        (&["--setting-sources="], "sonnet"),
        (&["--setting-sources", ""], "sonnet"),
        (&["--no-project-settings"], "haiku"),
        (&["--settings", r#"{"model": "haiku"}"#], "haiku"),
        (&["--settings", r#"{"model": "haiku"}"#, "--model", "opus"], "opus"),
    ] {
        assert!(model(args).contains(word), "{args:?}: {}", model(args));
    }
    world.server.assert_clean();
}

#[test]
fn rules_of_all_files_count() {
    if !held_by_namespaces() {
        return;
    }
    let world =
        World::new().file(".tiller/settings.json", r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#).file(
            ".claude/settings.local.json",
            r#"{"permissions": {"deny": ["Bash(touch two)"]}, "statusLine": {}}"#,
        );
    let (run, done) = touched(&world, &[]);
    assert_eq!((done, run.code()), ([true, false], 3), "{run:#?}");
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);

    let world =
        World::new().file(".tiller/settings.json", r#"{"permissions": {"ask": ["Bash(touch two)"]}}"#);
    let (run, done) = touched(&world, &["--allowedTools", "Bash"]);
    assert_eq!(done, [true, false], "there is nobody to ask: {run:#?}");

    let world = World::new();
    write_user(&world, r#"{"permissions": {"deny": ["WebFetch", "Bash"]}}"#);
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "go"]).ok();
    let tools = request(&world)["tools"].to_string();
    assert!(!tools.contains("\"WebFetch\"") && tools.contains("\"Read\""));
    world.server.assert_clean();
}

// PERM-01
#[test]
fn the_mode_comes_from_the_settings_unless_an_option_names_one() {
    for (mode, args, done) in [
        ("bypassPermissions", &[][..], [true, true]),
        ("default", &[], [false, false]),
        ("bypassPermissions", &["--permission-mode", "dontAsk"], [false, false]),
        ("plan", &["--dangerously-skip-permissions"], [true, true]),
    ] {
        let world = World::new();
        write_user(&world, &json!({"permissions": {"defaultMode": mode}}).to_string());
        assert_eq!(touched(&world, args).1, done, "{mode} {args:?}");
    }
    let world = World::new().file(".tiller/settings.json", r#"{"permissions": {"defaultMode": "yolo"}}"#);
    let run = world.run(&["-p", "go"]);
    assert_eq!(run.code(), 1);
    for word in [".tiller/settings.json: line 1, column 33", "yolo", "acceptEdits"] {
        assert!(run.stderr.contains(word), "{word}: {}", run.stderr);
    }
    world.server.assert_clean();
}

#[test]
fn a_session_left_while_planning_goes_on_planning_whatever_the_settings_say() {
    let world = World::new();
    write_user(&world, r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#);
    world.server.reply(Reply::text("ok"));
    world.run(&["-p", "go", "--permission-mode", "plan"]).ok();
    assert_eq!(touched(&world, &["--continue"]).1, [false, false]);
    assert_eq!(touched(&world, &[]).1, [true, true]);
}

#[test]
fn the_mode_that_asks_nothing_can_be_disabled() {
    let world = World::new();
    write_user(&world, r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#);
    let run = world.run(&["-p", "go", "--dangerously-skip-permissions"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("disabled by") && run.stderr.contains("settings.json"), "{}", run.stderr);
    assert_eq!(touched(&world, &[]).1, [false, false]);
}

#[test]
fn further_directories_come_from_settings_too() {
    let other = tempfile::tempdir().unwrap();
    let file = fs_err::canonicalize(other.path()).unwrap().join("new");
    let world = World::new();
    let dirs = json!({"permissions": {"additionalDirectories": [other.path(), "/nowhere/at/all"]}});
    write_user(&world, &dirs.to_string());
    world.server.replies([
        Reply::new().tool("Write", json!({"file_path": file, "content": "x"})),
        Reply::text("done"),
    ]);
    let run = world.run(&["-p", "go", "--permission-mode", "acceptEdits"]).ok();
    assert!(file.exists(), "{run:#?}");
    assert!(run.stderr.contains("/nowhere/at/all is not a directory"), "{}", run.stderr);
    world.server.assert_clean();
}

#[test]
fn what_is_not_understood_is_said_and_the_rest_counts() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new().file(
        ".tiller/settings.json",
        "{\n  \"modle\": 1,\n  \"fallbackModel\": [],\n  \"permissions\": {\"allow\": [\"Bash(touch one)\", \"Bash(\"]}\n}",
    );
    let (run, done) = touched(&world, &[]);
    assert_eq!(done, [true, false], "{run:#?}");
    let warnings: Vec<&str> = run.stderr.lines().filter(|line| line.contains("warning")).collect();
    assert_eq!(warnings.len(), 3, "{}", run.stderr);
    for (warning, words) in
        warnings.iter().zip(["did you mean model?", "line 3, column 20", "\"Bash(\" is not a rule"])
    {
        assert!(warning.contains(words) && warning.contains(".tiller/settings.json"), "{warning}");
    }
    world.write(".tiller/settings.json", r#"{"permissions": {"deny": ["Bash("]}}"#);
    let run = world.run(&["-p", "go"]);
    assert_eq!(run.code(), 1);
    assert!(run.stderr.contains("permissions.deny: \"Bash(\" is not a rule"), "{}", run.stderr);
}

// LOG-06
#[test]
fn settings_are_set_where_they_shall_be_and_looked_up() {
    let world = World::new().file(".tiller/settings.json", "{\n  // ours\n  \"other\": 1\n}\n");
    let get = |key: &str| world.run(&["config", "get", key]).ok().stdout.trim_end().to_owned();
    assert_eq!(get("model"), "sonnet");
    world.run(&["config", "set", "model", "opus"]).ok();
    assert_eq!(get("model"), "opus");
    world.run(&["config", "set", "model", "haiku", "--project"]).ok();
    assert_eq!(get("model"), "haiku");
    assert_eq!(
        world.read(".tiller/settings.json"),
        "{\n  // ours\n  \"other\": 1,\n  \"model\": \"haiku\"\n}\n"
    );
    let run = world.run(&["config", "set", "model", "sonnet", "--user"]).ok();
    assert!(run.stderr.contains("sets it to \"haiku\" and takes precedence over"), "{}", run.stderr);
    world.run(&["config", "set", "permissions.deny", r#"["Bash"]"#, "--local"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&get("permissions.deny")).unwrap(), json!(["Bash"]));
    assert!(world.read(".tiller/settings.local.json").contains("Bash"));
}

#[test]
fn settings_are_listed_with_their_origins() {
    let world = World::new().file(".tiller/settings.json", r#"{"permissions": {"deny": ["Bash"]}}"#);
    write_user(&world, r#"{"model": "opus", "permissions": {"deny": ["Edit"]}}"#);
    let list = world.run(&["config", "list"]).ok().stdout;
    assert!(list.contains("model = \"opus\"\n") && !list.contains("settings.json"), "{list}");
    let list = world.run(&["config", "list", "--provenance"]).ok().stdout;
    let project = world.path(".tiller/settings.json");
    assert!(
        list.contains(&format!("permissions.deny = \"Bash\"  (project: {})", project.display())),
        "{list}"
    );
    assert!(list.contains("sandbox.network = \"allow\"  (default)"), "{list}");
    let values: Value = serde_json::from_str(&world.run(&["config", "list", "--json"]).ok().stdout).unwrap();
    assert_eq!(values["permissions"]["deny"], json!(["Edit", "Bash"]));
    let rows = world.run(&["config", "list", "--json", "--provenance"]).ok().stdout;
    let rows: Vec<Value> = serde_json::from_str(&rows).unwrap();
    let row = rows.iter().find(|row| row["value"] == "Bash").unwrap();
    assert_eq!((row["key"].as_str(), row["layer"].as_str()), (Some("permissions.deny"), Some("project")));
    assert_eq!(row["file"], json!(project));
}

#[test]
fn the_schema_is_printed() {
    let schema: Value = serde_json::from_str(&World::new().run(&["config", "schema"]).ok().stdout).unwrap();
    assert_eq!(schema["properties"]["model"]["type"], "string");
}

#[test]
fn config_says_what_is_wrong() {
    let world = World::new();
    let help = world.run(&["config", "--help"]).ok().stdout;
    assert!(help.contains("Usage: tiller config") && help.contains("schema"), "{help}");
    assert!(world.run(&["config", "set", "--help"]).ok().stdout.contains("--local"));
    for (args, code, word) in [
        (&["get", "modle"][..], 1, "did you mean model?"),
        (&["set", "permissions.defaultMode", "yolo"], 1, "acceptEdits"),
        (&["set", "model"], 1, "<VALUE>"),
        (&["set", "model", "opus", "--user", "--local"], 1, "--local"),
        (&["frobnicate"], 2, "frobnicate"),
        (&["list", "--all"], 2, "--all"),
        (&["get", "model", "--settings"], 2, "--settings"),
    ] {
        let run = world.run(&[&["config"][..], args].concat());
        assert_eq!((run.code(), run.stdout.as_str()), (code, ""), "{args:?}: {run:#?}");
        assert!(run.stderr.contains(word), "{args:?}: {}", run.stderr);
    }
    assert!(!world.config_dir().exists(), "nothing was written");
}

#[test]
fn variables_of_settings_reach_commands() {
    let world = World::new().file(".tiller/settings.json", r#"{"env": {"GREETING": "hello"}}"#);
    world.server.replies([
        Reply::new().tool_with_id("call", "Bash", json!({"command": "echo $GREETING there"})),
        Reply::text("ok"),
    ]);
    world.run(&["-p", "go", "--permission-mode", "bypassPermissions"]).ok();
    assert!(world.server.messages()[1].body()["messages"].to_string().contains("hello there"));
    world.server.assert_clean();
}
