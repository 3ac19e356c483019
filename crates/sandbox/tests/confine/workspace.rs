//! A workspace: writes inside work, what rules or runs outside of it stays as it is.

use tiller_sandbox::{Level, Network, Profile, Status, tidy_up};

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
    for level in [Level::Namespaces, Level::Landlock] {
        let victim = Victim::new();
        let mut confinement = victim.confinement(Profile::Workspace, level);
        confinement.writable.push(victim.path("home/.cache"));
        let (exit, shown) = victim.run("echo x > dir/made; echo y > ~/.cache/made", &confinement).await;
        assert_eq!(exit.status, Status::Code(0), "{shown}");
        assert_eq!(fs_err::read_to_string(victim.path("project/dir/made")).unwrap(), "x\n");
        assert_eq!(fs_err::read_to_string(victim.path("home/.cache/made")).unwrap(), "y\n");
    }
}

#[tokio::test]
async fn what_does_not_exist_yet_cannot_be_planted() {
    for level in [Level::Namespaces, Level::Landlock] {
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

#[tokio::test]
async fn the_network_is_there_unless_denied() {
    for level in [Level::Namespaces, Level::Landlock] {
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

// KERN-04
#[tokio::test]
async fn nothing_survives_a_workspace_either() {
    for level in [Level::Namespaces, Level::Landlock] {
        let mut victim = Victim::new();
        let confinement = victim.confinement(Profile::Workspace, level);
        let daemon =
            "setsid bash -c \"trap '' TERM HUP; while :; do sleep 1; done; : survive-$TAG\" & sleep .1";
        let ended = finish(victim.start(daemon, &confinement).unwrap()).await;
        let stopped = victim.start(&format!("{daemon}; echo up; sleep 1000"), &confinement).unwrap();
        let stopped = stop_when_shown(stopped).await;
        assert_eq!((ended.survivors, stopped.survivors, victim.harm("")), (0, 0, Vec::new()), "{level:?}");
    }
}
