//! Sessions run again from their logs: the real loop, while everything that came from outside – the words of the model,
//! results of calls, hooks, what the user did meanwhile – comes from the log. Whatever the loop makes of it is compared
//! with what was recorded.
//!
//! Each turn is run from where the log stood before it, so that one difference does not hide what comes behind the
//! turns in which nothing has changed. What happens between turns is taken as it stands.
//!
//! Invariant: nothing is written but below a directory made for the purpose, and nothing outside is asked.

mod answer;
mod compare;
mod difference;
mod export;
mod foreign;
mod index;
mod live;
mod mask;
mod model;
mod play;
mod tape;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_model::name::{Names, Provider};
use tiller_model::{Catalog, Thinking};
use tiller_policy::Rules;
use tiller_protocol::entry::{Body, Entry};
use tiller_protocol::env::Env;
use tiller_protocol::id::SessionId;
use tiller_protocol::mode::Mode;
use tiller_sandbox::Temporary;

use crate::budget::Limits;
use crate::confinement::SandboxChoice;
use crate::mcp::McpChoice;
use crate::session::{CompactionChoice, PromptChoice, Reel, Setup, Start, SteeringChoice};
use crate::store::{StoreError, load};

pub use difference::Difference;
pub use export::Exported;
pub(crate) use foreign::ForeignTools;
pub use live::{CopiedDir, LiveTools};
use model::TapeModel;
pub(crate) use tape::{OVERLOADED, Tape};

/// A session to be run again.
pub struct Replay {
    /// Its log.
    pub log: PathBuf,
    /// The logs of its sub-agents.
    pub agent_logs: Vec<PathBuf>,
    /// Where settings and sessions were kept when it was recorded: paths below that occur in requests.
    pub config_dir: PathBuf,
    /// Time, ids and variables; nothing else of it is used.
    pub env: Env,
    /// The last step to look at, counted from 1.
    pub until: Option<usize>,
    /// Runs calls for real, to compare their results.
    pub live: Option<LiveTools>,
    /// What of it could not be read when it was exported.
    pub lost: Vec<String>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// Requests that were made again.
    pub steps: usize,
    /// Turns of the user and of sub-agents.
    pub turns: usize,
    /// Sub-agents.
    pub agents: usize,
    /// Calls that were run again.
    pub calls: usize,
    /// The first difference.
    pub difference: Option<Difference>,
    /// What could not be compared, and why.
    pub unchecked: Vec<String>,
}

impl Replay {
    /// The logs of a session and its sub-agents, from where Tiller keeps them.
    #[must_use]
    pub fn of(log: &Path, env: &Env) -> Self {
        // <session>.jsonl, or <session>.jsonl.gz
        let dir = log.with_extension("").with_extension("");
        let mut agent_logs: Vec<PathBuf> = match fs_err::read_dir(dir.join("subagents")) {
            Ok(found) => found.filter_map(Result::ok).map(|entry| entry.path()).collect(),
            Err(_) => Vec::new(),
        };
        agent_logs.retain(|path| path.extension().is_some_and(|ext| ext == "jsonl"));
        agent_logs.sort();
        // <config>/projects/<key>/<session>.jsonl
        let config_dir = log.ancestors().nth(3).unwrap_or(log).to_owned();
        let (log, env) = (log.to_owned(), env.clone());
        Self { log, agent_logs, config_dir, env, until: None, live: None, lost: Vec::new() }
    }

    /// Runs it. Must be called inside a runtime.
    ///
    /// # Errors
    /// When a log cannot be read, or there is no room for what the run needs.
    pub async fn run(&self) -> Result<Report, StoreError> {
        let mut report = Report { unchecked: self.lost.clone(), ..Report::default() };
        let logs = std::iter::once(&self.log).chain(&self.agent_logs);
        for (at, log) in logs.enumerate() {
            Box::pin(self.run_log(log, &mut report)).await?;
            report.agents = at;
            if report.difference.is_some() || self.until.is_some() {
                break;
            }
        }
        Ok(report)
    }

    async fn run_log(&self, log: &Path, report: &mut Report) -> Result<(), StoreError> {
        let mut entries = Vec::new();
        let loaded = load(log, |entry| entries.push(entry))?;
        report.unchecked.extend(loaded.damage.iter().map(ToString::to_string));
        let scratch = tempfile::tempdir()?;
        let tape = Arc::new(Tape::new(log, &self.config_dir, scratch.path(), self.until, self.live.clone()));
        let setup = self.setup(&entries, scratch.path(), &tape)?;
        let reel = Reel { log, entries: &entries };
        let turns = Box::pin(reel.run(setup, Arc::clone(&tape))).await?;
        let found = tape.found();
        report.turns += turns;
        report.steps += found.steps;
        report.calls += found.calls;
        report.unchecked.extend(found.unchecked);
        report.difference = found.difference;
        Ok(())
    }

    fn setup(&self, entries: &[Entry], scratch: &Path, tape: &Arc<Tape>) -> Result<Setup, StoreError> {
        let opened = entries.iter().find_map(|entry| match &entry.body {
            Body::Opened(opened) => Some(opened.clone()),
            _ => None,
        });
        let (cwd, additional_dirs) =
            opened.map(|opened| (opened.cwd, opened.additional_dirs)).unwrap_or_default();
        let home = scratch.join("home");
        let vars = Arc::new(BTreeMap::from([("HOME".to_owned(), home.display().to_string())]));
        let env = Env { cwd, home, vars, ..self.env.clone() };
        let catalog = Catalog::shipped().map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Setup {
            config_dir: scratch.to_owned(),
            start: Start::New(Some(SessionId(self.env.fresh()))),
            additional_dirs,
            persist: false,
            model: Arc::new(TapeModel::new(Arc::clone(tape), catalog)),
            names: Names::new(Provider::FirstParty, &env),
            model_setting: None,
            fallback_model: None,
            registry: tiller_tools::built_in(),
            rules: Rules::default(),
            sandbox: SandboxChoice { temporary: Temporary::Private, ..SandboxChoice::default() },
            hooks: BTreeMap::new(),
            mode: None,
            default_mode: Mode::Default,
            bypass_available: true,
            interactive: true,
            mask_secrets: false,
            offline: true,
            prompt: PromptChoice::default(),
            user_context: false,
            limits: Limits { concurrency: tiller_config::tool_concurrency(&env), ..Limits::default() },
            agents: Vec::new(),
            streaming_tools: true,
            stream_events: false,
            thinking: Thinking::ModelDefault,
            effort: None,
            betas: Vec::new(),
            steering: SteeringChoice::default(),
            compaction: CompactionChoice::default(),
            mcp: McpChoice::default(),
            readable: Vec::new(),
            recipes: Vec::new(),
            env,
        })
    }
}
