//! The first minute, when something is missing: every screen says what is wrong and what to do.

use tiller_testkit::Reply;

use crate::harness::World;
use crate::terminal::{READY, leave, open};

/// Says something and waits for the end of the turn.
fn say_hello(program: &tiller_testkit::terminal::Program) {
    program.type_in("hello\r");
    program.until_shown("> hello");
}

#[test]
fn a_wrong_key_is_told_once_with_what_to_do() {
    let world = World::new().var("ANTHROPIC_API_KEY", "wrong");
    world.server.reply(Reply::status(401, "authentication_error", "invalid x-api-key"));
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    say_hello(&program);
    program.until_shown("invalid x-api-key");
    program.until_shown(READY);
    let program = leave(program);
    let told = program.look(|terminal| terminal.lines().join("\n"));
    assert_eq!(told.matches("invalid x-api-key").count(), 1, "{told}");
    assert!(told.contains("ANTHROPIC_API_KEY"), "it says where the key comes from: {told}");
}

#[test]
fn without_a_network_it_says_which_address_cannot_be_reached() {
    // Nobody listens at a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("http://127.0.0.1:{port}");
    let world = World::new().var("ANTHROPIC_BASE_URL", &address).var("TILLER_MAX_RETRIES", "1");
    let program = open(&world, &[], 100, 30);
    program.until_shown(READY);
    say_hello(&program);
    program.until_shown(&format!("127.0.0.1:{port}"));
    program.until_shown(READY);
    leave(program);
}

#[test]
fn a_directory_that_is_no_repository_and_cannot_be_written_is_no_obstacle() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.server.reply(Reply::text("I can read here."));
    fs_err::set_permissions(world.dir(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    say_hello(&program);
    program.until_shown("I can read here.");
    leave(program);
    fs_err::set_permissions(world.dir(), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn without_git_it_works_as_well() {
    let world = World::new();
    // Only what is needed besides.
    fs_err::create_dir(world.path("bin")).unwrap();
    for program in ["bash", "sh"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|dir| dir.join(program))
            .find(|path| path.exists());
        std::os::unix::fs::symlink(found.unwrap(), world.path("bin").join(program)).unwrap();
    }
    let bin = world.path("bin").display().to_string();
    let world = world.var("PATH", &bin);
    world.server.reply(Reply::text("No repository needed."));
    let program = open(&world, &[], 80, 30);
    program.until_shown(READY);
    say_hello(&program);
    program.until_shown("No repository needed.");
    leave(program);
}

// TERM-02
#[test]
fn twenty_columns_are_enough() {
    let world = World::new();
    world.server.reply(Reply::text("A short answer in a narrow place."));
    let program = open(&world, &[], 20, 16);
    program.until_shown("⎈ Tiller");
    program.until_shown("What now? /help");
    say_hello(&program);
    program.until_shown("narrow place.");
    let widest = program.look(|terminal| terminal.lines().iter().map(|line| line.chars().count()).max());
    assert!(widest <= Some(20), "{widest:?}");
    program.type_in("/exit\r");
    let mut program = program;
    assert_eq!(program.wait(), 0);
}
