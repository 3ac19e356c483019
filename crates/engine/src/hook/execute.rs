//! One hook, from its start to its end.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tiller_protocol::env::Env;
use tiller_protocol::id::{CallId, EntryId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::background::{self, Background};
use super::case::Case;
use super::combine::Finished;
use super::document::Announcement;
use super::outcome::{Conclusion, HookRun};
use super::output::Ended;
use super::process::{Command, Launch, Running, Waited};
use super::prompt;
use super::registered::{Runnable, Work};
use super::{Judge, Started};

/// What all hooks of one case share.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) case: Arc<Case>,
    /// The case as a hook reads it.
    pub(super) input: Arc<str>,
    pub(super) cwd: PathBuf,
    pub(super) project_dir: PathBuf,
    pub(super) vars: Arc<BTreeMap<String, String>>,
    pub(super) judge: Arc<dyn Judge>,
    pub(super) env: Env,
    pub(super) started: Started,
    pub(super) background: Arc<Background>,
    pub(super) cancel: CancellationToken,
}

impl Surroundings {
    /// Runs a hook to its end; an asynchronous one until it can be left alone.
    pub(super) async fn run(&self, hook: &Runnable) -> Finished {
        let begun = Instant::now();
        let mut run = self.record(hook);
        (self.started)(&run);
        let ended = match &hook.work {
            Work::Command { command, detached } => {
                let command = self.command(hook, command, *detached, (begun, &run)).await;
                run.exit_code = command.exit_code;
                run.stdout = command.stdout.text;
                run.stderr = command.stderr.text;
                command.ended
            }
            Work::Prompt(question) => {
                let asking = prompt::ask(self.judge.as_ref(), question, &self.input);
                self.in_time(hook.limit(), asking).await
            }
            Work::Callback { id, caller } => {
                let call: Option<CallId> = self.case.call.clone();
                let calling = caller.call(id.clone(), self.case.value(), call);
                let answering = async {
                    match calling.await {
                        Ok(answer) if answer["async"] == true => Ended::HandedOver,
                        Ok(answer) => Ended::Answered(answer),
                        Err(why) => Ended::Failed(format!("the host did not answer: {why}")),
                    }
                };
                self.in_time(hook.limit(), answering).await
            }
        };
        run.duration = begun.elapsed();
        Finished { run, ended, on_failure: hook.on_failure }
    }

    async fn in_time(&self, limit: Duration, work: impl Future<Output = Ended>) -> Ended {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Ended::Cancelled,
            ended = work => ended,
            () = tokio::time::sleep(limit) => Ended::TimedOut,
        }
    }

    async fn command(
        &self,
        hook: &Runnable,
        command: &str,
        detached: bool,
        (begun, run): (Instant, &HookRun),
    ) -> Command {
        if self.cancel.is_cancelled() {
            return Command::without_output(Ended::Cancelled);
        }
        let launch = Launch {
            command: command.to_owned(),
            cwd: self.starting_dir().to_owned(),
            vars: Arc::clone(&self.vars),
            input: Arc::clone(&self.input),
        };
        let running = match launch.start().await {
            Ok(running) => running,
            Err(command) => return command,
        };
        let limit = hook.timeout.unwrap_or(background::DEFAULT_LIMIT);
        if detached {
            return self.leave_alone(running, limit, begun, run.clone());
        }
        match running.wait(hook.limit(), &self.cancel).await {
            Waited::Announced(running, announcement) => {
                let limit = announcement.limit(limit);
                self.leave_alone(running, limit, begun, run.clone())
            }
            // One that was quicker than whoever listens to it still has no say.
            Waited::Ended(command) if Announcement::read(command.stdout.text.as_bytes()).is_some() => {
                let run = HookRun { duration: begun.elapsed(), ..run.clone() };
                self.background.keep(background::response(command, run, self.case.call.clone()));
                Command::without_output(Ended::RunsOn)
            }
            Waited::Ended(command) => command,
        }
    }

    /// Where commands start: where the agent is, or in the project if nobody can be there. The agent must not get rid of
    /// a guard by making its own directory inaccessible.
    fn starting_dir(&self) -> &Path {
        // To look at a directory from within, one has to be able to enter it.
        let can_enter = |dir: &Path| fs_err::metadata(dir.join(".")).is_ok_and(|found| found.is_dir());
        match can_enter(&self.cwd) || !can_enter(&self.project_dir) {
            true => &self.cwd,
            false => &self.project_dir,
        }
    }

    /// Its final record, which it gets at its end, is the one under which its start was told.
    fn leave_alone(&self, running: Running, limit: Duration, begun: Instant, mut run: HookRun) -> Command {
        let (background, call) = (Arc::clone(&self.background), self.case.call.clone());
        self.background.spawn(async move {
            let command = running.wait_for_response(limit, &background.ended).await;
            run.duration = begun.elapsed();
            background.keep(background::response(command, run, call));
        });
        Command::without_output(Ended::RunsOn)
    }

    /// The record of a hook of which nothing is known yet.
    fn record(&self, hook: &Runnable) -> HookRun {
        HookRun {
            id: EntryId(self.env.fresh()),
            event: self.case.event,
            hook_name: hook.name().to_owned(),
            source: hook.source.clone(),
            conclusion: Conclusion::Success,
            exit_code: None,
            duration: Duration::ZERO,
            stdout: String::new(),
            stderr: String::new(),
            suppressed: false,
        }
    }
}
