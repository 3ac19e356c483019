//! The report for people at a terminal.

use tiller_protocol::entry::{Level, Outcome};
use tiller_protocol::ledger::Source;

use super::event::word;
use super::excerpt::{short, visible};
use super::figures::{counted, duration, grouped, moment, offset, percent, price, size};
use super::report::{Addition, Call, Decision, Event, Hook, Report, SideRequest, Step, Tokens, Turn};
use super::timeline::{Moment, moments};
use super::{figures, text_tables};
use crate::text::{WIDTH, hanging};

/// Columns before what a step consists of.
const INDENT: usize = 6;

/// The whole report. Nothing in it steers a terminal, whatever the session contains.
pub(super) fn of(report: &Report) -> String {
    let writer = Writer { report };
    let mut parts = vec![writer.summary()];
    parts.extend(report.turns.iter().map(|turn| writer.turn(turn)));
    let after = writer.moments(None);
    if !after.is_empty() {
        parts.push(format!("After the last turn\n{}", after.join("\n")));
    }
    parts.extend(text_tables::all(report));
    visible(&parts.join("\n\n")).into_owned()
}

struct Writer<'a> {
    report: &'a Report,
}

impl Writer<'_> {
    fn summary(&self) -> String {
        let Report { session, totals, next_request: next, .. } = self.report;
        let title = if session.title.is_empty() { "(no prompt)" } else { &session.title };
        let mut lines = vec![hanging("", title)];
        let mut row = |name: &str, text: &str| lines.push(hanging(&format!("  {name:<11}"), text));
        row("session", &session.id.to_string());
        if let Some(from) = session.forked_from {
            row("forked from", &from.to_string());
        }
        row("directory", &session.directory.display().to_string());
        if let Some(started) = session.started_at {
            row("time", &format!("{}, {}", moment(started), duration(totals.wall_ms)));
        }
        row("content", &content(self.report));
        row("tokens", &tokens(totals.tokens));
        row("cost", &price(totals.cost_usd, totals.unpriced_requests));
        row(
            "waited for",
            &format!("model {}, tools {}", duration(totals.model_ms), duration(totals.tool_ms)),
        );
        let share = percent(next.steering_share);
        let (steering, sent) = (grouped(next.steering_bytes), grouped(next.sent_bytes));
        row("steering", &format!("{share} of the next request ({steering} of {sent} bytes)"));
        for damage in &session.damage {
            row("damage", damage);
        }
        lines.join("\n")
    }

    fn turn(&self, turn: &Turn) -> String {
        let took = turn.duration_ms.map(|ms| format!(", {}", duration(ms))).unwrap_or_default();
        let outcome = turn.outcome.as_ref().map_or("not over".to_owned(), outcome);
        let steps = turn.steps.iter().filter(|step| step.attempt == 1).count() as u64;
        let steps = counted(steps, "step", "steps");
        let mut lines =
            vec![hanging(&format!("Turn {}  ", turn.number), &format!("{outcome}, {steps}{took}"))];
        if let Some(prompt) = &turn.prompt {
            lines.push(hanging("  > ", &short(&prompt.text)));
        }
        lines.extend(self.moments(Some(turn.number)));
        lines.join("\n")
    }

    fn moments(&self, turn: Option<u32>) -> Vec<String> {
        let shown = |moment: Moment<'_>| match moment {
            Moment::Step(step) => self.step(step),
            Moment::Addition(addition) => added(addition),
            Moment::Event(event) => told(event),
            Moment::Hook(hook) => hanging("   h  ", &ran(hook)),
            Moment::SideRequest(request) => beside(request),
        };
        moments(self.report, turn).into_iter().map(shown).collect()
    }

    fn step(&self, step: &Step) -> String {
        let number = if step.attempt == 1 { step.number.to_string() } else { "again".to_owned() };
        let start =
            self.report.session.started_at.map(|start| offset(figures::between(start, step.started_at)));
        let right =
            format!("{}  {}", start.unwrap_or_default(), step.duration_ms.map(duration).unwrap_or_default());
        let model = if step.model.is_empty() { "no answer" } else { &step.model };
        let mut lines = vec![aligned(&format!("{number:>5} {model}"), right.trim())];
        let mut row = |text: &str| lines.push(hanging(&" ".repeat(INDENT), text));
        if let Some(stop) = &step.stop_reason {
            let cost = price(step.cost_usd, u64::from(step.cost_usd.is_none()));
            let share = percent(step.steering_share);
            row(&format!("{}; {cost}; {stop}; steering {share}", tokens(step.tokens)));
        }
        if let Some(miss) = &step.cache_miss {
            row(miss);
        }
        if let Some(cause) = &step.void {
            row(&format!("void: {}", word(cause)));
        }
        if let Some(failure) = &step.failure {
            row(&format!("failed ({}): {}", failure.kind, failure.text));
        }
        if let Some(text) = step.text.as_ref().filter(|text| !text.text.trim().is_empty()) {
            row(&format!("“{}”", short(&text.text)));
        }
        lines.extend(step.calls.iter().map(|call| self.call(call, bracket(&step.calls, call))));
        lines.join("\n")
    }

    fn call(&self, call: &Call, bracket: char) -> String {
        let took = call.duration_ms.map(duration).unwrap_or_default();
        let state = match (call.is_denied(), call.error, call.result.is_some()) {
            (true, ..) => "denied",
            (_, true, _) => "failed",
            (_, _, false) => "no result",
            _ => "",
        };
        let head = format!("{}{bracket} {} {}", " ".repeat(INDENT), call.tool, call.about);
        let mut lines = vec![aligned(&head, format!("{state} {took:>8}").trim())];
        let mut row = |text: &str| lines.push(hanging(&format!("{}    ", " ".repeat(INDENT)), text));
        let decisions = self.report.decisions.iter().filter(|decision| decision.call == call.id);
        for decision in decisions.filter(|decision| decision.behavior != "allow" || decision.by == "rule") {
            row(&decided(decision));
        }
        for hook in self.report.hooks.iter().filter(|hook| hook.call.as_deref() == Some(&call.id)) {
            row(&ran(hook));
        }
        for agent in self.report.agents_of(&call.id) {
            row(&agent.summary());
            agent.steps().for_each(|step| row(&format!("  {step}")));
        }
        lines.join("\n")
    }
}

/// Calls that ran side by side are bracketed.
fn bracket(calls: &[Call], call: &Call) -> char {
    let mut group = calls.iter().filter(|other| other.group == call.group).map(|other| other.seq);
    let (first, last) = (group.clone().next(), group.next_back());
    match (first == Some(call.seq), last == Some(call.seq)) {
        (true, true) => '-',
        (true, false) => '┌',
        (false, false) => '│',
        (false, true) => '└',
    }
}

/// Text at the left and figures at the right of a line.
fn aligned(left: &str, right: &str) -> String {
    let room = WIDTH.saturating_sub(right.chars().count() + 2);
    let left = match left.char_indices().nth(room) {
        Some(_) => format!("{}…", left.chars().take(room.saturating_sub(1)).collect::<String>()),
        None => left.to_owned(),
    };
    let gap = WIDTH.saturating_sub(left.chars().count() + right.chars().count());
    format!("{left}{}{right}", " ".repeat(gap)).trim_end().to_owned()
}

fn content(report: &Report) -> String {
    let totals = &report.totals;
    let mut parts = vec![
        counted(totals.turns, "turn", "turns"),
        counted(totals.steps, "step", "steps"),
        counted(totals.calls, "call", "calls"),
    ];
    let more = [
        (totals.failed_calls, "failed call", "failed calls"),
        (totals.denied_calls, "denied call", "denied calls"),
        (totals.void_requests, "void answer", "void answers"),
        (totals.side_requests, "request beside the conversation", "requests beside the conversation"),
        (totals.hooks, "hook", "hooks"),
        (totals.notices, "notice", "notices"),
        (totals.repairs, "repair", "repairs"),
    ];
    let more = more.into_iter().filter(|(count, ..)| *count > 0);
    parts.extend(more.map(|(count, one, many)| counted(count, one, many)));
    parts.join(", ")
}

pub(super) fn tokens(tokens: Tokens) -> String {
    let [input, read, written, output] =
        [tokens.input, tokens.cache_read, tokens.cache_write, tokens.output].map(grouped);
    format!("in {input} + {read} from cache + {written} to cache, out {output}")
}

pub(super) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Error { message, .. }
        | Outcome::HookStopped { message }
        | Outcome::Refused { message }
        | Outcome::Unstructured { message } => {
            format!("{} ({})", word(outcome), short(message))
        }
        other => word(other),
    }
}

pub(super) fn source(source: &Source) -> String {
    match source {
        Source::Hook { event, name } => format!("hook {} ({event})", short(name)),
        Source::Generator { name } => format!("generator {name}"),
        Source::Command { name } => format!("command {}", short(name)),
        other => other.name().to_owned(),
    }
}

fn added(addition: &Addition) -> String {
    let again = addition.repeats.map(|seq| format!(", the same as {seq}")).unwrap_or_default();
    let void = if addition.void { ", void" } else { "" };
    let Addition { kind, bytes, why, .. } = addition;
    hanging("   +  ", &format!("{kind}, {}{again}{void}: {why}", size(*bytes)))
}

fn told(event: &Event) -> String {
    let sign = match event.level {
        Level::Info => "   ·  ",
        Level::Warning | Level::Error => "   !  ",
    };
    hanging(sign, &event.text)
}

fn ran(hook: &Hook) -> String {
    let code = hook.exit_code.map(|code| format!(", exit {code}")).unwrap_or_default();
    let (event, name, end) = (&hook.event, short(&hook.name), hook.end.name());
    format!(
        "hook {event} {name}: {end}{code}, {}",
        duration(u32::try_from(hook.duration_ms).map_or(f64::MAX, f64::from))
    )
}

fn beside(request: &SideRequest) -> String {
    let price = price(request.cost_usd, u64::from(request.cost_usd.is_none()));
    hanging(
        "   &  ",
        &format!("{} beside the conversation: {}; {price}", request.model, tokens(request.tokens)),
    )
}

pub(super) fn decided(decision: &Decision) -> String {
    let place = decision.file.as_ref().or(decision.source.as_ref());
    let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
    format!("{}: {}{place}", decision.behavior, decision.message)
}
