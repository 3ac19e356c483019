//! The decision itself.

mod change;
mod fence;
mod files;
mod inside;
mod known_names;
mod landing;
mod listed;
mod listing;
mod made;
mod moved;
mod objection;
mod on_the_way;
mod own_work;
mod part;
mod place;
mod plan;
mod put_in;
mod reason;
mod script;
mod spelling;
mod stand_in;
mod steering;
mod through;

use std::path::PathBuf;

use tiller_protocol::host::is_loopback;
use tiller_protocol::mode::Mode;

use crate::access::{Access, Request};
use crate::context::Context;
use crate::holding::{Profile, profile};
use crate::path::Place;
use crate::permit::{Permit, Release};
use crate::prompt::open_question;
use crate::rule::pattern::Pattern;
use crate::rule::{Behavior, Rule};
use crate::shell::{self, Analysis};

use files::Files;
pub(crate) use part::{Insists, Part};
use plan::Guard;
pub(crate) use put_in::looks_with_git;
pub use reason::Reason;

/// Yes, no, or a question for the user.
#[derive(Debug)]
pub enum Decision {
    /// Go ahead.
    Allow(Permit, Reason),
    /// No.
    Deny(Reason),
    /// The user decides; [`approve`] turns a yes into a permit.
    Ask(Reason),
}

/// Tools that are themselves a question to the user.
const NEEDS_USER: &[&str] = &["AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];

/// Judges a call.
#[must_use]
pub fn decide(request: &Request, cx: &Context) -> Decision {
    let judgement = judge(request, cx);
    match judgement.verdict {
        Behavior::Allow => allow(request, cx, judgement.reason),
        Behavior::Ask => Decision::Ask(judgement.reason),
        Behavior::Deny => Decision::Deny(judgement.reason),
    }
}

/// Judges a call that the user has said yes to: deny rules and plan mode still hold. A question is left only if a rule
/// in words against it was never compared with it.
#[must_use]
pub fn approve(request: &Request, cx: &Context) -> Decision {
    let asked = asking(cx);
    let unseen = || open_question(request, &asked).is_some_and(|open| open.behavior == Behavior::Deny);
    match decide(request, &asked) {
        Decision::Ask(reason) if unseen() => Decision::Ask(reason),
        Decision::Ask(_) => allow(request, cx, Reason::User),
        settled => settled,
    }
}

/// Judges a call that a hook speaks for: it spares the question that nobody's rule asks. Rules, plan mode, guarded
/// files and questions to the user stay what they are, and so does a question about a command that nothing would hold.
#[must_use]
pub fn vouch(request: &Request, cx: &Context, hook: Reason) -> Decision {
    if cx.mode == Mode::Plan && !request.read_only {
        return decide(request, cx);
    }
    match decide(request, &asking(cx)) {
        Decision::Ask(Reason::Uncovered { .. } | Reason::WorkingDir { .. } | Reason::Opaque { .. })
            if !is_unheld(request, cx) =>
        {
            allow(request, cx, hook)
        }
        _ => decide(request, cx),
    }
}

/// Whether the kernel, if it could, would keep a command from something that its words do not show, or from files outside of
/// the working directories: and it cannot.
fn is_unheld(request: &Request, cx: &Context) -> bool {
    !cx.holding.kernel.confines()
        && analyse(request).is_some_and(|analysis| !change::stays_inside(&analysis, cx))
}

/// Judges a call that a hook allows in the user's place. What steers Tiller or git, what may lead to files that must
/// not be read, what plan mode guards, what nothing would hold and what is a question to the user stays with the user,
/// whichever rule asks.
#[must_use]
pub fn answer_for_user(request: &Request, cx: &Context, hook: Reason) -> Decision {
    // A rule that asks must not hide that something else asks as well.
    let mut unasked = cx.clone();
    unasked.rules.ask.clear();
    let for_the_user = |cx: &Context| is_for_the_user(&judge(request, cx));
    if is_unheld(request, cx) || [cx, &unasked].into_iter().any(for_the_user) {
        return decide(request, cx);
    }
    match approve(request, cx) {
        Decision::Allow(..) => allow(request, cx, hook),
        settled => settled,
    }
}

fn is_for_the_user(judgement: &Judgement) -> bool {
    let asked = judgement.parts.iter().filter(|part| part.verdict == Behavior::Ask);
    asked.map(|part| &part.reason).chain([&judgement.reason]).any(|reason| {
        matches!(
            reason,
            Reason::Guarded { .. }
                | Reason::MayRead { .. }
                | Reason::NeedsUser
                | Reason::Mode { mode: Mode::Plan }
        )
    })
}

/// The same where questions are put that are otherwise refused.
fn asking(cx: &Context) -> Context {
    let asking = |mode| if mode == Mode::DontAsk { Mode::Default } else { mode };
    let bounds = cx.bounds.iter().copied().map(asking).collect();
    Context { mode: asking(cx.mode), bounds, ..cx.clone() }
}

/// Judges a command that the user lets have what its confinement refused, this once. Deny rules and plan mode still hold,
/// also rules in words by what was found before; and modes that never ask refuse it.
#[must_use]
pub fn leave(permit: &Permit, release: Release, cx: &Context) -> Decision {
    if matches!(cx.mode, Mode::Plan | Mode::DontAsk | Mode::Delegate) {
        return Decision::Deny(Reason::Mode { mode: cx.mode });
    }
    if let Some(fence) = &cx.fence {
        let path = fence.clone();
        return Decision::Deny(Reason::Fenced { fence: path.clone(), path });
    }
    let findings = [cx.findings.clone(), permit.findings.clone()].concat();
    match approve(&permit.request, &Context { findings, ..cx.clone() }) {
        Decision::Allow(permit, _) => Decision::Allow(permit.releasing(release), Reason::User),
        settled => settled,
    }
}

fn allow(request: &Request, cx: &Context, reason: Reason) -> Decision {
    let excluded = request.access.iter().find_map(|access| match access {
        Access::Read(_) => Some(Files { cx, tool: Some(&request.tool) }.exclusions()),
        Access::Exec(_) => Some(hidden_from_commands(cx)),
        Access::Write(_) | Access::Net(_) | Access::Server(_) => None,
    });
    let profile = profile(request, cx, &reason);
    let permit = Permit::new(request.clone(), excluded.unwrap_or_default(), profile);
    let is_unasked = reason != Reason::User && cx.mode != Mode::BypassPermissions;
    let permit = if is_unasked { permit.unasked() } else { permit };
    let runs = request.access.iter().any(|access| matches!(access, Access::Exec(_)));
    let permit = if runs && reason == Reason::ReadOnly { permit.looking() } else { permit };
    let kept = if runs { kept_from_commands(cx) } else { Vec::new() };
    let outside = if profile == Profile::Workspace { outside(request, cx, &reason) } else { Vec::new() };
    Decision::Allow(permit.keeping(kept).reaching(outside).knowing(cx.findings.clone()), reason)
}

/// What a command may change outside of the working directories: what it names, and the user or a rule lets it.
fn outside(request: &Request, cx: &Context, reason: &Reason) -> Vec<PathBuf> {
    let Some(analysis) = analyse(request).filter(|_| cx.fence.is_none()) else { return Vec::new() };
    let files = Files { cx, tool: None };
    let named = change::changed_outside(&analysis, cx);
    let lets = |place: &Place| *reason == Reason::User || files.is_write_allowed_by_rule(place);
    named.into_iter().filter(lets).map(|place| place.real).collect()
}

/// What no command may read.
pub(crate) fn hidden_from_commands(cx: &Context) -> Vec<Pattern> {
    Files { cx, tool: None }.exclusions()
}

/// What no command may change.
pub(crate) fn kept_from_commands(cx: &Context) -> Vec<Pattern> {
    Files { cx, tool: None }.preserves()
}

/// A verdict with all that led to it.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Behavior,
    pub(crate) reason: Reason,
    pub(crate) parts: Vec<Part>,
}

impl Judgement {
    fn or_stricter(self, other: Self) -> Self {
        let rank = |judgement: &Self| match judgement.verdict {
            Behavior::Allow => 0,
            Behavior::Ask => 1,
            Behavior::Deny => 2,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

pub(crate) fn judge(request: &Request, cx: &Context) -> Judgement {
    let bound = |mode: &Mode| judge_in_mode(request, &Context { mode: *mode, ..cx.clone() });
    cx.bounds.iter().map(bound).fold(judge_in_mode(request, cx), Judgement::or_stricter)
}

fn judge_in_mode(request: &Request, cx: &Context) -> Judgement {
    let analysis = analyse(request);
    let parts = parts(request, cx, analysis.as_ref());
    let Opinion { verdict, reason } = weigh(request, cx, analysis.as_ref(), &parts);
    // Whoever never asks refuses instead.
    let verdict = if verdict == Behavior::Ask && cx.mode == Mode::DontAsk { Behavior::Deny } else { verdict };
    Judgement { verdict, reason, parts }
}

pub(crate) fn analyse(request: &Request) -> Option<Analysis> {
    request.access.iter().find_map(|access| match access {
        Access::Exec(script) => Some(shell::analyse(&script.command, &script.cwd)),
        _ => None,
    })
}

struct Opinion {
    verdict: Behavior,
    reason: Reason,
}

impl Opinion {
    fn new(verdict: Behavior, reason: Reason) -> Self {
        Self { verdict, reason }
    }
}

/// The order of the checks.
fn weigh(request: &Request, cx: &Context, analysis: Option<&Analysis>, parts: &[Part]) -> Opinion {
    let speaks_of_it =
        |rule: &&Rule| [&*request.tool, request.ruled_as()].iter().any(|tool| rule.is_whole_tool(tool));
    let whole = |behavior| cx.rules.of(behavior).iter().find(speaks_of_it);
    if let Some(rule) = whole(Behavior::Deny) {
        return Opinion::new(Behavior::Deny, Reason::rule(rule));
    }
    if let Some(part) = parts.iter().find(|part| part.verdict == Behavior::Deny) {
        return Opinion::new(Behavior::Deny, part.reason.clone());
    }
    if let Some(reason) = fence::objection(request, cx, analysis) {
        return Opinion::new(Behavior::Deny, reason);
    }
    let guard = plan::guard(request, cx, analysis);
    let guarded = Reason::Mode { mode: cx.mode };
    match guard {
        Guard::Deny => return Opinion::new(Behavior::Deny, guarded),
        Guard::Ask => return Opinion::new(Behavior::Ask, guarded),
        _ => {}
    }
    if NEEDS_USER.contains(&request.tool.as_str()) {
        return Opinion::new(Behavior::Ask, Reason::NeedsUser);
    }
    if let Some(reason) = asked_by_rule(whole(Behavior::Ask), parts) {
        return Opinion::new(Behavior::Ask, reason);
    }
    if let Some(part) = parts.iter().find(|part| matches!(part.reason, Reason::MayRead { .. }))
        && !cx.holding.kernel.confines()
    {
        // Nothing else would keep the command from what must not be read.
        let bypass = cx.mode == Mode::BypassPermissions;
        let verdict = if bypass { Behavior::Deny } else { Behavior::Ask };
        return Opinion::new(verdict, part.reason.clone());
    }
    if guard == Guard::Allow {
        return Opinion::new(Behavior::Allow, guarded);
    }
    if cx.mode == Mode::BypassPermissions {
        return match guarded_change(request, cx, analysis, parts) {
            Some(reason) => Opinion::new(Behavior::Ask, reason),
            None => Opinion::new(Behavior::Allow, Reason::Mode { mode: cx.mode }),
        };
    }
    let asking = parts.iter().find(|part| part.verdict == Behavior::Ask);
    let insisting =
        parts.iter().find(|part| part.verdict == Behavior::Ask && part.insists >= Insists::Strongly);
    match (insisting, whole(Behavior::Allow), asking) {
        (Some(part), _, _) | (None, None, Some(part)) => Opinion::new(Behavior::Ask, part.reason.clone()),
        (None, Some(rule), _) => Opinion::new(Behavior::Allow, Reason::rule(rule)),
        (None, None, None) => Opinion::new(Behavior::Allow, because(parts)),
    }
}

/// What is asked even in the mode that asks nothing: whatever could loosen the rules that still hold in it.
fn guarded_change(
    request: &Request,
    cx: &Context,
    analysis: Option<&Analysis>,
    parts: &[Part],
) -> Option<Reason> {
    request.access.iter().find_map(|access| match (access, analysis) {
        (Access::Exec(script), Some(analysis)) => {
            steering::guarded_change(request.ruled_as(), script, analysis, cx)
        }
        (Access::Write(place), _) => {
            let guarded =
                |part: &&Part| part.verdict == Behavior::Ask && matches!(part.reason, Reason::Guarded { .. });
            let path = Files { cx, tool: Some(&request.tool) }.steering(place)?;
            parts.iter().any(|part| guarded(&part)).then_some(Reason::Guarded { path })
        }
        _ => None,
    })
}

fn asked_by_rule(whole: Option<&Rule>, parts: &[Part]) -> Option<Reason> {
    let part = || parts.iter().find(|part| part.insists == Insists::Always && part.verdict == Behavior::Ask);
    whole.map(Reason::rule).or_else(|| part().map(|part| part.reason.clone()))
}

/// The most telling reason of an allowed call: a rule or a mode rather than harmlessness.
fn because(parts: &[Part]) -> Reason {
    let telling = parts.iter().map(|part| &part.reason).find(|reason| **reason != Reason::ReadOnly);
    telling.cloned().unwrap_or(Reason::ReadOnly)
}

fn parts(request: &Request, cx: &Context, analysis: Option<&Analysis>) -> Vec<Part> {
    let files = Files { cx, tool: Some(&request.tool) };
    let mut parts = Vec::new();
    for access in &request.access {
        match access {
            Access::Read(place) => parts.push(files.read(place)),
            Access::Write(place) => parts.push(files.write(place)),
            Access::Net(host) => parts.push(net(request, cx, host)),
            Access::Server(name) => parts.push(resources(cx, name)),
            Access::Exec(script) => {
                parts.extend(
                    analysis
                        .into_iter()
                        .flat_map(|analysis| script::judge(request.ruled_as(), script, analysis, cx)),
                );
            }
        }
    }
    if request.types() {
        let what = "typing into a running command".to_owned();
        parts.push(Part::ask(&request.tool, Reason::Uncovered { what }));
    }
    // What the tools of a server do is not declared.
    if request.tool.starts_with("mcp__") {
        parts
            .push(Part::ask(&request.tool, Reason::Uncovered { what: format!("the tool {}", request.tool) }));
    }
    parts
}

fn net(request: &Request, cx: &Context, host: &str) -> Part {
    let what = format!("contact {host}");
    if cx.offline && !is_loopback(host) {
        return Part::deny(&what, Reason::Offline { host: host.to_owned() });
    }
    let rule = |behavior| cx.rules.of(behavior).iter().find(|rule| rule.matches_host(&request.tool, host));
    if let Some(rule) = rule(Behavior::Deny) {
        return Part::deny(&what, Reason::rule(rule));
    }
    if let Some(rule) = rule(Behavior::Ask) {
        return Part::ask_by_rule(&what, Reason::rule(rule));
    }
    match rule(Behavior::Allow) {
        Some(rule) => Part::allow(&what, Reason::rule(rule)),
        None => Part::ask(&what, Reason::Uncovered { what: format!("contacting {host}") }),
    }
}

/// What a server has to read: nothing asks about it unless a rule about all of the server does.
fn resources(cx: &Context, server: &str) -> Part {
    let what = format!("read from the MCP server {server}");
    let rule = |behavior| cx.rules.of(behavior).iter().find(|rule| rule.names_server(server));
    if let Some(rule) = rule(Behavior::Deny) {
        return Part::deny(&what, Reason::rule(rule));
    }
    match rule(Behavior::Ask) {
        Some(rule) => Part::ask_by_rule(&what, Reason::rule(rule)),
        None => Part::allow(&what, Reason::ReadOnly),
    }
}

#[cfg(test)]
mod tests;
