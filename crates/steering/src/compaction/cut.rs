//! Where a conversation may be cut: never between a call and its result, nor in the middle of an answer.

use std::collections::HashMap;

use tiller_protocol::entry::{Body, Entry, Origin};
use tiller_protocol::id::{CallId, EntryId};

use super::Answers;

/// The last place at or before the wanted one at which what follows stands by itself.
fn cut_before(entries: &[Entry], answers: &Answers, wanted: usize) -> usize {
    let mut open: HashMap<CallId, EntryId> = HashMap::new();
    let mut place = 0;
    for (at, entry) in entries.iter().enumerate().take(wanted.saturating_add(1)) {
        let goes_on = matches!(entry.body, Body::Assistant(_)) && !answers.begins(entry);
        if open.is_empty() && !goes_on && !belongs_to_what_is_before(entry) {
            place = at;
        }
        match &entry.body {
            Body::Assistant(block) => {
                open.extend(block.block.as_tool_use().map(|call| (call.id, entry.id)));
            }
            Body::Result(result) => _ = open.remove(&result.call),
            Body::Orphaned(orphaned) => open.retain(|_, asked| !orphaned.ids.contains(asked)),
            _ => {}
        }
    }
    if wanted >= entries.len() && open.is_empty() { entries.len() } else { place }
}

/// The end of an answer and what hooks or sources add stand behind what they speak of.
fn belongs_to_what_is_before(entry: &Entry) -> bool {
    !matches!(entry.body, Body::User(_) | Body::Assistant(_))
}

/// The end of a conversation that is folded in the middle of a turn: the model has not answered it yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// From this place on it is sent as it is.
    Kept(usize),
    /// From this place on it can only be told: an answer that was thought about comes back whole or not at all.
    Told(usize),
    /// There is nothing that waits for an answer.
    Nothing,
}

/// What of these messages should not be folded: the prompt that a turn begins with, or the last calls and their results.
#[must_use]
pub fn ending(messages: &[Entry], answers: &Answers) -> Ending {
    let said = messages.iter().rposition(|entry| matches!(entry.body, Body::Assistant(_) | Body::Result(_)));
    let after = said.map_or(0, |at| at + 1);
    let is_prompt = |entry: &Entry| matches!(&entry.body, Body::User(message) if !message.is_hidden());
    if let Some(at) = messages[after..].iter().position(is_prompt) {
        return Ending::Kept(after + at);
    }
    let Some(answer) = last_answer(messages, answers) else { return told_by_tiller(messages, after) };
    if cut_before(messages, answers, answer) != answer {
        return Ending::Nothing;
    }
    let thought = messages[answer..]
        .iter()
        .any(|entry| matches!(&entry.body, Body::Assistant(block) if block.block.is_thinking()));
    if thought { Ending::Told(answer) } else { Ending::Kept(answer) }
}

/// Where the last answer begins.
fn last_answer(messages: &[Entry], answers: &Answers) -> Option<usize> {
    let is_said = |entry: &Entry| matches!(&entry.body, Body::Assistant(block) if block.api_error.is_none());
    messages.iter().rposition(|entry| is_said(entry) && answers.begins(entry))
}

/// A turn that nobody asked for begins with a message of Tiller's own.
fn told_by_tiller(messages: &[Entry], after: usize) -> Ending {
    let begins =
        |entry: &Entry| matches!(&entry.body, Body::User(message) if message.origin == Origin::Harness);
    messages[after..].iter().position(begins).map_or(Ending::Nothing, |at| Ending::Kept(after + at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::story::Story;
    use super::*;

    fn answers(story: &Story) -> Answers {
        let mut answers = Answers::default();
        story.entries.iter().for_each(|entry| answers.push(entry));
        answers
    }

    fn ended(story: &Story) -> Ending {
        ending(&story.entries, &answers(story))
    }

    // A provider that names all its answers alike.
    #[test]
    fn answers_with_the_same_id_are_told_apart_by_their_ends() {
        let story = Story::default()
            .prompt("go")
            .call("a", "1", "Read", &json!({}))
            .counted("a", 10)
            .result("1", "Read", "x")
            .call("a", "2", "Read", &json!({}))
            .result("2", "Read", "early")
            .call("a", "3", "Read", &json!({}))
            .counted("a", 20)
            .result("3", "Read", "y");
        assert_eq!(ended(&story), Ending::Kept(4));
    }

    #[test]
    fn a_cut_moves_back_to_where_nothing_is_parted() {
        let story = Story::default()
            .prompt("go")
            .call("a", "1", "Read", &json!({}))
            .call("a", "2", "Read", &json!({}))
            .result("1", "Read", "x")
            .result("2", "Read", "y")
            .counted("a", 10)
            .answer("b", "done")
            .prompt("next");
        let cuts: Vec<usize> =
            (0..=9).map(|wanted| cut_before(&story.entries, &answers(&story), wanted)).collect();
        assert_eq!(cuts, [0, 1, 1, 1, 1, 1, 6, 7, 8, 8]);
    }

    // SESS-18
    #[test]
    fn what_waits_for_an_answer_is_kept_whole() {
        let turn = Story::default().prompt("go").answer("a", "done").prompt("next").queued("and that");
        assert_eq!(ended(&turn), Ending::Kept(2));
        let calls = Story::default()
            .prompt("go")
            .answer("a", "let me see")
            .call("a", "1", "Read", &json!({}))
            .call("a", "2", "Read", &json!({}))
            .result("1", "Read", "x")
            .result("2", "Read", "y");
        assert_eq!(ended(&calls), Ending::Kept(1));
        let thought = Story::default()
            .prompt("go")
            .thinking("a", "hm")
            .call("a", "1", "Read", &json!({}))
            .result("1", "Read", "x");
        assert_eq!(ended(&thought), Ending::Told(1));
        assert_eq!(ended(&Story::default().hidden("wake up")), Ending::Kept(0));
        assert_eq!(ended(&Story::default()), Ending::Nothing);
        let open = Story::default().call("a", "1", "Read", &json!({})).answer("b", "x");
        assert_eq!(ended(&open), Ending::Nothing, "a call waits for its result");
    }

    #[test]
    fn a_call_that_never_gets_an_answer_does_not_hold_the_rest() {
        let story =
            Story::default().prompt("go").call("a", "1", "Read", &json!({})).orphan_last().prompt("next");
        assert_eq!(cut_before(&story.entries, &answers(&story), 3), 3);
    }

    proptest! {
        #[test]
        fn no_call_is_parted_from_its_result(steps in prop::collection::vec(0_usize..4, 0..8), wanted in 0_usize..60) {
            let mut story = Story::default().prompt("go");
            for (step, calls) in steps.iter().enumerate() {
                let message = format!("m{step}");
                let name = |call: usize| format!("{step}-{call}");
                for call in 0..*calls {
                    story = story.call(&message, &name(call), "Read", &json!({}));
                }
                for call in (0..*calls).rev() {
                    story = story.result(&name(call), "Read", "x");
                }
                story = if step % 3 == 0 { story.prompt("more") } else { story.answer(&format!("t{step}"), "x") };
            }
            let cut = cut_before(&story.entries, &answers(&story), wanted);
            prop_assert!(cut <= wanted.min(story.entries.len()));
            let (before, after) = story.entries.split_at(cut);
            let asked = |entries: &[Entry]| -> Vec<CallId> {
                entries.iter().filter_map(|entry| match &entry.body {
                    Body::Assistant(block) => block.block.as_tool_use().map(|call| call.id),
                    _ => None,
                }).collect()
            };
            let answered = |entries: &[Entry]| -> Vec<CallId> {
                let mut calls: Vec<CallId> = entries.iter().filter_map(|entry| match &entry.body {
                    Body::Result(result) => Some(result.call.clone()),
                    _ => None,
                }).collect();
                calls.sort();
                calls
            };
            for part in [before, after] {
                let mut calls = asked(part);
                calls.sort();
                prop_assert_eq!(calls, answered(part));
            }
        }
    }
}
