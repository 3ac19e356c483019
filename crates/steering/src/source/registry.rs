//! The sources in their order. The only place where their type is erased.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::diagnostics::{Diagnostics, DiagnosticsProvider};
use super::{Cx, Group, Observation, Source, SourceError};
use super::{
    agent_mentions, async_hook_responses, budget_usd, changed_files, collab_notification,
    critical_system_reminder, delegate_mode, environment, ide, mcp_resources, memory, mentioned_files,
    nested_memory, output_style, plan_mode, queued_commands, todo_reminders, token_usage, ultra_agents_md,
    unified_tasks, verify_plan_reminder,
};

/// A source of any type.
pub trait AnySource: Send + Sync {
    /// See [`Source::LABEL`].
    fn label(&self) -> &'static str;
    /// See [`Source::GROUP`].
    fn group(&self) -> Group;
    /// See [`Source::KINDS`].
    fn kinds(&self) -> &'static [&'static str];
    /// See [`Source::observe`].
    fn observe<'a>(&'a self, cx: &'a Cx<'a>) -> BoxFuture<'a, Result<Observation, SourceError>>;
}

impl<S: Source> AnySource for S {
    fn label(&self) -> &'static str {
        S::LABEL
    }

    fn group(&self) -> Group {
        S::GROUP
    }

    fn kinds(&self) -> &'static [&'static str] {
        S::KINDS
    }

    fn observe<'a>(&'a self, cx: &'a Cx<'a>) -> BoxFuture<'a, Result<Observation, SourceError>> {
        Source::observe(self, cx).boxed()
    }
}

/// What sources need beside facts, as far as there is such a thing.
#[derive(Clone, Default)]
pub struct Providers {
    /// Problems as the editor sees them.
    pub editor_diagnostics: Option<Arc<dyn DiagnosticsProvider>>,
    /// Problems as language servers see them.
    pub server_diagnostics: Option<Arc<dyn DiagnosticsProvider>>,
}

/// All sources, in the order in which their attachments stand.
#[must_use]
pub fn sources(providers: &Providers) -> Vec<Box<dyn AnySource>> {
    vec![
        Box::new(mentioned_files::MentionedFiles),
        Box::new(mcp_resources::McpResources),
        Box::new(agent_mentions::AgentMentions),
        Box::new(changed_files::ChangedFiles::default()),
        Box::new(nested_memory::NestedMemories),
        Box::new(ultra_agents_md::UltraAgentsMd),
        Box::new(plan_mode::PlanModes),
        Box::new(plan_mode::PlanModeExits),
        Box::new(delegate_mode::DelegateModes),
        Box::new(delegate_mode::DelegateModeExits),
        Box::new(todo_reminders::TodoReminders),
        Box::new(collab_notification::CollabNotifications),
        Box::new(critical_system_reminder::CriticalSystemReminders),
        Box::new(environment::Environments),
        Box::new(ide::IdeSelection),
        Box::new(ide::IdeOpenedFile),
        Box::new(output_style::OutputStyles),
        Box::new(queued_commands::QueuedCommands),
        Box::new(Diagnostics::<false>::new(providers.editor_diagnostics.clone())),
        Box::new(Diagnostics::<true>::new(providers.server_diagnostics.clone())),
        Box::new(unified_tasks::UnifiedTasks),
        Box::new(async_hook_responses::AsyncHookResponses),
        Box::new(memory::SessionMemory),
        Box::new(token_usage::TokenUsages),
        Box::new(budget_usd::Budgets),
        Box::new(verify_plan_reminder::VerifyPlan),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attachment::catalog::{KINDS, find};

    // STEER-17
    #[test]
    fn sources_stand_in_their_groups_in_order() {
        let all = sources(&Providers::default());
        let of = |group: Group| -> Vec<&str> {
            all.iter().filter(|source| source.group() == group).map(|source| source.label()).collect()
        };
        assert_eq!(of(Group::Mention), ["at_mentioned_files", "mcp_resources", "agent_mentions"]);
        assert_eq!(
            of(Group::Core),
            [
                "changed_files",
                "nested_memory",
                "ultra_agents_md",
                "plan_mode",
                "plan_mode_exit",
                "delegate_mode",
                "delegate_mode_exit",
                "todo_reminders",
                "collab_notification",
                "critical_system_reminder",
                "environment",
            ]
        );
        assert_eq!(
            of(Group::MainOnly),
            [
                "ide_selection",
                "ide_opened_file",
                "output_style",
                "queued_commands",
                "diagnostics",
                "lsp_diagnostics",
                "unified_tasks",
                "async_hook_responses",
                "memory",
                "token_usage",
                "budget_usd",
                "verify_plan_reminder",
            ]
        );
        assert!(all.is_sorted_by_key(|source| source.group()));
    }

    #[test]
    fn the_catalog_and_the_sources_agree() {
        let all = sources(&Providers::default());
        for source in &all {
            for kind in source.kinds() {
                let row = find(kind).unwrap_or_else(|| panic!("{kind} has no row"));
                let told = row.source.unwrap();
                assert!(told == source.label() || source.label() == "lsp_diagnostics", "{kind}: {told}");
            }
        }
        for row in KINDS.iter().filter(|row| row.source.is_some()) {
            assert!(all.iter().any(|source| source.kinds().contains(&row.kind)), "nobody makes {}", row.kind);
        }
    }
}
