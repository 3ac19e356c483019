//! What the model can do: the tool contract, the registry and the built-in tools.
//!
//! A tool is a typed [`Tool`]; only the [`Registry`] erases the type. What a call will touch is declared by
//! [`Tool::access`], and the [`Permit`](tiller_policy::Permit) in its [`ToolCx`] is the proof that it was allowed.

mod cx;
mod registry;
mod tool;

mod ask_user_question;
mod blocking;
mod change;
#[cfg(test)]
mod definitions;
mod edit;
mod encoding;
mod enter_plan_mode;
mod exit_plan_mode;
mod fingerprint;
mod glob;
mod grep;
mod harmless_git;
#[cfg(test)]
mod harness;
mod kind;
mod lenient;
mod notebook;
mod notebook_edit;
pub mod plan_file;
mod read;
mod search;
mod secret;
mod seen;
mod workspace;
mod write;
mod written;

mod bash;
mod bash_output;
mod bound;
mod kill_shell;
mod recall;
mod shell_input;
mod shells;
mod skill;
mod structured_output;
mod task;
mod task_output;
pub mod todo_file;
mod todo_write;
mod web_fetch;
mod web_search;

pub use cx::{
    AgentOrder, AgentReport, AgentState, Delegated, Host, Leave, Passage, RecallRequest, Recalled, ToolCx,
    View, WebSearchRequest,
};
pub use fingerprint::of_content as fingerprint;
pub use registry::{Input, InputError, PreparedCall, Registry, Spec, ToolSource};
pub use tool::{Description, Done, Tool, ToolError};
pub use workspace::{links_among, names_below, names_in, odd_names_below, resolve_links};

pub use ask_user_question::{AskUserQuestion, AskUserQuestionInput};
pub use change::unified_diff;
pub use edit::{Edit, EditInput};
pub use enter_plan_mode::{EnterPlanMode, EnterPlanModeInput, QUESTION as ENTER_PLAN_MODE_QUESTION};
pub use exit_plan_mode::{ExitPlanMode, ExitPlanModeInput};
pub use glob::{Glob, GlobInput};
pub use grep::{Grep, GrepInput};
pub use lenient::Integer;
pub use notebook_edit::{NotebookEdit, NotebookEditInput};
pub use read::{Read, ReadInput, image_block, sendable_block};
pub use secret::{Masked, Vault};
pub use write::{Write, WriteInput};

pub use bash::{Bash, BashInput, Refused};
pub use bash_output::{BashOutput, BashOutputInput};
pub use bound::bound;
pub use kill_shell::{KillShell, KillShellInput};
pub use recall::{Recall, RecallInput};
pub use shell_input::{ShellInput, ShellInputInput};
pub use shells::{ShellError, ShellInfo, ShellState, Shells};
pub use skill::{Skill, SkillInput, SkillLine};
pub use structured_output::{StructuredOutput, StructuredOutputInput};
pub use task::{AgentLine, Task, TaskInput};
pub use task_output::{TaskOutput, TaskOutputInput};
pub use todo_write::{TodoWrite, TodoWriteInput};
pub use web_fetch::{WebFetch, WebFetchInput};
pub use web_search::{WebSearch, WebSearchInput};

/// Adds the tools for files and searches.
#[must_use]
pub fn file_tools(registry: Registry) -> Registry {
    registry.with(Read).with(Edit).with(Write).with(NotebookEdit).with(Glob).with(Grep)
}

/// Adds the tools for commands.
#[must_use]
pub fn shell_tools(registry: Registry) -> Registry {
    registry.with(Bash).with(BashOutput).with(ShellInput).with(KillShell)
}

/// Adds the tools for the web.
#[must_use]
pub fn web_tools(registry: Registry) -> Registry {
    registry.with(WebFetch::default()).with(WebSearch)
}

/// Adds the tools for planning and asking.
#[must_use]
pub fn plan_tools(registry: Registry) -> Registry {
    registry.with(EnterPlanMode).with(ExitPlanMode).with(AskUserQuestion)
}

/// Adds the tools for handing out work, if there is an agent to hand it to.
#[must_use]
pub fn agent_tools(registry: Registry, agents: Vec<AgentLine>) -> Registry {
    if agents.is_empty() { registry } else { registry.with(Task::new(agents)).with(TaskOutput) }
}

/// Adds the tool that opens skills, if there are any.
#[must_use]
pub fn skill_tools(registry: Registry, skills: Vec<SkillLine>) -> Registry {
    if skills.is_empty() { registry } else { registry.with(Skill::new(skills)) }
}

/// Tools that are of no use where nobody can be asked. A plan can be handed over without an answer.
pub const ONLY_WITH_USER: [&str; 2] = [EnterPlanMode::NAME, AskUserQuestion::NAME];

/// All built-in tools, in the order in which the model sees them.
#[must_use]
pub fn built_in() -> Registry {
    plan_tools(web_tools(shell_tools(file_tools(Registry::default()))).with(TodoWrite)).with(Recall)
}
