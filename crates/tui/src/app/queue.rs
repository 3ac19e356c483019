//! Input that waits: when it will land, and what can still be done about it.

use std::collections::VecDeque;

use crossterm::event::KeyEvent;
use ratatui::text::{Line, Span};
use tiller_protocol::command::Command;
use tiller_protocol::entry::{Delivery, Queued};
use tiller_protocol::id::EntryId;

use super::overlay::Overlay;
use super::{App, Effect};
use crate::cell::{Paper, content_text};
use crate::dialog::title;
use crate::input::{Past, Purpose};
use crate::keys::{Action, Context};
use crate::panel::window;
use crate::text::{clean, fit, fit_line, wrap};
use crate::theme::Theme;
use crate::view::View;

/// Rows of the queue that are shown.
const MOST: usize = 4;
/// Fewer columns get fewer words.
const NARROW: u16 = 60;
/// And these only the sign.
const NARROWEST: u16 = 30;

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
    let when = match paper.columns {
        0..NARROWEST => "",
        NARROWEST..NARROW => when[1],
        _ => when[0],
    };
    let text = clean(&content_text(&queued.content)).lines().next().unwrap_or_default().to_owned();
    let room = usize::from(paper.columns).saturating_sub(crate::text::width(when) + 6);
    Line::from(vec![
        Span::styled(mark, paper.theme.accent),
        Span::styled(fit(&text, room.max(8)), paper.theme.user),
        Span::styled(format!("  {when}"), paper.theme.dim),
    ])
}

/// The list in which what waits is changed.
#[derive(Debug)]
pub(super) struct QueueList {
    /// The order that is wanted. The session follows one command at a time, so that its own may lag behind.
    order: Vec<EntryId>,
    marked: usize,
}

impl QueueList {
    /// Lets the list follow what was delivered, dropped and added meanwhile.
    fn follow<'a>(&self, queue: &'a VecDeque<Queued>) -> Vec<&'a Queued> {
        let known = self.order.iter().filter_map(|id| queue.iter().find(|queued| queued.id == *id));
        let added = queue.iter().filter(|queued| !self.order.contains(&queued.id));
        known.chain(added).collect()
    }

    /// Exchanges an entry with the next one.
    fn swapped(&mut self, mut waiting: Vec<Queued>, at: usize) -> Vec<Effect> {
        waiting.swap(at, at + 1);
        self.order.swap(at, at + 1);
        // What is delivered anew comes last: so everything from there on is, in the order that is wanted.
        waiting[at..].iter().map(|queued| redelivered(queued, queued.delivery)).collect()
    }
}

impl App {
    /// Lets the user change what waits.
    pub(super) fn edit_queue(&mut self) -> Vec<Effect> {
        if self.state.queue.is_empty() {
            self.remark("nothing is queued");
        } else {
            self.hint = None;
            let order = self.state.queue.iter().map(|queued| queued.id).collect();
            self.overlay = Some(Overlay::Queue(QueueList { order, marked: 0 }));
        }
        Vec::new()
    }

    /// Takes the last thing that waits back into the input.
    pub(super) fn recall_queued(&mut self) -> Option<Vec<Effect>> {
        let last = self.state.queue.back().filter(|_| self.input.is_empty()).cloned()?;
        Some(self.take_back(&last))
    }

    fn take_back(&mut self, queued: &Queued) -> Vec<Effect> {
        let text = content_text(&queued.content);
        self.input.give_back(&Past { purpose: Purpose::Prompt, text });
        vec![Effect::Send(Command::Dequeue(queued.id))]
    }

    /// A key for the list.
    pub(super) fn press_in_queue(&mut self, mut list: QueueList, key: KeyEvent) -> Vec<Effect> {
        let waiting: Vec<Queued> = list.follow(&self.state.queue).into_iter().cloned().collect();
        list.order = waiting.iter().map(|queued| queued.id).collect();
        let last = waiting.len().saturating_sub(1);
        list.marked = list.marked.min(last);
        let at = list.marked;
        let mut effects = Vec::new();
        match self.keys.action(Context::Dialog, &key) {
            _ if waiting.is_empty() => return effects,
            Some(Action::Cancel) => return effects,
            Some(Action::Accept) => return self.take_back(&waiting[at]),
            Some(Action::Next) => list.marked = (at + 1).min(last),
            Some(Action::Previous) => list.marked = at.saturating_sub(1),
            Some(Action::MoveUp) if at > 0 => {
                list.marked = at - 1;
                effects = list.swapped(waiting, at - 1);
            }
            Some(Action::MoveDown) if at < last => {
                list.marked = at + 1;
                effects = list.swapped(waiting, at);
            }
            Some(Action::Toggle) => effects = at_the_other_time(&waiting[at..]),
            Some(Action::Drop) => {
                effects.push(Effect::Send(Command::Dequeue(waiting[at].id)));
                list.order.remove(at);
                if list.order.is_empty() {
                    return effects;
                }
            }
            _ => {}
        }
        self.overlay = Some(Overlay::Queue(list));
        effects
    }

    /// The list as it is shown.
    pub(super) fn queue_view(&self, list: &QueueList, columns: u16, height: u16, theme: &Theme) -> View {
        let waiting = list.follow(&self.state.queue);
        let marked = list.marked.min(waiting.len().saturating_sub(1));
        let paper = self.look.paper();
        let entry = |(at, queued): (usize, &&Queued)| {
            let mut line = row(queued, self.live.turn.is_some(), &paper);
            let lead = if at == marked { "› " } else { "  " };
            line.spans.insert(0, Span::styled(lead, theme.accent));
            if at == marked {
                line = line.patch_style(theme.selected);
            }
            vec![fit_line(line, columns.into())]
        };
        let entries: Vec<Vec<Line<'static>>> = waiting.iter().enumerate().map(entry).collect();
        let mut lines = vec![title("What waits", columns, theme.accent)];
        lines.extend(window(&entries, marked, usize::from(height).saturating_sub(3)));
        let hint = |action, what: &str| format!("{} {what}", self.keys.hint(action));
        let hints = [
            hint(Action::Cancel, "close"),
            hint(Action::Accept, "edit"),
            hint(Action::Drop, "drop"),
            format!("{}/{} move", self.keys.hint(Action::MoveUp), self.keys.hint(Action::MoveDown)),
            hint(Action::Toggle, "steer or queue"),
        ];
        lines.extend(wrap(&Line::styled(hints.join(" · "), theme.dim), columns, 0));
        lines.truncate(height.into());
        View::of(lines)
    }
}

/// Delivers the first at the other time, and the others after it as before: so it keeps its place.
fn at_the_other_time(waiting: &[Queued]) -> Vec<Effect> {
    let Some((first, others)) = waiting.split_first() else { return Vec::new() };
    let other = match first.delivery {
        Delivery::Steer => Delivery::Queue,
        Delivery::Queue => Delivery::Steer,
    };
    let others = others.iter().map(|queued| redelivered(queued, queued.delivery));
    std::iter::once(redelivered(first, other)).chain(others).collect()
}

fn redelivered(queued: &Queued, delivery: Delivery) -> Effect {
    Effect::Send(Command::Redeliver(queued.id, delivery))
}
