//! The agents at work, each below the one that started it.

use std::time::Duration;

use ratatui::text::{Line, Span};
use tiller_protocol::command::AgentInfo;
use tiller_protocol::id::AgentId;

use crate::cell::{amount, elapsed};
use crate::text::{clean, fit_line};
use crate::theme::Theme;

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
    if lines.len() > height {
        lines.truncate(height.saturating_sub(1));
        let hidden = agents.len() - lines.len();
        lines.push(Line::styled(format!("… {hidden} more agents"), theme.dim));
        lines.truncate(height);
    }
    lines.into_iter().map(|line| fit_line(line, columns.into())).collect()
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
        Span::styled(format!("  {} · {} tokens", elapsed(agent.time), amount(agent.tokens)), theme.dim),
    ];
    if !doing.is_empty() {
        spans.push(Span::styled(format!("  {doing}"), style));
    }
    Line::from(spans)
}
