//! What the model can do: the tool contract, the registry and the built-in tools.
//!
//! A tool is a typed [`Tool`]; only the [`Registry`] erases the type. What a call will touch is declared by
//! [`Tool::access`], and the [`Permit`](tiller_policy::Permit) in its [`ToolCx`] is the proof that it was allowed.

mod cx;
mod registry;
mod tool;

pub use cx::{Host, ToolCx, View, WebSearchRequest};
pub use registry::{Input, InputError, PreparedCall, Registry, Spec};
pub use tool::{Description, Done, Tool, ToolError};
