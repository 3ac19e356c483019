//! Running without a terminal: one prompt, or a stream of messages, in; text or JSON out.

mod background;
mod compact;
mod consult;
mod context;
mod control;
mod delegated;
mod denials;
mod frames;
mod initialize;
mod input;
mod output;
mod pipeline;
mod rewinds;
mod servers;
mod signals;
mod tally;

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use tiller_engine::Session;
use tiller_protocol::command::{BackgroundTask, Command, Event, TaskState, UserInput};
use tiller_protocol::entry::{Body, Entry};
use tiller_tools::{StructuredOutput, Tool};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) use context::ContextTerms;
pub(crate) use control::Terms;
pub(crate) use frames::SessionFacts;
pub(crate) use input::Piped;
pub(crate) use output::never_started;
pub(crate) use tally::Halt;

use crate::args::{Args, InputFormat, OutputFormat};
use crate::exit::Exit;
use consult::EditedPlan;
use control::{Control, Reaction};
use input::Lines;
use output::Output;
use signals::Endings;
use tally::Tally;

/// What a headless run was asked to do.
pub(crate) struct Job {
    pub(crate) prompt: Option<String>,
    /// What was noticed before the run began, for its result.
    pub(crate) warning: Option<String>,
    pub(crate) output: OutputFormat,
    pub(crate) input: InputFormat,
    pub(crate) verbose: bool,
    pub(crate) partial: bool,
    pub(crate) hooks: bool,
    pub(crate) replay: bool,
    pub(crate) session_states: bool,
}

impl Job {
    /// Reads the job from the command line.
    pub(crate) fn new(args: &Args, asked: Asked, session_states: bool) -> Self {
        let Asked { prompt, warning } = asked;
        Self {
            prompt,
            warning,
            output: args.output_format,
            input: args.input_format,
            verbose: args.verbose,
            partial: args.include_partial_messages,
            hooks: args.include_hook_events,
            replay: args.replay_user_messages,
            session_states,
        }
    }
}

/// What the user asks for.
pub(crate) struct Asked {
    pub(crate) prompt: Option<String>,
    pub(crate) warning: Option<String>,
}

/// Runs a job to its end.
pub(crate) async fn run(
    job: Job,
    session: Session,
    facts: SessionFacts,
    terms: Terms,
) -> anyhow::Result<Exit> {
    let mut tally = Tally::new(session.history.clone(), session.paths.log.clone());
    tally.warnings.extend(job.warning.clone());
    let output = Output::new(&job, facts.into_session(session.id));
    let streaming = job.input == InputFormat::StreamJson;
    let mut run = Run {
        control: Control::new(terms),
        lines: streaming.then(Lines::from_stdin),
        interrupt: signal(SignalKind::interrupt())?,
        endings: Endings::new()?,
        stopped_by: None,
        stopped_at: None,
        exit: Exit::Success,
        streaming,
        caught_up: false,
        session,
        tally,
        output,
    };
    run.catch_up().await?;
    if let Some(prompt) = &job.prompt {
        run.send(Command::Submit(UserInput::text(prompt))).await;
    }
    if !streaming {
        run.send(Command::Close).await;
    }
    run.serve().await
}

/// Text on standard input, unless it is a terminal or nothing comes.
pub(crate) async fn piped_text(has_prompt: bool) -> anyhow::Result<Piped> {
    if std::io::stdin().is_terminal() {
        return Ok(Piped::default());
    }
    input::text(has_prompt).await
}

/// Signals closer together than this are one.
const SAME_WISH: Duration = Duration::from_millis(500);

struct Run {
    session: Session,
    tally: Tally,
    output: Output,
    control: Control,
    lines: Option<Lines>,
    interrupt: Signal,
    endings: Endings,
    stopped_by: Option<Exit>,
    stopped_at: Option<Instant>,
    exit: Exit,
    streaming: bool,
    /// What comes now is news, and not how the session was opened.
    caught_up: bool,
}

impl Run {
    /// Takes in how the session was opened, so that the host's first request finds the facts.
    async fn catch_up(&mut self) -> anyhow::Result<()> {
        while let Ok(event) = self.session.events.try_recv() {
            self.on_event(event).await?;
        }
        self.caught_up = true;
        Ok(())
    }

    async fn serve(mut self) -> anyhow::Result<Exit> {
        loop {
            tokio::select! {
                event = self.session.events.recv() => match event {
                    Some(Event::Closed) => break,
                    Some(event) => self.on_event(event).await?,
                    None => {
                        self.output.crashed(&self.tally)?;
                        return Ok(Exit::Failure);
                    }
                },
                line = next_line(self.lines.as_mut()) => self.on_line(line).await?,
                _ = self.interrupt.recv() => self.stop(Exit::Interrupted).await?,
                () = self.endings.next() => self.stop(Exit::Terminated).await?,
            }
        }
        if self.tally.is_in_turn() {
            self.output.crashed(&self.tally)?;
            return Ok(Exit::Failure);
        }
        self.output.finish(&self.tally)?;
        Ok(self.final_exit())
    }

    async fn on_event(&mut self, event: Event) -> anyhow::Result<()> {
        match &event {
            Event::Appended(entry) => {
                self.tally.take(entry);
                self.note_end(entry);
            }
            Event::Answering { .. } => self.tally.take_usage(&event),
            Event::TurnStarted => self.tally.begin_turn(),
            Event::AgentStarted(info) => self.tally.delegate(info),
            Event::Mcp(server) => self.tally.take_server(server),
            Event::Agent(_, event) => self.tally.take_of_agent(event),
            Event::Rejected(problem) => self.tally.breakdown = Some(problem.clone()),
            Event::TaskChanged(task) => {
                self.tally.take_task(task);
                self.note_task(task);
            }
            _ => {}
        }
        self.output.event(&event, &self.tally)?;
        if self.caught_up && matches!(&event, Event::Appended(entry) if sets_mode(&entry.body)) {
            self.output.mode_changed(self.tally.state.mode)?;
        }
        let reaction = self.control.on_event(&event);
        self.react(reaction).await
    }

    async fn react(&mut self, reaction: Reaction) -> anyhow::Result<()> {
        for frame in reaction.frames {
            self.output.frame(&frame)?;
        }
        self.tally.forward_text = reaction.forward_text.unwrap_or(self.tally.forward_text);
        if let Some(warning) = &reaction.warning {
            self.output.warn("permission_update", warning)?;
        }
        if let Some(EditedPlan { path, plan }) = &reaction.plan
            && let Err(error) = tiller_tools::plan_file::save(path, plan)
        {
            self.output.warn("plan", &format!("The changed plan could not be written: {error}."))?;
        }
        for command in reaction.commands {
            if let Command::AddAgents(given) = &command {
                self.output.offer_agents(given);
            }
            if let Command::SetResultForm(_) = &command {
                self.output.offer_tool(StructuredOutput::NAME);
            }
            if let Command::SetModel(setting) = &command {
                self.output.choose_model(setting);
            }
            self.send(command).await;
        }
        if let Some(problem) = reaction.failure {
            self.give_up(&problem).await;
        }
        Ok(())
    }

    /// Nothing outlives the run: whoever had the model start a server should know that it is gone.
    fn note_task(&self, task: &BackgroundTask) {
        let ends_with_the_run = !self.streaming && !self.tally.is_in_turn();
        if task.state == TaskState::Stopped && ends_with_the_run {
            let what = task.description.lines().next().unwrap_or_default();
            self.output.complain(&format!("{} was stopped at the end of the run: {what}", task.id));
        }
    }

    fn note_end(&mut self, entry: &Entry) {
        // Opening a session may end a turn that an earlier run left open; that says nothing about this run.
        if let Body::TurnEnded(end) = &entry.body
            && self.tally.turns > 0
        {
            self.exit = match self.streaming {
                // SDKs take any other code than 0 for a failed run, and raise only if the result is an error, too.
                true if frames::is_error(&self.tally) => Exit::Failure,
                true => Exit::Success,
                false => Exit::of(&end.outcome, self.tally.halt()),
            };
        }
    }

    async fn on_line(&mut self, line: Option<input::Line>) -> anyhow::Result<()> {
        match line {
            None => {
                self.lines = None;
                for command in self.control.nobody_answers() {
                    self.send(command).await;
                }
                self.send(Command::Close).await;
            }
            Some(Ok(frame)) => {
                let reaction = self.control.on_frame(frame, &self.tally);
                self.react(reaction).await?;
            }
            Some(Err(problem)) => self.give_up(&problem).await,
        }
        Ok(())
    }

    /// The host cannot be understood or served: nothing more is taken from it.
    async fn give_up(&mut self, problem: &str) {
        self.output.complain(problem);
        self.shut_down(Exit::Failure).await;
    }

    /// The first signal ends the turn in order; a second one ends the process.
    async fn stop(&mut self, exit: Exit) -> anyhow::Result<()> {
        // Terminals and wrappers often send one wish twice.
        if self.stopped_at.is_some_and(|at| at.elapsed() < SAME_WISH) {
            return Ok(());
        }
        if self.stopped_by.is_some() {
            self.tally.stopped_by_force();
            self.output.crashed(&self.tally)?;
            std::process::exit(i32::from(exit.code()));
        }
        self.stopped_at = Some(Instant::now());
        self.shut_down(exit).await;
        Ok(())
    }

    async fn shut_down(&mut self, exit: Exit) {
        self.stopped_by = Some(exit);
        self.lines = None;
        self.send(Command::Shutdown).await;
    }

    async fn send(&self, command: Command) {
        // A session that has ended takes no commands; its last event is on the way.
        let _ = self.session.commands.send(command).await;
    }

    fn final_exit(&self) -> Exit {
        match (self.stopped_by, self.streaming) {
            (Some(Exit::Interrupted), true) => Exit::Success,
            (Some(exit), _) => exit,
            (None, _) => self.exit,
        }
    }
}

fn sets_mode(body: &Body) -> bool {
    let effects = match body {
        Body::Effect(effect) => std::slice::from_ref(effect),
        Body::Result(result) => &result.effects,
        _ => return false,
    };
    effects.iter().any(|effect| effect.mode().is_some())
}

async fn next_line(lines: Option<&mut Lines>) -> Option<input::Line> {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}
