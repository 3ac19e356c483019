//! The agents at work, each below the one that started it.

use std::time::Duration;

use ratatui::text::{Line, Span};
use tiller_protocol::command::AgentInfo;
use tiller_protocol::id::AgentId;

use crate::cell::{amount, elapsed};
use crate::text::{clean, fit_line, wrap_some};
use crate::theme::Theme;

/// Rows of an agent where there is little room.
const AGENT_ROWS: usize = 2;
/// Agents below agents are shown to this depth; deeper ones stand beside each other.
const DEEPEST: usize = 8;

/// How an agent is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// At work: what it does right now.
    Running {
        /// In a few words, e.g. the tool it uses.
        activity: String,
    },
    /// It has answered.
    Done,
    /// It has failed, and why.
    Failed(String),
}

/// An agent in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    /// Who it is.
    pub info: AgentInfo,
    /// How it is doing.
    pub state: AgentState,
    /// How long it has been at work, or was.
    pub time: Duration,
    /// What it has consumed.
    pub tokens: u64,
}

/// The agents as a tree, in the order in which they were started. What does not fit is counted.
#[must_use]
pub fn agent_tree(agents: &[AgentRow], columns: u16, height: u16, theme: &Theme) -> Vec<Line<'static>> {
    let known = |id: &AgentId| agents.iter().any(|agent| agent.info.id == *id);
    let is_root = |agent: &&AgentRow| agent.info.parent.as_ref().is_none_or(|parent| !known(parent));
    let roots: Vec<&AgentRow> = agents.iter().filter(is_root).collect();
    let mut lines = Vec::new();
    grow(&roots, agents, "", 0, theme, &mut lines);
    let height = usize::from(height);
    let mut rows: Vec<Line<'static>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let own = wrap_some(line, columns, 4, AGENT_ROWS);
        let is_last = at + 1 == lines.len();
        if rows.len() + own.len() + usize::from(!is_last) > height {
            let hidden = lines.len() - at;
            rows.push(fit_line(Line::styled(format!("… {hidden} more agents"), theme.dim), columns.into()));
            break;
        }
        rows.extend(own);
    }
    rows.truncate(height);
    rows
}

fn grow(
    siblings: &[&AgentRow],
    all: &[AgentRow],
    above: &str,
    depth: usize,
    theme: &Theme,
    lines: &mut Vec<Line<'static>>,
) {
    for (index, agent) in siblings.iter().enumerate() {
        let last = index + 1 == siblings.len();
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        lines.push(line(agent, &format!("{above}{branch}"), theme));
        let children: Vec<&AgentRow> =
            all.iter().filter(|child| child.info.parent.as_ref() == Some(&agent.info.id)).collect();
        if depth < DEEPEST {
            grow(&children, all, &format!("{above}{below}"), depth + 1, theme, lines);
        }
    }
}

fn line(agent: &AgentRow, branch: &str, theme: &Theme) -> Line<'static> {
    let (sign, style, doing) = match &agent.state {
        AgentState::Running { activity } => ("● ", theme.accent, clean(activity).replace('\n', " ")),
        AgentState::Done => ("✓ ", theme.ok, String::new()),
        AgentState::Failed(why) => ("✗ ", theme.error, clean(why).replace('\n', " ")),
    };
    let background = if agent.info.background { " (background)" } else { "" };
    let mut spans = vec![
        Span::styled(branch.to_owned(), theme.dim),
        Span::styled(sign, style),
        Span::styled(clean(&agent.info.kind).into_owned(), theme.strong),
        Span::raw(format!(" {}{background}", clean(&agent.info.description).replace('\n', " "))),
        Span::styled(format!("  {}", elapsed(agent.time)), theme.dim),
    ];
    if agent.tokens > 0 {
        spans.push(Span::styled(format!(" · {} tokens", amount(agent.tokens)), theme.dim));
    }
    if !doing.is_empty() {
        spans.push(Span::styled(format!("  {doing}"), style));
    }
    Line::from(spans)
}
