//! Agents that work in a git worktree of their own.

use std::path::{Path, PathBuf};

use serde_json::json;
use tiller_config::Isolation;
use tiller_engine::Setup;
use tiller_protocol::mode::Mode;
use tiller_testenv::eventually_beside;
use tiller_testkit::Reply;

use crate::agents::{by_prompt, definitions, sent_to, setup_with, task};
use crate::harness::Lab;

fn git(dir: &Path, arguments: &[&str]) {
    let done = std::process::Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A repository with one file and one commit.
fn repository(lab: &Lab) -> PathBuf {
    let project = lab.project();
    fs_err::write(project.join("file"), "as it was").unwrap();
    git(&project, &["init", "-q"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-q", "-m", "one"]);
    project
}

// An agent that leaves its worktree as it was leaves none behind, and git runs nothing that the worktree names.
#[tokio::test]
async fn an_unchanged_worktree_is_removed() {
    let lab = Lab::new();
    let project = repository(&lab);
    let mut agents = definitions();
    agents[0].isolation = Some(Isolation::Worktree);
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "only look")),
        Reply::text("done"),
    ]);
    lab.server.conversation(by_prompt("only look")).replies([
        Reply::new().tool_with_id("b", "Bash", json!({"command": "cat file"})),
        Reply::text("seen"),
    ]);
    let watch = lab.turn(setup_with(&lab, agents), "go").await;
    let text = watch.result("t").text();
    assert!(text.starts_with("seen") && !text.contains("worktree"), "{text}");
    let left = fs_err::read_dir(project.join(".git/worktrees")).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    lab.server.assert_clean();
}

// An agent in a worktree changes nothing outside of it, in any mode and by any means.
#[tokio::test]
async fn an_agent_in_a_worktree_stays_there() {
    let lab = Lab::new();
    let project = repository(&lab);
    let mut agents = definitions();
    agents[0].isolation = Some(Isolation::Worktree);
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "work apart")),
        Reply::text("done"),
    ]);
    let file = project.join("file");
    lab.server.conversation(by_prompt("work apart")).replies([
        Reply::new().tool_with_id("w", "Write", json!({"file_path": project.join("new"), "content": "x"})),
        Reply::new().tool_with_id(
            "b",
            "Bash",
            json!({"command": format!("echo broken > {}", file.display())}),
        ),
        Reply::new().tool_with_id("own", "Bash", json!({"command": "echo mine > own && cat file own"})),
        Reply::text("kept apart"),
    ]);
    let watch = lab.turn(setup_with(&lab, agents), "go").await;
    let text = watch.result("t").text();
    assert!(text.starts_with("kept apart") && text.contains("worktree") && text.contains("own"), "{text}");
    assert_eq!(fs_err::read_to_string(&file).unwrap(), "as it was");
    assert!(!project.join("new").exists() && !project.join("own").exists());
    let sent = sent_to(&lab, "work apart").pop().unwrap()["messages"].to_string();
    assert!(sent.contains("as it wasmine"), "{sent}");
    lab.server.assert_clean();
}

// PLAN-51: a worktree would change git's own files.
#[tokio::test]
async fn no_worktree_is_made_while_planning() {
    let lab = Lab::new();
    let project = repository(&lab);
    let mut agents = definitions();
    agents[0].isolation = Some(Isolation::Worktree);
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "apart")),
        Reply::text("done"),
    ]);
    let watch = lab.turn(Setup { mode: Some(Mode::Plan), ..setup_with(&lab, agents) }, "go").await;
    assert!(watch.result("t").is_error && watch.result("t").text().contains("plan mode"));
    assert!(!project.join(".git/worktrees").exists());
    lab.server.assert_clean();
}

// A session that was killed cannot tidy up; the next one does, and loses nothing that somebody may want.
#[tokio::test]
async fn worktrees_of_killed_sessions_are_swept() {
    let lab = Lab::new();
    let project = repository(&lab);
    let caches = lab.setup().env.home.join(".cache/tiller/worktrees");
    let made = |session: &str, agent: &str| {
        let path = caches.join(session).join(agent);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        git(&project, &["worktree", "add", "--quiet", "--detach", path.to_str().unwrap(), "HEAD"]);
        path
    };
    let [unchanged, changed, committed] = ["a1", "a2", "a3"].map(|agent| made("killed", agent));
    let [gone, alive] = ["over", "alive"].map(|session| made(session, "a4"));
    fs_err::write(changed.join("new"), "work").unwrap();
    git(&committed, &["commit", "-q", "--allow-empty", "-m", "on no branch"]);
    let held = fs_err::File::create(alive.with_file_name("lock")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockShared).unwrap();
    let plan = Setup { mode: Some(Mode::Plan), ..lab.setup() };
    lab.server.reply(Reply::text("a plan"));
    lab.turn(plan, "go").await.close().await;
    assert!(unchanged.exists(), "while planning nothing changes");
    lab.server.reply(Reply::text("done"));
    let mut watch = lab.turn(lab.setup(), "go").await;
    let known = || fs_err::read_dir(project.join(".git/worktrees")).unwrap().count();
    let is_swept = || !unchanged.exists() && !gone.parent().unwrap().exists() && known() == 3;
    eventually_beside("what nobody needs is swept", is_swept).await;
    assert!(changed.join("new").exists() && committed.exists() && alive.exists());
    watch.close().await;
}
