//! Commands that run because they only look: should they want to change something after all, they cannot.

use tiller_policy::{Access, Context, Decision, Holding, Kernel, Request, Script, decide};
use tiller_protocol::mode::Mode;
use tiller_sandbox::{Confinement, Level, Profile, SandboxError, Status};

use crate::means::{has, levels};
use crate::programs::{outside, works, workspace};
use crate::victim::Victim;

/// A shell that waits does not know yet whether its script only looks, and the one after it is as free as ever.
#[tokio::test]
async fn only_the_command_that_looks_is_held_to_it() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    let free = workspace(&victim, "project");
    let looking = Confinement { looking: true, ..free.clone() };
    for round in 0..10 {
        works(&victim, &free, &format!("echo {round} > dir/new && git commit -q --allow-empty -m {round}"))
            .await;
        works(&victim, &looking, "cat dir/new && git log --oneline && git status --short && git diff --stat && git describe --always --dirty && ls -la .git")
            .await;
        let wanted =
            "echo x > dir/new; rm a.txt; git commit -q --allow-empty -m x; touch .git/x; chmod 700 dir";
        let (exit, shown) = victim.run(wanted, &looking).await;
        assert_ne!(exit.status, Status::Code(0), "{shown}");
        assert_eq!(
            outside(&victim, "cat dir/new a.txt; git rev-list --count HEAD; ls .git/x || true")
                .lines()
                .collect::<Vec<_>>(),
            [&round.to_string(), "first", &(round + 2).to_string()]
        );
    }
}

// Temporary files are part of looking: sorting needs them, and so does a long here-document.
#[tokio::test]
async fn who_looks_has_temporary_files() {
    for level in levels() {
        let victim = Victim::new();
        let mut confinement = Confinement { looking: true, ..victim.confinement(Profile::Workspace, level) };
        confinement.writable.push("/tmp".into());
        works(&victim, &confinement, "f=$(mktemp) && echo x > $f && rm $f && head -c 1 <<< \"$(seq 20000)\"")
            .await;
        let (_, shown) =
            victim.run("echo x > dir/new; echo x > a.txt; rm -r dir; mkdir made", &confinement).await;
        assert_eq!(
            outside(&victim, "cat a.txt dir/sub.txt; ls").lines().take(2).collect::<Vec<_>>(),
            ["first", "second"],
            "{shown}"
        );
        assert!(
            !victim.path("project/dir/new").exists() && !victim.path("project/made").exists(),
            "{level:?}"
        );
    }
}

/// Temporary files may lie in a working directory, and a working directory among temporary files.
#[tokio::test]
async fn working_directories_are_told_from_those_for_temporary_files() {
    if !has(Level::Namespaces) {
        return;
    }
    let mut victim = Victim::new();
    fs_err::create_dir_all(victim.path("project/tmp")).unwrap();
    fs_err::create_dir_all(victim.path("project/tmp/deep/work")).unwrap();
    victim.vars.insert("TMPDIR".to_owned(), victim.path("project/tmp").display().to_string());
    let mut confinement = Confinement { looking: true, ..workspace(&victim, "project") };
    confinement.roots.push(victim.path("project/tmp/deep/work"));
    works(&victim, &confinement, "touch $TMPDIR/x && ! touch $TMPDIR/deep/work/x && ! touch x").await;
}

// PERM-17: whoever gives a permit because a command changes nothing is not believed either.
#[tokio::test]
async fn a_permit_to_look_is_no_permit_to_be_held_less() {
    if !has(Level::Namespaces) {
        return;
    }
    let victim = Victim::new();
    let script = Script { command: "ls".to_owned(), cwd: victim.path("project") };
    let request = Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false };
    let cx = Context {
        mode: Mode::Default,
        roots: vec![victim.path("project")],
        holding: Holding { workspace: true, kernel: Kernel::new(|| true), ..Holding::default() },
        ..Context::default()
    };
    let Decision::Allow(permit, _) = decide(&request, &cx) else { panic!("`ls` looks") };
    let free = workspace(&victim, "project");
    let refused = victim.start_permitted(&permit, &free).await;
    assert!(matches!(refused, Err(SandboxError::MayOnlyLook)), "{refused:?}");
    let looking = Confinement { looking: true, ..free };
    assert!(victim.start_permitted(&permit, &looking).await.is_ok());
}
