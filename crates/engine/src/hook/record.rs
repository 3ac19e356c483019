//! What the log keeps of a hook that ran.

use tiller_protocol::hook::{HookEnd, HookRecord};
use tiller_protocol::id::CallId;

use super::{Conclusion, HookRun};

impl HookRun {
    /// As an entry of the log. Nothing yet if the hook goes on by itself and its end is still to come: each has one entry.
    pub(crate) fn record(&self, call: Option<&CallId>) -> Option<HookRecord> {
        let end = self.conclusion.end()?;
        let stderr = match &self.conclusion {
            Conclusion::Failed(why) if self.stderr.is_empty() => why.clone(),
            _ => self.stderr.clone(),
        };
        Some(HookRecord {
            event: format!("{:?}", self.event),
            name: self.hook_name.clone(),
            source: self.source.clone(),
            call: call.cloned(),
            end,
            exit_code: self.exit_code,
            duration_ms: u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            stdout: self.stdout.clone(),
            stderr,
        })
    }
}

impl Conclusion {
    fn end(&self) -> Option<HookEnd> {
        Some(match self {
            Self::Success => HookEnd::Success,
            Self::Blocked => HookEnd::Blocked,
            Self::Failed(_) => HookEnd::Failed,
            Self::TimedOut => HookEnd::TimedOut,
            Self::Cancelled => HookEnd::Cancelled,
            Self::HandedOver => HookEnd::Detached,
            Self::RunsOn => return None,
        })
    }
}
