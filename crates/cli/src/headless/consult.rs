//! Plans and questions, put to a host as it knows them: as calls that it may let run. What the user says to them comes
//! back as changed input.

use std::path::PathBuf;

use serde_json::{Value, json};
use tiller_protocol::ask::{Answer, PlanAsk, QuestionAsk};
use tiller_protocol::mode::Mode;
use tiller_protocol::permission::Update;

/// What a host was asked.
pub(super) enum Pending {
    /// Whether a call may run.
    Permission,
    /// What a server wants to know.
    Elicitation,
    /// What the user wants.
    Question,
    /// Whether a plan is good.
    Plan(Box<PlanAsk>),
}

/// What the user made of a plan in the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EditedPlan {
    pub(crate) path: PathBuf,
    pub(crate) plan: String,
}

/// A yes of the host, understood.
pub(super) struct Yes {
    pub(super) answer: Answer,
    /// To be written before the answer is passed on: what gets approved has to stand in the file.
    pub(super) edited: Option<EditedPlan>,
    pub(super) warning: Option<String>,
}

/// Questions for the host.
pub(super) fn questions(ask: &QuestionAsk) -> Value {
    let mut request = json!({
        "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "display_name": "AskUserQuestion",
        "description": "The agent has questions.", "input": {"questions": ask.questions},
        "tool_use_id": ask.call, "permission_suggestions": [], "requires_user_interaction": true,
    });
    if let Some(agent) = &ask.agent {
        request["agent_id"] = json!(agent.id);
    }
    request
}

/// A plan for the host.
pub(super) fn plan(ask: &PlanAsk) -> Value {
    let mut input = json!({"plan": ask.plan, "planFilePath": ask.path});
    if !ask.allowed_prompts.is_empty() {
        input["allowedPrompts"] = json!(ask.allowed_prompts);
    }
    json!({
        "subtype": "can_use_tool", "tool_name": "ExitPlanMode", "display_name": "ExitPlanMode",
        "description": "The agent presents a plan.", "input": input, "tool_use_id": ask.call,
        "permission_suggestions": [], "approval_modes": ask.modes, "requires_user_interaction": true,
    })
}

/// What a yes to an open question means. `input` is what the host sent back in place of the call's.
pub(super) fn yes(pending: Pending, input: Option<Value>, updates: Vec<Update>) -> Yes {
    let plain = |answer| Yes { answer, edited: None, warning: None };
    match pending {
        Pending::Permission | Pending::Elicitation => plain(Answer::Allow { updated_input: input, updates }),
        Pending::Question => {
            plain(Answer::Question { answers: answers(input.as_ref()).into_iter().collect() })
        }
        Pending::Plan(ask) => approval(&ask, input.as_ref(), &updates),
    }
}

/// A choice of several labels may come as a list.
fn answers(input: Option<&Value>) -> Vec<(String, String)> {
    let given = input.and_then(|input| input["answers"].as_object());
    let text = |answer: &Value| match answer {
        Value::String(text) => text.clone(),
        Value::Array(labels) => labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    given.into_iter().flatten().map(|(question, answer)| (question.clone(), text(answer))).collect()
}

/// An approval in which no mode is named is the most careful one.
fn approval(ask: &PlanAsk, input: Option<&Value>, updates: &[Update]) -> Yes {
    let named = updates.iter().rev().find_map(|update| match update {
        Update::SetMode { mode, .. } => Some(*mode),
        _ => None,
    });
    let is_other = |update: &Update| !matches!(update, Update::SetMode { .. });
    let warning = updates.iter().any(is_other).then(|| {
        "An approved plan changes the mode and adds what it asked for; other updatedPermissions are left out."
            .to_owned()
    });
    let edited = input.and_then(|input| input["plan"].as_str()).filter(|plan| *plan != ask.plan);
    Yes {
        answer: Answer::Plan {
            mode: named.unwrap_or(Mode::Default),
            plan: edited.unwrap_or(&ask.plan).to_owned(),
        },
        edited: edited.map(|plan| EditedPlan { path: ask.path.clone(), plan: plan.to_owned() }),
        warning,
    }
}

#[cfg(test)]
mod tests {
    use tiller_protocol::permission::{Behavior, Destination};

    use super::*;

    fn ask() -> PlanAsk {
        PlanAsk {
            call: "c".into(),
            plan: "# Plan".to_owned(),
            path: "/plans/a.md".into(),
            allowed_prompts: Vec::new(),
            modes: vec![Mode::AcceptEdits, Mode::Default],
        }
    }

    fn mode(mode: Mode) -> Update {
        Update::SetMode { mode, destination: Destination::Session }
    }

    // PLAN-17
    #[test]
    fn the_mode_of_an_approval_is_the_last_that_is_named_and_else_the_most_careful() {
        let chosen = |updates: Vec<Update>| match yes(
            Pending::Plan(Box::new(ask())),
            Some(json!({"plan": "# Plan"})),
            updates,
        ) {
            Yes { answer: Answer::Plan { mode, .. }, edited: None, warning } => (mode, warning.is_some()),
            Yes { answer, .. } => panic!("{answer:?}"),
        };
        assert_eq!(chosen(Vec::new()), (Mode::Default, false));
        assert_eq!(chosen(vec![mode(Mode::Plan), mode(Mode::AcceptEdits)]), (Mode::AcceptEdits, false));
        let (rules, behavior, destination) = (Vec::new(), Behavior::Allow, Destination::UserSettings);
        let more = Update::AddRules { rules, behavior, destination };
        assert_eq!(chosen(vec![mode(Mode::AcceptEdits), more]), (Mode::AcceptEdits, true));
    }

    #[test]
    fn what_the_user_made_of_the_plan_is_noticed() {
        let edited = |input: Value| yes(Pending::Plan(Box::new(ask())), Some(input), Vec::new()).edited;
        assert_eq!(edited(json!({})), None);
        let path = PathBuf::from("/plans/a.md");
        assert_eq!(
            edited(json!({"plan": "# Better"})),
            Some(EditedPlan { path, plan: "# Better".to_owned() })
        );
    }

    #[test]
    fn answers_are_texts() {
        let input = json!({"answers": {"Which?": "A", "What?": ["B", "C"]}});
        let said = answers(Some(&input));
        let expected = [("Which?", "A"), ("What?", "B, C")];
        assert_eq!(said, expected.map(|(question, answer)| (question.to_owned(), answer.to_owned())));
        assert!(answers(None).is_empty());
    }
}
