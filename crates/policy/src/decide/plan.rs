//! What the modes add in which an agent does not work itself: a guard that no rule and no yes gets around.

use tiller_protocol::mode::Mode;

use crate::access::{Access, Request};
use crate::context::Context;
use crate::shell::Analysis;

/// What the guard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Nothing: the ordinary flow decides.
    None,
    /// Go ahead.
    Allow,
    /// The user decides.
    Ask,
    /// No.
    Deny,
}

/// Tools by which work is handed out.
const COORDINATION: &[&str] = &["Task", "TodoWrite", "AskUserQuestion"];

pub(crate) fn guard(request: &Request, cx: &Context, analysis: Option<&Analysis>) -> Guard {
    match cx.mode {
        Mode::Plan => planning(request, cx, analysis),
        Mode::Delegate => delegating(request, analysis),
        Mode::Default | Mode::AcceptEdits | Mode::BypassPermissions | Mode::DontAsk => Guard::None,
    }
}

/// In delegate mode only reading is allowed.
fn delegating(request: &Request, analysis: Option<&Analysis>) -> Guard {
    let looks = request.read_only && analysis.is_none_or(Analysis::changes_nothing);
    match looks || COORDINATION.contains(&request.tool.as_str()) {
        true => Guard::None,
        false => Guard::Deny,
    }
}

fn planning(request: &Request, cx: &Context, analysis: Option<&Analysis>) -> Guard {
    let writes: Vec<_> = request.access.iter().filter_map(written).collect();
    if !writes.is_empty() {
        let only_plan =
            writes.len() == request.access.len() && writes.iter().all(|path| cx.is_plan_file(path));
        return if only_plan { Guard::Allow } else { Guard::Deny };
    }
    let changes_nothing = request.read_only && analysis.is_none_or(Analysis::changes_nothing);
    let is_foreign = request.tool.starts_with("mcp__");
    match (changes_nothing, analysis) {
        // That it changes nothing is only what its server says.
        (true, _) if is_foreign => Guard::None,
        (true, _) if cx.bypass_available => Guard::Allow,
        (true, _) => Guard::None,
        (false, Some(_)) if cx.holding.kernel.confines() => Guard::Allow,
        (false, Some(_)) => Guard::Deny,
        // What touches nothing outside the session, like keeping the todo list, is fine while planning.
        (false, None) if request.access.is_empty() && !is_foreign => Guard::None,
        (false, None) => Guard::Ask,
    }
}

fn written(access: &Access) -> Option<&std::path::Path> {
    match access {
        Access::Write(place) => Some(&place.real),
        _ => None,
    }
}
