//! Turns, their steps, and what happened between them.

use tiller_protocol::entry::Level;

use super::markup::{Attributes, Html};
use super::step::step;
use crate::inspect::event::word;
use crate::inspect::excerpt::Excerpt;
use crate::inspect::figures::{counted, duration, money, size};
use crate::inspect::report::{Addition, Event, Hook, Report, SideRequest, Turn};
use crate::inspect::text::{outcome, source};
use crate::inspect::timeline::{Moment, moments};

pub(super) fn section(html: &mut Html, report: &Report) {
    html.element("section", &[("id", &"timeline")], |html| {
        html.element("div", &[("class", &"title")], |html| {
            html.leaf("h2", "", "Timeline");
            for (action, name) in [("open", "Unfold all"), ("close", "Fold all")] {
                let button: Attributes<'_> = &[("type", &"button"), ("data-fold", &action), ("hidden", &"")];
                html.element("button", button, |html| html.text(name));
            }
        });
        for at in 0..report.turns.len() {
            turn(html, report, at);
        }
        if report.turns.is_empty() {
            html.leaf("p", "empty", "Nothing was asked.");
        }
        let after = moments(report, None);
        if !after.is_empty() {
            html.element("section", &[("class", &"turn")], |html| {
                html.leaf("h3", "", "After the last turn");
                all(html, report, after, None);
            });
        }
    });
}

fn turn(html: &mut Html, report: &Report, at: usize) {
    let turn = &report.turns[at];
    html.element("section", &[("class", &"turn"), ("id", &format_args!("turn-{}", turn.number))], |html| {
        html.element("header", &[], |html| {
            html.element("h3", &[], |html| html.text(&format!("Turn {}", turn.number)));
            let state = turn.outcome.as_ref().map_or("not over".to_owned(), outcome);
            let class = if state == "success" { "chip good" } else { "chip bad" };
            html.leaf("span", class, &state);
            let steps = turn.steps.iter().filter(|step| step.attempt == 1).count() as u64;
            html.element("p", &[("class", &"figures")], |html| {
                html.text(&format!("{} · ", counted(steps, "step", "steps")));
                if let Some(ms) = turn.duration_ms {
                    html.figure(&format!("/turns/{at}/durationMs"), &ms, &duration(ms));
                }
            });
        });
        if let Some(prompt) = &turn.prompt {
            html.element("div", &[("class", &"prompt")], |html| excerpt(html, prompt));
        }
        all(html, report, moments(report, Some(turn.number)), Some((at, turn)));
    });
}

fn all(html: &mut Html, report: &Report, moments: Vec<Moment<'_>>, turn: Option<(usize, &Turn)>) {
    html.element("ol", &[("class", &"moments")], |html| {
        for moment in moments {
            match moment {
                Moment::Step(one) => {
                    let at = turn.and_then(|(at, turn)| {
                        Some((at, turn.steps.iter().position(|step| step.seq == one.seq)?))
                    });
                    step(html, report, one, at.unwrap_or_default());
                }
                Moment::Addition(one) => addition(html, report, one),
                Moment::Event(one) => event(html, one),
                Moment::Hook(one) => html.element("li", &[("class", &"aside")], |html| hook(html, one)),
                Moment::SideRequest(one) => beside(html, one),
            }
        }
    });
}

fn addition(html: &mut Html, report: &Report, addition: &Addition) {
    let at = report
        .steering
        .additions
        .iter()
        .position(|one| one.mark.seq == addition.mark.seq)
        .unwrap_or_default();
    let pointer = |field: &str| format!("/steering/additions/{at}/{field}");
    html.element(
        "li",
        &[("class", &"aside"), ("id", &format_args!("added-{}", addition.mark.seq))],
        |html| {
            html.element("details", &[("class", &"hidden")], |html| {
                html.element("summary", &[], |html| {
                    html.leaf("span", "tag", "hidden");
                    html.leaf("b", "", &addition.kind);
                    html.leaf("span", "why", &addition.why);
                    html.element("span", &[("class", &"size")], |html| {
                        html.number(&pointer("bytes"), addition.bytes);
                        html.text(" B");
                    });
                });
                html.element("p", &[("class", &"remark")], |html| {
                    html.text(&format!("by {} · about ", source(&addition.source)));
                    html.number(&pointer("tokens"), addition.tokens);
                    html.text(" tokens · ");
                    match addition.mark.step {
                        Some(step) => html.text(&format!("first sent with step {step}")),
                        None => html.text("not sent yet"),
                    }
                    if addition.void {
                        html.text(" · void: never sent");
                    }
                    if let Some(first) = addition.repeats {
                        html.text(" · ");
                        html.element("a", &[("href", &format_args!("#added-{first}"))], |html| {
                            html.text("said before");
                        });
                    }
                });
                html.leaf("pre", "", &addition.text);
            });
        },
    );
}

fn event(html: &mut Html, event: &Event) {
    let class = match event.level {
        Level::Info => "aside event",
        Level::Warning => "aside event warning",
        Level::Error => "aside event error",
    };
    html.element("li", &[("class", &class)], |html| {
        html.leaf("span", "tag", &word(&event.kind));
        html.leaf("span", "", &event.text);
    });
}

/// A hook that ran, with what it printed.
pub(super) fn hook(html: &mut Html, hook: &Hook) {
    let class = if hook.end.name() == "success" { "chip good" } else { "chip bad" };
    html.element("details", &[("class", &"hook")], |html| {
        html.element("summary", &[], |html| {
            html.leaf("span", "tag", "hook");
            html.leaf("b", "", &hook.event);
            html.leaf("code", "why", &hook.name);
            html.leaf("span", class, hook.end.name());
        });
        html.element("p", &[("class", &"remark")], |html| {
            let code = hook.exit_code.map(|code| format!(" · exit code {code}")).unwrap_or_default();
            html.text(&format!("from {}{code} · {} ms", hook.source, hook.duration_ms));
        });
        for (name, printed) in [("standard output", &hook.stdout), ("standard error", &hook.stderr)] {
            if !printed.text.is_empty() {
                html.leaf("p", "name", name);
                excerpt(html, printed);
            }
        }
    });
}

fn beside(html: &mut Html, request: &SideRequest) {
    html.element("li", &[("class", &"aside event")], |html| {
        html.leaf("span", "tag", "side request");
        let cost = request.cost_usd.map_or("unknown cost".to_owned(), money);
        let (sent, out) = (request.tokens.sent(), request.tokens.output);
        html.leaf("span", "", &format!("{}: {sent} tokens in, {out} out, {cost}", request.model));
    });
}

/// A text, with a word about what is left out.
pub(super) fn excerpt(html: &mut Html, excerpt: &Excerpt) {
    html.leaf("pre", "", excerpt.text.trim_end_matches('\n'));
    if excerpt.cut {
        html.leaf("p", "remark", &format!("cut: {} in all", size(excerpt.bytes)));
    }
}
