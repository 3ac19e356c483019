//! Every view in narrow terminals: nothing that matters is cut.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use tiller_protocol::ask::{AllowedPrompt, Ask, Choice, PermissionAsk, PlanAsk, Question, QuestionAsk};
use tiller_protocol::command::{AgentInfo, BackgroundTask, Event, TaskKind, TaskState};
use tiller_protocol::entry::{Delivery, Level, Outcome};
use tiller_protocol::form::fields;
use tiller_protocol::id::{AskId, CallId, SessionId};
use tiller_protocol::mcp::{ElicitationAsk, SamplingAsk, SamplingMessage, Wanted};
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::{Behavior, Destination, RuleValue, Update};

use super::frames::todos;
use super::stage::Stage;
use super::views::{changed, fold, preview, run, server};
use crate::app::Place;
use crate::host::{InstructionRow, Reply, StyleRow};
use crate::panel::SessionRow;

const WIDE: u16 = 140;
const TALL: u16 = 500;

type Play = fn(&mut Stage);

fn permission(tool: &str, input: serde_json::Value) -> Event {
    let rule = RuleValue { tool_name: tool.to_owned(), rule_content: Some("cargo test:*".to_owned()) };
    let ask = PermissionAsk {
        restates: false,
        cwd: "/work".into(),
        call: "c1".into(),
        tool: tool.to_owned(),
        input,
        reason: "No rule covers this command.".to_owned(),
        blocked_path: None,
        suggestions: vec![Update::AddRules {
            rules: vec![rule],
            behavior: Behavior::Allow,
            destination: Destination::LocalSettings,
        }],
        change: None,
        would_cover: vec!["cargo test --doc".to_owned()],
        leaves_sandbox: false,
        agent: None,
    };
    Event::Asked(AskId::default(), Ask::Permission(ask))
}

fn question(multi_select: bool) -> Event {
    let option = |label: &str, description: &str| Choice {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    let question = Question {
        question: "Which database shall be used for the new service?".to_owned(),
        header: "Database".to_owned(),
        options: vec![option("SQLite", "Simple and well known."), option("PostgreSQL", "Needs a server.")],
        multi_select,
    };
    let ask = QuestionAsk { call: "c1".into(), questions: vec![question], agent: None };
    Event::Asked(AskId::default(), Ask::Question(ask))
}

fn transcript(stage: &mut Stage) {
    stage.begin_turn("please make the parser faster, and tell me how");
    stage.say("It is a **parser**, see [the docs](https://example.org/docs).\n\n- one\n  - nested item\n\n| name | what it does |\n|-|-|\n| lexer | makes tokens of characters |\n");
    stage.call("c1", "Edit", &json!({"file_path": "/work/src/parser/tokens.rs"}));
    let patch = json!([{"oldStart": 3, "newStart": 3, "lines": [" fn next()", "-    let slow = true;", "+    let slow = false;"]}]);
    let detail =
        json!({"type": "update", "filePath": "/work/src/parser/tokens.rs", "structuredPatch": patch});
    stage.result("c1", "Edit", detail);
    stage.call("c2", "Bash", &json!({"command": "cargo test --workspace", "description": "Run the tests"}));
    stage.result("c2", "Bash", json!({"stdout": "everything passed", "exitCode": 0}));
    stage.end_turn(Outcome::Interrupted);
    stage.app.tell(Level::Warning, "Something deserves a second thought.");
}

fn at_work(stage: &mut Stage) {
    stage.begin_turn("work");
    stage.append(todos());
    stage.call("c1", "Bash", &json!({"command": "cargo build"}));
    stage.event(Event::Progress { call: "c1".into(), data: json!({"output": "Compiling everything"}) });
    let info = AgentInfo {
        id: "a1".into(),
        kind: "Explore".to_owned(),
        description: "find the callers".to_owned(),
        model: "claude-test".to_owned(),
        parent: None,
        call: "c9".into(),
        background: false,
    };
    stage.event(Event::AgentStarted(info));
    stage.queue(1, "then this", Delivery::Queue);
    stage.wait(2);
}

fn retrying(stage: &mut Stage) {
    stage.begin_turn("work");
    stage.event(Event::Retrying {
        attempt: 2,
        max: 10,
        delay: Duration::from_secs(4),
        error: "the provider is overloaded".to_owned(),
        status: None,
    });
}

fn background(stage: &mut Stage) {
    let task = BackgroundTask {
        id: "bash_1".to_owned(),
        kind: TaskKind::Command,
        description: "npm run watch".to_owned(),
        state: TaskState::Running,
        call: CallId("toolu_1".to_owned()),
        output: None,
    };
    stage.event(Event::TaskChanged(task));
    run(stage, "/tasks");
}

fn sessions(stage: &mut Stage) {
    let row = |title: &str, elsewhere: Option<&str>| SessionRow {
        id: SessionId::default(),
        title: title.to_owned(),
        age: "yesterday".to_owned(),
        detail: "12 kB · main".to_owned(),
        elsewhere: elsewhere.map(str::to_owned),
    };
    let rows = vec![row("paint the fence", None), row("mend the roof", Some("/home/other"))];
    stage.app.on_reply(Reply::Sessions(rows));
}

fn report(stage: &mut Stage, title: &'static str, text: &str) {
    stage.app.on_reply(Reply::Report { title, text: text.to_owned() });
}

fn styles(stage: &mut Stage) {
    let row = |name: &str| StyleRow {
        name: name.to_owned(),
        source: "comes with Tiller".to_owned(),
        is_current: false,
    };
    stage.app.on_reply(Reply::Styles(vec![row("default"), row("explanatory")]));
}

fn instructions(stage: &mut Stage) {
    let row = InstructionRow { path: "/work/AGENTS.md".into(), detail: "new: for this project".to_owned() };
    stage.app.on_reply(Reply::Memory(vec![row]));
}

fn plan(stage: &mut Stage) {
    let ask = PlanAsk {
        call: "c1".into(),
        plan: "# Plan\n\nMake it **faster**.\n\n1. Measure\n2. Change `main.rs`\n".to_owned(),
        path: "/home/ada/.tiller/plans/amber.md".into(),
        allowed_prompts: vec![AllowedPrompt { tool: "Bash".to_owned(), prompt: "run the tests".to_owned() }],
        modes: vec![Mode::BypassPermissions, Mode::AcceptEdits, Mode::Default],
    };
    stage.set_mode(Mode::Plan);
    stage.ask(Event::Asked(AskId::default(), Ask::Plan(ask)));
}

fn elicitation(stage: &mut Stage) {
    let schema = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "title": "Your name", "description": "As others shall see it"},
        "size": {"enum": ["small", "large"]},
    }});
    let ask = ElicitationAsk {
        server: "registry".to_owned(),
        message: "Who shall own the package?".to_owned(),
        wanted: Wanted::Form { fields: fields(&schema), schema },
    };
    stage.ask(Event::Asked(AskId::default(), Ask::Elicitation(ask)));
}

fn page_to_visit(stage: &mut Stage) {
    let url = "https://example.com/authorize?client=tiller".to_owned();
    let ask = ElicitationAsk {
        server: "registry".to_owned(),
        message: "Please confirm in your browser.".to_owned(),
        wanted: Wanted::Visit { url, id: "7".to_owned() },
    };
    stage.ask(Event::Asked(AskId::default(), Ask::Elicitation(ask)));
}

fn sampling(stage: &mut Stage) {
    let ask = SamplingAsk {
        server: "registry".to_owned(),
        system: Some("You name packages.".to_owned()),
        messages: vec![SamplingMessage { role: "user".to_owned(), text: "Name mine.".to_owned() }],
        max_tokens: 200,
        model: "claude-test".to_owned(),
    };
    stage.ask(Event::Asked(AskId::default(), Ask::Sampling(ask)));
}

fn waiting(stage: &mut Stage) {
    stage.begin_turn("work");
    stage.queue(1, "first thing", Delivery::Queue);
    stage.queue(2, "second thing", Delivery::Steer);
    stage.key(KeyCode::Char('q'), KeyModifiers::CONTROL);
}

const VIEWS: &[(&str, Play)] = &[
    ("the beginning", |_| {}),
    ("plan mode", |stage| stage.set_mode(Mode::Plan)),
    ("bypass", |stage| stage.set_mode(Mode::BypassPermissions)),
    ("transcript", transcript),
    ("at work", at_work),
    ("retrying", retrying),
    ("folded", |stage| stage.append(fold())),
    ("permission", |stage| stage.ask(permission("Bash", json!({"command": "cargo test --workspace"})))),
    ("an edit", |stage| {
        let input = json!({"file_path": "/work/src/main.rs", "old_string": "hello", "new_string": "goodbye"});
        stage.ask(permission("Edit", input));
    }),
    ("remember", |stage| {
        stage.ask(permission("Bash", json!({"command": "cargo test --workspace"})));
        stage.press(KeyCode::Down);
    }),
    ("feedback", |stage| {
        stage.ask(permission("Bash", json!({"command": "cargo test"})));
        stage.write("4");
    }),
    ("question", |stage| stage.ask(question(false))),
    ("several", |stage| stage.ask(question(true))),
    ("plan", plan),
    ("elicitation", elicitation),
    ("a page to visit", page_to_visit),
    ("sampling", sampling),
    ("/help", |stage| run(stage, "/help")),
    ("/context", |stage| run(stage, "/context")),
    ("/cost", |stage| run(stage, "/cost")),
    ("/steering", |stage| run(stage, "/steering")),
    ("/status", |stage| run(stage, "/status")),
    ("/todos", |stage| run(stage, "/todos")),
    ("/tasks", background),
    ("/agents", |stage| report(stage, "Agents", "Explore looks around without changing anything")),
    ("/permissions", |stage| report(stage, "Permissions", "allow Bash(cargo test:*) from the settings")),
    ("/doctor", |stage| report(stage, "Doctor", "everything is well")),
    ("/model", |stage| run(stage, "/model")),
    ("/output-style", styles),
    ("/memory", instructions),
    ("/theme", |stage| run(stage, "/theme")),
    ("/mcp", |stage| {
        stage.event(Event::Mcp(Box::new(server())));
        run(stage, "/mcp");
    }),
    ("/resume", sessions),
    ("/rewind", |stage| {
        transcript(stage);
        run(stage, "/rewind");
    }),
    ("going back", |stage| preview(stage, changed())),
    ("what waits", waiting),
    ("the menu", |stage| stage.write("/compac")),
    ("history search", |stage| stage.key(KeyCode::Char('r'), KeyModifiers::CONTROL)),
];

/// Everything on the terminal but the last row, in which facts have to give way.
fn shown(columns: u16, play: Play) -> (String, String) {
    let mut stage = Stage::new(columns, TALL);
    play(&mut stage);
    stage.draw();
    let mut lines = stage.terminal.lines();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let status = lines.pop().unwrap_or_default();
    if stage.app.place() == Place::Aside {
        // What is below it is there as soon as it is closed.
        stage.press(KeyCode::Esc);
        stage.draw();
        lines.extend(stage.terminal.lines());
    }
    (lines.join("\n"), status)
}

/// Words that matter: not those of hints in an empty input, which have short forms, nor when something waits to land.
fn words(text: &str) -> impl Iterator<Item = &str> {
    const IN_SHORT: [&str; 4] = ["What should", "Enter steers", "⧗ ", "↪ "];
    let is_short = |row: &str| {
        let row = row.trim_start_matches([' ', '›']);
        IN_SHORT.iter().any(|begin| row.starts_with(begin))
    };
    let rows = text.lines().filter(move |row| !is_short(row));
    rows.flat_map(|row| row.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2))
}

// TERM-01: 40 columns are enough for everything, and in 20 nothing is lost.
#[test]
fn no_word_is_cut_however_narrow_it_is() {
    let mut cut = String::new();
    for (name, play) in VIEWS {
        let (whole, _) = shown(WIDE, *play);
        for columns in [40, 20] {
            let (narrow, status) = shown(columns, *play);
            let joined: String = narrow.chars().filter(|c| c.is_alphanumeric()).collect();
            let missing: Vec<&str> = words(&whole).filter(|word| !joined.contains(word)).collect();
            if !missing.is_empty() {
                cut.push_str(&format!("{name} in {columns} columns: {missing:?}\n{narrow}\n{status}\n\n"));
            }
        }
    }
    assert!(cut.is_empty(), "{cut}");
}

// TERM-02: in every view in which one writes, the cursor stands where the text goes: input methods draw there.
#[test]
fn the_cursor_is_where_one_writes() {
    let fields: [(&str, Play); 6] = [
        ("the input", |_| {}),
        ("history search", |stage| stage.key(KeyCode::Char('r'), KeyModifiers::CONTROL)),
        ("feedback", |stage| {
            stage.ask(permission("Bash", json!({"command": "cargo test"})));
            stage.write("4");
        }),
        ("feedback on a plan", |stage| {
            plan(stage);
            stage.write("4");
        }),
        ("elicitation", elicitation),
        ("session search", sessions),
    ];
    for (name, play) in fields {
        for columns in [80, 40, 20] {
            let mut stage = Stage::new(columns, 40);
            play(&mut stage);
            stage.write("日本語 x");
            let shown = stage.shown();
            let (row, column) = stage.terminal.screen().cursor_position();
            assert!(!stage.terminal.screen().hide_cursor(), "{name}: {shown}");
            let before = stage.terminal.screen().contents_between(row, 0, row, column);
            assert!(before.ends_with("日本語 x"), "{name} in {columns} columns: {before:?}\n{shown}");
        }
    }
}
