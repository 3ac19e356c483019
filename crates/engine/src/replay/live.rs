//! Calls that are run for real in a copy of the working directory, so that their results can be compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tiller_policy::Rules;
use tiller_protocol::block::ToolUse;
use tiller_protocol::effect::{Effect, FileSeen};
use tiller_protocol::mode::Mode;
use tiller_protocol::state::Files;
use tiller_tools::View;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::executor::{Ended, Line, News, Order, Settled, Verdict, run};
use crate::policy::{Standpoint, context};
use crate::services::Services;

/// Tools that depend on nothing but files and commands.
const RUNNABLE: [&str; 7] = ["Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Write"];

/// A directory that was worked in, and its copy, which calls may change.
#[derive(Clone, Debug)]
pub struct CopiedDir {
    /// The directory.
    pub original: PathBuf,
    /// The copy.
    pub copy: PathBuf,
}

/// Where calls are run again. Commands are confined to one of the copies and have no network.
#[derive(Clone, Debug)]
pub struct LiveTools {
    copies: Vec<CopiedDir>,
}

impl LiveTools {
    /// For calls in these directories. What was called elsewhere is not run.
    #[must_use]
    pub fn new(mut copies: Vec<CopiedDir>) -> Self {
        // Of two that a path lies in, the inner one counts.
        copies.sort_by_key(|one| std::cmp::Reverse(one.original.components().count()));
        Self { copies }
    }

    /// Runs a call; nothing comes of one that cannot be run again.
    pub(super) async fn run(
        &self,
        call: &ToolUse,
        view: View,
        mut services: Services,
        cancel: CancellationToken,
    ) -> Option<Settled> {
        if !RUNNABLE.contains(&call.name.as_str()) || call.input["run_in_background"] == true {
            return None;
        }
        let around = self.around(&view.cwd)?;
        services.tape = None;
        services.env.cwd.clone_from(&around.copy);
        let allow = RUNNABLE.iter().filter_map(|tool| tool.parse().ok()).collect();
        let rules = Rules { allow, ..Rules::default() };
        let mut policy = context(&services.env, &[], rules, Mode::Default);
        policy.offline = true;
        // Recordings come from elsewhere, too: what they name outside of the copy is not touched, and where the kernel
        // confines nothing, commands that could change something do not run.
        policy.fence = Some(around.copy.clone());
        let roots = policy.roots.clone();
        let (_held, policy) = watch::channel(Arc::new(policy));
        services.policy = Standpoint::new(policy);
        services.interactive = false;
        let input = self.moved(&call.input);
        let order = Order::new(&services, ToolUse { input, ..call.clone() }, None);
        // There is no log in which it could be announced.
        let order = Order { is_announced: true, ..order };
        let in_copy = |seen: &FileSeen| FileSeen { path: self.in_copy(&seen.path), ..seen.clone() };
        let seen: Vec<Effect> = view.files.iter().map(|seen| Effect::FileSeen(in_copy(seen))).collect();
        let files = Files::default().after(&seen);
        let cwd = self.in_copy(&view.cwd);
        let view = View { cwd, roots, files: Arc::new(files), mode: Mode::Default, ..view };
        let (news, mut heard) = mpsc::unbounded_channel();
        let line = Line { call: call.id.clone(), news };
        run(order, view, services, line, cancel).await;
        while let Ok((_, news)) = heard.try_recv() {
            if let News::Finished(Ended { verdict: Verdict::Settled(settled), .. }) = news {
                return Some(*settled);
            }
        }
        None
    }

    /// Whether calls from this directory can be run.
    pub(super) fn covers(&self, cwd: &Path) -> bool {
        self.around(cwd).is_some()
    }

    /// A text with the paths that were recorded.
    pub(super) fn as_recorded(&self, text: &str) -> String {
        let back = |text: String, one: &CopiedDir| renamed(&text, &one.copy, &one.original);
        self.copies.iter().fold(text.to_owned(), back)
    }

    fn around(&self, path: &Path) -> Option<&CopiedDir> {
        self.copies.iter().find(|one| path.starts_with(&one.original))
    }

    fn in_copy(&self, path: &Path) -> PathBuf {
        let below = |one: &CopiedDir| Some(one.copy.join(path.strip_prefix(&one.original).ok()?));
        self.around(path).and_then(below).unwrap_or_else(|| path.to_owned())
    }

    /// Input with paths in the copies.
    fn moved(&self, input: &Value) -> Value {
        let there = |text: String, one: &CopiedDir| renamed(&text, &one.original, &one.copy);
        match input {
            Value::String(text) => self.copies.iter().fold(text.clone(), there).into(),
            Value::Array(values) => values.iter().map(|value| self.moved(value)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.moved(value))).collect()
            }
            other => other.clone(),
        }
    }
}

/// A text in which another path stands wherever this one was named. One that only begins alike is another path.
fn renamed(text: &str, from: &Path, to: &Path) -> String {
    let (from, to) = (from.display().to_string(), to.display().to_string());
    let continues =
        |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '-');
    let (mut renamed, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(&from).filter(|_| !from.is_empty()) {
        renamed.push_str(before);
        renamed.push_str(if continues(behind) { &from } else { &to });
        rest = behind;
    }
    renamed + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    // REPL-01: each directory that was worked in has its own copy.
    #[test]
    fn paths_are_those_of_the_copy_they_lie_in() {
        let copied = |original: &str, copy: &str| CopiedDir { original: original.into(), copy: copy.into() };
        let live =
            LiveTools::new(vec![copied("/w/p", "/c/0"), copied("/w/p/in", "/c/1"), copied("/w/q", "/c/2")]);
        let moved = live.moved(&serde_json::json!({"command": "cat /w/p/a /w/p2/a /w/p/in/a; cd '/w/q'"}));
        assert_eq!(moved["command"], "cat /c/0/a /w/p2/a /c/1/a; cd '/c/2'");
        assert_eq!(live.as_recorded("/c/0/a /c/1 /c/2."), "/w/p/a /w/p/in /w/q.");
        assert!(live.covers(Path::new("/w/q/sub")) && !live.covers(Path::new("/w/p2")));
    }
}
