//! How a permitted command is held while it runs.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tiller_protocol::mode::Mode;

use crate::access::{Access, Request};
use crate::context::Context;
use crate::decide::{Reason, analyse};
use crate::rule::command;
use crate::shell::{Analysis, harmless_assignment, is_sink};

/// How much a command may change, strictest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Nothing real: what it writes goes to a layer that is thrown away. No network.
    ReadOnly,
    /// The working directories and temporary directories.
    Workspace,
    /// Everything the user may.
    #[default]
    Full,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::Full => "full",
        })
    }
}

/// What is said about the confinement of commands.
#[derive(Clone, Debug, Default)]
pub struct Holding {
    /// Whether commands are confined to the working directories. While planning they are confined in any case.
    pub workspace: bool,
    /// Commands that run outside of the confinement, written like the content of a rule. Such a command still has to be
    /// allowed by a rule or by the user.
    pub outside: Vec<String>,
    /// What the kernel can do.
    pub kernel: Kernel,
}

/// Whether the kernel can confine commands. The default cannot.
#[derive(Clone, Default)]
pub struct Kernel(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Kernel {
    /// Finds out by `confines`, which is asked only when it matters.
    pub fn new(confines: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(confines)))
    }

    /// Whether it can.
    #[must_use]
    pub fn confines(&self) -> bool {
        self.0.as_ref().is_some_and(|confines| confines())
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Kernel(asked)" } else { "Kernel(confines nothing)" })
    }
}

/// The profile of a call that is allowed for a reason. What runs no command needs none.
pub(crate) fn profile(request: &Request, cx: &Context, reason: &Reason) -> Profile {
    let runs = request.access.iter().any(|access| matches!(access, Access::Exec(_)));
    let wanted = match cx.mode {
        _ if !runs => Profile::Full,
        Mode::Plan => Profile::ReadOnly,
        _ if cx.fence.is_some() => Profile::Workspace,
        Mode::BypassPermissions => Profile::Full,
        Mode::Default | Mode::AcceptEdits | Mode::DontAsk | Mode::Delegate if cx.holding.workspace => {
            Profile::Workspace
        }
        Mode::Default | Mode::AcceptEdits | Mode::DontAsk | Mode::Delegate => Profile::Full,
    };
    let may_go = wanted == Profile::Workspace && cx.fence.is_none();
    let goes_outside = || may_go && is_explicit(reason) && runs_outside(request, cx);
    if wanted == Profile::Full || !cx.holding.kernel.confines() || goes_outside() {
        return Profile::Full;
    }
    wanted
}

/// Whether somebody has allowed this very kind of call.
fn is_explicit(reason: &Reason) -> bool {
    matches!(reason, Reason::Rule { .. } | Reason::User)
}

/// Whether every part of a command is one of those that run outside.
fn runs_outside(request: &Request, cx: &Context) -> bool {
    let outside = &cx.holding.outside;
    !outside.is_empty() && analyse(request).is_some_and(|analysis| consists_of(&analysis, outside))
}

fn consists_of(analysis: &Analysis, commands: &[String]) -> bool {
    let is_plain = analysis.opaque.is_none() && !analysis.background && !analysis.commands.is_empty();
    is_plain
        && analysis.redirects.iter().all(|redirect| is_sink(&redirect.target))
        && analysis.commands.iter().all(|command| {
            command.assignments.iter().all(harmless_assignment)
                && commands.iter().any(|content| command::covers(content, command))
        })
}
