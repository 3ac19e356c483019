//! Where the conversation was folded.

use super::markup::Html;
use super::tables::{cell, place, table};
use crate::inspect::compaction::Compaction;
use crate::inspect::report::Report;

pub(super) fn table_of(html: &mut Html, report: &Report) {
    let columns = [
        "by",
        "before#",
        "after#",
        "folded#",
        "kept#",
        "prompts#",
        "shortened#",
        "left out#",
        "what came back",
        "summary",
        "",
    ];
    table(html, "Compactions", &columns, |html| {
        for (at, compaction) in report.compactions.iter().enumerate() {
            html.element("tr", &[], |html| row(html, compaction, at));
        }
    });
}

fn row(html: &mut Html, compaction: &Compaction, at: usize) {
    let pointer = |field: &str| format!("/compactions/{at}/{field}");
    let undone = if compaction.undone { " (undone)" } else { "" };
    cell(html, "", |html| html.text(&format!("{}{undone}", compaction.trigger.word())));
    for (field, number) in [
        ("tokensBefore", compaction.tokens_before),
        ("tokensAfter", compaction.tokens_after),
        ("foldedMessages", compaction.folded_messages),
        ("keptMessages", compaction.kept_messages),
        ("carriedPrompts", compaction.carried_prompts),
        ("shortenedPrompts", compaction.shortened_prompts),
        ("leftOutPrompts", compaction.left_out_prompts),
    ] {
        cell(html, "n", |html| html.number(&pointer(field), number));
    }
    cell(html, "", |html| html.text(&compaction.restored.join(", ")));
    cell(html, "", |html| {
        html.element("details", &[("class", &"more")], |html| {
            html.leaf("summary", "", "show");
            html.leaf("pre", "", &compaction.summary.text);
        });
    });
    place(html, &compaction.mark);
}
