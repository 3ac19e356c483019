//! `collab_notification`: unread messages of collaborators.

use serde::Serialize;

use super::text::fill;
use super::{Kind, Rendered};

const TEXT: &str = include_str!("collab_notification.md");

/// Where messages wait.
#[derive(Clone, Debug, Serialize)]
pub struct CollabNotification {
    /// By source.
    pub chats: Vec<Chat>,
    /// How they can be read.
    #[serde(skip)]
    pub how_to_read: String,
}

/// One source of messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Chat {
    /// Its name.
    pub name: String,
    /// Messages that were not read yet.
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
