//! `AskUserQuestion`: finds out what the user wants.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tiller_policy::Access;
use tiller_protocol::ask::Question;

use crate::cx::{ToolCx, View};
use crate::tool::{Description, Done, Tool, ToolError};

/// Questions in one call.
const MOST_QUESTIONS: usize = 4;
/// Characters of a header.
const HEADER: usize = 12;

/// Asks the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskUserQuestion;

/// What `AskUserQuestion` needs to know.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct AskUserQuestionInput {
    /// The questions.
    #[schemars(length(min = 1, max = 4))]
    pub questions: Vec<Question>,
    /// What the user said, by the text of the question. The session puts it here; nobody else does.
    #[serde(default)]
    #[schemars(skip)]
    pub answers: Map<String, Value>,
}

impl Tool for AskUserQuestion {
    const NAME: &'static str = "AskUserQuestion";
    type Input = AskUserQuestionInput;

    fn describe(&self) -> Description {
        Description::new("Asks what the user wants", include_str!("prompt.md"))
    }

    fn read_only(&self, _input: &AskUserQuestionInput) -> bool {
        true
    }

    fn validate(&self, input: &AskUserQuestionInput, _view: &View) -> Result<(), String> {
        if !(1..=MOST_QUESTIONS).contains(&input.questions.len()) {
            return Err(format!("Ask one to {MOST_QUESTIONS} questions, not {}.", input.questions.len()));
        }
        for (at, question) in input.questions.iter().enumerate() {
            fits(question).map_err(|problem| format!("questions[{at}]: {problem}"))?;
        }
        let texts = input.questions.iter().map(|question| question.question.as_str());
        all_differ(texts).then_some(()).ok_or_else(|| "Every question needs a text of its own.".to_owned())
    }

    fn access(&self, _input: &AskUserQuestionInput, _view: &View) -> Vec<Access> {
        Vec::new()
    }

    async fn run(&self, input: AskUserQuestionInput, _cx: ToolCx) -> Result<Done, ToolError> {
        let answers: Vec<(&str, Option<String>)> = input
            .questions
            .iter()
            .map(|question| (question.question.as_str(), said(input.answers.get(&question.question))))
            .collect();
        let lines = answers.iter().map(|(question, answer)| match answer {
            Some(answer) => format!("- {question}\n  {answer}"),
            None => format!("- {question}\n  (no answer)"),
        });
        let lines: Vec<String> = lines.collect();
        let text = match answers.iter().any(|(_, answer)| answer.is_some()) {
            true => format!("The user has answered:\n{}", lines.join("\n")),
            false => "The user has answered none of the questions. Go on as you think best, and say what you assume."
                .to_owned(),
        };
        let known: Map<String, Value> = answers
            .into_iter()
            .filter_map(|(question, answer)| Some((question.to_owned(), answer?.into())))
            .collect();
        Ok(Done::text(&text).with_detail(json!({"questions": input.questions, "answers": known})))
    }
}

fn fits(question: &Question) -> Result<(), String> {
    let labels = question.options.iter().map(|option| option.label.trim());
    if question.question.trim().is_empty() {
        return Err("the question has no text.".to_owned());
    }
    if question.header.chars().count() > HEADER {
        return Err(format!("the header \"{}\" has more than {HEADER} characters.", question.header));
    }
    if !(2..=4).contains(&question.options.len()) {
        return Err(format!("two to four options are needed, not {}.", question.options.len()));
    }
    if labels.clone().any(str::is_empty) || !all_differ(labels) {
        return Err("every option needs a label of its own.".to_owned());
    }
    Ok(())
}

fn all_differ<'a>(texts: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = BTreeSet::new();
    texts.into_iter().all(|text| seen.insert(text))
}

/// An answer as text: several choices may come as a list.
fn said(answer: Option<&Value>) -> Option<String> {
    let text = match answer? {
        Value::String(text) => text.clone(),
        Value::Array(choices) => choices.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
