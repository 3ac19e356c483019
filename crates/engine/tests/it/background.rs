//! Commands that go on while the conversation does.

use std::path::Path;

use serde_json::{Value, json};
use tiller_engine::{Setup, Start, SteeringChoice};
use tiller_protocol::command::{BackgroundTask, Command, Event, TaskKind, TaskState, UserInput};
use tiller_protocol::entry::{Body, Origin, Outcome};
use tiller_protocol::id::CallId;
use tiller_protocol::mode::Mode;
use tiller_testenv::eventually_beside;
use tiller_testkit::Reply;
use tiller_tools::shell_tools;

use crate::compaction::{last_messages, small, summaries};
use crate::harness::{Lab, Watch};

fn setup(lab: &Lab) -> Setup {
    let setup = lab.setup();
    Setup { registry: shell_tools(setup.registry), ..setup }
}

/// A command that says that it runs, and ends with this code once the file `go` is there.
fn waiting(code: u8) -> String {
    format!("echo up; while [ ! -e go ]; do sleep 0.02; done; echo down; exit {code}")
}

fn let_go(lab: &Lab) {
    fs_err::write(lab.project().join("go"), "").unwrap();
}

fn in_background(command: &str) -> Reply {
    Reply::new().tool_with_id("b", "Bash", json!({"command": command, "run_in_background": true}))
}

async fn submit(watch: &mut Watch, text: &str) {
    watch.send(Command::Submit(UserInput::text(text))).await;
    watch.until_turn_ends().await;
}

/// Waits until a background task is in this state.
async fn until_task(watch: &mut Watch, id: &str, state: TaskState) -> BackgroundTask {
    watch
        .until(|event| matches!(event, Event::TaskChanged(task) if task.id == id && task.state == state))
        .await;
    match watch.seen.last() {
        Some(Event::TaskChanged(task)) => task.clone(),
        other => panic!("{other:?}"),
    }
}

// SESS-16: what runs in the background is told again after the conversation was folded.
#[tokio::test]
async fn a_running_command_is_known_after_a_fold() {
    let lab = Lab::new();
    summaries(&lab).reply(Reply::text("A command was started."));
    lab.server.replies([in_background(&waiting(0)), Reply::text("It runs."), Reply::text("Still.")]);
    let base = small(&lab, 200_000);
    let mut watch =
        lab.turn(Setup { registry: shell_tools(base.registry.clone()), ..base }, "start it").await;
    watch.compact(None).await;
    assert_eq!(watch.folds()[0].restored, ["task_status bash_1"]);
    watch.prompt("does it run?").await;
    assert!(last_messages(&lab.server).to_string().contains("BashOutput with bash_id bash_1"));
    let_go(&lab);
    watch.close().await;
    lab.server.assert_clean();
}

/// The attachments of a kind so far.
fn told(watch: &Watch, kind: &str) -> Vec<Value> {
    let of_kind = |body: &Body| match body {
        Body::Attachment(attachment) if attachment.kind() == kind => Some(attachment.attachment.clone()),
        _ => None,
    };
    watch.entries().iter().filter_map(|entry| of_kind(&entry.body)).collect()
}

/// Turns that the session began by itself.
fn own_turns(watch: &Watch) -> usize {
    let own = |body: &Body| {
        matches!(body, Body::User(message) if message.origin == Origin::Harness
            && message.content[0].as_text().is_some_and(|text| text.contains("Not written by the user")))
    };
    watch.entries().iter().filter(|entry| own(&entry.body)).count()
}

fn last_request(lab: &Lab) -> String {
    lab.server.messages().pop().unwrap().body()["messages"].to_string()
}

// VERB-03: a correction lands at once, the command finishes, and its end is told once.
#[tokio::test]
async fn a_running_command_is_moved_out_of_the_way_of_a_correction() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("b", "Bash", json!({"command": waiting(0), "timeout": 600_000})),
        Reply::text("as you like"),
        Reply::text("so it has ended"),
        Reply::text("nothing new"),
    ]);
    let mut watch = lab.begin(setup(&lab), "go").await;
    watch.until(|event| matches!(event, Event::Progress { call, .. } if call.as_str() == "b")).await;
    watch.send(Command::Submit(UserInput::text("rather use the other one"))).await;
    watch.send(Command::Background(CallId::from("b"))).await;
    watch.until_turn_ends().await;
    let moved = watch.result("b");
    assert!(!moved.is_error && moved.text().contains("goes on as bash_1"), "{}", moved.text());
    let request = last_request(&lab);
    assert!(
        request.contains("rather use the other one") && request.contains("goes on as bash_1"),
        "{request}"
    );
    assert_eq!((told(&watch, "task_status").len(), own_turns(&watch)), (0, 0), "it still runs");

    let_go(&lab);
    let task = until_task(&mut watch, "bash_1", TaskState::Completed).await;
    assert_eq!((task.kind, task.description), (TaskKind::Command, waiting(0)));
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
    let request = last_request(&lab);
    assert_eq!(request.matches("is now: completed").count(), 1, "{request}");
    submit(&mut watch, "and?").await;
    let [status] = told(&watch, "task_status").try_into().unwrap();
    assert_eq!((&status["taskId"], &status["status"]), (&json!("bash_1"), &json!("completed")));
    assert_eq!((lab.server.messages().len(), own_turns(&watch)), (4, 1));
    watch.close().await;
    lab.server.assert_clean();
}

// CUST-03
#[tokio::test]
async fn an_idle_session_goes_on_by_itself_when_its_commands_have_ended() {
    let lab = Lab::new();
    lab.server.replies([
        in_background(&waiting(3)),
        Reply::text("started"),
        Reply::text("it failed"),
        Reply::text("yes"),
    ]);
    let mut watch = lab.turn(setup(&lab), "go").await;
    watch.until(|event| matches!(event, Event::Idle)).await;
    let_go(&lab);
    watch.until_turn_ends().await;
    let [status] = told(&watch, "task_status").try_into().unwrap();
    assert_eq!(status["status"], "failed");
    watch.until(|event| matches!(event, Event::Idle)).await;
    submit(&mut watch, "well?").await;
    assert_eq!((told(&watch, "task_status").len(), own_turns(&watch)), (1, 1));
    watch.close().await;
    lab.server.assert_clean();
}

#[tokio::test]
async fn an_end_that_is_not_to_be_told_starts_nothing() {
    let lab = Lab::new();
    lab.server.replies([in_background(&waiting(0)), Reply::text("started"), Reply::text("yes")]);
    let steering = SteeringChoice { mute: ["task_status"].into(), ..SteeringChoice::default() };
    let mut watch = lab.turn(Setup { steering, ..setup(&lab) }, "go").await;
    let_go(&lab);
    until_task(&mut watch, "bash_1", TaskState::Completed).await;
    submit(&mut watch, "well?").await;
    assert_eq!((lab.server.messages().len(), own_turns(&watch)), (3, 0));
    watch.close().await;
}

// An interrupt is not the end of what runs in the background; but who interrupts wants quiet.
#[tokio::test]
async fn an_interrupt_keeps_background_commands_and_starts_no_turn() {
    let lab = Lab::new();
    lab.server.replies([
        in_background(&waiting(0)),
        Reply::new().tool_with_id("p", "Probe", json!({"wait": "never"})),
        Reply::text("I see"),
    ]);
    let mut watch = lab.begin(setup(&lab), "go").await;
    watch.until_started("p").await;
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Interrupted);
    let_go(&lab);
    until_task(&mut watch, "bash_1", TaskState::Completed).await;
    submit(&mut watch, "what has become of it?").await;
    assert_eq!((told(&watch, "task_status").len(), own_turns(&watch)), (1, 0));
    assert_eq!(lab.server.messages().len(), 3);
    watch.close().await;
    lab.server.assert_clean();
}

// CUST-03
#[tokio::test]
async fn a_task_that_the_user_stops_ends_and_starts_no_turn() {
    let lab = Lab::new();
    let command = format!("trap '' TERM; echo $$ > pid; {}", waiting(0));
    lab.server.replies([in_background(&command), Reply::text("started"), Reply::text("I see")]);
    let mut watch = lab.turn(setup(&lab), "go").await;
    watch.send(Command::StopTask("bash_7".to_owned())).await;
    watch
        .until(|event| matches!(event, Event::Rejected(why) if why.contains("no background task bash_7")))
        .await;
    let written = || fs_err::read_to_string(lab.project().join("pid")).unwrap_or_default();
    eventually_beside("the command has told its id", || written().ends_with('\n')).await;
    let pid = written().trim().to_owned();
    watch.send(Command::StopTask("bash_1".to_owned())).await;
    until_task(&mut watch, "bash_1", TaskState::Stopped).await;
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    submit(&mut watch, "well?").await;
    let [status] = told(&watch, "task_status").try_into().unwrap();
    assert_eq!((status["status"].as_str(), own_turns(&watch)), (Some("killed"), 0));
    watch.close().await;
}

#[tokio::test]
async fn what_waits_for_no_command_cannot_be_moved() {
    let lab = Lab::new();
    lab.server
        .replies([Reply::new().tool_with_id("p", "Probe", json!({"wait": "gate"})), Reply::text("done")]);
    let mut watch = lab.begin(setup(&lab), "go").await;
    watch.until_started("p").await;
    watch.send(Command::Background(CallId::from("p"))).await;
    watch
        .until(
            |event| matches!(event, Event::Rejected(why) if why.contains("cannot go on in the background")),
        )
        .await;
    lab.gates.open("gate");
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Success);
}

// STEER-29
#[tokio::test]
async fn output_that_was_not_read_is_told_while_there_is_more_of_it() {
    let lab = Lab::new();
    lab.server.replies([in_background(&waiting(0)), Reply::text("started")]);
    let mut watch = lab.turn(setup(&lab), "go").await;
    while told(&watch, "task_progress").is_empty() {
        lab.server.reply(Reply::text("hm"));
        submit(&mut watch, "and?").await;
    }
    assert_eq!(told(&watch, "task_progress")[0]["message"], "It has printed 3 bytes that you have not read.");
    for _ in 0..4 {
        lab.server.reply(Reply::text("hm"));
        submit(&mut watch, "and?").await;
    }
    assert_eq!(told(&watch, "task_progress").len(), 1);
    watch.close().await;
}

// CUST-03: names are not used twice in a conversation, so that an end cannot be taken for another one.
#[tokio::test]
async fn a_resumed_session_tells_of_its_own_commands() {
    let lab = Lab::new();
    lab.server.reply(in_background("exit 3"));
    // Its end may be told within the turn, or begin one of its own.
    lab.server.respond_with(|_| Reply::text("I see"));
    let mut watch = lab.begin(setup(&lab), "go").await;
    while told(&watch, "task_status").is_empty() {
        watch.until_turn_ends().await;
    }
    let id = watch.session.id;
    watch.close().await;
    lab.server.reply(in_background("exit 3"));
    let resumed = Setup { start: Start::Resume(id), ..setup(&lab) };
    let mut watch = lab.begin(resumed, "again").await;
    while told(&watch, "task_status").is_empty() {
        watch.until_turn_ends().await;
    }
    assert_eq!(told(&watch, "task_status")[0]["taskId"], "bash_2");
    watch.close().await;
}

// CUST-03, KERN-06: whoever plans cannot have a running command do what a new one could not.
#[tokio::test]
async fn nothing_is_typed_into_a_command_that_may_do_more_than_a_new_one() {
    let lab = Lab::new();
    lab.server.replies([in_background("bash"), Reply::text("up")]);
    let mut watch = lab.turn(setup(&lab), "go").await;
    watch.send(Command::SetMode(Mode::Plan)).await;
    let typing = json!({"shell_id": "bash_1", "text": "touch made\n", "end": true});
    lab.server.replies([Reply::new().tool_with_id("t", "ShellInput", typing.clone()), Reply::text("done")]);
    submit(&mut watch, "type").await;
    assert!(watch.result("t").is_error, "{}", watch.result("t").text());
    assert!(!lab.project().join("made").exists());
    watch.send(Command::SetMode(Mode::BypassPermissions)).await;
    lab.server.replies([Reply::new().tool_with_id("u", "ShellInput", typing), Reply::text("done")]);
    watch.send(Command::Submit(UserInput::text("type"))).await;
    until_task(&mut watch, "bash_1", TaskState::Completed).await;
    assert!(lab.project().join("made").exists());
    watch.close().await;
}

// CUST-03, RULE-01: a command that a rule refuses does not get in by pieces: not call after call, not in one response, not
// by a name that was given to it before.
#[tokio::test]
async fn a_refused_command_cannot_be_typed_in_pieces() {
    let typed = |id: &str, text: &str| (id.to_owned(), json!({"shell_id": "bash_1", "text": text}));
    let attempts = [
        vec![typed("a", "tou"), typed("z", "ch made\n")],
        vec![typed("a", "tou\\\n"), typed("z", "ch made\n")],
        vec![typed("a", "shopt -s expand_aliases\nalias t=tou''ch\n"), typed("z", "t made\n")],
        vec![typed("a", "a=tou b=ch\n"), typed("z", "$a$b made\n")],
    ];
    for (attempt, at_once) in attempts.iter().flat_map(|attempt| [(attempt, true), (attempt, false)]) {
        let lab = Lab::new();
        let mut setup = setup(&lab);
        setup.mode = Some(Mode::BypassPermissions);
        setup.interactive = false;
        setup.rules.deny.push("Bash(touch:*)".parse().unwrap());
        lab.server.replies([in_background("bash; echo ended"), Reply::text("up")]);
        let mut watch = lab.turn(setup, "go").await;
        let mut replies: Vec<Reply> = attempt
            .iter()
            .map(|(id, input)| Reply::new().tool_with_id(id, "ShellInput", input.clone()))
            .collect();
        if at_once {
            let all = attempt
                .iter()
                .fold(Reply::new(), |reply, (id, input)| reply.tool_with_id(id, "ShellInput", input.clone()));
            replies = vec![all];
        }
        let end = json!({"shell_id": "bash_1", "text": "\n", "end": true});
        replies.push(Reply::new().tool_with_id("end", "ShellInput", end));
        replies.push(Reply::text("done"));
        lab.server.replies(replies);
        watch.send(Command::Submit(UserInput::text("type"))).await;
        watch.until_turn_ends().await;
        assert!(watch.result("z").is_error, "{attempt:?}: {}", watch.result("z").text());
        assert!(!lab.project().join("made").exists(), "{attempt:?}");
        watch.close().await;
    }
}
