//! Turns, their steps, and what happened between them.

use tiller_protocol::entry::Level;

use super::call;
use super::markup::{Attributes, Html};
use crate::inspect::event::word;
use crate::inspect::excerpt::Excerpt;
use crate::inspect::figures::{between, counted, duration, money, offset, percent, size};
use crate::inspect::report::{Addition, Event, Hook, Report, SideRequest, Step, Turn};
use crate::inspect::text::{outcome, source};
use crate::inspect::timeline::{Moment, moments};

/// The height of a row of bars.
const STRIP_ROW: usize = 7;

pub(super) fn section(html: &mut Html, report: &Report) {
    html.element("section", &[("id", &"timeline")], |html| {
        html.element("div", &[("class", &"title")], |html| {
            html.leaf("h2", "", "Timeline");
            for (action, name) in [("open", "Unfold all"), ("close", "Fold all")] {
                html.element(
                    "button",
                    &[("type", &"button"), ("data-fold", &action), ("hidden", &"")],
                    |html| {
                        html.text(name);
                    },
                );
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

fn step(html: &mut Html, report: &Report, step: &Step, (turn, at): (usize, usize)) {
    let pointer = |field: &str| format!("/turns/{turn}/steps/{at}/{field}");
    let id = format!("step-{}-{}", step.number, step.attempt);
    let class = if step.is_void() || step.failure.is_some() { "step void" } else { "step" };
    html.element("li", &[("class", &class), ("id", &id)], |html| {
        html.element("div", &[("class", &"gutter")], |html| {
            html.element("a", &[("class", &"number"), ("href", &format_args!("#{id}"))], |html| {
                html.leaf("span", "unseen", "Step ");
                html.number(&pointer("number"), u64::from(step.number));
            });
            if let Some(start) = report.session.started_at {
                html.leaf("span", "offset", &offset(between(start, step.started_at)));
            }
        });
        html.element("div", &[("class", &"body")], |html| {
            head(html, step);
            figures(html, step, &pointer);
            strip(html, step);
            if let Some(failure) = &step.failure {
                html.leaf("p", "note error", &format!("{}: {}", failure.kind, failure.text));
            }
            if let Some(miss) = &step.cache_miss {
                html.leaf("p", "note warning", miss);
            }
            if let Some(thinking) = step.thinking.as_ref().filter(|thinking| !thinking.text.is_empty()) {
                html.element("details", &[("class", &"thinking")], |html| {
                    html.leaf("summary", "", &format!("thinking, {}", size(thinking.bytes)));
                    excerpt(html, thinking);
                });
            }
            if let Some(text) = step.text.as_ref().filter(|text| !text.text.trim().is_empty()) {
                html.element("div", &[("class", &"said")], |html| excerpt(html, text));
            }
            call::groups(html, report, step, &pointer("calls"));
        });
    });
}

fn head(html: &mut Html, step: &Step) {
    html.element("p", &[("class", &"head")], |html| {
        html.leaf("span", "model", if step.model.is_empty() { "no answer" } else { &step.model });
        if let Some(stop) = &step.stop_reason {
            html.leaf("span", "chip", stop);
        }
        if step.attempt > 1 {
            html.leaf("span", "chip", &format!("attempt {}", step.attempt));
        }
        if let Some(cause) = &step.void {
            html.leaf("span", "chip bad", &format!("void: {}", word(cause)));
        }
        if step.aborted {
            html.leaf("span", "chip bad", "cut off by the user");
        }
        if let Some(request) = &step.request_id {
            html.leaf("span", "request", request);
        }
    });
}

fn figures(html: &mut Html, step: &Step, pointer: &impl Fn(&str) -> String) {
    if step.stop_reason.is_none() {
        return;
    }
    let tokens = step.tokens;
    html.element("dl", &[("class", &"figures")], |html| {
        let mut figure = |name: &str, class: &'static str, value: &dyn Fn(&mut Html)| {
            html.element("div", &[("class", &class)], |html| {
                html.leaf("dt", "", name);
                html.element("dd", &[], |html| value(html));
            });
        };
        figure("cache read", "of-read", &|html| html.number(&pointer("tokens/cacheRead"), tokens.cache_read));
        figure("cache write", "of-write", &|html| {
            html.number(&pointer("tokens/cacheWrite"), tokens.cache_write)
        });
        figure("uncached", "of-fresh", &|html| html.number(&pointer("tokens/input"), tokens.input));
        figure("out", "of-out", &|html| html.number(&pointer("tokens/output"), tokens.output));
        figure("cost", "", &|html| html.optional(&pointer("costUsd"), step.cost_usd, money));
        figure("answered in", "", &|html| html.optional(&pointer("durationMs"), step.duration_ms, duration));
        figure("steering", "of-hidden", &|html| {
            html.figure(&pointer("steeringShare"), &step.steering_share, &percent(step.steering_share));
        });
    });
}

/// The answer and its calls against time: what overlaps ran side by side.
fn strip(html: &mut Html, step: &Step) {
    let whole = between(step.started_at, step.settled_at);
    let ran: Vec<_> =
        step.calls.iter().filter_map(|call| Some((call, call.started_at?, call.ended_at?))).collect();
    if ran.is_empty() || whole <= 0.0 {
        return;
    }
    let label = format!("{} from the request to the last result", duration(whole));
    let height = STRIP_ROW * (ran.len() + 1);
    let strip: Attributes<'_> =
        &[("class", &"strip"), ("height", &height), ("role", &"img"), ("aria-label", &label)];
    html.element("svg", strip, |html| {
        let mut bar = |row: usize, class: &str, (from, to): (f64, f64), title: &str| {
            let (x, width) =
                (Html::percentage(from / whole), Html::percentage(((to - from) / whole).max(0.002)));
            let y = row * STRIP_ROW;
            let place: Attributes<'_> =
                &[("class", &class), ("x", &x), ("width", &width), ("y", &y), ("height", &"5"), ("rx", &"2")];
            html.element("rect", place, |html| html.element("title", &[], |html| html.text(title)));
        };
        let answered = between(step.started_at, step.answered_at.unwrap_or(step.settled_at));
        bar(0, "answer", (0.0, answered), &format!("the model's answer, {}", duration(answered)));
        for (row, (call, started, ended)) in (1..).zip(ran) {
            let span = (between(step.started_at, started), between(step.started_at, ended));
            let class = if call.error { "run failed" } else { "run" };
            bar(row, class, span, &format!("{} {}, {}", call.tool, call.about, duration(span.1 - span.0)));
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
                            html.text("said before")
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
