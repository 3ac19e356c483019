//! What this machine can hold commands by. What it lacks is left out of the tests, and said.

use std::io::Write;
use std::panic::Location;

use tiller_sandbox::{Level, probe};

/// Set where tests must not be left out for want of namespaces.
const REQUIRED: &str = "TILLER_REQUIRE_NAMESPACES";

/// The version from which on Landlock is enough by itself.
const ALONE: u32 = 3;

/// The means that there are, of those that a profile can be kept by.
#[track_caller]
pub(crate) fn levels() -> Vec<Level> {
    let test = Location::caller();
    [Level::Namespaces, Level::Landlock].into_iter().filter(|level| is_there(*level, test)).collect()
}

/// Whether commands can be held by this.
#[track_caller]
pub(crate) fn has(level: Level) -> bool {
    is_there(level, Location::caller())
}

/// What is missing is said past the capture of output, which would hide it.
fn is_there(level: Level, test: &Location<'_>) -> bool {
    let support = probe();
    let there = match level {
        Level::Landlock => support.landlock.is_some_and(|version| version >= ALONE),
        level => support.level >= level,
    };
    if !there {
        let reasons = support.reasons.join("; ");
        let required = level == Level::Namespaces && std::env::var_os(REQUIRED).is_some();
        assert!(!required, "{REQUIRED} is set, and there are none: {reasons}");
        _ = writeln!(std::io::stderr(), "skipped at {test}: {level:?} cannot hold commands here: {reasons}");
    }
    there
}
