//! One long session: what a step costs early and late, and how memory grows.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use tempfile::NamedTempFile;
use tiller_testkit::{Captured, ModelServer, Reply};

use super::Effort;
use super::arena::{Arena, Contestant, Directory, Running, body_size};
use super::figure::{Figure, Goal, Unit};
use super::sample::{median, millis};
use super::turns::{Seat, Turns};

const TILLER: &[&str] = &["-p", "go", "--allowedTools", "Bash"];
/// The same without confinement of commands.
const UNCONFINED: &[&str] = &["-p", "go", "--permission-mode", "bypassPermissions"];
/// Steps that are compared with and without.
const COMPARED: usize = 60;

/// Steps on each side of a mark whose overheads count for it.
const WINDOW: usize = 20;
const OVERHEAD_GOAL: Goal = Goal::RatioAtMost(2.0);
/// Growth beyond that of the floor, whose body grows as well.
const FLAT_GOAL: Goal = Goal::RatioAtMost(1.25);
/// Of memory, and the step at which it has to hold.
const MEMORY_GOAL: (usize, Goal) = (300, Goal::AtMost(30.0));

pub(super) fn measure(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let last = effort.marks.last().copied().unwrap_or_default();
    let plan = Plan { steps: last + WINDOW + 1, marks: effort.marks };
    let sizes = sizes(arena, plan.steps)?;
    let path = sizes.path().display().to_string();
    let turns = Turns::default();
    let (tiller, floor) = std::thread::scope(|scope| {
        let tiller =
            scope.spawn(|| run(arena, Contestant::Tiller(TILLER), plan, Some((&turns, Seat::First))));
        let floor = run(arena, Contestant::Floor(&["steps", &path]), plan, Some((&turns, Seat::Second)));
        (tiller.join(), floor)
    });
    let tiller = tiller.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let mut figures = figures(&tiller, &floor?, effort.marks);
    figures.push(confinement(arena)?);
    Ok(figures)
}

/// What a step costs with its command confined, beside one whose command is only in custody.
fn confinement(arena: &Arena) -> anyhow::Result<Figure> {
    let plan = Plan { steps: COMPARED, marks: &[] };
    let turns = Turns::default();
    let (confined, free) = std::thread::scope(|scope| {
        let confined =
            scope.spawn(|| run(arena, Contestant::Tiller(TILLER), plan, Some((&turns, Seat::First))));
        let free = run(arena, Contestant::Tiller(UNCONFINED), plan, Some((&turns, Seat::Second)));
        (confined.join(), free)
    });
    let confined = confined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok(cost_of_confinement(&confined, &free?))
}

fn cost_of_confinement(confined: &Session, free: &Session) -> Figure {
    Figure {
        name: "step with its command confined, beside one without".to_owned(),
        unit: Unit::Millis,
        tiller: confined.overhead(COMPARED / 2),
        floor: free.overhead(COMPARED / 2),
        goal: None,
    }
}

/// The sizes of the floor's bodies: as Tiller's grow in a short session, carried on.
fn sizes(arena: &Arena, steps: usize) -> anyhow::Result<NamedTempFile> {
    const SHORT: usize = 12;
    let short = Plan { steps: SHORT, marks: &[] };
    let seen = run(arena, Contestant::Tiller(TILLER), short, None)?.sizes;
    let growth = (seen[SHORT] - seen[2]) / (SHORT - 2);
    let list: Vec<String> = (0..=steps).map(|step| (seen[0] + step * growth).to_string()).collect();
    let file = NamedTempFile::new()?;
    fs_err::write(file.path(), list.join("\n"))?;
    Ok(file)
}

fn figures(tiller: &Session, floor: &Session, marks: &[usize]) -> Vec<Figure> {
    let overhead = |mark: &usize| Figure {
        name: format!("overhead of step {mark}"),
        unit: Unit::Millis,
        tiller: tiller.overhead(*mark),
        floor: floor.overhead(*mark),
        goal: Some(OVERHEAD_GOAL),
    };
    let memory = |mark: &usize| Figure {
        name: format!("peak memory at step {mark}"),
        unit: Unit::Megabytes,
        tiller: tiller.peak(*mark),
        floor: floor.peak(*mark),
        goal: Some(MEMORY_GOAL.1).filter(|_| *mark == MEMORY_GOAL.0),
    };
    let (first, last) = (marks.first().copied().unwrap_or(1), marks.last().copied().unwrap_or(1));
    let growth = |session: &Session| session.overhead(last) / session.overhead(first);
    let growth = Figure {
        name: format!("growth of overhead, step {first} to {last}"),
        unit: Unit::Times,
        tiller: growth(tiller),
        floor: growth(floor),
        goal: Some(FLAT_GOAL),
    };
    let remembered = marks.iter().filter(|mark| **mark >= MEMORY_GOAL.0);
    marks.iter().map(overhead).chain([growth]).chain(remembered.map(memory)).collect()
}

/// What one session showed.
struct Session {
    /// Before the request of each step but the first: the time since the end of the answer before it.
    overheads: Vec<Duration>,
    /// Of the bodies of requests.
    sizes: Vec<usize>,
    /// Peak memory in megabytes when the request of a step arrived.
    peaks: Vec<(usize, f64)>,
}

impl Session {
    /// Around a step, in milliseconds.
    fn overhead(&self, step: usize) -> f64 {
        let first = step.saturating_sub(1 + WINDOW);
        let window = self.overheads.iter().skip(first).take(step + WINDOW - first);
        millis(median(window.copied()))
    }

    fn peak(&self, step: usize) -> f64 {
        self.peaks.iter().find(|(at, _)| *at == step).map_or(f64::NAN, |(_, peak)| *peak)
    }
}

/// How long a session is, and where memory is read.
#[derive(Clone, Copy)]
struct Plan {
    steps: usize,
    marks: &'static [usize],
}

type Place<'a> = Option<(&'a Turns, Seat)>;

fn run(arena: &Arena, who: Contestant<'_>, plan: Plan, place: Place<'_>) -> anyhow::Result<Session> {
    let session = play(arena, who, plan, place);
    if let Some((turns, _)) = place {
        turns.end();
    }
    session
}

fn play(arena: &Arena, who: Contestant<'_>, plan: Plan, place: Place<'_>) -> anyhow::Result<Session> {
    let server = Arena::server();
    let pid = Arc::new(Mutex::new(0));
    let peaks = script(&server, plan, place, Arc::clone(&pid));
    let running = {
        // The first request is answered only when it is known whose memory to look at.
        let mut pid = lock(&pid);
        let running = Running::start(&mut arena.command(who, Directory::Empty, &server))?;
        *pid = running.child.id();
        running
    };
    running.finish()?;
    let requests = server.messages();
    let expected = plan.steps + 1;
    ensure!(requests.len() == expected, "{} requests came instead of {expected}", requests.len());
    let peaks = lock(&peaks).clone();
    Ok(Session { overheads: overheads(&requests)?, sizes: requests.iter().map(body_size).collect(), peaks })
}

type Peaks = Arc<Mutex<Vec<(usize, f64)>>>;

/// Every answer calls for a command, until there were enough. Memory is read while the client waits for its answer.
fn script(server: &ModelServer, plan: Plan, place: Place<'_>, pid: Arc<Mutex<u32>>) -> Peaks {
    let peaks = Peaks::default();
    let seen = Arc::clone(&peaks);
    let place = place.map(|(turns, seat)| (turns.clone(), seat));
    let mut step = 0;
    server.respond_with(move |_| {
        step += 1;
        if plan.marks.contains(&step)
            && let Some(peak) = peak_memory(*lock(&pid))
        {
            lock(&seen).push((step, peak));
        }
        if let Some((turns, seat)) = &place {
            turns.next(*seat);
        }
        if step > plan.steps {
            return Reply::text("Done.");
        }
        Reply::new().tool("Bash", json!({ "command": "true", "description": "Do nothing" }))
    });
    peaks
}

fn overheads(requests: &[Captured]) -> anyhow::Result<Vec<Duration>> {
    let pairs = requests.windows(2).map(|pair| {
        let sent = pair[0].sent().context("an answer was not sent to its end")?;
        Ok(pair[1].arrived().saturating_duration_since(sent))
    });
    pairs.collect()
}

/// The most memory a process has used so far, in megabytes.
fn peak_memory(pid: u32) -> Option<f64> {
    let status = fs_err::read_to_string(format!("/proc/{pid}/status")).ok()?;
    parse_peak(&status)
}

fn parse_peak(status: &str) -> Option<f64> {
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = kibibytes.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_in_megabytes() {
        assert_eq!(parse_peak("Name:\tx\nVmHWM:\t   10000 kB\nVmRSS:\t 1 kB\n"), Some(10.24));
        assert_eq!(parse_peak("Name:\tx\n"), None);
    }

    // KERN-09
    #[test]
    fn the_cost_of_confinement_is_that_of_the_same_step_without() {
        let session = |millis| Session {
            overheads: vec![Duration::from_millis(millis); COMPARED],
            sizes: Vec::new(),
            peaks: Vec::new(),
        };
        let figure = cost_of_confinement(&session(5), &session(2));
        assert_eq!((figure.tiller, figure.floor), (5.0, 2.0));
    }

    #[test]
    fn a_mark_stands_for_the_steps_around_it() {
        let overheads = (1..=100).map(Duration::from_millis).collect();
        let session = Session { overheads, sizes: Vec::new(), peaks: vec![(3, 7.0)] };
        assert_eq!(session.overhead(50), 50.0);
        assert_eq!(session.overhead(5), 13.0);
        assert_eq!(session.peak(3), 7.0);
        assert!(session.peak(4).is_nan());
    }
}
