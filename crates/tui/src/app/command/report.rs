//! What commands show: made from the folded log alone.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use tiller_protocol::ledger::tokens;

use super::super::{App, status};
use crate::cell::{amount, dollars, elapsed};
use crate::text::{clean, fit, fit_line};

/// Columns of the bar.
const BAR: u64 = 40;
/// Additions that are listed one by one.
const LISTED: usize = 12;

/// What fills the context, as a bar by part.
pub(super) fn context(app: &App) -> Vec<Line<'static>> {
    let theme = &app.look.theme;
    let sent = app.ledger.sent();
    let own = sent.conversation.saturating_sub(sent.added);
    let parts: [(&str, u64, Style); 5] = [
        ("system prompt", sent.system, theme.accent),
        ("tools", sent.tools, theme.keyword),
        ("instructions", sent.user_context, theme.plan),
        ("steering", sent.added, theme.warning),
        ("conversation", own, theme.ok),
    ];
    let estimated: u64 = parts.iter().map(|(_, bytes, _)| tokens(*bytes)).sum();
    let window = app.info.context_window.unwrap_or(estimated.max(1));
    let used = app.state.last_usage.map_or(estimated, |usage| usage.total());
    let share = (used * 100 / window.max(1)).min(100);
    let mut rows = vec![Line::styled(
        format!("Context: {} of {} tokens ({share}%)", amount(used), amount(window)),
        theme.strong,
    )];
    let cells = |bytes: u64| (tokens(bytes) * BAR).div_ceil(window.max(1)).min(BAR);
    let filled: u64 = parts.iter().map(|(_, bytes, _)| cells(*bytes)).sum();
    let mut bar: Vec<Span<'static>> =
        parts.iter().map(|(_, bytes, style)| Span::styled(repeated("█", cells(*bytes)), *style)).collect();
    bar.push(Span::styled(repeated("░", BAR.saturating_sub(filled)), theme.dim));
    rows.push(fit_line(Line::from(bar), usize::from(app.look.size.width)));
    for (name, bytes, style) in parts {
        rows.push(Line::from(vec![
            Span::styled("█ ", style),
            Span::raw(format!("{name:<15}")),
            Span::styled(format!("{:>7} tokens (estimated)", amount(tokens(bytes))), theme.dim),
        ]));
    }
    rows
}

fn repeated(text: &str, count: u64) -> String {
    text.repeat(usize::try_from(count).unwrap_or(0))
}

/// What the session has cost, by model.
pub(super) fn cost(app: &App) -> Vec<Line<'static>> {
    let theme = &app.look.theme;
    let spent = &app.state.spent;
    let unknown = if spent.unpriced { ", and what models without a known price cost" } else { "" };
    let waited = elapsed(std::time::Duration::from_millis(spent.api_ms));
    let mut rows = vec![Line::styled(
        format!("{}{unknown} · {waited} waited for the provider", dollars(spent.usd)),
        theme.strong,
    )];
    for (model, part) in &spent.by_model {
        let usage = part.usage;
        rows.push(Line::raw(format!(
            "  {model}: {} in, {} written to the cache, {} read from it, {} out · {}",
            amount(usage.input_tokens),
            amount(usage.cache_creation_input_tokens),
            amount(usage.cache_read_input_tokens),
            amount(usage.output_tokens),
            dollars(part.usd),
        )));
    }
    rows.into_iter().flat_map(|row| crate::text::wrap(&row, app.look.size.width, 4)).collect()
}

/// The ledger: what Tiller itself has told the model, with totals by kind.
pub(super) fn steering(app: &App) -> Vec<Line<'static>> {
    let theme = &app.look.theme;
    let columns = usize::from(app.look.size.width);
    let share = app.ledger.share();
    let mut rows = vec![Line::styled(
        format!("Steering: {:.1}% of what is sent, about {} tokens", share.fraction() * 100.0, amount(tokens(share.steering))),
        theme.strong,
    )];
    for (kind, total) in app.ledger.kinds() {
        let repeated = if total.repeated > 0 { format!(", {} of them said before", total.repeated) } else { String::new() };
        rows.push(Line::raw(format!("  {kind}: {} times{repeated}, {} tokens", total.count, amount(tokens(total.bytes)))));
    }
    if app.ledger.forged() > 0 {
        let text = format!("  {} forged reminders were made harmless", app.ledger.forged());
        rows.push(Line::styled(text, theme.warning));
    }
    for addition in app.additions.iter().rev().take(LISTED) {
        let text = clean(&addition.text);
        let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('<'));
        rows.push(Line::from(vec![
            Span::styled(format!("  {} ", addition.kind), theme.accent),
            Span::styled(format!("{}: ", clean(&addition.why)), theme.dim),
            Span::raw(fit(first.unwrap_or_default(), columns)),
        ]));
    }
    rows.push(Line::styled("  tiller inspect shows all of it with its texts", theme.dim));
    rows.into_iter().map(|row| fit_line(row, columns)).collect()
}

/// Sub-agents at work.
pub(super) fn agents(app: &App) -> Vec<Line<'static>> {
    if app.live.agents.is_empty() {
        return vec![Line::styled("No sub-agent is at work.", app.look.theme.dim)];
    }
    let row = |agent: &super::super::live::Agent| {
        Line::raw(format!(
            "{} {} ({}) · {} · {} calls · {} tokens",
            agent.info.kind,
            agent.info.description,
            agent.info.model,
            elapsed(app.now.saturating_sub(agent.since)),
            agent.calls,
            amount(agent.tokens)
        ))
    };
    app.live.agents.values().map(row).collect()
}

/// What runs in the background, and what did.
pub(super) fn tasks(app: &App) -> Vec<Line<'static>> {
    if app.live.tasks.is_empty() {
        return vec![Line::styled("Nothing runs in the background.", app.look.theme.dim)];
    }
    let row = |task: &tiller_protocol::command::BackgroundTask| {
        let state = format!("{:?}", task.state).to_lowercase();
        let text = format!("{}  {state}  {}", task.id, clean(&task.description).replace('\n', " "));
        Line::raw(fit(&text, usize::from(app.look.size.width)))
    };
    app.live.tasks.values().map(row).collect()
}

/// This session.
pub(super) fn status(app: &App) -> Vec<Line<'static>> {
    let theme = &app.look.theme;
    let (mode, _) = status::mode(app.state.mode, theme);
    let rows = [
        ("session", app.info.id.to_string()),
        ("version", app.info.version.clone()),
        ("directory", app.state.cwd.display().to_string()),
        ("model", app.model().to_owned()),
        ("mode", format!("{} ({mode})", app.state.mode)),
        ("commands", app.info.confinement.clone()),
    ];
    let row = |(name, value): (&str, String)| {
        Line::from(vec![Span::styled(format!("{name:<10}"), theme.dim), Span::raw(value)])
    };
    rows.into_iter().map(row).collect()
}
