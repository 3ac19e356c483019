//! Kinds of attachments: the content of each as data, and how the model sees it.
//!
//! One file per kind, with its text beside it. When a kind is attached is none of its business: sources, hooks and
//! compaction decide that. What is true of all kinds as a table stands in [`catalog`].

pub mod catalog;
mod rendered;
mod text;

mod agent_mention;
mod budget_usd;
mod collab_notification;
mod compact_file_reference;
mod critical_system_reminder;
mod delegate_mode;
mod diagnostics;
mod directory;
mod edited_text_file;
mod environment_change;
mod file;
mod ide;
mod invoked_skills;
mod mcp_resource;
mod mcp_tools;
mod memory;
mod nested_memory;
mod output_style;
mod plan;
mod queued_command;
mod task;
mod todo;
mod token_usage;
mod ultramemory;
mod verify_plan_reminder;

use serde::Serialize;
use serde_json::{Value, json};
use tiller_protocol::entry::Attachment;

pub use agent_mention::AgentMention;
pub use budget_usd::BudgetUsd;
pub use collab_notification::{Chat, CollabNotification};
pub use compact_file_reference::CompactFileReference;
pub use critical_system_reminder::CriticalSystemReminder;
pub use delegate_mode::{DelegateMode, DelegateModeExit};
pub use diagnostics::{Diagnostic, Diagnostics, FileDiagnostics, Severity};
pub use directory::Directory;
pub use edited_text_file::EditedTextFile;
pub use environment_change::EnvironmentChange;
pub use file::{File, FileContent};
pub use ide::{OpenedFileInIde, SelectedLinesInIde};
pub use invoked_skills::{InvokedSkill, InvokedSkills};
pub use mcp_resource::McpResource;
pub use mcp_tools::{McpTools, ServerNews};
pub use memory::{Memories, Memory};
pub use nested_memory::NestedMemory;
pub use output_style::OutputStyle;
pub use plan::{
    AgentCounts, PlanFileReference, PlanMode, PlanModeExit, PlanModeReentry, PlanReader, ReminderType,
};
pub use queued_command::QueuedCommand;
pub use rendered::Rendered;
pub use task::{TaskProgress, TaskStatus};
pub use todo::{TodoAfterCompaction, TodoReminder};
pub use token_usage::TokenUsage;
pub use ultramemory::Ultramemory;
pub use verify_plan_reminder::VerifyPlanReminder;

/// One kind of attachment. What it serialises to are the fields beside `type`.
pub trait Kind: Serialize {
    /// The kind's name, as `attachment.type` has it.
    const NAME: &'static str;

    /// What the model sees.
    fn render(&self) -> Rendered;
}

/// Content of some kind as an attachment: who made it, and why now.
#[must_use]
pub fn attach<K: Kind>(content: &K, source: &str, why: impl Into<String>) -> Attachment {
    let mut fields = json!({"type": K::NAME});
    if let (Value::Object(fields), Ok(Value::Object(further))) = (&mut fields, serde_json::to_value(content))
    {
        fields.extend(further);
    }
    let Rendered { blocks, forged } = content.render();
    Attachment { forged, ..Attachment::new(fields, source, why.into(), blocks) }
}

#[cfg(test)]
mod tests;
