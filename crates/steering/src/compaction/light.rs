//! The light stage: old results are left out of requests, without asking a model. What they showed can be had again.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tiller_protocol::effect::Effect;
use tiller_protocol::entry::{Body, CallResult, Entry};
use tiller_protocol::id::{CallId, MessageId};

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

/// A conversation, and what of it is spoken for.
#[derive(Clone, Copy, Debug)]
pub struct Light<'a> {
    /// All that is still sent, in order.
    pub entries: &'a [Entry],
    /// Results that were cleared before; they stay cleared.
    pub cleared: &'a HashSet<CallId>,
    /// The plan, whose text stays in sight.
    pub plan: Option<PlanReads<'a>>,
}

/// When a plan file was read.
#[derive(Clone, Copy, Debug)]
pub struct PlanReads<'a> {
    /// The file.
    pub file: &'a Path,
    /// The entry with which the plan was last approved: what was read later stays. Without approval, all of it.
    pub approved: u64,
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

struct Candidate<'a> {
    seq: u64,
    result: &'a CallResult,
    /// The step it belongs to.
    step: usize,
}

impl Light<'_> {
    /// What to clear now; nothing if it is not worth it.
    #[must_use]
    pub fn clearing(&self) -> Option<Clearing> {
        let (candidates, turn_began, steps) = self.candidates();
        let old = candidates.len().saturating_sub(NEWEST);
        let note = text_tokens(replacement());
        let mut clearing = Clearing::default();
        for candidate in &candidates[..old] {
            let runs = candidate.step > turn_began && candidate.step + RUNNING_STEPS > steps;
            let tokens = Size::of_blocks(&candidate.result.content).tokens();
            let stays = runs || tokens <= SMALLEST || self.cleared.contains(&candidate.result.call);
            if stays || self.shows_plan(candidate) {
                continue;
            }
            clearing.gain += tokens.saturating_sub(note);
            clearing.calls.push(candidate.result.call.clone());
            clearing.out_of_sight.extend(files(candidate.result).map(Path::to_owned));
        }
        (clearing.gain >= LEAST_GAIN).then_some(clearing)
    }

    /// Results of repeatable calls in order, the step before the running turn, and the number of steps.
    fn candidates(&self) -> (Vec<Candidate<'_>>, usize, usize) {
        let (mut candidates, mut step, mut turn_began) = (Vec::new(), 0, 0);
        let mut answer: Option<&MessageId> = None;
        for entry in self.entries {
            match &entry.body {
                Body::User(message) if !message.is_hidden() => turn_began = step,
                Body::Assistant(block) if answer != Some(&block.message_id) => {
                    answer = Some(&block.message_id);
                    step += 1;
                }
                Body::Result(result) if REPEATABLE.contains(&result.tool.as_str()) => {
                    candidates.push(Candidate { seq: entry.seq, result, step });
                }
                _ => {}
            }
        }
        (candidates, turn_began, step)
    }

    fn shows_plan(&self, candidate: &Candidate<'_>) -> bool {
        self.plan.is_some_and(|plan| {
            candidate.seq > plan.approved && files(candidate.result).any(|file| file == plan.file)
        })
    }
}

fn files(result: &CallResult) -> impl Iterator<Item = &Path> {
    result.effects.iter().filter_map(|effect| match effect {
        Effect::FileSeen(seen) => Some(seen.path.as_path()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::story::Story;
    use super::*;

    fn clearing(story: &Story, cleared: &HashSet<CallId>) -> Option<Clearing> {
        Light { entries: &story.entries, cleared, plan: None }.clearing()
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
        let none = HashSet::new();
        let cleared = clearing(&reads(12, 20_000), &none).unwrap();
        assert_eq!(names(&cleared), ["0", "1", "2", "3"]);
        assert_eq!(cleared.out_of_sight[3], Path::new("/p/3.rs"));
        assert!((19_500..20_000).contains(&cleared.gain), "{}", cleared.gain);
        assert_eq!(clearing(&reads(12, 2_000), &none), None, "they are small");
        assert_eq!(clearing(&reads(9, 20_000), &none), None, "it is not worth it");
        let before = HashSet::from([CallId::from("0"), CallId::from("1")]);
        assert_eq!(clearing(&reads(12, 20_000), &before), None);
        assert_eq!(names(&clearing(&reads(13, 20_000), &before).unwrap()), ["2", "3", "4"]);
    }

    #[test]
    fn what_the_last_steps_of_the_turn_have_shown_stays() {
        // One answer with many calls: all of it belongs to the last step.
        let story = (0..20).fold(Story::default().prompt("go"), |story, number| {
            story.call("a", &number.to_string(), "Read", &serde_json::json!({}))
        });
        let story = (0..20)
            .fold(story, |story, number| story.result(&number.to_string(), "Read", &"x".repeat(20_000)));
        let none = HashSet::new();
        assert_eq!(clearing(&story, &none), None);
        let later = story.prompt("next");
        assert_eq!(clearing(&later, &none).unwrap().calls.len(), 12, "another turn has begun");
    }

    #[test]
    fn the_plan_stays_in_sight_until_it_is_approved_anew() {
        let story = (0..12).fold(Story::default().prompt("go"), |story, number| {
            story.read(&number.to_string(), "/plans/p.md", &"x".repeat(20_000))
        });
        let story = story.prompt("next");
        let none = HashSet::new();
        let at = |approved| {
            let plan = Some(PlanReads { file: Path::new("/plans/p.md"), approved });
            Light { entries: &story.entries, cleared: &none, plan }.clearing()
        };
        assert_eq!(at(0), None);
        assert!(at(u64::MAX).is_some());
    }

    proptest! {
        /// What is cleared is found once, and asking again clears nothing of it a second time.
        #[test]
        fn it_is_repeatable(sizes in prop::collection::vec(0_usize..60_000, 0..30)) {
            let story = sizes.iter().enumerate().fold(Story::default().prompt("go"), |story, (number, size)| {
                story.read(&number.to_string(), "/p/a", &"x".repeat(*size))
            });
            let story = story.prompt("next");
            if let Some(first) = clearing(&story, &HashSet::new()) {
                prop_assert_eq!(Some(first.clone()), clearing(&story, &HashSet::new()));
                prop_assert!(first.gain >= LEAST_GAIN);
                let cleared: HashSet<CallId> = first.calls.iter().cloned().collect();
                prop_assert_eq!(cleared.len(), first.calls.len());
                prop_assert_eq!(clearing(&story, &cleared), None);
                let newest = sizes.len() - NEWEST;
                prop_assert!(first.calls.iter().all(|call| call.0.parse::<usize>().unwrap() < newest));
            }
        }
    }
}
