//! Making room: what of a conversation is folded into a summary, what is carried over as it is, and what comes back.
//!
//! Everything here is a function of entries and figures. Whoever runs a session asks the model for the summary and
//! appends what is made of it; nothing is ever deleted from the log.

mod answers;
mod carry;
mod cut;
mod estimate;
mod light;
mod recall;
mod restore;
mod room;
mod skills;
mod standing;
mod summary;
mod threshold;
mod transcript;

pub use answers::Answers;
pub use carry::{CARRIED_TOKENS, Carried, carry};
pub use cut::{Ending, ending};
pub use estimate::{Gauge, MEDIA_TOKENS, entry_tokens, head_tokens, text_tokens};
pub use light::{Clearing, Light, replacement};
pub use recall::{Passage, Question};
pub use restore::{Candidate, Restored, files_to_restore, restore};
pub use room::Room;
pub use skills::skills_in_use;
pub use standing::Standing;
pub use summary::{Length, Part, Replacement, request};
pub use threshold::{Automatic, Fullness, Percent, Window};
pub use transcript::{Told, chunks, in_full, transcript};

#[cfg(test)]
mod story;
