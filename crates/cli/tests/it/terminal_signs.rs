//! What is always in sight, and what reaches the user outside of the screen: mode and confinement, title, notifications.

use serde_json::json;
use tiller_testkit::Reply;
use tiller_testkit::terminal::Program;

use crate::harness::{Kernel, World, held_by_namespaces};
use crate::terminal::{ESC, READY, begin, leave, say, until_asked, until_done};

const SHIFT_TAB: &str = "\x1b[Z";

fn with_settings(settings: &serde_json::Value) -> World {
    let world = World::new();
    fs_err::create_dir_all(world.config_dir()).unwrap();
    fs_err::write(world.config_dir().join("settings.json"), settings.to_string()).unwrap();
    world
}

/// Looks at what `/status` says of commands.
fn status_says(program: &Program, text: &str) {
    say(program, "/status");
    program.until_shown("── Status");
    program.until_shown(text);
    program.type_in(ESC);
    program.until_shown(READY);
}

// KERN-08: what is said of the confinement is true for the mode, the settings and the kernel there are.
#[test]
fn the_confinement_that_is_shown_is_the_one_there_is() {
    if !held_by_namespaces() {
        return;
    }
    let world = World::new();
    let program = begin(&world, &[]);
    program.until_shown("asks before changes · sandboxed");
    program.until_shown("confined to the working directories by namespaces");
    program.type_in(SHIFT_TAB);
    program.until_shown("accepts edits · sandboxed");
    program.type_in(SHIFT_TAB);
    program.until_shown("PLAN MODE: changes nothing · read-only");
    status_says(&program, "read-only, enforced by namespaces");
    leave(program);

    let program = begin(&world, &["--permission-mode", "bypassPermissions"]);
    program.until_shown("ASKS NOTHING · NOT SANDBOXED");
    assert!(program.text().contains("commands NOT SANDBOXED in this mode"), "{}", program.text());
    leave(program);

    let world = with_settings(&json!({"sandbox": {"enabled": false}}));
    let program = begin(&world, &[]);
    program.until_shown("asks before changes · NOT SANDBOXED");
    status_says(&program, "NOT SANDBOXED: sandbox.enabled is off");
    leave(program);
}

#[test]
fn a_kernel_that_confines_nothing_is_told_of() {
    let world = World::new().on(Kernel::ConfinesNothing);
    let program = begin(&world, &["--permission-mode", "plan"]);
    program.until_shown("PLAN MODE: changes nothing · NOT SANDBOXED");
    program.until_shown("no kernel support");
    leave(program);
}

// LEDG-06: the user's own line stands beside the mode, and follows it.
#[test]
fn a_command_of_the_users_prints_the_line_beside_the_mode() {
    let script = "read -r facts; case $facts in *plan*read-only*|*read-only*plan*) echo planning;; *) echo on the job;; esac";
    let world = with_settings(&json!({"terminal": {"statusLine": script}}));
    world.server.reply(Reply::text("Done."));
    let program = begin(&world, &[]);
    say(&program, "go");
    until_done(&program, "● Done.");
    program.until_shown("on the job");
    program.until_shown("asks before changes · ");
    program.type_in(SHIFT_TAB);
    program.type_in(SHIFT_TAB);
    program.until_shown("PLAN MODE: changes nothing · ");
    if held_by_namespaces() {
        program.until_shown("planning");
    }
    leave(program);
}

#[test]
fn the_window_and_the_desktop_tell_when_the_user_is_needed() {
    let world = World::new();
    world.server.replies([Reply::new().tool("Bash", json!({"command": "touch made"})), Reply::text("Made.")]);
    let program = begin(&world, &[]);
    let name = world.dir().file_name().unwrap().to_string_lossy().into_owned();
    let until_titled = |sign: &str| {
        let wanted = format!("{sign}tiller {name}");
        program.until(&format!("the title is {wanted:?}"), |terminal| terminal.title() == wanted);
    };
    say(&program, "make it");
    until_asked(&program, "Yes, this once");
    until_titled("? ");
    let notified = program.look(|terminal| terminal.notifications().to_vec());
    assert_eq!(notified, ["Tiller asks: Bash"]);
    program.type_in("1");
    until_done(&program, "● Made.");
    until_titled("");
    say(&program, "/help");
    program.until_shown("esc close");
    until_titled("");
    program.type_in(ESC);
    leave(program);
}
