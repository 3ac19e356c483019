//! The calls of a step: those that ran side by side stand side by side.

use super::markup::Html;
use super::permissions::{origin, verdict};
use super::timeline::{excerpt, hook};
use crate::inspect::event::word;
use crate::inspect::figures::{between, duration};
use crate::inspect::report::{Call, Decision, Report, Step};

/// Waiting for permission is mentioned from here on, in milliseconds.
const NOTEWORTHY: f64 = 500.0;

pub(super) fn groups(html: &mut Html, report: &Report, step: &Step, pointer: &str) {
    let last = step.calls.iter().map(|call| call.group).max().unwrap_or_default();
    for group in 1..=last {
        let calls: Vec<(usize, &Call)> =
            step.calls.iter().enumerate().filter(|(_, call)| call.group == group).collect();
        let class = if calls.len() > 1 { "calls beside" } else { "calls" };
        if calls.len() > 1 {
            html.leaf("p", "together", &format!("{} side by side", calls.len()));
        }
        html.element("ul", &[("class", &class)], |html| {
            for (at, one) in calls {
                call(html, report, one, &format!("{pointer}/{at}"));
            }
        });
    }
}

fn call(html: &mut Html, report: &Report, call: &Call, pointer: &str) {
    let class = match (call.is_denied(), call.error) {
        (true, _) => "call denied",
        (_, true) => "call failed",
        _ => "call",
    };
    html.element("li", &[("class", &class), ("id", &format_args!("call-{}", call.seq))], |html| {
        html.element("details", &[], |html| {
            html.element("summary", &[], |html| {
                html.leaf("b", "", &call.tool);
                html.leaf("code", "why", &call.about);
                if let Some(state) = state(call) {
                    html.leaf("span", "chip bad", state);
                }
                if call.duration_ms.is_some() {
                    html.element("span", &[("class", &"size")], |html| {
                        html.optional(&format!("{pointer}/durationMs"), call.duration_ms, duration);
                    });
                }
            });
            for decision in report.decisions.iter().filter(|decision| decision.call == call.id) {
                decided(html, report, decision);
            }
            waited(html, call);
            for one in report.hooks.iter().filter(|hook| hook.call.as_deref() == Some(&call.id)) {
                hook(html, one);
            }
            for agent in report.agents_of(&call.id) {
                html.leaf("p", "name", &agent.summary());
                html.element("ul", &[], |html| {
                    agent.steps().for_each(|step| html.leaf("li", "", &step));
                });
            }
            html.leaf("p", "name", "input");
            excerpt(html, &call.input);
            if let Some(result) = &call.result {
                let cause = call.cause.map(|cause| word(&cause)).filter(|cause| cause != "call");
                let cause = cause.map(|cause| format!(" ({cause})")).unwrap_or_default();
                html.leaf("p", "name", &format!("result{cause}"));
                excerpt(html, result);
            }
        });
    });
}

fn state(call: &Call) -> Option<&'static str> {
    match (call.is_denied(), call.error, call.result.is_some()) {
        (true, ..) => Some("denied"),
        (_, true, _) => Some("failed"),
        (_, _, false) => Some("no result"),
        _ => None,
    }
}

fn waited(html: &mut Html, call: &Call) {
    let waited = call.started_at.map(|started| between(call.asked_at, started)).filter(|ms| *ms > NOTEWORTHY);
    if let Some(ms) = waited {
        html.leaf("p", "remark", &format!("began {} after the model had asked for it", duration(ms)));
    }
}

/// A decision in one line: what, why, and where that is written.
fn decided(html: &mut Html, report: &Report, decision: &Decision) {
    html.element("p", &[("class", &"decision")], |html| {
        verdict(html, &decision.behavior);
        html.text(&format!(" {}", decision.message));
        if let Some(origin) = origin(report, decision) {
            html.text(" · ");
            html.leaf("code", "", origin);
        }
    });
}
