//! Taking a compaction back, and what the model can look up of what was folded.

use tiller_protocol::compaction::Folded;
use tiller_protocol::entry::{Body, EndReason, Level, Outcome};
use tiller_protocol::rewind::{ConversationBack, Rewound, Stretch};
use tiller_tools::{Recall, Registry, Tool};

use super::super::Task;
use crate::store::StoreError;
use crate::undo::conversation;

impl Task {
    /// Takes the last compaction back, as a turn of its own.
    pub(in crate::session) async fn undo_compaction_now(&mut self) -> Result<(), StoreError> {
        self.begin_turn();
        let end = match self.undoable() {
            Ok(folded) => {
                self.unfold(folded)?;
                self.renew_epoch("compaction undone").await?;
                let tokens = self.journal.room.gauge.tokens();
                let text = format!("The compaction was undone; a request takes about {tokens} tokens again.");
                self.notice("compaction_undone", Level::Info, text)?;
                (Outcome::Success, None)
            }
            Err(why) => (Outcome::Error { message: why.to_owned(), status: None }, Some(EndReason::Error)),
        };
        self.end_turn(end).await
    }

    fn undoable(&self) -> Result<Folded, &'static str> {
        match self.journal.state.folded {
            None => Err("the conversation was not compacted, so there is nothing to undo"),
            Some(Folded { spoken_since: true, .. }) => {
                Err("the compaction cannot be undone any more: you have said something since")
            }
            Some(folded) => Ok(folded),
        }
    }

    /// The conversation becomes what it is without the entries of a compaction; those stay in the log.
    fn unfold(&mut self, folded: Folded) -> Result<(), StoreError> {
        let until = folded.until.unwrap_or(self.journal.state.seq).saturating_add(1);
        let mut abandoned = self.journal.state.abandoned.clone();
        abandoned.push(Stretch { from: folded.seq, until });
        let back: ConversationBack = conversation(&self.journal.archive, abandoned)?;
        let entry = self.append(Body::Rewound(Rewound {
            conversation: Some(back.clone()),
            unfolded: Some(folded.id),
            ..Rewound::default()
        }))?;
        self.see_anew(&back, entry.seq)
    }

    /// A compaction that the last run was cut off in has not happened. Neither has one whose summary is lost: what it
    /// stood for is still in the log.
    pub(in crate::session) fn mend_compaction(&mut self) -> Result<(), StoreError> {
        let text = match self.journal.state.folded {
            Some(Folded { until: None, .. }) => {
                "The last run ended during a compaction. The conversation is unchanged."
            }
            Some(Folded { untold: true, .. }) => {
                "The summary of a compaction is lost. The conversation before it is sent in full again."
            }
            _ => return Ok(()),
        };
        if let Some(folded) = self.journal.state.folded {
            self.unfold(folded)?;
        }
        self.notice("compaction_undone", Level::Info, text.to_owned())
    }

    /// Lets the model look up what was folded, as soon as something is. Says whether that changed.
    pub(in crate::session) fn offer_recall(&mut self) -> bool {
        let wanted = self.making_room.recall && self.journal.state.folded.is_some();
        let is_offered = self.services.registry.names().contains(&Recall::NAME);
        let tools = std::mem::take(&mut self.services.registry);
        self.services.registry =
            if wanted { with_recall(tools) } else { tools.filtered(|name| name != Recall::NAME) };
        wanted != is_offered
    }
}

/// Tools among which is the one for what was folded. It comes last wherever it was, so that a session that goes on offers
/// what it offered before.
pub(super) fn with_recall(tools: Registry) -> Registry {
    tools.filtered(|name| name != Recall::NAME).with(Recall)
}
