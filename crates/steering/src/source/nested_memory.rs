//! `nested_memory`: instruction files of directories that work has reached.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tiller_protocol::effect::Effect;
use tiller_protocol::entry::Attachment;

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{NestedMemory, attach};
use crate::user_context::instructions::{InstructionFile, LIMIT};

pub(super) struct NestedMemories;

impl Source for NestedMemories {
    const LABEL: &'static str = "nested_memory";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["nested_memory"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let mut told: Vec<InstructionFile> = Vec::new();
        let mut attachments = Vec::new();
        for dir in reached(cx) {
            let found = tokio::select! {
                biased;
                found = cx.sight.instructions(&dir) => found,
                () = cx.budget.cancelled() => break,
            };
            for file in found {
                let is_told = [&file.path, &file.real]
                    .into_iter()
                    .any(|path| cx.facts.past.has_told_instructions(path));
                if !is_told && !told.iter().any(|other| other.real == file.real) {
                    let why = format!("a file below {} was looked at", dir.display());
                    let effects = known_from_now_on(cx, &file).await;
                    attachments.push(Attachment { effects, ..attach(&told_of(&file), Self::LABEL, why) });
                    told.push(file);
                }
            }
        }
        Ok(attachments.into())
    }
}

/// A change of a file that is told as a whole is told, too.
async fn known_from_now_on(cx: &Cx<'_>, file: &InstructionFile) -> Vec<Effect> {
    if file.text.chars().count() > LIMIT {
        return Vec::new();
    }
    let seen = cx.sight.show(&file.path, None).await.ok().and_then(|shown| shown.seen);
    seen.map(Effect::FileSeen).into_iter().collect()
}

fn told_of(file: &InstructionFile) -> NestedMemory {
    let content = match file.text.char_indices().nth(LIMIT) {
        Some((end, _)) => {
            format!("{}\n(Cut: instruction files are told up to {LIMIT} characters.)", &file.text[..end])
        }
        None => file.text.clone(),
    };
    NestedMemory { path: file.path.clone(), content }
}

/// The directories below the start of the session in which files were seen, outer ones first. Instructions lead nowhere by
/// themselves.
fn reached(cx: &Cx<'_>) -> BTreeSet<PathBuf> {
    let start = cx.facts.start_dir.as_path();
    let below = |path: &Path| -> Vec<PathBuf> {
        let dirs = path.ancestors().skip(1).take_while(|dir| *dir != start);
        dirs.map(Path::to_owned).collect()
    };
    let seen = cx.files.own().map(|seen| seen.path.as_path());
    let seen = seen.filter(|path| !cx.facts.past.knows_as_instructions(path));
    let paths = seen.chain(cx.facts.past.pictures()).filter(|path| path.starts_with(start));
    paths.flat_map(below).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::value::RawValue;
    use serde_json::{Value, json};
    use tiller_protocol::entry::{Body, CallResult, Cause, Epoch, ToldFile};

    use super::super::trial::{Trial, observe, remember};
    use super::*;
    use crate::past::Past;

    fn trial() -> Trial {
        let mut trial = Trial::default()
            .file("/p/AGENTS.md", "known from the start")
            .file("/p/a/AGENTS.md", "A")
            .file("/p/a/b/AGENTS.md", "B")
            .file("/p/a/b/c/AGENTS.md", "C")
            .file("/p/other/AGENTS.md", "other")
            .file("/p/a/b/code.rs", "fn")
            .file("/elsewhere/AGENTS.md", "not ours")
            .file("/elsewhere/code.rs", "fn");
        trial.facts.start_dir = "/p".into();
        trial
    }

    fn told(attachments: &[Attachment]) -> Vec<&str> {
        attachments.iter().filter_map(|attachment| attachment.attachment["path"].as_str()).collect()
    }

    // STEER-33
    #[tokio::test]
    async fn every_directory_down_to_a_file_is_told_once() {
        let mut trial = trial().seen("/p/a/b/code.rs").seen("/elsewhere/code.rs");
        let observation = observe(&NestedMemories, &trial.facts, &trial).await;
        assert_eq!(told(&observation.attachments), ["/p/a/AGENTS.md", "/p/a/b/AGENTS.md"]);

        let mut past = Past::default();
        for attachment in observation.attachments {
            remember(&mut past, Body::Attachment(attachment));
        }
        trial.facts.past = Arc::new(past);
        assert_eq!(observe(&NestedMemories, &trial.facts, &trial).await, Observation::nothing());
    }

    // STEER-33
    #[tokio::test]
    async fn instructions_that_stand_in_front_are_not_told_again_and_lead_nowhere() {
        let at = |path: &str, from| ToldFile { path: path.into(), from, until: from + 1 };
        let raw = || RawValue::from_string("[]".to_owned()).unwrap().into();
        let epoch = Epoch {
            reason: String::new(),
            key: String::new(),
            system: raw(),
            tools: raw(),
            user_context: Some("Ax".to_owned()),
            instructions: vec![at("/p/a/AGENTS.md", 0), at("/p/other/notes.md", 1)],
            made_of: None,
        };
        let mut trial =
            trial().file("/p/other/notes.md", "x").seen("/p/a/AGENTS.md").seen("/p/other/notes.md");
        let mut past = Past::default();
        remember(&mut past, Body::Epoch(epoch));
        trial.facts.past = Arc::new(past.clone());
        assert_eq!(observe(&NestedMemories, &trial.facts, &trial).await, Observation::nothing());

        // Whoever looks there himself gets there.
        remember(
            &mut past,
            Body::Result(read(json!({"type": "text", "file": {"filePath": "/p/other/notes.md"}}))),
        );
        trial.facts.past = Arc::new(past);
        let trial = trial.seen("/p/a/b/code.rs");
        let observation = observe(&NestedMemories, &trial.facts, &trial).await;
        assert_eq!(told(&observation.attachments), ["/p/a/b/AGENTS.md", "/p/other/AGENTS.md"]);
    }

    fn read(detail: Value) -> CallResult {
        CallResult {
            call: "c".into(),
            tool: "Read".to_owned(),
            content: Vec::new(),
            is_error: false,
            cause: Cause::Call,
            detail,
            effects: Vec::new(),
        }
    }

    // STEER-33
    #[tokio::test]
    async fn pictures_and_documents_lead_there_too() {
        let mut trial = trial();
        let mut past = Past::default();
        let image = json!({"type": "image", "file": {"filePath": "/p/a/b/plan.png"}});
        remember(&mut past, Body::Result(read(image)));
        trial.facts.past = Arc::new(past);
        let observation = observe(&NestedMemories, &trial.facts, &trial).await;
        assert_eq!(told(&observation.attachments), ["/p/a/AGENTS.md", "/p/a/b/AGENTS.md"]);
    }

    // STEER-33
    #[tokio::test]
    async fn files_of_the_working_directory_itself_bring_nothing() {
        let trial = trial().file("/p/main.rs", "fn").seen("/p/main.rs");
        assert_eq!(observe(&NestedMemories, &trial.facts, &trial).await, Observation::nothing());
    }

    #[tokio::test]
    async fn too_long_a_file_is_cut() {
        let trial = trial().file("/p/other/AGENTS.md", &"é".repeat(LIMIT + 1)).seen("/p/other/AGENTS.md");
        let observation = observe(&NestedMemories, &trial.facts, &trial).await;
        let content = observation.attachments[0].attachment["content"].as_str().unwrap();
        assert_eq!(content.matches('é').count(), LIMIT);
        assert!(content.ends_with("characters.)"), "{content}");
        assert!(observation.attachments[0].effects.is_empty(), "it was not seen as a whole");
    }
}
