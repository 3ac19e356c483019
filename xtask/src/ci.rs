//! `cargo xtask ci`: everything that must pass, in the order in which it fails fastest.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::setup;
use xtask::program::{cargo, command, must_succeed, succeeds};
use xtask::say;

type Part = (&'static str, fn(&Path) -> anyhow::Result<()>);

const PARTS: [Part; 4] = [
    ("setup", setup::run),
    ("format", |root| must_succeed(cargo(root, &["fmt", "--all", "--check"]))),
    ("lints", |root| {
        must_succeed(cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
    }),
    ("tests", run_tests),
];

/// Where namespaces can be used, no test of confinement may be left out.
fn run_tests(root: &Path) -> anyhow::Result<()> {
    let mut tests = cargo(root, &["test", "--workspace", "--no-fail-fast"]);
    if succeeds(command(root, "unshare", &["--user", "--map-root-user", "true"])) {
        tests.env("TILLER_REQUIRE_NAMESPACES", "1");
    }
    must_succeed(tests)
}

/// Runs all parts; the first that fails ends it.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut took = Vec::new();
    for (name, part) in PARTS {
        say(&format!("==> {name}"));
        let start = Instant::now();
        let result = part(root);
        took.push((name, start.elapsed()));
        if result.is_err() {
            say(&summary(&took));
        }
        result.with_context(|| format!("ci stopped at \"{name}\""))?;
    }
    say(&summary(&took));
    say("ci: everything passed");
    Ok(())
}

fn summary(took: &[(&str, Duration)]) -> String {
    let parts = took.iter().map(|(name, time)| format!("{name} {:.1} s", time.as_secs_f64()));
    format!("==> time: {}", parts.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_each_part_with_its_time() {
        let took = [("format", Duration::from_millis(1_240)), ("tests", Duration::from_secs(61))];
        assert_eq!(summary(&took), "==> time: format 1.2 s, tests 61.0 s");
    }
}
