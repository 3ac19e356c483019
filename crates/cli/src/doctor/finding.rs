//! One thing that was looked at.

use serde::Serialize;

use crate::text::hanging;

/// One thing that was looked at.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) grade: Grade,
    /// What it is about, in a word.
    topic: &'static str,
    /// What was found.
    text: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

/// What is to be thought of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grade {
    /// As it should be.
    Ok,
    /// Tiller works, but not as well as it could, or something may be not what was meant.
    Warn,
    /// Tiller does not work.
    Fail,
}

impl Finding {
    pub(super) fn ok(topic: &'static str, text: impl Into<String>) -> Self {
        Self { grade: Grade::Ok, topic, text: text.into(), advice: None }
    }

    pub(super) fn warn(topic: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { grade: Grade::Warn, topic, text: text.into(), advice: Some(advice.into()) }
    }

    pub(super) fn fail(topic: &'static str, text: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { grade: Grade::Fail, ..Self::warn(topic, text, advice) }
    }

    fn to_text(&self) -> String {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::Warn => "warn",
            Grade::Fail => "fail",
        };
        let line = hanging(&format!("{grade:6}{:13}", self.topic), &self.text);
        match &self.advice {
            Some(advice) => format!("{line}\n{}", hanging(&format!("{:19}→ ", ""), advice)),
            None => line,
        }
    }
}

/// All findings, for people.
pub(super) fn to_text(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(Finding::to_text).collect();
    let count = |grade| findings.iter().filter(|finding| finding.grade == grade).count();
    let sum = match (count(Grade::Fail), count(Grade::Warn)) {
        (0, 0) => "all is well".to_owned(),
        (failed, warned) => format!("{failed} failed, {warned} to look at"),
    };
    format!("{}\n\n{sum}", lines.join("\n"))
}
