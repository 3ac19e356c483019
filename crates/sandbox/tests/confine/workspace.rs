//! A workspace: writes inside work, what rules or runs outside of it stays as it is.

use std::path::PathBuf;

use tiller_sandbox::{Confinement, Level, Network, Profile, Status, tidy_up};

use crate::means::{has, levels};
use crate::victim::{Victim, finish, stop_when_shown};

const INSIDE: &[&str] = &[
    "echo x >> dir/sub.txt && grep -q x dir/sub.txt",
    "mkdir -p dir/new/deep && touch dir/new/deep/f && rm -r dir/new",
    "mv dir/sub.txt dir/moved && mv dir/moved dir/sub.txt",
    "ln dir/sub.txt dir/l && rm dir/l && chmod 700 dir/sub.txt && touch -d 2001-01-01 dir/sub.txt",
    "f=$(mktemp -p $P/../tmp) && echo x > $f && rm $f",
    "git status --short >/dev/null",
    "echo x > /dev/null",
];

const INSIDE_NAMESPACES: &[&str] = &[
    "touch new && mkdir made && rm -r new made",
    "echo x > a.txt && git add a.txt && git commit -qm two && git log | grep -q two",
    "git checkout -q -b other && git branch | grep -q other",
    "git stash -q -u 2>/dev/null; git tag v1",
    "python3 -c \"import pty,os; a,b=pty.openpty()\"",
    "echo x > /dev/shm/y",
];

/// Commands that try to change what is protected or outside.
const OUTSIDE: &[&str] = &[
    "echo x > .git/hooks/pre-commit",
    "rm .git/hooks/post-commit",
    "rm -rf .git/hooks; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
    "mv .git/hooks .git/h2; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
    "mv .git .g && cp -r .g .git && echo x > .git/hooks/pre-commit",
    "ln -s ../../run.sh .git/hooks/pre-push",
    "git config user.name evil",
    "git config core.hooksPath /tmp",
    "echo x >> .git/config",
    "sed -i s/t/u/ .git/config",
    "mv .git/config .git/c2; cp .git/c2 .git/config; echo x >> .git/config",
    "echo x > .git/config.lock; mv .git/config.lock .git/config",
    "echo x > .claude/settings.json",
    "echo x > .claude/settings.local.json",
    "mv .claude c; mkdir .claude; echo x > .claude/settings.json",
    "rm -rf .tiller",
    "echo x > .tiller/settings.json",
    "python3 -c \"import os; os.truncate('.tiller/settings.json',0)\"",
    "echo x >> $H/.bashrc",
    "rm -rf $H/.ssh",
    "echo x > $O/o.txt",
    "touch $O/new",
    "mv $O/o.txt dir/",
    "ln -s $O out; echo x > out/o.txt",
    "truncate -s 0 $O/o.txt",
    "echo x > /proc/self/root/$O/o.txt",
    "ln $O/o.txt dir/l && echo x > dir/l",
    "ln .git/config dir/c && echo x > dir/c",
    "mv .git/config dir/c",
    "python3 -c \"import os; f=os.open('.git/config',0); os.open(f'/proc/self/fd/{f}',os.O_WRONLY|os.O_TRUNC)\"",
    "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100,b'.claude',-100,b'dir',2)\"",
    "unshare -Urm sh -c 'umount .git/config; umount -l .claude; echo x > .claude/settings.json'",
    "kill -9 $AGENT",
    "kill -STOP $AGENT",
    "cat /proc/$AGENT/environ",
    "python3 -c \"import socket,os; socket.socket(1,1).connect('\\0'+os.environ['HIDDEN'])\"",
    "echo x > $PTY",
];

/// What only mounts can keep.
const OUTSIDE_NAMESPACES: &[&str] = &[
    "chmod 777 .git/config",
    "touch -d 2001-01-01 .claude/settings.json",
    "chmod 777 $O/o.txt",
    "touch -d 2001-01-01 $O/o.txt",
    "python3 -c \"import os; os.setxattr(os.environ['O']+'/o.txt','user.x',b'y')\"",
    "python3 -c \"import socket,os; socket.socket(1,1).connect(os.environ['SOCKET'])\"",
    "prlimit --pid $AGENT --nofile=3:3",
];

fn guarded(victim: &Victim) -> String {
    let paths = ["project/.git/hooks", "project/.git/config", "project/.claude", "project/.tiller"];
    let found = std::process::Command::new("find")
        .args(paths.map(|path| victim.path(path)))
        .args([victim.path("home"), victim.path("outside")])
        .args(["-printf", "%p %y %s %T@ %m %n\n"])
        .output()
        .unwrap();
    let contents = ["project/.git/config", "project/.claude/settings.json", "outside/o.txt"]
        .map(|path| fs_err::read_to_string(victim.path(path)).unwrap_or_default());
    String::from_utf8_lossy(&found.stdout).into_owned() + &contents.concat()
}

async fn check(level: Level, commands: &[&str], wanted: Option<Status>) {
    if !has(level) {
        return;
    }
    for command in commands {
        let mut victim = Victim::new();
        let before = guarded(&victim);
        let confinement = victim.confinement(Profile::Workspace, level);
        let (exit, shown) = victim.run(command, &confinement).await;
        assert!(wanted.is_none_or(|wanted| wanted == exit.status), "{level:?} {command}: {exit:?} {shown}");
        assert_eq!(guarded(&victim), before, "{level:?} {command}: {shown}");
        let harm = victim.harm(&shown);
        let besides_files = harm
            .iter()
            .find(|harm| harm.contains("agent") || harm.contains("reached") || harm.contains("secret"));
        assert_eq!(besides_files, None, "{level:?} {command}");
    }
}

#[tokio::test]
async fn writes_inside_work() {
    check(Level::Namespaces, INSIDE, Some(Status::Code(0))).await;
    check(Level::Namespaces, INSIDE_NAMESPACES, Some(Status::Code(0))).await;
    check(Level::Landlock, INSIDE, Some(Status::Code(0))).await;
}

// KERN-01, KERN-05
#[tokio::test]
async fn what_is_protected_or_outside_stays_with_namespaces() {
    check(Level::Namespaces, OUTSIDE, None).await;
    check(Level::Namespaces, OUTSIDE_NAMESPACES, None).await;
}

// KERN-01, KERN-05
#[tokio::test]
async fn what_is_protected_or_outside_stays_with_landlock_alone() {
    check(Level::Landlock, OUTSIDE, None).await;
}

#[tokio::test]
async fn changes_inside_are_real_and_named_caches_are_writable() {
    for level in levels() {
        let victim = Victim::new();
        let mut confinement = victim.confinement(Profile::Workspace, level);
        confinement.writable.push(victim.path("home/.cache"));
        let (exit, shown) = victim.run("echo x > dir/made; echo y > ~/.cache/made", &confinement).await;
        assert_eq!(exit.status, Status::Code(0), "{shown}");
        assert_eq!(fs_err::read_to_string(victim.path("project/dir/made")).unwrap(), "x\n");
        assert_eq!(fs_err::read_to_string(victim.path("home/.cache/made")).unwrap(), "y\n");
    }
}

// REPL-01: whatever variables, links and recordings name.
#[tokio::test]
async fn within_its_roots_a_command_writes_nowhere_else() {
    for level in levels() {
        let mut victim = Victim::new();
        victim.vars.insert("TMPDIR".to_owned(), victim.path("tmp").display().to_string());
        let around = tempfile::tempdir_in("/tmp").unwrap();
        let around = fs_err::canonicalize(around.path()).map(|path| (path, around)).unwrap();
        let [copy, kept, planted] = ["copy", "kept", "planted"].map(|name| around.0.join(name));
        fs_err::create_dir(&copy).unwrap();
        fs_err::write(&kept, "mine").unwrap();
        let repository = victim.path("project/.git");
        fs_err::write(copy.join(".git"), format!("gitdir: {}\n", repository.display())).unwrap();
        fs_err::create_dir(copy.join("dir")).unwrap();
        let confinement = Confinement {
            roots: vec![copy.clone()],
            network: Network::Deny,
            ..victim.confinement(Profile::Workspace, level).within_roots()
        };
        let (inside, beside) = (copy.display(), around.0.display());
        let command = format!(
            "echo x > {inside}/dir/made; mkdir -p {beside}; rm -f {beside}/kept; echo x > {beside}/planted; \
             echo x > /var/tmp/$TAG; echo x > $TMPDIR/planted; echo x > $P/.git/planted; echo x > $O/new; true"
        );
        let (_, shown) = victim.run(&command, &confinement).await;
        assert!(copy.join("dir/made").exists(), "{level:?}: {shown}");
        assert!(kept.exists() && !planted.exists(), "{level:?}: {shown}");
        let temporary = [PathBuf::from("/var/tmp").join(&victim.vars["TAG"]), victim.path("tmp/planted")];
        assert!(temporary.iter().all(|path| !path.exists()), "{level:?}: {shown}");
        assert_eq!(victim.harm(&shown), Vec::<String>::new(), "{level:?}");
    }
}

#[tokio::test]
async fn what_does_not_exist_yet_cannot_be_planted() {
    for level in levels() {
        let victim = Victim::new();
        for dir in ["project/.claude", "project/.tiller", "project/.git/hooks"] {
            fs_err::remove_dir_all(victim.path(dir)).unwrap();
        }
        let command =
            "for d in .claude .tiller .git/hooks; do rm -rf $d; mkdir $d; echo x > $d/planted; done";
        victim.run(command, &victim.confinement(Profile::Workspace, level)).await;
        tidy_up();
        for dir in ["project/.claude", "project/.tiller", "project/.git/hooks"] {
            assert!(!victim.path(dir).exists(), "{level:?} {dir}");
        }
    }
}

/// Ways to leave servers behind that a later run would start, and to keep them from being set aside.
const PLANT_SERVERS: &[&str] = &[
    "echo evil > .mcp.json",
    "echo evil > dir/evil; mv dir/evil .mcp.json",
    "echo evil > dir/evil; ln dir/evil .mcp.json",
    "echo evil > dir/evil; ln -s dir/evil .mcp.json",
    "mkdir -p .mcp.json.refused/full; echo evil > .mcp.json",
    "echo evil > .mcp.json; chmod 555 .",
    "mkdir .mcp.json",
];

// KERN-01
#[tokio::test]
async fn no_command_leaves_servers_behind_that_a_later_run_would_start() {
    for level in levels() {
        for plant in PLANT_SERVERS {
            let victim = Victim::new();
            let (_, shown) = victim.run(plant, &victim.confinement(Profile::Workspace, level)).await;
            tidy_up();
            assert!(victim.path("project/.mcp.json").symlink_metadata().is_err(), "{level:?} {plant}");
            // With Landlock alone it is not even made.
            let is_told = shown.contains(".mcp.json: what was made there was renamed to .mcp.json.refused");
            assert_eq!(is_told, level == Level::Namespaces, "{level:?} {plant}: {shown}");
        }
    }
}

/// What git would follow to settings of the command's own making, and directories that are closed although there are none.
const PLANT: &str = "mkdir -p dir/evil; cp -r .git/. dir/evil; \
    echo ../dir/evil > .git/commondir; rm -f .git/commondir; echo ../dir/evil > dir/new; mv dir/new .git/commondir; \
    ln -s ../dir/evil .git/commondir; echo x > .git/config.worktree; mv dir/evil/config .git/config.worktree; \
    mkdir -p conf/deep; echo x > conf/deep/planted; mv conf c2; mkdir conf; echo x > conf/beside; echo up; sleep 1000";

// KERN-01: not even while the command runs, which in the background can be long.
#[tokio::test]
async fn what_does_not_exist_cannot_be_planted_while_the_command_runs() {
    for level in levels() {
        let victim = Victim::new();
        let mut confinement = victim.confinement(Profile::Workspace, level);
        confinement.closed = vec![victim.path("project/conf/deep"), victim.path("nowhere/at/all")];
        let child = victim.start(PLANT, &confinement).await.unwrap();
        let output = child.output();
        let look = async {
            // What it complains about comes before.
            while !output.last(3).ends_with(b"up\n") {
                output.grown().await;
            }
            let read = |name: &str| fs_err::read_to_string(victim.path(name)).unwrap_or_default();
            assert_eq!(read("project/.git/commondir").trim_end_matches(['\n', '/', '.']), "");
            assert_eq!(read("project/.git/config.worktree"), "");
            assert!(!victim.path("project/conf/deep/planted").exists());
            assert!(!victim.path("nowhere").exists());
            git_is_as_ever(&victim);
        };
        child.finish(look).await;
        tidy_up();
        for name in [".git/commondir", ".git/config.worktree", "conf/deep"] {
            assert!(!victim.path("project").join(name).exists(), "{level:?} {name}");
        }
    }
}

/// The user's own git notices nothing of what stands in for something.
fn git_is_as_ever(victim: &Victim) {
    let asked = "set -e; git status --short -uno; git rev-parse --is-bare-repository; git worktree list | wc -l; \
        git commit -q --allow-empty -m outside; git log -1 --format=%s; git worktree add -q ../beside; \
        git -C ../beside log -1 --format=%s; git worktree remove ../beside; git gc -q; git clone -q . ../copy; \
        git -C ../copy log -1 --format=%s";
    let ran = std::process::Command::new("bash")
        .args(["-c", asked])
        .current_dir(victim.path("project"))
        .env("HOME", victim.path("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(said, "false\n1\noutside\noutside\noutside\n");
}

#[tokio::test]
async fn the_network_is_there_unless_denied() {
    for level in levels() {
        for (network, reached) in [(Network::Allow, true), (Network::Deny, false)] {
            for command in ["echo x > /dev/tcp/127.0.0.1/$TCP", "echo x > /dev/udp/127.0.0.1/$UDP"] {
                let mut victim = Victim::new();
                let mut confinement = victim.confinement(Profile::Workspace, level);
                confinement.network = network;
                victim.run(command, &confinement).await;
                let harm = victim.harm("");
                assert_eq!(
                    harm.iter().any(|harm| harm.contains("reached")),
                    reached,
                    "{level:?} {network:?} {command}"
                );
            }
        }
    }
}

// A command can print what it likes; the kernel counts what it has tried.
#[tokio::test]
async fn who_has_tried_to_reach_the_network_is_known() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    let mut confinement = victim.confinement(Profile::Workspace, Level::Namespaces);
    confinement.network = Network::Deny;
    for (command, unreached) in [
        ("echo 'curl: (6) Could not resolve host: example.org' >&2; exit 6", false),
        ("echo x > /dev/tcp/192.0.2.1/80", true),
        ("echo x > /dev/tcp/127.0.0.1/9", true),
        ("python3 -c \"import socket; socket.socket(10, 2).connect(('2001:db8::1', 53))\"", true),
        (
            "python3 -c \"import socket as s; a = s.create_server(('127.0.0.1', 0)); s.create_connection(a.getsockname())\"",
            false,
        ),
    ] {
        let (exit, shown) = victim.run(command, &confinement).await;
        assert_eq!(exit.unreached, unreached, "{command}: {exit:?} {shown}");
    }
}

// KERN-04
#[tokio::test]
async fn nothing_survives_a_workspace_either() {
    for level in levels() {
        let mut victim = Victim::new();
        let confinement = victim.confinement(Profile::Workspace, level);
        let daemon =
            "setsid bash -c \"trap '' TERM HUP; while :; do sleep 1; done; : survive-$TAG\" & sleep .1";
        let ended = finish(victim.start(daemon, &confinement).await.unwrap()).await;
        let stopped = victim.start(&format!("{daemon}; echo up; sleep 1000"), &confinement).await.unwrap();
        let stopped = stop_when_shown(stopped).await;
        tidy_up();
        let alive: Vec<_> = victim.harm("").into_iter().filter(|harm| harm.contains("survivors")).collect();
        assert_eq!((ended.survivors, stopped.survivors, alive), (0, 0, Vec::new()), "{level:?}");
    }
}
