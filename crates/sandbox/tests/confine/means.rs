//! What this machine can hold commands by. What it lacks is left out of the tests, and said.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Mutex;

use tiller_sandbox::{Level, probe};

/// Set where nothing must be left out for want of namespaces.
const REQUIRED: &str = "TILLER_REQUIRE_NAMESPACES";

/// The version from which on Landlock is enough by itself.
const ALONE: u32 = 3;

/// The means that there are, of those that a profile can be kept by.
pub(crate) fn levels() -> Vec<Level> {
    [Level::Namespaces, Level::Landlock].into_iter().filter(|level| has(*level)).collect()
}

/// Whether commands can be held by this.
pub(crate) fn has(level: Level) -> bool {
    let support = probe();
    let there = match level {
        Level::Landlock => support.landlock.is_some_and(|version| version >= ALONE),
        level => support.level >= level,
    };
    if !there {
        let reasons = support.reasons.join("; ");
        let required = level == Level::Namespaces && std::env::var_os(REQUIRED).is_some();
        assert!(!required, "{REQUIRED} is set, and there are none: {reasons}");
        say_once(&format!("skipped: {level:?} cannot hold commands here: {reasons}"));
    }
    there
}

/// Says it of the test that runs, past the capture of output, which would hide it.
fn say_once(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = format!("{} {what}\n", std::thread::current().name().unwrap_or_default());
    if SAID.lock().unwrap().insert(line.clone()) {
        _ = std::io::stderr().write_all(line.as_bytes());
    }
}
