//! The front end as a machine, drawn on a terminal.

mod aside;
mod begin_anew;
mod decisions;
mod frames;
mod guard;
mod images;
mod narrow;
mod stage;
mod standing;
mod told;
mod verbs;
mod views;
mod words;
