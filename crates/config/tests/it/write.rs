//! Files are changed, never rewritten.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use tiller_config::{Target, set, update};

use crate::world::World;

const COMMENTED: &str = "\
// My settings.
{
    \"model\": \"opus\", // the big one
    \"unknownToUs\": {\"keep\": [1, 2]},
    /* rules */
    \"permissions\": {
        \"allow\": [
            \"Read\", // harmless
        ],
    },
}
";

// LOG-06
#[test]
fn comments_unknown_keys_and_format_stay() {
    let world = World::new().file("s.json", COMMENTED);
    update(&world.path("s.json"), |file| {
        file.set(&["model"], &json!("haiku"))?;
        file.add(&["permissions", "allow"], &json!("Edit"))?;
        file.add(&["permissions", "allow"], &json!("Read"))?;
        file.set(&["sandbox", "enabled"], &json!(true))
    })
    .unwrap();
    let expected = "\
// My settings.
{
    \"model\": \"haiku\", // the big one
    \"unknownToUs\": {\"keep\": [1, 2]},
    /* rules */
    \"permissions\": {
        \"allow\": [
            \"Read\", // harmless
            \"Edit\",
        ],
    },
    \"sandbox\": {
        \"enabled\": true
    },
}
";
    assert_eq!(world.read("s.json"), expected);
    update(&world.path("s.json"), |file| {
        file.remove(&["sandbox"])?;
        file.take_out(&["permissions", "allow"], &json!("Edit"))?;
        file.set(&["model"], &json!("opus"))
    })
    .unwrap();
    assert_eq!(world.read("s.json"), COMMENTED);
}

// LOG-06, SECR-02
#[test]
fn a_new_file_is_private_and_an_old_one_keeps_its_rights() {
    let world = World::new();
    let path = world.path("a/b/settings.json");
    let mode = |path: &std::path::Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    update(&path, |file| file.set(&["model"], &json!("opus"))).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(world.read("a/b/settings.json"), "{\n  \"model\": \"opus\"\n}\n");
    fs_err::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    update(&path, |file| file.set(&["model"], &json!("haiku"))).unwrap();
    assert_eq!(mode(&path), 0o640);
    let left = fs_err::read_dir(path.parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "nothing is left beside the file");
}

#[test]
fn a_link_stays_a_link() {
    let world = World::new().file("dotfiles/settings.json", "{}");
    fs_err::create_dir_all(world.path("home")).unwrap();
    fs_err::os::unix::fs::symlink(world.path("dotfiles/settings.json"), world.path("home/settings.json"))
        .unwrap();
    update(&world.path("home/settings.json"), |file| file.set(&["model"], &json!("opus"))).unwrap();
    assert!(fs_err::symlink_metadata(world.path("home/settings.json")).unwrap().is_symlink());
    assert!(world.read("dotfiles/settings.json").contains("opus"));
}

// LOG-06
#[test]
fn a_file_that_is_not_understood_is_not_touched() {
    for text in ["{\"model\": ", "[]", "{\"model\": 1, \"model\": 2}", "{\"permissions\": \"none\"}"] {
        let world = World::new().file("s.json", text);
        let error = update(&world.path("s.json"), |file| file.add(&["permissions", "deny"], &json!("Bash")));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("s.json") && error.contains("correct"), "{error}");
        assert_eq!(world.read("s.json"), text);
    }
}

#[test]
fn a_failed_change_writes_nothing() {
    let world = World::new().file("s.json", "{}");
    let error = update(&world.path("s.json"), |file| {
        file.set(&["model"], &json!("opus"))?;
        file.set(&["model", "deeper"], &json!(1))
    });
    assert!(error.is_err());
    assert_eq!(world.read("s.json"), "{}");
}

#[test]
fn what_is_typed_is_checked_and_written() {
    let world = World::new();
    let places = world.places();
    for (key, typed) in [
        ("model", "opus"),
        ("streamingToolExecution", "false"),
        ("permissions.deny", r#"["Bash(rm:*)"]"#),
        ("permissions.defaultMode", "plan"),
        ("env.PORT", "8080"),
    ] {
        set(&places, &world.env(), Target::Local, key, typed).unwrap();
    }
    let resolved = world.load();
    assert_eq!((resolved.model.value.as_str(), resolved.streaming_tool_execution.value), ("opus", false));
    assert_eq!(resolved.permissions.deny[0].value, "Bash(rm:*)");
    assert_eq!(resolved.env["PORT"].value, "8080");
    assert_eq!(resolved.warnings, []);
    set(&places, &world.env(), Target::Local, "model", "null").unwrap();
    set(&places, &world.env(), Target::Local, "env.PORT", "null").unwrap();
    assert_eq!((world.load().model.value.as_str(), world.load().env.len()), ("sonnet", 0));
    for (key, typed, word) in [
        ("modle", "x", "did you mean model?"),
        ("permissions", "{}", "no setting permissions"),
        ("permissions.defaultMode", "yolo", "acceptEdits"),
        ("streamingToolExecution", "maybe", "boolean"),
        ("permissions.allow", "Read", "sequence"),
    ] {
        let error = set(&places, &world.env(), Target::Local, key, typed).unwrap_err().to_string();
        assert!(error.contains(word), "{key}: {error}");
    }
}

// While a command runs, an empty directory may stand where settings could be, locked and gone afterwards.
#[test]
fn a_directory_that_only_stands_there_is_no_obstacle() {
    let world = World::new();
    let (dir, file) = (world.path("project/.tiller"), world.path("project/.tiller/settings.json"));
    fs_err::create_dir_all(&dir).unwrap();
    let held = fs_err::File::open(&dir).unwrap();
    held.lock_shared().unwrap();
    let (done, wait) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        let changed = update(&file, |settings| {
            fs_err::remove_dir(&dir)?;
            settings.set(&["model"], &json!("opus"))
        });
        done.send(changed.map_err(|error| error.to_string())).unwrap();
    });
    let changed = wait.recv_timeout(std::time::Duration::from_secs(30));
    assert_eq!(changed.expect("nobody waits for the lock"), Ok(()));
    writer.join().unwrap();
    assert!(world.read("project/.tiller/settings.json").contains("opus"));
}
