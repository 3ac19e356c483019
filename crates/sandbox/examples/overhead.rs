//! Measures what custody and confinement cost over a bare spawn: `cargo run --release -p tiller-sandbox --example overhead`.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a measuring tool for developers")]

use std::collections::BTreeMap;
use std::future::pending;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tiller_policy::{Access, Context, Decision, Permit, Request, Script, decide};
use tiller_protocol::id::CallId;
use tiller_protocol::mode::Mode;
use tiller_sandbox::{
    Confinement, Level, Profile, Spawn, Spool, SpoolStart, Stdin, Successor, spawn_confined,
};

const ROUNDS: usize = 300;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    tiller_sandbox::prepare().expect("a process can be made");
    println!(
        "{:>9} {:>22} {:>22} {:>22}",
        "memory", "bare: start / all", "custody: start / all", "difference"
    );
    let full = Confinement::full();
    for mebibytes in [0, 64, 256, 1024] {
        let ballast = black_box(vec![1_u8; mebibytes << 20]);
        let bare = median(|| async { bare() }).await;
        let kept = median(|| custody(&full, Successor::Unknown)).await;
        let (start, all) = (kept.0.saturating_sub(bare.0), kept.1.saturating_sub(bare.1));
        println!("{mebibytes:>5} MiB {} {} {}", show(bare), show(kept), show((start, all)));
        drop(black_box(ballast));
    }
    compare_profiles(Successor::Unknown).await;
    compare_profiles(Successor::Likely).await;
    _ = fs_err::remove_dir_all(std::env::temp_dir().join(format!("overhead-{}", std::process::id())));
}

/// All take turns, so that load on the machine hits each of them.
async fn compare_profiles(successor: Successor) {
    let roots = vec![std::env::current_dir().expect("a directory")];
    let confinements = [
        (Profile::Full, Level::None),
        (Profile::Workspace, Level::Landlock),
        (Profile::Workspace, Level::Namespaces),
        (Profile::ReadOnly, Level::Landlock),
        (Profile::ReadOnly, Level::Namespaces),
    ]
    .map(|(profile, at_most)| {
        as_in_a_session(Confinement { at_most, ..Confinement::new(profile, roots.clone()) })
    });
    let mut bares = Vec::new();
    let mut taken = confinements.each_ref().map(|_| Vec::new());
    for _ in 0..ROUNDS {
        bares.push(bare());
        for (confinement, taken) in confinements.iter().zip(&mut taken) {
            taken.push(custody(confinement, successor).await);
        }
    }
    let bare = middle(bares);
    println!();
    println!("{:>22} {:>22} {:>10}  successor: {successor:?}", "", "start / all", "to bare");
    println!("{:>22} {} {:>10}", "bare", show(bare), "1.0");
    for (confinement, taken) in confinements.iter().zip(taken) {
        let taken = middle(taken);
        let ratio = taken.1.as_secs_f64() / bare.1.as_secs_f64();
        let name = format!("{:?}, {:?}", confinement.profile, confinement.at_most);
        println!("{name:>22} {} {ratio:>10.1}", show(taken));
    }
}

/// With layers over the caches that most people have.
fn as_in_a_session(mut confinement: Confinement) -> Confinement {
    let home = std::env::home_dir().unwrap_or_default();
    confinement.caches = [".cache", ".npm", ".cargo/registry"].map(|name| home.join(name)).into();
    confinement.caches.retain(|cache| cache.is_dir());
    confinement.layers = Some(std::env::temp_dir().join(format!("overhead-{}", std::process::id())));
    confinement
}

fn show((start, all): (Duration, Duration)) -> String {
    format!("{:>8} / {:>8} µs", start.as_micros(), all.as_micros())
}

async fn median<F: Future<Output = (Duration, Duration)>>(run: impl Fn() -> F) -> (Duration, Duration) {
    let mut taken = Vec::new();
    for _ in 0..ROUNDS {
        taken.push(run().await);
    }
    middle(taken)
}

/// The median of starts and that of ends.
fn middle(taken: Vec<(Duration, Duration)>) -> (Duration, Duration) {
    let (mut starts, mut alls): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
    starts.sort();
    alls.sort();
    (starts[starts.len() / 2], alls[alls.len() / 2])
}

/// A plain spawn, which the standard library does with `posix_spawn`.
fn bare() -> (Duration, Duration) {
    let began = Instant::now();
    let mut command = Command::new("/bin/bash");
    command.args(["-c", "true; true"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("bash starts");
    let started = began.elapsed();
    child.wait_with_output().expect("bash ends");
    (started, began.elapsed())
}

async fn custody(confinement: &Confinement, successor: Successor) -> (Duration, Duration) {
    let call = CallId::from("overhead");
    let home = std::env::home_dir().unwrap_or_default().display().to_string();
    let vars = BTreeMap::from([("HOME".to_owned(), home)]);
    let spool = Spool { dir: PathBuf::from("/tmp"), start: SpoolStart::WhenFull };
    let permit = permit();
    let began = Instant::now();
    let spec = Spawn { call: &call, vars: &vars, stdin: Stdin::Closed, spool, extra: &[], successor };
    let child = spawn_confined(&permit, &spec, confinement).await.expect("bash starts");
    let started = began.elapsed();
    child.finish(pending::<()>()).await;
    (started, began.elapsed())
}

fn permit() -> Permit {
    let script =
        Script { command: "true; true".to_owned(), cwd: std::env::current_dir().expect("a directory") };
    let request = Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false };
    match decide(&request, &Context { mode: Mode::BypassPermissions, ..Context::default() }) {
        Decision::Allow(permit, _) => Some(permit),
        _ => None,
    }
    .expect("bypass mode allows")
}
