//! What keeps an agent inside the directory that was made for it: no rule, no mode and no yes gets around it.

use crate::access::{Access, Request};
use crate::context::Context;
use crate::decide::Reason;
use crate::shell::Analysis;

/// Why the fence forbids a call, if it does.
pub(crate) fn objection(request: &Request, cx: &Context, analysis: Option<&Analysis>) -> Option<Reason> {
    let fence = cx.fence.as_ref()?;
    let fenced = |path: &std::path::Path| Reason::Fenced { fence: fence.clone(), path: path.to_owned() };
    request.access.iter().find_map(|access| match access {
        Access::Write(place) if !place.real.starts_with(fence) && !cx.is_plan_file(&place.real) => {
            Some(fenced(&place.real))
        }
        // Only the kernel can keep a command inside.
        Access::Exec(script) if !cx.holding.kernel.confines() => {
            let looks = request.read_only && analysis.is_some_and(Analysis::changes_nothing);
            (!looks).then(|| fenced(&script.cwd))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tiller_protocol::mode::Mode;

    use crate::access::Script;
    use crate::decide::{Decision, approve, decide, leave};
    use crate::holding::{Holding, Kernel, Profile};
    use crate::{Access, Context, Release, Request};

    fn fenced(mode: Mode) -> Context {
        let fence = PathBuf::from("/trees/a1");
        Context {
            mode,
            roots: vec![fence.clone()],
            fence: Some(fence),
            bypass_available: true,
            holding: Holding { workspace: false, kernel: Kernel::new(|| true), ..Holding::default() },
            ..Context::default()
        }
    }

    fn write(path: &str) -> Request {
        Request { tool: "Write".to_owned(), access: vec![Access::Write(path.into())], read_only: false }
    }

    fn run(command: &str) -> Request {
        let script = Script { command: command.to_owned(), cwd: "/trees/a1".into() };
        Request { tool: "Bash".to_owned(), access: vec![Access::Exec(script)], read_only: false }
    }

    #[test]
    fn nothing_outside_is_written_in_any_mode_and_with_any_yes() {
        for mode in Mode::ALL {
            for path in ["/trees/a1x", "/trees/other", "/w/src/main.rs", "/trees"] {
                for decision in [decide(&write(path), &fenced(mode)), approve(&write(path), &fenced(mode))] {
                    assert!(matches!(decision, Decision::Deny(_)), "{mode} {path}: {decision:?}");
                }
            }
        }
        assert!(matches!(decide(&write("/trees/a1/src"), &fenced(Mode::AcceptEdits)), Decision::Allow(..)));
    }

    #[test]
    fn commands_are_held_by_the_kernel_or_do_not_run() {
        let Decision::Allow(permit, _) = decide(&run("make"), &fenced(Mode::BypassPermissions)) else {
            panic!("bypassing runs everything")
        };
        assert_eq!(permit.profile(), Profile::Workspace);
        assert!(matches!(
            leave(&permit, Release::Machine, &fenced(Mode::BypassPermissions)),
            Decision::Deny(_)
        ));
        let unheld = Context { holding: Holding::default(), ..fenced(Mode::BypassPermissions) };
        assert!(matches!(decide(&run("make"), &unheld), Decision::Deny(_)));
    }
}
