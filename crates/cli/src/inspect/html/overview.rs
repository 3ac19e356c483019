//! The top of the page: which session it was, and its figures.

use super::markup::Html;
use crate::inspect::figures::{counted, duration, grouped, moment, percent, price};
use crate::inspect::report::{Report, Totals};

pub(super) fn header(html: &mut Html, report: &Report) {
    let session = &report.session;
    html.element("header", &[("class", &"top")], |html| {
        html.leaf("p", "brand", "Tiller · session report");
        html.leaf("h1", "", if session.title.is_empty() { "(no prompt)" } else { &session.title });
        html.element("dl", &[("class", &"facts")], |html| {
            fact(html, "session", &session.id.to_string());
            if let Some(from) = session.forked_from {
                fact(html, "forked from", &from.to_string());
            }
            fact(html, "directory", &session.directory.display().to_string());
            if let Some(started) = session.started_at {
                fact(html, "started", &moment(started));
            }
            fact(html, "lasted", &duration(report.totals.wall_ms));
            if session.runs > 1 {
                fact(html, "opened", &counted(session.runs, "time", "times"));
            }
            fact(html, "Tiller", &session.version);
        });
        for damage in &session.damage {
            html.leaf("p", "note warning", &format!("The log is damaged: {damage}."));
        }
    });
    html.element("nav", &[("aria-label", &"Parts of this page")], |html| {
        for (anchor, name) in sections(report) {
            html.element("a", &[("href", &format_args!("#{anchor}"))], |html| html.text(name));
        }
    });
}

/// The parts of the page that have something in them.
fn sections(report: &Report) -> Vec<(&'static str, &'static str)> {
    let all = [
        ("requests", "Requests", !report.turns.is_empty()),
        ("timeline", "Timeline", true),
        ("steering", "Steering", true),
        ("permissions", "Permissions", !report.decisions.is_empty()),
        ("hooks", "Hooks", !report.hooks.is_empty()),
        ("compactions", "Compactions", !report.compactions.is_empty()),
        ("events", "Notices", !report.events.is_empty()),
        ("tools", "Tools", !report.totals.tools.is_empty()),
        ("head", "Prompt", !report.epochs.is_empty()),
    ];
    all.into_iter().filter(|(.., filled)| *filled).map(|(anchor, name, _)| (anchor, name)).collect()
}

fn fact(html: &mut Html, name: &str, value: &str) {
    html.element("div", &[], |html| {
        html.leaf("dt", "", name);
        html.leaf("dd", "", value);
    });
}

/// How many requests the sums are about.
fn requests(totals: &Totals) -> String {
    let mut parts = vec![counted(totals.requests, "request", "requests")];
    let more = [(totals.void_requests, "void"), (totals.side_requests, "beside the conversation")];
    let more = more.into_iter().filter(|(count, _)| *count > 0);
    parts.extend(more.map(|(count, which)| format!("{} {which}", grouped(count))));
    if parts.len() > 1 {
        parts[0].push_str(" in all");
    }
    parts.join(", ")
}

pub(super) fn tiles(html: &mut Html, report: &Report) {
    let Totals { tokens, .. } = report.totals;
    let totals = &report.totals;
    let next = &report.next_request;
    html.element("section", &[("class", &"tiles"), ("id", &"summary"), ("aria-label", &"Totals")], |html| {
        tile(html, "Turns", |html| html.number("/totals/turns", totals.turns), "");
        tile(html, "Steps", |html| html.number("/totals/steps", totals.steps), &requests(totals));
        let calls = format!(
            "{} failed, {} of them denied",
            grouped(totals.failed_calls),
            grouped(totals.denied_calls)
        );
        tile(html, "Calls", |html| html.number("/totals/calls", totals.calls), &calls);
        let cached = if tokens.sent() > 0 { ratio(tokens.cache_read, tokens.sent()) } else { 0.0 };
        tile(
            html,
            "Tokens in",
            |html| html.leaf("span", "", &grouped(tokens.sent())),
            &format!("{} read from cache", percent(cached)),
        );
        tile(
            html,
            "Tokens out",
            |html| html.number("/totals/tokens/output", tokens.output),
            "thinking included",
        );
        let models = counted(totals.models.len() as u64, "model", "models");
        let shown = price(totals.cost_usd, totals.unpriced_requests);
        tile(
            html,
            "Cost",
            |html| html.optional("/totals/costUsd", totals.cost_usd, |_| shown.clone()),
            &models,
        );
        let tools = format!("and {} in tools", duration(totals.tool_ms));
        tile(
            html,
            "Waited",
            |html| html.figure("/totals/modelMs", &totals.model_ms, &duration(totals.model_ms)),
            &tools,
        );
        let of = format!(
            "of the next request: {} of {} bytes",
            grouped(next.steering_bytes),
            grouped(next.sent_bytes)
        );
        let share = percent(next.steering_share);
        tile(
            html,
            "Steering",
            |html| html.figure("/nextRequest/steeringShare", &next.steering_share, &share),
            &of,
        );
    });
}

fn tile(html: &mut Html, name: &str, value: impl FnOnce(&mut Html), remark: &str) {
    html.element("div", &[("class", &"tile")], |html| {
        html.leaf("p", "name", name);
        html.element("p", &[("class", &"value")], value);
        if !remark.is_empty() {
            html.leaf("p", "remark", remark);
        }
    });
}

#[expect(clippy::cast_precision_loss, reason = "a share to a tenth of a percent")]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
