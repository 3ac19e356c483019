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

/// Where calls are run again. Commands are confined to the copy and have no network.
#[derive(Clone, Debug)]
pub struct LiveTools {
    /// A copy of the working directory, which calls may change.
    pub copy: PathBuf,
    /// The directory that was worked in.
    pub original: PathBuf,
}

impl LiveTools {
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
        services.tape = None;
        services.env.cwd.clone_from(&self.copy);
        let allow = RUNNABLE.iter().filter_map(|tool| tool.parse().ok()).collect();
        let rules = Rules { allow, ..Rules::default() };
        let mut policy = context(&services.env, &[], rules, Mode::Default);
        policy.offline = true;
        // Recordings come from elsewhere, too: what they name outside of the copy is not touched, and where the kernel
        // confines nothing, commands that could change something do not run.
        policy.fence = Some(self.copy.clone());
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

    /// A text with the paths that were recorded.
    pub(super) fn as_recorded(&self, text: &str) -> String {
        text.replace(&self.copy.display().to_string(), &self.original.display().to_string())
    }

    fn in_copy(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.original) {
            Ok(below) => self.copy.join(below),
            Err(_) => path.to_owned(),
        }
    }

    /// Input with paths in the copy.
    fn moved(&self, input: &Value) -> Value {
        match input {
            Value::String(text) => {
                text.replace(&self.original.display().to_string(), &self.copy.display().to_string()).into()
            }
            Value::Array(values) => values.iter().map(|value| self.moved(value)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.moved(value))).collect()
            }
            other => other.clone(),
        }
    }
}
