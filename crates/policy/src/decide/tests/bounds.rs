//! Agents that work in a stricter mode than those they work for.

use super::*;

fn calls() -> Vec<Request> {
    vec![
        read("Read", "/w/a"),
        read("Read", "/etc/passwd"),
        write("/w/a"),
        write("/etc/passwd"),
        bash("ls"),
        bash("cat /etc/passwd"),
        bash("touch a"),
        bash("python3 a.py"),
        fetch("example.org"),
        request("mcp__srv__write", Vec::new(), false),
        request("TodoWrite", Vec::new(), false),
        request("Task", Vec::new(), false),
    ]
}

fn rank(verdict: &str) -> u8 {
    match verdict {
        "allow" => 2,
        "ask" => 1,
        _ => 0,
    }
}

/// What is left of a yes by the user, and of one by a hook.
fn after_a_yes(request: &Request, cx: &Context) -> [u8; 2] {
    let hook = Reason::Hook { name: "h".to_owned(), reason: String::new() };
    [approve(request, cx), vouch(request, cx, hook)].map(|decision| match decision {
        Decision::Allow(..) => 2,
        Decision::Ask(_) => 1,
        Decision::Deny(_) => 0,
    })
}

// PERM-19: what the caller may not do without a question, its agent may not either, in whichever mode it works.
#[test]
fn no_mode_of_an_agent_allows_what_that_of_its_caller_does_not() {
    for (caller, own, kernel) in Mode::STRICTEST_FIRST.into_iter().flat_map(|caller| {
        let own = Mode::STRICTEST_FIRST.into_iter();
        own.flat_map(move |own| [(caller, own, false), (caller, own, true)])
    }) {
        let holding = if kernel { confining() } else { Holding::default() };
        let alone = |mode| Context { holding: holding.clone(), bypass_available: true, ..cx(mode) };
        let mode = own.or_stricter(caller);
        let bounds = [caller, own].into_iter().filter(|other| *other != mode).collect();
        let bound = Context { bounds, ..alone(mode) };
        for request in calls() {
            let both = rank(verdict(&request, &bound));
            let each = [caller, own].map(|mode| rank(verdict(&request, &alone(mode))));
            assert_eq!(both, each[0].min(each[1]), "{own} for {caller}: {request:?}");
            let each = after_a_yes(&request, &alone(caller));
            for (both, caller_s) in after_a_yes(&request, &bound).into_iter().zip(each) {
                assert!(both <= caller_s, "a yes, {own} for {caller}: {request:?}");
            }
        }
    }
}

// PERM-19
#[test]
fn a_planning_agent_asks_what_its_caller_would_and_is_held_all_the_same() {
    let planning = Context { holding: confining(), bounds: vec![Mode::Default], ..cx(Mode::Plan) };
    assert_eq!(verdict(&bash("python3 a.py"), &planning), "ask");
    let Decision::Allow(permit, _) = approve(&bash("python3 a.py"), &planning) else {
        panic!("it is allowed")
    };
    assert_eq!(permit.profile(), Profile::ReadOnly);
    assert!(matches!(approve(&write("/w/a"), &planning), Decision::Deny(_)));
}
