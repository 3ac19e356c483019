//! The live area from top to bottom: what is being written, what runs, what waits, the input, the status.

use ratatui::text::{Line, Span};
use tiller_protocol::effect::TodoStatus;
use tiller_protocol::mode::Mode;

use super::live::{Agent, Block, Retry};
use super::overlay::Overlay;
use super::{App, queue};
use crate::cell::{self, amount, dollars, elapsed};
use crate::keys::Action;
use crate::panel::{AgentRow, AgentState, agent_tree};
use crate::text::{fit, fit_line, output_rows, reveal, visible_line, width, wrap_some};
use crate::view::View;

/// Rows that stay free above the live area, so that the transcript remains in sight.
const FREE_ROWS: usize = 2;
/// Rows of output that a running call shows.
const OUTPUT_ROWS: usize = 5;
/// Rows that tell what is under way.
const WORK_ROWS: usize = 5;
/// Rows of the tree of sub-agents.
const AGENT_ROWS: u16 = 8;
/// Rows of the todo list.
const TODO_ROWS: usize = 8;
/// Rows that the input takes at most, as a share of the screen.
const INPUT_SHARE: u16 = 2;

/// Columns around a hint in the input.
const HINT_MARGIN: usize = 3;

/// What turns while the agent works.
const SPINNER: [&str; 4] = ["◐ ", "◓ ", "◑ ", "◒ "];
const SPINNER_MS: u128 = 125;

impl App {
    /// The live area.
    #[must_use]
    pub fn view(&self) -> View {
        if self.is_aside && self.overlay.is_some() {
            return self.page_view();
        }
        let height = usize::from(self.look.size.height);
        let foot = self.foot();
        let room = height.saturating_sub(foot.lines.len() + FREE_ROWS);
        let mut view = View::of(tail(self.above(), room));
        view.push(foot);
        view
    }

    /// What stands above the input; its end matters most.
    fn above(&self) -> Vec<Line<'static>> {
        let paper = self.look.paper();
        let mut rows = self.writing();
        rows.extend(self.running());
        rows.extend(self.shells());
        rows.extend(self.agent_tree(AGENT_ROWS));
        rows.extend(self.work());
        rows.extend(self.outgoing_rows());
        let todos = &self.state.todos;
        let unfinished = todos.iter().any(|todo| todo.status != TodoStatus::Completed);
        if unfinished && !self.todos_hidden {
            rows.push(Line::default());
            rows.extend(cell::todos(todos, TODO_ROWS, &paper));
        }
        if !matches!(self.overlay, Some(Overlay::Queue(_))) {
            rows.extend(queue::rows(self.state.queue.iter(), self.live.turn.is_some(), &paper));
        }
        rows
    }

    /// The end of what the model is writing.
    fn writing(&self) -> Vec<Line<'static>> {
        let paper = self.look.paper();
        let mut rows = Vec::new();
        for block in self.live.blocks.values() {
            match block {
                Block::Text(answer) => rows.extend(answer.pending(&paper)),
                Block::Thinking(thoughts) => {
                    rows.extend(cell::thinking_now(last_lines(thoughts), OUTPUT_ROWS, &paper));
                }
                Block::Call { tool, bytes } => {
                    let text = format!("  {tool}: writing its input, {bytes} bytes");
                    rows.push(Line::styled(text, self.look.theme.dim));
                }
            }
        }
        tail(rows, usize::from(self.look.size.height / 2))
    }

    fn running(&self) -> Vec<Line<'static>> {
        let paper = self.look.paper();
        let mut rows = Vec::new();
        for (id, running) in &self.live.running {
            let Some(call) = self.live.calls.get(id) else { continue };
            let time = elapsed(self.now.saturating_sub(running.since));
            rows.push(Line::default());
            rows.extend(cell::running(call, self.spinner(), &time, &paper));
            let output =
                output_rows(last_lines(&running.output), paper.columns.saturating_sub(4), paper.theme.dim);
            let bar = Span::styled("  │ ", paper.theme.dim);
            rows.extend(crate::text::prefixed(tail(output, OUTPUT_ROWS), &bar, &bar));
        }
        rows
    }

    /// What the user runs.
    fn shells(&self) -> Vec<Line<'static>> {
        let columns = usize::from(self.look.size.width);
        let stop = format!("  runs · {} stops", self.keys.hint(Action::Interrupt));
        let row = |command: &String| {
            let room = columns.saturating_sub(crate::text::width(&stop) + 2).max(8);
            let command = fit(&visible_line(command), room);
            let spans = vec![
                Span::styled("! ", self.look.theme.accent),
                Span::raw(command),
                Span::styled(stop.clone(), self.look.theme.dim),
            ];
            reveal(fit_line(Line::from(spans), columns), self.look.theme.warning)
        };
        self.shells.iter().map(row).collect()
    }

    /// The sub-agents at work.
    pub(super) fn agent_tree(&self, most: u16) -> Vec<Line<'static>> {
        let row = |agent: &Agent| AgentRow {
            info: agent.info.clone(),
            state: AgentState::Running { activity: agent.activity.clone() },
            time: self.now.saturating_sub(agent.since),
            tokens: agent.tokens,
        };
        let rows: Vec<AgentRow> = self.live.agents.values().map(row).collect();
        agent_tree(&rows, self.look.size.width, most, &self.look.theme)
    }

    /// That work is under way, for how long, and how to stop it.
    fn work(&self) -> Vec<Line<'static>> {
        let theme = &self.look.theme;
        let line = |text: String, style| {
            let line =
                Line::from(vec![Span::styled(self.spinner(), theme.accent), Span::styled(text, style)]);
            wrap_some(&line, self.look.size.width, 2, WORK_ROWS)
        };
        if self.closing.is_some() {
            return line("Ending the session".to_owned(), theme.dim);
        }
        let Some(turn) = &self.live.turn else { return Vec::new() };
        if let Some(retry) = &self.live.retry {
            let left = elapsed(retry.at.saturating_sub(self.now));
            let Retry { attempt, max, error, .. } = retry;
            let text = format!("Retrying in {left}{} (attempt {attempt} of {max}): {error}", self.stops());
            return [vec![Line::default()], line(text, theme.warning)].concat();
        }
        let folding =
            self.live.folding.map(|tokens| format!("Folding {} tokens into a summary", amount(tokens)));
        let doing = match (self.live.stopping, !self.pending.is_empty(), self.live.running.is_empty()) {
            (true, _, _) => "Stopping",
            (_, true, _) => "Waiting for you",
            _ if folding.is_some() => folding.as_deref().unwrap_or_default(),
            (_, _, false) => "Running",
            _ if self.live.blocks.is_empty() => "Waiting for the model",
            _ if matches!(self.live.blocks.values().last(), Some(Block::Thinking(_))) => "Thinking",
            _ => "Writing",
        };
        let tokens = turn.tokens + (turn.streamed / 4) as u64;
        let mut text = format!("{doing} · {}", elapsed(self.now.saturating_sub(turn.since)));
        if tokens > 0 {
            text.push_str(&format!(" · {} tokens", amount(tokens)));
        }
        let usd = self.state.spent.usd - turn.usd_before;
        if usd > 0.0 {
            text.push_str(&format!(" · {}", dollars(usd)));
        }
        text.push_str(&self.stops());
        if !self.is_asking() && self.can_go_on().is_some() {
            text.push_str(&format!(" · {} to background", self.keys.hint(Action::Background)));
        }
        [vec![Line::default()], line(text, theme.dim)].concat()
    }

    /// How to stop it. While something is asked, keys are for the question.
    fn stops(&self) -> String {
        if self.is_asking() {
            return String::new();
        }
        format!(" · {} stops", self.keys.hint(Action::Interrupt))
    }

    fn spinner(&self) -> &'static str {
        SPINNER[usize::try_from(self.now.as_millis() / SPINNER_MS).unwrap_or(0) % SPINNER.len()]
    }

    /// The question or the input, and below it the status.
    fn foot(&self) -> View {
        let (columns, height) = (self.look.size.width, self.look.size.height);
        let theme = &self.look.theme;
        let status = self.status();
        if let Some(view) = self.dialog_view(columns, self.shared_rows()) {
            let mut foot = view;
            foot.push(View::of(status));
            return foot;
        }
        let hint = self.input_hint();
        let room = (height / INPUT_SHARE).max(1);
        let mut foot = View::of(vec![self.rule()]);
        foot.push(self.input.view(columns, room, &hint, theme));
        foot.push(View::of(vec![self.rule()]));
        if let Some(menu) = self.input.menu_view(columns, (height / 3).max(3), theme) {
            foot.push(View::of(menu.lines));
        }
        foot.push(View::of(status));
        foot
    }

    /// What stands in the input as long as nothing is written, in as many words as there is room for.
    fn input_hint(&self) -> String {
        let [steer, queue] = [Action::Submit, Action::Queue].map(|action| self.keys.name(action));
        let hints = match &self.suggestion {
            _ if self.live.turn.is_some() && queue.is_empty() => vec![format!("{steer} steers")],
            _ if self.live.turn.is_some() => {
                vec![format!("{steer} steers, {queue} queues"), format!("{queue} queues")]
            }
            Some(suggestion) if queue.is_empty() => vec![visible_line(suggestion)],
            Some(suggestion) => return format!("{} ({queue} takes it)", visible_line(suggestion)),
            None => ["What should be done? /help lists commands", "What should be done?"]
                .map(str::to_owned)
                .into(),
        };
        let room = usize::from(self.look.size.width).saturating_sub(HINT_MARGIN);
        let fits = hints.into_iter().find(|hint| width(hint) <= room);
        fits.unwrap_or_else(|| "What now? /help".to_owned())
    }

    /// The line around the input; in plan mode it says so.
    fn rule(&self) -> Line<'static> {
        let columns = usize::from(self.look.size.width);
        let style = match self.state.mode {
            Mode::Plan => self.look.theme.plan,
            Mode::BypassPermissions => self.look.theme.error,
            Mode::AcceptEdits => self.look.theme.edits,
            Mode::Default | Mode::DontAsk | Mode::Delegate => self.look.theme.dim,
        };
        let name = if self.state.mode == Mode::Plan { "── plan mode " } else { "" };
        let name = fit(name, columns);
        let rest = columns.saturating_sub(crate::text::width(&name));
        Line::styled(format!("{name}{}", "─".repeat(rest)), style)
    }
}

fn tail(mut rows: Vec<Line<'static>>, most: usize) -> Vec<Line<'static>> {
    rows.split_off(rows.len().saturating_sub(most))
}

/// The end of a text: more could not be shown, and need not be wrapped.
fn last_lines(text: &str) -> &str {
    const BYTES: usize = 4_000;
    let mut start = text.len().saturating_sub(BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
