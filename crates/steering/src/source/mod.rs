//! Sources: what produces attachments in the course of a conversation. One file per source.
//!
//! A source looks at [`Facts`], perhaps at files through [`Sight`], and says what the model should be told now. It
//! changes nothing: what it wants changed in state is an effect of what it returns.

mod facts;
mod registry;
mod sight;

mod agent_mentions;
mod async_hook_responses;
mod budget_usd;
mod changed_files;
mod collab_notification;
mod critical_system_reminder;
mod delegate_mode;
mod diagnostics;
mod environment;
mod ide;
mod mcp_resources;
mod memory;
mod mention;
mod mentioned_files;
mod nested_memory;
mod output_style;
mod plan_mode;
mod queued_commands;
mod todo_reminders;
mod token_usage;
mod ultra_agents_md;
mod unified_tasks;
mod verify_plan_reminder;

use std::future::Future;

use tiller_protocol::effect::Effect;
use tiller_protocol::entry::Attachment;
use tiller_protocol::state::Files;
use tokio_util::sync::CancellationToken;

pub use diagnostics::DiagnosticsProvider;
pub use facts::{
    Approval, Author, Delegate, Editor, Facts, Plan, Prompt, Queued, Spending, Style, Surroundings, Task,
    Tokens,
};
pub use output_style::{StyleError, all as all_styles, described as describe_style, find as find_style};
pub use plan_mode::plan_after_compaction;
pub use registry::{AnySource, Providers, sources};
pub use sight::{Listing, Resource, Shown, Sight, Unread, Unseen};

/// Which sources run together, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// What the user mentions: with a prompt, before all others.
    Mention,
    /// For every agent.
    Core,
    /// For the main agent.
    MainOnly,
}

/// One producer of attachments.
pub trait Source: Send + Sync + 'static {
    /// Its name in logs.
    const LABEL: &'static str;
    /// When it runs.
    const GROUP: Group;
    /// The kinds it makes.
    const KINDS: &'static [&'static str];

    /// Says what the model should be told now.
    fn observe(&self, cx: &Cx<'_>) -> impl Future<Output = Result<Observation, SourceError>> + Send;
}

/// What a source can look at.
#[derive(Clone, Copy)]
pub struct Cx<'a> {
    /// What is known.
    pub facts: &'a Facts,
    /// What the model has seen of files, mentions of this run included.
    pub files: &'a Files,
    /// Files and resources as the session may see them.
    pub sight: &'a dyn Sight,
    /// Fires when there is no more time: whoever reads files stops and returns what there is.
    pub budget: &'a CancellationToken,
}

/// What a source has to say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// For the model.
    pub attachments: Vec<Attachment>,
    /// Changes of state that come without words.
    pub effects: Vec<Effect>,
    /// For the user.
    pub notices: Vec<String>,
}

impl Observation {
    /// Nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }
}

impl From<Attachment> for Observation {
    fn from(attachment: Attachment) -> Self {
        vec![attachment].into()
    }
}

impl From<Option<Attachment>> for Observation {
    fn from(attachment: Option<Attachment>) -> Self {
        attachment.into_iter().collect::<Vec<_>>().into()
    }
}

impl From<Vec<Attachment>> for Observation {
    fn from(attachments: Vec<Attachment>) -> Self {
        Self { attachments, ..Self::default() }
    }
}

/// Why a source could not say anything.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

#[cfg(test)]
pub(crate) use trial::Trial;

#[cfg(test)]
mod trial;
