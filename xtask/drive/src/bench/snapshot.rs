//! What keeping the files costs per step: in a large tree, beside a small one, when a step changes little.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::json;
use tempfile::TempDir;
use tiller_testkit::Reply;

use super::Effort;
use super::arena::{Arena, Contestant, Directory, Running};
use super::figure::{Figure, Goal, Unit};
use super::sample::{median, millis};

const TILLER: &[&str] = &["-p", "go", "--permission-mode", "bypassPermissions"];
/// Files of the trees, fifty in a directory.
const LARGE: usize = 20_000;
const SMALL: usize = 200;
const PER_DIRECTORY: usize = 50;
/// Steps of a session. The first ones look at everything and do not count.
const STEPS: usize = 40;
const FIRST: usize = 3;
/// A step costs what it changes.
const FLAT: Goal = Goal::RatioAtMost(1.5);

pub(super) fn measure(arena: &Arena, _: &Effort) -> anyhow::Result<Vec<Figure>> {
    let (large, small) = (session(arena, LARGE)?, session(arena, SMALL)?);
    let figure = |name: &str, of: fn(&[Duration]) -> f64, goal| Figure {
        name: name.to_owned(),
        unit: Unit::Millis,
        tiller: of(&large),
        floor: of(&small),
        goal,
    };
    let later = |steps: &[Duration]| millis(median(steps.iter().skip(FIRST).copied()));
    let first = |steps: &[Duration]| millis(steps.first().copied().unwrap_or_default());
    Ok(vec![
        figure("first step that changes a file, 20,000 files beside 200", first, None),
        figure("later step that changes a file, 20,000 files beside 200", later, Some(FLAT)),
    ])
}

/// A session in which every step writes one file of a tree; gives the time that each took.
fn session(arena: &Arena, files: usize) -> anyhow::Result<Vec<Duration>> {
    let tree = TempDir::new()?;
    fill(tree.path(), files)?;
    let server = Arena::server();
    let path = tree.path().join("d0").join("written.txt");
    let mut step = 0;
    server.respond_with(move |_| {
        step += 1;
        if step > STEPS {
            return Reply::text("Done.");
        }
        let command = format!("echo {step} > {}", path.display());
        Reply::new().tool("Bash", json!({ "command": command, "description": "Write a file" }))
    });
    let mut command = arena.command(Contestant::Tiller(TILLER), Directory::Empty, &server);
    Running::start(command.current_dir(tree.path()))?.finish()?;
    let requests = server.messages();
    ensure!(requests.len() == STEPS + 1, "{} requests came instead of {}", requests.len(), STEPS + 1);
    let steps = requests.windows(2).map(|pair| {
        let sent = pair[0].sent().context("an answer was not sent to its end")?;
        Ok(pair[1].arrived().saturating_duration_since(sent))
    });
    steps.collect()
}

fn fill(tree: &Path, files: usize) -> anyhow::Result<()> {
    for file in 0..files {
        let directory = tree.join(format!("d{}", file / PER_DIRECTORY));
        if file % PER_DIRECTORY == 0 {
            fs_err::create_dir(&directory)?;
        }
        fs_err::write(directory.join(format!("f{file}.txt")), format!("file {file}\n"))?;
    }
    Ok(())
}
