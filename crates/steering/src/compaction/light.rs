//! The light stage: old results are left out of requests, without asking a model. What they showed can be had again.

use std::path::{Path, PathBuf};

use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, CallResult, Entry};
use tiller_protocol::id::{CallId, EntryId, MessageId};

use super::estimate::{Size, text_tokens};

/// Results that can be had again by the same call.
const REPEATABLE: [&str; 8] = ["Read", "Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Edit", "Write"];
/// Results that stay, however old.
const NEWEST: usize = 8;
/// Smaller ones are not worth a note.
const SMALLEST: u64 = 500;
/// Less is not worth a broken cache.
const LEAST_GAIN: u64 = 10_000;
/// Steps of the running turn whose results stay.
const RUNNING_STEPS: usize = 2;
const NOTE: &str = include_str!("cleared.md");

/// What stands in place of a result that was cleared. It is the same every time, so that requests stay the same.
#[must_use]
pub fn replacement() -> &'static str {
    NOTE.trim_end()
}

/// Results that could be cleared: a fold of entries that stays small.
#[derive(Clone, Debug, Default)]
pub struct Light {
    /// Results of repeatable calls, in order.
    candidates: Vec<Candidate>,
    /// Steps so far.
    steps: usize,
    /// The step before the running turn.
    turn_began: usize,
    answer: Option<MessageId>,
    /// The entry with which a plan was last approved.
    approved: u64,
}

#[derive(Clone, Debug)]
struct Candidate {
    entry: EntryId,
    seq: u64,
    call: CallId,
    tokens: u64,
    files: Vec<PathBuf>,
    /// The step it belongs to.
    step: usize,
    /// It was cleared before, and stays so.
    cleared: bool,
}

/// What can be cleared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clearing {
    /// The calls whose results go.
    pub calls: Vec<CallId>,
    /// Tokens that this frees.
    pub gain: u64,
    /// Files that are no longer in sight.
    pub out_of_sight: Vec<PathBuf>,
}

impl Light {
    /// Folds one more entry in.
    pub fn push(&mut self, entry: &Entry) {
        match &entry.body {
            Body::User(message) if !message.is_hidden() => self.turn_began = self.steps,
            Body::Assistant(block) if self.answer.as_ref() != Some(&block.message_id) => {
                self.answer = Some(block.message_id.clone());
                self.steps += 1;
            }
            Body::Result(result) => self.result(entry, result),
            Body::Effect(Effect::PlanApproved { .. }) => self.approved = entry.seq,
            Body::Orphaned(orphaned) => {
                self.candidates.retain(|candidate| !orphaned.ids.contains(&candidate.entry));
            }
            Body::Cleared(cleared) => {
                for candidate in &mut self.candidates {
                    candidate.cleared |= cleared.calls.contains(&candidate.call);
                }
            }
            Body::Compacted(compacted) => {
                let kept = compacted.kept.as_ref().map_or(u64::MAX, |kept| kept.from);
                self.candidates.retain(|candidate| candidate.seq >= kept);
            }
            _ => {}
        }
    }

    fn result(&mut self, entry: &Entry, result: &CallResult) {
        if result.effects.iter().any(|effect| matches!(effect, Effect::PlanApproved { .. })) {
            self.approved = entry.seq;
        }
        if !REPEATABLE.contains(&result.tool.as_str()) {
            return;
        }
        self.candidates.push(Candidate {
            entry: entry.id,
            seq: entry.seq,
            call: result.call.clone(),
            tokens: Size::of_blocks(&result.content).tokens(),
            files: files(result).map(Path::to_owned).collect(),
            step: self.steps,
            cleared: false,
        });
    }

    /// What to clear now; nothing if it is not worth it. What was read of the plan since it was last approved stays.
    #[must_use]
    pub fn clearing(&self, plan: Option<&Path>) -> Option<Clearing> {
        let old = self.candidates.len().saturating_sub(NEWEST);
        let note = text_tokens(replacement());
        let mut clearing = Clearing::default();
        for candidate in &self.candidates[..old] {
            let runs = candidate.step > self.turn_began && candidate.step + RUNNING_STEPS > self.steps;
            let shows_plan = candidate.seq > self.approved
                && plan.is_some_and(|plan| candidate.files.iter().any(|file| file == plan));
            if runs || shows_plan || candidate.cleared || candidate.tokens <= SMALLEST {
                continue;
            }
            clearing.gain += candidate.tokens.saturating_sub(note);
            clearing.calls.push(candidate.call.clone());
            clearing.out_of_sight.extend(candidate.files.iter().cloned());
        }
        (clearing.gain >= LEAST_GAIN).then_some(clearing)
    }
}

/// The files that a result shows. Effects of calls that ran beside others stand in entries of their own, so what the
/// result says of itself counts as well.
fn files(result: &CallResult) -> impl Iterator<Item = &Path> {
    let seen = result.effects.iter().filter_map(|effect| match effect {
        Effect::FileSeen(seen) => Some(seen.path.as_path()),
        _ => None,
    });
    let told = [&result.detail["file"]["filePath"], &result.detail["filePath"]];
    seen.chain(told.into_iter().filter_map(|path| path.as_str().map(Path::new)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::story::Story;
    use super::*;

    fn light(story: &Story) -> Light {
        let mut light = Light::default();
        story.entries.iter().for_each(|entry| light.push(entry));
        light
    }

    fn clearing(story: &Story) -> Option<Clearing> {
        light(story).clearing(None)
    }

    fn names(clearing: &Clearing) -> Vec<&str> {
        clearing.calls.iter().map(|call| call.0.as_str()).collect()
    }

    /// Reads of this many characters each, named by number, then a new prompt.
    fn reads(count: usize, characters: usize) -> Story {
        let story = (0..count).fold(Story::default().prompt("go"), |story, number| {
            story.read(&number.to_string(), &format!("/p/{number}.rs"), &"x".repeat(characters))
        });
        story.prompt("and now?")
    }

    #[test]
    fn old_and_large_results_go_and_the_newest_stay() {
        let cleared = clearing(&reads(12, 20_000)).unwrap();
        assert_eq!(names(&cleared), ["0", "1", "2", "3"]);
        assert_eq!(cleared.out_of_sight[3], Path::new("/p/3.rs"));
        assert!((19_500..20_000).contains(&cleared.gain), "{}", cleared.gain);
        assert_eq!(clearing(&reads(12, 2_000)), None, "they are small");
        assert_eq!(clearing(&reads(9, 20_000)), None, "it is not worth it");
        assert_eq!(clearing(&reads(12, 20_000).clear(&["0", "1"], 1)), None);
        assert_eq!(names(&clearing(&reads(13, 20_000).clear(&["0", "1"], 1)).unwrap()), ["2", "3", "4"]);
        assert_eq!(clearing(&reads(13, 20_000).fold(0)), None, "it is folded");
    }

    #[test]
    fn what_the_last_steps_of_the_turn_have_shown_stays() {
        // One answer with many calls: all of it belongs to the last step.
        let story = (0..20).fold(Story::default().prompt("go"), |story, number| {
            story.call("a", &number.to_string(), "Read", &serde_json::json!({}))
        });
        let story = (0..20)
            .fold(story, |story, number| story.result(&number.to_string(), "Read", &"x".repeat(20_000)));
        assert_eq!(clearing(&story), None);
        let later = story.prompt("next");
        assert_eq!(clearing(&later).unwrap().calls.len(), 12, "another turn has begun");
    }

    #[test]
    fn the_plan_stays_in_sight_until_it_is_approved_anew() {
        let story = (0..12).fold(Story::default().prompt("go"), |story, number| {
            story.read(&number.to_string(), "/plans/p.md", &"x".repeat(20_000))
        });
        let story = story.prompt("next");
        let plan = Some(Path::new("/plans/p.md"));
        assert_eq!(light(&story).clearing(plan), None);
        assert!(light(&story.approve()).clearing(plan).is_some());
    }

    proptest! {
        /// What is cleared is found once, and asking again clears nothing of it a second time.
        #[test]
        fn it_is_repeatable(sizes in prop::collection::vec(0_usize..9_000, 0..30)) {
            let story = sizes.iter().enumerate().fold(Story::default().prompt("go"), |story, (number, size)| {
                story.read(&number.to_string(), "/p/a", &"x".repeat(*size))
            });
            let story = story.prompt("next");
            if let Some(first) = clearing(&story) {
                prop_assert_eq!(Some(first.clone()), clearing(&story));
                prop_assert!(first.gain >= LEAST_GAIN);
                let calls: Vec<&str> = names(&first);
                prop_assert_eq!(calls.iter().collect::<std::collections::HashSet<_>>().len(), calls.len());
                prop_assert_eq!(clearing(&story.clone().clear(&calls, first.gain)), None);
                let newest = sizes.len() - NEWEST;
                prop_assert!(first.calls.iter().all(|call| call.0.parse::<usize>().unwrap() < newest));
            }
        }
    }
}
