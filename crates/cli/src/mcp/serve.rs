//! `tiller mcp serve`: Tiller's own tools for other programs, under the rules of this directory.

use std::sync::Arc;

use clap::FromArgMatches;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;
use tiller_engine::{McpChoice, WorkDone, Workbench};
use tiller_mcp::serve::{Bench, Offered, Outcome, over_stdio};
use tiller_protocol::env::Env;
use tiller_protocol::mode::Mode;
use tiller_tools::Registry;

use crate::args::Args;
use crate::exit::Exit;
use crate::setup;

/// Tools that make sense without a conversation.
const OFFERED: [&str; 8] = ["Read", "Edit", "Write", "NotebookEdit", "Glob", "Grep", "Bash", "TodoWrite"];
/// Those that never change anything.
const HARMLESS: [&str; 3] = ["Read", "Glob", "Grep"];

/// Serves Tiller's tools.
#[derive(Debug, clap::Args)]
pub(super) struct Serve {
    /// default, acceptEdits, bypassPermissions, dontAsk or plan; calls that need a question are refused
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<Mode>,

    /// Rules that allow calls, e.g. "Bash(git status)"
    #[arg(long, value_name = "RULES")]
    allowed_tools: Vec<String>,

    /// Rules that forbid calls
    #[arg(long, value_name = "RULES")]
    disallowed_tools: Vec<String>,
}

impl Serve {
    pub(super) fn run(self, env: &Env) -> anyhow::Result<Exit> {
        let matches = <Args as clap::CommandFactory>::command().try_get_matches_from(["tiller"])?;
        let mut args = Args::from_arg_matches(&matches)?;
        args.permission_mode = self.permission_mode;
        args.allowed_tools = self.allowed_tools;
        args.disallowed_tools = self.disallowed_tools;
        args.no_session_persistence = true;
        crate::runtime()?.block_on(async {
            let mut setup = setup::build_without_model(&args, env)?;
            setup.mcp = McpChoice::default();
            setup.registry = setup.registry.filtered(|name| OFFERED.contains(&name));
            let tools = offered(&setup.registry);
            let bench = Arc::new(Shop { tools, workbench: Arc::new(Workbench::open(setup)?) });
            let served = over_stdio(Arc::clone(&bench) as Arc<dyn Bench>).await;
            if let Some(workbench) = Arc::into_inner(bench).and_then(|shop| Arc::into_inner(shop.workbench)) {
                workbench.close().await;
            }
            served.map_err(anyhow::Error::msg)?;
            Ok(Exit::Success)
        })
    }
}

fn offered(registry: &Registry) -> Vec<Offered> {
    let is_harmless = |name: &str| HARMLESS.contains(&name);
    let specs = registry.specs().into_iter();
    specs.map(|spec| Offered { read_only: is_harmless(spec.name), definition: spec.definition }).collect()
}

/// The tools and where they are used.
struct Shop {
    tools: Vec<Offered>,
    workbench: Arc<Workbench>,
}

impl Bench for Shop {
    fn tools(&self) -> Vec<Offered> {
        self.tools.clone()
    }

    fn call(&self, name: String, input: Value) -> BoxFuture<'static, Outcome> {
        let workbench = Arc::clone(&self.workbench);
        async move {
            let done = workbench.call(name, input).await;
            let closed = || WorkDone {
                content: vec![tiller_protocol::block::RawBlock::text("Tiller is ending.")],
                is_error: true,
            };
            let WorkDone { content, is_error } = done.unwrap_or_else(closed);
            Outcome { content, is_error }
        }
        .boxed()
    }
}
