//! What answers change: rules, directories and mode, for the session or for good.

use std::path::PathBuf;

use serde_json::{Value, json};
use tiller_engine::{Setup, Start};
use tiller_policy::{Origin, Rule, Source};
use tiller_protocol::ask::{Answer, Ask, PermissionAsk};
use tiller_protocol::command::{Command, Event, UserInput};
use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, Outcome};
use tiller_protocol::id::AskId;
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::Update;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch, held_by_namespaces};

pub(crate) fn asking(lab: &Lab) -> Setup {
    Setup { mode: Some(Mode::Default), bypass_available: false, interactive: true, ..lab.setup() }
}

fn write(lab: &Lab, name: &str) -> Value {
    json!({"say": "written", "writes": lab.project().join(name)})
}

/// A reply that calls the probe once, and the answer after it.
fn calls(lab: &Lab, id: &str, name: &str) -> [Reply; 2] {
    [Reply::new().tool_with_id(id, "Probe", write(lab, name)), Reply::text("done")]
}

fn updates(json: Value) -> Vec<Update> {
    serde_json::from_value(json).unwrap()
}

fn allow_probe(destination: &str) -> Value {
    json!({"type": "addRules", "rules": [{"toolName": "Probe"}], "behavior": "allow", "destination": destination})
}

pub(crate) async fn asked(watch: &mut Watch) -> (AskId, PermissionAsk) {
    watch.until(|event| matches!(event, Event::Asked(..))).await;
    match watch.seen.last() {
        Some(Event::Asked(id, Ask::Permission(ask))) => (*id, ask.clone()),
        other => panic!("{other:?}"),
    }
}

async fn allow(watch: &mut Watch, changes: Value) {
    let (id, _) = asked(watch).await;
    let answer = Answer::Allow { updated_input: None, updates: updates(changes) };
    watch.send(Command::Answer(id, answer)).await;
}

/// Asks for one more call; says whether the user was asked.
async fn is_asked(lab: &Lab, watch: &mut Watch, id: &str, name: &str) -> bool {
    let before = watch.seen.len();
    lab.server.replies(calls(lab, id, name));
    watch.send(Command::Submit(UserInput::text("again"))).await;
    watch
        .until(|event| {
            let ended = matches!(event, Event::Appended(entry) if matches!(entry.body, Body::TurnEnded(_)));
            ended || matches!(event, Event::Asked(..))
        })
        .await;
    let question = watch.seen[before..].iter().find_map(|event| match event {
        Event::Asked(id, _) => Some(*id),
        _ => None,
    });
    if let Some(question) = question {
        let answer = Answer::Allow { updated_input: None, updates: Vec::new() };
        watch.send(Command::Answer(question, answer)).await;
        watch.until_turn_ends().await;
    }
    question.is_some()
}

fn notices(watch: &Watch) -> Vec<String> {
    let entries = watch.entries();
    let texts = entries.iter().filter_map(|entry| match &entry.body {
        Body::Notice(notice) if notice.subtype == "permission_update" => Some(notice.content.clone()),
        _ => None,
    });
    texts.collect()
}

fn settings_files(lab: &Lab) -> [PathBuf; 3] {
    [
        lab.config_dir().join("settings.json"),
        lab.project().join(".tiller/settings.json"),
        lab.project().join(".tiller/settings.local.json"),
    ]
}

// PERM-09, PERM-11: a rule counts at once wherever it is kept, and only its own file is written.
#[tokio::test]
async fn a_remembered_rule_counts_at_once_and_is_kept_where_it_says() {
    let destinations = ["userSettings", "projectSettings", "localSettings", "session"];
    for (at, destination) in destinations.into_iter().enumerate() {
        let lab = Lab::new();
        lab.server.replies(calls(&lab, "a", "f"));
        let mut watch = lab.begin(asking(&lab), "go").await;
        allow(&mut watch, json!([allow_probe(destination)])).await;
        watch.until_turn_ends().await;
        assert_eq!(watch.result("a").text(), "written");
        assert!(!is_asked(&lab, &mut watch, "b", "g").await, "{destination}");
        watch.close().await;
        for (place, file) in settings_files(&lab).iter().enumerate() {
            let text = fs_err::read_to_string(file).ok();
            let expected = (place == at).then(|| json!({"permissions": {"allow": ["Probe"]}}));
            let found = text.map(|text| serde_json::from_str::<Value>(&text).unwrap());
            assert_eq!(found, expected, "{destination}: {}", file.display());
        }
        assert_eq!(notices(&watch), [""; 0]);
        lab.server.assert_clean();
    }
}

// PERM-10, PERM-15: in order and at once, the mode included.
#[tokio::test]
async fn changes_are_made_in_their_order_before_the_call_goes_on() {
    let lab = Lab::new();
    lab.server.replies(calls(&lab, "a", "f"));
    let mut watch = lab.begin(asking(&lab), "go").await;
    let changes = json!([
        allow_probe("session"),
        {"type": "removeRules", "rules": [{"toolName": "Probe"}], "behavior": "allow", "destination": "session"},
        {"type": "setMode", "mode": "plan", "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ]);
    allow(&mut watch, changes).await;
    watch.until_turn_ends().await;
    assert_eq!(watch.result("a").text(), "written");
    assert!(!is_asked(&lab, &mut watch, "b", "g").await);
    watch.send(Command::SetMode(Mode::Default)).await;
    assert!(is_asked(&lab, &mut watch, "c", "h").await, "the rule was taken back");
    lab.server.assert_clean();
}

// PERM-09: a rule against the very call holds as soon as it is there.
#[tokio::test]
async fn a_yes_with_a_rule_against_it_is_a_no() {
    let lab = Lab::new();
    lab.server.replies(calls(&lab, "a", "f"));
    let mut watch = lab.begin(asking(&lab), "go").await;
    let rule = json!({"type": "addRules", "rules": [{"toolName": "Probe", "ruleContent": "f"}], "behavior": "deny",
        "destination": "session"});
    allow(&mut watch, json!([rule])).await;
    watch.until_turn_ends().await;
    assert!(watch.result("a").text().contains("Probe(f)"), "{}", watch.result("a").text());
}

// PERM-10, PERM-20: all or nothing, and the call goes on.
#[tokio::test]
async fn a_change_that_cannot_be_made_changes_nothing_and_is_told() {
    let bypass = json!({"type": "setMode", "mode": "bypassPermissions", "destination": "userSettings"});
    let nonsense = json!({"type": "addRules", "rules": [{"toolName": "no tool"}], "behavior": "allow",
        "destination": "userSettings"});
    for (bad, word) in [(bypass, "bypassing permissions is not available"), (nonsense, "is not a rule")] {
        let lab = Lab::new();
        lab.server.replies(calls(&lab, "a", "f"));
        let mut watch = lab.begin(asking(&lab), "go").await;
        allow(&mut watch, json!([allow_probe("userSettings"), bad])).await;
        watch.until_turn_ends().await;
        assert_eq!(watch.result("a").text(), "written");
        assert_eq!(notices(&watch).len(), 1);
        assert!(notices(&watch)[0].contains(word), "{:?}", notices(&watch));
        assert!(is_asked(&lab, &mut watch, "b", "g").await);
        watch.close().await;
        assert!(settings_files(&lab).iter().all(|file| !file.exists()));
        lab.server.assert_clean();
    }
}

// PERM-20
#[tokio::test]
async fn a_policy_is_not_loosened_by_answers() {
    let lab = Lab::new();
    lab.server.replies(calls(&lab, "a", "f"));
    let mut setup = asking(&lab);
    let origin = Origin { source: Source::Managed, file: Some("/etc/tiller/managed-settings.json".into()) };
    setup.rules.deny.push("Probe(secret)".parse::<Rule>().unwrap().from_origin(origin));
    let mut watch = lab.begin(setup, "go").await;
    let mut changes: Vec<Value> = Vec::new();
    for destination in ["session", "localSettings", "projectSettings", "userSettings"] {
        let rules = json!([{"toolName": "Probe", "ruleContent": "secret"}]);
        for kind in ["removeRules", "replaceRules"] {
            let rules = if kind == "removeRules" { rules.clone() } else { json!([]) };
            changes
                .push(json!({"type": kind, "rules": rules, "behavior": "deny", "destination": destination}));
        }
        changes.push(allow_probe(destination));
    }
    allow(&mut watch, Value::Array(changes)).await;
    watch.until_turn_ends().await;
    assert!(!is_asked(&lab, &mut watch, "b", "secret").await);
    assert!(watch.result("b").text().contains("Probe(secret)"), "{}", watch.result("b").text());
    assert!(!is_asked(&lab, &mut watch, "c", "g").await);
    assert_eq!(watch.result("c").text(), "written");
}

// PERM-09: what cannot be saved holds for the session, also when it is opened again.
#[tokio::test]
async fn a_file_that_cannot_be_written_costs_no_permission() {
    let lab = Lab::new();
    let file = lab.project().join(".tiller/settings.local.json");
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(&file, "{ broken").unwrap();
    lab.server.replies(calls(&lab, "a", "f"));
    let mut watch = lab.begin(asking(&lab), "go").await;
    allow(&mut watch, json!([allow_probe("localSettings")])).await;
    watch.until_turn_ends().await;
    let told = |event: &Event| {
        matches!(event, Event::Appended(entry)
        if matches!(&entry.body, Body::Notice(notice) if notice.subtype == "permission_update"))
    };
    if !watch.seen.iter().any(told) {
        watch.until(told).await;
    }
    assert!(notices(&watch)[0].contains("settings.local.json"), "{:?}", notices(&watch));
    assert!(!is_asked(&lab, &mut watch, "b", "g").await);
    watch.close().await;
    assert_eq!(fs_err::read_to_string(&file).unwrap(), "{ broken");

    let setup = Setup { start: Start::Resume(watch.session.id), ..asking(&lab) };
    lab.server.replies(calls(&lab, "c", "h"));
    let watch = lab.turn(setup, "go on").await;
    assert_eq!(watch.result("c").text(), "written");
    lab.server.assert_clean();
}

// PERM-11: rules and directories of the session are a fold over its log; a rule kept elsewhere is not among them.
#[tokio::test]
async fn what_was_said_for_the_session_holds_when_it_is_opened_again() {
    let lab = Lab::new();
    let outside = lab.config_dir().parent().unwrap().join("outside");
    fs_err::create_dir_all(&outside).unwrap();
    let outside = fs_err::canonicalize(&outside).unwrap();
    lab.server.replies(calls(&lab, "a", "f"));
    let mut watch = lab.begin(asking(&lab), "go").await;
    let changes = json!([
        {"type": "addRules", "rules": [{"toolName": "Probe", "ruleContent": "f"}], "behavior": "allow", "destination": "session"},
        {"type": "addRules", "rules": [{"toolName": "Probe", "ruleContent": "g"}], "behavior": "allow", "destination": "userSettings"},
        {"type": "addDirectories", "directories": [outside], "destination": "session"},
        {"type": "setMode", "mode": "dontAsk", "destination": "session"},
    ]);
    allow(&mut watch, changes).await;
    watch.until_turn_ends().await;
    watch.close().await;
    for start in [Start::Fork { from: watch.session.id, to: None }, Start::Resume(watch.session.id)] {
        let mut watch = {
            lab.server.replies(calls(&lab, "b", "f"));
            let setup = Setup { start, mode: None, ..asking(&lab) };
            lab.turn(setup, "go on").await
        };
        assert_eq!(watch.result("b").text(), "written");
        assert!(is_asked(&lab, &mut watch, "c", "g").await, "settings are read by whoever opens the session");
        watch.send(Command::SetMode(Mode::AcceptEdits)).await;
        let inside = outside.join("x");
        assert!(!is_asked(&lab, &mut watch, "d", inside.to_str().unwrap()).await);
        assert_eq!(watch.result("d").text(), "written");
        watch.close().await;
    }
    assert!(!settings_files(&lab)[2].exists());
    lab.server.assert_clean();
}

// RULE-04
#[tokio::test]
async fn a_question_comes_with_what_would_spare_the_next() {
    if !held_by_namespaces() {
        return;
    }
    let lab = Lab::new();
    let bash = |id: &str, command: &str| Reply::new().tool_with_id(id, "Bash", json!({"command": command}));
    lab.server.replies([
        bash("a", "mkfifo one"),
        bash("b", "mkfifo two 2>/dev/null"),
        bash("c", "python3 -c 1"),
        Reply::text("done"),
    ]);
    let setup = Setup { registry: tiller_tools::built_in(), ..asking(&lab) };
    let mut watch = lab.begin(setup, "go").await;
    let no_changes = || Answer::Allow { updated_input: None, updates: Vec::new() };
    let (id, first) = asked(&mut watch).await;
    let general = json!([{"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "mkfifo:*"}],
        "behavior": "allow", "destination": "localSettings"}]);
    assert_eq!(serde_json::to_value(&first.suggestions).unwrap(), general);
    assert!(first.would_cover.is_empty());
    watch.send(Command::Answer(id, no_changes())).await;
    let (id, second) = asked(&mut watch).await;
    assert_eq!(serde_json::to_value(&second.suggestions).unwrap(), general);
    assert_eq!(second.would_cover, ["mkfifo one"]);
    let remembered = Answer::Allow { updated_input: None, updates: second.suggestions };
    watch.send(Command::Answer(id, remembered)).await;
    let (id, third) = asked(&mut watch).await;
    assert!(third.suggestions.is_empty() && third.would_cover.is_empty(), "a one-off is not remembered");
    watch.send(Command::Answer(id, no_changes())).await;
    watch.until_turn_ends().await;
    lab.server.replies([bash("d", "mkfifo three"), Reply::text("done")]);
    watch.send(Command::Submit(UserInput::text("again"))).await;
    watch.until_turn_ends().await;
    assert!(!watch.result("d").is_error);
    lab.server.assert_clean();
}

// RULE-04: all edits of this session.
#[tokio::test]
async fn an_edit_comes_with_the_offer_to_accept_edits() {
    let lab = Lab::new();
    lab.server.replies(calls(&lab, "a", "f"));
    let mut watch = lab.begin(asking(&lab), "go").await;
    let (id, ask) = asked(&mut watch).await;
    let offer = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    assert_eq!(serde_json::to_value(&ask.suggestions).unwrap(), offer);
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: ask.suggestions })).await;
    watch.until_turn_ends().await;
    assert!(!is_asked(&lab, &mut watch, "b", "g").await);
    lab.server.replies([
        Reply::new().tool_with_id("c", "Probe", json!({"say": "written", "writes": "/elsewhere/x"})),
        Reply::text("done"),
    ]);
    watch.send(Command::Submit(UserInput::text("outside"))).await;
    let (id, ask) = asked(&mut watch).await;
    assert_eq!(ask.blocked_path, Some(PathBuf::from("/elsewhere/x")));
    watch.send(Command::Answer(id, Answer::Allow { updated_input: None, updates: Vec::new() })).await;
    watch.until_turn_ends().await;
    lab.server.assert_clean();
}

// PERM-04, PERM-07: ask rules come before modes and allow rules; whoever never asks is not asked by them either.
#[tokio::test]
async fn an_ask_rule_asks_in_every_mode_that_asks() {
    for (mode, expected) in [
        (Mode::Default, "asked"),
        (Mode::AcceptEdits, "asked"),
        (Mode::BypassPermissions, "asked"),
        (Mode::DontAsk, "not allowed here: the rule Probe(f) says so"),
    ] {
        let lab = Lab::new();
        lab.server.replies(calls(&lab, "a", "f"));
        let mut setup = Setup { mode: Some(mode), ..asking(&lab) };
        setup.rules.ask.push("Probe(f)".parse().unwrap());
        setup.rules.allow.push("Probe".parse().unwrap());
        let mut watch = lab.begin(setup, "go").await;
        if expected == "asked" {
            let (id, ask) = asked(&mut watch).await;
            assert!(ask.reason.contains("Probe(f)") && ask.suggestions.is_empty(), "{ask:?}");
            let answer = Answer::Allow { updated_input: None, updates: Vec::new() };
            watch.send(Command::Answer(id, answer)).await;
            watch.until_turn_ends().await;
            assert_eq!(watch.result("a").text(), "written", "{mode}");
        } else {
            watch.until_turn_ends().await;
            assert!(watch.result("a").text().contains(expected), "{}", watch.result("a").text());
            assert_eq!(watch.outcome(), Outcome::Success);
        }
    }
}

// The log tells the whole story in one entry.
#[tokio::test]
async fn a_change_is_one_entry() {
    let lab = Lab::new();
    lab.server.replies(calls(&lab, "a", "f"));
    let mut watch = lab.begin(asking(&lab), "go").await;
    let changes =
        json!([allow_probe("session"), {"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
    allow(&mut watch, changes.clone()).await;
    watch.until_turn_ends().await;
    let entries = watch.entries();
    let effects: Vec<&Effect> = entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Effect(effect) => Some(effect).filter(|effect| !matches!(effect, Effect::Snapshot { .. })),
            _ => None,
        })
        .collect();
    assert_eq!(effects, [&Effect::Permissions { updates: updates(changes) }]);
}
