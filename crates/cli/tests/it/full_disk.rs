//! A disk that is really full: the configuration directory is a small file system of its own.

use std::process::{Command, Stdio};

use serde_json::Value;
use tiller_testkit::Reply;

use crate::harness::World;

const ID: &str = "0f6a5b1e-2f7d-4d0c-9a53-6d1f7c3b2a11";

/// Three runs in one mount namespace: with room, without any, and with room again.
const SCRIPT: &str = r#"
mount -t tmpfs -o size=2m tmpfs "$HOME" || exit 77
"$0" -p "remember the number 7" --session-id ID > first || exit 1
dd if=/dev/zero of="$HOME/fill" bs=4k 2> /dev/null
"$0" -p "without room" --resume ID --output-format json > second
echo $? > second.code
rm "$HOME/fill"
"$0" -p "which number?" --resume ID > third || exit 3
"$0" sessions verify ID > verified || exit 4
"#;

/// Whether this machine lets us mount.
pub(crate) fn may_mount() -> bool {
    let probe = ["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"];
    let probe = Command::new("unshare").args(probe).stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

// LOG-04
#[test]
fn a_full_file_system_ends_the_run_and_loses_nothing() {
    if !may_mount() {
        eprintln!(
            "NOT TESTED: this machine does not let a user mount a file system (unshare --user --mount)"
        );
        return;
    }
    let world = World::new();
    world.server.replies([Reply::text("noted"), Reply::text("never heard"), Reply::text("7")]);
    let tiller = world.command(&[]);
    let vars = tiller.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &SCRIPT.replace("ID", ID)])
        .arg(tiller.get_program())
        .env_clear()
        .envs(vars)
        .current_dir(world.dir())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_str(&world.read("second")).unwrap();
    assert_eq!((&result["type"], &result["is_error"]), (&"result".into(), &true.into()), "{result:#}");
    assert_eq!(world.read("second.code"), "1\n");
    let last = world.server.messages().pop().unwrap().body()["messages"].to_string();
    assert!(last.contains("remember the number 7") && last.contains("which number?"), "{last}");
    assert!(world.read("verified").contains("sound"), "{}", world.read("verified"));
}
