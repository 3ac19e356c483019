//! From starting the process to the arrival of its first request.

use std::time::Duration;

use tiller_testkit::Reply;

use super::Effort;
use super::arena::{Arena, Contestant, Directory, Running, body_size};
use super::figure::{Figure, Goal, Unit};
use super::sample::{median, millis};

const GOAL: Goal = Goal::AtMost(25.0);

pub(super) fn measure(arena: &Arena, effort: &Effort) -> anyhow::Result<Vec<Figure>> {
    let directories =
        [(Directory::Empty, "an empty directory"), (Directory::Repository, "a small git repository")];
    directories.iter().map(|(directory, name)| measure_in(arena, effort, *directory, name)).collect()
}

/// The contestants take turns, so that a busy moment of the machine hits both.
fn measure_in(arena: &Arena, effort: &Effort, directory: Directory, name: &str) -> anyhow::Result<Figure> {
    let (warm_up, size) = start(arena, Contestant::Tiller(&["-p", "hello"]), directory)?;
    let size = size.to_string();
    let mut tiller = vec![warm_up];
    let mut floor = vec![start(arena, Contestant::Floor(&["once", &size]), directory)?.0];
    for _ in 0..effort.starts {
        tiller.push(start(arena, Contestant::Tiller(&["-p", "hello"]), directory)?.0);
        floor.push(start(arena, Contestant::Floor(&["once", &size]), directory)?.0);
    }
    let middle = |times: Vec<Duration>| millis(median(times.into_iter().skip(1)));
    Ok(Figure {
        name: format!("start to first request, {name}"),
        unit: Unit::Millis,
        tiller: middle(tiller),
        floor: middle(floor),
        goal: Some(GOAL),
    })
}

/// How long it took, and how large the request was.
fn start(arena: &Arena, who: Contestant<'_>, directory: Directory) -> anyhow::Result<(Duration, usize)> {
    let server = Arena::server();
    server.reply(Reply::text("Hello."));
    let running = Running::start(&mut arena.command(who, directory, &server))?;
    let started = running.started;
    running.finish()?;
    let requests = server.wait_for_messages(1);
    Ok((requests[0].arrived() - started, body_size(&requests[0])))
}
