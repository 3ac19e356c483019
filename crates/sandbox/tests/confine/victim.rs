//! Everything a command could harm, and how to tell whether it did.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::pending;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tiller_policy::{Access, Context, Decision, Permit, Request, Script, approve};
use tiller_protocol::id::CallId;
use tiller_protocol::mode::Mode;
use tiller_sandbox::{
    Child, Confinement, Exit, Level, Profile, SandboxError, Spawn, Spool, SpoolStart, Stdin, Successor,
    spawn_confined,
};
use tiller_testenv::eventually;

/// Stands in files, memory and environment that must not be seen.
pub(crate) const SECRET: &str = "s3cr3t-of-the-agent";

const SET_UP: &str = r#"
set -e
mkdir -p project/dir project/empty home/.ssh home/.cache outside tmp
cd project
echo first > a.txt; echo second > dir/sub.txt; ln -s a.txt link; ln a.txt twin
printf '#!/bin/sh\necho ran\n' > run.sh; chmod 755 run.sh
printf 'def f(): return 1\n' > mod.py
git init -q -b main . ; git config user.name t; git config user.email t@example.org
git add . ; git commit -q -m one; rm -f .git/hooks/*.sample; mkdir -p .git/hooks .claude .tiller
echo '{}' > .claude/settings.json; echo '{}' > .tiller/settings.json
echo 'echo hook' > .git/hooks/post-commit
cd ..
echo alias > home/.bashrc; echo key > home/.ssh/id; echo cached > home/.cache/c
echo outside > outside/o.txt
"#;

/// A process, files, sockets and a terminal that belong to someone else.
pub(crate) struct Victim {
    dir: tempfile::TempDir,
    agent: std::process::Child,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    hidden: UnixListener,
    terminal: fs_err::File,
    before: String,
    pub(crate) vars: BTreeMap<String, String>,
}

impl Victim {
    pub(crate) fn new() -> Self {
        let dir = outside_of_temporary_places();
        let path = dir.path().canonicalize().unwrap();
        let tag = path.file_name().unwrap().to_str().unwrap().to_owned();
        let made = Command::new("bash")
            .args(["-c", SET_UP])
            .current_dir(&path)
            .env("HOME", path.join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let agent = agent(&path.join("outside"));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = path.join("outside/socket");
        let unix = UnixListener::bind(&socket).unwrap();
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&tag).unwrap()).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        unix.set_nonblocking(true).unwrap();
        hidden.set_nonblocking(true).unwrap();
        let (terminal, terminal_path) = terminal();
        let vars = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("HOME", path.join("home").display().to_string()),
            ("P", path.join("project").display().to_string()),
            ("H", path.join("home").display().to_string()),
            ("O", path.join("outside").display().to_string()),
            ("AGENT", agent.id().to_string()),
            ("TCP", tcp.local_addr().unwrap().port().to_string()),
            ("UDP", udp.local_addr().unwrap().port().to_string()),
            ("SOCKET", socket.display().to_string()),
            ("HIDDEN", tag.clone()),
            ("PTY", terminal_path.display().to_string()),
            ("TAG", tag),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("SOME_API_KEY", SECRET.to_owned()),
        ];
        let vars = vars.map(|(name, value)| (name.to_owned(), value)).into();
        let mut victim = Self { dir, agent, tcp, udp, unix, hidden, terminal, before: String::new(), vars };
        victim.before = victim.state();
        victim
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(below)
    }

    pub(crate) fn confinement(&self, profile: Profile, at_most: Level) -> Confinement {
        let mut confinement = Confinement::new(profile, vec![self.path("project")]);
        confinement.at_most = at_most;
        if profile == Profile::Workspace {
            // All of this may itself lie in the usual temporary directory.
            confinement.writable = vec![self.path("tmp")];
        }
        confinement
    }

    pub(crate) async fn start(
        &self,
        command: &str,
        confinement: &Confinement,
    ) -> Result<Child, SandboxError> {
        self.start_permitted(&permit(command, &self.path("project")), confinement).await
    }

    pub(crate) async fn start_permitted(
        &self,
        permit: &Permit,
        confinement: &Confinement,
    ) -> Result<Child, SandboxError> {
        let call = CallId::from("call");
        let spool = Spool { dir: self.path("spool"), start: SpoolStart::WhenFull };
        // So that all but the first command run in a shell that was there before its script.
        let successor = Successor::Likely;
        let spec =
            Spawn { call: &call, vars: &self.vars, stdin: Stdin::Closed, spool, extra: &[], successor };
        spawn_confined(permit, &spec, confinement).await
    }

    pub(crate) async fn run(&self, command: &str, confinement: &Confinement) -> (Exit, String) {
        let child =
            self.start(command, confinement).await.unwrap_or_else(|error| panic!("{command}: {error}"));
        let wanted = if confinement.profile == Profile::Full { Level::None } else { confinement.at_most };
        assert_eq!(child.level(), wanted, "{command}");
        let output = child.output();
        let limit = tokio::time::sleep(std::time::Duration::from_secs(120));
        let (exit, late) = child.finish(limit).await;
        assert!(late.is_none(), "{command} hangs");
        let (stdout, stderr) = output.take();
        let all = [stdout.head, stdout.tail, stderr.head, stderr.tail].concat();
        (exit, String::from_utf8_lossy(&all).into_owned())
    }

    /// What has changed until now is no harm.
    pub(crate) fn is_as_it_should_be(&mut self) {
        self.before = self.state();
    }

    /// What was harmed, given what a command printed.
    pub(crate) fn harm(&mut self, shown: &str) -> Vec<String> {
        let mut harm = Vec::new();
        if self.state() != self.before {
            harm.push(difference(&self.before, &self.state()));
        }
        if shown.contains(SECRET) {
            harm.push("a secret was read".to_owned());
        }
        if !matches!(self.tcp.accept().map(drop), Err(error) if error.kind() == ErrorKind::WouldBlock) {
            harm.push("tcp reached".to_owned());
        }
        if self.udp.recv(&mut [0; 10]).is_ok() {
            harm.push("udp reached".to_owned());
        }
        for (name, socket) in [("unix", &self.unix), ("abstract", &self.hidden)] {
            if socket.accept().is_ok() {
                harm.push(format!("{name} socket reached"));
            }
        }
        if self.terminal.read(&mut [0; 10]).is_ok_and(|length| length > 0) {
            harm.push("terminal reached".to_owned());
        }
        if !self.processes().is_empty() {
            harm.push(format!("survivors {:?}", self.processes()));
        }
        harm
    }

    /// Everything about the files, and about the process that should be left alone.
    fn state(&self) -> String {
        let mut state = String::new();
        for below in ["project", "home", "outside"] {
            describe(&self.path(below), &mut state);
        }
        let pid = self.agent.id();
        let status = fs_err::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let limits = fs_err::read_to_string(format!("/proc/{pid}/limits")).unwrap_or_default();
        let alive = status.lines().find(|line| line.starts_with("State:")).unwrap_or("State: gone");
        let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap_or_default();
        let alone = ["(sleeping)", "(running)", "(disk"].iter().any(|state| alive.contains(state));
        writeln!(state, "agent {} {files}", if alone { "left alone" } else { alive }).unwrap();
        state
    }

    fn processes(&self) -> Vec<String> {
        let tag = &self.vars["TAG"];
        let lines = std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.unwrap().path().join("cmdline");
            Some(String::from_utf8_lossy(&fs_err::read(path).ok()?).into_owned())
        });
        lines.filter(|line| line.contains(&format!("survive-{tag}"))).collect()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        _ = self.agent.kill();
        _ = self.agent.wait();
        _ = Command::new("chmod").args(["-R", "u+rwx"]).arg(self.dir.path()).status();
    }
}

fn describe(path: &Path, state: &mut String) {
    let Ok(meta) = fs_err::symlink_metadata(path) else { return };
    let content = if meta.is_file() {
        format!("{:?}", fs_err::read(path).unwrap_or_default())
    } else {
        format!("{:?}", fs_err::read_link(path).ok())
    };
    let (mode, links, owner) = (meta.permissions().mode(), meta.nlink(), meta.uid());
    let modified = (meta.mtime(), meta.mtime_nsec());
    let named = attributes(path);
    writeln!(state, "{} {mode:o} {links} {owner} {modified:?} {named} {content}", path.display()).unwrap();
    if meta.is_dir() {
        let mut entries: Vec<_> =
            fs_err::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| describe(entry, state));
    }
}

fn attributes(path: &Path) -> usize {
    rustix::fs::llistxattr(path, &mut [0_u8; 256]).unwrap_or(0)
}

fn difference(before: &str, after: &str) -> String {
    let removed = before.lines().filter(|line| !after.lines().any(|other| other == *line));
    let added = after.lines().filter(|line| !before.lines().any(|other| other == *line));
    let lines = removed.map(|line| format!("- {line}")).chain(added.map(|line| format!("+ {line}")));
    lines.map(|line| line.chars().take(200).collect::<String>()).collect::<Vec<_>>().join("\n")
}

/// A directory where commands find nothing of their own: those that are temporary are made anew for each of them, and the
/// repository may lie in one.
pub(crate) fn outside_of_temporary_places() -> tempfile::TempDir {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let is_temporary = ["/tmp", "/var/tmp"].iter().any(|dir| target.starts_with(dir));
    let base = if is_temporary { std::env::home_dir().unwrap() } else { target.to_owned() };
    tempfile::tempdir_in(base).unwrap()
}

/// The process that must be left alone, with its secret in its environment.
fn agent(dir: &Path) -> std::process::Child {
    let agent = Command::new("sleep")
        .arg("1000")
        .env("AGENT_SECRET", SECRET)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It has been started before it is all there.
    let environment = format!("/proc/{}/environ", agent.id());
    let environment = || fs_err::read(&environment).unwrap();
    eventually("the agent is there", || String::from_utf8_lossy(&environment()).contains(SECRET));
    agent
}

/// A terminal, as seen by the program that draws it, and its path for those who use it.
fn terminal() -> (fs_err::File, PathBuf) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = PathBuf::from(ptsname(&master, Vec::new()).unwrap().into_string().unwrap());
    rustix::io::ioctl_fionbio(&master, true).unwrap();
    (fs_err::File::from_parts(master.into(), "terminal"), path)
}

pub(crate) fn permit(command: &str, cwd: &Path) -> Permit {
    let script = Script { command: command.to_owned(), cwd: cwd.to_owned() };
    let request = Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false };
    let cx = Context { mode: Mode::BypassPermissions, ..Context::default() };
    // What some of them change is asked about in every mode.
    match approve(&request, &cx) {
        Decision::Allow(permit, _) => permit,
        other => panic!("{other:?}"),
    }
}

/// Ends a running command when it is told to, and says how that went.
pub(crate) async fn stop_when_shown(child: Child) -> Exit {
    let output = child.output();
    let (exit, _) = child.finish(async { output.grown().await }).await;
    exit
}

/// Runs to the end.
pub(crate) async fn finish(child: Child) -> Exit {
    child.finish(pending::<()>()).await.0
}
