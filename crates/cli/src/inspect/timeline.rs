//! Everything that happened, in order.

use super::report::{Addition, Event, EventKind, Hook, Report, SideRequest, Step};

/// The notice that says why the provider's cache was missed.
pub(super) const CACHE_MISS: &str = "cache_miss";

/// One thing that happened.
pub(super) enum Moment<'a> {
    Step(&'a Step),
    Addition(&'a Addition),
    Event(&'a Event),
    /// A hook that did not run for a call; the others are told with their call.
    Hook(&'a Hook),
    SideRequest(&'a SideRequest),
}

impl Moment<'_> {
    fn seq(&self) -> u64 {
        match self {
            Self::Step(step) => step.seq,
            Self::Addition(addition) => addition.mark.seq,
            Self::Event(event) => event.mark.seq,
            Self::Hook(hook) => hook.mark.seq,
            Self::SideRequest(request) => request.mark.seq,
        }
    }
}

/// What belongs to a turn, or to none.
pub(super) fn moments(report: &Report, turn: Option<u32>) -> Vec<Moment<'_>> {
    let mut moments: Vec<Moment<'_>> = Vec::new();
    let steps = report.turns.iter().filter(|one| Some(one.number) == turn).flat_map(|turn| &turn.steps);
    moments.extend(steps.map(Moment::Step));
    let additions = report.steering.additions.iter().filter(|addition| addition.mark.turn == turn);
    moments.extend(additions.map(Moment::Addition));
    let events = report.events.iter().filter(|event| event.mark.turn == turn && !is_told_elsewhere(event));
    moments.extend(events.map(Moment::Event));
    let hooks = report.hooks.iter().filter(|hook| hook.mark.turn == turn && hook.call.is_none());
    moments.extend(hooks.map(Moment::Hook));
    let requests = report.side_requests.iter().filter(|request| request.mark.turn == turn);
    moments.extend(requests.map(Moment::SideRequest));
    moments.sort_by_key(Moment::seq);
    moments
}

/// An epoch is told by what it adds, a missed cache with its step.
fn is_told_elsewhere(event: &Event) -> bool {
    event.kind == EventKind::Epoch || event.subtype.as_deref() == Some(CACHE_MISS)
}
