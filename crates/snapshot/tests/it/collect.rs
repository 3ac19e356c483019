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
