//! Running a command while a call waits for it.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use futures::FutureExt;
use serde_json::json;
use tiller_policy::{Permit, Script};
use tiller_sandbox::{
    Confinement, Output, Profile, Spawn, Spool, SpoolStart, Status, Stdin, Successor, spawn_confined,
};

use super::BashInput;
use super::clean::clean;
use super::outcome::{Outcome, Stop};
use super::report::without_first_word;
use crate::cx::ToolCx;
use crate::harmless_git;
use crate::shells::{Attended, Held, Running, ShellInfo, ShellState};
use crate::tool::ToolError;

/// The shortest time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Bytes of output that a report of progress shows.
const PROGRESS_BYTES: usize = 2_000;

/// What comes of waiting for a command.
pub(super) enum Attempt {
    /// It has ended.
    Ended(Outcome),
    /// It goes on in the background.
    Moved(ShellInfo),
}

/// Runs the command once, held like this.
pub(super) async fn attempt(
    input: &BashInput,
    permit: &Permit,
    confinement: &Confinement,
    cx: &ToolCx,
) -> Result<Attempt, ToolError> {
    let spool = Spool { dir: cx.view.spill_dir.clone(), start: SpoolStart::WhenFull };
    let extra = harmless_git::variables(&cx.permit);
    let spec = Spawn {
        call: &cx.call,
        vars: &cx.env.vars,
        stdin: Stdin::Closed,
        spool,
        extra: &extra,
        successor: Successor::Likely,
    };
    // What is changed while planning is thrown away at the command's end, so somebody has to wait for it.
    let attended = (confinement.profile != Profile::ReadOnly).then(|| cx.shells.attend(&cx.call));
    let started = Instant::now();
    let child = spawn_confined(permit, &spec, confinement).await?;
    let (output, level) = (child.output(), child.level());
    let mut end = child.finish(stop(input.limit(), attended.as_ref(), cx)).boxed();
    let (exit, stop) = tokio::select! {
        ended = &mut end => ended,
        never = report_progress(&output, cx, started) => match never {},
        attended = to_be_moved(attended.as_ref()) => {
            let Script { command, cwd } = permit.script()?.clone();
            let held = Held { permit: permit.clone(), confinement: confinement.clone(), level, cwd };
            output.store_all();
            return Ok(Attempt::Moved(cx.shells.enter(Running {
                call: cx.call.clone(),
                command,
                started: attended.since,
                held,
                output,
                stdin: None,
                stop: attended.stop.clone(),
                end: end.map(|(exit, stop)| state(exit.status, stop)).boxed(),
            })));
        }
    };
    let (stdout, stderr) = output.take();
    Ok(Attempt::Ended(Outcome { exit, stop, stdout, stderr, took: started.elapsed(), level }))
}

/// Waits until the command is to be ended: by the call's own limits, or once it has been moved by whoever stops it there.
fn stop(
    limit: Duration,
    attended: Option<&Attended>,
    cx: &ToolCx,
) -> impl Future<Output = Stop> + Send + use<> {
    let cancel = cx.cancel.clone();
    let tokens = attended.map(|attended| (attended.moved.clone(), attended.stop.clone()));
    async move {
        let moved = async {
            match tokens {
                Some((moved, stop)) => {
                    moved.cancelled().await;
                    stop
                }
                None => std::future::pending().await,
            }
        };
        let stop = tokio::select! {
            biased;
            stop = moved => stop,
            () = cancel.cancelled() => return Stop::Interrupted,
            () = tokio::time::sleep(limit) => return Stop::TimedOut(limit),
        };
        stop.cancelled().await;
        Stop::Interrupted
    }
}

fn state(status: Status, stop: Option<Stop>) -> ShellState {
    stop.map_or(ShellState::Ended(status), |_| ShellState::Killed)
}

async fn to_be_moved(attended: Option<&Attended>) -> &Attended {
    match attended {
        Some(attended) => {
            attended.moved.cancelled().await;
            attended
        }
        None => std::future::pending().await,
    }
}

/// Tells the front end what a running command prints: at once, then at most every so often.
async fn report_progress(output: &Output, cx: &ToolCx, started: Instant) -> Infallible {
    loop {
        output.grown().await;
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (last, total) = (output.last(PROGRESS_BYTES), output.total());
        let whole = total <= PROGRESS_BYTES as u64;
        let shown = clean(if whole { &last } else { without_first_word(&last) });
        let data =
            json!({"type": "bash_progress", "output": shown, "totalBytes": total, "elapsedMs": elapsed});
        cx.host.progress(data);
        tokio::time::sleep(PROGRESS_EVERY).await;
    }
}
