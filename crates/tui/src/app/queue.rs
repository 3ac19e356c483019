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
/// Fewer columns get fewer words.
const NARROW: u16 = 60;

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
        (Delivery::Steer, true) => ("↪ ", ["lands after the running step", "next step"]),
        (Delivery::Queue, true) => ("⧗ ", ["lands after the turn", "after turn"]),
        (_, false) => ("⧗ ", ["waits for your next message", "waits"]),
    };
    let when = when[usize::from(paper.columns < NARROW)];
    let text = clean(&content_text(&queued.content)).lines().next().unwrap_or_default().to_owned();
    let room = usize::from(paper.columns).saturating_sub(crate::text::width(when) + 5);
    Line::from(vec![
        Span::styled(mark, paper.theme.accent),
        Span::styled(fit(&text, room.max(8)), paper.theme.user),
        Span::styled(format!("  {when}"), paper.theme.dim),
    ])
}

/// What can be done about something that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Edit,
    Redeliver,
    Last,
    Drop,
}

impl Change {
    pub(super) const ALL: [Self; 4] = [Self::Edit, Self::Redeliver, Self::Last, Self::Drop];

    pub(super) fn label(self, queued: &Queued) -> &'static str {
        match (self, queued.delivery) {
            (Self::Edit, _) => "Edit it",
            (Self::Redeliver, Delivery::Steer) => "Deliver it after the turn",
            (Self::Redeliver, Delivery::Queue) => "Deliver it after the running step",
            (Self::Last, _) => "Put it behind the others",
            (Self::Drop, _) => "Drop it",
        }
    }
}

impl App {
    /// Lets the user change what waits.
    pub(super) fn edit_queue(&mut self) -> Vec<Effect> {
        let waiting: Vec<Queued> = self.state.queue.iter().cloned().collect();
        match waiting.as_slice() {
            [] => self.remark("nothing is queued"),
            [only] => self.choose_change(only.clone()),
            _ => self.choose_queued(waiting),
        }
        Vec::new()
    }

    /// Takes the last thing that waits back into the input.
    pub(super) fn recall_queued(&mut self) -> Option<Vec<Effect>> {
        let last = self.state.queue.back().filter(|_| self.input.is_empty()).cloned()?;
        Some(self.change_queued(&last, Change::Edit))
    }

    pub(super) fn change_queued(&mut self, queued: &Queued, change: Change) -> Vec<Effect> {
        let command = match (change, queued.delivery) {
            (Change::Edit, _) => {
                let text = content_text(&queued.content);
                self.input.give_back(&Past { purpose: Purpose::Prompt, text });
                Command::Dequeue(queued.id)
            }
            (Change::Redeliver, Delivery::Steer) => Command::Redeliver(queued.id, Delivery::Queue),
            (Change::Redeliver, Delivery::Queue) => Command::Redeliver(queued.id, Delivery::Steer),
            // What is delivered anew comes last.
            (Change::Last, delivery) => Command::Redeliver(queued.id, delivery),
            (Change::Drop, _) => Command::Dequeue(queued.id),
        };
        vec![Effect::Send(command)]
    }
}
