//! Snapshots of different directories as one.

use std::path::PathBuf;

use tiller_protocol::id::SnapshotId;
use tiller_snapshot::{Diff, Limits, SnapshotError};

use crate::world::World;

fn take(world: &mut World, roots: &[&str]) -> SnapshotId {
    let roots: Vec<PathBuf> = roots.iter().map(|root| world.path(root)).collect();
    world.store.take(&roots).unwrap().id
}

fn paths(world: &World, diff: &Diff) -> Vec<String> {
    let below = |path: &PathBuf| path.strip_prefix(world.project()).unwrap().display().to_string();
    diff.summary().iter().map(|change| below(&change.path)).collect()
}

fn changed(world: &mut World, from: &[&SnapshotId], to: &[&SnapshotId]) -> Vec<String> {
    let own = |list: &[&SnapshotId]| list.iter().map(|&id| id.clone()).collect::<Vec<_>>();
    let from = world.store.join(&own(from)).unwrap().unwrap();
    let to = world.store.join(&own(to)).unwrap().unwrap();
    let diff = world.store.diff(&from, &to).unwrap();
    paths(world, &diff)
}

// UNDO-02: a directory that came later is what it was when it was first seen; one that is looked at no more, what it was
// when it was last seen.
#[test]
fn directories_that_come_and_go_are_no_changes() {
    let mut world = World::new();
    ["a/x", "b/x", "b/y", "c/x"].iter().for_each(|name| world.write(name, "0"));
    let first = take(&mut world, &["a", "c"]);
    world.write("a/x", "1");
    let second = take(&mut world, &["a", "b"]);
    world.write("b/x", "2");
    let third = take(&mut world, &["b"]);
    let all = changed(&mut world, &[&first, &second, &third], &[&third, &second, &first]);
    assert_eq!(all, ["a/x", "b/x"]);

    let joined = world.store.join(&[first.clone(), second, third]).unwrap().unwrap();
    world.store.restore(&joined).unwrap();
    assert_eq!(
        (world.read("a/x"), world.read("b/x"), world.read("b/y")),
        ("0".into(), "0".into(), "0".into())
    );
    assert_eq!(world.store.join(std::slice::from_ref(&first)).unwrap(), Some(first));
    assert_eq!(world.store.join(&[]).unwrap(), None);
}

#[test]
fn a_directory_that_was_removed_is_a_change() {
    let mut world = World::new();
    ["a/x", "b/x"].iter().for_each(|name| world.write(name, "0"));
    let first = take(&mut world, &["a", "b"]);
    world.run("rm -r b");
    let second = take(&mut world, &["a", "b"]);
    assert_eq!(changed(&mut world, &[&first, &second], &[&second, &first]), ["b/x"]);
}

#[test]
fn an_outer_directory_that_came_later_holds_the_inner_one_as_it_was() {
    let mut world = World::new();
    ["a/in/deep/x", "a/y", "a/gone/z"].iter().for_each(|name| world.write(name, "0"));
    let first = take(&mut world, &["a/in/deep", "a/new"]);
    world.write("a/in/deep/x", "1");
    world.write("a/new/made", "1");
    let second = take(&mut world, &["a"]);
    world.run("echo 2 > a/in/deep/x; echo 2 > a/y; rm -r a/gone");
    let joined = world.store.join(&[first, second]).unwrap().unwrap();
    world.store.restore(&joined).unwrap();
    assert_eq!((world.read("a/in/deep/x"), world.read("a/y")), ("0".into(), "0".into()));
    assert!(world.path("a/gone/z").exists() && !world.path("a/new").exists());
}

// UNDO-02: what an outer directory does not keep is known from its own snapshot, and the rest of it from that of the outer.
#[test]
fn an_inner_directory_stays_itself_where_the_outer_one_does_not_keep_it() {
    let mut world = World::with(Limits { ignored_entries: 2, ..Limits::default() });
    world.write("a/.gitignore", "vendor\n");
    ["a/y", "a/vendor/x/in", "a/vendor/1", "a/vendor/2"].iter().for_each(|name| world.write(name, "0"));
    let first = take(&mut world, &["a/vendor/x"]);
    world.write("a/vendor/x/in", "1");
    let second = take(&mut world, &["a"]);
    world.run("echo -n 2 > a/vendor/x/in; echo -n 2 > a/vendor/1; echo -n 2 > a/y; echo -n 2 > a/new");
    let third = take(&mut world, &["a"]);
    let fourth = take(&mut world, &["a/vendor/x"]);
    let all = [&first, &second, &third, &fourth];
    let back = [&fourth, &third, &second, &first];
    assert_eq!(changed(&mut world, &all, &back), ["a/new", "a/vendor/x/in", "a/y"]);

    let joined = world.store.join(&all.map(Clone::clone)).unwrap().unwrap();
    let step = world.store.restore(&joined).unwrap();
    assert_eq!(step.left, []);
    assert_eq!((world.read("a/vendor/x/in"), world.read("a/y")), ("0".into(), "0".into()));
    assert_eq!(world.read("a/vendor/1"), "2");
    assert!(!world.path("a/new").exists());
    world.store.restore(&step.undo).unwrap();
    assert_eq!((world.read("a/vendor/x/in"), world.read("a/y")), ("2".into(), "2".into()));
}

// UNDO-02
#[test]
fn an_inner_directory_has_its_place_in_what_was_removed_or_replaced_since() {
    for since in ["rm -r a/in", "rm -r a/in; touch a/in", "rm -r a/in; ln -s y a/in", "rm -r a"] {
        let mut world = World::new();
        ["a/in/deep/x", "a/y"].iter().for_each(|name| world.write(name, "0"));
        let first = take(&mut world, &["a/in/deep"]);
        world.run(since);
        let second = take(&mut world, &["a"]);
        world.write("a/new", "1");
        let joined = world.store.join(&[first, second]).unwrap().unwrap();
        let step = world.store.restore(&joined).unwrap();
        assert_eq!(step.left, [], "{since}");
        assert_eq!(world.read("a/in/deep/x"), "0", "{since}");
        assert!(!world.path("a/new").exists(), "{since}");
    }
}

// UNDO-02: as paths a/x is before a-b, as names behind it.
#[test]
fn directories_are_matched_by_name_in_whatever_order_they_are() {
    let mut world = World::new();
    ["a/x/f", "a-b/f"].iter().for_each(|name| world.write(name, "0"));
    let first = take(&mut world, &["a/x"]);
    let second = take(&mut world, &["a/x", "a-b"]);
    world.write("a-b/f", "1");
    let third = take(&mut world, &["a/x", "a-b"]);
    let joined = world.store.join(&[first, second]).unwrap().unwrap();
    let diff = world.store.diff(&joined, &third).unwrap();
    assert_eq!(paths(&world, &diff), ["a-b/f"]);
    assert_eq!(world.store.restore(&joined).unwrap().left, []);
    assert_eq!((world.read("a/x/f"), world.read("a-b/f")), ("0".into(), "0".into()));
}

#[test]
fn later_snapshots_may_be_gone_but_not_the_first() {
    let mut world = World::new();
    world.write("a/x", "0");
    let first = take(&mut world, &["a"]);
    let gone = SnapshotId("00".repeat(32));
    assert_eq!(world.store.join(&[first.clone(), gone.clone()]).unwrap(), Some(first.clone()));
    assert!(matches!(world.store.join(&[gone, first]), Err(SnapshotError::Gone(_))));
}
