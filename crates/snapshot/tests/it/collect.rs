//! Letting go of what nobody wants any more, and living with damage.

use tiller_protocol::id::SnapshotId;
use tiller_snapshot::{Limits, SnapshotError, Store};

use crate::world::{World, env};

fn collect(store: &mut Store, wanted: &[SnapshotId]) -> Result<u64, SnapshotError> {
    store.collect(|| Ok(wanted.to_vec()))
}

#[test]
fn what_nobody_wants_is_let_go_of() {
    let mut world = World::new();
    world.write("large", &"x".repeat(500_000));
    let first = world.take();
    world.write("large", "small now");
    let (second, was) = (world.take(), world.picture());
    assert!(collect(&mut world.store, std::slice::from_ref(&second)).unwrap() > 400_000);
    assert!(matches!(world.store.restore(&first), Err(SnapshotError::Gone(_))));
    world.write("large", "again");
    world.store.restore(&second).unwrap();
    assert_eq!(world.picture(), was);
    // What was let go of can be kept anew.
    world.write("large", &"x".repeat(500_000));
    assert_eq!(world.take(), first);
}

#[test]
fn many_small_files_become_one() {
    let mut world = World::new();
    let mut kept = Vec::new();
    for n in 0..40 {
        world.write("file", &n.to_string());
        kept.push((world.take(), world.picture()));
    }
    let packs = || fs_err::read_dir(world.store_dir().join("packs")).unwrap().count();
    assert_eq!(packs(), 40);
    let wanted: Vec<_> = kept.iter().map(|(id, _)| id.clone()).collect();
    collect(&mut world.store, &wanted).unwrap();
    let packs = fs_err::read_dir(world.store_dir().join("packs")).unwrap().count();
    assert_eq!(packs, 1);
    for (id, was) in kept {
        world.store.restore(&id).unwrap();
        assert_eq!(world.picture(), was);
    }
}

fn packs_of(world: &World) -> Vec<std::path::PathBuf> {
    let packs = fs_err::read_dir(world.store_dir().join("packs")).unwrap();
    let mut packs: Vec<_> = packs.map(|entry| entry.unwrap().path()).collect();
    packs.sort();
    packs
}

// UNDO-01: every change of a long session is a pack, and a process can open about a thousand files.
#[test]
fn only_some_packs_are_open_at_once() {
    let mut world = World::new().watching();
    let store_dir = fs_err::canonicalize(world.store_dir()).unwrap();
    let open = || {
        let all = fs_err::read_dir("/proc/self/fd").unwrap();
        let targets = all.filter_map(|entry| fs_err::read_link(entry.unwrap().path()).ok());
        targets.filter(|target| target.starts_with(store_dir.join("packs"))).count()
    };
    let mut kept = Vec::new();
    for n in 0..200 {
        world.write("deep/er/file", &n.to_string());
        kept.push(world.take());
    }
    assert_eq!(packs_of(&world).len(), 200);
    for pair in kept.windows(2) {
        assert_eq!(world.store.diff(&pair[0], &pair[1]).unwrap().changes.len(), 1);
    }
    assert!((1..=32).contains(&open()), "{} packs are open", open());
}

#[test]
fn a_damaged_object_does_not_keep_others_from_being_let_go_of() {
    let mut world = World::new();
    let mut kept = Vec::new();
    for n in 0..40 {
        world.write("file", &format!("content {n}"));
        kept.push((world.take(), world.picture()));
    }
    let damaged = packs_of(&world)[20].clone();
    let mut bytes = fs_err::read(&damaged).unwrap();
    // The first object of the pack: what was in the file.
    bytes[8] ^= 1;
    fs_err::write(&damaged, bytes).unwrap();
    let wanted: Vec<_> = kept.iter().map(|(id, _)| id.clone()).collect();
    collect(&mut world.store, &wanted).unwrap();
    assert_eq!(packs_of(&world).len(), 1);
    let was_whole = |(id, was): &(SnapshotId, _)| {
        world.store.restore(id).unwrap();
        world.picture() == *was
    };
    assert_eq!(kept.iter().map(was_whole).filter(|whole| *whole).count(), 39);
}

#[test]
fn what_is_known_of_files_is_let_go_of_with_their_content() {
    let mut world = World::new().an_hour_later();
    for n in 0..200 {
        world.write(&format!("f{n}"), &n.to_string());
    }
    world.take();
    let length = |world: &World| fs_err::metadata(world.store_dir().join("stat-cache")).unwrap().len();
    let before = length(&world);
    world.run("rm f*; echo other > other");
    let wanted = world.take();
    collect(&mut world.store, &[wanted]).unwrap();
    assert!(length(&world) < before / 20, "{} of {before}", length(&world));
}

#[test]
fn nobody_tidies_up_under_somebody_elses_feet() {
    let mut world = World::new();
    world.write("file", "x");
    let id = world.take();
    let mut other = Store::open(&world.store_dir(), &[], Limits::default(), &env()).unwrap();
    assert!(matches!(collect(&mut world.store, &[]), Err(SnapshotError::Busy)));
    // Whoever was refused still counts.
    assert!(matches!(collect(&mut other, &[]), Err(SnapshotError::Busy)));
    drop(other);
    world.store.restore(&id).unwrap();
    collect(&mut world.store, &[]).unwrap();
    assert!(matches!(world.store.restore(&id), Err(SnapshotError::Gone(_))));
}

#[test]
fn a_damaged_file_costs_only_what_it_held() {
    let mut world = World::new();
    world.write("one", "1");
    let first = world.take();
    world.write("two", "2");
    let second = world.take();
    let mut packs: Vec<_> =
        fs_err::read_dir(world.store_dir().join("packs")).unwrap().map(|e| e.unwrap().path()).collect();
    packs.sort();
    let sound = fs_err::read(&packs[1]).unwrap();
    for at in 0..sound.len() {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        fs_err::write(&packs[1], &bytes).unwrap();
        let mut store = Store::open(&world.store_dir(), &[], Limits::default(), &env()).unwrap();
        assert!(store.diff(&first, &first).unwrap().is_empty());
        // Whatever happens, nothing wrong is brought back.
        let _ = store.restore(&second);
        assert_eq!((world.read("one"), world.read("two")), ("1".to_owned(), "2".to_owned()), "byte {at}");
    }
    for end in 0..sound.len() {
        fs_err::write(&packs[1], &sound[..end]).unwrap();
        let mut store = Store::open(&world.store_dir(), &[], Limits::default(), &env()).unwrap();
        assert!(store.diff(&first, &first).unwrap().is_empty());
    }
    fs_err::write(world.store_dir().join("stat-cache"), "nonsense").unwrap();
    world.store = Store::open(&world.store_dir(), &[], Limits::default(), &env()).unwrap();
    assert_eq!(world.take(), second);
}
