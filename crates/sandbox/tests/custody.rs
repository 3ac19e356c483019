//! Real commands, real processes: whatever a command does, it is read, ended and leaves nothing behind.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken set-up should stop the test")]

use std::collections::BTreeMap;
use std::future::pending;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tiller_policy::{Access, Context, Decision, Permit, Request, Script, decide};
use tiller_protocol::id::CallId;
use tiller_protocol::mode::Mode;
use tiller_sandbox::{
    Captured, Child, Exit, MEMORY_PER_STREAM, SPOOL_LIMIT, SandboxError, Spawn, Spool, SpoolStart, Status,
    Stdin, Successor, spawn,
};
use tiller_testenv::{eventually_beside, processes_with};
use tokio::io::AsyncWriteExt;

struct Place {
    dir: tempfile::TempDir,
    vars: BTreeMap<String, String>,
}

impl Place {
    fn new() -> Self {
        let vars = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self { dir: tempfile::tempdir().unwrap(), vars: vars.collect() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// A text that only processes of this test have on their command line.
    fn tag(&self) -> String {
        self.path().file_name().unwrap().to_str().unwrap().to_owned()
    }

    async fn start(&self, command: &str, stdin: Stdin) -> Child {
        self.try_start(&permit(command, &self.path()), stdin).await.unwrap()
    }

    async fn try_start(&self, permit: &Permit, stdin: Stdin) -> Result<Child, SandboxError> {
        let call = CallId::from("call_1");
        let spool = Spool { dir: self.path().join("spool"), start: SpoolStart::WhenFull };
        let successor = Successor::Likely;
        spawn(permit, &Spawn { call: &call, vars: &self.vars, stdin, spool, extra: &[], successor }).await
    }

    async fn run(&self, command: &str) -> (Exit, Captured, Captured) {
        let child = self.start(command, Stdin::Closed).await;
        let output = child.output();
        let (exit, _) = child.finish(pending::<()>()).await;
        let (stdout, stderr) = output.take();
        (exit, stdout, stderr)
    }
}

fn permit(command: &str, cwd: &Path) -> Permit {
    let script = Script { command: command.to_owned(), cwd: cwd.to_owned() };
    let request = Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false };
    let cx = Context { mode: Mode::BypassPermissions, ..Context::default() };
    match decide(&request, &cx) {
        Decision::Allow(permit, _) => permit,
        other => panic!("{other:?}"),
    }
}

fn text(captured: &Captured) -> String {
    assert_eq!(captured.left_out(), 0);
    String::from_utf8([captured.head.clone(), captured.tail.clone()].concat()).unwrap()
}

fn peak_memory_kib() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn both_streams_the_code_and_the_directory_come_back() {
    let place = Place::new();
    let (exit, stdout, stderr) = place.run("echo out; echo err >&2; mkdir sub; cd sub; (exit 3)").await;
    assert_eq!((text(&stdout).as_str(), text(&stderr).as_str()), ("out\n", "err\n"));
    let dir = Some(place.path().join("sub"));
    assert_eq!(exit, Exit { status: Status::Code(3), dir, survivors: 0, unreached: false });
}

#[tokio::test]
async fn commands_are_scheduled_like_the_program_that_runs_them() {
    const POLICY: usize = 41;
    let place = Place::new();
    let (_, stdout, _) = place.run(&format!("cut -d' ' -f{POLICY} /proc/self/stat")).await;
    let own = fs_err::read_to_string("/proc/self/stat").unwrap();
    // The name in parentheses may contain spaces.
    let own = own.rsplit(") ").next().unwrap().split(' ').nth(POLICY - 3).unwrap();
    assert_eq!(text(&stdout).trim_end(), own);
}

#[tokio::test]
async fn the_directory_is_told_however_the_shell_ends() {
    let place = Place::new();
    for (command, code, told) in [
        ("cd /usr; exit 3", 3, Some("/usr")),
        ("set -e; cd /usr; false; cd /", 1, Some("/usr")),
        ("trap 'echo bye' EXIT; cd /usr", 0, Some("/usr")),
        ("(cd /usr)", 0, Some("")),
        ("cd /usr; exec true", 0, None),
        ("cd /usr; set -u; echo $none", 1, Some("/usr")),
        ("cd '/usr", 1, Some("")),
        ("cd /usr # 'comment", 0, Some("/usr")),
        ("cat <<'X'\nit's\nX\ncd /usr", 0, Some("/usr")),
        ("exec 199>&-; cd /usr", 0, None),
    ] {
        let (exit, _, stderr) = place.run(command).await;
        let told = told.map(|dir| if dir.is_empty() { place.path() } else { PathBuf::from(dir) });
        let code_fits = exit.status == Status::Code(code)
            || (code == 1 && exit.status == Status::Code(2))
            || (code == 1 && exit.status == Status::Code(127));
        assert!(code_fits, "{command}: {exit:?} {}", text(&stderr));
        assert_eq!(exit.dir, told, "{command}");
        assert!(!text(&stderr).contains("199"), "{command}: {}", text(&stderr));
    }
}

#[tokio::test]
async fn tracing_shows_the_command_only() {
    let (_, _, stderr) = Place::new().run("set -x; true").await;
    assert_eq!(text(&stderr), "++ true\n");
}

// CUST-01
#[tokio::test]
async fn reading_stdin_ends_at_once() {
    let (exit, stdout, _) = Place::new().run("cat; read line; echo \"$?\"").await;
    assert_eq!((exit.status, text(&stdout).as_str()), (Status::Code(0), "1\n"));
}

// CUST-01
#[tokio::test]
async fn a_pipe_can_be_written_to() {
    let place = Place::new();
    let mut child = place.start("read line; echo \"got $line\"; cat", Stdin::Pipe).await;
    let output = child.output();
    let mut stdin = child.take_stdin().unwrap();
    let finish = tokio::spawn(child.finish(pending::<()>()));
    stdin.write_all(b"one\ntwo\n").await.unwrap();
    drop(stdin);
    assert_eq!(finish.await.unwrap().0.status, Status::Code(0));
    assert_eq!(text(&output.take().0), "got one\ntwo\n");
}

// CUST-01
#[tokio::test]
async fn a_command_has_a_group_a_session_and_no_terminal_of_its_own() {
    let command = "read -r stat </proc/self/stat; set -- ${stat##*) }; echo $3 $4 $5; (: </dev/tty) 2>/dev/null || echo none";
    let place = Place::new();
    let child = place.start(command, Stdin::Closed).await;
    let (id, output) = (child.id(), child.output());
    child.finish(pending::<()>()).await;
    let shown = text(&output.take().0);
    // Read as text: in a container whose session leader is outside, it is 0, which `getsid` of rustix does not allow.
    let stat = fs_err::read_to_string("/proc/self/stat").unwrap();
    let own_session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    assert!(shown.starts_with(&format!("{id} ")) && shown.ends_with(" 0\nnone\n"), "{shown}");
    assert_ne!(shown.split(' ').nth(1), Some(own_session), "{shown}");
}

#[tokio::test]
async fn signals_are_as_a_shell_expects() {
    let (_, stdout, _) = Place::new().run("grep -E 'Sig(Blk|Ign)' /proc/self/status; yes | head -n 1").await;
    let shown = text(&stdout);
    let masks =
        shown.lines().filter_map(|line| u64::from_str_radix(line.strip_prefix("Sig")?.get(5..)?, 16).ok());
    let standard: Vec<u64> = masks.map(|mask| mask & 0x7fff_ffff).collect();
    assert_eq!(standard, [0, 0], "{shown}");
    assert!(shown.ends_with("\ny\n"));
}

#[tokio::test]
async fn nothing_of_tiller_is_left_open_in_the_command() {
    let (_, stdout, _) = Place::new().run("ls /proc/self/fd | tr '\\n' ' '").await;
    assert_eq!(text(&stdout), "0 1 199 2 3 ");
}

// CUST-01: TERM, then KILL.
#[tokio::test]
async fn what_ignores_term_is_killed() {
    let place = Place::new();
    let tag = place.tag();
    let child = place
        .start(&format!("trap '' TERM; echo ready; while :; do sleep 1; done # {tag}"), Stdin::Closed)
        .await;
    let output = child.output();
    let ready = async {
        while output.last(100).is_empty() {
            output.grown().await;
        }
    };
    let (exit, stopped) = child.finish(ready).await;
    assert_eq!((exit.status, stopped), (Status::Signal(9), Some(())));
    assert!(processes_with(&tag).is_empty());
}

#[tokio::test]
async fn what_heeds_term_gets_to_clean_up() {
    let place = Place::new();
    // On a busy machine the time between TERM and KILL may pass before it gets to run at all.
    for _ in 0..20 {
        let command = "trap 'echo cleaned; exit 5' TERM; echo ready; sleep 100 & wait";
        let child = place.start(command, Stdin::Closed).await;
        let output = child.output();
        let (exit, _) = child.finish(async { output.grown().await }).await;
        let shown = text(&output.take().0);
        if shown == "ready\ncleaned\n" && exit.status == Status::Code(5) {
            return;
        }
        assert_eq!(exit.status, Status::Signal(9), "{shown}");
    }
    panic!("it never gets to clean up");
}

// CUST-01: the deadline is on exit, not on the end of the pipe. CUST-02: nothing survives.
#[tokio::test]
async fn daemons_neither_hold_the_call_nor_survive_it() {
    let double_fork = r#"python3 -c '
import os, sys, time, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
        print("daemon", flush=True)
        time.sleep(1000)
    os._exit(0)
os.wait()
' TAG"#;
    for daemon in [
        "setsid sleep 1000.TAG & disown",
        "nohup setsid sleep 1000.TAG >/dev/null 2>&1 &",
        "sleep 1000.TAG &",
        "env -i setsid sh -c 'trap \"\" TERM; sleep 1000.TAG; :' &",
        "(setsid bash -c 'setsid bash -c \"sleep 1000.TAG; :\" & sleep 1000.TAG; :' &)",
        double_fork,
    ] {
        let place = Place::new();
        // Digits, because it is a part of a number of seconds; many, so that nobody else has them on a command line.
        let digits =
            place.tag().bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let tag = format!("{digits:020}");
        let command = format!("{}; echo done", daemon.replace("TAG", &tag))
            .replace("&;", "&")
            .replace("disown;", "disown\n");
        let started = Instant::now();
        let (exit, stdout, stderr) = place.run(&command).await;
        assert_eq!((exit.status, exit.survivors), (Status::Code(0), 0), "{command}: {}", text(&stderr));
        assert!(text(&stdout).contains("done\n"), "{command}");
        // Far more than it takes on any machine, far less than the daemon sleeps.
        assert!(started.elapsed() < Duration::from_secs(500), "{command}: {:?}", started.elapsed());
        assert_eq!(processes_with(&tag), [0; 0], "{command}");
    }
}

// CUST-02
#[tokio::test]
async fn killing_or_stopping_the_supervisor_does_not_help() {
    for attack in ["kill -9 $PPID; sleep 1000", "kill -STOP $PPID; echo ready; sleep 1000"] {
        let place = Place::new();
        let tag = place.tag();
        let command =
            format!("setsid bash -c 'trap \"\" TERM; while :; do sleep 1; done # {tag}' & {attack}");
        let child = place.start(&command, Stdin::Closed).await;
        let output = child.output();
        let (exit, _) = child.finish(async { output.grown().await }).await;
        assert_eq!((exit.status, exit.survivors), (Status::Lost, 0), "{attack}");
        assert_eq!(processes_with(&tag), [0; 0], "{attack}");
    }
}

// CUST-02: in a process of its own, since the other tests here need its keeper.
#[test]
fn neither_does_killing_or_stopping_the_keeper() {
    passes_alone("process_whose_keeper_is_attacked");
}

#[tokio::test]
#[ignore = "only runs in the process that the test above starts"]
async fn process_whose_keeper_is_attacked() {
    let keeper = "$(ps -o ppid= -p $PPID)";
    for attack in [format!("kill -9 {keeper}"), format!("kill -STOP {keeper}")] {
        let place = Place::new();
        assert_eq!(place.run(&attack).await.0.status, Status::Code(0));
        // One supervisor is waiting and may still do its work; after that a new keeper is needed.
        for _ in 0..3 {
            if let Ok(child) = place.try_start(&permit("true", &place.path()), Stdin::Closed).await {
                child.finish(pending::<()>()).await;
            }
        }
        assert_eq!(place.run("true").await.0.status, Status::Code(0));
    }
}

// CUST-02
#[tokio::test]
async fn dropping_the_child_ends_everything() {
    let place = Place::new();
    let tag = place.tag();
    let command =
        format!("bash -c 'echo ready; sleep 1000; : {tag}' & setsid bash -c 'sleep 1000; : {tag}' & wait");
    let mut child = place.start(&command, Stdin::Pipe).await;
    let output = child.output();
    let stdin = child.take_stdin();
    tokio::select! {
        _ = child.finish(pending::<()>()) => panic!("ended by itself"),
        () = output.grown() => {}
    }
    wait_until_gone(&tag).await;
    drop(stdin);
}

/// Looks until nobody is left; what does survive sleeps much longer than this waits.
async fn wait_until_gone(tag: &str) {
    eventually_beside("nothing of it survives", || processes_with(tag).is_empty()).await;
}

// CUST-01: in a process of its own, since the other tests here use memory too.
#[test]
fn a_flood_is_drained_in_little_memory() {
    passes_alone("process_that_drains_a_flood");
}

/// Runs another test in a process of its own.
#[track_caller]
fn passes_alone(test: &str) {
    let ran = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test, "--nocapture"])
        .output()
        .unwrap();
    let shown = [ran.stdout, ran.stderr].concat();
    let shown = String::from_utf8_lossy(&shown);
    assert!(ran.status.success() && shown.contains("1 passed"), "{shown}");
}

#[tokio::test]
#[ignore = "only runs in the process that the test above starts"]
async fn process_that_drains_a_flood() {
    let place = Place::new();
    place.run("true").await;
    let before = peak_memory_kib();
    let (exit, stdout, stderr) = place.run("yes | head -c 1G; echo end >&2").await;
    let growth = peak_memory_kib() - before;
    assert_eq!((exit.status, stdout.total, text(&stderr).as_str()), (Status::Code(0), 1 << 30, "end\n"));
    assert_eq!(stdout.head.len() + stdout.tail.len(), MEMORY_PER_STREAM);
    assert!(growth < 4096, "{growth} KiB");
    let file = stdout.file.clone().unwrap().unwrap();
    assert!(stdout.file_is_cut && fs_err::metadata(file).unwrap().len() < SPOOL_LIMIT + 100);
}

#[tokio::test]
async fn credentials_stay_with_tiller() {
    let mut place = Place::new();
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "KEPT"] {
        place.vars.insert(name.to_owned(), "value".to_owned());
    }
    let (_, stdout, _) =
        place.run("echo \"[$ANTHROPIC_API_KEY$ANTHROPIC_AUTH_TOKEN]$KEPT ${TILLER_CALL:+marked}\"").await;
    assert_eq!(text(&stdout), "[]value marked\n");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = Place::new();
    let gone =
        place.try_start(&permit("true", Path::new("/does/not/exist")), Stdin::Closed).await.unwrap_err();
    assert!(gone.to_string().contains("/does/not/exist"), "{gone}");
    let long = permit(&"x".repeat(3 << 20), &place.path());
    let long = place.try_start(&long, Stdin::Closed).await.unwrap_err();
    assert!(long.to_string().contains("script file"), "{long}");
    let request = Request { tool: "Read".to_owned(), access: Vec::new(), read_only: true };
    let Decision::Allow(nothing, _) = decide(&request, &Context::default()) else { panic!("not allowed") };
    assert!(place.try_start(&nothing, Stdin::Closed).await.is_err());
}

// CUST-02: Tiller dying by SIGKILL takes its children along, also those that left group, session and parent.
#[tokio::test]
async fn death_of_tiller_takes_everything_along() {
    let place = Place::new();
    let tag = place.tag();
    let mut host = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "host_that_is_killed", "--nocapture"])
        .env("HOST_TAG", &tag)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("commands are up")));
    let running = processes_with(&tag).len();
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(running >= 3, "{running}");
    wait_until_gone(&tag).await;
}

#[tokio::test]
#[ignore = "only runs as the victim of the test above"]
#[expect(clippy::disallowed_methods, reason = "the test above speaks through the environment")]
async fn host_that_is_killed() {
    let tag = std::env::var("HOST_TAG").unwrap();
    let daemon = format!(
        "setsid bash -c '(setsid bash -c \"trap : TERM; echo one; while :; do sleep 1; done; : {tag}\" &)'"
    );
    let command =
        format!("{daemon}; bash -c 'echo two; sleep 1000; : {tag}' & bash -c 'sleep 1000; : {tag}'");
    let place = Place::new();
    let child = place.start(&command, Stdin::Closed).await;
    let output = child.output();
    let shown = async {
        while output.total() < 8 {
            output.grown().await;
        }
        println!("commands are up");
        pending::<()>().await;
    };
    child.finish(shown).await;
}

/// Processes with the text among their variables.
fn processes_marked(text: &str) -> Vec<u32> {
    let marked = |pid: &u32| {
        let vars = fs_err::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&vars).contains(text)
    };
    processes_with("").into_iter().filter(marked).collect()
}

// CUST-02: also a shell that waits for a script nobody will send any more.
#[tokio::test]
async fn death_of_tiller_ends_shells_that_wait() {
    let tag = Place::new().tag();
    let mut host = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "host_with_a_shell_that_waits", "--nocapture"])
        .env("HOST_TAG", &tag)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("a shell waits")));
    host.kill().unwrap();
    host.wait().unwrap();
    let is_alone = || processes_marked(&format!("WAITER={tag}")).is_empty();
    eventually_beside("nobody waits any more", is_alone).await;
}

#[tokio::test]
#[ignore = "only runs as the victim of the test above"]
#[expect(clippy::disallowed_methods, reason = "the test above speaks through the environment")]
async fn host_with_a_shell_that_waits() {
    let tag = std::env::var("HOST_TAG").unwrap();
    let mut place = Place::new();
    place.vars.insert("WAITER".to_owned(), tag.clone());
    place.run("true").await;
    eventually_beside("a shell waits", || !processes_marked(&format!("WAITER={tag}")).is_empty()).await;
    println!("a shell waits");
    pending::<()>().await;
}

// CUST-01: in a process of its own, because it stops every supervisor there is.
#[test]
fn what_was_given_up_never_runs() {
    passes_alone("process_whose_supervisors_are_stopped");
}

#[tokio::test]
#[ignore = "only runs in the process that the test above starts"]
async fn process_whose_supervisors_are_stopped() {
    let place = Place::new();
    place.run("true").await;
    // One waits with its shell, the other one for an order.
    let mut stopped = Vec::new();
    let are_there = || {
        stopped = supervisors();
        stopped.len() >= 2
    };
    eventually_beside("both are there", are_there).await;
    let signal = |signal: &str, pid: i32| {
        std::process::Command::new("kill").args([signal, &pid.to_string()]).status().unwrap();
    };
    stopped.iter().for_each(|pid| signal("-STOP", *pid));
    let (exit, ..) = place.run("echo ran >> log").await;
    assert_eq!(exit.status, Status::Code(0));
    stopped.iter().for_each(|pid| signal("-CONT", *pid));
    eventually_beside("they have ended", || !stopped.iter().any(|pid| supervisors().contains(pid))).await;
    assert_eq!(fs_err::read_to_string(place.path().join("log")).unwrap(), "ran\n");
}

/// The supervisors of this process: children of its keeper, and of those that were.
fn supervisors() -> Vec<i32> {
    let stat = |pid: i32| fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let is_ours = |stat: &str| {
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse().ok());
        parent.is_some_and(|parent: i32| {
            let (own, keeper) = (std::process::id().to_string(), self::parent(parent));
            keeper.is_some_and(|keeper| keeper.to_string() == own)
        })
    };
    pids.filter(|pid| {
        let stat = stat(*pid);
        stat.contains("(custody)") && !stat.contains(") Z ") && is_ours(&stat)
    })
    .collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
}
