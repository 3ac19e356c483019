//! A long answer in small pieces: wall time and processor time.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use tiller_testkit::Reply;

use super::Effort;
use super::arena::{Arena, Contestant, Directory, body_size};
use super::figure::{Figure, Unit};
use super::sample::{median, millis};

const LENGTH: usize = 2_000_000;
const PIECE: usize = 16;

/// Bash tells how much processor time a program took, to the millisecond.
const TIMED: &str = r#"TIMEFORMAT='%3U %3S'; time "$0" "$@" 2>/dev/null"#;

pub(super) fn measure(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let quiet: &[&str] = &["-p", "tell"];
    let loud: &[&str] = &["-p", "tell", "--output-format", "stream-json", "--include-partial-messages"];
    let size = run(arena, Contestant::Tiller(quiet))?.size.to_string();
    let [mut printed, mut streamed, mut floor] = [const { Vec::new() }; 3];
    for _ in 0..effort.streams {
        printed.push(run(arena, Contestant::Tiller(quiet))?);
        streamed.push(run(arena, Contestant::Tiller(loud))?);
        floor.push(run(arena, Contestant::Floor(&["once", &size]))?);
    }
    let ways = [("2 MB answer", &printed), ("2 MB answer as stream-json", &streamed)];
    let figures = ways.iter().flat_map(|(name, runs)| {
        let figure = |what: &str, time: fn(&Run) -> Duration| Figure {
            name: format!("{name}, {what}"),
            unit: Unit::Millis,
            tiller: millis(median(runs.iter().map(time))),
            floor: millis(median(floor.iter().map(time))),
            goal: None,
        };
        [figure("wall time", |run| run.wall), figure("processor time", |run| run.processor)]
    });
    Ok(figures.collect())
}

struct Run {
    /// From the arrival of the request to the end of the process.
    wall: Duration,
    processor: Duration,
    size: usize,
}

fn run(arena: &Arena, who: Contestant<'_>) -> anyhow::Result<Run> {
    let server = Arena::server();
    server.reply(Reply::text("All of it. ".repeat(LENGTH / 11)).chunked(PIECE));
    let plain = arena.command(who, Directory::Empty, &server);
    let output = timed(&plain).stderr(Stdio::piped()).output()?;
    let ended = std::time::Instant::now();
    ensure!(output.status.success(), "a benchmarked program failed ({})", output.status);
    let requests = server.wait_for_messages(1);
    Ok(Run {
        wall: ended - requests[0].arrived(),
        processor: processor_time(&String::from_utf8_lossy(&output.stderr))?,
        size: body_size(&requests[0]),
    })
}

/// The same command, run by a bash that prints its processor time.
fn timed(plain: &Command) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", TIMED]).arg(plain.get_program()).args(plain.get_args()).env_clear();
    for (name, value) in plain.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    if let Some(dir) = plain.get_current_dir() {
        command.current_dir(dir);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn processor_time(told: &str) -> anyhow::Result<Duration> {
    let seconds = told.split_whitespace().map(|word| word.replace(',', ".").parse::<f64>());
    let seconds: Vec<f64> =
        seconds.collect::<Result<_, _>>().with_context(|| format!("bash said {told:?}"))?;
    Ok(Duration::from_secs_f64(seconds.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_user_and_system() {
        assert_eq!(processor_time("0.120 0,030\n").unwrap(), Duration::from_millis(150));
        assert!(processor_time("bash: no").is_err());
    }
}
