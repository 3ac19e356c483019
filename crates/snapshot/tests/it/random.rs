//! Whatever was done to a directory, every snapshot of it comes back exactly; and what a snapshot holds comes back
//! without a loss, whatever is left out by then.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestCaseError};
use proptest::{prop_assert, prop_assert_eq, proptest};
use tiller_protocol::id::SnapshotId;
use tiller_snapshot::Limits;

use crate::world::{Picture, World, picture};

#[derive(Clone, Debug)]
enum Step {
    Write(String, String),
    Remove(String),
    Directory(String),
    Rename(String, String),
    Mode(String, u32),
    Link(String, String),
    Command(&'static str),
    Take,
    Restore(usize),
}

const COMMANDS: &[&str] = &[
    "for d in [abc]/; do cp -r \"$d\" copy; break; done",
    "find . -name .git -prune -o -type f -print | head -2 | while read f; do echo more >> \"$f\"; done",
    "rm -rf b; mkdir -p b/c; echo x > b/c/d",
    "tar cf ../all.tar --exclude=.git . && mkdir -p a/unpacked && tar xf ../all.tar -C a/unpacked; rm ../all.tar",
    "for f in a/*; do chmod 640 \"$f\"; mv \"$f\" \"$f.moved\"; done",
    "find . -type l | while read l; do ln -sfn elsewhere \"$l\"; done",
    "cd repo && echo changed >> tracked && git add tracked && rm -f untracked && mkdir -p new && echo x > new/file",
    "cd repo && git stash -q -u; printf 'untracked\\n' >> .gitignore; echo again > untracked; chmod 600 tracked",
];

/// A repository among the files, whose own directory is nobody's business.
const REPOSITORY: &str = "git init -q repo && cd repo && echo 1 > tracked && git add tracked && echo 2 > untracked \
     && git -c user.name=Ada -c user.email=ada@example.org commit -q -m first";

fn name() -> impl Strategy<Value = String> {
    "[abc](/[abc]){0,2}"
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (name(), "[xyz]{0,3}").prop_map(|(name, text)| Step::Write(name, text)),
        2 => name().prop_map(Step::Remove),
        1 => name().prop_map(Step::Directory),
        2 => (name(), name()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (name(), 0u32..0o100).prop_map(|(name, mode)| Step::Mode(name, mode | 0o700)),
        1 => (name(), name()).prop_map(|(at, to)| Step::Link(at, to)),
        1 => (0..COMMANDS.len()).prop_map(|at| Step::Command(COMMANDS[at])),
        3 => proptest::strategy::Just(Step::Take),
        2 => any::<usize>().prop_map(Step::Restore),
    ]
}

/// Steps after which something that was kept would be left out: it is ignored, marked as something that can be made
/// anew, or too long.
fn leaving_out() -> impl Strategy<Value = Step> {
    let long = proptest::collection::vec("[xyz]", 5..30).prop_map(|parts| parts.concat());
    prop_oneof![
        (name(), long).prop_map(|(name, text)| Step::Write(name, text)),
        name().prop_map(|name| Step::Write(".gitignore".to_owned(), format!("/{name}\n"))),
        name().prop_map(|name| Step::Write(format!("{name}/pyvenv.cfg"), String::new())),
        name().prop_map(|name| Step::Remove(format!("{name}/pyvenv.cfg"))),
        "[abc]{1,2}".prop_map(|name| Step::Write(format!("a/{name}"), "x".to_owned())),
    ]
}

/// What cannot be done is not done: the point is what the others leave behind.
fn act(path: impl Fn(&str) -> std::path::PathBuf, step: &Step) {
    let prepared = |name: &str| {
        let path = path(name);
        let _ = fs_err::create_dir_all(path.parent().unwrap_or(Path::new("/")));
        path
    };
    match step {
        Step::Write(name, text) => drop(fs_err::write(prepared(name), text)),
        Step::Remove(name) => {
            let path = path(name);
            let _ = fs_err::remove_file(&path).or_else(|_| fs_err::remove_dir_all(&path));
        }
        Step::Directory(name) => drop(fs_err::create_dir_all(path(name))),
        Step::Rename(from, to) => drop(fs_err::rename(path(from), prepared(to))),
        Step::Mode(name, mode) => {
            let path = path(name);
            if !path.is_symlink() {
                let _ = fs_err::set_permissions(path, PermissionsExt::from_mode(*mode));
            }
        }
        Step::Link(at, to) => drop(symlink(to, prepared(at))),
        Step::Command(_) | Step::Take | Step::Restore(_) => {}
    }
}

fn check(mut world: World, steps: &[Step]) -> Result<(), TestCaseError> {
    world.run(REPOSITORY);
    let mut kept = vec![(world.take(), world.picture())];
    for step in steps {
        match step {
            Step::Take => kept.push((world.take(), world.picture())),
            Step::Restore(which) => {
                let now = world.picture();
                let (id, was) = &kept[which % kept.len()];
                let restored = world.store.restore(id).unwrap();
                prop_assert_eq!(&restored.left, &[]);
                prop_assert_eq!(&world.picture(), was);
                kept.push((restored.undo, now));
            }
            Step::Command(command) => {
                let command = format!("({command}) 2>/dev/null; true");
                world.run(&command);
            }
            step => act(|name| world.path(name), step),
        }
    }
    for (id, was) in kept {
        let restored = world.store.restore(&id).unwrap();
        prop_assert_eq!(&restored.left, &[]);
        prop_assert_eq!(world.picture(), was);
    }
    Ok(())
}

/// What a snapshot holds.
fn held(world: &mut World, id: &SnapshotId) -> Picture {
    let dir = tempfile::tempdir().unwrap();
    let into = dir.path().join("laid out");
    world.store.lay_out(id, &world.project(), &into).unwrap();
    picture(&into)
}

/// Brings a snapshot back: all that it holds is there then, and all that was there before is there still, or held by the
/// snapshot that undoes it, or has got another name.
fn restore_without_loss(world: &mut World, id: &SnapshotId) -> Result<SnapshotId, TestCaseError> {
    let before = world.picture();
    let restored = world.store.restore(id).unwrap();
    let after = world.picture();
    for (path, entry) in held(world, id) {
        prop_assert_eq!(after.get(&path), Some(&entry), "{} of {:?}", path.display(), restored);
    }
    let undo = held(world, &restored.undo);
    let project = world.project();
    for (path, entry) in before.iter().filter(|(path, entry)| after.get(*path) != Some(entry)) {
        let moved = restored.aside.iter().any(|aside| {
            let rest =
                project.join(path).strip_prefix(&aside.path).map(|rest| match rest.as_os_str().is_empty() {
                    true => aside.to.clone(),
                    false => aside.to.join(rest),
                });
            rest.is_ok_and(|to| after.get(to.strip_prefix(&project).unwrap()) == Some(entry))
        });
        prop_assert!(moved || undo.get(path) == Some(entry), "{} is lost: {:?}", path.display(), restored);
    }
    Ok(restored.undo)
}

fn check_without_loss(mut world: World, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut kept = vec![world.take()];
    for step in steps {
        match step {
            Step::Take => kept.push(world.take()),
            Step::Restore(which) => {
                let id = kept[which % kept.len()].clone();
                kept.push(restore_without_loss(&mut world, &id)?);
            }
            Step::Command(_) => {}
            step => act(|name| world.path(name), step),
        }
    }
    for id in kept {
        restore_without_loss(&mut world, &id)?;
    }
    Ok(())
}

/// Little is enough to be left out.
fn strict() -> World {
    World::with(Limits {
        ignored_entries: 2,
        ignored_bytes: 6,
        ignored_file: 3,
        file: 20,
        ..Limits::default()
    })
}

/// A tree of 20,000 files and links, of all modes.
fn large() -> World {
    let world = World::new().watching();
    for number in 0_u32..20_000 {
        let dir = format!("{}/{}/d{}", ["a", "b", "c"][number as usize % 3], number % 7, number % 150);
        let path = world.path(&format!("{dir}/f{number}"));
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        if number % 50 == 0 {
            symlink(format!("f{}", number + 1), path).unwrap();
            continue;
        }
        fs_err::write(&path, format!("content {}", number / 2)).unwrap();
        if number % 20 == 1 {
            fs_err::set_permissions(path, PermissionsExt::from_mode(0o600 | (number % 0o100))).unwrap();
        }
    }
    world
}

proptest! {
    #![proptest_config(Config { cases: 1, failure_persistence: None, ..Config::default() })]

    // UNDO-01 UNDO-02
    #[test]
    fn every_snapshot_of_a_large_tree_comes_back_exactly(steps in proptest::collection::vec(step(), 12..16)) {
        check(large(), &steps)?;
    }
}

proptest! {
    #![proptest_config(Config { cases: 20, failure_persistence: None, ..Config::default() })]

    // UNDO-01 UNDO-02
    #[test]
    fn every_snapshot_comes_back_exactly(steps in proptest::collection::vec(step(), 1..40)) {
        check(World::new(), &steps)?;
    }

    // UNDO-01 UNDO-02
    #[test]
    fn every_snapshot_comes_back_exactly_if_the_kernel_tells_what_changed(
        steps in proptest::collection::vec(step(), 1..40)
    ) {
        check(World::new().watching(), &steps)?;
    }

    // UNDO-01 UNDO-02
    #[test]
    fn what_a_snapshot_holds_comes_back_and_nothing_else_is_lost(
        steps in proptest::collection::vec(prop_oneof![step(), leaving_out()], 1..60)
    ) {
        check_without_loss(strict(), &steps)?;
        check_without_loss(strict().watching(), &steps)?;
    }
}
