//! `collab_notification`: unread messages of collaborators.

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{Chat, CollabNotification, attach};

pub(super) struct CollabNotifications;

impl Source for CollabNotifications {
    const LABEL: &'static str = "collab_notification";
    const GROUP: Group = Group::Core;
    const KINDS: &'static [&'static str] = &["collab_notification"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let Some(unread) = &cx.facts.unread else { return Ok(Observation::nothing()) };
        let waiting = |chat: &&Chat| chat.unread_count > 0;
        let chats: Vec<Chat> = unread.chats.iter().filter(waiting).cloned().collect();
        if chats.is_empty() {
            return Ok(Observation::nothing());
        }
        let notification = CollabNotification { chats, how_to_read: unread.how_to_read.clone() };
        Ok(attach(&notification, Self::LABEL, "messages wait to be read").into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::observed;
    use super::super::{Facts, Unread};
    use super::*;

    // STEER-41
    #[tokio::test]
    async fn unread_messages_are_counted_by_source() {
        let chat = |name: &str, unread_count| Chat { name: name.to_owned(), unread_count };
        let facts = |chats| Facts {
            unread: Some(Unread { chats, how_to_read: "Ask.".to_owned() }),
            ..Facts::default()
        };
        let observation = observed(&CollabNotifications, &facts(vec![chat("a", 2), chat("b", 0)])).await;
        assert_eq!(
            observation.attachments[0].attachment["chats"],
            serde_json::json!([{"name": "a", "unreadCount": 2}])
        );
        for quiet in [facts(vec![chat("b", 0)]), Facts::default()] {
            assert_eq!(observed(&CollabNotifications, &quiet).await, Observation::nothing());
        }
    }
}
