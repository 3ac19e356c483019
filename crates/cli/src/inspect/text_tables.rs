//! The tables at the end of the text.

use tiller_protocol::ledger::MaskTotal;

use super::excerpt::visible;
use super::figures::{counted, duration, grouped, price, size};
use super::report::{Addition, Part, Report};
use super::text::{decided, source};
use crate::text::hanging;

/// Lines that are shown of a text that was added.
const LINES: usize = 8;

/// All tables that have a row.
pub(super) fn all(report: &Report) -> Vec<String> {
    let tables = [
        ("Added to the conversation, by kind", kinds(report)),
        ("What was added, newest first", report.steering.additions.iter().rev().map(addition).collect()),
        ("Credentials masked, by place", masked(report)),
        ("The fixed head of requests", head(report)),
        ("Decisions", decisions(report)),
        ("Models", models(report)),
        ("Tools", tools(report)),
    ];
    let filled = tables.into_iter().filter(|(_, rows)| !rows.is_empty());
    filled.map(|(title, rows): (&str, Vec<String>)| format!("{title}\n{}", rows.join("\n"))).collect()
}

fn kinds(report: &Report) -> Vec<String> {
    let steering = &report.steering;
    let row = |kind: &str, count: u64, repeated: u64, bytes: u64, tokens: u64| {
        let again = if repeated > 0 { format!(" ({} repeated)", grouped(repeated)) } else { String::new() };
        let count = format!("{}{again}", grouped(count));
        format!("  {kind:<28} {count:>18} {:>10}  ~{} tokens", size(bytes), grouped(tokens))
    };
    let mut rows: Vec<String> = steering
        .kinds
        .iter()
        .map(|kind| row(&kind.kind, kind.count, kind.repeated, kind.bytes, kind.tokens))
        .collect();
    if rows.len() > 1 {
        let sum = |of: fn(&super::report::Kind) -> u64| steering.kinds.iter().map(of).sum();
        rows.push(row(
            "all",
            sum(|kind| kind.count),
            sum(|kind| kind.repeated),
            steering.bytes,
            steering.tokens,
        ));
    }
    if steering.forged_tags > 0 {
        let count = counted(steering.forged_tags, "forged reminder tag was", "forged reminder tags were");
        rows.push(format!("  {count} made harmless"));
    }
    rows
}

fn masked(report: &Report) -> Vec<String> {
    let row = |total: &MaskTotal| {
        let (count, place) = (grouped(total.count), masked_in(total));
        format!("  {count:>8} {:<20} {place}, first with step {}", visible(&total.kind), total.first.step)
    };
    report.steering.masked.iter().map(row).collect()
}

/// Where credentials were masked: names of tools and files may come from elsewhere.
pub(super) fn masked_in(total: &MaskTotal) -> String {
    let file = total.file.as_deref().map(|file| format!(" {file}")).unwrap_or_default();
    visible(&format!("{}{file}", total.found_in)).into_owned()
}

fn addition(addition: &Addition) -> String {
    let place = match addition.mark.step {
        Some(step) => format!("with step {step}"),
        None => "not sent yet".to_owned(),
    };
    let head = format!("  {}  {}, {place}, {}", addition.mark.seq, addition.kind, source(&addition.source));
    let mut lines = vec![hanging("", &head), hanging("      ", &addition.why)];
    if let Some(first) = addition.repeats {
        lines.push(format!("      the same as {first}"));
        return lines.join("\n");
    }
    let text = visible(&addition.text);
    lines.extend(text.lines().take(LINES).map(|line| hanging("      | ", line)));
    let more = text.lines().count().saturating_sub(LINES);
    if more > 0 {
        let more = counted(more as u64, "more line", "more lines");
        lines.push(format!("      … {more}: see --json or --html"));
    }
    lines.join("\n")
}

fn head(report: &Report) -> Vec<String> {
    let epoch = |epoch: &super::report::EpochFacts| {
        let parts = |parts: &[Part]| {
            let part = |part: &Part| format!("{} {}", part.name, size(part.bytes));
            parts.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        let lines = [
            format!("  {}  {}", epoch.mark.seq, epoch.reason),
            hanging("      system ", &format!("{}: {}", size(epoch.system_bytes), parts(&epoch.sections))),
            hanging("      tools  ", &format!("{}: {}", size(epoch.tools_bytes), parts(&epoch.tools))),
            format!("      user context {}", size(epoch.user_context_bytes)),
        ];
        lines.join("\n")
    };
    report.epochs.iter().map(epoch).collect()
}

/// Equal decisions are counted, in order of first appearance.
fn decisions(report: &Report) -> Vec<String> {
    let mut counts: Vec<(String, u64)> = Vec::new();
    for decision in &report.decisions {
        let text = format!("{} {}", decision.tool, decided(decision));
        match counts.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    counts.iter().map(|(text, count)| hanging(&format!("{count:>5} × "), text)).collect()
}

fn models(report: &Report) -> Vec<String> {
    let row = |model: &super::report::ModelTotal| {
        let cost = price(model.cost_usd, model.unpriced_requests);
        let requests = counted(model.requests, "request", "requests");
        let (sent, out) = (grouped(model.tokens.sent()), grouped(model.tokens.output));
        format!("  {:<28} {requests:>14}  in {sent}, out {out}, {cost}", model.model)
    };
    report.totals.models.iter().map(row).collect()
}

fn tools(report: &Report) -> Vec<String> {
    let row = |tool: &super::report::ToolTotal| {
        let failed =
            if tool.failed > 0 { format!(", {} failed", grouped(tool.failed)) } else { String::new() };
        format!(
            "  {:<28} {:>14}  {}{failed}",
            tool.tool,
            counted(tool.calls, "call", "calls"),
            duration(tool.ms)
        )
    };
    report.totals.tools.iter().map(row).collect()
}
