//! `cargo xtask bench`: how much of the time and memory is Tiller's own. Each figure stands beside a floor that was
//! measured in the same run: a client that does the same work and nothing else.

mod arena;
mod figure;
mod floor;
mod growth;
mod guard;
mod sample;
mod session;
mod snapshot;
mod start;
mod steering;
mod steps;
mod stream;
mod tui;
mod turns;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::bail;

use arena::Arena;
use figure::Figure;
use xtask::program::{cargo, must_succeed};
use xtask::say;

/// How much is measured.
struct Effort {
    /// Starts of the process.
    starts: usize,
    /// Steps at which overhead and memory are read; the session is a little longer than the last.
    marks: &'static [usize],
    /// Long answers.
    streams: usize,
    /// Of long sessions.
    length: Length,
}

/// How long a long session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// Long enough to show what grows.
    Short,
    /// As long as it gets.
    Long,
}

const FULL: Effort = Effort { starts: 20, marks: &[10, 100, 300, 1000], streams: 5, length: Length::Short };
const QUICK: Effort = Effort { starts: 7, marks: &[10, 100, 300], streams: 1, length: Length::Short };

type Measure = fn(&Arena, &Effort) -> anyhow::Result<Vec<Figure>>;

/// What can be measured by itself.
const GROUPS: &[(&str, Measure)] = &[
    ("start", start::measure),
    ("steps", steps::measure),
    ("stream", stream::measure),
    ("guard", guard::measure),
    ("steering", steering::measure),
    ("growth", growth::measure),
    ("tui", tui::measure),
    ("snapshot", snapshot::measure),
];

/// Measures and prints. Timings never fail the chore: they depend on the machine.
pub(crate) fn run(root: &Path, options: &[&str]) -> anyhow::Result<()> {
    if let ["floor", options @ ..] = options {
        return floor::run(options);
    }
    let is_group = |option: &&&str| GROUPS.iter().any(|(name, _)| name == *option);
    let chosen: Vec<&&str> = options.iter().filter(is_group).collect();
    let is_option = |option: &&&str| is_group(option) || matches!(**option, "--quick" | "--json");
    if let Some(unknown) = options.iter().find(|option| !is_option(option)) {
        let names: Vec<&str> = GROUPS.iter().map(|(name, _)| *name).collect();
        bail!("bench has no option \"{unknown}\"; there are --quick, --json and {}", names.join(", "));
    }
    must_succeed(cargo(root, &["build", "--quiet", "--release", "--package", "tiller"]))?;
    let mut effort = if options.contains(&"--quick") { QUICK } else { FULL };
    if chosen.iter().any(|group| **group == "growth") {
        effort.length = Length::Long;
    }
    let arena = Arena::new(root)?;
    let (mut figures, mut failed) = (Vec::new(), Vec::new());
    for (name, measure) in GROUPS {
        if chosen.is_empty() || chosen.contains(&name) {
            // What the other groups have measured is not lost, also if a program was waited for in vain, which panics.
            match catch_unwind(AssertUnwindSafe(|| measure(&arena, &effort))) {
                Ok(Ok(measured)) => figures.extend(measured),
                Ok(Err(error)) => failed.push(format!("{name}: {error:#}")),
                Err(_) => failed.push(format!("{name}: it broke off, as was told above")),
            }
        }
    }
    say(&if options.contains(&"--json") { figure::json(&figures) } else { figure::table(&figures) });
    if !failed.is_empty() {
        bail!("not everything could be measured\n{}", failed.join("\n"));
    }
    Ok(())
}
