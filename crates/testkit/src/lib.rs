//! Test support: a scripted model server.
//!
//! [`ModelServer`] speaks the Messages API over real HTTP on a loopback port. Tests queue [`Reply`]s, hold them
//! back with [`Gate`]s, break them in every way a network can, and read back what the client sent. Requests
//! that the real service would refuse are refused with its status, shape and text, and listed by
//! [`ModelServer::rejections`].

#![expect(clippy::expect_used, reason = "test support: a broken set-up should stop the test")]

mod cache;
mod capture;
mod compose;
mod digest;
mod endpoints;
mod error;
mod gate;
mod mcp;
mod models;
mod picture;
mod play;
mod prompt;
mod script;
mod server;
mod service;
mod signature;
mod sse;
mod state;
pub mod terminal;
mod validate;

pub use self::{
    capture::Captured,
    gate::Gate,
    mcp::{McpService, mcp_server},
    picture::{Color, Picture},
    script::{Matcher, Reply, ScriptFile, ScriptedConversation},
    server::{ConversationHandle, ModelServer, ModelServerBuilder},
};
