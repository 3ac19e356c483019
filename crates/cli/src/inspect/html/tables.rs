//! What the timeline has in order, by subject.

use std::path::Path;

use super::chart::composition;
use super::compactions;
use super::markup::{Attributes, Html};
use super::overview::ratio;
use super::permissions;
use crate::inspect::event::word;
use crate::inspect::figures::{duration, grouped, percent, price};
use crate::inspect::report::{EpochFacts, Kind, Mark, ModelTotal, Part, Report};
use crate::inspect::text_tables::masked_in;

pub(super) fn sections(html: &mut Html, report: &Report) {
    steering(html, report);
    if !report.decisions.is_empty() {
        section(html, "permissions", "Permissions", |html| permissions::tables(html, report));
    }
    if !report.hooks.is_empty() {
        section(html, "hooks", "Hooks", |html| hooks(html, report));
    }
    if !report.compactions.is_empty() {
        section(html, "compactions", "Compactions", |html| compactions::table_of(html, report));
    }
    if !report.events.is_empty() {
        section(html, "events", "Notices, repairs and changes", |html| events(html, report));
    }
    if !report.totals.tools.is_empty() {
        section(html, "tools", "Tools and models", |html| {
            tools(html, report);
            models(html, report);
        });
    }
    if !report.epochs.is_empty() {
        section(html, "head", "System prompt and tool definitions", |html| {
            for (at, epoch) in report.epochs.iter().enumerate() {
                head(html, epoch, at);
            }
        });
    }
}

fn section(html: &mut Html, id: &'static str, title: &str, inside: impl FnOnce(&mut Html)) {
    html.element("section", &[("id", &id)], |html| {
        html.leaf("h2", "", title);
        inside(html);
    });
}

/// A table. Names of columns with numbers end in `#`.
pub(super) fn table(html: &mut Html, label: &str, columns: &[&str], rows: impl FnOnce(&mut Html)) {
    let scroll: Attributes<'_> =
        &[("class", &"panel scroll"), ("tabindex", &"0"), ("role", &"group"), ("aria-label", &label)];
    html.element("div", scroll, |html| {
        html.element("table", &[], |html| {
            html.element("thead", &[], |html| {
                html.element("tr", &[], |html| columns.iter().for_each(|column| heading(html, column)));
            });
            html.element("tbody", &[], rows);
        });
    });
}

fn heading(html: &mut Html, column: &str) {
    let class = if column.ends_with('#') { "n" } else { "" };
    html.element("th", &[("scope", &"col"), ("class", &class)], |html| {
        html.text(column.trim_end_matches('#'));
    });
}

pub(super) fn cell(html: &mut Html, class: &'static str, inside: impl FnOnce(&mut Html)) {
    html.element("td", &[("class", &class)], inside);
}

fn steering(html: &mut Html, report: &Report) {
    let steering = &report.steering;
    section(html, "steering", "Steering", |html| {
        html.element("p", &[("class", &"lead")], |html| {
            html.text("Tiller added ");
            html.number("/steering/bytes", steering.bytes);
            html.text(" bytes to this conversation, about ");
            html.number("/steering/tokens", steering.tokens);
            html.text(" tokens. The next request would be ");
            html.number("/nextRequest/sentBytes", report.next_request.sent_bytes);
            html.text(" bytes long, ");
            html.number("/nextRequest/steeringBytes", report.next_request.steering_bytes);
            html.text(" of them steering:");
        });
        html.element("div", &[("class", &"panel")], |html| composition(html, report));
        if steering.forged_tags > 0 {
            html.element("p", &[("class", &"note warning")], |html| {
                html.number("/steering/forgedTags", steering.forged_tags);
                html.text(" forged reminder tags were made harmless.");
            });
        }
        for (at, masked) in steering.masked.iter().enumerate() {
            html.element("p", &[("class", &"note")], |html| {
                html.text("Masked: ");
                html.number(&format!("/steering/masked/{at}/count"), masked.count);
                html.text(&format!(" × {} in ", masked.kind));
                html.leaf("b", "", &masked_in(masked));
                html.text(&format!(", first with step {}", masked.first.step));
            });
        }
        if !steering.kinds.is_empty() {
            kinds(html, report);
            additions(html, report);
        }
    });
}

fn kinds(html: &mut Html, report: &Report) {
    let most = report.steering.kinds.iter().map(|kind| kind.bytes).max().unwrap_or_default();
    let row = |html: &mut Html, at: usize, kind: &Kind| {
        let pointer = |field: &str| format!("/steering/kinds/{at}/{field}");
        html.element("tr", &[], |html| {
            cell(html, "", |html| html.leaf("b", "", &kind.kind));
            cell(html, "n", |html| html.number(&pointer("count"), kind.count));
            cell(html, "n", |html| html.number(&pointer("repeated"), kind.repeated));
            cell(html, "n", |html| html.number(&pointer("bytes"), kind.bytes));
            cell(html, "n", |html| html.number(&pointer("tokens"), kind.tokens));
            cell(html, "meter", |html| meter(html, "hidden", ratio(kind.bytes, most)));
        });
    };
    table(html, "Kinds of additions", &["kind", "times#", "repeated#", "bytes#", "≈ tokens#", ""], |html| {
        for (at, kind) in report.steering.kinds.iter().enumerate() {
            row(html, at, kind);
        }
    });
}

fn additions(html: &mut Html, report: &Report) {
    html.element("details", &[("class", &"more")], |html| {
        html.leaf("summary", "", "Everything that was added, newest first");
        table(html, "Additions", &["#", "kind", "by", "why", "first sent", "bytes#"], |html| {
            for addition in report.steering.additions.iter().rev() {
                html.element("tr", &[], |html| {
                    cell(html, "n", |html| {
                        html.element(
                            "a",
                            &[("href", &format_args!("#added-{}", addition.mark.seq))],
                            |html| {
                                html.text(&addition.mark.seq.to_string());
                            },
                        );
                    });
                    cell(html, "kind", |html| {
                        html.leaf("b", "", &addition.kind);
                        if addition.repeats.is_some() {
                            html.leaf("span", "chip", "repeated");
                        }
                    });
                    cell(html, "", |html| html.text(addition.source.name()));
                    cell(html, "wide", |html| html.text(&addition.why));
                    cell(html, "place", |html| match addition.mark.step {
                        Some(step) => step_link(html, step),
                        None => html.text("not yet"),
                    });
                    cell(html, "n", |html| html.text(&grouped(addition.bytes)));
                });
            }
        });
    });
}

fn step_link(html: &mut Html, step: u32) {
    html.element("a", &[("href", &format_args!("#step-{step}-1"))], |html| {
        html.text(&format!("step {step}"));
    });
}

/// Where something stands, as a link to it.
pub(super) fn place(html: &mut Html, mark: &Mark) {
    cell(html, "place", |html| match (mark.step, mark.turn) {
        (Some(step), _) => step_link(html, step),
        (None, Some(turn)) => {
            html.element("a", &[("href", &format_args!("#turn-{turn}"))], |html| {
                html.text(&format!("turn {turn}"));
            });
        }
        (None, None) => html.text("after"),
    });
}

fn hooks(html: &mut Html, report: &Report) {
    table(html, "Hooks", &["event", "hook", "from", "", "exit#", "took#", "where"], |html| {
        for (at, hook) in report.hooks.iter().enumerate() {
            let class = if hook.end.name() == "success" { "chip good" } else { "chip bad" };
            html.element("tr", &[], |html| {
                cell(html, "", |html| html.leaf("b", "", &hook.event));
                cell(html, "wide", |html| html.leaf("code", "", &hook.name));
                cell(html, "", |html| html.text(short_path(report, &hook.source)));
                cell(html, "", |html| html.leaf("span", class, hook.end.name()));
                cell(html, "n", |html| {
                    html.text(&hook.exit_code.map(|code| code.to_string()).unwrap_or_default());
                });
                cell(html, "n", |html| {
                    html.number(&format!("/hooks/{at}/durationMs"), hook.duration_ms);
                    html.text(" ms");
                });
                place(html, &hook.mark);
            });
        }
    });
}

fn events(html: &mut Html, report: &Report) {
    table(html, "Notices, repairs and changes", &["what", "", "where"], |html| {
        for event in &report.events {
            html.element("tr", &[], |html| {
                cell(html, "", |html| html.leaf("b", "", &word(&event.kind)));
                cell(html, "wide", |html| html.text(&event.text));
                place(html, &event.mark);
            });
        }
    });
}

fn tools(html: &mut Html, report: &Report) {
    let most = report.totals.tools.iter().map(|tool| tool.calls).max().unwrap_or_default();
    table(html, "Tools", &["tool", "calls#", "failed#", "time#", ""], |html| {
        for (at, tool) in report.totals.tools.iter().enumerate() {
            let pointer = |field: &str| format!("/totals/tools/{at}/{field}");
            html.element("tr", &[], |html| {
                cell(html, "", |html| html.leaf("b", "", &tool.tool));
                cell(html, "n", |html| html.number(&pointer("calls"), tool.calls));
                cell(html, "n", |html| html.number(&pointer("failed"), tool.failed));
                cell(html, "n", |html| html.figure(&pointer("ms"), &tool.ms, &duration(tool.ms)));
                cell(html, "meter", |html| meter(html, "run", ratio(tool.calls, most)));
            });
        }
    });
}

fn models(html: &mut Html, report: &Report) {
    let row = |html: &mut Html, at: usize, model: &ModelTotal| {
        let pointer = |field: &str| format!("/totals/models/{at}/{field}");
        html.element("tr", &[], |html| {
            cell(html, "", |html| html.leaf("b", "", &model.model));
            cell(html, "n", |html| html.number(&pointer("requests"), model.requests));
            cell(html, "n", |html| html.number(&pointer("tokens/cacheRead"), model.tokens.cache_read));
            cell(html, "n", |html| html.number(&pointer("tokens/cacheWrite"), model.tokens.cache_write));
            cell(html, "n", |html| html.number(&pointer("tokens/input"), model.tokens.input));
            cell(html, "n", |html| html.number(&pointer("tokens/output"), model.tokens.output));
            let shown = price(model.cost_usd, model.unpriced_requests);
            cell(html, "n", |html| html.optional(&pointer("costUsd"), model.cost_usd, |_| shown.clone()));
        });
    };
    table(
        html,
        "Models",
        &["model", "requests#", "cache read#", "cache write#", "uncached#", "out#", "cost#"],
        |html| {
            for (at, model) in report.totals.models.iter().enumerate() {
                row(html, at, model);
            }
        },
    );
}

fn head(html: &mut Html, epoch: &EpochFacts, at: usize) {
    let pointer = |field: &str| format!("/epochs/{at}/{field}");
    html.element("details", &[("class", &"more")], |html| {
        html.element("summary", &[], |html| {
            html.text(&format!("Epoch {}: {} · system prompt ", at + 1, epoch.reason));
            html.number(&pointer("systemBytes"), epoch.system_bytes);
            html.text(" bytes · tools ");
            html.number(&pointer("toolsBytes"), epoch.tools_bytes);
            html.text(" bytes · user context ");
            html.number(&pointer("userContextBytes"), epoch.user_context_bytes);
            html.text(" bytes");
        });
        html.element("div", &[("class", &"pair")], |html| {
            parts(html, "section of the prompt", &epoch.sections, "system", &pointer("sections"));
            parts(html, "tool", &epoch.tools, "tools", &pointer("tools"));
        });
    });
}

fn parts(html: &mut Html, name: &str, parts: &[Part], class: &'static str, pointer: &str) {
    let whole: u64 = parts.iter().map(|part| part.bytes).sum();
    let most = parts.iter().map(|part| part.bytes).max().unwrap_or_default();
    table(html, name, &[name, "bytes#", "", ""], |html| {
        for (at, part) in parts.iter().enumerate() {
            html.element("tr", &[], |html| {
                cell(html, "", |html| html.text(&part.name));
                cell(html, "n", |html| html.number(&format!("{pointer}/{at}/bytes"), part.bytes));
                cell(html, "n", |html| html.text(&percent(ratio(part.bytes, whole))));
                cell(html, "meter", |html| meter(html, class, ratio(part.bytes, most)));
            });
        }
    });
}

fn meter(html: &mut Html, class: &'static str, fraction: f64) {
    let width = Html::percentage(fraction);
    html.element("svg", &[("class", &"meter"), ("height", &"8"), ("aria-hidden", &"true")], |html| {
        html.empty("rect", &[("class", &class), ("width", &width), ("height", &"8"), ("rx", &"2")]);
    });
}

/// A path, from the session's directory if it is there.
pub(super) fn short_path<'a>(report: &Report, path: &'a str) -> &'a str {
    let below = Path::new(path).strip_prefix(&report.session.directory).ok();
    below.and_then(Path::to_str).filter(|below| !below.is_empty()).unwrap_or(path)
}
