//! What safety costs: a decision, and a command that the kernel holds.

use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use super::Effort;
use super::arena::{Arena, Contestant, Directory, Running};
use super::figure::{Figure, Unit};
use super::sample::{median, millis};

/// Decisions in one batch, so that the start of the process does not count.
const DECISIONS: usize = 2_000;

/// Lines as agents write them.
const TYPICAL: [&str; 5] = [
    "cd src && git status --short && git diff --stat | head -50",
    "grep -rn 'fn main' --include='*.rs' . | sort | uniq -c | head",
    "cargo test -p parser -- --nocapture 2>&1 | tail -30",
    "for f in *.txt; do wc -l \"$f\"; done",
    "FOO=1 timeout 60 bash -c 'npm run build && rm -rf dist' > out.log",
];

pub(super) fn measure(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let mut figures = vec![decisions(arena, effort)?];
    for profile in ["read-only", "workspace"] {
        figures.push(profile_cost(arena, effort, profile)?);
    }
    Ok(figures)
}

/// The floor is the shortest line there is.
fn decisions(arena: &Arena, effort: &Effort) -> anyhow::Result<Figure> {
    let each = |lines: &[&str]| -> anyhow::Result<f64> {
        let mut times = Vec::new();
        for _ in 0..effort.starts {
            let (one, many) = (batch(arena, lines, 1)?, batch(arena, lines, DECISIONS)?);
            times.push(many.saturating_sub(one) / u32::try_from(DECISIONS - 1)?);
        }
        Ok(median(times).as_secs_f64() * 1e6)
    };
    Ok(Figure {
        name: "a decision on a line of shell, beside `ls`".to_owned(),
        unit: Unit::Micros,
        tiller: each(&TYPICAL)?,
        floor: each(&["ls"])?,
        goal: None,
    })
}

fn batch(arena: &Arena, lines: &[&str], count: usize) -> anyhow::Result<Duration> {
    let questions = lines.iter().cycle().take(count);
    let questions: String = questions
        .map(|line| json!({"tool": "Bash", "input": {"command": line}}).to_string() + "\n")
        .collect();
    let mut input = tempfile::tempfile()?;
    std::io::Write::write_all(&mut input, questions.as_bytes())?;
    std::io::Seek::rewind(&mut input)?;
    let server = Arena::server();
    let words = ["permissions", "explain", "--mode", "default", "--batch"];
    let mut command = arena.command(Contestant::Tiller(&words), Directory::Repository, &server);
    command.stdin(input).stdout(Stdio::null());
    took(Running::start(&mut command)?)
}

/// The floor is the same command with nothing to hold it.
fn profile_cost(arena: &Arena, effort: &Effort, profile: &str) -> anyhow::Result<Figure> {
    let run = |profile: &str| -> anyhow::Result<Duration> {
        let words = ["sandbox", "run", "--profile", profile, "--", "true"];
        let server = Arena::server();
        let mut command = arena.command(Contestant::Tiller(&words), Directory::Repository, &server);
        took(Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?)
    };
    let (mut held, mut free) = (Vec::new(), Vec::new());
    for _ in 0..=effort.starts {
        held.push(run(profile)?);
        free.push(run("full")?);
    }
    // The first ones warm the machine up.
    let middle = |times: Vec<Duration>| millis(median(times.into_iter().skip(1)));
    Ok(Figure {
        name: format!("`true` under {profile}, beside a free one"),
        unit: Unit::Millis,
        tiller: middle(held),
        floor: middle(free),
        goal: None,
    })
}

fn took(running: Running) -> anyhow::Result<Duration> {
    let started = running.started;
    Ok(running.finish()? - started)
}
