//! Whatever happens in a session, a request begins with the bytes of the one before.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tiller_engine::{Setup, Start, SteeringChoice};
use tiller_protocol::command::{Command, UserInput};
use tiller_protocol::entry::Delivery;
use tiller_protocol::mode::Mode;
use tiller_steering::source::Style;
use tiller_testkit::Reply;

use crate::harness::{Lab, Watch};

const FILES: [&str; 3] = ["a.txt", "sub/b.txt", "AGENTS.md"];

const MODES: [Mode; 4] = [Mode::AcceptEdits, Mode::BypassPermissions, Mode::Default, Mode::Plan];
const GIT: [&[&str]; 3] =
    [&["commit", "-q", "--allow-empty", "-m", "more"], &["checkout", "-q", "-B", "other"], &["add", "-A"]];

/// Something that happens while the model's calls run.
#[derive(Clone, Debug)]
enum Meanwhile {
    /// Somebody else changes a file, or puts it there, or takes it away.
    Change(usize, Option<u8>),
    /// The user sends something, for this turn or for another one.
    Send(Delivery),
    /// The user changes the mode.
    Mode(usize),
    /// Somebody commits, switches to another branch, or leaves something untracked.
    Git(usize),
}

/// A call of the model.
#[derive(Clone, Debug)]
enum Call {
    Read(usize),
    Edit(usize),
    Write(usize, u8),
    Todo,
    Nothing,
}

#[derive(Clone, Debug)]
struct Step {
    call: Call,
    thinks: bool,
    meanwhile: Vec<Meanwhile>,
}

#[derive(Clone, Debug)]
struct Turn {
    /// The file that the prompt mentions.
    mentions: Option<usize>,
    steps: Vec<Step>,
    /// Whether the session is left and taken up again before it.
    resumes: bool,
}

fn meanwhile() -> impl Strategy<Value = Meanwhile> {
    prop_oneof![
        3 => (0..FILES.len(), prop::option::weighted(0.8, any::<u8>())).prop_map(|(file, text)| Meanwhile::Change(file, text)),
        1 => prop_oneof![Just(Delivery::Steer), Just(Delivery::Queue)].prop_map(Meanwhile::Send),
        2 => (0..MODES.len()).prop_map(Meanwhile::Mode),
        1 => (0..GIT.len()).prop_map(Meanwhile::Git),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => (0..FILES.len()).prop_map(Call::Read),
        1 => (0..FILES.len()).prop_map(Call::Edit),
        1 => (0..FILES.len(), any::<u8>()).prop_map(|(file, text)| Call::Write(file, text)),
        1 => Just(Call::Todo),
        1 => Just(Call::Nothing),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (call(), any::<bool>(), prop::collection::vec(meanwhile(), 0..3))
        .prop_map(|(call, thinks, meanwhile)| Step { call, thinks, meanwhile })
}

fn turn() -> impl Strategy<Value = Turn> {
    (prop::option::of(0..FILES.len()), prop::collection::vec(step(), 0..4), prop::bool::weighted(0.3))
        .prop_map(|(mentions, steps, resumes)| Turn { mentions, steps, resumes })
}

/// A session in which these things happen.
struct World {
    lab: Lab,
    watch: Option<Watch>,
    /// Turns that are waited for because the user sent something for later.
    owed: usize,
    gates: usize,
}

impl World {
    fn new() -> Self {
        let lab = Lab::new();
        fs_err::create_dir_all(lab.project().join("sub")).unwrap();
        fs_err::write(lab.project().join("AGENTS.md"), "Use tabs.").unwrap();
        fs_err::write(lab.project().join("sub/AGENTS.md"), "Use spaces.").unwrap();
        git(&lab, &["init", "-q"]);
        git(&lab, &["commit", "-q", "--allow-empty", "-m", "first"]);
        Self { lab, watch: None, owed: 0, gates: 0 }
    }

    fn setup(&self, start: Start) -> Setup {
        let setup = self.lab.setup();
        let style = Some(Style { name: "terse".to_owned(), guidelines: "Be brief.".to_owned() });
        Setup {
            start,
            registry: tiller_tools::file_tools(setup.registry).with(tiller_tools::TodoWrite),
            user_context: true,
            steering: SteeringChoice {
                style,
                critical_reminder: Some("Mind the gap.".to_owned()),
                ..SteeringChoice::default()
            },
            ..setup
        }
    }

    async fn play(&mut self, turns: &[Turn]) {
        for (number, turn) in turns.iter().enumerate() {
            if turn.resumes || self.watch.is_none() {
                self.reopen().await;
            }
            self.turn(number, turn).await;
        }
        self.watch.as_mut().unwrap().close().await;
    }

    async fn reopen(&mut self) {
        let start = match self.watch.take() {
            None => Start::New(None),
            Some(mut watch) => {
                watch.close().await;
                Start::Resume(watch.session.id)
            }
        };
        let session = tiller_engine::Session::start(self.setup(start)).unwrap();
        self.watch = Some(Watch { session, seen: Vec::new() });
    }

    async fn turn(&mut self, number: usize, turn: &Turn) {
        let first_gate = self.gates;
        for (at, step) in turn.steps.iter().enumerate() {
            let id = format!("c{number}_{at}");
            let (tool, input) = self.input(&step.call);
            let reply = if step.thinks { Reply::new().thinking("hm") } else { Reply::new() };
            let gate = json!({"wait": format!("gate{}", self.gates), "say": "done"});
            self.gates += 1;
            let gated = reply.tool_with_id(&format!("g{id}"), "Probe", gate);
            self.lab.server.reply(gated.tool_with_id(&id, tool, input));
        }
        self.lab.server.reply(Reply::text("done"));
        let mention = turn.mentions.map(|file| format!(" @{}", FILES[file])).unwrap_or_default();
        let watch = self.watch.as_mut().unwrap();
        watch.send(Command::Submit(UserInput::text(&format!("prompt {number}{mention}")))).await;
        for (at, step) in turn.steps.iter().enumerate() {
            self.watch.as_mut().unwrap().until_started(&format!("gc{number}_{at}")).await;
            for event in &step.meanwhile {
                self.happen(event).await;
            }
            self.lab.gates.open(&format!("gate{}", first_gate + at));
        }
        for _ in 0..=std::mem::take(&mut self.owed) {
            self.watch.as_mut().unwrap().until_turn_ends().await;
        }
    }

    fn input(&self, call: &Call) -> (&'static str, serde_json::Value) {
        let path = |file: &usize| self.lab.project().join(FILES[*file]);
        match call {
            Call::Read(file) => ("Read", json!({"file_path": path(file)})),
            Call::Edit(file) => {
                ("Edit", json!({"file_path": path(file), "old_string": "Use", "new_string": "Do use"}))
            }
            Call::Write(file, text) => ("Write", json!({"file_path": path(file), "content": content(*text)})),
            Call::Todo => {
                ("TodoWrite", json!({"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]}))
            }
            Call::Nothing => ("Glob", json!({"pattern": "*.nothing"})),
        }
    }

    async fn happen(&mut self, event: &Meanwhile) {
        match event {
            Meanwhile::Change(file, Some(text)) => {
                fs_err::write(self.lab.project().join(FILES[*file]), content(*text)).unwrap();
            }
            Meanwhile::Change(file, None) => {
                // It may not be there.
                let _ = fs_err::remove_file(self.lab.project().join(FILES[*file]));
            }
            Meanwhile::Send(delivery) => {
                if *delivery == Delivery::Queue {
                    self.owed += 1;
                    self.lab.server.reply(Reply::text("that, too"));
                }
                let input = UserInput { delivery: *delivery, ..UserInput::text("by the way") };
                self.watch.as_ref().unwrap().send(Command::Submit(input)).await;
            }
            Meanwhile::Mode(mode) => {
                self.watch.as_ref().unwrap().send(Command::SetMode(MODES[*mode])).await;
            }
            Meanwhile::Git(order) => git(&self.lab, GIT[*order]),
        }
    }
}

fn git(lab: &Lab, order: &[&str]) {
    let names = ["-c", "user.name=t", "-c", "user.email=t@t"];
    let status =
        std::process::Command::new("git").args(names).args(order).current_dir(lab.project()).status();
    assert!(status.unwrap().success(), "git {order:?}");
}

fn content(seed: u8) -> String {
    (0..=seed % 7).map(|line| format!("Use {} {line}\n", seed / 7)).collect()
}

/// A request without the marks that say what to keep in the cache: these are no content.
fn unmarked(raw: &[u8]) -> String {
    String::from_utf8(raw.to_vec()).unwrap().replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

// CACHE-01 CACHE-05
#[test]
fn every_request_begins_with_the_one_before() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut runner = TestRunner::new(Config {
        cases: 40,
        max_shrink_iters: 20,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&prop::collection::vec(turn(), 1..4), |turns| {
            let requests = runtime.block_on(async {
                let mut world = World::new();
                world.play(&turns).await;
                world.lab.server.assert_clean();
                world.lab.server.messages()
            });
            for (at, pair) in requests.windows(2).enumerate() {
                let (before, after) = (unmarked(pair[0].raw()), unmarked(pair[1].raw()));
                // What closes the last message and the list of messages.
                let shared = before.strip_suffix("]}]}").unwrap();
                prop_assert!(after.starts_with(shared), "request {}:\n{before}\n{after}", at + 1);
            }
            Ok(())
        })
        .unwrap();
}
