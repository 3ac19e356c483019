//! Servers of the Model Context Protocol: started, spoken to, watched, and ended.
//!
//! ```text
//! Servers ── orders ──▶ attendant (one per server) ── link (a connection) ── stdio, HTTP or host ── server
//!    ▲                        │                          │
//!    └── status, offers ◀─────┘     Principal ◀── what the server asks of the user, the model, the session
//! ```
//!
//! Everything that speaks the protocol itself, with the crate `rmcp`, is in here. A server that is a program is a
//! command in custody: it ends with [`Servers`], also when Tiller is killed.
//!
//! Invariants: nobody waits for a server longer than they say. What a server sends is bounded before it is kept, and
//! what it claims about itself loosens nothing. Whatever becomes of one server, the others work.

mod attendant;
mod auth;
#[cfg(test)]
mod bench;
mod call;
mod connect;
mod content;
mod handler;
mod host;
mod http;
mod link;
mod name;
mod offer;
mod principal;
mod resource;
mod schema;
mod search;
pub mod serve;
mod servers;
mod sse;
mod stdio;

pub use auth::{Login, Outside, SignInError, TokenStore, sign_in};
pub use call::{CALL_TOOL, CallMcpTool, unwrapped};
pub use http::is_reached;
pub use name::is_tool_of;
pub use offer::{Offer, ToolOffer};
pub use principal::{Elicited, Principal, Sampled, SamplingRequest};
pub use resource::{ListMcpResources, ReadMcpResource, reading};
pub use search::{SEARCH_TOOL, SearchMcpTools};
pub use servers::{Patience, PolicyNow, Seen, Servers, Surroundings, not_started};
