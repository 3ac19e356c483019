//! A store that is told what changes sees the same as one that looks at everything.

use std::os::unix::fs::PermissionsExt;

use tiller_snapshot::{Limits, Store};

use crate::world::{World, env};

/// Snapshots are named by what they hold: the same name, the same content.
fn same_as_looked_at(world: &mut World) {
    Looking::new().sees_the_same(world);
}

/// A store that looks at everything each time. What it keeps depends on what it has kept before, as it does with the
/// one that is told.
struct Looking {
    store: Store,
    _dir: tempfile::TempDir,
}

impl Looking {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("store"), &[], Limits::default(), &env()).unwrap();
        Self { store, _dir: dir }
    }

    fn sees_the_same(&mut self, world: &mut World) {
        let told = world.take();
        assert_eq!(told, self.store.take(&[world.project()]).unwrap().id);
    }
}

// UNDO-01: what a step costs does not depend on the size of the tree.
#[test]
fn only_what_changed_is_looked_at_again() {
    let mut world = World::new().an_hour_later().watching();
    for number in 0..2_000 {
        world.write(&format!("d{}/f{number}", number / 20), "content");
    }
    world.take();
    world.write("d7/f140", "changed and longer");
    let roots = [world.project()];
    let taken = world.store.take(&roots).unwrap();
    // The directory, and what is in it.
    assert_eq!((taken.looked, taken.read), (21, 1), "{taken:?}");
    assert_eq!(taken.seen, 2_100);
    same_as_looked_at(&mut world);
}

// UNDO-01
#[test]
fn every_kind_of_change_is_noticed() {
    let mut world = World::new().watching();
    world.write("a/b/c", "1");
    world.write("a/d", "1");
    world.write("e/f", "1");
    let mut looking = Looking::new();
    looking.sees_the_same(&mut world);
    let changes: &[&str] = &[
        "echo 2 > a/b/c",
        "echo more >> a/b/c",
        "chmod 700 a/b",
        "chmod 600 a/b/c",
        "mv a/b a/moved",
        "mkdir a/b; echo new > a/b/c",
        "mv e a/e; mkdir e; echo other > e/f",
        "ln -s ../a e/link",
        "ln -sfn ../a/d e/link",
        "rm -r a/moved",
        "mkdir -p x/y/z; echo deep > x/y/z/w",
        "rm -r x; mkdir -p x/y/z; echo again > x/y/z/w",
        "mv x/y other; mkdir x/y; echo there > x/y/t",
        "mkdir e/empty",
        "rmdir e/empty",
        "cp -r a copied; mv copied/e/f copied/g",
        "touch -d 2001-01-01 a/d; truncate -s 0 a/d",
        "printf 'big/\\n' > .gitignore; mkdir big; seq 300 | while read n; do echo > big/$n; done",
        "rm big/1*",
        "seq 300 | while read n; do echo > big/$n; done",
        "echo beside it > beside",
        "mkdir -p big/a/b; mv big/[1-9]* big/a/b",
        "rm big/a/b/2*",
        "seq 300 | while read n; do echo > big/a/b/$n; done",
        "for d in 1 2 3; do mkdir -p big/z/$d; mv big/a/b/$d* big/z/$d; done",
        "rm -r big/z/2",
        "mv big/z/1 elsewhere; mv elsewhere big/z/2",
        "truncate -s 9000000 big/z/3/long",
        "truncate -s 9 big/z/3/long",
        "rm .gitignore",
        "echo '*.bin' > .gitignore; truncate -s 2000000 a.bin; echo 1 > b.bin",
        "echo grown >> a.bin; truncate -s 2000000 b.bin",
        "touch a/pyvenv.cfg; mkdir a/lib; seq 300 | while read n; do echo > a/lib/$n; done",
        "echo held > a/d; echo new > a/new; ln -s d a/fresh; rm -r a/b",
        "echo in a directory that was not held > a/lib/1",
        "rm a/lib/2*",
        "rm a/pyvenv.cfg",
        "git init -q r; mkdir -p r/out; seq 300 | while read n; do echo > r/out/$n; done",
        "mkdir -p r/.git/info; echo out/ > r/.git/info/exclude",
        "echo more > r/out/more",
        "rm r/.git/info/exclude",
        "mkdir s t; echo 1 > s/f; echo 2 > t/f",
        "mv s u; mv t s; mv u t",
        "mv s u; mv t s; mv u t; echo 3 > t/f",
    ];
    for change in changes {
        world.run(change);
        looking.sees_the_same(&mut world);
    }
}

// UNDO-01: a file with two names may be changed under the one that nobody watches.
#[test]
fn files_with_several_names_are_looked_at_each_time() {
    let mut world = World::new().watching();
    world.write("a/f", "1");
    let outside = world.store_dir().with_file_name("outside");
    fs_err::hard_link(world.path("a/f"), &outside).unwrap();
    world.take();
    fs_err::write(&outside, "2").unwrap();
    same_as_looked_at(&mut world);
    fs_err::set_permissions(&outside, PermissionsExt::from_mode(0o600)).unwrap();
    same_as_looked_at(&mut world);
}

// UNDO-01: more changes than the kernel keeps in mind.
#[test]
fn too_many_changes_are_no_reason_to_miss_one() {
    let mut world = World::new().watching();
    world.write("a/f", "1");
    world.write("a/h", "1");
    world.write("b/g", "1");
    world.take();
    let limit = fs_err::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: usize = limit.trim().parse().unwrap();
    if limit > 100_000 {
        return;
    }
    // Two different events in turn, so that they are not taken for one.
    for file in ["a/f", "a/h"].iter().cycle().take(limit + 1) {
        fs_err::set_permissions(world.path(file), PermissionsExt::from_mode(0o600)).unwrap();
    }
    world.write("b/g", "unheard");
    same_as_looked_at(&mut world);
}

// UNDO-02
#[test]
fn what_is_brought_back_is_noticed_too() {
    let mut world = World::new().watching();
    world.write("a/f", "1");
    let first = world.take();
    world.run("echo 2 > a/f; mkdir a/n; echo 3 > a/n/m");
    let second = world.take();
    world.store.restore(&first).unwrap();
    assert_eq!(world.take(), first);
    same_as_looked_at(&mut world);
    world.store.restore(&second).unwrap();
    assert_eq!(world.take(), second);
}

// UNDO-02: the kernel tells those who watch a directory nothing of what happens through a link outside of it.
#[test]
fn a_change_that_nobody_was_told_of_is_brought_back() {
    let mut world = World::new().watching();
    world.write("a/f", "1");
    let first = world.take();
    let outside = tempfile::tempdir_in(world.project().parent().unwrap()).unwrap();
    let link = outside.path().join("f");
    fs_err::hard_link(world.path("a/f"), &link).unwrap();
    fs_err::write(&link, "2").unwrap();
    world.store.restore(&first).unwrap();
    assert_eq!(world.read("a/f"), "1");
}
