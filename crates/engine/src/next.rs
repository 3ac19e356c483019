//! What comes after a step: a pure function of what happened.

use tiller_protocol::entry::{EndMarker, EndReason, Outcome};
use tiller_protocol::usage::StopReason;

use crate::executor::HandedOver;

/// How the user stopped a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Abort {
    /// By interrupting it.
    Interrupted,
    /// By refusing a call without a word.
    ToolRejection,
}

/// Times an answer cut by the output limit is continued in one turn.
const MAX_CONTINUATIONS: u32 = 3;
/// Times a paused answer is resumed in one turn.
const MAX_PAUSES: u32 = 20;
/// Times a result may be missing or not fit: once it is asked for again.
const MAX_FORM_TRIES: u32 = 2;
const NO_RESULT: &str =
    "the model did not hand over a result that fits the schema, although it was asked again";
const ALWAYS_CUT: &str = "the model's calls are cut off by its output limit again and again; ask for less at once, or use \
     a model with a larger limit";

/// What is known when a step has settled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The user stopped the turn.
    pub(crate) abort: Option<Abort>,
    /// Tool calls of the response.
    pub(crate) calls: usize,
    /// Why the model stopped.
    pub(crate) stop: Option<StopReason>,
    /// The provider's explanation of a refusal.
    pub(crate) refusal: Option<String>,
    /// Steering input waits for delivery.
    pub(crate) steering_waits: bool,
    /// Cut answers continued so far.
    pub(crate) continuations: u32,
    /// Answers in a row, this one included, that were cut off in the middle of a call.
    pub(crate) cut_calls: u32,
    /// A hook of a call wants the turn to end.
    pub(crate) hook_stop: Option<String>,
    /// A plan was handed over that nobody can approve now.
    pub(crate) handed_over: Option<HandedOver>,
    /// Whether the result was handed over in the form that was asked for.
    pub(crate) form: Form,
    /// Whether the Stop hooks were heard about this end.
    pub(crate) stop_hooks: StopHooks,
}

/// What has become of a result that has to have a form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Form {
    /// None was asked for.
    #[default]
    NotAsked,
    /// It is handed over.
    Given,
    /// It is not there yet. So often it did not fit, or the model wanted to end without it.
    Missing {
        /// How often.
        tries: u32,
    },
}

impl Form {
    /// Once more it was not there.
    pub(crate) fn tried(self) -> Self {
        match self {
            Self::Missing { tries } => Self::Missing { tries: tries + 1 },
            settled => settled,
        }
    }
}

/// Whether the Stop hooks were heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StopHooks {
    /// They were not asked yet.
    #[default]
    Due,
    /// They have nothing against the end.
    Passed,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask the model again: it has results to look at.
    Sample,
    /// Let the provider go on where it paused.
    Resume,
    /// Ask the model to go on with an answer that was cut.
    ContinueCut,
    /// Fold the conversation, and let the model go on: its window is full.
    MakeRoom,
    /// Hear the Stop hooks: the model is done.
    StopHooks,
    /// Ask the model to hand its result over in the form that was asked for.
    AskForResult,
    /// Deliver what the user sent meanwhile, and ask the model again.
    DeliverSteering,
    /// The turn is over.
    End(Outcome, Option<EndMarker>),
}

impl Facts {
    /// What the user should know of an answer that ends although the model was not done.
    pub(crate) fn unfinished(&self) -> Option<String> {
        match self.stop {
            _ if self.calls > 0 => None,
            Some(StopReason::MaxTokens) => Some(format!(
                "The answer is cut off: it is longer than the output limit allows, even after {MAX_CONTINUATIONS} \
                 continuations."
            )),
            Some(StopReason::PauseTurn) => Some(format!(
                "The answer is not finished: the provider has paused it more than {MAX_PAUSES} times."
            )),
            _ => None,
        }
    }
}

/// Decides what follows a step.
pub(crate) fn next(facts: &Facts) -> Next {
    if let Some(abort) = facts.abort {
        let (outcome, marker) = aborted(abort, facts.calls > 0);
        return Next::End(outcome, marker);
    }
    if facts.stop == Some(StopReason::Refusal) {
        let message = facts.refusal.clone().unwrap_or_else(|| "the provider declined to answer".to_owned());
        return Next::End(Outcome::Refused { message }, None);
    }
    if let Some(message) = &facts.hook_stop {
        return Next::End(Outcome::HookStopped { message: message.clone() }, None);
    }
    if let Some(HandedOver { plan, path }) = facts.handed_over.clone().filter(|_| !facts.steering_waits) {
        return match facts.stop_hooks {
            StopHooks::Due => Next::StopHooks,
            StopHooks::Passed => Next::End(Outcome::PlanHandedOver { plan, path }, None),
        };
    }
    if facts.form == Form::Given && !facts.steering_waits {
        return match facts.stop_hooks {
            StopHooks::Due => Next::StopHooks,
            StopHooks::Passed => Next::End(Outcome::Success, None),
        };
    }
    if matches!(facts.form, Form::Missing { tries: MAX_FORM_TRIES.. }) {
        return Next::End(Outcome::Unstructured { message: NO_RESULT.to_owned() }, None);
    }
    match facts.stop {
        Some(StopReason::ContextWindowExceeded) if facts.continuations < MAX_CONTINUATIONS => Next::MakeRoom,
        Some(StopReason::ContextWindowExceeded) => {
            let message =
                "the model's context window is full again and again; start a new session".to_owned();
            Next::End(Outcome::Error { message, status: None }, None)
        }
        _ if facts.cut_calls > MAX_CONTINUATIONS => {
            Next::End(Outcome::Error { message: ALWAYS_CUT.to_owned(), status: None }, None)
        }
        _ if facts.calls > 0 => Next::Sample,
        Some(StopReason::PauseTurn) if facts.continuations < MAX_PAUSES => Next::Resume,
        Some(StopReason::MaxTokens) if facts.continuations < MAX_CONTINUATIONS => Next::ContinueCut,
        _ if facts.stop_hooks == StopHooks::Due => Next::StopHooks,
        _ if facts.steering_waits => Next::DeliverSteering,
        _ if matches!(facts.form, Form::Missing { .. }) => Next::AskForResult,
        _ => Next::End(Outcome::Success, None),
    }
}

/// The end of a turn that the user stopped.
pub(crate) fn aborted(abort: Abort, tool_use: bool) -> (Outcome, Option<EndMarker>) {
    let (outcome, reason) = match abort {
        Abort::Interrupted => (Outcome::Interrupted, EndReason::Interrupted),
        Abort::ToolRejection => (Outcome::ToolRejected, EndReason::ToolRejection),
    };
    (outcome, Some(EndMarker { tool_use, reason }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(stop: StopReason) -> Facts {
        Facts { stop: Some(stop), ..Facts::default() }
    }

    #[test]
    fn results_are_always_shown_to_the_model() {
        for stop in [StopReason::ToolUse, StopReason::EndTurn, StopReason::MaxTokens, StopReason::PauseTurn] {
            assert_eq!(next(&Facts { calls: 1, steering_waits: true, ..facts(stop) }), Next::Sample);
        }
    }

    // LOOP-28, LOOP-43
    #[test]
    fn a_finished_answer_ends_the_turn_unless_the_user_has_said_more() {
        let heard = |stop| Facts { stop_hooks: StopHooks::Passed, ..facts(stop) };
        assert_eq!(next(&heard(StopReason::EndTurn)), Next::End(Outcome::Success, None));
        assert_eq!(next(&heard(StopReason::Other("new".into()))), Next::End(Outcome::Success, None));
        let waiting = Facts { steering_waits: true, ..heard(StopReason::EndTurn) };
        assert_eq!(next(&waiting), Next::DeliverSteering);
    }

    // LOOP-39, LOOP-41
    #[test]
    fn stop_hooks_are_heard_before_a_good_end_and_before_no_other() {
        let waiting = Facts { steering_waits: true, ..facts(StopReason::EndTurn) };
        assert_eq!(next(&waiting), Next::StopHooks);
        assert_eq!(next(&facts(StopReason::EndTurn)), Next::StopHooks);
        let stopped = Facts { hook_stop: Some("enough".into()), calls: 1, ..facts(StopReason::ToolUse) };
        let others = [
            Facts { abort: Some(Abort::Interrupted), ..facts(StopReason::EndTurn) },
            facts(StopReason::Refusal),
            Facts { continuations: MAX_CONTINUATIONS, ..facts(StopReason::ContextWindowExceeded) },
            stopped.clone(),
        ];
        for facts in others {
            assert!(matches!(next(&facts), Next::End(..)), "{facts:?}");
        }
        let message = "enough".to_owned();
        assert_eq!(next(&stopped), Next::End(Outcome::HookStopped { message }, None));
    }

    // PLAN-20
    #[test]
    fn a_plan_that_was_handed_over_is_the_end_unless_the_user_has_said_more() {
        let plan = HandedOver { plan: "# Plan".into(), path: "/plans/a.md".into() };
        let handed = Facts { calls: 1, handed_over: Some(plan), ..facts(StopReason::ToolUse) };
        assert_eq!(next(&handed), Next::StopHooks);
        let heard = Facts { stop_hooks: StopHooks::Passed, ..handed };
        let outcome = Outcome::PlanHandedOver { plan: "# Plan".into(), path: "/plans/a.md".into() };
        assert_eq!(next(&heard), Next::End(outcome, None));
        assert_eq!(next(&Facts { steering_waits: true, ..heard }), Next::Sample);
    }

    #[test]
    fn cut_and_paused_answers_go_on_within_limits() {
        assert_eq!(next(&facts(StopReason::PauseTurn)), Next::Resume);
        assert_eq!(next(&facts(StopReason::MaxTokens)), Next::ContinueCut);
        assert_eq!(next(&facts(StopReason::ContextWindowExceeded)), Next::MakeRoom);
        let tired = Facts { continuations: MAX_CONTINUATIONS, ..facts(StopReason::MaxTokens) };
        assert_eq!(next(&tired), Next::StopHooks);
        let endless = Facts { continuations: MAX_PAUSES, ..facts(StopReason::PauseTurn) };
        assert_eq!(next(&endless), Next::StopHooks);
    }

    #[test]
    fn calls_that_are_always_cut_off_end_the_turn() {
        let cut = |cut_calls| Facts { calls: 1, cut_calls, ..facts(StopReason::MaxTokens) };
        assert_eq!(next(&cut(MAX_CONTINUATIONS)), Next::Sample);
        assert!(matches!(next(&cut(MAX_CONTINUATIONS + 1)), Next::End(Outcome::Error { .. }, None)));
    }

    // LOOP-27, LOOP-30
    #[test]
    fn an_abort_outranks_everything_and_says_which_kind_it_was() {
        let marker = |facts: &Facts| match next(facts) {
            Next::End(_, marker) => marker.unwrap(),
            other => panic!("{other:?}"),
        };
        let stopped = Facts { abort: Some(Abort::Interrupted), ..facts(StopReason::EndTurn) };
        assert_eq!(marker(&stopped), EndMarker { tool_use: false, reason: EndReason::Interrupted });
        let refused = Facts { abort: Some(Abort::ToolRejection), calls: 2, ..facts(StopReason::ToolUse) };
        assert_eq!(marker(&refused), EndMarker { tool_use: true, reason: EndReason::ToolRejection });
    }
}
