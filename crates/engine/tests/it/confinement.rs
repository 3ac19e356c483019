//! How commands are held by what the kernel can do, by the mode of the moment, and by what the user adds.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_engine::{SandboxChoice, Setup};
use tiller_protocol::ask::Answer;
use tiller_protocol::command::{Command, UserInput};
use tiller_protocol::entry::Body;
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::Update;
use tiller_sandbox::Level;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch, can_hold, held_by_namespaces};
use crate::permissions::{asked, asking};

/// A directory that is neither temporary nor a working directory; the repository may lie in a temporary one.
pub(crate) fn outside() -> TempDir {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let is_temporary = ["/tmp", "/var/tmp"].iter().any(|dir| target.starts_with(dir));
    let base = if is_temporary { std::env::home_dir().unwrap() } else { target.to_owned() };
    tempfile::tempdir_in(base).unwrap()
}

/// A session whose commands need no question, with these means and no others.
fn held(lab: &Lab, at_most: Level) -> Setup {
    let mut setup = Setup { registry: tiller_tools::built_in(), ..asking(lab) };
    setup.interactive = false;
    setup.rules.allow = vec!["Bash".parse().unwrap()];
    setup.sandbox = SandboxChoice { at_most, ..SandboxChoice::default() };
    setup
}

fn bash(id: &str, command: &str) -> Reply {
    Reply::new().tool_with_id(id, "Bash", json!({"command": command}))
}

fn text(watch: &Watch, call: &str) -> String {
    let texts = watch.result(call).content.into_iter().filter_map(|block| block.as_text());
    texts.collect::<Vec<_>>().join("\n")
}

fn notices(watch: &Watch) -> Vec<String> {
    let entries = watch.entries();
    let notices = entries.iter().filter_map(|entry| match &entry.body {
        Body::Notice(notice) => Some(notice.subtype.clone()),
        _ => None,
    });
    notices.collect()
}

// KERN-03: a kernel that can do nothing is said to do nothing, once.
#[tokio::test]
async fn without_any_means_commands_run_and_the_user_is_told() {
    let (lab, out) = (Lab::new(), outside());
    let touch = |name: &str| format!("touch {}/{name}", out.path().display());
    lab.server.replies([bash("a", &touch("one")), bash("b", &touch("two")), Reply::text("done")]);
    let watch = lab.turn(held(&lab, Level::None), "go").await;
    assert!(out.path().join("one").exists() && out.path().join("two").exists());
    assert_eq!(notices(&watch), ["sandbox_unavailable"]);
}

// KERN-03
#[tokio::test]
async fn without_any_means_planning_runs_what_plainly_reads() {
    let (lab, out) = (Lab::new(), outside());
    let touch = format!("touch {}/one", out.path().display());
    lab.server.replies([bash("a", &touch), bash("b", "echo read"), Reply::text("done")]);
    let watch = lab.turn(Setup { mode: Some(Mode::Plan), ..held(&lab, Level::None) }, "go").await;
    assert!(
        !out.path().join("one").exists() && text(&watch, "a").contains("plan mode"),
        "{}",
        text(&watch, "a")
    );
    assert_eq!(text(&watch, "b"), "read");
    assert_eq!(notices(&watch), ["sandbox_unavailable"]);
}

// KERN-01: Landlock alone keeps its promises, and says what they cost.
#[tokio::test]
async fn landlock_alone_holds_and_says_what_it_costs() {
    if !can_hold(Level::Landlock) {
        return;
    }
    let (lab, out) = (Lab::new(), outside());
    fs_err::create_dir(lab.project().join("src")).unwrap();
    let touch = format!("touch {}/one", out.path().display());
    lab.server.replies([
        bash("a", "echo x > src/new"),
        bash("b", "touch top"),
        bash("c", &touch),
        bash("d", "mkdir .claude"),
        Reply::text("done"),
    ]);
    let watch = lab.turn(held(&lab, Level::Landlock), "go").await;
    assert!(lab.project().join("src/new").exists() && !out.path().join("one").exists());
    assert!(!lab.project().join(".claude").exists());
    assert!(text(&watch, "b").contains("without namespaces"), "{}", text(&watch, "b"));
    assert!(text(&watch, "c").contains("the sandbox seems to have refused"), "{}", text(&watch, "c"));
}

// KERN-06: the mode counts when the command starts, not when it was asked about.
#[tokio::test]
async fn a_yes_that_comes_after_a_change_to_planning_changes_nothing() {
    if !held_by_namespaces() {
        return;
    }
    let lab = Lab::new();
    lab.server.replies([bash("a", "touch made; echo ran"), Reply::text("done")]);
    let setup = Setup { registry: tiller_tools::built_in(), ..asking(&lab) };
    let mut watch = lab.begin(setup, "go").await;
    let (id, _) = asked(&mut watch).await;
    watch.send(Command::SetMode(Mode::Plan)).await;
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: Vec::new() })).await;
    watch.until_turn_ends().await;
    assert_eq!(text(&watch, "a"), "ran");
    assert!(!lab.project().join("made").exists());
}

// A directory that the user adds is a working directory from then on.
#[tokio::test]
async fn directories_that_are_added_can_be_written() {
    if !held_by_namespaces() {
        return;
    }
    let (lab, out) = (Lab::new(), outside());
    let write = |name: &str| format!("echo x > {}/{name}", out.path().display());
    lab.server.replies([bash("a", &write("one")), Reply::text("done")]);
    let setup = Setup { registry: tiller_tools::built_in(), ..asking(&lab) };
    let mut watch = lab.begin(setup, "go").await;
    let (id, _) = asked(&mut watch).await;
    let add: Value =
        json!([{"type": "addDirectories", "directories": [out.path()], "destination": "session"}]);
    let updates: Vec<Update> = serde_json::from_value(add).unwrap();
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates })).await;
    watch.until_turn_ends().await;
    assert!(out.path().join("one").exists(), "{}", text(&watch, "a"));
}

// KERN-06: what was asked about by name is not asked about again because it lies outside; what lies beside it stays.
#[tokio::test]
async fn a_write_outside_is_one_question() {
    if !held_by_namespaces() {
        return;
    }
    for (deed, made) in [("echo x > OUT/one", "one"), ("mkdir -p OUT/a/b && touch OUT/a/b/c", "a/b/c")] {
        let (lab, out) = (Lab::new(), outside());
        let command = deed.replace("OUT", &out.path().display().to_string());
        lab.server.replies([bash("a", &command), Reply::text("done")]);
        let setup = Setup { registry: tiller_tools::built_in(), ..asking(&lab) };
        let mut watch = lab.begin(setup, "go").await;
        let (id, _) = asked(&mut watch).await;
        watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: Vec::new() })).await;
        watch.until_turn_ends().await;
        assert!(out.path().join(made).exists(), "{}", text(&watch, "a"));
    }
}

// KERN-07, RULE-06
#[tokio::test]
async fn what_rules_forbid_to_read_is_hidden_at_every_level() {
    for level in [Level::Namespaces, Level::Landlock].into_iter().filter(|level| can_hold(*level)) {
        let lab = Lab::new();
        fs_err::create_dir(lab.project().join("keys")).unwrap();
        fs_err::write(lab.project().join("keys/key.pem"), "contents").unwrap();
        let mut setup = held(&lab, level);
        let vars = setup.env.vars.iter().map(|(name, value)| (name.clone(), value.clone()));
        setup.env.vars = Arc::new(vars.chain([path()]).collect());
        setup.rules.deny = vec!["Read(*.pem)".parse().unwrap()];
        let read = "python3 -c \"print(open('keys/key.p' + 'em').read())\"";
        lab.server.replies([bash("a", read), bash("b", "python3 -c 'print(1)'"), Reply::text("done")]);
        let watch = lab.turn(setup, "go").await;
        assert!(!text(&watch, "a").contains("contents"), "{level:?}: {}", text(&watch, "a"));
        assert_eq!(text(&watch, "b"), "1");
    }
}

// CUST-03, RULE-06: what came to be hidden is not read through a command that was started before.
#[tokio::test]
async fn nothing_is_typed_into_a_command_that_may_read_more_than_a_new_one() {
    let lab = Lab::new();
    let mut setup = held(&lab, Level::Namespaces);
    setup.rules.allow = vec!["Bash".parse().unwrap()];
    setup.rules.deny = vec!["Read(*.pem)".parse().unwrap()];
    let typing = |id: &str| {
        Reply::new().tool_with_id(id, "ShellInput", json!({"shell_id": "bash_1", "text": "echo hello\n"}))
    };
    let start = json!({"command": "bash", "run_in_background": true});
    lab.server.replies([Reply::new().tool_with_id("s", "Bash", start), typing("before"), Reply::text("up")]);
    let mut watch = lab.turn(setup, "go").await;
    assert!(!watch.result("before").is_error, "{}", text(&watch, "before"));
    fs_err::write(lab.project().join("key.pem"), "contents").unwrap();
    lab.server.replies([typing("after"), Reply::text("done")]);
    watch.send(Command::Submit(UserInput::text("type"))).await;
    watch.until_turn_ends().await;
    assert!(
        watch.result("after").is_error && text(&watch, "after").contains("may do more"),
        "{}",
        text(&watch, "after")
    );
    watch.close().await;
}

fn path() -> (String, String) {
    ("PATH".to_owned(), std::env::var_os("PATH").unwrap().into_string().unwrap())
}

// What commands put into caches is theirs for the session, and gone with it.
#[tokio::test]
async fn layers_over_caches_last_as_long_as_the_session() {
    if !held_by_namespaces() {
        return;
    }
    let lab = Lab::new();
    let mut setup = held(&lab, Level::Namespaces);
    let home = outside();
    fs_err::create_dir(home.path().join(".cache")).unwrap();
    setup.env.home = home.path().to_owned();
    let cache = home.path().join(".cache").display().to_string();
    lab.server.replies([bash("a", &format!("echo kept > {cache}/c")), Reply::text("done")]);
    let mut watch = lab.turn(setup, "go").await;
    lab.server.replies([bash("b", &format!("cat {cache}/c")), Reply::text("done")]);
    watch.send(Command::Submit(UserInput::text("again"))).await;
    watch.until_turn_ends().await;
    assert_eq!(text(&watch, "b"), "kept");
    assert!(!home.path().join(".cache/c").exists());
    let layers = lab.config_dir().join("layers");
    assert_eq!(fs_err::read_dir(&layers).unwrap().count(), 1);
    watch.close().await;
    assert_eq!(fs_err::read_dir(&layers).unwrap().count(), 0);
}
