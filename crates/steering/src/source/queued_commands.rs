//! `queued_commands`: what the user sent while the agent was working.

use super::{Cx, Group, Observation, Source, SourceError};
use crate::attachment::{QueuedCommand, attach};

pub(super) struct QueuedCommands;

impl Source for QueuedCommands {
    const LABEL: &'static str = "queued_commands";
    const GROUP: Group = Group::MainOnly;
    const KINDS: &'static [&'static str] = &["queued_command"];

    async fn observe(&self, cx: &Cx<'_>) -> Result<Observation, SourceError> {
        let delivered = cx.facts.queue.iter().map(|queued| {
            let command = QueuedCommand { id: queued.id, kind: "prompt", prompt: queued.content.clone() };
            attach(&command, Self::LABEL, "the user sent it while the agent was working")
        });
        Ok(delivered.collect::<Vec<_>>().into())
    }
}

#[cfg(test)]
mod tests {
    use tiller_protocol::block::RawBlock;
    use tiller_protocol::id::EntryId;

    use super::super::trial::observed;
    use super::super::{Facts, Queued};
    use super::*;

    // STEER-42
    #[tokio::test]
    async fn each_message_is_delivered_in_the_users_words() {
        let queued = |n: u128, text: &str| Queued {
            id: EntryId(uuid::Uuid::from_u128(n)),
            content: vec![RawBlock::text(text)],
        };
        let facts = Facts { queue: vec![queued(1, "wait"), queued(2, "no, go on")], ..Facts::default() };
        let observation = observed(&QueuedCommands, &facts).await;
        let ids: Vec<_> = observation.attachments.iter().map(|one| one.queued_id().unwrap()).collect();
        assert_eq!(ids, [facts.queue[0].id, facts.queue[1].id]);
        assert!(observation.attachments[1].rendered[0].as_text().unwrap().contains("\nno, go on\n"));
    }
}
