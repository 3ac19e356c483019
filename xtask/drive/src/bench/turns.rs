//! Taking turns: two contestants go through the same steps, one after the other, so that a busy moment of the machine
//! hits both and cannot pass for a difference between them.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Whose turn it is. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    /// Turns handed out so far; even ones belong to the first contestant.
    count: usize,
    /// Somebody is gone, and nobody waits any more.
    over: bool,
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seat {
    First,
    Second,
}

impl Turns {
    /// Ends the turn of whoever sits here and waits for the next.
    pub(super) fn next(&self, seat: Seat) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if owner(state.count) == seat {
            state.count += 1;
            changed.notify_all();
        }
        let waits = |state: &mut State| !state.over && owner(state.count) != seat;
        drop(changed.wait_while(state, waits));
    }

    /// Lets everybody go on without waiting.
    pub(super) fn end(&self) {
        let (state, changed) = &*self.0;
        state.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        changed.notify_all();
    }
}

fn owner(count: usize) -> Seat {
    if count.is_multiple_of(2) { Seat::First } else { Seat::Second }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_alternate_until_it_is_over() {
        let turns = Turns::default();
        let order = Arc::new(Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for (seat, rounds) in [(Seat::First, 3), (Seat::Second, 2)] {
                let (turns, order) = (&turns, Arc::clone(&order));
                scope.spawn(move || {
                    for _ in 0..rounds {
                        turns.next(seat);
                        order.lock().unwrap().push(seat);
                    }
                    if rounds == 2 {
                        turns.end();
                    }
                });
            }
        });
        let order = order.lock().unwrap();
        assert!(order[..4].windows(2).all(|pair| pair[0] != pair[1]), "{order:?}");
        assert_eq!(order.len(), 5);
    }
}
