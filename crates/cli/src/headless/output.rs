//! Printing what happens, in the chosen format. Standard output holds nothing else, whatever happens.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io::Write;

use serde_json::{Value, json};
use tiller_protocol::ask::Ask;
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::Event;
use tiller_protocol::entry::{Body, Entry, Level, Outcome};
use tiller_protocol::id::AskId;
use tiller_protocol::mode::Mode;
use tiller_protocol::usage::Usage;

use uuid::Uuid;

use super::Job;
use super::delegated::AgentEnd;
use super::frames::Frames;
use super::tally::{Tally, text_of, told_of_fold};
use crate::args::OutputFormat;

/// Where the output goes.
pub(crate) struct Output {
    format: OutputFormat,
    frames: Frames,
    partial: bool,
    hooks: bool,
    replay: bool,
    verbose: bool,
    session_states: bool,
    /// The first frame of the turn is yet to be printed.
    init_is_due: Cell<bool>,
    /// The state of the session that was told last.
    last_state: Cell<&'static str>,
    /// What a person is asked, and has not answered.
    asked: RefCell<HashSet<AskId>>,
}

impl Output {
    pub(crate) fn new(job: &Job, frames: Frames) -> Self {
        Self {
            format: job.output,
            frames,
            partial: job.partial,
            hooks: job.hooks,
            replay: job.replay,
            verbose: job.verbose,
            session_states: job.session_states,
            init_is_due: Cell::new(false),
            last_state: Cell::new("idle"),
            asked: RefCell::default(),
        }
    }

    /// The host has brought agents, which the next turn can call upon.
    pub(crate) fn offer_agents(&mut self, given: &serde_json::Value) {
        self.frames.offer_agents(given.as_object().into_iter().flatten().map(|(name, _)| name));
    }

    /// The host has chosen a model, by an alias or an id.
    pub(crate) fn choose_model(&mut self, setting: &str) {
        self.frames.choose_model(setting);
    }

    /// The host has laid down what brings another tool along.
    pub(crate) fn offer_tool(&mut self, name: &str) {
        self.frames.offer_tool(name);
    }

    /// Prints one event.
    pub(crate) fn event(&self, event: &Event, tally: &Tally) -> anyhow::Result<()> {
        if let Event::Rejected(problem) = event {
            self.complain(problem);
        }
        match self.format {
            OutputFormat::StreamJson => self.stream(event, tally),
            OutputFormat::Text | OutputFormat::Json => {
                self.narrate(event);
                Ok(())
            }
        }
    }

    /// Prints what stands at the end.
    pub(crate) fn finish(&self, tally: &Tally) -> anyhow::Result<()> {
        match self.format {
            OutputFormat::StreamJson => Ok(()),
            OutputFormat::Json => self.frame(&self.frames.result(tally)),
            OutputFormat::Text if tally.turns > 0 => self.answer(tally),
            OutputFormat::Text => Ok(()),
        }
    }

    /// Keeps the output valid when the session died: a turn without its result gets one.
    pub(crate) fn crashed(&self, tally: &Tally) -> anyhow::Result<()> {
        match self.format {
            OutputFormat::StreamJson if !tally.is_in_turn() => Ok(()),
            OutputFormat::Text => {
                self.complain("the run ended unexpectedly; the session can be resumed with --continue");
                Ok(())
            }
            OutputFormat::Json | OutputFormat::StreamJson => self.frame(&self.frames.result(tally)),
        }
    }

    /// Says that the permission mode was changed.
    pub(crate) fn mode_changed(&self, mode: Mode) -> anyhow::Result<()> {
        if self.format != OutputFormat::StreamJson {
            return Ok(());
        }
        self.frame(&self.frames.system("status", json!({"status": null, "permissionMode": mode})))
    }

    /// Says that something the host wanted was not done.
    pub(crate) fn warn(&self, subtype: &str, text: &str) -> anyhow::Result<()> {
        if self.format != OutputFormat::StreamJson {
            self.complain(text);
            return Ok(());
        }
        self.frame(&self.frames.system(subtype, json!({"level": "warning", "content": text})))
    }

    /// Prints one JSON line.
    pub(crate) fn frame(&self, frame: &Value) -> anyhow::Result<()> {
        if self.format == OutputFormat::Text {
            return Ok(());
        }
        line(&frame.to_string())
    }

    fn frames(&self, frame: Option<Value>) -> anyhow::Result<()> {
        frame.map_or(Ok(()), |frame| self.frame(&frame))
    }

    /// Says on standard error what is wrong.
    pub(crate) fn complain(&self, problem: &str) {
        crate::complain(problem);
    }

    fn answer(&self, tally: &Tally) -> anyhow::Result<()> {
        match tally.turn.end.as_ref().map(|end| &end.outcome) {
            Some(Outcome::Success) => {
                match &tally.turn.structured {
                    Some(structured) => line(&structured.to_string())?,
                    None => line(tally.answer().trim_end())?,
                }
                self.list_denials(tally);
            }
            Some(Outcome::PlanHandedOver { plan, path }) => {
                line(plan.trim_end())?;
                self.list_denials(tally);
                self.complain(&format!("nothing was changed; the plan is in {}", path.display()));
            }
            Some(Outcome::HookStopped { message }) => {
                if !tally.answer().trim().is_empty() {
                    line(tally.answer().trim_end())?;
                }
                self.complain(&format!("stopped by a hook: {message}"));
            }
            Some(
                Outcome::Error { message, .. }
                | Outcome::Refused { message }
                | Outcome::Unstructured { message },
            ) => {
                // A notice may have said it as it happened.
                if !tally.warnings.iter().any(|told| told.contains(message)) {
                    self.complain(message);
                }
            }
            Some(Outcome::MaxTurns | Outcome::MaxBudget | Outcome::MaxTokens | Outcome::MaxTime) => {
                if !tally.answer().trim().is_empty() {
                    line(tally.answer().trim_end())?;
                }
                self.complain("stopped at a limit before the task was finished");
            }
            Some(Outcome::Interrupted | Outcome::ToolRejected) => {
                if !tally.answer().trim().is_empty() {
                    line(tally.answer().trim_end())?;
                }
                self.complain("interrupted; --continue resumes from here");
            }
            None => self.complain("the run ended unexpectedly"),
        }
        Ok(())
    }

    fn list_denials(&self, tally: &Tally) {
        for (denial, reason) in tally.turn.denials.iter().zip(&tally.turn.denial_reasons) {
            let tool = denial["tool_name"].as_str().unwrap_or_default();
            let input = &denial["tool_input"];
            self.complain(&format!("{tool} was not permitted, because {reason}: {input}"));
        }
    }

    /// The first frame of a turn, unless it was printed.
    fn init(&self, tally: &Tally) -> anyhow::Result<()> {
        if !self.init_is_due.replace(false) {
            return Ok(());
        }
        self.frame(&self.frames.init(tally))
    }

    fn stream(&self, event: &Event, tally: &Tally) -> anyhow::Result<()> {
        // Servers of the host are spoken to while they are waited for.
        let is_before_init = matches!(
            event,
            Event::Mcp(_) | Event::TurnStarted | Event::Asked(_, Ask::Server(_)) | Event::Resolved(_)
        );
        if !is_before_init {
            self.init(tally)?;
        }
        match event {
            Event::TurnStarted => {
                self.state("running")?;
                // The first request waits for servers; so does the frame that says where they stand.
                self.init_is_due.set(true);
                if tally.awaits_servers() { Ok(()) } else { self.init(tally) }
            }
            Event::Mcp(_) => Ok(()),
            Event::Appended(entry) => self.entry(entry, tally),
            Event::Stream(json) if self.partial => line(&self.frames.stream_event(json)),
            Event::HookStarted { id, event, name } if self.tells_of(event) => {
                let fields = json!({"hook_id": id, "hook_name": name, "hook_event": event});
                self.frame(&self.frames.system("hook_started", fields))
            }
            Event::Retrying { attempt, max, delay, status, error } => {
                let fields = json!({"attempt": attempt, "max_retries": max, "retry_delay_ms": delay.as_millis(),
                    "error_status": status, "error": error});
                self.frame(&self.frames.system("api_retry", fields))
            }
            Event::Asked(_, Ask::Hook(_) | Ask::Server(_)) => Ok(()),
            Event::Asked(id, _) => {
                self.asked.borrow_mut().insert(*id);
                self.state("requires_action")
            }
            Event::AgentStarted(info) => self.frame(&self.frames.agent_started(info)),
            Event::Agent(agent, event) => self.frames(self.frames.of_agent(agent, event, tally)),
            Event::AgentEnded { id, spent, state, outcome } => {
                let end = AgentEnd { info: tally.agents.get(id), spent, state: *state, outcome };
                self.frame(&self.frames.agent_ended(id, &end))
            }
            Event::CompactionStarted { .. } => {
                self.frame(&self.frames.system("status", json!({"status": "compacting"})))
            }
            Event::CompactionEnded { .. } => {
                self.frame(&self.frames.system("status", json!({"status": null})))
            }
            Event::Progress { call, data } => self.frames(self.frames.progress(call, data)),
            Event::TaskChanged(task) => self.frames(self.frames.task_changed(task)),
            Event::Resolved(id) if self.asked.borrow_mut().remove(id) => self.state("running"),
            // Agents at work owe a turn, or an end.
            Event::Idle if tally.turns > 0 && !tally.has_agents_at_work() => self.state("idle"),
            Event::Closed
            | Event::Idle
            | Event::Stream(_)
            | Event::StepStarted { .. }
            | Event::Answering { .. }
            | Event::CallStarted(_)
            | Event::CallStopped(_)
            | Event::HookStarted { .. }
            | Event::Resolved(_)
            | Event::TaskOutput { .. }
            | Event::Rewind(_)
            | Event::Suggestion(_)
            | Event::Rejected(_) => Ok(()),
        }
    }

    fn entry(&self, entry: &Entry, tally: &Tally) -> anyhow::Result<()> {
        let frame = match &entry.body {
            Body::Assistant(block) => self.frames.assistant(entry, block, tally),
            Body::Result(result) => self.frames.result_of_call(entry, result),
            Body::User(message) if message.is_hidden() || self.replay => {
                let content: Vec<Value> = message.content.iter().map(RawBlock::to_value).collect();
                self.frames.user(entry, content, !message.is_hidden())
            }
            Body::Attachment(attachment) if self.replay && attachment.kind() == "queued_command" => {
                self.frames.delivered(attachment)
            }
            Body::Notice(notice) => self.frames.notice(entry, notice),
            Body::Compacted(compacted) => self.frames.boundary(entry, compacted),
            Body::Decision(decision) if decision.behavior == "deny" => {
                let fields = json!({"tool_name": decision.tool, "tool_use_id": decision.call,
                    "message": decision.message, "reason": decision.reason});
                self.frames.system("permission_denied", fields)
            }
            Body::Hook(hook) if self.tells_of(&hook.event) => {
                let fields = json!({"hook_id": entry.id, "hook_name": hook.name, "hook_event": hook.event,
                    "output": hook.stdout, "stdout": hook.stdout, "stderr": hook.stderr,
                    "exit_code": hook.exit_code, "outcome": hook.end.name()});
                self.frames.system("hook_response", fields)
            }
            Body::Orphaned(orphaned) => self.frames.system("orphaned", json!({"uuids": orphaned.ids})),
            Body::TurnEnded(_) if tally.turns > 0 => self.frames.result(tally),
            _ => return Ok(()),
        };
        self.frame(&frame)
    }

    /// Whether hooks of an event are told of: those of the start always are, as hosts expect.
    fn tells_of(&self, event: &str) -> bool {
        self.hooks || event == "SessionStart"
    }

    fn state(&self, state: &'static str) -> anyhow::Result<()> {
        if !self.session_states || self.last_state.replace(state) == state {
            return Ok(());
        }
        let fields = json!({"state": state, "sdk_host_only": true});
        self.frame(&self.frames.system("session_state_changed", fields))
    }

    /// What people should know on standard error; with `--verbose`, progress too.
    fn narrate(&self, event: &Event) {
        let entry = match event {
            Event::Appended(entry) => entry,
            Event::Retrying { attempt, max, delay, error, .. } => {
                let seconds = delay.as_secs_f64();
                return self
                    .complain(&format!("{error}; trying again in {seconds:.1} s ({attempt} of {max})"));
            }
            _ => return,
        };
        match &entry.body {
            Body::Opened(_) if self.verbose => self.complain(&format!("session {}", self.frames.session())),
            // What a hook has to say is said because the user wants it to be.
            Body::Notice(notice)
                if self.verbose || notice.level != Level::Info || notice.subtype == "hook" =>
            {
                self.complain(&notice.content);
            }
            Body::Compacted(compacted) if self.verbose => self.complain(&told_of_fold(compacted)),
            Body::Assistant(block) if self.verbose => {
                if let Some(call) = block.block.as_tool_use() {
                    self.complain(&format!("{} {}", call.name, shortened(&call.input.to_string())));
                }
            }
            Body::Result(result) if self.verbose => {
                let mark = if result.is_error { "failed" } else { "done" };
                self.complain(&format!("  {mark}: {}", shortened(&text_of(&result.content))));
            }
            _ => {}
        }
    }
}

/// Keeps the output valid when a run could not even start.
pub(crate) fn never_started(format: OutputFormat, id: Uuid, problem: &str) -> anyhow::Result<()> {
    if format == OutputFormat::Text {
        return Ok(());
    }
    let frame = json!({
        "type": "result", "subtype": "error_during_execution", "uuid": id, "session_id": id, "is_error": true,
        "outcome": "error_during_execution", "num_turns": 0, "duration_ms": 0, "duration_api_ms": 0,
        "stop_reason": null, "terminal_reason": "model_error", "total_cost_usd": 0.0, "usage": Usage::default(),
        "modelUsage": {}, "permission_denials": [], "errors": [problem],
    });
    line(&frame.to_string())
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(120).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn line(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    Ok(())
}
