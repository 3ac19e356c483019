//! Compares commands with rules in words: the small model is asked, and has the time of a short pause to answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::json;
use tiller_model::Completion;
use tiller_policy::{Confidence, Found, Question};
use tiller_protocol::usage::StopReason;

use crate::beside::{Beside, Bill, small_question, unfenced};

const INSTRUCTIONS: &str = include_str!("classifier.md");
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longer commands are not compared: part of one would not do.
const LONGEST_COMMAND: usize = 10_000;
/// Characters of a command in the debug log.
const LOGGED: usize = 100;
/// Answers remembered at most; the oldest is forgotten first.
const REMEMBERED: usize = 256;

/// Compares commands with rules in words, and remembers what was found in this session.
#[derive(Default)]
pub(crate) struct Classifier {
    found: Mutex<IndexMap<Question, Found>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    matches: bool,
    confidence: Confidence,
    #[serde(default)]
    matched_description: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

impl Classifier {
    /// What the model finds. Whatever goes wrong, the answer is that nobody knows.
    pub(crate) async fn compare(
        &self,
        question: &Question,
        beside: &Beside,
        name: &str,
        spent: impl FnOnce(Bill),
    ) -> Found {
        if let Some(found) = self.known().get(question) {
            return found.clone();
        }
        let command = logged(&question.script.command);
        let behavior = question.behavior.name();
        tracing::debug!(command, behavior, "comparing a command with rules in words");
        match ask(question, beside, name, spent).await {
            Ok(found) => {
                tracing::debug!(command, ?found, "compared");
                self.remember(question, &found);
                found
            }
            Err(problem) => {
                tracing::warn!(command, behavior, "rules in words could not be compared: {problem}");
                Found::Unknown
            }
        }
    }

    fn known(&self) -> MutexGuard<'_, IndexMap<Question, Found>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, question: &Question, found: &Found) {
        let mut known = self.known();
        known.insert(question.clone(), found.clone());
        if known.len() > REMEMBERED {
            known.shift_remove_index(0);
        }
    }
}

async fn ask(
    question: &Question,
    beside: &Beside,
    name: &str,
    spent: impl FnOnce(Bill),
) -> Result<Found, String> {
    let length = question.script.command.chars().count();
    if length > LONGEST_COMMAND {
        return Err(format!("the command has {length} characters"));
    }
    let mut request = small_question(name, &put(question));
    request.system = Bytes::from(json!([{"type": "text", "text": INSTRUCTIONS.trim_end()}]).to_string());
    let answer = tokio::time::timeout(PATIENCE, beside.ask(request)).await;
    let (answer, bill) =
        answer.map_err(|_| "no answer in time".to_owned())?.map_err(|error| error.to_string())?;
    spent(bill);
    understood(&answer, question)
}

/// The question as data: inside a JSON string no command can pass for anything else.
fn put(question: &Question) -> String {
    json!({
        "command": question.script.command,
        "workingDirectory": question.script.cwd,
        "behavior": question.behavior,
        "descriptions": question.descriptions,
    })
    .to_string()
}

/// An answer counts if it is whole, is nothing but the object that was asked for, and names a description that exists.
fn understood(answer: &Completion, question: &Question) -> Result<Found, String> {
    if answer.stop_reason != StopReason::EndTurn {
        return Err(format!("the answer ended with {}", answer.stop_reason.as_str()));
    }
    let text = answer.text();
    let said: Answer =
        serde_json::from_str(unfenced(&text)).map_err(|error| format!("{error} in {text:?}"))?;
    if !said.matches {
        return Ok(Found::Nothing);
    }
    let named = match (&said.matched_description, question.descriptions.as_slice()) {
        (Some(named), all) => all.iter().find(|known| known.trim() == named.trim()),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let Some(description) = named.cloned() else {
        return Err(format!("{:?} is none of the descriptions", said.matched_description));
    };
    tracing::debug!(description, reason = said.reason, "a rule in words fits");
    Ok(Found::Match { description, confidence: said.confidence })
}

/// What of a command the log shows.
fn logged(command: &str) -> String {
    command.chars().take(LOGGED).collect()
}

#[cfg(test)]
mod tests;
