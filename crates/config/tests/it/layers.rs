//! Who wins, who counts, and who is named.

use tiller_config::{CommandLine, HookEvent, Layer, Permissions, Settings, Sources};
use tiller_protocol::mode::Mode;

use crate::world::World;

/// All files say something; each names itself.
fn everywhere() -> World {
    let files = [
        ("home/.claude/settings.json", "user-foreign"),
        ("home/.tiller/settings.json", "user"),
        ("project/.claude/settings.json", "project-foreign"),
        ("project/.tiller/settings.json", "project"),
        ("project/.claude/settings.local.json", "local-foreign"),
        ("project/.tiller/settings.local.json", "local"),
        ("etc/managed-settings.json", "managed"),
    ];
    files.into_iter().fold(World::new(), |world, (file, name)| {
        let text = format!(
            r#"{{"model": "{name}", "env": {{"WHO": "{name}"}}, "permissions": {{"deny": ["Bash({name})"]}},
                "hooks": {{"Stop": [{{"hooks": [{{"type": "command", "command": "{name}"}}]}}]}}}}"#
        );
        world.file(file, &text)
    })
}

fn flags(model: &str) -> CommandLine {
    CommandLine {
        flags: Settings { model: Some(model.to_owned()), ..Settings::default() },
        settings: Some(r#"{"model": "given", "env": {"WHO": "given"}}"#.to_owned()),
        ..CommandLine::default()
    }
}

#[test]
fn the_highest_layer_wins_and_is_named() {
    let world = everywhere();
    let all = [
        ("managed", "etc/managed-settings.json", Layer::Managed),
        ("local", "project/.tiller/settings.local.json", Layer::Local),
        ("project", "project/.tiller/settings.json", Layer::Project),
        ("user", "home/.tiller/settings.json", Layer::User),
    ];
    for (name, file, layer) in all {
        let model = world.load().model;
        assert_eq!((model.value.as_str(), model.origin.layer), (name, layer));
        assert_eq!(model.origin.file, Some(world.path(file)));
        fs_err::remove_file(world.path(file)).unwrap();
    }
    let model = world.load().model;
    assert_eq!(
        (model.value.as_str(), model.origin.layer),
        ("sonnet", Layer::Default),
        "others' files have no model"
    );
}

#[test]
fn the_command_line_is_between_the_policy_and_the_files() {
    let world = everywhere();
    assert_eq!(world.load_with(&flags("flag")).unwrap().model.value, "managed");
    fs_err::remove_file(world.path("etc/managed-settings.json")).unwrap();
    let resolved = world.load_with(&flags("flag")).unwrap();
    assert_eq!((resolved.model.value.as_str(), resolved.model.origin.layer), ("flag", Layer::CommandLine));
    assert_eq!(resolved.env["WHO"].value, "given");
}

#[test]
fn rules_hooks_and_variables_of_all_layers_count_in_order() {
    let world = everywhere();
    let resolved = world.load();
    let order = ["user-foreign", "user", "project-foreign", "project", "local-foreign", "local", "managed"];
    let deny: Vec<&str> = resolved.permissions.deny.iter().map(|rule| rule.value.as_str()).collect();
    assert_eq!(deny, order.map(|name| format!("Bash({name})")));
    let files: Vec<String> = resolved
        .permissions
        .deny
        .iter()
        .map(|rule| world.short(rule.origin.file.as_ref().unwrap()))
        .collect();
    assert_eq!(files[0], "home/.claude/settings.json");
    assert_eq!(files[5], "project/.tiller/settings.local.json");
    assert_eq!(resolved.hooks[&HookEvent::Stop].len(), 7);
    assert_eq!(resolved.env["WHO"].value, "managed");
    assert_eq!(resolved.warnings, []);
}

#[test]
fn sources_can_be_chosen() {
    let world = everywhere();
    for (text, expected) in
        [("user,project,local", 7), ("user", 3), ("project", 3), (" local , user ", 5), ("", 1)]
    {
        let request = CommandLine { sources: text.parse().unwrap(), ..CommandLine::default() };
        assert_eq!(world.load_with(&request).unwrap().permissions.deny.len(), expected, "{text}");
    }
    let request = CommandLine { sources: Sources::default().without_project(), ..CommandLine::default() };
    assert_eq!(world.load_with(&request).unwrap().permissions.deny.len(), 3);
    let error = "user,everywhere".parse::<Sources>().unwrap_err().to_string();
    assert!(error.contains("everywhere") && error.contains("user, project, local"), "{error}");
}

#[test]
fn settings_can_be_given_as_file_or_object() {
    let world = World::new().file("project/extra.json", "{\n// mine\n\"model\": \"extra\",}");
    let given = |text: &str| {
        world.load_with(&CommandLine { settings: Some(text.to_owned()), ..CommandLine::default() })
    };
    let model = given("extra.json").unwrap().model;
    assert_eq!((model.value.as_str(), model.origin.file), ("extra", Some(world.path("project/extra.json"))));
    assert_eq!(given(r#" {"model": "object"}"#).unwrap().model.value, "object");
    let error = given("nowhere.json").unwrap_err().to_string();
    assert!(error.contains("nowhere.json") && error.contains("does not exist"), "{error}");
    let error = given("{oops").unwrap_err().to_string();
    assert!(error.contains("--settings: line 1, column 2"), "{error}");
}

#[test]
fn a_policy_can_lock_but_not_keep_others_from_being_stricter() {
    let world = everywhere();
    world.write(
        "etc/managed-settings.json",
        r#"{"locked": ["permissions", "hooks", "model"], "hooks": {"Stop": [{}]}}"#,
    );
    let allow = Permissions {
        allow: vec!["Bash".to_owned()],
        default_mode: Some(Mode::BypassPermissions),
        ..Permissions::default()
    };
    let flags = Settings { permissions: allow, ..Settings::default() };
    let resolved = world.load_with(&CommandLine { flags, ..CommandLine::default() }).unwrap();
    assert_eq!((resolved.model.value.as_str(), resolved.hooks[&HookEvent::Stop].len()), ("sonnet", 1));
    assert_eq!(
        (resolved.permissions.allow.len(), resolved.permissions.default_mode.value),
        (0, Mode::Default)
    );
    assert_eq!(resolved.permissions.deny.len(), 6);
    let said =
        resolved.warnings.iter().find(|warning| warning.key == "permissions.allow").unwrap().to_string();
    assert!(said.contains("command line") && said.contains("lock"), "{said}");

    world.write("etc/managed-settings.json", r#"{"locked": ["permission"]}"#);
    let error = world.load_with(&CommandLine::default()).unwrap_err().to_string();
    assert!(error.contains("no key permission"), "{error}");
}

#[test]
fn only_a_policy_can_lock() {
    let world = World::new().file("project/.tiller/settings.json", r#"{"locked": ["model"]}"#);
    world.write("home/.tiller/settings.json", r#"{"model": "opus"}"#);
    let resolved = world.load();
    assert_eq!(resolved.model.value, "opus");
    assert!(resolved.warnings[0].to_string().contains("only in the managed file"), "{:?}", resolved.warnings);
}

#[test]
fn a_policy_that_is_not_understood_stops_everything() {
    for text in ["{", "{\"model\": 1}", "{\"permissions\": {\"allow\": [1]}}"] {
        let world = World::new().file("etc/managed-settings.json", text);
        let error = world.load_with(&CommandLine::default()).unwrap_err().to_string();
        assert!(error.contains("managed-settings.json: line 1"), "{error}");
    }
}

#[test]
fn directories_are_made_absolute() {
    let world = World::new();
    world.write(
        "home/.tiller/settings.json",
        r#"{"permissions": {"additionalDirectories": ["~/a", "b", "/c"]}}"#,
    );
    let resolved = world.load();
    let dirs = resolved.permissions.additional_directories.iter().map(|dir| world.short(&dir.value));
    assert_eq!(dirs.collect::<Vec<_>>(), ["home/a", "project/b", "/c"]);
}

#[test]
fn values_can_be_looked_up_and_listed() {
    let world = everywhere();
    let resolved = world.load();
    assert_eq!(resolved.get("model").unwrap(), "managed");
    assert_eq!(resolved.get("permissions.deny").unwrap().as_array().unwrap().len(), 7);
    assert_eq!(resolved.get("permissions").unwrap()["defaultMode"], "default");
    assert_eq!(resolved.get("env.WHO").unwrap(), "managed");
    assert!(
        resolved.get("env.NOBODY").unwrap().is_null() && resolved.get("hooks.PreCompact").unwrap().is_null()
    );
    assert!(resolved.get("hooks.PreCompaction").is_err());
    let error = resolved.get("permissions.denny").unwrap_err().to_string();
    assert_eq!(error, "there is no setting permissions.denny; did you mean permissions.deny?");
    let rows = resolved.rows();
    let deny: Vec<_> = rows.iter().filter(|row| row.key == "permissions.deny").collect();
    assert_eq!((deny.len(), deny[6].origin.layer), (7, Layer::Managed));
    assert!(rows.iter().any(|row| row.key == "sandbox.enabled" && row.origin.layer == Layer::Default));
}

#[test]
fn one_file_in_two_roles_is_read_once() {
    let world = World::new().file("home/.tiller/settings.json", r#"{"permissions": {"deny": ["Bash"]}}"#);
    let env = tiller_protocol::env::Env { cwd: world.path("home"), ..world.env() };
    let places = tiller_config::Places { managed: world.path("none"), ..tiller_config::Places::of(&env) };
    let trust = tiller_config::ProjectTrust::Full;
    let resolved = tiller_config::Resolved::load(&places, &CommandLine::default(), &env, trust).unwrap();
    assert_eq!(resolved.permissions.deny.len(), 1);
    assert_eq!(resolved.permissions.deny[0].origin.layer, Layer::User);
}
