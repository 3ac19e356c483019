//! Changes of permissions that are to last.

use serde_json::json;
use tiller_config::{CommandLine, Layer, Target, TrustQuestion, set, write_updates};
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
        write_updates(&world.places(), &world.env(), &changes).unwrap();
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
    write_updates(&world.places(), &world.env(), &changes).unwrap();
    let permissions = world.load().permissions;
    assert_eq!(permissions.deny.iter().map(|rule| rule.value.as_str()).collect::<Vec<_>>(), ["C", "D"]);
    assert_eq!(permissions.default_mode.value, Mode::DontAsk);
}

fn question(world: &World) -> Option<TrustQuestion> {
    TrustQuestion::of(&world.places(), &CommandLine::default(), &world.env()).unwrap()
}

fn always_allow(world: &World, rule: &str) {
    let rules = json!([{"toolName": "Bash", "ruleContent": rule}]);
    let change =
        json!([{"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"}]);
    write_updates(&world.places(), &world.env(), &updates(change)).unwrap();
}

#[test]
fn what_the_user_permits_for_good_costs_no_trust() {
    // A project without anything to trust, and one that is trusted.
    for settings in ["{}", r#"{"env": {"A": "b"}}"#] {
        let world = World::new().file("project/.tiller/settings.json", settings);
        if let Some(question) = question(&world) {
            question.confirm(&world.path("home/.tiller")).unwrap();
        }
        always_allow(&world, "make:*");
        set(&world.places(), &world.env(), Target::Project, "env.PORT", "8080").unwrap();
        assert_eq!(question(&world), None, "{settings}");
        // What somebody else writes is asked about as ever.
        world.write("project/.claude/settings.json", r#"{"permissions": {"allow": ["WebFetch"]}}"#);
        assert!(question(&world).is_some());
    }
}

// A hostile project: what waits for trust gets none because something else is permitted.
#[test]
fn what_is_not_trusted_stays_so_whatever_is_permitted() {
    let world = World::new().file("project/.tiller/settings.json", r#"{"env": {"PATH": "/evil"}}"#);
    always_allow(&world, "make:*");
    let asked = question(&world).expect("nobody has seen it");
    assert!(asked.concerns.iter().any(|concern| concern.row.key == "env.PATH"));
}
