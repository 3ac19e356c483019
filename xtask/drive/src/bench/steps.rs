//! One long session: what a step costs early and late, and how memory grows.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use tempfile::NamedTempFile;
use tiller_testkit::{ModelServer, Reply};

use super::Effort;
use super::arena::{Arena, Contestant, Directory, Running, body_size};
use super::figure::{Figure, Goal, Unit};
use super::session::{Peaks, Session, WINDOW, lock, overheads, peak_memory};
use super::turns::{Seat, Turns};

const TILLER: &[&str] = &["-p", "go", "--allowedTools", "Bash"];
/// The same without confinement of commands.
const UNCONFINED: &[&str] = &["-p", "go", "--permission-mode", "bypassPermissions"];
/// Steps that are compared with and without.
const COMPARED: usize = 60;

const OVERHEAD_GOAL: Goal = Goal::RatioAtMost(2.0);
/// Growth beyond that of the floor, whose body grows as well.
const FLAT_GOAL: Goal = Goal::RatioAtMost(1.25);
/// Of memory, and the step at which it has to hold.
const MEMORY_GOAL: (usize, Goal) = (300, Goal::AtMost(30.0));

pub(super) fn measure(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let last = effort.marks.last().copied().unwrap_or_default();
    let plan = Plan { steps: last + WINDOW + 1, marks: effort.marks, ..NOTHING };
    let sizes = sizes(arena, plan.steps)?;
    let (long, short) = (listed(&sizes)?, listed(&sizes[..=COMPARED])?);
    let (tiller, floor) = in_turns(
        arena,
        plan,
        [Contestant::Tiller(TILLER), Contestant::Floor(&["steps", &path_of(&long), plan.command])],
    )?;
    let mut figures = figures(&tiller, &floor, effort.marks);
    let path = path_of(&short);
    for (name, plan) in OTHERS {
        let floor = &["steps", path.as_str(), plan.command];
        let (tiller, floor) = in_turns(arena, *plan, [Contestant::Tiller(TILLER), Contestant::Floor(floor)])?;
        figures.push(beside(name, &tiller, &floor, Some(OVERHEAD_GOAL)));
    }
    let alone = Plan { steps: COMPARED, ..NOTHING };
    let tiller = run(arena, Contestant::Tiller(TILLER), alone, None)?;
    let floor = run(arena, Contestant::Floor(&["steps", &path, alone.command]), alone, None)?;
    figures.push(beside("a step that is answered at once", &tiller, &floor, None));
    figures.push(confinement(arena)?);
    Ok(figures)
}

/// Two sessions that take turns, step by step.
fn in_turns(arena: &Arena, plan: Plan, who: [Contestant<'_>; 2]) -> anyhow::Result<(Session, Session)> {
    let turns = Turns::default();
    let [first, second] = who;
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| run(arena, first, plan, Some((&turns, Seat::First))));
        let second = run(arena, second, plan, Some((&turns, Seat::Second)));
        (first.join(), second)
    });
    let first = first.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok((first, second?))
}

/// What a step costs with its command confined, beside one whose command is only in custody.
fn confinement(arena: &Arena) -> anyhow::Result<Figure> {
    let plan = Plan { steps: COMPARED, ..NOTHING };
    let (confined, free) =
        in_turns(arena, plan, [Contestant::Tiller(TILLER), Contestant::Tiller(UNCONFINED)])?;
    Ok(beside("step with its command confined, beside one without", &confined, &free, None))
}

/// The steps in the middle of two short sessions.
fn beside(name: &str, tiller: &Session, floor: &Session, goal: Option<Goal>) -> Figure {
    Figure {
        name: name.to_owned(),
        unit: Unit::Millis,
        tiller: tiller.overhead(COMPARED / 2),
        floor: floor.overhead(COMPARED / 2),
        goal,
    }
}

/// The sizes of the floor's bodies: as Tiller's grow in a short session, carried on.
fn sizes(arena: &Arena, steps: usize) -> anyhow::Result<Vec<usize>> {
    const SHORT: usize = 12;
    let short = Plan { steps: SHORT, ..NOTHING };
    let seen = run(arena, Contestant::Tiller(TILLER), short, None)?.sizes;
    let growth = (seen[SHORT] - seen[2]) / (SHORT - 2);
    Ok((0..=steps).map(|step| seen[0] + step * growth).collect())
}

/// A list of sizes for the floor, which makes one request of each.
fn listed(sizes: &[usize]) -> anyhow::Result<NamedTempFile> {
    let list: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    let file = NamedTempFile::new()?;
    fs_err::write(file.path(), list.join("\n"))?;
    Ok(file)
}

fn path_of(file: &NamedTempFile) -> String {
    file.path().display().to_string()
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

/// What happens in a session.
#[derive(Clone, Copy)]
struct Plan {
    steps: usize,
    /// Where memory is read.
    marks: &'static [usize],
    /// What each step runs.
    command: &'static str,
    /// How long the model thinks before it answers.
    thinking: Duration,
}

/// A session without a step.
const NOTHING: Plan = Plan { steps: 0, marks: &[], command: "true", thinking: Duration::ZERO };

/// Other kinds of step.
const OTHERS: &[(&str, Plan)] = &[
    ("a step that writes a file", Plan { steps: COMPARED, command: "echo text > file", ..NOTHING }),
    (
        "a step after a model that thinks for 50 ms",
        Plan { steps: COMPARED, thinking: Duration::from_millis(50), ..NOTHING },
    ),
];

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
        std::thread::sleep(plan.thinking);
        if step > plan.steps {
            return Reply::text("Done.");
        }
        Reply::new().tool("Bash", json!({ "command": plan.command, "description": "Do nothing" }))
    });
    peaks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_confinement_is_that_of_the_same_step_without() {
        let session = |millis| Session {
            overheads: vec![Duration::from_millis(millis); COMPARED],
            sizes: Vec::new(),
            peaks: Vec::new(),
        };
        let figure = beside("confined", &session(5), &session(2), None);
        assert_eq!((figure.tiller, figure.floor), (5.0, 2.0));
    }
}
