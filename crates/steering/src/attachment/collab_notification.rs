//! `collab_notification`: notes that others have left.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("collab_notification.md");

/// Who has left notes.
#[derive(Clone, Debug, Serialize)]
pub struct CollabNotification {
    /// By sender.
    pub chats: Vec<Chat>,
    /// How they can be read.
    #[serde(skip)]
    pub how_to_read: String,
    /// The newest of them: what comes later is news.
    pub newest: String,
}

/// One sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chat {
    /// Its name.
    pub name: String,
    /// Notes that were not read yet.
    pub unread_count: u64,
}

impl Kind for CollabNotification {
    const NAME: &'static str = "collab_notification";

    fn render(&self) -> Rendered {
        let chats: Vec<String> =
            self.chats.iter().map(|chat| format!("- {}: {} unread", chat.name, chat.unread_count)).collect();
        Rendered::reminder(&fill(TEXT, &[("chats", &chats.join("\n")), ("how", &self.how_to_read)]))
    }
}
