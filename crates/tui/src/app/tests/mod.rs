//! The front end as a machine, drawn on a terminal.

mod frames;
mod narrow;
mod stage;
mod verbs;
mod views;
