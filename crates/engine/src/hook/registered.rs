//! Hooks as they stand in settings or come from a host, ready to be matched.

use std::sync::Arc;
use std::time::Duration;

use tiller_config::{Hook, HookEvent, HookGroup, OnFailure, Sourced};

use super::case::Case;
use super::matcher::Matcher;
use super::{CallbackGroup, Callbacks, HookSettings};

/// How long a hook may take unless it says otherwise.
const DEFAULT_LIMIT: Duration = Duration::from_secs(60);

/// A hook and the cases it is for.
#[derive(Clone)]
pub(super) struct Registered {
    pub(super) event: HookEvent,
    /// As it was written.
    pub(super) matcher_text: String,
    pub(super) matcher: Arc<Matcher>,
    pub(super) hook: Arc<Runnable>,
}

/// One hook.
#[derive(Clone)]
pub(super) struct Runnable {
    pub(super) work: Work,
    pub(super) timeout: Option<Duration>,
    pub(super) on_failure: OnFailure,
    /// Who has registered it.
    pub(super) source: String,
}

/// What there is to do.
#[derive(Clone)]
pub(super) enum Work {
    Command {
        command: String,
        /// Whether nobody waits for it.
        detached: bool,
    },
    Prompt(String),
    Callback {
        id: String,
        caller: Arc<dyn Callbacks>,
    },
}

impl Registered {
    /// The hooks of settings, event by event.
    pub(super) fn of_settings(settings: &HookSettings) -> Vec<Self> {
        let groups = settings.iter().flat_map(|(event, groups)| groups.iter().map(|group| (*event, group)));
        groups.flat_map(|(event, group)| Self::of_group(event, group)).collect()
    }

    /// The hooks of one group of the settings.
    pub(super) fn of_group(event: HookEvent, group: &Sourced<HookGroup>) -> Vec<Self> {
        let source = group.origin.to_string();
        let matcher = Arc::new(Matcher::new(&group.value.matcher));
        let registered = |hook: &Hook| Self {
            event,
            matcher_text: group.value.matcher.clone(),
            matcher: Arc::clone(&matcher),
            hook: Arc::new(Runnable::new(hook, &source)),
        };
        group.value.hooks.iter().map(registered).collect()
    }

    /// The hooks of one group of a host.
    pub(super) fn of_callbacks(
        event: HookEvent,
        group: CallbackGroup,
        caller: &Arc<dyn Callbacks>,
    ) -> Vec<Self> {
        let matcher = Arc::new(Matcher::new(&group.matcher));
        let registered = |id: String| Self {
            event,
            matcher_text: group.matcher.clone(),
            matcher: Arc::clone(&matcher),
            hook: Arc::new(Runnable {
                work: Work::Callback { id, caller: Arc::clone(caller) },
                timeout: group.timeout,
                on_failure: group.on_failure,
                source: "host".to_owned(),
            }),
        };
        group.ids.into_iter().map(registered).collect()
    }
}

impl Runnable {
    fn new(hook: &Hook, source: &str) -> Self {
        let (work, timeout, on_failure) = match hook {
            Hook::Command { command, timeout, detached, on_failure } => {
                (Work::Command { command: command.clone(), detached: *detached }, timeout, on_failure)
            }
            Hook::Prompt { prompt, timeout, on_failure } => {
                (Work::Prompt(prompt.clone()), timeout, on_failure)
            }
        };
        Self {
            work,
            timeout: timeout.map(Duration::from_secs),
            on_failure: *on_failure,
            source: source.to_owned(),
        }
    }

    /// What it is called in messages: the command, the question, the host's name for it.
    pub(super) fn name(&self) -> &str {
        match &self.work {
            Work::Command { command, .. } => command,
            Work::Prompt(prompt) => prompt,
            Work::Callback { id, .. } => id,
        }
    }

    /// Its kind, as settings name it.
    pub(super) fn kind(&self) -> &'static str {
        match &self.work {
            Work::Command { .. } => "command",
            Work::Prompt(_) => "prompt",
            Work::Callback { .. } => "callback",
        }
    }

    pub(super) fn limit(&self) -> Duration {
        self.timeout.unwrap_or(DEFAULT_LIMIT)
    }

    pub(super) fn is_the_same_as(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.name() == other.name()
    }

    /// One hook in place of two identical ones, as strict as the stricter one.
    fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        // A project must not take time from a guard of somebody else.
        if self.timeout.is_some() || other.timeout.is_some() {
            both.timeout = Some(self.limit().max(other.limit()));
        }
        if other.on_failure == OnFailure::Block {
            both.on_failure = OnFailure::Block;
        }
        if let (Work::Command { detached, .. }, Work::Command { detached: false, .. }) =
            (&mut both.work, &other.work)
        {
            *detached = false;
        }
        both
    }
}

/// The hooks for a case, in their order, identical ones once.
pub(super) fn select<'a>(all: impl Iterator<Item = &'a Registered>, case: &Case) -> Vec<Arc<Runnable>> {
    let mut selected: Vec<Arc<Runnable>> = Vec::new();
    let subject = case.subject();
    for entry in all.filter(|entry| entry.event == case.event && entry.matcher.matches(subject)) {
        match selected.iter_mut().find(|hook| hook.is_the_same_as(&entry.hook)) {
            Some(twin) => *twin = Arc::new(twin.with(&entry.hook)),
            None => selected.push(Arc::clone(&entry.hook)),
        }
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(timeout: Option<u64>) -> Runnable {
        let hook =
            Hook::Command { command: "x".into(), timeout, detached: false, on_failure: OnFailure::Ignore };
        Runnable::new(&hook, "s")
    }

    #[test]
    fn of_two_time_limits_the_longer_one_counts() {
        for (one, other, longer) in [
            (Some(30), Some(1), 30),
            (Some(1), Some(30), 30),
            (None, Some(1), 60),
            (Some(1), None, 60),
            (None, Some(90), 90),
        ] {
            let both = command(one).with(&command(other));
            assert_eq!(both.limit().as_secs(), longer, "{one:?} {other:?}");
        }
        assert_eq!(command(None).with(&command(None)).timeout, None);
    }
}
