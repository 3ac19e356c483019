//! What the model is told: prompts, context, attachments and the composition of requests.

mod asked;
pub mod attachment;
pub mod compaction;
mod conversation;
mod disarm;
pub mod file_state;
pub mod head;
mod lint;
mod message;
pub mod past;
pub mod pipeline;
pub mod prompt;
mod refused;
pub mod reminder;
pub mod source;
pub mod user_context;

pub use asked::{Chain, asked};
pub use conversation::Conversation;
pub use disarm::disarm_definition;
pub use refused::Accused;
