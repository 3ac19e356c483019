//! What commands show: made from the folded log alone.

use ratatui::text::{Line, Span};

use super::super::{App, status};
use crate::cell::{amount, dollars, elapsed};
use crate::dialog::change_in_words;
use crate::panel::ContextUse;
use crate::text::{clean, wrap};

/// What fills the context, as a bar by part.
pub(super) fn context(app: &App) -> Vec<Line<'static>> {
    let counted = app.state.last_usage.map(|usage| usage.total());
    let used = ContextUse::of(app.ledger.sent(), app.context_window(), counted);
    let mut lines = used.lines(app.look.size.width, &app.look.theme);
    lines.extend(app.fold_rows());
    lines
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
    rows.into_iter().flat_map(|row| wrap(&row, app.look.size.width, 4)).collect()
}

/// Sub-agents at work.
pub(in crate::app) fn agents(app: &App) -> Vec<Line<'static>> {
    if app.live.agents.is_empty() {
        return vec![Line::styled("No sub-agents are running.", app.look.theme.dim)];
    }
    app.agent_tree(u16::MAX)
}

/// The todo list.
pub(super) fn todos(app: &App) -> Vec<Line<'static>> {
    if app.state.todos.is_empty() {
        return vec![Line::styled("The todo list is empty.", app.look.theme.dim)];
    }
    crate::cell::todos(&app.state.todos, usize::MAX, &app.look.paper())
}

/// What was allowed or refused for this session alone.
pub(in crate::app) fn session_rules(app: &App) -> Vec<Line<'static>> {
    let theme = &app.look.theme;
    let (mode, style) = status::mode(app.state.mode, theme);
    let mut rows = vec![Line::from(vec![Span::raw("Mode: "), Span::styled(mode, style)])];
    let updates = app.state.permissions.updates();
    if !updates.is_empty() {
        rows.push(Line::raw("For this session:"));
        rows.extend(updates.iter().map(|update| Line::raw(format!("  {}", change_in_words(update)))));
    }
    rows.into_iter().flat_map(|row| wrap(&row, app.look.size.width, 4)).collect()
}

/// Nothing runs in the background, and nothing did.
pub(in crate::app) fn no_tasks(app: &App) -> Vec<Line<'static>> {
    vec![Line::styled("Nothing is running in the background.", app.look.theme.dim)]
}

/// This session.
pub(super) fn status(app: &App) -> Vec<Line<'static>> {
    let theme = &app.look.theme;
    let (mode, _) = status::mode(app.state.mode, theme);
    let context = match (app.state.last_usage, app.context_window()) {
        (Some(usage), Some(window)) => format!("{} of {} tokens", amount(usage.total()), amount(window)),
        (Some(usage), None) => format!("{} tokens", amount(usage.total())),
        (None, _) => "nothing sent yet".to_owned(),
    };
    let unpriced = if app.state.spent.unpriced { " and what has no known price" } else { "" };
    let rows = [
        ("session", app.info.id.to_string()),
        ("version", app.info.version.clone()),
        ("directory", app.state.cwd.display().to_string()),
        ("model", app.model().to_owned()),
        ("mode", format!("{} ({mode})", app.state.mode)),
        ("commands", app.info.confinement.describe(app.state.mode)),
        ("context", context),
        ("steering", format!("{:.1}% of what is sent", app.ledger.share().fraction() * 100.0)),
        ("cost", format!("{}{unpriced}", dollars(app.state.spent.usd))),
        ("background", format!("{} running", app.live.running_tasks())),
        ("servers", servers(app)),
    ];
    let row = |(name, value): (&str, String)| {
        Line::from(vec![
            Span::styled(format!("{name:<12}"), theme.dim),
            Span::raw(clean(&value).into_owned()),
        ])
    };
    rows.into_iter().flat_map(|entry| wrap(&row(entry), app.look.size.width, 12)).collect()
}

fn servers(app: &App) -> String {
    let one =
        |server: &tiller_protocol::mcp::McpServer| format!("{} {}", server.name, server.state.describe());
    let all: Vec<String> = app.servers.values().map(one).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}
