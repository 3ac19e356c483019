//! `collab_notification`: notes that others have left. Each is told once.

use super::{Cx, Group, Observation, Source, SourceError, Unread};
use crate::attachment::{Chat, CollabNotification, attach};

pub(super) struct CollabNotifications;

impl Source for CollabNotifications {
    const LABEL: &'static str = "collab_notification";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["collab_notification"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let told = cx.facts.past.last("collab_notification")["newest"].as_str();
        let Unread { chats, how_to_read, newest } = cx.sight.unread(told).await;
        let waiting = |chat: &Chat| chat.unread_count > 0;
        let chats: Vec<Chat> = chats.into_iter().filter(waiting).collect();
        if chats.is_empty() {
            return Ok(Observation::nothing());
        }
        let notification = CollabNotification { chats, how_to_read, newest };
        Ok(attach(&notification, Self::LABEL, "notes wait to be read").into())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::super::trial::{Trial, observe};
    use super::*;
    use crate::past::Story;

    fn trial(notes: &[(&'static str, &'static str)]) -> Trial {
        Trial { notes: notes.to_vec(), ..Trial::default() }
    }

    // STEER-41
    #[tokio::test]
    async fn unread_notes_are_counted_by_sender() {
        let trial = trial(&[("1", "a"), ("2", "b"), ("3", "a")]);
        let observation = observe(&CollabNotifications, &trial.facts, &trial).await;
        let content = &observation.attachments[0].attachment;
        assert_eq!(
            content["chats"],
            json!([{"name": "a", "unreadCount": 2}, {"name": "b", "unreadCount": 1}])
        );
        assert_eq!(content["newest"], "3");
    }

    // STEER-41
    #[tokio::test]
    async fn each_note_is_told_once() {
        let mut trial = trial(&[("1", "a"), ("2", "b")]);
        let story = Story::default().attach(json!({"type": "collab_notification", "newest": "2"}));
        trial.facts.past = Arc::new(story.past);
        assert_eq!(observe(&CollabNotifications, &trial.facts, &trial).await, Observation::nothing());
        trial.notes.push(("3", "b"));
        let observation = observe(&CollabNotifications, &trial.facts, &trial).await;
        assert_eq!(observation.attachments[0].attachment["chats"], json!([{"name": "b", "unreadCount": 1}]));
    }
}
