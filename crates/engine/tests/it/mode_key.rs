//! The mode key, and what every change of mode entails.

use std::sync::{Mutex, Once};
use std::thread::{ThreadId, current};

use serde_json::{Value, json};
use tiller_engine::{Session, Setup};
use tiller_protocol::command::{Command, Event};
use tiller_protocol::entry::Body;
use tiller_protocol::mode::{Mode, PlanFlags};
use tiller_protocol::state::State;
use tracing::field::{Field, Visit};
use tracing::span;

use crate::harness::{Lab, Watch};

/// A session that has been opened and waits.
async fn open(setup: Setup) -> Watch {
    Measurements::begin();
    let mut watch = Watch { session: Session::start(setup).unwrap(), seen: Vec::new() };
    watch.until(|event| matches!(event, Event::Idle)).await;
    watch
}

fn changes_mode(event: &Event) -> bool {
    matches!(event, Event::Appended(entry) if matches!(&entry.body, Body::Effect(effect) if effect.mode().is_some()))
}

/// Presses the mode key; gives the state after it.
async fn press(watch: &mut Watch) -> State {
    watch.send(Command::CycleMode).await;
    watch.until(changes_mode).await;
    state(watch)
}

fn state(watch: &Watch) -> State {
    let mut state = watch.session.history.clone();
    watch.entries().iter().for_each(|entry| state.apply(entry));
    state
}

/// What was measured, by which thread: each test runs its session on its own.
static MEASURED: Mutex<Vec<(ThreadId, String, String)>> = Mutex::new(Vec::new());

/// Takes measurements down instead of writing them to a debug log.
pub(crate) struct Measurements;

impl Measurements {
    /// Has to be there before the first mode is changed: whether a measurement is wanted is decided once.
    pub(crate) fn begin() {
        static BEGUN: Once = Once::new();
        BEGUN.call_once(|| tracing::subscriber::set_global_default(Self).unwrap());
    }

    /// The last value of a field in this test.
    pub(crate) fn last(field: &str) -> Option<String> {
        let measured = MEASURED.lock().unwrap();
        let mut own = measured.iter().filter(|(thread, name, _)| *thread == current().id() && name == field);
        own.next_back().map(|(_, _, value)| value.clone())
    }

    /// All values of a field in this test.
    pub(crate) fn all(field: &str) -> Vec<String> {
        let measured = MEASURED.lock().unwrap();
        let own = measured.iter().filter(|(thread, name, _)| *thread == current().id() && name == field);
        own.map(|(_, _, value)| value.clone()).collect()
    }

    /// The modes that the key led to in this test.
    fn targets() -> Vec<String> {
        Self::all("to")
    }
}

impl tracing::Subscriber for Measurements {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "tiller::telemetry"
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Self);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

impl Visit for Measurements {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let measured = (current().id(), field.name().to_owned(), format!("{value:?}"));
        MEASURED.lock().unwrap().push(measured);
    }
}

// PERM-13, PERM-20
#[tokio::test]
async fn the_key_goes_through_the_modes_and_through_bypass_only_where_it_is_allowed() {
    for bypass_available in [false, true] {
        let lab = Lab::new();
        let mut watch =
            open(Setup { mode: Some(Mode::DontAsk), bypass_available, interactive: true, ..lab.setup() })
                .await;
        let mut modes = Vec::new();
        for _ in 0..5 {
            modes.push(press(&mut watch).await.mode);
        }
        let cycle = [Mode::Default, Mode::AcceptEdits, Mode::Plan];
        assert_eq!(modes[..3], cycle);
        let last = if bypass_available { Mode::BypassPermissions } else { Mode::Default };
        assert_eq!(modes[3], last);
        watch.close().await;
    }
}

// PERM-14, PLAN-02, PLAN-03, PLAN-04
#[tokio::test]
async fn the_key_does_all_that_a_change_of_mode_entails() {
    let lab = Lab::new();
    let mut watch = open(Setup { mode: Some(Mode::Default), bypass_available: false, ..lab.setup() }).await;
    let kept = || -> Value {
        let text = fs_err::read_to_string(lab.config_dir().join("state.json")).unwrap_or("{}".to_owned());
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(press(&mut watch).await.plan, PlanFlags::default());
    assert_eq!(press(&mut watch).await.plan, PlanFlags::default());
    let left = press(&mut watch).await;
    assert_eq!(left.mode, Mode::Default);
    assert_eq!(left.plan, PlanFlags { has_exited: true, exit_notice_due: true });
    press(&mut watch).await;
    let again = press(&mut watch).await;
    assert_eq!(
        (again.mode, again.plan),
        (Mode::Plan, PlanFlags { has_exited: true, exit_notice_due: false })
    );
    watch.close().await;
    assert_eq!(kept(), json!({"lastAcceptEditsUse": 0, "lastPlanModeUse": 0}));
    assert_eq!(
        Measurements::targets(),
        ["\"acceptEdits\"", "\"plan\"", "\"default\"", "\"acceptEdits\"", "\"plan\""]
    );
}

// PERM-14, PLAN-02, PLAN-03, PLAN-04: whoever changes the mode, the same follows.
#[tokio::test]
async fn a_mode_that_is_named_entails_the_same() {
    let lab = Lab::new();
    let mut watch = open(Setup { mode: Some(Mode::Plan), bypass_available: false, ..lab.setup() }).await;
    watch.send(Command::SetMode(Mode::Default)).await;
    watch.until(changes_mode).await;
    assert_eq!(state(&watch).plan, PlanFlags { has_exited: true, exit_notice_due: true });
    watch.send(Command::SetMode(Mode::BypassPermissions)).await;
    watch.until(|event| matches!(event, Event::Rejected(text) if text.contains("not available"))).await;
    assert_eq!(state(&watch).mode, Mode::Default);
    watch.close().await;
    let text = fs_err::read_to_string(lab.config_dir().join("state.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({"lastPlanModeUse": 0}));
    assert_eq!(Measurements::targets(), ["\"default\""], "what was refused does not count");
}
