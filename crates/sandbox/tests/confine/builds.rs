//! Builds and tests run in the throw-away layer as if nothing held them, and leave nothing behind.

use std::path::Path;

use tiller_sandbox::{Level, Profile, Status};

use crate::means;
use crate::victim::Victim;

async fn check(files: &[(&str, &str)], command: &str) {
    if !means::has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    if let Some(toolchain) = Path::new(env!("CARGO")).parent().filter(|dir| dir.join("rustc").exists()) {
        let path = victim.vars.entry("PATH".to_owned()).or_default();
        *path = format!("{}:{path}", toolchain.display());
    }
    for (name, content) in files {
        let path = victim.path("project").join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }
    let before = listing(&victim);
    let confinement = victim.confinement(Profile::ReadOnly, Level::Namespaces);
    let (exit, shown) = victim.run(command, &confinement).await;
    assert_eq!(exit.status, Status::Code(0), "{command}: {shown}");
    assert_eq!(listing(&victim), before, "{command}");
}

fn listing(victim: &Victim) -> String {
    let found = std::process::Command::new("find")
        .args([victim.path("project"), victim.path("home"), victim.path("outside")])
        .args(["-type", "f", "-printf", "%p %s %T@ %m\n"])
        .output()
        .unwrap();
    String::from_utf8(found.stdout).unwrap()
}

/// What a test cannot do without: it fails with what to run, rather than pass without having shown anything.
fn require(program: &str) {
    let there =
        ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists());
    assert!(there, "{program} is not installed: run \"cargo xtask setup\"");
}

// KERN-02
#[tokio::test]
async fn small_things_scripts_do() {
    for command in [
        "f=$(mktemp) && echo x > $f && [ $(cat $f) = x ]",
        "d=$(mktemp -d) && touch $d/a && rm -r $d",
        "touch /var/tmp/x /dev/shm/y /tmp/z",
        "mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/state",
        "echo x >> a.txt && grep -q x a.txt && rm a.txt && [ ! -e a.txt ]",
        "rm -rf dir && mkdir dir && [ -z \"$(ls dir)\" ]",
        "mv run.sh r && ./r && chmod 600 r && [ $(stat -c %a r) = 600 ]",
        "ln -s x y && ln a.txt z && [ a.txt -ef z ]",
        "git status --short && git log --oneline && git diff",
        "git checkout -q -b try && echo x > a.txt && git commit -qam try && git log | grep -q try",
        "git stash list; git config user.name n && [ $(git config user.name) = n ]",
        "cat <(echo one) <(echo two) | wc -l; echo x > /dev/null; head -c 4 /dev/urandom | wc -c",
        "sleep 5 & kill $! ; wait; true",
        "(trap 'exit 0' TERM; kill -TERM $BASHPID; sleep 1)",
        "ps | grep -q bash; [ -d /proc/self/fd ]",
        "exec 3>/tmp/lock && flock 3 true",
        "printf 'all: out\\nout: a.txt\\n\\tcp a.txt out\\n' > Makefile && make -s && [ -f out ]",
    ] {
        check(&[], command).await;
    }
}

// KERN-02
#[tokio::test]
async fn tests_that_use_sockets_and_terminals() {
    let test = "
import os, pty, socket, subprocess, tempfile, threading, unittest
class T(unittest.TestCase):
    def echo(self, server, client, address):
        server.listen()
        threading.Thread(target=lambda: server.accept()[0].sendall(b'hi')).start()
        client.connect(address)
        self.assertEqual(client.recv(2), b'hi')
    def test_loopback(self):
        s = socket.socket(); s.bind(('127.0.0.1', 0))
        self.echo(s, socket.socket(), s.getsockname())
    def test_unix(self):
        with tempfile.TemporaryDirectory() as d:
            s = socket.socket(socket.AF_UNIX); s.bind(d + '/s')
            self.echo(s, socket.socket(socket.AF_UNIX), d + '/s')
    def test_unix_in_tree(self):
        s = socket.socket(socket.AF_UNIX); s.bind('s')
        self.echo(s, socket.socket(socket.AF_UNIX), 's')
    def test_pty(self):
        a, b = pty.openpty(); os.write(b, b'x'); self.assertEqual(os.read(a, 1), b'x')
    def test_children(self):
        self.assertEqual(subprocess.check_output(['sh', '-c', 'echo ok']), b'ok\\n')
    def test_shared_memory(self):
        from multiprocessing import shared_memory
        m = shared_memory.SharedMemory(create=True, size=10); m.close(); m.unlink()
";
    check(&[("test_it.py", test)], "timeout 60 python3 -m unittest -q").await;
}

// KERN-02
#[tokio::test]
async fn cargo_builds_and_tests() {
    assert!(Path::new(env!("CARGO")).exists(), "{} is gone: build the tests anew", env!("CARGO"));
    let manifest = "[package]\nname = \"fixture\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
    let code = "#[test]\nfn works() { std::fs::write(\"made\", \"x\").unwrap(); }\n";
    check(&[("Cargo.toml", manifest), ("src/lib.rs", code)], "cargo test --offline -q").await;
}

// KERN-02
#[tokio::test]
async fn npm_tests() {
    require("npm");
    let manifest = r#"{"name":"f","version":"1.0.0","scripts":{"test":"node test.js"}}"#;
    let test = "const fs = require('fs'); fs.mkdirSync('out'); fs.writeFileSync('out/x', 'x');";
    check(&[("package.json", manifest), ("test.js", test)], "npm test").await;
}

const PYTEST: &str = "
import os, pytest

@pytest.fixture
def made(tmp_path):
    (tmp_path / 'made').write_text('x')
    return tmp_path / 'made'

def test_temporary_directory(made):
    assert made.read_text() == 'x'

def test_output(capfd):
    os.system('echo hi')
    assert capfd.readouterr().out == 'hi\\n'
";

/// Writes where it stands, and leaves a cache behind.
const PYTEST_IN_TREE: &str = "
import pathlib

def test_tree():
    pathlib.Path('out').mkdir()
    pathlib.Path('out/x').write_text('x')
    pathlib.Path('a.txt').unlink()
";

// KERN-02
#[tokio::test]
async fn pytest_runs() {
    let files = [("test_it.py", PYTEST), ("tests/test_tree.py", PYTEST_IN_TREE)];
    check(&files, &format!("{} -m pytest -q", tiller_testenv::python().display())).await;
}

// KERN-03: pytest works without namespaces too, as far as it writes to the temporary directory only.
#[tokio::test]
async fn pytest_needs_a_temporary_directory_only() {
    if !means::has(Level::Landlock) {
        return;
    }
    let mut victim = Victim::new();
    fs_err::create_dir_all(victim.path("scratch")).unwrap();
    victim.vars.insert("TMPDIR".to_owned(), victim.path("scratch").display().to_string());
    fs_err::write(victim.path("tests.py"), PYTEST).unwrap();
    let mut confinement = victim.confinement(Profile::ReadOnly, Level::Landlock);
    confinement.scratch = Some(victim.path("scratch"));
    let python = tiller_testenv::python().display().to_string();
    let command = format!("{python} -B -m pytest -q -p no:cacheprovider ../tests.py");
    let (exit, shown) = victim.run(&command, &confinement).await;
    assert_eq!(exit.status, Status::Code(0), "{shown}");
    assert_eq!(victim.harm(&shown), [""; 0]);
}

// KERN-03: without namespaces what only reads works, and what writes fails as on a read-only disk.
#[tokio::test]
async fn reading_works_without_namespaces() {
    if !means::has(Level::Landlock) {
        return;
    }
    let victim = Victim::new();
    let confinement = victim.confinement(Profile::ReadOnly, Level::Landlock);
    for command in [
        "cat a.txt dir/sub.txt >/dev/null",
        "git status --short && git log --oneline && git diff",
        "grep -rn first . | head -1",
        "find . -name '*.py' | xargs wc -l",
        "python3 -c 'print(1)'",
        "./run.sh",
        "ls ~ /usr /etc | sort | uniq | wc -l",
        "echo x > /dev/null; head -c 1 /dev/zero | wc -c",
        "sleep 5 & kill $!; wait; true",
        "echo a | cat | (read x; [ $x = a ])",
    ] {
        let (exit, shown) = victim.run(command, &confinement).await;
        assert_eq!(exit.status, Status::Code(0), "{command}: {shown}");
    }
}

// KERN-02: a scratch directory keeps its contents between commands.
#[tokio::test]
async fn a_scratch_directory_persists() {
    let mut victim = Victim::new();
    fs_err::create_dir_all(victim.path("scratch")).unwrap();
    for level in means::levels() {
        let mut confinement = victim.confinement(Profile::ReadOnly, level);
        confinement.scratch = Some(victim.path("scratch"));
        let write = format!("echo {level:?} > $P/../scratch/kept");
        let (exit, shown) = victim.run(&write, &confinement).await;
        assert_eq!(exit.status, Status::Code(0), "{shown}");
        let kept = fs_err::read_to_string(victim.path("scratch/kept")).unwrap();
        assert_eq!(kept, format!("{level:?}\n"));
        assert_eq!(victim.harm(""), [""; 0]);
    }
}
