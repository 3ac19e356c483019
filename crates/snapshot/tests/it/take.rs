//! Taking snapshots and comparing them.

use std::os::unix::fs::PermissionsExt;

use tiller_snapshot::{Kind, Limits, SnapshotError};

use crate::world::World;

fn changes(world: &mut World, from: &tiller_protocol::id::SnapshotId) -> Vec<String> {
    let to = world.take();
    let project = world.project();
    let name = |path: &std::path::Path| path.strip_prefix(&project).unwrap().display().to_string();
    let diff = world.store.diff(from, &to).unwrap();
    let one = |summary: tiller_snapshot::Summary| match summary.kind {
        Kind::Added => format!("+ {}", name(&summary.path)),
        Kind::Removed => format!("- {}", name(&summary.path)),
        Kind::Modified => format!("~ {}", name(&summary.path)),
        Kind::Mode => format!("m {}", name(&summary.path)),
        Kind::Renamed { from } => format!("{} -> {}", name(&from), name(&summary.path)),
    };
    diff.summary().into_iter().map(one).collect()
}

// UNDO-01: what nobody tracks is kept, with and without a repository; a snapshot costs what changed.
#[test]
fn only_what_is_new_is_read() {
    let mut world = World::new().an_hour_later();
    for n in 0..50 {
        world.write(&format!("src/{n}.txt"), &format!("file {n}"));
    }
    let roots = [world.project()];
    let first = world.store.take(&roots).unwrap();
    assert_eq!(first.read, 50);
    let again = world.store.take(&roots).unwrap();
    assert_eq!((again.read, again.added, &again.id), (0, 0, &first.id));
    world.write("src/7.txt", "changed");
    let third = world.store.take(&roots).unwrap();
    assert_eq!(third.read, 1);
    assert!(third.added > 0 && third.added < 10_000, "{}", third.added);
    // Another process starts with what this one has learned.
    world.reopen();
    assert!(world.store.take(&roots).unwrap().read <= 1);
}

#[test]
fn changes_are_told_as_people_see_them() {
    let mut world = World::new();
    world.write("kept", "as it is");
    world.write("old/name", "goes elsewhere");
    world.write("gone", "x");
    world.write("edited", "before");
    world.write("script", "#!/bin/sh");
    world.run("mkdir leaves; ln -s kept link");
    let before = world.take();
    world.run(
        "mv old/name new; rmdir old; rm gone; echo after > edited; chmod +x script; rmdir leaves; \
         mkdir -p empty/inner; mkdir filled; echo y > filled/file; ln -sfn edited link",
    );
    assert_eq!(
        changes(&mut world, &before),
        [
            "~ edited",
            "+ empty/inner",
            "+ filled/file",
            "- gone",
            "- leaves",
            "~ link",
            "old/name -> new",
            "m script"
        ]
    );
}

// A file of the same length, changed at once and with its time set back, is still noticed.
#[test]
fn changes_within_one_tick_are_noticed() {
    let mut world = World::new();
    world.write("file", "aaaa");
    for content in ["bbbb", "cccc", "dddd", "eeee"] {
        let before = world.take();
        world.write("file", content);
        assert_eq!(changes(&mut world, &before), ["~ file"]);
    }
}

// UNDO-01: ignored files count as long as they are small; build output, packages and repositories do not.
#[test]
fn large_ignored_output_is_left_out() {
    let limits = Limits { ignored_entries: 5, ignored_file: 100, ..Limits::default() };
    let mut world = World::with(limits);
    world.write(".gitignore", "*.log\n.env\n/build\n/out\n");
    for n in 0..6 {
        world.write(&format!("build/{n}"), "x");
        world.write(&format!("node_modules/{n}"), "x");
        world.write(&format!("cached/{n}"), "x");
    }
    world.write("cached/CACHEDIR.TAG", "");
    world.write("nested/.gitignore", "tmp\n!keep.log\n");
    world.run("mkdir -p nested/.git .git; mkfifo pipe");
    let before = world.take();
    world.write(".env", "KEY=1");
    world.write("short.log", "x");
    world.write("long.log", &"x".repeat(101));
    world.write("nested/keep.log", &"x".repeat(101));
    world.write("out/small", "x");
    for output in ["build/0", "node_modules/0", "cached/0", ".git/config", "nested/.git/config"] {
        world.write(output, "changed");
    }
    let seen = changes(&mut world, &before);
    assert_eq!(seen, ["+ .env", "+ nested/keep.log", "+ out/small", "+ short.log"]);
}

// SECR-02
#[test]
fn the_store_is_private_to_the_user() {
    let mut world = World::new();
    world.write("secret", "x");
    world.take();
    world.store.save().unwrap();
    let mut dirs = vec![world.store_dir()];
    let mut files = 0;
    while let Some(dir) = dirs.pop() {
        assert_eq!(fs_err::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700, "{dir:?}");
        for entry in fs_err::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                files += 1;
                let mode = fs_err::metadata(&path).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{path:?}");
            }
        }
    }
    assert!(files >= 2, "{files}");
}

#[test]
fn too_much_is_refused_and_leaves_nothing_behind() {
    let mut world = World::with(Limits { entries: 10, added: 1_000, ..Limits::default() });
    for n in 0..11 {
        world.write(&n.to_string(), "x");
    }
    let roots = [world.project()];
    let error = world.store.take(&roots).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLarge { .. }), "{error}");
    assert!(error.to_string().contains("10 files"), "{error}");
    world.run("rm *");
    world.write("a", &"x".repeat(2_000));
    world.write("b", "y");
    let error = world.store.take(&roots).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLarge { .. }), "{error}");
    assert_eq!(fs_err::read_dir(world.store_dir().join("packs")).unwrap().count(), 0);
}

#[test]
fn directories_inside_others_count_once_and_missing_ones_not_at_all() {
    let mut world = World::new();
    world.write("sub/file", "x");
    let roots = [world.path("sub"), world.project(), world.path("missing")];
    let taken = world.store.take(&roots).unwrap();
    assert_eq!(world.store.directories(&taken.id).unwrap(), [world.project()]);
}

#[test]
fn empty_directories_may_be_passed_over() {
    let mut world = World::new();
    world.write("filled/file", "x");
    let first = world.take();
    let passed_over = ["outer", "outer/inner", "filled"].map(|name| world.path(name));
    world.store =
        world.store.without_empty_directories(move |path| passed_over.iter().any(|one| one == path));
    world.run("mkdir -p outer/inner other");
    assert_eq!(changes(&mut world, &first), ["+ other"]);
    world.write("outer/inner/file", "y");
    assert_eq!(changes(&mut world, &first), ["+ other", "+ outer/inner/file"]);
}
