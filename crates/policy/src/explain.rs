//! Decisions in words, for whoever asks why.

use std::path::PathBuf;

use serde::Serialize;

use crate::access::{Access, Request};
use crate::context::Context;
use crate::decide::{Reason, judge};
use crate::holding::{Profile, profile};
use crate::rule::{Behavior, Source};

/// A decision and what led to it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// What is decided.
    pub decision: Behavior,
    /// What it rests on.
    pub reason: Reason,
    /// The same as a sentence.
    pub because: String,
    /// The deciding rule, as it was written.
    pub rule: Option<String>,
    /// Where that rule comes from.
    pub source: Option<Source>,
    /// The settings file it stands in.
    pub file: Option<PathBuf>,
    /// How much it may change when it runs, if it is a command that may run.
    pub profile: Option<Profile>,
    /// What the call consists of.
    pub parts: Vec<ExplainedPart>,
}

/// One thing that the call would do.
#[derive(Clone, Debug, Serialize)]
pub struct ExplainedPart {
    /// The command, file or host.
    pub what: String,
    /// What would be decided if there were nothing else.
    pub decision: Behavior,
    /// What that rests on.
    pub reason: Reason,
    /// The rule, if it is one.
    pub rule: Option<String>,
    /// Where that rule comes from.
    pub source: Option<Source>,
    /// The settings file it stands in.
    pub file: Option<PathBuf>,
}

/// Judges a call and says why.
#[must_use]
pub fn explain(request: &Request, cx: &Context) -> Explanation {
    let judgement = judge(request, cx);
    let runs = request.access.iter().any(|access| matches!(access, Access::Exec(_)));
    let profile = (runs && judgement.verdict != Behavior::Deny).then(|| match judgement.verdict {
        Behavior::Ask => profile(request, cx, &Reason::User),
        _ => profile(request, cx, &judgement.reason),
    });
    let (rule, source, file) = cited(&judgement.reason);
    let parts = judgement.parts.into_iter().map(|part| {
        let (rule, source, file) = cited(&part.reason);
        ExplainedPart { what: part.what, decision: part.verdict, reason: part.reason, rule, source, file }
    });
    Explanation {
        decision: judgement.verdict,
        because: judgement.reason.explain(),
        reason: judgement.reason,
        rule,
        source,
        file,
        profile,
        parts: parts.collect(),
    }
}

fn cited(reason: &Reason) -> (Option<String>, Option<Source>, Option<PathBuf>) {
    match reason {
        Reason::Rule { rule, source, file }
        | Reason::MayRead { rule, source, file }
        | Reason::Prompt { rule, source, file }
        | Reason::Unchecked { rule, source, file } => (Some(rule.clone()), Some(*source), file.clone()),
        _ => (None, None, None),
    }
}
