//! Input that waits: when it will land, and what can still be done about it.

use ratatui::text::{Line, Span};
use tiller_protocol::command::Command;
use tiller_protocol::entry::{Delivery, Queued};

use super::{App, Effect};
use crate::cell::{Paper, content_text};
use crate::input::{Past, Purpose};
use crate::text::{clean, fit};

/// Rows of the queue that are shown.
const MOST: usize = 4;

/// The queue above the input.
pub(super) fn rows<'a>(
    queue: impl ExactSizeIterator<Item = &'a Queued>,
    working: bool,
    paper: &Paper<'_>,
) -> Vec<Line<'static>> {
    let hidden = queue.len().saturating_sub(MOST);
    let mut rows: Vec<Line<'static>> = queue.take(MOST).map(|queued| row(queued, working, paper)).collect();
    if hidden > 0 {
        rows.push(Line::styled(format!("  … {hidden} more in the queue"), paper.theme.dim));
    }
    rows
}

fn row(queued: &Queued, working: bool, paper: &Paper<'_>) -> Line<'static> {
    let (mark, when) = match (queued.delivery, working) {
        (Delivery::Steer, true) => ("↪ ", "lands after the running step"),
        (Delivery::Queue, true) => ("⧗ ", "lands after the turn"),
        (_, false) => ("⧗ ", "waits for your next message"),
    };
    let text = clean(&content_text(&queued.content)).lines().next().unwrap_or_default().to_owned();
    let room = usize::from(paper.columns).saturating_sub(crate::text::width(when) + 5);
    Line::from(vec![
        Span::styled(mark, paper.theme.accent),
        Span::styled(fit(&text, room.max(8)), paper.theme.user),
        Span::styled(format!("  {when}"), paper.theme.dim),
    ])
}

impl App {
    /// Takes the last waiting input back into the editor.
    pub(super) fn edit_queue(&mut self) -> Vec<Effect> {
        let Some(queued) = self.state.queue.back().cloned() else {
            self.remark("nothing is queued");
            return Vec::new();
        };
        let text = content_text(&queued.content);
        self.input.give_back(&Past { purpose: Purpose::Prompt, text });
        vec![Effect::Send(Command::Dequeue(queued.id))]
    }
}
