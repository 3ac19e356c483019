//! A decision as it is told: as JSON for programs, as text for people.

use std::path::Path;

use serde::Serialize;
use tiller_policy::{Behavior, ExplainedPart, Profile, Reason, Source};
use tiller_protocol::mode::Mode;

use super::judge::Judged;
use crate::text::hanging;

/// A decision and why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    pub(super) decision: Behavior,
    /// A sentence.
    pub(super) reason: String,
    /// The deciding rule.
    pub(super) rule: Option<String>,
    /// The file that the rule stands in, or who else says it.
    pub(super) source: Option<String>,
    tool: String,
    mode: Mode,
    /// How much it may change when it runs, if it is a command that may run.
    profile: Option<Profile>,
    /// What it rests on, in the words that hosts know.
    decision_reason: Reason,
    /// Descriptions of rules in words that a session would have a model compare the command with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asks_model: Vec<String>,
    parts: Vec<Part>,
}

/// One thing that the call would do.
#[derive(Debug, Serialize)]
struct Part {
    what: String,
    decision: Behavior,
    reason: String,
    rule: Option<String>,
    source: Option<String>,
}

impl Told {
    pub(super) fn new(judged: &Judged) -> Self {
        let Judged { tool, mode, explanation, question } = judged;
        Self {
            decision: explanation.decision,
            reason: explanation.because.clone(),
            rule: explanation.rule.clone(),
            source: explanation.source.map(|source| place(source, explanation.file.as_deref())),
            tool: tool.clone(),
            mode: *mode,
            profile: explanation.profile,
            decision_reason: explanation.reason.clone(),
            asks_model: question.as_ref().map(|question| question.descriptions.clone()).unwrap_or_default(),
            parts: explanation.parts.iter().map(Part::new).collect(),
        }
    }

    /// For people.
    pub(super) fn to_text(&self) -> String {
        let mut lines = vec![
            hanging(&head(self.decision), &format!("{} in mode {}", self.tool, self.mode)),
            beside(&format!("because {}", self.reason)),
        ];
        if let (Some(rule), Some(source)) = (&self.rule, &self.source) {
            lines.push(hanging("       rule    ", rule));
            lines.push(hanging("       source  ", source));
        }
        lines.extend(self.profile.map(|profile| beside(held(profile))));
        if !self.asks_model.is_empty() {
            let described = self.asks_model.join("; ");
            lines.push(beside(&format!("a session first asks a model whether it does this: {described}")));
        }
        if self.decision == Behavior::Ask {
            lines.push(beside("a run with nobody to ask denies it"));
        }
        if self.parts.len() > 1 || self.parts.iter().any(|part| part.reason != self.reason) {
            lines.push("\nparts, each on its own".to_owned());
            lines.extend(self.parts.iter().map(Part::to_text));
        }
        lines.join("\n")
    }
}

impl Part {
    fn new(part: &ExplainedPart) -> Self {
        Self {
            what: part.what.clone(),
            decision: part.decision,
            reason: part.reason.explain(),
            rule: part.rule.clone(),
            source: part.source.map(|source| place(source, part.file.as_deref())),
        }
    }

    fn to_text(&self) -> String {
        let source = self.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        let what = hanging(&format!("  {}", head(self.decision)), &self.what);
        format!("{what}\n{}", hanging("           ", &format!("{}{source}", self.reason)))
    }
}

/// How a command runs.
fn held(profile: Profile) -> &'static str {
    match profile {
        Profile::ReadOnly => "it runs where the kernel lets it change nothing",
        Profile::Workspace => "it runs confined to the working directories",
        Profile::Full => "it runs unconfined",
    }
}

/// A verdict at the beginning of a line.
fn head(decision: Behavior) -> String {
    format!("{:7}", decision.name())
}

/// Text below a verdict.
fn beside(text: &str) -> String {
    hanging("       ", text)
}

/// Where a rule comes from: the file, or in words where there is none.
pub(super) fn place(source: Source, file: Option<&Path>) -> String {
    match (file, source) {
        (Some(file), _) => file.display().to_string(),
        (None, Source::Flag) => "command line".to_owned(),
        (None, Source::Managed) => "managed settings".to_owned(),
        (None, Source::Local) => "local settings".to_owned(),
        (None, Source::Project) => "project settings".to_owned(),
        (None, Source::User) => "user settings".to_owned(),
        (None, Source::Session) => "session".to_owned(),
        (None, Source::Turn) => "skill or command in use".to_owned(),
    }
}
