//! Language servers: told of files that were written, heard about problems in them.
//!
//! ```text
//! Languages ── orders ──▶ attendant (one per server) ── client (what is said) ── connection (bytes) ── server
//!     ▲                          │
//!     └── reports, progress ◀────┘
//! ```
//!
//! A server starts with the first file of its language that is written, never before, and ends with [`Languages`], also
//! when Tiller is killed: it is a command in custody. `client` is a machine without IO; `framing` survives any bytes.
//!
//! Invariants: nobody waits for a server longer than they say. What a server sends is bounded before it is kept. A
//! server that fails is started once more and then given up.

mod attendant;
mod capability;
mod client;
mod connection;
mod document;
mod framing;
mod languages;
mod message;
mod problem;
mod progress;
mod report;
mod server;
mod uri;

pub use languages::{Hold, Languages, Patience, Surroundings, Tell};
pub use problem::{FileProblems, Problem, Severity};
pub use progress::Waits;
pub use server::{Language, NamedBy, Server, Wish, languages};
