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
        (Delivery::Steer, true) => ("↪ ", ["sent after the running step", "next step"]),
        (Delivery::Queue | Delivery::WithNext, true) => ("⧗ ", ["sent after the turn", "after turn"]),
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

/// The list in which what waits is changed. The session follows one command at a time, so that its own queue may lag
/// behind what the keys have asked for: the list remembers that and goes on from there.
#[derive(Debug, Default)]
pub(super) struct QueueList {
    wanted: Vec<(EntryId, Delivery)>,
    dropped: Vec<EntryId>,
    marked: usize,
}

impl QueueList {
    /// What waits as it is wanted, without what was delivered meanwhile and with what was added.
    fn follow(&self, queue: &VecDeque<Queued>) -> Vec<Queued> {
        let known = self.wanted.iter().filter_map(|&(id, delivery)| {
            let queued = queue.iter().find(|queued| queued.id == id)?;
            Some(Queued { delivery, ..queued.clone() })
        });
        let fresh = |queued: &&Queued| {
            !self.dropped.contains(&queued.id) && !self.wanted.iter().any(|(id, _)| *id == queued.id)
        };
        known.chain(queue.iter().filter(fresh).cloned()).collect()
    }

    /// Wants this from now on, and asks for it. What is delivered anew comes last: so everything behind the first
    /// change is, in the order that is wanted.
    fn want(&mut self, waiting: &[Queued], changed_from: usize) -> Vec<Effect> {
        self.wanted = waiting.iter().map(|queued| (queued.id, queued.delivery)).collect();
        let later = waiting.iter().skip(changed_from);
        later.map(|queued| Effect::Send(Command::Redeliver(queued.id, queued.delivery))).collect()
    }

    fn without(&mut self, waiting: &mut Vec<Queued>, at: usize) -> Vec<Effect> {
        let id = waiting.remove(at).id;
        self.dropped.push(id);
        self.wanted.retain(|(wanted, _)| *wanted != id);
        vec![Effect::Send(Command::Dequeue(id))]
    }
}

impl App {
    /// Lets the user change what waits.
    pub(super) fn edit_queue(&mut self) -> Vec<Effect> {
        if self.state.queue.is_empty() {
            self.remark("nothing is queued");
        } else {
            self.hint = None;
            self.overlay = Some(Overlay::Queue(QueueList::default()));
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
        let mut waiting = list.follow(&self.state.queue);
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
                waiting.swap(at - 1, at);
                effects = list.want(&waiting, at - 1);
            }
            Some(Action::MoveDown) if at < last => {
                list.marked = at + 1;
                waiting.swap(at, at + 1);
                effects = list.want(&waiting, at);
            }
            Some(Action::Toggle) => {
                waiting[at].delivery = the_other(waiting[at].delivery);
                effects = list.want(&waiting, at);
            }
            Some(Action::Drop) => {
                effects = list.without(&mut waiting, at);
                if waiting.is_empty() {
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
        let entry = |(at, queued): (usize, &Queued)| {
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

fn the_other(delivery: Delivery) -> Delivery {
    match delivery {
        Delivery::Steer => Delivery::Queue,
        Delivery::Queue | Delivery::WithNext => Delivery::Steer,
    }
}
