//! Sub-agents: the same loop for somebody else.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tiller_config::{AgentDefinition, Agents, Layer};
use tiller_engine::{AgentLimits, Limits, Setup};
use tiller_protocol::ask::{Answer, Ask, Then};
use tiller_protocol::command::{Command, Event, TaskState};
use tiller_protocol::entry::{Body, Cause, Outcome};
use tiller_protocol::id::AskId;
use tiller_protocol::mode::Mode;
use tiller_testenv::eventually_beside;
use tiller_testkit::{Gate, Matcher, Reply};
use tiller_tools::{AgentLine, agent_tools, built_in};

use crate::harness::{Lab, Watch, hooks};

pub(crate) fn definitions() -> Vec<AgentDefinition> {
    Agents::built_in().definitions
}

fn lines(definitions: &[AgentDefinition]) -> Vec<AgentLine> {
    let line = |agent: &AgentDefinition| AgentLine {
        name: agent.name.clone(),
        when_to_use: agent.when_to_use.clone(),
        knows_conversation: agent.fork_context,
        tools: agent.tools.clone(),
        without: agent.disallowed_tools.clone(),
    };
    definitions.iter().map(line).collect()
}

pub(crate) fn setup_with(lab: &Lab, agents: Vec<AgentDefinition>) -> Setup {
    let registry = agent_tools(built_in(), lines(&agents));
    Setup { registry, agents, ..lab.setup() }
}

pub(crate) fn setup(lab: &Lab) -> Setup {
    setup_with(lab, definitions())
}

pub(crate) fn task(kind: &str, prompt: &str) -> Value {
    json!({"description": "look around", "prompt": prompt, "subagent_type": kind})
}

pub(crate) fn by_prompt(text: &str) -> Matcher {
    Matcher::first_user_contains(text)
}

/// What the agent of this prompt was sent, request by request.
pub(crate) fn sent_to(lab: &Lab, prompt: &str) -> Vec<Value> {
    let messages = lab.server.messages().into_iter().map(|captured| captured.body().clone());
    messages.filter(|body| body["messages"][0].to_string().contains(prompt)).collect()
}

async fn asked(watch: &mut Watch) -> (AskId, Ask) {
    watch.until(|event| matches!(event, Event::Asked(..))).await;
    match watch.seen.last() {
        Some(Event::Asked(id, ask)) => (*id, ask.clone()),
        _ => unreachable!("just waited for"),
    }
}

fn of_agents(watch: &Watch) -> Vec<Event> {
    let inner = |event: &Event| match event {
        Event::Agent(_, event) => Some(Event::clone(event)),
        _ => None,
    };
    watch.seen.iter().filter_map(inner).collect()
}

fn ended(watch: &Watch) -> usize {
    watch.seen.iter().filter(|event| matches!(event, Event::AgentEnded { .. })).count()
}

// LOOP-49, EXEC-30, EXEC-31, PROMPT-18: an agent works by the same loop and answers once.
#[tokio::test]
async fn an_agent_works_and_reports() {
    let lab = Lab::new();
    fs_err::write(lab.project().join("notes.txt"), "the treasure is under the oak").unwrap();
    let notes = lab.project().join("notes.txt");
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("Explore", "find the treasure")),
        Reply::text("done"),
    ]);
    let child = lab.server.conversation(by_prompt("find the treasure"));
    child.replies([
        Reply::new().tool_with_id("r", "Read", json!({"file_path": notes})),
        Reply::text("It is under the oak."),
    ]);
    let watch = lab.turn(setup(&lab), "go").await;
    let result = watch.result("t");
    assert!(!result.is_error && result.text().starts_with("It is under the oak."), "{}", result.text());
    assert_eq!(result.detail["totalToolUseCount"], 1);
    let bodies = sent_to(&lab, "find the treasure");
    assert_eq!(bodies.len(), 2);
    assert!(bodies[1].to_string().contains("under the oak"));
    let system = bodies[0]["system"].to_string();
    assert!(system.contains("search") && !system.contains("TodoWrite tool"), "{system}");
    let tools: BTreeSet<&str> =
        bodies[0]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for missing in ["Task", "ExitPlanMode", "Edit", "Write", "NotebookEdit", "KillShell"] {
        assert!(!tools.contains(missing), "PLAN-50: {missing}");
    }
    assert!(tools.contains("Read") && tools.contains("TodoWrite"));
    let main = &lab.server.messages()[0].body()["tools"].clone();
    let description = main.as_array().unwrap().iter().find(|tool| tool["name"] == "Task").unwrap();
    let description = description["description"].as_str().unwrap();
    assert!(
        description.contains("- Explore:") && description.contains("all tools but Task"),
        "{description}"
    );
    lab.server.assert_clean();
}

// EXEC-30
#[tokio::test]
async fn an_unknown_kind_is_answered_with_those_there_are() {
    let lab = Lab::new();
    lab.server.replies([Reply::new().tool_with_id("t", "Task", task("Wizard", "x")), Reply::text("done")]);
    let watch = lab.turn(setup(&lab), "go").await;
    let text = watch.result("t").text();
    assert!(text.contains("Wizard") && text.contains("Explore") && text.contains("Plan"), "{text}");
    lab.server.assert_clean();
}

/// Waits for so many requests. The session works on other threads meanwhile.
fn requests(lab: &Lab, count: usize) -> Vec<tiller_testkit::Captured> {
    tokio::task::block_in_place(|| lab.server.wait_for_messages(count))
}

/// Five agents whose first answers wait at gates.
fn five(lab: &Lab) -> Vec<Gate> {
    let mut reply = Reply::new();
    let mut gates = Vec::new();
    for number in 0..5 {
        reply = reply.tool_with_id(
            &format!("t{number}"),
            "Task",
            task("Explore", &format!("part {number} of it")),
        );
        let gate = Gate::new();
        let child = lab.server.conversation(by_prompt(&format!("part {number} of it")));
        child.reply(Reply::new().gate_headers(&gate).and_text(format!("found {number}")));
        gates.push(gate);
    }
    lab.server.replies([reply, Reply::text("done")]);
    gates
}

// Five agents work beside each other: all of them have asked before one is answered.
#[tokio::test(flavor = "multi_thread")]
async fn five_agents_work_beside_each_other() {
    let lab = Lab::new();
    let gates = five(&lab);
    let mut watch = lab.begin(setup(&lab), "go").await;
    requests(&lab, 6);
    for (number, gate) in gates.iter().enumerate().rev() {
        gate.open();
        watch.until_result(&format!("t{number}")).await;
    }
    watch.until_turn_ends().await;
    for number in 0..5 {
        assert!(watch.result(&format!("t{number}")).text().starts_with(&format!("found {number}")));
    }
    assert_eq!(ended(&watch), 5);
    let results =
        lab.server.messages().last().unwrap().body()["messages"].as_array().unwrap().last().unwrap().clone();
    let ids: Vec<&str> = results["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|block| block["tool_use_id"].as_str())
        .collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 5, "{ids:?}");
    lab.server.assert_clean();
}

// BUDG-02: whoever stops the agent stops all that work for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_parent_stops_all() {
    let lab = Lab::new();
    let _gates = five(&lab);
    let mut watch = lab.begin(setup(&lab), "go").await;
    requests(&lab, 6);
    watch.send(Command::Interrupt).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.outcome(), Outcome::Interrupted);
    for number in 0..5 {
        assert_eq!(watch.result(&format!("t{number}")).cause, Cause::Interrupted);
    }
    assert_eq!(ended(&watch), 5);
}

// BUDG-01, BUDG-02: agents draw from the budget of the session, and what one has spent the others cannot.
#[tokio::test]
async fn agents_share_one_budget() {
    let lab = Lab::new();
    let reply = Reply::new().tool_with_id("a", "Task", task("general-purpose", "spend it")).tool_with_id(
        "b",
        "Task",
        task("general-purpose", "come later"),
    );
    lab.server.reply(reply);
    let dear = json!({"input_tokens": 2_000_000, "output_tokens": 10});
    let (spending, gate) = (Gate::new(), Gate::new());
    let spender = lab.server.conversation(by_prompt("spend it"));
    spender.replies([Reply::new().gate_headers(&spending).and_text("spent").usage(dear)]);
    let late = lab.server.conversation(by_prompt("come later"));
    late.replies([Reply::new().gate_headers(&gate).tool_with_id("x", "Glob", json!({"pattern": "*"}))]);
    let limits = Limits { max_budget_usd: Some(3.0), ..Limits::default() };
    let mut watch = lab.begin(Setup { limits, ..setup(&lab) }, "go").await;
    eventually_beside("the later agent asks", || !sent_to(&lab, "come later").is_empty()).await;
    spending.open();
    watch.until_result("a").await;
    gate.open();
    watch.until_turn_ends().await;
    let late = watch.result("b");
    assert!(late.is_error && late.text().contains("spending limit"), "{}", late.text());
    assert_eq!(watch.outcome(), Outcome::MaxBudget);
    let spent = watch
        .entries()
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Response(response) => {
                Some((response.agent.is_some(), response.cost_usd.unwrap_or_default()))
            }
            _ => None,
        })
        .collect::<Vec<_>>();
    assert_eq!(spent.iter().filter(|(of_agent, _)| *of_agent).count(), 2, "{spent:?}");
    assert!(spent.iter().map(|(_, usd)| usd).sum::<f64>() > 3.0);
    lab.server.assert_clean();
}

// BUDG-01: the depth of delegation is limited, whatever the model tries.
#[tokio::test]
async fn agents_cannot_hand_work_on_beyond_the_limit() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "level one")),
        Reply::text("done"),
    ]);
    let child = lab.server.conversation(by_prompt("level one"));
    child.replies([
        Reply::new().tool_with_id("tt", "Task", task("general-purpose", "level two")),
        Reply::text("I did it myself"),
    ]);
    let watch = lab.turn(setup(&lab), "go").await;
    let refused = of_agents(&watch).into_iter().find_map(|event| match event {
        Event::Appended(entry) => match &entry.body {
            Body::Result(result) => Some(result.clone()),
            _ => None,
        },
        _ => None,
    });
    let refused = refused.unwrap();
    assert!(refused.is_error && refused.text().contains("no tool named Task"), "{}", refused.text());
    assert!(sent_to(&lab, "level two").is_empty());
    lab.server.assert_clean();
}

// BUDG-01: one at a time if that is the limit.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_agents_than_allowed_work_at_once() {
    let lab = Lab::new();
    let gates = five(&lab);
    let limits = Limits { agents: AgentLimits { at_once: 2, ..AgentLimits::default() }, ..Limits::default() };
    let mut watch = lab.begin(Setup { limits, ..setup(&lab) }, "go").await;
    let mut open = BTreeSet::new();
    for answered in 0..5 {
        // That of the main agent, those that are answered, and two at work.
        let expected = (answered + 3).min(6);
        assert_eq!(requests(&lab, expected).len(), expected);
        // A request is there before its answer has come to the gate.
        let next = || (0..5).find(|number| gates[*number].is_reached() && !open.contains(number));
        eventually_beside("another agent asks", || next().is_some()).await;
        let next = next().unwrap();
        open.insert(next);
        gates[next].open();
        watch.until_result(&format!("t{next}")).await;
    }
    watch.until_turn_ends().await;
    lab.server.assert_clean();
}

// BUDG-01: who waits for an agent takes no slot away from it.
#[tokio::test]
async fn nested_agents_do_not_wait_for_each_other() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "outer work")),
        Reply::text("done"),
    ]);
    lab.server.conversation(by_prompt("outer work")).replies([
        Reply::new().tool_with_id("tt", "Task", task("general-purpose", "inner work")),
        Reply::text("both done"),
    ]);
    lab.server.conversation(by_prompt("inner work")).reply(Reply::text("inner done"));
    let limits = Limits { agents: AgentLimits { depth: 2, at_once: 1 }, ..Limits::default() };
    let watch = lab.turn(Setup { limits, ..setup(&lab) }, "go").await;
    assert!(watch.result("t").text().starts_with("both done"));
    lab.server.assert_clean();
}

// PERM-19, HEAD-02: questions of an agent reach the user, with its name; answers reach the agent.
#[tokio::test]
async fn questions_of_agents_go_to_the_user() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "write it")),
        Reply::text("done"),
    ]);
    let write = |name: &str| json!({"file_path": lab.project().join(name), "content": "x"});
    lab.server.conversation(by_prompt("write it")).replies([
        Reply::new().tool_with_id("w1", "Write", write("one")),
        Reply::new().tool_with_id("w2", "Write", write("two")),
        Reply::text("as far as I could"),
    ]);
    let asking = Setup { mode: Some(Mode::Default), interactive: true, ..setup(&lab) };
    let mut watch = lab.begin(asking, "go").await;
    let (id, ask) = asked(&mut watch).await;
    assert_eq!(ask.agent().unwrap().kind, "general-purpose");
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: Vec::new() })).await;
    let (id, _) = asked(&mut watch).await;
    let no = Answer::Refuse { feedback: Some("not that one".to_owned()), then: Then::GoOn };
    watch.send(Command::Answer(id, no)).await;
    watch.until_turn_ends().await;
    assert!(lab.project().join("one").exists() && !lab.project().join("two").exists());
    let last = sent_to(&lab, "write it").pop().unwrap().to_string();
    assert!(last.contains("not that one"), "{last}");
    lab.server.assert_clean();
}

// HEAD-02: where nobody can be asked, an agent is refused at once.
#[tokio::test]
async fn without_a_user_agents_are_refused_and_go_on() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "write it")),
        Reply::text("done"),
    ]);
    let write = json!({"file_path": lab.project().join("one"), "content": "x"});
    lab.server
        .conversation(by_prompt("write it"))
        .replies([Reply::new().tool_with_id("w1", "Write", write), Reply::text("could not")]);
    let watch = lab.turn(Setup { mode: Some(Mode::Default), ..setup(&lab) }, "go").await;
    assert!(watch.result("t").text().starts_with("could not"));
    assert!(!lab.project().join("one").exists());
    lab.server.assert_clean();
}

// PERM-19, PLAN-51: plan mode holds for agents, whatever they are and whoever allows it.
#[tokio::test]
async fn plan_mode_holds_for_agents() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "change it")),
        Reply::text("done"),
    ]);
    let file = lab.project().join("file");
    lab.server.conversation(by_prompt("change it")).replies([
        Reply::new().tool_with_id("w", "Write", json!({"file_path": file, "content": "x"})).tool_with_id(
            "b",
            "Bash",
            json!({"command": format!("echo x > {}; echo ran", file.display())}),
        ),
        Reply::text("tried"),
    ]);
    let planning = Setup { mode: Some(Mode::Plan), ..setup(&lab) };
    let watch = lab.turn(planning, "go").await;
    assert!(watch.result("t").text().starts_with("tried"));
    assert!(!file.exists());
    // STEER-69: it is told from its first request on.
    let first = sent_to(&lab, "change it").remove(0).to_string();
    assert!(first.to_lowercase().contains("plan mode") || first.contains("planning"), "{first}");
    lab.server.assert_clean();
}

// LOOP-44: what the user says meanwhile is for the main agent.
#[tokio::test(flavor = "multi_thread")]
async fn agents_leave_the_queue_alone() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("Explore", "look twice")),
        Reply::text("done"),
    ]);
    let gate = Gate::new();
    lab.server.conversation(by_prompt("look twice")).replies([
        Reply::new().gate_headers(&gate).tool_with_id("g", "Glob", json!({"pattern": "*"})),
        Reply::text("looked"),
    ]);
    let mut watch = lab.begin(setup(&lab), "go").await;
    requests(&lab, 2);
    watch.send(Command::Submit(tiller_protocol::command::UserInput::text("mind the cat"))).await;
    watch
        .until(|event| matches!(event, Event::Appended(entry) if matches!(entry.body, Body::Queued(_))))
        .await;
    gate.open();
    watch.until_turn_ends().await;
    assert!(sent_to(&lab, "look twice").iter().all(|body| !body.to_string().contains("mind the cat")));
    assert!(lab.server.messages().last().unwrap().body().to_string().contains("mind the cat"));
    lab.server.assert_clean();
}

// EXEC-32: a background agent is reported once, and its answer can be had.
#[tokio::test]
async fn a_background_agent_reports_later() {
    let lab = Lab::new();
    let mut order = task("Explore", "take your time");
    order["run_in_background"] = json!(true);
    lab.server.replies([Reply::new().tool_with_id("t", "Task", order), Reply::text("meanwhile")]);
    let gate = Gate::new();
    let child = lab.server.conversation(by_prompt("take your time"));
    child.reply(Reply::new().gate_headers(&gate).and_text("at last"));
    let mut watch = lab.begin(setup(&lab), "go").await;
    watch.until_turn_ends().await;
    let started = watch.result("t");
    let id = started.detail["agentId"].as_str().unwrap().to_owned();
    assert!(!started.is_error && started.text().contains(&id));
    lab.server.replies([
        Reply::new().tool_with_id("o", "TaskOutput", json!({"task_id": id})),
        Reply::text("thanks"),
        Reply::text("nothing new"),
    ]);
    // The session is idle, and begins a turn by itself.
    gate.open();
    watch
        .until(|event| matches!(event, Event::TaskChanged(task) if task.state == TaskState::Completed))
        .await;
    watch.until_result("o").await;
    assert!(watch.result("o").text().contains("at last"));
    watch.until_turn_ends().await;
    watch.send(Command::Submit(tiller_protocol::command::UserInput::text("and?"))).await;
    watch.until_turn_ends().await;
    let told = watch
        .entries()
        .iter()
        .filter(
            |entry| matches!(&entry.body, Body::Attachment(attachment) if attachment.kind() == "task_status"),
        )
        .count();
    assert_eq!(told, 1);
    watch.close().await;
    lab.server.assert_clean();
}

// An agent can be continued with all it knows, and stays what it was made as.
#[tokio::test]
async fn an_agent_can_be_continued() {
    let lab = Lab::new();
    lab.server.reply(Reply::new().tool_with_id("t", "Task", task("Explore", "first part")));
    let child = lab.server.conversation(by_prompt("first part"));
    child.reply(Reply::text("half way"));
    lab.server.reply(Reply::text("so far"));
    let mut watch = lab.begin(setup(&lab), "go").await;
    watch.until_turn_ends().await;
    let id = watch.result("t").detail["agentId"].as_str().unwrap().to_owned();
    let mut order = task("general-purpose", "second part");
    order["resume"] = json!(id);
    lab.server.replies([Reply::new().tool_with_id("t2", "Task", order), Reply::text("done")]);
    let write = json!({"file_path": lab.project().join("no"), "content": "x"});
    child.replies([Reply::new().tool_with_id("w", "Write", write), Reply::text("all the way")]);
    watch.send(Command::Submit(tiller_protocol::command::UserInput::text("go on"))).await;
    watch.until_turn_ends().await;
    assert!(watch.result("t2").text().starts_with("all the way"), "{}", watch.result("t2").text());
    let last = sent_to(&lab, "first part").pop().unwrap();
    let text = last["messages"].to_string();
    assert!(text.contains("half way") && text.contains("second part"), "{text}");
    assert!(!lab.project().join("no").exists(), "an Explore agent stays one");
    lab.server.assert_clean();
}

// EXEC-33: only an agent that is defined so knows the conversation.
#[tokio::test]
async fn an_agent_knows_the_conversation_if_its_definition_says_so() {
    let lab = Lab::new();
    let mut agents = definitions();
    agents[0].fork_context = true;
    agents[0].origin.layer = Layer::User;
    lab.server.replies([
        Reply::new().and_text("The secret word is tulip.").tool_with_id("g", "Glob", json!({"pattern": "*"})),
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "knowing part")).tool_with_id(
            "u",
            "Task",
            task("Explore", "ignorant part"),
        ),
        Reply::text("done"),
    ]);
    let said = |text: &'static str| Matcher::last_user_contains(text);
    lab.server.conversation(said("knowing part")).reply(Reply::text("tulip"));
    lab.server.conversation(said("ignorant part")).reply(Reply::text("who knows"));
    let watch = lab.turn(setup_with(&lab, agents), "tell me").await;
    assert!(watch.result("t").text().starts_with("tulip"));
    let bodies: Vec<String> =
        lab.server.messages().iter().map(|sent| sent.body()["messages"].to_string()).collect();
    let knowing =
        bodies.iter().find(|body| body.contains("knowing part") && !body.contains("ignorant part")).unwrap();
    assert!(knowing.contains("The secret word is tulip."), "{knowing}");
    let ignorant =
        bodies.iter().find(|body| body.contains("ignorant part") && !body.contains("knowing part")).unwrap();
    assert!(!ignorant.contains("tulip"), "{ignorant}");
    lab.server.assert_clean();
}

// HOOK-11: hooks hear of agents, and what they add goes to the agent.
#[tokio::test]
async fn hooks_speak_to_agents() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("Explore", "with advice")),
        Reply::text("done"),
    ]);
    lab.server.conversation(by_prompt("with advice")).replies([Reply::text("first"), Reply::text("second")]);
    let start = r#"printf '{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"mind the gap"}}'"#;
    let stop = format!(
        "cat > {0}/stop.json; test -e {0}/asked || {{ touch {0}/asked; echo 'look again' >&2; exit 2; }}",
        lab.project().display()
    );
    let hooks = hooks(json!({
        "SubagentStart": [{"hooks": [{"type": "command", "command": start}]}],
        "SubagentStop": [{"hooks": [{"type": "command", "command": stop}]}],
        "Stop": [{"hooks": [{"type": "command", "command": format!("touch {}/main-stop", lab.project().display())}]}],
    }));
    let watch = lab.turn(Setup { hooks, ..setup(&lab) }, "go").await;
    assert!(watch.result("t").text().starts_with("second"), "{}", watch.result("t").text());
    let bodies = sent_to(&lab, "with advice");
    assert!(bodies[0].to_string().contains("mind the gap"));
    assert!(bodies[1].to_string().contains("look again"));
    assert!(!lab.server.messages()[0].body().to_string().contains("mind the gap"));
    let told: Value =
        serde_json::from_str(&fs_err::read_to_string(lab.project().join("stop.json")).unwrap()).unwrap();
    assert_eq!(told["agent_type"], "Explore");
    assert!(told["agent_transcript_path"].as_str().unwrap().contains("subagents/agent-"), "{told}");
    assert!(lab.project().join("main-stop").exists());
    lab.server.assert_clean();
}

// TODO-05, LOG-01: an agent has its own log and its own list.
#[tokio::test]
async fn an_agent_keeps_its_own_books() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::new().tool_with_id("t", "Task", task("general-purpose", "keep a list")),
        Reply::text("done"),
    ]);
    let todos = json!({"todos": [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]});
    lab.server
        .conversation(by_prompt("keep a list"))
        .replies([Reply::new().tool_with_id("l", "TodoWrite", todos), Reply::text("kept")]);
    let watch = lab.turn(setup(&lab), "go").await;
    let id = watch.result("t").detail["agentId"].as_str().unwrap().to_owned();
    let log = watch.session.paths.dir.join(format!("subagents/agent-{id}.jsonl"));
    let lines: Vec<Value> = fs_err::read_to_string(log)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let messages: Vec<&Value> = lines.iter().filter(|line| line["message"].is_object()).collect();
    assert!(
        messages.len() >= 4
            && messages.iter().all(|line| line["isSidechain"] == true && line["agentId"] == id.as_str())
    );
    let todos = lab.config_dir().join(format!("todos/{}-agent-{id}.json", watch.session.id));
    assert!(fs_err::read_to_string(todos).unwrap().contains("Look"));
    let own = lab.config_dir().join(format!("todos/{0}-agent-{0}.json", watch.session.id));
    assert!(!own.exists());
    lab.server.assert_clean();
}

// A limit on time or tokens ends the work before the next request.
#[tokio::test]
async fn limits_on_tokens_and_time_end_the_turn() {
    for (limits, outcome) in [
        (Limits { max_tokens: Some(10), ..Limits::default() }, Outcome::MaxTokens),
        (Limits { max_time: Some(Duration::ZERO), ..Limits::default() }, Outcome::MaxTime),
    ] {
        let lab = Lab::new();
        lab.server.reply(Reply::new().tool_with_id("g", "Glob", json!({"pattern": "*"})));
        let watch = lab.turn(Setup { limits, ..setup(&lab) }, "go").await;
        assert_eq!(watch.outcome(), outcome);
    }
}
