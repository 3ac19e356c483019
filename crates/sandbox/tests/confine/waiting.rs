//! Shells that are there before their script: whatever happens while they wait, a command is held as it is to be held
//! when it starts.

use std::path::Path;

use tiller_sandbox::{Confinement, Level, Network, Profile, Status};

use crate::means::has;
use crate::programs::{outside, works, workspace};
use crate::victim::{SECRET, Victim};

/// Succeeds in a shell that has waited.
const HAS_WAITED: &str = "[[ $TILLER_CALL == *-ready ]]";

/// A victim, and a confinement for which a shell waits.
async fn prepared() -> Option<(Victim, Confinement)> {
    if !has(Level::Namespaces) {
        return None;
    }
    let victim = Victim::new();
    let confinement = workspace(&victim, "project");
    prepare(&victim, &confinement).await;
    Some((victim, confinement))
}

/// Runs commands until a shell waits for the next one. Other tests let all shells go when they tidy up, and mount
/// things, after which none is prepared: then the next command has a successor again.
async fn prepare(victim: &Victim, confinement: &Confinement) {
    for _ in 0..1_000 {
        works(victim, confinement, "true").await;
        for _ in 0..200 {
            if somebody_waits(victim) {
                return;
            }
            tokio::task::yield_now().await;
        }
    }
    panic!("no shell ever waits");
}

/// Whether there is a shell with the victim's variables that has waited, or still does.
fn somebody_waits(victim: &Victim) -> bool {
    let tag = format!("TAG={}\0", victim.vars["TAG"]);
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| fs_err::read(entry.path().join("environ")).ok()).any(|vars| {
        let vars = String::from_utf8_lossy(&vars).into_owned();
        vars.contains(&tag) && vars.contains("-ready\0")
    })
}

#[tokio::test]
async fn the_next_command_finds_a_shell_that_waits() {
    let Some((victim, confinement)) = prepared().await else { return };
    succeeds_once(&victim, &confinement, &format!("{HAS_WAITED} && [ $# = 0 ] && [ $SECONDS -lt 60 ]")).await;
    let full = victim.confinement(Profile::Full, Level::None);
    works(&victim, &full, &format!("! {HAS_WAITED}")).await;
    succeeds_once(&victim, &full, HAS_WAITED).await;
}

/// Others on this machine may open a socket at any moment, which has to be hidden from the next command, or let all
/// shells go: then it gets a shell of its own.
async fn succeeds_once(victim: &Victim, confinement: &Confinement, command: &str) {
    for _ in 0..100 {
        if victim.run(command, confinement).await.0.status == Status::Code(0) {
            return;
        }
    }
    panic!("{command} never succeeds");
}

#[tokio::test]
async fn any_script_arrives_as_it_is() {
    let Some((victim, confinement)) = prepared().await else { return };
    let odd = "\u{1}\u{7f}\u{ff}'\\ \"$(echo no)`echo no`\t\u{1f980}\n\n \n";
    let quoted = odd.replace('\'', r"'\''");
    let long = "x".repeat(60_000);
    for (text, command) in
        [(odd, format!("printf %s '{quoted}'")), (long.as_str(), format!("printf %s {long}\n\n"))]
    {
        let (exit, shown) = victim.run(&command, &confinement).await;
        assert_eq!((exit.status, shown.as_str()), (Status::Code(0), text));
    }
}

// KERN-06, KERN-07
#[tokio::test]
async fn what_is_forbidden_meanwhile_is_forbidden() {
    let Some((victim, mut confinement)) = prepared().await else { return };
    fs_err::write(victim.path("project/dir/new.pem"), SECRET).unwrap();
    confinement.denied_reads = vec![victim.path("project/dir/new.pem")];
    let (_, shown) = victim.run("cat dir/new.pem", &confinement).await;
    assert!(!shown.contains(SECRET), "{shown}");
    confinement.protected = vec![victim.path("project/a.txt")];
    let (exit, shown) = victim.run("echo changed > a.txt", &confinement).await;
    assert_ne!(exit.status, Status::Code(0), "{shown}");
    confinement.network = Network::Deny;
    let (exit, shown) = victim.run("echo > /dev/tcp/127.0.0.1/$TCP", &confinement).await;
    assert_ne!(exit.status, Status::Code(0), "{shown}");
    confinement.profile = Profile::ReadOnly;
    victim.run("rm -r dir", &confinement).await;
    assert!(victim.path("project/dir/sub.txt").exists());
}

// KERN-06
#[tokio::test]
async fn another_place_is_not_the_place_that_was_prepared() {
    let Some((mut victim, mut confinement)) = prepared().await else { return };
    confinement.roots = vec![victim.path("project/dir")];
    let (exit, shown) = victim.run("echo changed > a.txt", &confinement).await;
    assert_ne!(exit.status, Status::Code(0), "{shown}");
    works(&victim, &confinement, "echo changed > dir/sub.txt").await;
    victim.vars.insert("ADDED".to_owned(), "yes".to_owned());
    works(&victim, &confinement, "[ $ADDED = yes ]").await;
}

/// Ways to take away, from outside and while a shell waits, what something is mounted on.
const REPLACED: &[(&str, &str)] = &[
    ("mv .git/hooks .git/old; mkdir .git/hooks", "echo evil > .git/hooks/pre-commit"),
    ("mv .tiller gone; mkdir .tiller", "echo evil > .tiller/settings.json"),
    // Each of them replaces the file; the second one may get the number that the first one had.
    ("git config a.b c; git config a.b d", "git config core.pager evil"),
    ("cp .git/config x; rm .git/config; mv x .git/config", "echo evil >> .git/config"),
    ("mv ../project ../moved; cp -a ../moved ../project", "echo evil > $P/.git/hooks/pre-commit"),
];

// KERN-06
#[tokio::test]
async fn what_was_replaced_meanwhile_is_protected_like_before() {
    for (replace, attack) in REPLACED {
        let Some((victim, confinement)) = prepared().await else { return };
        outside(&victim, replace);
        let (exit, shown) = victim.run(attack, &confinement).await;
        assert_ne!(exit.status, Status::Code(0), "{replace}; {attack}: {shown}");
        assert!(!has_evil(&victim.path("project")), "{replace}; {attack}");
    }
}

fn has_evil(project: &Path) -> bool {
    [".git/hooks/pre-commit", ".tiller/settings.json", ".git/config"]
        .iter()
        .any(|file| fs_err::read_to_string(project.join(file)).is_ok_and(|text| text.contains("evil")))
}

#[tokio::test]
async fn the_command_runs_in_the_directory_that_is_there_now() {
    let Some((victim, confinement)) = prepared().await else { return };
    outside(&victim, "mv ../project ../moved; cp -a ../moved ../project; touch ../project/new");
    works(&victim, &confinement, "[ -e new ] && touch made").await;
    assert!(victim.path("project/made").exists());
}

// KERN-06: the view of a shell that waits keeps what was mounted when it was made.
#[tokio::test]
async fn what_was_mounted_only_while_a_shell_was_prepared_is_not_seen() {
    if !has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    let confinement = workspace(&victim, "project");
    fs_err::create_dir(victim.path("outside/vault")).unwrap();
    let first = victim.start("echo up; while [ ! -e go ]; do sleep 0.01; done", &confinement).await.unwrap();
    let (output, may_mount) = (first.output(), std::cell::Cell::new(false));
    let beside = async {
        output.grown().await;
        let mount = "mount -t tmpfs none $O/vault && echo $SOME_API_KEY > $O/vault/key";
        may_mount.set(done_outside(&victim, mount));
        fs_err::write(victim.path("project/go"), "").unwrap();
        std::future::pending::<()>().await;
    };
    first.finish(beside).await;
    // Not everybody may mount something.
    if !may_mount.get() {
        return;
    }
    // Shells are prepared one after the other: when the next one is there, this one is, if it ever will be.
    let tag = victim.vars.insert("TAG".to_owned(), "other".to_owned() + &victim.vars["TAG"]);
    prepare(&victim, &confinement).await;
    victim.vars.extend(tag.map(|tag| ("TAG".to_owned(), tag)));
    assert!(done_outside(&victim, "umount $O/vault"));
    let (exit, shown) = victim.run("cat $O/vault/key", &confinement).await;
    assert!(exit.status != Status::Code(0) && !shown.contains(SECRET), "{shown}");
}

fn done_outside(victim: &Victim, command: &str) -> bool {
    let made = std::process::Command::new("sh").args(["-c", command]).envs(&victim.vars).output().unwrap();
    made.status.success()
}
