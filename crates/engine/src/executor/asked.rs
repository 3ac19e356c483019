//! What was no matter of course in this session, so that a suggestion can say what it would change.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tiller_policy::{Context, Request, Update, newly_covered};

/// Calls remembered at most; the oldest is forgotten first.
const REMEMBERED: usize = 50;
/// Calls shown with a suggestion.
const SHOWN: usize = 10;
/// Characters of a call that are shown.
const LENGTH: usize = 200;

/// Calls of a session that policy did not allow by itself; bounded.
#[derive(Default)]
pub(crate) struct Asked(Mutex<VecDeque<Request>>);

impl Asked {
    /// Remembers a call; the same one only once.
    pub(crate) fn note(&self, request: &Request) {
        let mut calls = self.calls();
        calls.retain(|known| known.tool != request.tool || known.access != request.access);
        calls.push_back(request.clone());
        if calls.len() > REMEMBERED {
            calls.pop_front();
        }
    }

    /// The calls that changes of permissions would allow without a question, latest first.
    pub(crate) fn covered_by(&self, updates: &[Update], cx: &Context) -> Vec<String> {
        let calls: Vec<Request> = self.calls().iter().rev().cloned().collect();
        let covered = newly_covered(updates, &calls, cx).into_iter().take(SHOWN);
        covered.map(|request| shortened(&request.describe())).collect()
    }

    fn calls(&self) -> MutexGuard<'_, VecDeque<Request>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(LENGTH).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use tiller_policy::{Access, Script, suggest};

    use super::*;

    fn bash(command: &str) -> Request {
        let script = Script { command: command.to_owned(), cwd: "/w".into() };
        Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false }
    }

    // RULE-04
    #[test]
    fn the_latest_calls_are_remembered_once_each() {
        let cx = Context { roots: vec!["/w".into()], ..Context::default() };
        let asked = Asked::default();
        let updates = suggest(&bash("make all"), &cx);
        for n in 0..REMEMBERED + 5 {
            asked.note(&bash(&format!("make all {n}")));
        }
        asked.note(&bash("make all 7"));
        asked.note(&bash(&format!("make all {}", "x".repeat(500))));
        let covered = asked.covered_by(&updates, &cx);
        assert_eq!(covered.len(), SHOWN);
        assert!(covered[0].starts_with("make all xxx") && covered[0].ends_with('…'));
        assert_eq!(covered[1..4], ["make all 7", "make all 54", "make all 53"]);
        assert_eq!(asked.calls().len(), REMEMBERED);
    }
}
