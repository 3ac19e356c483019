//! The kinds of attachments as a table. The documentation is made from it.

use std::collections::BTreeSet;
use std::fmt::Write;

use Form::{Built, Kept, Pair, Reminder};
use Mute::{Enforces, May, UsersWords};
use Scope::{All, Compaction, Hooks, Main};

/// What is true of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The name of the kind.
    pub kind: &'static str,
    /// The source that makes it in the course of the conversation; hooks and compaction have none.
    pub source: Option<&'static str>,
    /// Who gets it, and from whom.
    pub scope: &'static [Scope],
    /// How the model sees it.
    pub form: Form,
    /// Whether the user can switch it off.
    pub mute: Mute,
    /// When it is made.
    pub trigger: &'static str,
}

/// Who gets a kind, and from whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The main agent.
    Main,
    /// Every agent.
    All,
    /// Whoever was compacted.
    Compaction,
    /// From hooks.
    Hooks,
}

/// How the model sees a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A text between reminder tags.
    Reminder,
    /// As if a tool had been used.
    Pair,
    /// One of several texts.
    Built,
    /// Not at all.
    Kept,
}

/// Whether a kind can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mute {
    /// It can.
    May,
    /// It cannot: it tells the model of a limit that is enforced.
    Enforces,
    /// It cannot: it holds what the user said.
    UsersWords,
}

const fn row(
    kind: &'static str,
    source: Option<&'static str>,
    scope: &'static [Scope],
    form: Form,
    mute: Mute,
    trigger: &'static str,
) -> Row {
    Row { kind, source, scope, form, mute, trigger }
}

/// All kinds.
#[rustfmt::skip]
pub const KINDS: &[Row] = &[
    row("file", Some("at_mentioned_files"), &[All, Compaction], Pair, May, "the prompt has `@path`, `@\"a path\"` or `@path#L10-20`, and what it shows is not in the conversation yet"),
    row("directory", Some("at_mentioned_files"), &[All], Pair, May, "the prompt has `@path` of a directory; up to 1 000 entries"),
    row("compact_file_reference", Some("at_mentioned_files"), &[All, Compaction], Reminder, May, "a mentioned file is too large to be shown"),
    row("mcp_resource", Some("mcp_resources"), &[All], Reminder, May, "the prompt has `@server:uri`"),
    row("mcp_tools", None, &[Main], Reminder, May, "an MCP server has become ready or unusable, or has other tools, since the conversation began"),
    row("agent_mention", Some("agent_mentions"), &[All], Reminder, May, "the prompt has `@agent-type` of an agent that there is"),
    row("edited_text_file", Some("changed_files"), &[All], Reminder, May, "a file that was read completely has other content now; once per change, up to 8 000 characters"),
    row("nested_memory", Some("nested_memory"), &[All], Reminder, May, "a file was read below a directory with an instruction file that was not told yet"),
    row("ultramemory", Some("ultra_agents_md"), &[All], Reminder, May, "`ultraMemoryFile` is set; every 5 answers"),
    row("plan_mode", Some("plan_mode"), &[All, Compaction], Built, Enforces, "in mode `plan`, every 5 answers; each third time in full"),
    row("plan_mode_reentry", Some("plan_mode"), &[Main], Reminder, Enforces, "mode `plan` was entered again and there is a plan from before"),
    row("plan_mode_exit", Some("plan_mode_exit"), &[Main], Reminder, Enforces, "mode `plan` was left"),
    row("plan_file_reference", None, &[Compaction], Reminder, May, "there is a plan"),
    row("verify_plan_reminder", Some("verify_plan_reminder"), &[Main], Reminder, May, "a plan was approved and work has gone on for 10 answers, or the todo list is done"),
    row("delegate_mode", Some("delegate_mode"), &[All], Kept, Enforces, "in delegate mode"),
    row("delegate_mode_exit", Some("delegate_mode_exit"), &[All], Reminder, Enforces, "delegate mode was left"),
    row("todo", None, &[Compaction], Reminder, May, "the todo list is not empty"),
    row("todo_reminder", Some("todo_reminders"), &[All], Reminder, May, "10 answers since `TodoWrite` was used and since the last such reminder, while tools are being used"),
    row("collab_notification", Some("collab_notification"), &[All], Reminder, May, "others have left notes for the project (`tiller message send`); once for each"),
    row("critical_system_reminder", Some("critical_system_reminder"), &[All], Reminder, Enforces, "whoever defined the agent wants a text repeated; every time"),
    row("environment_change", Some("environment"), &[All], Reminder, May, "the date or the model is no longer what the beginning of the conversation says; once for each change"),
    row("selected_lines_in_ide", Some("ide_selection"), &[Main], Reminder, May, "with a prompt, if an editor reports a selection; up to 2 000 characters"),
    row("opened_file_in_ide", Some("ide_opened_file"), &[Main], Reminder, May, "with a prompt, if an editor reports another file than before"),
    row("output_style", Some("output_style"), &[Main], Reminder, May, "with a prompt, if `outputStyle` is set"),
    row("queued_command", Some("queued_commands"), &[Main], Reminder, UsersWords, "the user sent something while the agent was working"),
    row("diagnostics", Some("diagnostics"), &[Main], Reminder, May, "an editor or language server reports new problems in files that were read or written; up to 30"),
    row("task_status", Some("unified_tasks"), &[Main, Compaction], Reminder, May, "a background command or agent has ended"),
    row("task_progress", Some("unified_tasks"), &[Main], Reminder, May, "a background task has news; every 3 answers at most"),
    row("async_hook_response", Some("async_hook_responses"), &[Main], Reminder, May, "a hook that ran in the background has finished"),
    row("memory", Some("memory"), &[Main], Reminder, May, "`sessionMemory` is on and there were earlier sessions in the project; once"),
    row("token_usage", Some("token_usage"), &[Main], Reminder, May, "`TILLER_TOKEN_USAGE_ATTACHMENT` is on"),
    row("budget_usd", Some("budget_usd"), &[Main], Reminder, May, "there is a spending limit"),
    row("invoked_skills", None, &[Compaction], Reminder, May, "skills were used"),
    row("hook_blocking_error", None, &[Hooks], Reminder, Enforces, "a hook objects"),
    row("hook_success", None, &[Hooks], Reminder, May, "a hook for `SessionStart` or `UserPromptSubmit` has printed something"),
    row("hook_additional_context", None, &[Hooks], Reminder, May, "a hook adds context"),
    row("hook_stopped_continuation", None, &[Hooks], Reminder, Enforces, "a hook has ended the turn"),
];

/// What is true of a kind; nothing of one that this version does not know.
#[must_use]
pub fn find(kind: &str) -> Option<&'static Row> {
    KINDS.iter().find(|row| row.kind == kind)
}

/// The kinds to leave out, of those that the user named, and what is wrong with the others.
#[must_use]
pub fn mutable<'a>(names: impl IntoIterator<Item = &'a str>) -> (BTreeSet<&'static str>, Vec<String>) {
    let mut muted = BTreeSet::new();
    let mut problems = Vec::new();
    for name in names {
        match find(name) {
            Some(Row { kind, mute: May, .. }) => {
                muted.insert(*kind);
            }
            Some(Row { mute: Enforces, .. }) => {
                problems.push(format!("{name} cannot be muted: it tells the model of a limit that holds"));
            }
            Some(Row { mute: UsersWords, .. }) => {
                problems.push(format!("{name} cannot be muted: it holds your own words"));
            }
            None => problems.push(format!("there is no kind of attachment named {name}")),
        }
    }
    (muted, problems)
}

/// The table for the documentation.
#[must_use]
pub fn reference() -> String {
    let mut table =
        String::from("| kind | source | who | seen as | can be muted | when |\n|---|---|---|---|---|---|\n");
    for row in KINDS {
        let who: Vec<&str> = row.scope.iter().map(|scope| scope.words()).collect();
        let mute = if row.mute == May { "yes" } else { "no" };
        let source = row.source.map_or_else(|| "–".to_owned(), |source| format!("`{source}`"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| `{}` | {source} | {} | {} | {mute} | {} |",
            row.kind,
            who.join(", "),
            row.form.words(),
            row.trigger
        );
    }
    table
}

impl Scope {
    fn words(self) -> &'static str {
        match self {
            Main => "main agent",
            All => "every agent",
            Compaction => "after compaction",
            Hooks => "from hooks",
        }
    }
}

impl Form {
    fn words(self) -> &'static str {
        match self {
            Reminder => "reminder",
            Pair => "use of a tool",
            Built => "one of three reminders",
            Kept => "–",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kind_stands_twice() {
        let names: BTreeSet<&str> = KINDS.iter().map(|row| row.kind).collect();
        assert_eq!(names.len(), KINDS.len());
    }

    // LEDG-03
    #[test]
    fn what_enforces_something_cannot_be_muted() {
        let (muted, problems) =
            mutable(["todo_reminder", "plan_mode", "queued_command", "nonsense", "memory"]);
        assert_eq!(muted, BTreeSet::from(["memory", "todo_reminder"]));
        assert_eq!(problems.len(), 3, "{problems:?}");
        let names: Vec<&str> = KINDS.iter().map(|row| row.kind).collect();
        let (muted, _) = mutable(names);
        for kind in [
            "plan_mode",
            "plan_mode_reentry",
            "plan_mode_exit",
            "critical_system_reminder",
            "hook_blocking_error",
            "hook_stopped_continuation",
            "queued_command",
        ] {
            assert!(!muted.contains(kind), "{kind}");
        }
    }

    // LEDG-01
    #[test]
    fn the_documentation_has_the_table() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/steering.md");
        let document = fs_err::read_to_string(path).unwrap();
        assert!(document.contains(&reference()), "put this into docs/steering.md:\n{}", reference());
    }
}
