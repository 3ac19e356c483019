use std::sync::Arc;

use serde_json::json;
use tiller_protocol::entry::Body;

use super::super::trial::{Trial, observe, remember};
use super::*;
use crate::past::Past;

/// The model has seen the file with this text.
fn remembered(trial: Trial, path: &str, text: &str) -> Trial {
    let mut trial = trial.file(path, text).seen(path);
    let seen = trial.facts.files.get(path.as_ref()).unwrap().clone();
    let mut past = Past::clone(&trial.facts.past);
    let content = json!({"type": "file", "content": {"type": "text", "text": text}});
    let attachment = Attachment {
        effects: vec![Effect::FileSeen(seen)],
        ..Attachment::new(content, "", String::new(), Vec::new())
    };
    remember(&mut past, Body::Attachment(attachment));
    trial.facts.past = Arc::new(past);
    trial
}

async fn look(source: &ChangedFiles, trial: &Trial) -> Observation {
    observe(source, &trial.facts, trial).await
}

fn snippets(observation: &Observation) -> Vec<&str> {
    observation
        .attachments
        .iter()
        .map(|attachment| attachment.attachment["snippet"].as_str().unwrap())
        .collect()
}

// STEER-25
#[tokio::test]
async fn each_change_is_told_once_with_what_changed() {
    let source = ChangedFiles::default();
    let trial = remembered(Trial::default(), "/p/a.rs", "one\ntwo\nthree");
    assert_eq!(look(&source, &trial).await, Observation::nothing());

    let trial = trial.file("/p/a.rs", "one\n2\nthree");
    let first = look(&source, &trial).await;
    assert!(snippets(&first)[0].ends_with("     1→one\n     2→2\n     3→three"), "{first:?}");
    assert_eq!(first.attachments[0].attachment["filename"], "/p/a.rs");

    let trial = trial.after(&first);
    assert_eq!(look(&source, &trial).await, Observation::nothing());

    let trial = trial.file("/p/a.rs", "one\n2\nthree\nfour");
    let second = look(&source, &trial).await;
    assert!(snippets(&second)[0].contains("What has changed"), "{second:?}");
    assert!(snippets(&second)[0].ends_with("     4→four"), "{second:?}");
}

// STEER-25 EDIT-03
#[tokio::test]
async fn a_new_time_stamp_is_no_change() {
    let source = ChangedFiles::default();
    let trial = Trial::default().file("/p/a.rs", "one").seen("/p/a.rs").file("/p/a.rs", "one");
    let observation = look(&source, &trial).await;
    assert!(observation.attachments.is_empty());
    let trial = trial.after(&observation);
    assert_eq!(look(&source, &trial).await, Observation::nothing());
}

#[tokio::test]
async fn without_the_old_text_the_beginning_is_told() {
    let trial = Trial::default().file("/p/a.rs", "one").seen("/p/a.rs").file("/p/a.rs", "two");
    let observation = look(&ChangedFiles::default(), &trial).await;
    assert!(snippets(&observation)[0].contains("not at hand"), "{observation:?}");
}

// STEER-25
#[tokio::test]
async fn a_change_that_cannot_be_shown_as_a_whole_has_to_be_read_before_more_is_done() {
    let long: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
    let trial = Trial::default().file("/p/a", "short").seen("/p/a").file("/p/a", &long);
    let observation = look(&ChangedFiles::default(), &trial).await;
    assert!(snippets(&observation)[0].ends_with("read the file for it.]"));
    assert_eq!(trial.after(&observation).facts.files.iter().count(), 0);
}

// STEER-25
#[tokio::test]
async fn what_is_gone_is_forgotten_without_a_word() {
    let trial = Trial::default().file("/p/a.rs", "one").seen("/p/a.rs").without("/p/a.rs");
    let observation = look(&ChangedFiles::default(), &trial).await;
    assert!(observation.attachments.is_empty());
    assert_eq!(observation.effects, [Effect::FileForgotten { path: "/p/a.rs".into() }]);
    assert_eq!(trial.after(&observation).facts.files.iter().count(), 0);
}

#[tokio::test]
async fn what_is_no_text_any_more_has_to_be_read_anew() {
    let trial = Trial::default().file("/p/a", "x").seen("/p/a").image("/p/a");
    let observation = look(&ChangedFiles::default(), &trial).await;
    assert_eq!(observation.effects, [Effect::FileForgotten { path: "/p/a".into() }]);

    let trial = Trial::default().file("/p/a", "x").seen("/p/a").too_large("/p/a");
    let observation = look(&ChangedFiles::default(), &trial).await;
    assert!(snippets(&observation)[0].contains("too large"));
    assert_eq!(trial.after(&observation).facts.files.iter().count(), 0);
}

#[tokio::test]
async fn files_read_in_part_or_denied_since_are_left_alone() {
    let trial = Trial::default().file("/p/a", "1\n2\n3").seen_lines("/p/a", 1, 2).file("/p/a", "other");
    assert_eq!(look(&ChangedFiles::default(), &trial).await, Observation::nothing());
    let trial = Trial::default().file("/p/a", "x").seen("/p/a").denied("/p/a");
    assert_eq!(look(&ChangedFiles::default(), &trial).await, Observation::nothing());
}

// STEER-18
#[tokio::test]
async fn what_takes_too_long_waits_for_the_next_time() {
    let trial = Trial::default()
        .file("/p/a", "x")
        .seen("/p/a")
        .file("/p/b", "x")
        .seen("/p/b")
        .file("/p/a", "y")
        .hanging("/p/b");
    let (facts, budget) = (&trial.facts, tokio_util::sync::CancellationToken::new());
    let source = ChangedFiles::default();
    let cx = Cx { facts, files: &facts.files, sight: &trial, budget: &budget };
    let (observation, ()) = tokio::join!(source.observe(&cx), async { budget.cancel() });
    assert_eq!(observation.unwrap().attachments.len(), 1);
}
