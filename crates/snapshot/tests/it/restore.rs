//! Bringing snapshots back.

use tiller_protocol::id::SnapshotId;
use tiller_snapshot::{Limits, Ready, Restored, SnapshotError, Store};

use crate::world::{World, env, picture};

// UNDO-02: exact bytes and modes come back, nothing else is touched, and it can be undone itself.
#[test]
fn what_a_command_did_is_undone_and_redone() {
    let mut world = World::new();
    world.write("src/main.rs", "fn main() {}\n");
    world.write("src/deep/er/file", "x");
    world.write("binary", "\u{0}\u{1}");
    world.run("chmod 640 binary; mkdir empty; ln -s src/main.rs link; ln -s /nowhere dangling");
    let (before, was) = (world.take(), world.picture());
    world.run(
        "rm -rf src; echo new > src; rm link; mkdir link; echo x > link/x; chmod 4755 binary; \
         rmdir empty; rm dangling; ln -s elsewhere dangling; echo untracked > untracked",
    );
    let after = world.picture();
    let restored = world.store.restore(&before).unwrap();
    assert_eq!(restored.left, []);
    assert_eq!(world.picture(), was);
    let redone = world.store.restore(&restored.undo).unwrap();
    assert_eq!(redone.left, []);
    assert_eq!(world.picture(), after);
}

// UNDO-02: what does not differ keeps its times, so that builds do not run again.
#[test]
fn only_what_differs_is_touched() {
    let mut world = World::new();
    world.write("same", "x");
    world.write("other", "x");
    world.run("touch -d '2020-01-01' same other");
    let before = world.take();
    world.write("other", "y");
    let time = |world: &World| fs_err::metadata(world.path("same")).unwrap().modified().unwrap();
    let was = time(&world);
    let restored = world.store.restore(&before).unwrap();
    let paths: Vec<_> = restored.changes.iter().map(|change| change.path.clone()).collect();
    assert_eq!(paths, [world.path("other")]);
    assert_eq!(time(&world), was);
    assert_eq!(world.store.restore(&before).unwrap().changes, []);
}

// UNDO-02: no clean is ever run: what no snapshot holds stays, also where a directory has to go.
#[test]
fn what_was_not_kept_is_neither_removed_nor_overwritten() {
    let mut world = World::with(Limits { ignored_entries: 2, file: 100, ..Limits::default() });
    world.write(".gitignore", "out\n");
    world.write("file", "x");
    world.write("turned", "x");
    let before = world.take();
    for n in 0..3 {
        world.write(&format!("new/out/{n}"), "built");
    }
    world.write("new/source", "x");
    world.write("large", &"x".repeat(101));
    world.write("file", &"y".repeat(101));
    world.run("rm turned");
    world.write("turned/large", &"z".repeat(101));
    let restored = world.store.restore(&before).unwrap();
    assert_eq!(world.read("new/out/2"), "built");
    assert_eq!(world.read("large").len(), 101);
    assert!(!world.path("new/source").exists());
    let mut left: Vec<_> = restored.left.iter().map(|left| left.path.clone()).collect();
    left.sort();
    assert_eq!(left, ["large", "new", "new/out", "turned/large"].map(|name| world.path(name)));
    // Where something that was kept has to come back, it gets another name.
    assert_eq!((world.read("file"), world.read("turned")), ("x".to_owned(), "x".to_owned()));
    assert_eq!(world.read("file.set-aside"), "y".repeat(101));
    assert_eq!(world.read("turned.set-aside/large"), "z".repeat(101));
    let mut aside: Vec<_> =
        restored.aside.iter().map(|aside| (aside.path.clone(), aside.to.clone())).collect();
    aside.sort();
    let names = [("file", "file.set-aside"), ("turned", "turned.set-aside")];
    assert_eq!(aside, names.map(|(path, to)| (world.path(path), world.path(to))));
    // What has got another name once does not lose it.
    world.write("file", &"w".repeat(101));
    world.store.restore(&before).unwrap();
    assert_eq!(
        (world.read("file.set-aside").as_str(), world.read("file")),
        (&*"y".repeat(101), "x".to_owned())
    );
    assert_eq!(world.read("file.set-aside-2"), "w".repeat(101));
}

// UNDO-01 UNDO-02: what was kept stays kept, whatever names its directory since.
#[test]
fn what_was_kept_comes_back_from_directories_that_are_ignored_by_now() {
    let limits = Limits { ignored_entries: 5, ignored_file: 10, ..Limits::default() };
    for mut world in [World::with(limits), World::with(limits).watching()] {
        world.write("backend/main.py", "precious");
        world.write("backend/sub/deep", "deep");
        world.write("big.bin", "longer than ten");
        for n in 0..8 {
            world.write(&format!("data/{n}"), &n.to_string());
        }
        let (first, was) = (world.take(), world.picture());
        world.run("printf 'data/\\n*.bin\\n' > .gitignore; touch backend/pyvenv.cfg; mkdir backend/lib");
        for n in 0..8 {
            world.write(&format!("backend/lib/{n}"), "installed");
        }
        let second = world.take();
        let between = world.picture();
        world
            .run("echo gone > backend/main.py; rm -r backend/sub; echo other, and longer than ten > big.bin");
        world.run("rm data/1 data/2; echo changed > data/3; echo new > data/new");
        world.take();
        world.store.restore(&second).unwrap();
        let with_new = |mut picture: crate::world::Picture| {
            picture.extend(world.picture().into_iter().filter(|(path, _)| path.ends_with("new")));
            picture
        };
        assert_eq!(world.picture(), with_new(between));
        let restored = world.store.restore(&first).unwrap();
        let mut left: Vec<_> = restored.left.iter().map(|left| left.path.clone()).collect();
        left.sort();
        // What came into such a directory is not kept, and not removed.
        assert_eq!(left, ["backend/lib", "backend/pyvenv.cfg", "data/new"].map(|name| world.path(name)));
        world.run("rm -r backend/lib backend/pyvenv.cfg data/new");
        assert_eq!(world.picture(), was);
    }
}

// UNDO-01 UNDO-02: what is changed by name comes back, whatever ignore files say.
#[test]
fn what_is_needed_comes_back_from_large_ignored_directories() {
    let limits = Limits { ignored_entries: 5, ignored_file: 10, ..Limits::default() };
    for mut world in [World::with(limits), World::with(limits).watching()] {
        world.write(".gitignore", "local/\n*.json\n");
        world.write("data.json", "longer than ten");
        for n in 0..8 {
            world.write(&format!("local/sub/{n}"), &n.to_string());
        }
        world.take();
        let needed = ["data.json", "local/sub/3", "local/sub/new"].map(|name| world.path(name));
        world.store.need(&needed);
        let (before, was) = (world.take(), world.picture());
        world.write("data.json", "also longer than ten");
        world.write("local/sub/3", "changed");
        world.write("local/sub/new", "made");
        let after = world.take();
        let diff = world.store.diff(&before, &after).unwrap();
        let changed: Vec<_> = diff.changes.iter().map(|change| change.path.clone()).collect();
        assert_eq!(changed, needed);
        // Another process goes back.
        let dir = world.store_dir();
        world.store = Store::open(&dir, &[], limits, &env()).unwrap();
        world.store.follow(&after);
        let restored = world.store.restore(&before).unwrap();
        assert_eq!((world.picture(), restored.left), (was, Vec::new()));
    }
}

// UNDO-01 UNDO-02: that a file has changed which is not kept is seen and said.
#[test]
fn files_that_are_not_kept_are_named_if_they_changed() {
    let limits = Limits { file: 20, ignored_file: 10, ..Limits::default() };
    for mut world in [World::with(limits), World::with(limits).watching()] {
        world.write(".gitignore", "*.log\n");
        world.write("huge", &"x".repeat(30));
        world.write("same", &"x".repeat(30));
        world.write("app.log", "longer than ten");
        let before = world.take();
        world.run("tr x y < huge > other; cat other > huge; rm other; touch -d 2001-01-01 huge; echo more >> app.log");
        let after = world.take();
        let unknown = world.store.diff(&before, &after).unwrap().unknown;
        let unknown: Vec<_> = unknown.into_iter().map(|one| one.path).collect();
        assert_eq!(unknown, ["app.log", "huge"].map(|name| world.path(name)));
        let left = world.store.restore(&before).unwrap().left;
        assert_eq!(left.len(), 2, "{left:?}");
    }
}

// Nobody can lead what is brought back out of the project by putting a link where a directory was.
#[test]
fn links_lead_nowhere() {
    let mut world = World::new();
    let outside = tempfile::tempdir().unwrap();
    fs_err::write(outside.path().join("victim"), "mine").unwrap();
    world.write("dir/victim", "theirs");
    world.write("dir/other", "theirs");
    let before = world.take();
    world.run(&format!("rm -r dir; ln -s {} dir", outside.path().display()));
    let was = picture(outside.path());
    world.store.restore(&before).unwrap();
    assert_eq!(picture(outside.path()), was);
    assert_eq!(world.read("dir/victim"), "theirs");
    assert!(!world.path("dir").is_symlink());
}

#[test]
fn a_root_that_became_a_link_is_neither_kept_nor_brought_back() {
    let mut world = World::new();
    let outside = tempfile::tempdir().unwrap();
    fs_err::write(outside.path().join("victim"), "mine").unwrap();
    world.write("victim", "theirs");
    let before = world.take();
    let project = world.project();
    fs_err::remove_dir_all(&project).unwrap();
    std::os::unix::fs::symlink(outside.path(), &project).unwrap();
    let was = picture(outside.path());
    let error = world.store.restore(&before).unwrap_err();
    assert!(matches!(error, SnapshotError::Linked(_)), "{error}");
    assert_eq!(picture(outside.path()), was);
    let error = world.store.take(std::slice::from_ref(&project)).unwrap_err();
    assert!(matches!(error, SnapshotError::Linked(_)) && !error.is_lasting(), "{error}");
}

#[test]
fn a_directory_that_was_removed_comes_back() {
    let mut world = World::new();
    world.write("a/b", "x");
    let (before, was) = (world.take(), world.picture());
    let project = world.project();
    fs_err::remove_dir_all(&project).unwrap();
    let restored = world.store.restore(&before).unwrap();
    assert_eq!(restored.left, []);
    assert_eq!(picture(&project), was);
}

#[test]
fn directories_that_may_not_be_written_are_handled() {
    let mut world = World::new();
    world.write("locked/file", "x");
    world.run("chmod 555 locked");
    let (before, was) = (world.take(), world.picture());
    world.run("chmod 755 locked; echo y > locked/file; echo z > locked/more; chmod 555 locked");
    let restored = world.store.restore(&before).unwrap();
    assert_eq!(restored.left, []);
    assert_eq!(world.picture(), was);
    world.run("chmod 755 locked");
}

// A nested repository is a directory like any other, apart from what git keeps in it.
#[test]
fn nested_repositories_are_part_of_it() {
    let mut world = World::new();
    world.run("git init -q . && git init -q nested");
    world.write("nested/file", "x");
    let before = world.take();
    world.run("cd nested && git add . && git -c user.name=a -c user.email=a@b commit -qm c && echo y > file");
    world.store.restore(&before).unwrap();
    assert_eq!(world.read("nested/file"), "x");
    assert!(world.path("nested/.git/refs/heads").read_dir().unwrap().count() > 0, "commits stay");
}

#[test]
fn unknown_snapshots_are_refused() {
    let mut world = World::new();
    world.write("file", "x");
    for id in ["nonsense", &"0".repeat(64)] {
        let error = world.store.restore(&SnapshotId::from(id)).unwrap_err();
        assert!(matches!(error, SnapshotError::Gone(_)), "{error}");
    }
    assert_eq!(world.read("file"), "x");
}

/// Makes ready to undo a step back, together with what that has set aside.
fn ready_to_undo(store: &mut Store, placed: &SnapshotId, step: &Restored) -> Ready {
    let mut ready = store.make_ready(&step.undo).unwrap();
    let aside = step.aside.iter().map(|aside| (aside.path.clone(), aside.to.clone()));
    store.make_ready_to_return(&mut ready, placed, aside).unwrap();
    ready
}

fn undo(world: &mut World, placed: &SnapshotId, step: &Restored) -> Restored {
    let ready = ready_to_undo(&mut world.store, placed, step);
    world.store.carry_out(ready)
}

// UNDO-02: what is told before a step is undone is what happens then.
#[test]
fn what_gets_its_name_again_is_foreseen() {
    for ignored in ["before", "after"] {
        let mut world = World::with(Limits { ignored_entries: 2, file: 100, ..Limits::default() });
        ["grown", "turned", "edited"].iter().for_each(|name| world.write(name, "short"));
        world.write(".gitignore", if ignored == "before" { "out\n" } else { "" });
        let before = world.take();
        world.run("rm turned; mkdir turned; echo out > .gitignore");
        ["grown", "edited"].iter().for_each(|name| world.write(name, &"x".repeat(101)));
        (0..3).for_each(|n| world.write(&format!("turned/out/{n}"), "built"));
        world.write("turned/source", "x");
        let step = world.store.restore(&before).unwrap();
        assert_eq!(step.aside.len(), 3, "{step:?}");
        world.write("edited", "since");
        let (diff, aside) = world.store.preview(|store| Ok(ready_to_undo(store, &before, &step))).unwrap();
        let undone = undo(&mut world, &before, &step);
        assert_eq!(diff.changes, undone.changes, "{ignored}");
        assert!(aside.is_empty() && undone.aside.is_empty());
        let left: Vec<_> = undone.left.iter().map(|left| left.path.clone()).collect();
        assert_eq!(diff.unknown.iter().map(|one| one.path.clone()).collect::<Vec<_>>(), left);
        assert_eq!(left, ["edited", "edited.set-aside"].map(|name| world.path(name)), "{ignored}");
        assert_eq!(world.read("turned/out/1"), "built");
    }
}

// UNDO-02: what stood in the way gets its name again when the step is undone, and the step can be taken once more.
#[test]
fn what_was_set_aside_returns_when_the_step_is_undone() {
    let mut world = World::with(Limits { ignored_entries: 2, file: 100, ..Limits::default() });
    world.write("grown", "short");
    world.write("turned", "x");
    let before = world.take();
    world.write("grown", &"x".repeat(101));
    world.run("rm turned; mkdir turned; echo out > .gitignore");
    (0..3).for_each(|n| world.write(&format!("turned/out/{n}"), "built"));
    world.write("turned/source", "x");
    let after = world.picture();
    for _ in 0..2 {
        let step = world.store.restore(&before).unwrap();
        assert_eq!(step.aside.len(), 2, "{step:?}");
        assert_eq!((world.read("grown"), world.read("turned")), ("short".into(), "x".into()));
        let undone = undo(&mut world, &before, &step);
        assert_eq!(undone.left, []);
        assert!(undone.changes.iter().any(|change| change.path == world.path("grown")), "{undone:?}");
        assert_eq!(world.picture(), after);
    }
}

#[test]
fn what_was_set_aside_stays_where_somebody_has_worked_on_since() {
    let mut world = World::with(Limits { file: 100, ..Limits::default() });
    world.write("grown", "short");
    let before = world.take();
    world.write("grown", &"x".repeat(101));
    let step = world.store.restore(&before).unwrap();
    world.write("grown", "short, and edited");
    undo(&mut world, &before, &step);
    assert_eq!(world.read("grown"), "short, and edited");
    assert_eq!(world.read("grown.set-aside").len(), 101);
}
