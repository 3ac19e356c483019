//! Real programs at work in a workspace: what they change inside is real, and nothing else is.

use std::path::Path;
use std::process::Command;

use tiller_sandbox::{Confinement, Level, Profile, Status, tidy_up};

use crate::means::has;
use crate::victim::{Victim, outside_of_temporary_places};

pub(crate) async fn works(victim: &Victim, confinement: &Confinement, command: &str) {
    let (exit, shown) = victim.run(command, confinement).await;
    assert_eq!(exit.status, Status::Code(0), "{command}: {shown}");
}

pub(crate) fn workspace(victim: &Victim, root: &str) -> Confinement {
    Confinement {
        roots: vec![victim.path(root)],
        ..victim.confinement(Profile::Workspace, Level::Namespaces)
    }
}

pub(crate) fn outside(victim: &Victim, script: &str) -> String {
    let ran = Command::new("bash")
        .args(["-c", &format!("set -e; {script}")])
        .current_dir(victim.path("project"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", victim.path("home"))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{script}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

fn is_installed(program: &str) -> bool {
    ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

// KERN-01: a day with git. Its settings and hooks are the only things that it cannot change.
#[tokio::test]
async fn git_does_its_daily_work() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    let confinement = workspace(&victim, "project");
    let settings = outside(&victim, "cat .git/config .git/hooks/post-commit");
    for command in [
        "echo two > b.txt && git add b.txt && git commit -qm two",
        "git checkout -q -b topic && echo three > c.txt && git add . && git commit -qm three",
        "git checkout -q main && echo four > d.txt && git add . && git commit -qm four",
        "git checkout -q topic && git rebase -q main && git log --oneline | wc -l | grep -q 4",
        "echo changed > a.txt && git stash -q && git stash pop -q && git checkout -q a.txt",
        "git merge -q --no-edit main && git tag v1 && git branch -d main && git branch main topic",
        "git reset -q --hard HEAD~1 && git reflog | grep -q reset && git cherry-pick v1",
        "git worktree add -q tree topic~1 --detach && (cd tree && git status --short) && git worktree remove tree",
        "git gc -q && git fsck && git bisect start -q && git bisect reset -q 2>/dev/null; git status --short",
        "git mv c.txt e.txt && git commit -qm moved && git revert --no-edit HEAD && git clean -qfd",
        "git init -q nested && cd nested && git config user.name n && git config user.email n@e.x && git commit -qm n --allow-empty",
    ] {
        works(&victim, &confinement, command).await;
    }
    assert_eq!(outside(&victim, "cat .git/config .git/hooks/post-commit"), settings);
    assert!(outside(&victim, "git log --oneline topic").contains("four"));
    for command in ["git config user.name evil", "git remote add origin x", "git config --unset user.name"] {
        let (exit, shown) = victim.run(command, &confinement).await;
        assert_ne!(exit.status, Status::Code(0), "{command}: {shown}");
    }
    assert_eq!(outside(&victim, "cat .git/config"), settings.replace("echo hook\n", ""));
}

// KERN-01: the repository of a linked working tree, of a submodule and of a directory in the middle of a repository
// lies outside of the working directory.
#[tokio::test]
async fn git_works_from_linked_trees_and_subdirectories() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    outside(&victim, "git worktree add -q ../linked -b linked; git clone -q . ../other");
    outside(
        &victim,
        "git -c protocol.file.allow=always submodule --quiet add ../other sub; git commit -qm sub",
    );
    let look =
        "cat .git/config .git/modules/sub/config; ls .git/hooks .git .git/modules/sub | grep -v COMMIT";
    let before = outside(&victim, look);
    for root in ["linked", "project/dir", "project/sub"] {
        let confinement = workspace(&victim, root);
        let cwd = victim.path(root);
        let commit = format!(
            "cd {} && echo new > new.txt && git add new.txt && git -c user.name=t -c user.email=t@e.x commit -qm {}",
            cwd.display(),
            root.replace('/', "-"),
        );
        works(&victim, &confinement, &commit).await;
        for attack in [
            "echo x > $P/.git/hooks/pre-commit",
            "git config core.hooksPath /tmp",
            "echo x >> $P/.git/config",
            "echo x >> $P/.git/modules/sub/config",
            "echo ../../home > $(git rev-parse --git-dir)/commondir",
            "echo gitdir: $O > .git",
            "rm -rf .git; mkdir .git; echo x > .git/config",
            "git config --worktree user.name evil",
            "echo x > $P/a.txt",
        ] {
            let attack = format!("cd {} && {{ {attack}; }}", cwd.display());
            victim.run(&attack, &confinement).await;
        }
        assert_eq!(outside(&victim, "git status --short -uno --ignore-submodules=all"), "", "{root}");
    }
    tidy_up();
    assert_eq!(outside(&victim, look), before);
    assert!(outside(&victim, "git log --oneline linked").contains("linked"));
    assert!(outside(&victim, "git -C sub log --oneline").contains("project-sub"));
    assert!(outside(&victim, "git -C ../linked status --short").is_empty());
}

// KERN-01: a file in a git directory that makes git look for its settings elsewhere.
#[tokio::test]
async fn settings_cannot_be_moved_elsewhere() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    let confinement = workspace(&victim, "project");
    let plant = "mkdir -p dir/evil && cp -r .git/. dir/evil && echo '[core] fsmonitor = touch /tmp/x' > dir/evil/config; \
                 echo ../dir/evil > .git/commondir";
    victim.run(plant, &confinement).await;
    tidy_up();
    assert!(!victim.path("project/.git/commondir").exists());
    assert_eq!(outside(&victim, "git rev-parse --git-common-dir"), ".git\n");
}

// KERN-01: what stands in a git directory so that nothing else can be put there means nothing to other programs either.
#[tokio::test]
async fn other_programs_than_git_open_a_repository_that_holds_placeholders() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    victim.run("true", &workspace(&victim, "project")).await;
    assert_eq!(outside(&victim, "cat .git/commondir"), "./\n");
    let look = "
import pygit2
repository = pygit2.Repository('.')
assert repository.head.shorthand == 'main' and not repository.is_bare, repository.path
assert repository.revparse_single('HEAD').message == 'one\\n'
assert repository.config['user.name'] == 't'
assert len(repository.diff('HEAD')) == 0
open('a.txt', 'a').write('more')
assert 'a.txt' in repository.status()
tree = repository.index.write_tree()
repository.create_commit('HEAD', pygit2.Signature('t', 't@example.org'), pygit2.Signature('t', 't@example.org'), 'two', tree, [repository.head.target])
repository.branches.local.create('other', repository.revparse_single('HEAD'))
";
    let python = tiller_testenv::python().display().to_string();
    let looked = std::process::Command::new(&python)
        .args(["-c", look])
        .current_dir(victim.path("project"))
        .output()
        .unwrap();
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    assert_eq!(
        outside(&victim, "git log --format=%s; git branch --format='%(refname:short)'"),
        "two\none\nmain\nother\n"
    );
    tidy_up();
}

#[tokio::test]
async fn settings_behind_a_link_are_settings() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    outside(&victim, "mv .claude ../outside/claude; ln -s ../outside/claude .claude");
    let confinement = workspace(&victim, "project");
    victim.run("rm .claude; mkdir .claude; echo x > .claude/settings.json", &confinement).await;
    assert_eq!(outside(&victim, "readlink .claude; cat .claude/settings.json"), "../outside/claude\n{}\n");
}

#[tokio::test]
async fn tools_that_people_use() {
    if !has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    victim.vars.insert("TMPDIR".to_owned(), victim.path("tmp").display().to_string());
    if let Some(toolchain) = Path::new(env!("CARGO")).parent().filter(|dir| dir.join("rustc").exists()) {
        let path = victim.vars.entry("PATH".to_owned()).or_default();
        *path = format!("{}:{path}", toolchain.display());
    }
    let confinement = workspace(&victim, "project");
    for command in [
        "printf 'all: out\\nout: a.txt\\n\\tcp a.txt out\\n' > Makefile && make -s && [ -f out ]",
        "f=$(mktemp) && echo x > $f && mv $f kept && [ -f kept ]",
        "echo x > .a.txt.swp && cp a.txt a.txt~ && mv .a.txt.swp a.txt && rm a.txt~",
        "sed -i s/x/y/ a.txt && python3 -c \"import os; open('n','w').write('x'); os.replace('n','a.txt')\"",
        "python3 -m venv --without-pip venv && venv/bin/python -c 'print(1)'",
        "tar cf t.tar a.txt dir && tar xf t.tar -C empty && chmod -R u+w empty && rm -r empty/dir",
        "ln -s a.txt s && ln a.txt h && mkfifo p && rm s h p && touch -d 2001-01-01 a.txt && chmod 600 a.txt",
        "sleep 100 & kill $!; wait; flock a.txt true; head -c 1 /dev/urandom > /dev/null",
        "python3 -c \"import socket; s=socket.socket(1); s.bind('sock'); s.listen(); socket.socket(1).connect('sock')\"",
    ] {
        works(&victim, &confinement, command).await;
    }
    if is_installed("npm") {
        let package =
            r#"{"name":"f","version":"1.0.0","scripts":{"build":"node -e \"fs.mkdirSync('made')\""}}"#;
        fs_err::write(victim.path("project/package.json"), package).unwrap();
        works(&victim, &confinement, "npm run -s build && npm install --silent --offline && [ -d made ]")
            .await;
    }
    if Path::new(env!("CARGO")).exists() {
        let manifest = "[package]\nname = \"f\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
        fs_err::write(victim.path("project/Cargo.toml"), manifest).unwrap();
        fs_err::create_dir_all(victim.path("project/src")).unwrap();
        fs_err::write(victim.path("project/src/lib.rs"), "#[test]\nfn works() {}\n").unwrap();
        works(&victim, &confinement, "cargo test --offline -q && [ -d target/debug ]").await;
    }
}

// What a command puts into a cache is there for the next one, and never in the cache itself.
#[tokio::test]
async fn caches_are_layers_that_the_next_command_finds() {
    if !has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    let kept = outside_of_temporary_places();
    let mut confinement = workspace(&victim, "project");
    confinement.caches = vec![victim.path("home/.cache"), victim.path("home/.npm")];
    confinement.layers = Some(kept.path().join("layers"));
    works(&victim, &confinement, "echo changed > ~/.cache/c && echo new > ~/.cache/n && mkdir ~/.npm/x")
        .await;
    works(&victim, &confinement, "grep -q changed ~/.cache/c && rm ~/.cache/n && [ -d ~/.npm/x ]").await;
    works(&victim, &confinement, "[ ! -e ~/.cache/n ] && [ -d ~/.npm/x ]").await;
    tidy_up();
    assert_eq!(
        outside(&victim, "ls -A ~; cat ~/.cache/c; ls ~/.cache"),
        ".bashrc\n.cache\n.ssh\ncached\nc\n"
    );
    let (exit, _) = victim.run("touch ~/.npm2 || rm ~/.bashrc", &confinement).await;
    assert_ne!(exit.status, Status::Code(0));
    // The layers themselves are out of reach.
    let inside = kept.path().join("layers/0");
    let (exit, shown) = victim.run(&format!("touch {}/x", inside.display()), &confinement).await;
    assert_ne!(exit.status, Status::Code(0), "{shown}");
    // A shell that waits for a command in other surroundings does not keep them.
    works(&victim, &confinement, "echo fetched > ~/.cache/fetched").await;
    let mut elsewhere = victim.vars.clone();
    elsewhere.insert("ELSEWHERE".to_owned(), "yes".to_owned());
    let here = std::mem::replace(&mut victim.vars, elsewhere);
    works(&victim, &confinement, "[ $ELSEWHERE = yes ] && grep -q fetched ~/.cache/fetched").await;
    victim.vars = here;
    works(&victim, &confinement, "grep -q fetched ~/.cache/fetched").await;
    // Commands at the same time have layers of their own.
    let first = victim.start("echo first > ~/.cache/f; echo up; sleep 1000", &confinement).await.unwrap();
    let output = first.output();
    let beside = async {
        output.grown().await;
        works(&victim, &confinement, "[ ! -e ~/.cache/f ] && touch ~/.cache/second").await;
    };
    first.finish(beside).await;
}

#[tokio::test]
async fn a_cache_can_be_layered_around_one_that_is_real() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    fs_err::create_dir_all(victim.path("home/.cache/real")).unwrap();
    let mut confinement = workspace(&victim, "project");
    confinement.caches = vec![victim.path("home/.cache")];
    confinement.writable.push(victim.path("home/.cache/real"));
    works(&victim, &confinement, "touch ~/.cache/real/a ~/.cache/b").await;
    assert!(victim.path("home/.cache/real/a").exists() && !victim.path("home/.cache/b").exists());
}

#[tokio::test]
async fn a_home_among_temporary_files_is_still_a_home() {
    if !has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    let mut confinement = workspace(&victim, "project");
    confinement.writable = vec![victim.path("")];
    works(&victim, &confinement, "touch $P/new ../tmp/x").await;
    for command in ["echo x >> ~/.bashrc", "mv ../home ../h", "rm -rf ~/.ssh"] {
        let (exit, shown) = victim.run(command, &confinement).await;
        assert_ne!(exit.status, Status::Code(0), "{command}: {shown}");
    }
    // Neither does a variable make it temporary.
    confinement.writable = Vec::new();
    victim.vars.insert("TMPDIR".to_owned(), victim.path("").display().to_string());
    let (exit, shown) = victim.run("echo x >> ~/.bashrc || touch ../tmp/y", &confinement).await;
    assert_ne!(exit.status, Status::Code(0), "{shown}");
    assert_eq!(outside(&victim, "cat ~/.bashrc ~/.ssh/id"), "alias\nkey\n");
}

// KERN-05: an agent for keys is out of reach unless it is named.
#[tokio::test]
async fn a_socket_can_be_kept_by_the_name_of_its_variable() {
    if !has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    let socket = victim.path("outside/socket").display().to_string();
    victim.vars.insert("SSH_AUTH_SOCK".to_owned(), socket);
    let mut confinement = workspace(&victim, "project");
    let connect = "python3 -c \"import os,socket; socket.socket(1).connect(os.environ['SSH_AUTH_SOCK'])\"";
    let (exit, _) = victim.run(connect, &confinement).await;
    assert_ne!(exit.status, Status::Code(0));
    confinement.kept_vars = vec!["SSH_AUTH_SOCK".to_owned()];
    works(&victim, &confinement, connect).await;
}
