//! `tiller permissions test`: whether the rules do what the examples beside them say.

use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use tiller_config::{Resolved, RuleTest, Sourced};
use tiller_policy::Behavior;
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;

use super::judge::Judge;
use super::told::Told;
use crate::exit::Exit;
use crate::scope::Scope;
use crate::text::{hanging, print};

/// Check the examples in the settings (permissions.tests)
#[derive(Debug, Args)]
#[command(
    after_help = "An example is {\"tool\": \"Bash\", \"input\": {\"command\": \"rm -rf /\"}, \"expect\": \"deny\"}, \
                  with an optional \"mode\". The exit code is 1 if one of them fails."
)]
pub(super) struct Test {
    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Also print the examples that pass
    #[arg(long)]
    verbose: bool,

    #[command(flatten)]
    scope: Scope,
}

/// How an example came out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    passed: bool,
    tool: String,
    input: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
    expect: Behavior,
    /// Where the example stands.
    stands_in: String,
    #[serde(flatten)]
    got: Got,
}

/// What came out: a decision, or an example that is no call at all.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Got {
    Decision { decision: Behavior, reason: String, rule: Option<String>, source: Option<String> },
    Error { error: String },
}

#[derive(Debug, Serialize)]
struct Report {
    passed: usize,
    failed: usize,
    tests: Vec<Outcome>,
    /// Examples that are none.
    unusable: Vec<String>,
}

/// Examples that cannot be read. Nobody must take them for examples that come out as expected.
fn unusable(settings: &Resolved) -> Vec<String> {
    let mut unusable: Vec<String> = Vec::new();
    let mut last = None;
    for warning in settings.warnings.iter().filter(|warning| warning.key.starts_with("permissions.tests")) {
        let example = (warning.origin.clone(), warning.key.split(']').next());
        match unusable.last_mut().filter(|_| last.as_ref() == Some(&example)) {
            Some(before) => _ = write!(before, "; {}: {}", warning.key, warning.text),
            None => unusable.push(warning.to_string()),
        }
        last = Some(example);
    }
    unusable
}

impl Test {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let settings = self.scope.load(env)?;
        let judge = Judge::new(env, &settings, None, None)?;
        let tests = settings.permissions.tests.iter().map(|test| Outcome::of(&judge, test));
        let report = Report::new(tests.collect(), unusable(&settings));
        print(&if self.json { serde_json::to_string(&report)? } else { report.to_text(self.verbose) })?;
        Ok(if report.failed == 0 { Exit::Success } else { Exit::Failure })
    }
}

impl Outcome {
    fn of(judge: &Judge, test: &Sourced<RuleTest>) -> Self {
        let Sourced { value: test, origin } = test;
        let expect = test.expect;
        let input = Value::Object(test.input.clone());
        let got = match judge.explain(&test.tool, &input, test.mode, None) {
            Ok(judged) => {
                let Told { decision, reason, rule, source, .. } = Told::new(&judged);
                Got::Decision { decision, reason, rule, source }
            }
            Err(error) => Got::Error { error: error.to_string() },
        };
        let passed = matches!(&got, Got::Decision { decision, .. } if *decision == expect);
        let stands_in = origin.to_string();
        Self { passed, tool: test.tool.clone(), input, mode: test.mode, expect, stands_in, got }
    }

    fn to_text(&self) -> String {
        let mode = self.mode.map(|mode| format!(" in mode {mode}")).unwrap_or_default();
        let call = format!("{} {}{mode}", self.tool, self.input);
        if self.passed {
            return hanging("ok     ", &format!("{call}: {}", self.expect.name()));
        }
        let mut lines = vec![hanging("FAIL   ", &call), format!("       expected  {}", self.expect.name())];
        match &self.got {
            Got::Error { error } => lines.push(hanging("       but       ", error)),
            Got::Decision { decision, reason, source, .. } => {
                let source = source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
                lines.push(hanging("       got       ", &format!("{}: {reason}{source}", decision.name())));
            }
        }
        lines.push(hanging("       in        ", &self.stands_in));
        lines.join("\n")
    }
}

impl Report {
    fn new(tests: Vec<Outcome>, unusable: Vec<String>) -> Self {
        let passed = tests.iter().filter(|test| test.passed).count();
        Self { passed, failed: tests.len() - passed + unusable.len(), tests, unusable }
    }

    fn to_text(&self, verbose: bool) -> String {
        let told = self.tests.iter().filter(|test| verbose || !test.passed).map(Outcome::to_text);
        let unusable = self.unusable.iter().map(|problem| hanging("FAIL   ", problem));
        let sum = match (self.passed, self.failed) {
            (0, 0) => "there are no examples; put some into the settings as permissions.tests".to_owned(),
            (passed, 0) => format!("all {passed} examples pass"),
            (passed, failed) if self.unusable.is_empty() => {
                format!("{failed} of {} examples fail", passed + failed)
            }
            (passed, failed) => {
                format!("{failed} of {} examples fail or cannot be read", passed + failed)
            }
        };
        told.chain(unusable).chain([sum]).collect::<Vec<_>>().join("\n")
    }
}
