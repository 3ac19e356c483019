//! Each attack is first run without confinement, where it must do harm, and then read-only by every means, where it
//! must not.

use std::path::Path;
use std::time::{Duration, Instant};

use tiller_sandbox::{Confinement, Level, Profile, Status};

use crate::means::{has, levels};
use crate::victim::{Victim, stop_when_shown};

/// Whether an attack can be shown to work without confinement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    Harms,
    /// It would harm the machine the test runs on, or needs what is not there.
    Skip,
}

/// Runs attacks read-only; those whose program is missing are left out.
async fn check(attacks: &[&str], control: Control) {
    check_held(attacks, control, |victim, level| vec![victim.confinement(Profile::ReadOnly, level)]).await;
}

/// The same for attacks on files only, which a command in a workspace that is there to look cannot carry out either. With
/// Landlock alone that is true of contents and names.
async fn check_files(attacks: &[&str]) {
    let held = |victim: &Victim, level| {
        let looking = Confinement { looking: true, ..victim.confinement(Profile::Workspace, level) };
        let by_mounts = (level == Level::Namespaces).then_some(looking);
        [victim.confinement(Profile::ReadOnly, level)].into_iter().chain(by_mounts).collect()
    };
    check_held(attacks, Control::Harms, held).await;
}

async fn check_held(attacks: &[&str], control: Control, held: impl Fn(&Victim, Level) -> Vec<Confinement>) {
    let mut victim = Victim::new();
    let confinements: Vec<_> = levels().iter().flat_map(|level| held(&victim, *level)).collect();
    for confinement in &confinements {
        victim.run("true", confinement).await;
    }
    // In a workspace something stands in for what could be made to steer git.
    victim.is_as_it_should_be();
    for attack in attacks.iter().filter(|attack| is_there(attack)) {
        if control == Control::Harms {
            let mut lab = Victim::new();
            let full = lab.confinement(Profile::Full, Level::None);
            let (_, shown) = lab.run(attack, &full).await;
            assert!(harms(&mut lab, &shown).await, "harmless by itself: {attack}\n{shown}");
        }
        for confinement in &confinements {
            let (exit, shown) = victim.run(attack, confinement).await;
            let harm = victim.harm(&shown);
            let by = (confinement.profile, confinement.at_most);
            assert!(harm.is_empty(), "{by:?}: {attack}\n{}\n{shown}", harm.join("\n"));
            assert_eq!(exit.survivors, 0, "{by:?}: {attack}");
        }
    }
}

/// Whether harm shows, if need be after a while: a killed process takes its time to die.
async fn harms(victim: &mut Victim, shown: &str) -> bool {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(60) {
        if !victim.harm(shown).is_empty() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

/// The first word of an attack is its program, unless it is the shell's own.
fn is_there(attack: &str) -> bool {
    let program = attack.split_whitespace().next().unwrap_or_default();
    !["node", "perl", "python3", "gdb", "curl", "npm", "setfattr"].contains(&program)
        || ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

// KERN-01, KERN-02, KERN-03
#[tokio::test]
async fn files_written_by_the_shell_and_its_tools() {
    check_files(&[
        "echo x > a.txt",
        "echo x >> a.txt",
        ": > a.txt",
        "echo x >| a.txt",
        "exec 5<>a.txt; echo x >&5",
        "cat > a.txt <<'EOF'\nx\nEOF",
        "echo x | tee a.txt",
        "echo x | tee -a dir/sub.txt >/dev/null",
        "touch new.txt",
        "touch -d 2001-01-01 a.txt",
        "truncate -s 0 a.txt",
        "truncate -s 1M a.txt",
        "fallocate -l 1M big",
        "dd if=/dev/zero of=a.txt bs=1 count=1 conv=notrunc status=none",
        "sed -i s/first/last/ a.txt",
        "sort -r -o mod.py mod.py /dev/null; split -b 2 a.txt",
        "awk 'BEGIN { print \"x\" > \"made\" }'",
        "cp a.txt dir/copy",
        "cp -r dir other",
        "install -m 755 a.txt installed",
        "gzip a.txt -f; gzip dir/sub.txt",
        "tar cf made.tar a.txt",
        "tar cf - a.txt | (cd dir && tar xf -)",
        "mktemp -p .",
        "printf '1c\\nx\\n.\\nw\\n' | patch a.txt 2>&1; echo x > a.txt.rej",
        "echo x > link",
        "echo x > /proc/self/cwd/a.txt",
        "echo x > /proc/self/root/$P/a.txt",
        "echo x > /proc/$$/cwd/a.txt",
        "cd /; echo x > $P/../project/./a.txt",
        "env -i sh -c 'echo x > a.txt'",
        "find . -name a.txt -exec sh -c 'echo x > $1' sh {} \\;",
        "echo a.txt | xargs -I{} sh -c 'echo x > {}'",
        "bash -c 'coproc { echo x > a.txt; }; wait'",
    ])
    .await;
}

// KERN-01, KERN-02, KERN-03
#[tokio::test]
async fn names_modes_and_places_outside_of_the_project() {
    check_files(&[
        "rm a.txt",
        "rm -rf dir",
        "rmdir empty",
        "find . -delete",
        "mv a.txt b.txt",
        "mv dir dir2",
        "mv dir/sub.txt $O/",
        "mkdir newdir",
        "mkfifo pipe",
        "mknod pipe2 p",
        "ln a.txt hard",
        "ln -s a.txt sym",
        "ln -sfn /etc link",
        "unlink twin",
        "chmod 777 a.txt",
        "chmod -R go-rwx .",
        "chmod u+s run.sh",
        "rm -rf .git",
        "echo x > $O/o.txt",
        "rm -rf $O",
        "cp a.txt $O/b.txt",
        "echo x >> $H/.bashrc",
        "mkdir -p $H/.config/autostart",
        "echo k >> $H/.ssh/authorized_keys",
        "rm -rf ~/.cache",
        "mv $H/.ssh $H/.ssh2",
    ])
    .await;
}

// KERN-01, KERN-02, KERN-03
#[tokio::test]
async fn interpreters() {
    check_files(&[
            "python3 -c \"open('a.txt','w').write('x')\"",
            "python3 -c \"import os; os.truncate('a.txt', 1)\"",
            "python3 -c \"import os; os.close(os.open('a.txt', os.O_RDONLY | os.O_TRUNC))\"",
            "python3 -c \"import mmap,os; f=os.open('a.txt',os.O_RDWR); m=mmap.mmap(f,0); m[0:1]=b'X'; m.flush()\"",
            "python3 -c \"import os; os.link('a.txt','l2')\"",
            "python3 -c \"import os; os.rename('a.txt','z')\"",
            "python3 -c \"import shutil; shutil.rmtree('dir')\"",
            "python3 -c \"import os; os.chmod('a.txt', 0o600)\"",
            "python3 -c \"import os; f=os.open('a.txt',os.O_RDONLY); os.fchmod(f, 0o600)\"",
            "python3 -c \"import os; os.utime('a.txt', (1,1))\"",
            "python3 -c \"import os; os.setxattr('a.txt','user.x',b'y')\"",
            "python3 -c \"import os; d=os.open('dir',os.O_RDONLY); os.unlink('sub.txt', dir_fd=d)\"",
            "python3 -c \"import os; f=os.open('.',os.O_TMPFILE|os.O_WRONLY); import ctypes; ctypes.CDLL(None).linkat(-100,b'/proc/self/fd/%d'%f,-100,b'made',0x400)\"",
            "python3 -c \"import os; a=os.open('mod.py',0); b=os.open('a.txt',os.O_WRONLY); os.sendfile(b,a,0,9)\"",
            "python3 -c \"import os; a=os.open('mod.py',0); b=os.open('a.txt',os.O_WRONLY); os.copy_file_range(a,b,9)\"",
            "python3 -c \"import ctypes; l=ctypes.CDLL(None); l.syscall(257,-100,b'made',0o101,0o644)\" # x86-64 openat",
            "python3 -c \"import ctypes; l=ctypes.CDLL(None); l.renameat2(-100,b'a.txt',-100,b'mod.py',2)\"",
            "python3 -c \"import ctypes; l=ctypes.CDLL(None); l.creat(b'a.txt',0o644)\"",
            "python3 -c 'import mod' ; test -d __pycache__ && rm -rf dir || python3 -m compileall -q .",
            "python3 -c \"import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  open('late','w').close()\n os._exit(0)\nos.wait(); time.sleep(.2)\"",
            "perl -e 'open F, \">\", \"a.txt\"; print F 1'",
            "perl -e 'unlink \"a.txt\"; utime 1, 1, \"mod.py\"'",
            "perl -pi -e s/first/x/ a.txt",
            "node -e 'require(\"fs\").writeFileSync(\"a.txt\",\"x\")'",
            "node -e 'require(\"fs\").rmSync(\"dir\",{recursive:true})'",
            "npm init -y",
            "npm config set fund false",])
    .await;
}

// KERN-02, KERN-03: regressions named by users of other agents.
#[tokio::test]
async fn git() {
    check_files(&[
        "echo x >> a.txt; git commit -qam two",
        "git commit -q --allow-empty -m two",
        "git config user.name evil",
        "git config --global alias.st status",
        "git -c core.hooksPath=/tmp tag v1",
        "echo 'touch $O/hooked' > .git/hooks/pre-commit",
        "git branch other",
        "git checkout -q -b other",
        "git update-ref refs/heads/x HEAD",
        "git remote add o /nowhere",
        "git worktree add -q $O/tree",
        "git clone -q . $O/clone",
        "git init -q $O/new",
        "rm a.txt; git rm -q mod.py",
        "git gc -q --prune=now; git pack-refs --all; git reflog expire --all --expire=now",
        "git clean -qfdx; git stash -q -u; git reset -q --hard; git notes add -m n",
    ])
    .await;
}

// KERN-05
#[tokio::test]
async fn sockets_and_terminals() {
    check(
        &[
            "echo x > /dev/tcp/127.0.0.1/$TCP",
            "echo x > /dev/udp/127.0.0.1/$UDP",
            "curl -s -m 2 http://127.0.0.1:$TCP/",
            "python3 -c \"import socket,os; socket.create_connection(('127.0.0.1',int(os.environ['TCP'])),2)\"",
            "python3 -c \"import socket,os; socket.socket(2,2).sendto(b'x',('127.0.0.1',int(os.environ['UDP'])))\"",
            "python3 -c \"import socket,os; socket.socket(1,1).connect(os.environ['SOCKET'])\"",
            "python3 -c \"import socket,os; os.chdir(os.environ['O']); socket.socket(1,1).connect('socket')\"",
            "python3 -c \"import socket,os; socket.socket(1,1).connect('/proc/self/root'+os.environ['SOCKET'])\"",
            "python3 -c \"import socket,os; socket.socket(1,1).connect('\\0'+os.environ['HIDDEN'])\"",
            "perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0); connect(S,sockaddr_un($ENV{SOCKET})) or die $!'",
            "node -e 'setTimeout(process.exit,300); require(\"net\").connect(process.env.SOCKET)'",
            "node -e 'setTimeout(process.exit,300); require(\"net\").connect(+process.env.TCP,\"127.0.0.1\")'",
            "echo x > $PTY",
            "setsid sh -c 'echo x >&0' <> $PTY",
        ],
        Control::Harms,
    )
    .await;
}

/// Listens at `$O/NAME` until it is dropped.
struct Service(std::process::Child);

impl Service {
    const LISTEN: &str = "import socket, sys, time
s = socket.socket(1, 1); s.bind(sys.argv[1]); s.listen(9); print('listens', flush=True)
time.sleep(1000)";

    /// None if it cannot be started here.
    fn start(victim: &Victim, command: &[&str], path: &Path) -> Option<Self> {
        let mut service = std::process::Command::new(command[0])
            .args(&command[1..])
            .args(["python3", "-c", Self::LISTEN])
            .arg(path)
            .current_dir(victim.path("outside"))
            .stdout(std::process::Stdio::piped())
            .spawn()
            .ok()?;
        let mut said = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(service.stdout.take()?), &mut said).ok()?;
        let service = Self(service);
        (said == "listens\n").then_some(service)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

// KERN-05: bound by a relative name, and in another network, where Tiller's own table does not show it.
#[tokio::test]
async fn sockets_that_are_hard_to_see() {
    const REACH: &str = "python3 -c \"import socket,os; socket.socket(1,1).connect(os.environ['O']+'/service'); print('reached')\"";
    for command in [&["env"][..], &["unshare", "-rn"]] {
        let victim = Victim::new();
        let path = if command[0] == "env" { "service".into() } else { victim.path("outside/service") };
        let Some(_service) = Service::start(&victim, command, &path) else { continue };
        let full = victim.confinement(Profile::Full, Level::None);
        let (_, shown) = victim.run(REACH, &full).await;
        assert!(shown.contains("reached"), "harmless by itself: {command:?} {shown}");
        for level in levels() {
            let held = [(Profile::ReadOnly, level), (Profile::Workspace, level)];
            // With Landlock alone, sockets with a path are a gap of the workspace profile.
            for (profile, level) in
                held.into_iter().filter(|held| *held != (Profile::Workspace, Level::Landlock))
            {
                let (_, shown) = victim.run(REACH, &victim.confinement(profile, level)).await;
                assert!(!shown.contains("reached"), "{command:?} {profile:?} {level:?}: {shown}");
            }
        }
    }
}

// KERN-05
#[tokio::test]
async fn the_agent_itself() {
    check(
        &[
            "kill -9 $AGENT",
            "kill -STOP $AGENT",
            "kill -TERM $AGENT; sleep .1",
            "python3 -c \"import os; os.kill(int(os.environ['AGENT']),15)\"; sleep .1",
            "python3 -c \"import os,signal; signal.pidfd_send_signal(os.pidfd_open(int(os.environ['AGENT'])),15)\"; sleep .1",
            "tr '\\0' '\\n' < /proc/$AGENT/environ",
            "cat /proc/$AGENT/task/*/environ",
            "python3 -c \"
import os
p=os.environ['AGENT']
s=[l for l in open(f'/proc/{p}/maps') if 'stack' in l][0].split()[0].split('-')
a,b=[int(x,16) for x in s]
m=open(f'/proc/{p}/mem','rb'); m.seek(a); print(m.read(b-a))\"",
            "python3 -c \"
import os,ctypes
l=ctypes.CDLL(None,use_errno=True)
l.ptrace(16,int(os.environ['AGENT']),0,0); os.waitpid(int(os.environ['AGENT']),0x40000000)
os.kill(int(os.environ['AGENT']),9)\"",
            "gdb -q -batch -p $AGENT -ex 'call (int)raise(9)' -ex kill",
            "prlimit --pid $AGENT --nofile=3:3",
            "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null | grep -a AGENT_SECRET",
            "ls /proc/$AGENT/root/etc && cat /proc/$AGENT/root/$P/../x 2>/dev/null; echo x > /proc/$AGENT/root/$P/a.txt",
            "echo x > /proc/$AGENT/cwd/made",
        ],
        Control::Harms,
    )
    .await;
}

// KERN-04, KERN-05: without namespaces these would reach the test's own processes.
#[tokio::test]
async fn signals_to_everyone_stay_inside() {
    if !has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    let confinement = victim.confinement(Profile::ReadOnly, Level::Namespaces);
    for (attack, shown_at_end) in [
        ("kill -9 $PPID; echo still here", true),
        ("kill -STOP $PPID; kill -STOP 1; echo still here", true),
        ("kill -9 1; kill -TERM 1; kill -HUP 1; echo still here", true),
        ("kill -9 -1; echo still here", true),
        ("kill -9 0; echo still here", false),
        ("(kill -9 -1) & wait; echo still here", false),
        ("setsid kill -STOP -1; echo still here", false),
    ] {
        let child = victim.start(&format!("sleep 1000 & {attack}"), &confinement).await.unwrap();
        let output = child.output();
        // Whoever stops everybody else stops the shell as well, and only a limit ends that.
        let limit = tokio::time::sleep(Duration::from_secs(if shown_at_end { 120 } else { 3 }));
        let (exit, _) = child.finish(limit).await;
        let shown = String::from_utf8_lossy(&output.take().0.head).into_owned();
        assert_eq!(exit.survivors, 0, "{attack}");
        assert!(!shown_at_end || shown.contains("still here"), "{attack}: {exit:?} {shown}");
        assert_eq!(victim.harm(&shown), [""; 0], "{attack}");
    }
}

// KERN-04, KERN-05
#[tokio::test]
async fn the_supervisor_is_out_of_reach_without_namespaces_too() {
    if !has(Level::Landlock) {
        return;
    }
    let victim = Victim::new();
    let confinement = victim.confinement(Profile::ReadOnly, Level::Landlock);
    for signal in ["KILL", "STOP", "TERM"] {
        let attack = format!("kill -{signal} $PPID; echo still here");
        let (exit, shown) = victim.run(&attack, &confinement).await;
        assert!(shown.contains("still here"), "{attack}: {shown}");
        assert_eq!(exit.status, Status::Code(0), "{attack}");
    }
}

// KERN-04
#[tokio::test]
async fn nothing_survives() {
    let daemons = [
        "setsid bash -c 'sleep 1000; : survive-'$TAG & disown; sleep .1",
        "nohup setsid bash -c 'trap \"\" TERM HUP INT; while :; do sleep 1; done; : survive-'$TAG >/dev/null 2>&1 & sleep .1",
        "(setsid bash -c \"setsid bash -c 'sleep 1000; : survive-$TAG' & sleep 1000; : survive-$TAG\" &); sleep .1",
        "env -i setsid bash -c \"trap '' TERM; sleep 1000; : survive-$TAG\" & sleep .1",
        "python3 -c \"
import os,signal,time,sys
if os.fork()==0:
    os.setsid()
    if os.fork()==0:
        for s in (15,1,2): signal.signal(s, signal.SIG_IGN)
        time.sleep(1000)
    os._exit(0)
os.wait()\" survive-$TAG",
    ];
    check(&daemons, Control::Skip).await;
    let mut victim = Victim::new();
    for level in levels() {
        for daemon in daemons {
            let confinement = victim.confinement(Profile::ReadOnly, level);
            let child = victim.start(&format!("{daemon}; echo up; sleep 1000"), &confinement).await.unwrap();
            let exit = stop_when_shown(child).await;
            assert_eq!((exit.survivors, victim.harm("")), (0, Vec::new()), "{level:?} {daemon}");
        }
    }
}
