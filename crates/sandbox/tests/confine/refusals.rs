//! What a confined command is refused, and what it does not find.

use tiller_sandbox::{Level, Profile, Status};

use crate::means::{has, levels};
use crate::victim::{SECRET, Victim};

/// Commands that must fail under every profile and by every means.
const REFUSED: &[&str] = &[
    "mount -t tmpfs none /mnt",
    "mount -o remount,rw /",
    "mount --bind / /mnt",
    "umount -l /proc",
    "umount $P",
    "nsenter -t 1 -m true",
    "hostname evil",
    "echo h > /proc/sysrq-trigger",
    "echo core > /proc/sys/kernel/core_pattern",
    "echo 1 > /sys/kernel/mm/ksm/run",
    "cat /dev/mem /dev/kmsg /dev/vda /dev/sda /dev/nvme0n1 2>/dev/null | head -c 1 | grep -q .",
    "mknod $P/dir/device b 8 0",
    "mknod $P/dir/device c 1 1",
    ": < /dev/tty",
    "python3 -c \"import ctypes; exit(ctypes.CDLL(None).syscall(250,0,0,0,0) == -1)\" # keyctl",
    "python3 -c \"import ctypes; exit(ctypes.CDLL(None).syscall(321,0,0,0) == -1)\" # bpf",
    "python3 -c \"import ctypes; exit(ctypes.CDLL(None).syscall(425,1,0) == -1)\" # io_uring_setup",
    "python3 -c \"import ctypes; exit(ctypes.CDLL(None).syscall(323,0) == -1)\" # userfaultfd",
    "python3 -c \"import fcntl; fcntl.ioctl(0, 0x5412, b'x')\" # TIOCSTI",
    "python3 -c \"import ctypes; exit(ctypes.CDLL(None).syscall(0x40000000 + 39) == -1)\" # x32 getpid",
];

// KERN-01, KERN-05
#[tokio::test]
async fn the_machine_is_out_of_reach() {
    let mut victim = Victim::new();
    let name = rustix::system::uname().nodename().to_owned();
    for profile in [Profile::ReadOnly, Profile::Workspace] {
        for level in levels() {
            let confinement = victim.confinement(profile, level);
            for command in REFUSED {
                let (exit, shown) = victim.run(command, &confinement).await;
                assert_ne!(exit.status, Status::Code(0), "{profile:?} {level:?} {command}: {shown}");
            }
            assert_eq!(rustix::system::uname().nodename(), name.as_c_str());
            let harm = victim.harm("");
            assert!(profile == Profile::Workspace || harm.is_empty(), "{harm:?}");
        }
    }
}

#[tokio::test]
async fn a_read_only_command_makes_no_namespaces() {
    let victim = Victim::new();
    for level in levels() {
        let confinement = victim.confinement(Profile::ReadOnly, level);
        for command in ["unshare -U true", "unshare -Urm mount -t tmpfs none /mnt"] {
            let (exit, shown) = victim.run(command, &confinement).await;
            assert_ne!(exit.status, Status::Code(0), "{level:?} {command}: {shown}");
        }
    }
}

// KERN-07
#[tokio::test]
async fn credentials_and_denied_files_are_not_seen() {
    let victim = Victim::new();
    fs_err::write(victim.path("project/dir/.env"), SECRET).unwrap();
    fs_err::create_dir_all(victim.path("project/secrets/deep")).unwrap();
    fs_err::write(victim.path("project/secrets/deep/key"), SECRET).unwrap();
    for profile in [Profile::ReadOnly, Profile::Workspace] {
        for level in levels() {
            let mut confinement = victim.confinement(profile, level);
            confinement.denied_reads = vec![
                victim.path("project/dir/.env"),
                victim.path("project/secrets"),
                victim.path("project/absent"),
            ];
            for command in [
                "env",
                "cat dir/.env",
                "cat secrets/deep/key",
                "grep -r s3cr3t . $O",
                "cp dir/.env dir/x; cat dir/x",
                "ln dir/.env dir/y; cat dir/y",
                "mv dir/.env dir/z; cat dir/z; mv dir dir3; cat dir3/.env",
                "mv secrets dir/open; cat dir/open/deep/key",
                "python3 -c \"import mmap,os; print(open('dir/.env').read())\"",
                "cat /proc/self/root/$P/dir/.env /proc/self/cwd/secrets/deep/key",
                "tar c . | cat",
                "git hash-object -w --stdin < dir/.env; git show $(git hash-object dir/.env)",
            ] {
                let (_, shown) = victim.run(command, &confinement).await;
                assert!(!shown.contains(SECRET), "{profile:?} {level:?} {command}: {shown}");
            }
            let (_, shown) = victim.run("cat a.txt", &confinement).await;
            assert_eq!(shown, "first\n");
        }
    }
    if !has(Level::Namespaces) {
        return;
    }
    let mut confinement = victim.confinement(Profile::ReadOnly, Level::Namespaces);
    confinement.kept_vars = vec!["SOME_API_KEY".to_owned()];
    assert!(victim.run("env", &confinement).await.1.contains(SECRET));
}

// KERN-07: what lies where a private directory hides it anyway needs no mask.
#[tokio::test]
async fn denied_files_in_hidden_places_do_no_harm() {
    let victim = Victim::new();
    let hidden = tempfile::tempdir_in("/tmp").unwrap();
    fs_err::write(hidden.path().join("file"), SECRET).unwrap();
    for level in levels() {
        let mut confinement = victim.confinement(Profile::ReadOnly, level);
        confinement.denied_reads = vec![hidden.path().to_owned(), hidden.path().join("file")];
        let (exit, shown) = victim.run("cat /tmp/*/file; true", &confinement).await;
        assert!(exit.status == Status::Code(0) && !shown.contains(SECRET), "{level:?}: {exit:?} {shown}");
    }
}

// KERN-01: what cannot be confined does not run.
#[tokio::test]
async fn a_failure_to_confine_is_an_error() {
    let mut victim = Victim::new();
    let confinement = victim.confinement(Profile::ReadOnly, Level::None);
    let error = victim.start("touch $O/ran", &confinement).await.unwrap_err();
    assert!(error.to_string().contains("cannot be confined"), "{error}");
    assert_eq!(victim.harm(""), [""; 0]);
}

#[tokio::test]
async fn a_confined_command_knows_its_place() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    let confinement = victim.confinement(Profile::ReadOnly, Level::Namespaces);
    let command = "echo $$ $PPID; id -u; stat -c %u . a.txt ~; pwd; umask; cd dir";
    let (exit, shown) = victim.run(command, &confinement).await;
    let user = rustix::process::getuid().as_raw();
    let here = victim.path("project");
    let umask = shown.lines().last().unwrap_or_default().to_owned();
    let wanted = format!("2 1\n{user}\n{user}\n{user}\n{user}\n{}\n{umask}\n", here.display());
    assert_eq!(shown, wanted);
    assert_eq!((exit.status, exit.dir), (Status::Code(0), Some(here.join("dir"))));
    let (_, ours) = victim.run("umask", &victim.confinement(Profile::Full, Level::None)).await;
    assert_eq!(ours.trim(), umask);
}
