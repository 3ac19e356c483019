//! Changes of permissions that are to last.

use serde_json::json;
use tiller_config::{Layer, write_updates};
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::Update;

use crate::world::World;

fn updates(json: serde_json::Value) -> Vec<Update> {
    serde_json::from_value(json).unwrap()
}

// PERM-09: in files; PERM-11
#[test]
fn each_destination_has_its_file_and_the_session_has_none() {
    for (destination, file, layer) in [
        ("userSettings", Some("home/.tiller/settings.json"), Some(Layer::User)),
        ("projectSettings", Some("project/.tiller/settings.json"), Some(Layer::Project)),
        ("localSettings", Some("project/.tiller/settings.local.json"), Some(Layer::Local)),
        ("session", None, None),
    ] {
        let world = World::new();
        let rule = json!({"toolName": "Bash", "ruleContent": "cargo test:*"});
        let changes = updates(json!([
            {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination},
            {"type": "setMode", "mode": "acceptEdits", "destination": destination},
            {"type": "addDirectories", "directories": ["/d"], "destination": destination},
        ]));
        write_updates(&world.places(), &changes).unwrap();
        let permissions = world.load().permissions;
        let allowed: Vec<_> =
            permissions.allow.iter().map(|rule| (rule.value.as_str(), rule.origin.layer)).collect();
        let expected: Vec<_> = layer.iter().map(|layer| ("Bash(cargo test:*)", *layer)).collect();
        assert_eq!(allowed, expected, "{destination}");
        let mode = if file.is_some() { Mode::AcceptEdits } else { Mode::Default };
        assert_eq!(permissions.default_mode.value, mode);
        assert_eq!(permissions.additional_directories.len(), expected.len());
        match file {
            Some(file) => assert!(world.path(file).exists()),
            None => assert_eq!(fs_err::read_dir(world.path("")).unwrap().count(), 0, "nothing is written"),
        }
    }
}

// PERM-10: in files
#[test]
fn changes_are_made_in_order() {
    let world = World::new();
    let rule = |name: &str| json!([{"toolName": name}]);
    let change = |kind: &str, name: &str| json!({"type": kind, "rules": rule(name), "behavior": "deny", "destination": "userSettings"});
    let mode = |mode: &str| json!({"type": "setMode", "mode": mode, "destination": "userSettings"});
    let changes = updates(json!([
        change("addRules", "A"),
        change("replaceRules", "B"),
        mode("plan"),
        change("addRules", "C"),
        change("addRules", "D"),
        change("removeRules", "B"),
        mode("dontAsk"),
    ]));
    write_updates(&world.places(), &changes).unwrap();
    let permissions = world.load().permissions;
    assert_eq!(permissions.deny.iter().map(|rule| rule.value.as_str()).collect::<Vec<_>>(), ["C", "D"]);
    assert_eq!(permissions.default_mode.value, Mode::DontAsk);
}
