//! Who comes first where processors are scarce. While the next shell is prepared, the results of the command before it are
//! on their way to the model; the preparations do not interrupt that. The shell itself runs as Tiller does.
//!
//! Like the supervisor, this makes system calls only.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether this process, or the one that it was forked from, has stepped back.
static STEPPED_BACK: AtomicBool = AtomicBool::new(false);

/// From now on this process, and whatever is forked from it, lets others finish what they are at.
pub(crate) fn step_back() {
    if policy() == libc::SCHED_OTHER {
        STEPPED_BACK.store(true, Ordering::Relaxed);
        change_to(libc::SCHED_BATCH);
    }
}

/// The same for this thread alone.
pub(crate) fn step_back_alone() {
    if policy() == libc::SCHED_OTHER {
        change_to(libc::SCHED_BATCH | libc::SCHED_RESET_ON_FORK);
    }
}

/// Takes it back.
pub(crate) fn step_forward() {
    if STEPPED_BACK.load(Ordering::Relaxed) {
        change_to(libc::SCHED_OTHER);
    }
}

#[expect(unsafe_code, reason = "scheduling policies have no safe wrapper")]
fn policy() -> i32 {
    // SAFETY: numbers only.
    unsafe { libc::sched_getscheduler(0) }
}

#[expect(unsafe_code, reason = "scheduling policies have no safe wrapper")]
fn change_to(policy: i32) {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: the structure is whole. Who may not do this stays as it is, which does no harm.
    unsafe { libc::sched_setscheduler(0, policy, &raw const priority) };
}
