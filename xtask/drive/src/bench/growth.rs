//! Long work: what a step costs when thousands have gone before, and how long it takes to go on with a large log.
//!
//! The context of the model fills up as it would, and is folded when it is full.

use std::io::{Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tiller_testkit::{Captured, ModelServer, Reply};

use super::arena::{Arena, Contestant, Directory, Running, body_size};
use super::figure::{Figure, Goal, Unit};
use super::sample::{median, millis};
use super::session::{Peaks, Session, lock, overheads, peak_memory};
use super::{Effort, Length};

/// The first step that later ones are compared with.
const EARLY: usize = 100;
const FLAT_GOAL: Goal = Goal::RatioAtMost(1.25);
const MEMORY_GOAL: Goal = Goal::AtMost(60.0);
const RESUME_GOAL: Goal = Goal::AtMost(150.0);
/// Bytes of the log that is resumed.
const LOG: u64 = 50_000_000;
/// Bytes that make a token, roughly.
const PER_TOKEN: usize = 4;
/// Steps after which the log's size is looked at.
const LOOK_EVERY: usize = 20;
/// How the request for a summary begins.
const SUMMARY: &[u8] = b"Write a summary of the session";

const TILLER: &[&str] = &["-p", "go", "--allowedTools", "Bash"];
const RESUMED: &[&str] = &["-p", "go on", "--continue"];
const FRESH: &[&str] = &["-p", "hello"];

pub(super) fn measure(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let last = match effort.length {
        Length::Short => 1_500,
        Length::Long => 10_000,
    };
    let session = many_steps(arena, last, 0)?;
    // The longer a request the longer it takes to send, whatever has gone before: what is compared has equal requests.
    let missing = session.size(last).saturating_sub(session.size(EARLY));
    let early = many_steps(arena, EARLY, missing)?;
    let mut figures = vec![
        Figure {
            name: format!("overhead of step {last}, beside step {EARLY} with requests as large"),
            unit: Unit::Millis,
            tiller: session.overhead(last),
            floor: early.overhead(EARLY),
            goal: Some(FLAT_GOAL),
        },
        Figure {
            name: format!("peak memory at step {last}, beside step {EARLY}"),
            unit: Unit::Megabytes,
            tiller: session.peak(last),
            floor: session.peak(EARLY),
            goal: Some(MEMORY_GOAL),
        },
    ];
    large_log(arena)?;
    figures.extend(resume(arena, effort)?);
    Ok(figures)
}

/// A session of so many small steps, after a prompt of so many bytes.
fn many_steps(arena: &Arena, last: usize, prompt: usize) -> anyhow::Result<Session> {
    let server = Arena::server();
    let (pid, peaks) = (Arc::new(Mutex::new(0)), Peaks::default());
    let (seen, whose) = (Arc::clone(&peaks), Arc::clone(&pid));
    let mut step = 0;
    let prompt = "Words. ".repeat(prompt / 7);
    let (_, summaries) = play(arena, &server, (TILLER, &prompt), &pid, move || {
        step += 1;
        if [EARLY, last].contains(&step)
            && let Some(peak) = peak_memory(*lock(&whose))
        {
            lock(&seen).push((step, peak));
        }
        (step <= last + super::session::WINDOW).then_some("true")
    })?;
    let requests = server.messages().into_iter().zip(summaries);
    let steps: Vec<Captured> =
        requests.filter(|(_, is_summary)| !is_summary).map(|(request, _)| request).collect();
    let sizes = steps.iter().map(body_size).collect();
    let peaks = lock(&peaks).clone();
    Ok(Session { overheads: overheads(&steps)?, sizes, peaks })
}

/// A session whose log becomes large.
fn large_log(arena: &Arena) -> anyhow::Result<()> {
    let server = Arena::server();
    let home = arena.home().to_owned();
    let mut step = 0;
    let mut size = 0;
    play(arena, &server, (TILLER, ""), &Arc::default(), move || {
        if step % LOOK_EVERY == 0 {
            size = largest_log(&home);
        }
        step += 1;
        (size < LOG).then_some("head -c 20000 /dev/zero | tr '\\0' x")
    })?;
    let size = largest_log(arena.home());
    ensure!(size >= LOG, "the largest log has {size} bytes");
    Ok(())
}

/// From the start of a process that goes on with the session to its first request, beside one that begins.
fn resume(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let start = |words: &[&str]| -> anyhow::Result<(Duration, f64)> {
        let server = Arena::server();
        let pid = Arc::new(Mutex::new(0));
        let (peaks, whose) = (Peaks::default(), Arc::clone(&pid));
        let seen = Arc::clone(&peaks);
        let (started, _) = play(arena, &server, (words, ""), &pid, move || {
            lock(&seen).push((1, peak_memory(*lock(&whose)).unwrap_or(f64::NAN)));
            None
        })?;
        let requests = server.wait_for_messages(1);
        let peak = lock(&peaks).first().map_or(f64::NAN, |(_, peak)| *peak);
        Ok((requests[0].arrived() - started, peak))
    };
    let (mut resumed, mut fresh) = (Vec::new(), Vec::new());
    let mut peaks = (f64::NAN, f64::NAN);
    for _ in 0..effort.starts.min(7) {
        let (time, peak) = start(RESUMED)?;
        resumed.push(time);
        let (fresh_time, fresh_peak) = start(FRESH)?;
        fresh.push(fresh_time);
        peaks = (peak, fresh_peak);
        // What began last is what the next one would go on with.
        forget_latest(arena.home())?;
    }
    Ok(vec![
        Figure {
            name: "resume of a 50 MB log to the first request, beside a new session".to_owned(),
            unit: Unit::Millis,
            tiller: millis(median(resumed)),
            floor: millis(median(fresh)),
            goal: Some(RESUME_GOAL),
        },
        Figure {
            name: "peak memory of that, beside a new session".to_owned(),
            unit: Unit::Megabytes,
            tiller: peaks.0,
            floor: peaks.1,
            goal: Some(MEMORY_GOAL),
        },
    ])
}

/// Runs Tiller with words on its command line and a text at its input, against answers that call for these commands,
/// until there is none. Gives the moment of its start, and which of its requests asked for a summary.
fn play(
    arena: &Arena,
    server: &ModelServer,
    (words, input): (&[&str], &str),
    pid: &Arc<Mutex<u32>>,
    mut command: impl FnMut() -> Option<&'static str> + Send + 'static,
) -> anyhow::Result<(Instant, Vec<bool>)> {
    let summaries = Arc::<Mutex<Vec<bool>>>::default();
    let seen = Arc::clone(&summaries);
    server.respond_with(move |request| {
        let usage = json!({ "input_tokens": body_size(request) / PER_TOKEN });
        let is_summary = request.raw().windows(SUMMARY.len()).any(|part| part == SUMMARY);
        lock(&seen).push(is_summary);
        if is_summary {
            return Reply::text("<summary>Commands were run, and all is well.</summary>").usage(usage);
        }
        let call = |command: &str| -> Value { json!({ "command": command, "description": "Go on" }) };
        match command() {
            Some(command) => Reply::new().tool("Bash", call(command)).usage(usage),
            None => Reply::text("Done.").usage(usage),
        }
    });
    let running = {
        let mut pid = lock(pid);
        let mut tiller = arena.command(Contestant::Tiller(words), Directory::Empty, server);
        if !input.is_empty() {
            let mut file = tempfile::tempfile()?;
            file.write_all(input.as_bytes())?;
            file.rewind()?;
            tiller.stdin(file);
        }
        let running = Running::start(&mut tiller)?;
        *pid = running.child.id();
        running
    };
    let started = running.started;
    running.finish()?;
    let summaries = lock(&summaries).clone();
    Ok((started, summaries))
}

fn logs(home: &Path) -> Vec<(std::path::PathBuf, std::fs::Metadata)> {
    let projects = fs_err::read_dir(home.join(".tiller/projects")).into_iter().flatten().flatten();
    let files = projects.flat_map(|project| fs_err::read_dir(project.path()).into_iter().flatten().flatten());
    let logs = files.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl"));
    logs.filter_map(|file| Some((file.path(), file.metadata().ok()?))).collect()
}

fn largest_log(home: &Path) -> u64 {
    logs(home).iter().map(|(_, meta)| meta.len()).max().unwrap_or(0)
}

/// Removes the log of the session that began last.
fn forget_latest(home: &Path) -> anyhow::Result<()> {
    let logs = logs(home);
    let latest = logs.iter().filter_map(|(path, meta)| Some((meta.created().ok()?, path))).max();
    let (_, path) = latest.context("there is no log")?;
    Ok(fs_err::remove_file(path)?)
}
