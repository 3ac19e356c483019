//! Which call may start, and which result may be reported: pure bookkeeping, no tasks.
//!
//! Safe calls run beside each other; an unsafe one waits for everything before it and holds back everything behind it.

use tiller_protocol::id::CallId;

/// Where a call stands. It only ever moves forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Queued,
    Executing,
    Completed,
    Reported,
}

/// Whether a call may run beside others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Safety {
    Safe,
    Unsafe,
}

#[derive(Clone, Debug)]
struct Slot {
    id: CallId,
    safety: Safety,
    status: Status,
}

/// The calls of one response, in order of arrival.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    slots: Vec<Slot>,
    limit: usize,
}

impl Schedule {
    /// An empty schedule that runs at most `limit` calls at once.
    pub(crate) fn new(limit: usize) -> Self {
        Self { slots: Vec::new(), limit }
    }

    /// Adds a call that waits for its start.
    pub(crate) fn add(&mut self, id: CallId, safety: Safety) {
        self.slots.push(Slot { id, safety, status: Status::Queued });
    }

    /// Starts every call that may start now; returns them in order.
    pub(crate) fn start_ready(&mut self) -> Vec<CallId> {
        let mut started = Vec::new();
        for at in 0..self.slots.len() {
            if self.slots[at].status != Status::Queued {
                continue;
            }
            if self.may_start(self.slots[at].safety) {
                self.slots[at].status = Status::Executing;
                started.push(self.slots[at].id.clone());
            } else if self.slots[at].safety == Safety::Unsafe {
                break;
            }
        }
        started
    }

    /// A running call has its result.
    pub(crate) fn complete(&mut self, id: &CallId) {
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.id == *id) {
            slot.status = slot.status.max(Status::Completed);
        }
    }

    /// Calls whose results may be reported now, in order; they count as reported.
    pub(crate) fn take_reportable(&mut self) -> Vec<CallId> {
        let mut reported = Vec::new();
        for slot in &mut self.slots {
            match (slot.status, slot.safety) {
                (Status::Completed, _) => {
                    slot.status = Status::Reported;
                    reported.push(slot.id.clone());
                }
                (Status::Executing, Safety::Unsafe) => break,
                _ => {}
            }
        }
        reported
    }

    /// Calls that have not begun.
    pub(crate) fn queued(&self) -> Vec<CallId> {
        self.with(Status::Queued)
    }

    /// Calls that are running.
    pub(crate) fn executing(&self) -> Vec<CallId> {
        self.with(Status::Executing)
    }

    /// Whether every call has been reported.
    pub(crate) fn is_drained(&self) -> bool {
        self.slots.iter().all(|slot| slot.status == Status::Reported)
    }

    /// Whether no safe call is running: the batch has drained.
    pub(crate) fn batch_is_over(&self) -> bool {
        self.executing_slots().all(|slot| slot.safety == Safety::Unsafe)
    }

    /// The position of a call.
    pub(crate) fn position(&self, id: &CallId) -> usize {
        self.slots.iter().position(|slot| slot.id == *id).unwrap_or(usize::MAX)
    }

    /// Number of calls.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    fn may_start(&self, safety: Safety) -> bool {
        let executing = self.executing_slots().count();
        let all_safe = self.executing_slots().all(|slot| slot.safety == Safety::Safe);
        executing == 0 || (safety == Safety::Safe && all_safe && executing < self.limit)
    }

    fn executing_slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.status == Status::Executing)
    }

    fn with(&self, status: Status) -> Vec<CallId> {
        self.slots.iter().filter(|slot| slot.status == status).map(|slot| slot.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(safety: &str, limit: usize) -> Schedule {
        let mut schedule = Schedule::new(limit);
        for (at, kind) in safety.chars().enumerate() {
            schedule.add(id(at), if kind == 's' { Safety::Safe } else { Safety::Unsafe });
        }
        schedule
    }

    fn id(at: usize) -> CallId {
        CallId(at.to_string())
    }

    fn names(ids: &[CallId]) -> String {
        ids.iter().map(CallId::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The groups in which calls run when everything started finishes together.
    fn groups(safety: &str) -> Vec<String> {
        let mut schedule = schedule(safety, 10);
        let mut groups = Vec::new();
        while !schedule.is_drained() {
            let started = schedule.start_ready();
            started.iter().for_each(|id| schedule.complete(id));
            schedule.take_reportable();
            groups.push(names(&started));
        }
        groups
    }

    // EXEC-07, EXEC-08: Grep, Task | Write | TodoWrite | Read, WebFetch | Bash | malformed Read
    #[test]
    fn only_neighbouring_safe_calls_run_together() {
        assert_eq!(groups("ssuussuu"), ["0 1", "2", "3", "4 5", "6", "7"]);
        assert_eq!(groups("s"), ["0"]);
        assert_eq!(groups("uuu"), ["0", "1", "2"]);
    }

    // EXEC-15, EXEC-16, EXEC-17
    #[test]
    fn a_waiting_unsafe_call_blocks_everything_behind_it() {
        let mut schedule = schedule("sus", 10);
        assert_eq!(names(&schedule.start_ready()), "0");
        assert_eq!(names(&schedule.start_ready()), "");
        schedule.complete(&id(0));
        assert_eq!(names(&schedule.start_ready()), "1");
        schedule.complete(&id(1));
        assert_eq!(names(&schedule.start_ready()), "2");
    }

    // EXEC-26, EXEC-09
    #[test]
    fn no_more_than_the_limit_run_at_once() {
        let mut schedule = schedule("sssss", 2);
        assert_eq!(names(&schedule.start_ready()), "0 1");
        schedule.complete(&id(1));
        assert_eq!(names(&schedule.start_ready()), "2");
    }

    // EXEC-22
    #[test]
    fn results_are_never_reported_past_a_running_unsafe_call() {
        let mut schedule = schedule("ssu", 10);
        schedule.start_ready();
        schedule.complete(&id(1));
        assert_eq!(names(&schedule.take_reportable()), "1");
        schedule.complete(&id(0));
        schedule.start_ready();
        schedule.add(id(3), Safety::Safe);
        schedule.complete(&id(3));
        assert_eq!(names(&schedule.take_reportable()), "0");
        schedule.complete(&id(2));
        assert_eq!(names(&schedule.take_reportable()), "2 3");
        assert!(schedule.is_drained());
    }

    proptest! {
        // EXEC-14, EXEC-23: every call starts once, is reported once, and unsafe calls are always alone.
        #[test]
        fn every_call_runs_once_and_unsafe_ones_alone(safety in "[su]{0,20}", limit in 1_usize..5, picks in prop::collection::vec(any::<prop::sample::Index>(), 100)) {
            let mut schedule = schedule(&safety, limit);
            let (mut started, mut reported) = (Vec::new(), Vec::new());
            for pick in picks {
                started.extend(schedule.start_ready());
                let running = schedule.executing();
                prop_assert!(running.len() <= limit);
                if running.iter().any(|id| safety.as_bytes()[schedule.position(id)] == b'u') {
                    prop_assert_eq!(running.len(), 1);
                }
                if !running.is_empty() {
                    schedule.complete(pick.get(&running));
                }
                reported.extend(schedule.take_reportable());
            }
            prop_assert!(schedule.is_drained());
            prop_assert_eq!(started.len(), safety.len());
            reported.sort();
            reported.dedup();
            prop_assert_eq!(reported.len(), safety.len());
        }
    }
}
