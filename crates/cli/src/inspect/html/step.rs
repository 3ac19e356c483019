//! One step: the answer, its figures and its calls.

use super::call;
use super::markup::{Attributes, Html};
use super::timeline::excerpt;
use crate::inspect::event::word;
use crate::inspect::figures::{between, duration, money, offset, percent, size};
use crate::inspect::report::{Report, Step};

/// The height of a row of bars.
const STRIP_ROW: usize = 7;

pub(super) fn step(html: &mut Html, report: &Report, step: &Step, (turn, at): (usize, usize)) {
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
            html.number(&pointer("tokens/cacheWrite"), tokens.cache_write);
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
