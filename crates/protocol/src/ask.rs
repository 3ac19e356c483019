//! The one way to wait for a human.

use std::path::PathBuf;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hook::HookAsk;
use crate::id::{AgentId, CallId};
use crate::mcp::{ElicitationAsk, SamplingAsk, ServerMessage};
use crate::mode::Mode;
use crate::permission::Update;

impl Ask {
    /// The sub-agent that asks; absent for the main agent.
    #[must_use]
    pub fn agent(&self) -> Option<&Asker> {
        match self {
            Self::Permission(ask) => ask.agent.as_ref(),
            Self::Question(ask) => ask.agent.as_ref(),
            Self::Plan(_) | Self::Hook(_) | Self::Server(_) | Self::Elicitation(_) | Self::Sampling(_) => {
                None
            }
        }
    }
}

/// A question that only the user can answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ask {
    /// May this call run?
    Permission(PermissionAsk),
    /// What does the user want?
    Question(QuestionAsk),
    /// Is this plan good, and how freely may it be carried out?
    Plan(PlanAsk),
    /// A hook of the host is to run; the host's program answers, not a person.
    Hook(HookAsk),
    /// A server that is part of the host is to hear something; the host's program answers, not a person.
    Server(ServerMessage),
    /// What does a server want to know? Answered by [`Answer::Elicitation`], or refused.
    Elicitation(ElicitationAsk),
    /// May a server ask the model? Answered by [`Answer::Allow`], or refused.
    Sampling(SamplingAsk),
}

/// What the user needs to know to allow or refuse a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionAsk {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The input it would run with.
    pub input: Value,
    /// Why it is asked.
    pub reason: String,
    /// Whether the reason says no more than that no rule allows what is asked about.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restates: bool,
    /// Where the agent works: paths below it can be shown without it.
    #[serde(default, skip_serializing)]
    pub cwd: PathBuf,
    /// The file or directory that is the reason, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_path: Option<PathBuf>,
    /// What "always allow" would change, all of it together. Empty if nothing general can be offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<Update>,
    /// What it would do to a file, if that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Box<FileChange>>,
    /// Earlier calls of this session that were no matter of course and would be with the suggestions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub would_cover: Vec<String>,
    /// Whether it has run already, and shall run again without the confinement that refused it something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_sandbox: bool,
    /// The sub-agent that asks; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Asker>,
}

/// What a call would do to a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Whether there is such a file.
    pub is_new: bool,
    /// The lines that would change with their numbers, as in the details of a result. Absent if it is too much to be of
    /// use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Value>,
}

/// The sub-agent that asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Which one.
    pub id: AgentId,
    /// Its type, e.g. `Explore`.
    pub kind: String,
    /// What it does, in a few words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// Questions about what the user wants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionAsk {
    /// The call.
    pub call: CallId,
    /// The questions, one to four.
    pub questions: Vec<Question>,
    /// The sub-agent that asks; absent for the main agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Asker>,
}

/// One question with answers to choose from; the user can always write another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The whole question.
    pub question: String,
    /// What it is about, in 12 characters at most.
    #[schemars(length(max = 12))]
    pub header: String,
    /// The answers on offer.
    #[schemars(length(min = 2, max = 4))]
    pub options: Vec<Choice>,
    /// Whether several of them can be chosen.
    #[serde(default)]
    pub multi_select: bool,
}

/// One answer on offer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// What is chosen, in a few words.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// A plan that waits for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanAsk {
    /// The call.
    pub call: CallId,
    /// The plan, as it stands in its file.
    pub plan: String,
    /// The file it stands in.
    pub path: PathBuf,
    /// Kinds of commands that the plan will need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_prompts: Vec<AllowedPrompt>,
    /// The modes in which it may be carried out, in the order of the choices.
    pub modes: Vec<Mode>,
}

/// A kind of commands, described by its purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedPrompt {
    /// The tool that runs them.
    #[schemars(extend("enum" = ["Bash"]))]
    pub tool: String,
    /// The purpose, e.g. "run the tests".
    pub prompt: String,
}

/// What the user said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "behavior", rename_all = "snake_case")]
pub enum Answer {
    /// Go ahead, possibly with other input.
    Allow {
        /// Replaces the call's input.
        updated_input: Option<Value>,
        /// What shall be permitted from now on, in this order.
        updates: Vec<Update>,
    },
    /// To each question, by its text: the chosen labels or the user's own words.
    Question {
        /// The answers.
        answers: IndexMap<String, String>,
    },
    /// The plan is good.
    Plan {
        /// The mode in which it is carried out: one of those that were offered.
        mode: Mode,
        /// The plan that the user has seen, or what they have made of it. If its file holds something else by then, the
        /// question is put again.
        plan: String,
    },
    /// No.
    Refuse {
        /// Told to the model.
        feedback: Option<String>,
        /// Whether the turn goes on.
        then: Then,
    },
    /// What a server wanted to know.
    Elicitation {
        /// The filled-in form; nothing if the user was to visit a page.
        content: Option<Value>,
    },
    /// What the host's program says.
    Host {
        /// Its answer, or why there is none.
        answer: Result<Value, String>,
    },
}

/// What follows a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The model goes on with what it was told.
    GoOn,
    /// The turn ends.
    EndTurn,
}
