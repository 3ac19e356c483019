//! What safety costs: a decision, and a command that the kernel holds.

use std::process::{Command, Stdio};
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

/// All there are.
const PROFILES: [&str; 3] = ["read-only", "workspace", "full"];

pub(super) fn measure(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let mut figures = vec![decisions(arena, effort)?];
    figures.extend(profiles(effort.starts, |profile| run_true(arena, profile))?);
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

/// What each profile costs; the floor is the command by itself. One is run after the other, so that what else the machine
/// does concerns all of them.
fn profiles(
    starts: usize,
    mut run: impl FnMut(Option<&str>) -> anyhow::Result<Duration>,
) -> anyhow::Result<Vec<Figure>> {
    let (mut bare, mut held) = (Vec::new(), PROFILES.map(|_| Vec::new()));
    for _ in 0..=starts {
        bare.push(run(None)?);
        for (profile, times) in PROFILES.iter().zip(&mut held) {
            times.push(run(Some(profile))?);
        }
    }
    // The first ones warm the machine up.
    let middle = |times: &[Duration]| millis(median(times.iter().skip(1).copied()));
    let figure = |(profile, times): (&&str, Vec<Duration>)| Figure {
        name: format!("`true` under `{profile}`, beside `true` by itself"),
        unit: Unit::Millis,
        tiller: middle(&times),
        floor: middle(&bare),
        goal: None,
    };
    Ok(PROFILES.iter().zip(held).map(figure).collect())
}

/// Runs `true`, under a profile or by itself.
fn run_true(arena: &Arena, profile: Option<&str>) -> anyhow::Result<Duration> {
    let Some(profile) = profile else {
        return took(Running::start(Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()))?);
    };
    let words = ["sandbox", "run", "--profile", profile, "--", "true"];
    let server = Arena::server();
    let mut command = arena.command(Contestant::Tiller(&words), Directory::Repository, &server);
    took(Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?)
}

fn took(running: Running) -> anyhow::Result<Duration> {
    let started = running.started;
    Ok(running.finish()? - started)
}

#[cfg(test)]
mod tests {
    use super::*;

    // KERN-09
    #[test]
    fn every_profile_is_measured_beside_the_command_by_itself() {
        let mut first_round = true;
        let mut ran = Vec::new();
        let figures = profiles(3, |profile| {
            ran.push(profile.unwrap_or("nothing").to_owned());
            // The first time everything is slow, which must not count.
            let warm = !(first_round && ran.len() <= 1 + PROFILES.len());
            first_round &= !warm;
            let millis = match profile {
                None => 2,
                Some("read-only") => 12,
                Some("workspace") => 10,
                Some(_) => 4,
            };
            Ok(Duration::from_millis(if warm { millis } else { 1_000 }))
        });
        assert_eq!(ran[..4], ["nothing", "read-only", "workspace", "full"], "in turn");
        assert_eq!(ran.len(), 4 * 4);
        let shown: Vec<(bool, f64, f64)> = figures
            .unwrap()
            .iter()
            .zip(PROFILES)
            .map(|(figure, profile)| (figure.name.contains(profile), figure.tiller, figure.floor))
            .collect();
        assert_eq!(shown, [(true, 12.0, 2.0), (true, 10.0, 2.0), (true, 4.0, 2.0)]);
    }
}
