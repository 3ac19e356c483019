//! Judges calls as a session that is started here would.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tiller_config::Resolved;
use tiller_engine::{SandboxChoice, policy};
use tiller_policy::{Context, Explanation, Question, Request, Rules, explain, open_question};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;
use tiller_tools::{Input, InputError, Registry, Vault, View};

use super::input;
use crate::settings;

/// What a decision depends on, here and now.
pub(crate) struct Judge {
    env: Env,
    registry: Registry,
    dirs: Vec<PathBuf>,
    pub(super) rules: Rules,
    /// The mode of calls for which none is named.
    mode: Mode,
    bypass_available: bool,
    offline: bool,
    sandbox: SandboxChoice,
}

/// What is thought of a call.
pub(super) struct Judged {
    pub(super) tool: String,
    pub(super) mode: Mode,
    pub(super) explanation: Explanation,
    /// What a session would ask a model before it decides otherwise, perhaps.
    pub(super) question: Option<Question>,
}

impl Judge {
    /// By these settings, and by these rules instead of theirs if there are any.
    pub(super) fn new(
        env: &Env,
        settings: &Resolved,
        rules: Option<Rules>,
        mode: Option<Mode>,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            env: env.clone(),
            registry: tiller_tools::built_in(),
            dirs: settings::additional_dirs(settings)?,
            rules: rules.map_or_else(|| settings::rules(settings), Ok)?,
            mode: settings::mode(settings, mode)?,
            bypass_available: settings::mode(settings, None)
                .is_ok_and(|mode| mode == Mode::BypassPermissions),
            offline: env.flag("TILLER_OFFLINE"),
            sandbox: settings::sandbox(settings),
        })
    }

    /// Judges a call in a mode, or else in that of a new session; by these rules, or else by those that count.
    pub(super) fn explain(
        &self,
        tool: &str,
        input: &Value,
        mode: Option<Mode>,
        rules: Option<Rules>,
    ) -> Result<Judged, InputError> {
        let mode = mode.unwrap_or(self.mode);
        let rules = rules.unwrap_or_else(|| self.rules.clone());
        let mut context = policy::context(&self.env, &self.dirs, rules, mode);
        context.bypass_available |= self.bypass_available;
        context.offline = self.offline;
        context.holding = self.sandbox.holding();
        let request = self.request(tool, input, &context)?;
        let (explanation, question) = (explain(&request, &context), open_question(&request, &context));
        Ok(Judged { tool: tool.to_owned(), mode, explanation, question })
    }

    fn request(&self, tool: &str, input: &Value, context: &Context) -> Result<Request, InputError> {
        // What tools of a server do is not known here, and policy does not look at it.
        if tool.starts_with("mcp__") {
            return Ok(Request { tool: tool.to_owned(), access: Vec::new(), read_only: false });
        }
        let prepared = self.registry.prepare(tool, Input::Json(&input::completed(tool, input)))?;
        let view = View {
            cwd: self.env.cwd.clone(),
            home: self.env.home.clone(),
            roots: context.roots.clone(),
            files: Arc::default(),
            todos: Vec::new(),
            mode: context.mode,
            plan_file: context.plan_file.clone(),
            sub_agent: false,
            spill_dir: PathBuf::new(),
            typed: BTreeMap::new(),
            secrets: Arc::new(Vault::off()),
        };
        Ok(Request { tool: tool.to_owned(), access: prepared.access(&view), read_only: prepared.read_only() })
    }
}
