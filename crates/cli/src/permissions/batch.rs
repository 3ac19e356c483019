//! Many calls at once: one JSON object per line in, one per line out.

use std::io::{BufRead, Write};

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tiller_policy::{Rule, Rules};
use tiller_protocol::mode::Mode;

use super::explain::given;
use super::judge::Judge;
use super::told::Told;
use crate::exit::Exit;

/// A line. A misspelt key must not change the question.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
    mode: Option<String>,
    /// Rules for this line alone, instead of all others.
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// Answers line by line. A line that makes no sense is answered with an error, and so is the whole.
pub(super) fn run(judge: &Judge) -> anyhow::Result<Exit> {
    let mut stdout = std::io::stdout().lock();
    let mut exit = Exit::Success;
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line.context("standard input could not be read")?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match answer(judge, &line) {
            Ok(told) => serde_json::to_string(&told)?,
            Err(error) => {
                exit = Exit::Failure;
                json!({"line": number + 1, "error": crate::explain(&error)}).to_string()
            }
        };
        writeln!(stdout, "{answer}")?;
    }
    Ok(exit)
}

fn answer(judge: &Judge, line: &str) -> anyhow::Result<Told> {
    let line: Line = serde_json::from_str(line).context("the line is not a call")?;
    let mode: Option<Mode> = line.mode.as_deref().map(str::parse).transpose()?;
    let parsed = |rules: &[String]| rules.iter().map(|rule| rule.parse()).collect::<Result<Vec<Rule>, _>>();
    let rules = Rules { allow: parsed(&line.allow)?, ask: parsed(&line.ask)?, deny: parsed(&line.deny)? };
    let rules = given(&rules).then_some(rules);
    Ok(Told::new(&judge.explain(&line.tool, &Value::Object(line.input), mode, rules)?))
}
