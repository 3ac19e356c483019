//! Questions to the user, with the answers.

use ratatui::text::{Line, Span};
use serde_json::Value;
use tiller_protocol::entry::CallResult;

use super::super::Paper;
use super::{Call, text_rows};
use crate::text::{visible_line, wrap};

fn asked(value: &Value) -> impl Iterator<Item = &str> {
    let questions = value["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    questions.iter().filter_map(|question| question["question"].as_str())
}

pub(super) fn title(call: &Call) -> (String, String) {
    let headers = call.input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let headers: Vec<&str> = headers.iter().filter_map(|question| question["header"].as_str()).collect();
    let questions: Vec<&str> = asked(&call.input).collect();
    let subjects = if headers.len() == questions.len() { headers } else { questions };
    ("Question".to_owned(), subjects.join(" · "))
}

pub(super) fn count(result: &CallResult) -> usize {
    asked(&result.detail).count()
}

/// Each question with its answer behind it.
pub(super) fn body(result: &CallResult, paper: &Paper<'_>) -> Vec<Line<'static>> {
    let answers = &result.detail["answers"];
    let row = |question: &str| {
        let answer = answers[question].as_str().map(visible_line);
        let (answer, style) = match answer {
            Some(answer) => (answer, paper.theme.user),
            None => ("no answer".to_owned(), paper.theme.dim),
        };
        let line = Line::from(vec![
            Span::styled(format!("{} → ", visible_line(question)), paper.theme.dim),
            Span::styled(answer, style),
        ]);
        wrap(&line, paper.columns, 2)
    };
    let rows: Vec<Line<'static>> = asked(&result.detail).flat_map(row).collect();
    if rows.is_empty() { text_rows(&result.text(), paper.theme.dim, paper) } else { rows }
}
