use std::sync::Mutex;

use futures::future::BoxFuture;
use serde_json::json;
use tiller_protocol::block::RawBlock;
use tiller_protocol::effect::{FileSeen, Fingerprint};
use tiller_protocol::id::AgentId;
use uuid::Uuid;

use super::*;
use crate::source::{Prompt, Providers, SourceError, Trial, sources};

/// Random numbers of the test's choice.
struct Dice(f64);

impl Ids for Dice {
    fn next(&self) -> Uuid {
        Uuid::nil()
    }

    fn random(&self) -> f64 {
        self.0
    }
}

enum Act {
    /// Says something after so many milliseconds.
    Says(u64, &'static str),
    /// Says so many bytes.
    Shouts(usize),
    Fails,
    Panics,
    Hangs,
    /// Returns what it has when time is up.
    Obeys(&'static str),
    /// Has seen a file.
    Sees(&'static str),
    /// Says which files are known.
    Files,
}

struct Actor {
    label: &'static str,
    group: Group,
    kinds: &'static [&'static str],
    act: Act,
    diary: Arc<Mutex<Vec<String>>>,
}

fn note(kind: &str, text: &str) -> Attachment {
    Attachment::new(
        json!({"type": kind, "text": text}),
        "actor",
        "because".to_owned(),
        vec![RawBlock::text(text)],
    )
}

impl AnySource for Actor {
    fn label(&self) -> &'static str {
        self.label
    }

    fn group(&self) -> Group {
        self.group
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }

    fn observe<'a>(&'a self, cx: &'a Cx<'a>) -> BoxFuture<'a, Result<Observation, SourceError>> {
        async move {
            self.diary.lock().unwrap().push(format!("{} begins", self.label));
            let said = |text: &str| Ok(Observation::from(note(self.kinds[0], text)));
            let observed = match self.act {
                Act::Says(after, text) => {
                    tokio::time::sleep(Duration::from_millis(after)).await;
                    said(text)
                }
                Act::Shouts(bytes) => said(&"x".repeat(bytes)),
                Act::Fails => Err(SourceError("no".to_owned())),
                Act::Panics => panic!("the actor was told to panic"),
                Act::Hangs => futures::future::pending().await,
                Act::Obeys(text) => {
                    cx.budget.cancelled().await;
                    said(text)
                }
                Act::Sees(path) => {
                    let seen = FileSeen {
                        path: path.into(),
                        fingerprint: Fingerprint("f".to_owned()),
                        mtime_ms: 0,
                        lines: None,
                    };
                    let mut attachment = note(self.kinds[0], path);
                    attachment.effects.push(Effect::FileSeen(seen));
                    Ok(attachment.into())
                }
                Act::Files => {
                    let known: Vec<String> =
                        cx.files.iter().map(|seen| seen.path.display().to_string()).collect();
                    said(&known.join(","))
                }
            };
            self.diary.lock().unwrap().push(format!("{} ends", self.label));
            observed
        }
        .boxed()
    }
}

/// Actors and what they do.
#[derive(Default)]
struct Play {
    actors: Vec<Box<dyn AnySource>>,
    diary: Arc<Mutex<Vec<String>>>,
}

impl Play {
    fn with(mut self, group: Group, label: &'static str, act: Act) -> Self {
        let diary = Arc::clone(&self.diary);
        let kinds: &'static [&'static str] = Box::leak(Box::new([label]));
        self.actors.push(Box::new(Actor { label, group, kinds, act, diary }));
        self
    }

    fn pipeline(self, random: f64) -> Pipeline {
        Pipeline::new(self.actors, Arc::new(Dice(random)))
    }
}

fn prompted() -> Facts {
    Facts { prompt: Some(Prompt::default()), ..Facts::default() }
}

fn texts(sampled: &Sampled) -> Vec<&str> {
    sampled.attachments.iter().map(|one| one.attachment["text"].as_str().unwrap()).collect()
}

async fn sample(pipeline: &Pipeline, facts: &Facts) -> Sampled {
    pipeline.sample(facts, &Trial::default()).await
}

// STEER-12
#[tokio::test(start_paused = true)]
async fn the_switch_turns_everything_off() {
    let play = Play::default().with(Group::Core, "a", Act::Says(0, "a"));
    let diary = Arc::clone(&play.diary);
    let pipeline = play.pipeline(0.0).enabled(false);
    assert_eq!(sample(&pipeline, &prompted()).await, Sampled::default());
    assert!(diary.lock().unwrap().is_empty() && !pipeline.is_enabled());
}

// STEER-13 STEER-16
#[tokio::test(start_paused = true)]
async fn mentions_are_complete_before_the_two_other_groups_run_side_by_side() {
    let play = Play::default()
        .with(Group::MainOnly, "main", Act::Says(30, "main"))
        .with(Group::Core, "core", Act::Says(20, "core"))
        .with(Group::Mention, "first", Act::Says(50, "first"))
        .with(Group::Mention, "second", Act::Says(10, "second"));
    let diary = Arc::clone(&play.diary);
    let begun = Instant::now();
    let sampled = sample(&play.pipeline(1.0), &prompted()).await;
    assert_eq!(begun.elapsed(), Duration::from_millis(80));
    let events = [
        "first begins",
        "second begins",
        "second ends",
        "first ends",
        "core begins",
        "main begins",
        "core ends",
        "main ends",
    ];
    assert_eq!(*diary.lock().unwrap(), events);
    assert_eq!(texts(&sampled), ["first", "second", "core", "main"]);
}

// STEER-13
#[tokio::test(start_paused = true)]
async fn without_a_prompt_nothing_is_mentioned() {
    let play = Play::default().with(Group::Mention, "mention", Act::Says(0, "mention")).with(
        Group::Core,
        "core",
        Act::Says(0, "core"),
    );
    assert_eq!(texts(&sample(&play.pipeline(1.0), &Facts::default()).await), ["core"]);
}

// STEER-13
#[tokio::test(start_paused = true)]
async fn what_was_mentioned_is_known_to_the_rest() {
    let play = Play::default()
        .with(Group::Mention, "mention", Act::Sees("/a"))
        .with(Group::Core, "core", Act::Files)
        .with(Group::MainOnly, "main", Act::Files);
    assert_eq!(texts(&sample(&play.pipeline(1.0), &prompted()).await), ["/a", "/a", "/a"]);
}

// STEER-14 STEER-15
#[tokio::test(start_paused = true)]
async fn sub_agents_have_the_core_group_only() {
    let play = Play::default().with(Group::Core, "core", Act::Says(0, "core")).with(
        Group::MainOnly,
        "main",
        Act::Says(0, "main"),
    );
    let facts = Facts { agent: Some(AgentId::from("a1")), ..Facts::default() };
    assert_eq!(texts(&sample(&play.pipeline(1.0), &facts).await), ["core"]);
}

// STEER-17
#[tokio::test(start_paused = true)]
async fn order_does_not_depend_on_who_was_quicker() {
    for delays in [[0, 10, 20], [20, 10, 0], [10, 20, 0]] {
        let [a, b, c] = delays;
        let play = Play::default()
            .with(Group::Core, "a", Act::Says(a, "a"))
            .with(Group::Core, "b", Act::Says(b, "b"))
            .with(Group::MainOnly, "c", Act::Says(c, "c"));
        assert_eq!(texts(&sample(&play.pipeline(1.0), &Facts::default()).await), ["a", "b", "c"]);
    }
}

// STEER-18
#[tokio::test(start_paused = true)]
async fn after_a_second_and_a_moment_nothing_more_is_waited_for() {
    let play = Play::default()
        .with(Group::Core, "quick", Act::Says(1, "quick"))
        .with(Group::Core, "obeys", Act::Obeys("in part"))
        .with(Group::Core, "late", Act::Says(1_200, "late"))
        .with(Group::Core, "too late", Act::Says(1_300, "too late"))
        .with(Group::Core, "hangs", Act::Hangs);
    let begun = Instant::now();
    let sampled = sample(&play.pipeline(1.0), &Facts::default()).await;
    assert_eq!(begun.elapsed(), BUDGET + GRACE);
    assert_eq!(texts(&sampled), ["quick", "in part", "late"]);
}

// STEER-18
#[tokio::test(start_paused = true)]
async fn mentions_that_take_all_the_time_do_not_silence_the_rest() {
    let play = Play::default()
        .with(Group::Mention, "hangs", Act::Hangs)
        .with(Group::Core, "core", Act::Sees("/a"))
        .with(Group::Core, "slow", Act::Says(1, "slow"));
    let begun = Instant::now();
    let sampled = sample(&play.pipeline(1.0), &prompted()).await;
    assert_eq!(begun.elapsed(), BUDGET + GRACE);
    assert_eq!(texts(&sampled), ["/a"]);
}

// STEER-19
#[tokio::test(start_paused = true)]
async fn whatever_a_source_does_the_others_are_not_harmed() {
    let play = Play::default()
        .with(Group::Core, "fails", Act::Fails)
        .with(Group::Core, "panics", Act::Panics)
        .with(Group::Core, "shouts", Act::Shouts(10 * 1024 * 1024))
        .with(Group::Core, "hangs", Act::Hangs)
        .with(Group::Core, "works", Act::Says(0, "works"))
        .with(Group::MainOnly, "main", Act::Says(0, "main"));
    assert_eq!(texts(&sample(&play.pipeline(1.0), &Facts::default()).await), ["works", "main"]);
}

#[tokio::test(start_paused = true)]
async fn all_attachments_together_are_bounded() {
    const LABELS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let play = LABELS
        .iter()
        .fold(Play::default(), |play, label| play.with(Group::Core, label, Act::Shouts(400 * 1024)));
    let sampled = sample(&play.pipeline(1.0), &Facts::default()).await;
    assert_eq!(sampled.attachments.len(), 5);
}

#[test]
fn what_the_user_said_is_never_left_out() {
    let mut bound = Bound::default();
    let long = note("queued_command", &"x".repeat(5 * 1024 * 1024));
    assert!(bound.admits(&long));
    assert!(!bound.admits(&note("memory", "x")));
    assert!(bound.admits(&long));
}

// STEER-20
#[tokio::test(start_paused = true)]
async fn one_run_in_twenty_is_measured() {
    let play = || {
        Play::default().with(Group::Core, "works", Act::Says(7, "some text")).with(
            Group::Core,
            "fails",
            Act::Fails,
        )
    };
    assert!(sample(&play().pipeline(0.05), &Facts::default()).await.measurements.is_empty());
    let sampled = sample(&play().pipeline(0.049), &Facts::default()).await;
    let bytes = sampled.attachments[0].attachment.to_string().len();
    assert_eq!(
        sampled.measurements,
        [
            Measurement {
                label: "works",
                duration: Duration::from_millis(7),
                output: Some(Output { bytes, count: 1 })
            },
            Measurement { label: "fails", duration: Duration::ZERO, output: None },
        ]
    );
}

// LEDG-03
#[tokio::test(start_paused = true)]
async fn muted_kinds_are_left_out_and_their_sources_not_asked() {
    let play =
        Play::default().with(Group::Core, "a", Act::Sees("/a")).with(Group::Core, "b", Act::Says(0, "b"));
    let diary = Arc::clone(&play.diary);
    let pipeline = play.pipeline(1.0).muted(BTreeSet::from(["a"]));
    assert_eq!(texts(&sample(&pipeline, &Facts::default()).await), ["b"]);
    assert_eq!(*diary.lock().unwrap(), ["b begins", "b ends"]);
}

// STEER-17
#[tokio::test(start_paused = true)]
async fn the_real_sources_work_together() {
    let trial =
        Trial::default().file("/p/a.rs", "one").file("/p/sub/b.rs", "two").file("/p/sub/AGENTS.md", "Tabs.");
    let mut trial = trial.seen("/p/a.rs").file("/p/a.rs", "changed");
    trial.facts.start_dir = "/p".into();
    trial.facts.critical_reminder = Some("Mind the gap.".to_owned());
    trial.facts.spending = Some(crate::source::Spending { spent: 1.0, limit: 2.0 });
    let facts = trial.prompted("see @sub/b.rs");
    let pipeline = Pipeline::new(sources(&Providers::default()), Arc::new(Dice(1.0)));
    let sampled = pipeline.sample(&facts, &trial).await;
    let kinds: Vec<&str> = sampled.attachments.iter().map(Attachment::kind).collect();
    assert_eq!(
        kinds,
        ["file", "edited_text_file", "nested_memory", "critical_system_reminder", "budget_usd"]
    );
}
