//! What the model is told: prompts, context and the composition of requests.

mod conversation;
pub mod head;
mod lint;
mod message;
pub mod prompt;
pub mod queued;
pub mod reminder;
pub mod user_context;

pub use conversation::Conversation;
