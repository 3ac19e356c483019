//! Tiller end to end: the built binary against the scripted model server, with real files, processes and git.

mod harness;
mod output;
mod faults;
mod parallel;
