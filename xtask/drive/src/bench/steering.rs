//! How much of what is sent is steering: bytes that Tiller adds by itself, over all requests of a task as people give
//! it. The floor is the same task with attachments switched off, which leaves the instruction file and the state of
//! the repository.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_testkit::Reply;

use super::Effort;
use super::arena::{Arena, Contestant, Directory, Running};
use super::figure::{Figure, Goal, Unit};
use xtask::program::{command, must_succeed};

/// Requests of the task before the one that ends it.
const STEPS: usize = 30;
const GOAL: Goal = Goal::AtMost(3.0);

const INSTRUCTIONS: &str = "\
# Working here

Rust, edition 2024. `cargo test` before you say that something is done.

* Modules are small; names are words.
* Errors are `thiserror` enums, messages say what to do next.
* No `unwrap` outside of tests. Tests stand beside the code.
* Every change that users notice gets a line in CHANGELOG.md.
* The pump is hardware: what talks to it lies in `src/pump.rs` and nowhere else.
";

pub(super) fn measure(arena: &Arena, _: &Effort) -> anyhow::Result<Vec<Figure>> {
    Ok(vec![Figure {
        name: format!("steering in a task of {STEPS} steps"),
        unit: Unit::Percent,
        tiller: share(arena, "0")?,
        floor: share(arena, "1")?,
        goal: Some(GOAL),
    }])
}

/// Steering of all requests, in hundredths of all that was sent.
fn share(arena: &Arena, attachments_off: &str) -> anyhow::Result<f64> {
    let project = TempDir::new()?;
    fill(project.path())?;
    let server = Arena::server();
    let mut step = 0;
    let dir = project.path().to_owned();
    server.respond_with(move |_| {
        step += 1;
        reply(step, &dir)
    });
    // What the user mentions with an @ would count, too, but is the user's choice.
    let prompt = "Make the pump retry, like the valve does, and keep the tests green.";
    let words = ["-p", prompt, "--permission-mode", "bypassPermissions"];
    let mut task = arena.command(Contestant::Tiller(&words), Directory::Empty, &server);
    task.current_dir(project.path()).env("TILLER_DISABLE_ATTACHMENTS", attachments_off);
    Running::start(&mut task)?.finish()?;
    let words = ["inspect", "latest", "--json"];
    let mut inspect = arena.command(Contestant::Tiller(&words), Directory::Empty, &server);
    let output = inspect.current_dir(project.path()).stdout(Stdio::piped()).output()?;
    of_report(&serde_json::from_slice(&output.stdout).context("the session cannot be inspected")?)
}

fn of_report(report: &Value) -> anyhow::Result<f64> {
    let turns = report["turns"].as_array().context("the report has no turns")?;
    let steps: Vec<&Value> = turns.iter().filter_map(|turn| turn["steps"].as_array()).flatten().collect();
    ensure!(steps.len() == STEPS + 1, "{} requests were made instead of {}", steps.len(), STEPS + 1);
    let sum = |field: &str| steps.iter().filter_map(|step| step[field].as_f64()).sum::<f64>();
    Ok(100.0 * sum("steeringBytes") / sum("sentBytes"))
}

/// A task as it goes: look around, plan, read, edit, test, while a formatter changes what was edited, twice.
fn reply(step: usize, dir: &Path) -> Reply {
    let file = |number: usize| dir.join(format!("src/part_{}.rs", number % 10));
    let todos = |status: &str| {
        let todo = |content: &str, status: &str| json!({"content": content, "status": status, "activeForm": content});
        json!({"todos": [todo("Read the pump", status), todo("Retry", "pending"), todo("Test", "pending")]})
    };
    let (tool, input) = match step {
        1 => ("Grep", json!({"pattern": "retry", "path": dir})),
        2 => ("TodoWrite", todos("in_progress")),
        3 => ("Read", json!({"file_path": dir.join("src/pump.rs")})),
        4..=8 => ("Read", json!({"file_path": file(step)})),
        9 => ("TodoWrite", todos("completed")),
        14 | 26 => {
            let command = "sed -i '$a // formatted' src/pump.rs";
            ("Bash", json!({"command": command, "description": "Format"}))
        }
        _ if step > STEPS => return Reply::text("The pump retries now, and the tests are green."),
        _ => match step % 4 {
            0 => ("Read", json!({"file_path": file(step)})),
            1 => {
                let (old, new) = (format!("step {step} waits"), format!("step {step} retries"));
                let path = dir.join("src/pump.rs");
                ("Edit", json!({"file_path": path, "old_string": old, "new_string": new}))
            }
            _ => (
                "Bash",
                json!({"command": "grep -c . src/*.rs; head -40 src/pump.rs", "description": "Test"}),
            ),
        },
    };
    Reply::new().tool(tool, input)
}

fn fill(project: &Path) -> anyhow::Result<()> {
    fs_err::create_dir(project.join("src"))?;
    fs_err::write(project.join("AGENTS.md"), INSTRUCTIONS)?;
    let lines = |name: &str| -> String {
        (1..=60).map(|line| format!("    let {name}_{line} = open(\"step {line} waits\")?;\n")).collect()
    };
    let names = (0..10).map(|number| format!("part_{number}")).chain(["pump".to_owned(), "valve".to_owned()]);
    for name in names {
        fs_err::write(
            project.join(format!("src/{name}.rs")),
            format!("fn {name}() {{\n{}}}\n", lines(&name)),
        )?;
    }
    must_succeed(command(project, "git", &["init", "--quiet", "--initial-branch=main"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_all_requests() {
        let step = |steering: u64| json!({"sentBytes": 1_000, "steeringBytes": steering});
        let steps: Vec<Value> = (0..=STEPS).map(|number| step(if number == 0 { 310 } else { 0 })).collect();
        assert!((of_report(&json!({"turns": [{"steps": steps}]})).unwrap() - 1.0).abs() < 1e-9);
        assert!(of_report(&json!({"turns": []})).is_err());
    }
}
