//! Permission decisions: each refusal by itself, what was allowed by what allowed it.

use super::markup::Html;
use super::tables::{cell, place, short_path, table};
use crate::inspect::report::{Call, Decision, Report};

pub(super) fn tables(html: &mut Html, report: &Report) {
    let (allowed, refused): (Vec<&Decision>, Vec<&Decision>) =
        report.decisions.iter().partition(|decision| decision.behavior == "allow");
    if !refused.is_empty() {
        refusals(html, report, &refused);
    }
    if !allowed.is_empty() {
        allowances(html, report, &allowed);
    }
}

fn refusals(html: &mut Html, report: &Report, refused: &[&Decision]) {
    let calls: Vec<&Call> =
        report.turns.iter().flat_map(|turn| &turn.steps).flat_map(|step| &step.calls).collect();
    table(html, "Refusals", &["", "tool", "about", "decided by", "from", "why", "where"], |html| {
        for decision in refused {
            let call = calls.iter().find(|call| call.id == decision.call);
            html.element("tr", &[], |html| {
                cell(html, "", |html| verdict(html, &decision.behavior));
                cell(html, "", |html| match call {
                    Some(call) => {
                        let anchor = format!("#call-{}", call.seq);
                        html.element("a", &[("href", &anchor)], |html| html.text(&decision.tool));
                    }
                    None => html.text(&decision.tool),
                });
                cell(html, "wide", |html| html.leaf("code", "", call.map_or("", |call| &call.about)));
                cell(html, "rule", |html| decider(html, decision));
                cell(html, "", |html| html.text(origin(report, decision).unwrap_or_default()));
                cell(html, "wide", |html| html.text(&decision.message));
                place(html, &decision.mark);
            });
        }
    });
}

/// What allowed something, how often, and to which tools.
struct Allowance<'a> {
    decision: &'a Decision,
    times: u64,
    tools: Vec<&'a str>,
}

fn allowances(html: &mut Html, report: &Report, allowed: &[&Decision]) {
    let mut groups: Vec<Allowance<'_>> = Vec::new();
    for decision in allowed.iter().copied() {
        let same = |group: &&mut Allowance<'_>| {
            let (known, new) = (group.decision, decision);
            (&known.message, &known.rule, &known.file) == (&new.message, &new.rule, &new.file)
        };
        let at = groups.iter_mut().find(same);
        match at {
            Some(group) => group.add(decision),
            None => groups.push(Allowance { decision, times: 1, tools: vec![&decision.tool] }),
        }
    }
    table(html, "Allowances", &["", "times#", "tools", "decided by", "from", "why"], |html| {
        for Allowance { decision, times, tools } in groups {
            html.element("tr", &[], |html| {
                cell(html, "", |html| verdict(html, &decision.behavior));
                cell(html, "n", |html| html.text(&times.to_string()));
                cell(html, "", |html| html.text(&tools.join(", ")));
                cell(html, "rule", |html| decider(html, decision));
                cell(html, "", |html| html.text(origin(report, decision).unwrap_or_default()));
                cell(html, "wide", |html| html.text(&decision.message));
            });
        }
    });
}

impl<'a> Allowance<'a> {
    fn add(&mut self, decision: &'a Decision) {
        self.times += 1;
        if !self.tools.contains(&decision.tool.as_str()) {
            self.tools.push(&decision.tool);
        }
    }
}

/// The rule, or what else decided.
fn decider(html: &mut Html, decision: &Decision) {
    match (&decision.rule, decision.by.as_str()) {
        (Some(rule), _) => html.leaf("code", "", rule),
        (None, "other") => html.text("–"),
        (None, by) => html.text(by),
    }
}

/// Where the deciding rule stands.
pub(super) fn origin<'a>(report: &Report, decision: &'a Decision) -> Option<&'a str> {
    let file = decision.file.as_deref().map(|file| short_path(report, file));
    file.or(decision.source.as_deref())
}

pub(super) fn verdict(html: &mut Html, behavior: &str) {
    html.leaf("span", if behavior == "allow" { "chip good" } else { "chip bad" }, behavior);
}
