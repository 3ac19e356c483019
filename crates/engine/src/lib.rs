//! The loop: session task, executor, journal and store.
